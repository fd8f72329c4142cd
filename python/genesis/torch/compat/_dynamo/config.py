"""Settings of the compiler. They can be set, and mean nothing without one."""

import contextlib
from typing import Any

cache_size_limit = recompile_limit = 8
accumulated_cache_size_limit = 256
suppress_errors = False
verbose = False
disable = True
optimize_ddp = False
capture_scalar_outputs = False
capture_dynamic_output_shape_ops = False
force_parameter_static_shapes = True
allow_unspec_int_on_nn_module = False
inline_inbuilt_nn_modules = True
automatic_dynamic_shapes = True
assume_static_by_default = True
skip_fwd_side_effects_in_bwd_under_checkpoint = False
reorderable_logging_functions: set[Any] = set()


class patch(contextlib.ContextDecorator):
    """A block, or a decorator, with other settings; they mean nothing either."""

    def __init__(self, *args: Any, **changes: Any) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...
