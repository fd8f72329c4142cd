"""Settings of the generator of code. They can be set, and mean nothing without one."""

import os
from types import SimpleNamespace
from typing import Any

from genesis.torch.compat._dynamo.config import patch as patch

compile_threads = os.cpu_count() or 1
cpp = SimpleNamespace(threads=-1, simdlen=None, cxx=(None, "g++"), enable_kernel_profile=False)
triton = SimpleNamespace(cudagraphs=False, cudagraph_trees=True, unique_kernel_names=True)
coordinate_descent_tuning = False
coordinate_descent_check_all_directions = False
epilogue_fusion = True
force_fuse_int_mm_with_mul = False
freezing = False
fx_graph_cache = True
max_autotune = False
max_autotune_gemm_backends = "ATEN,TRITON,CPP"
use_mixed_mm = False
trace: Any = SimpleNamespace(enabled=False)
