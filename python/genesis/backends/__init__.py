"""What computes: the CPU kernels of Genesis. Flags of libraries that are not there can be set."""

from genesis._missing import explain
from genesis.backends import cpu, cuda, cudnn, mkl, mkldnn, mps, openmp, opt_einsum

__all__ = ["cpu", "cuda", "cudnn", "mkl", "mkldnn", "mps", "openmp", "opt_einsum"]

explain(globals())
