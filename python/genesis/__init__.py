"""Genesis: tensors and automatic differentiation with PyTorch's API, small and fast on a CPU."""

from genesis import _C
from genesis._C import *  # noqa: F403
