"""``torch._C``: the names of PyTorch's native module that packages touch."""

from __future__ import annotations

import enum
from typing import Any

from genesis import _C as _native
from genesis import overrides
from genesis._C import Tensor

_TensorMeta: Any = type(Tensor)
_TensorBase = TensorBase = Tensor
_disabled_torch_function_impl = _native._disabled_torch_function_impl


class DispatchKey(enum.Enum):
    """Kinds of functions of an operator; the CPU has one for each operator."""

    Undefined = 0
    CPU = 1
    CUDA = 2
    Autograd = 3
    AutogradCPU = 4
    AutogradCUDA = 5
    CompositeExplicitAutograd = 6
    CompositeImplicitAutograd = 7
    Meta = 8
    BackendSelect = 9
    Functionalize = 10
    AutocastCPU = 11
    AutocastCUDA = 12
    PrivateUse1 = 13
    AutocastXPU = 14
    XPU = 15
    MPS = 16
    QuantizedCPU = 17
    SparseCPU = 18
    Python = 19
    PythonDispatcher = 20
    ADInplaceOrView = 21
    AutogradPrivateUse1 = 22


class DispatchKeySet:
    """A set of kinds of functions."""

    def __init__(self, *keys: Any) -> None:
        self._keys = frozenset(keys)

    def __or__(self, other: DispatchKeySet) -> DispatchKeySet:
        return DispatchKeySet(*self._keys, *other._keys)

    def add(self, key: Any) -> DispatchKeySet:
        """The set with one kind more."""
        return DispatchKeySet(*self._keys, key)

    def has(self, key: Any) -> bool:
        """Whether a kind is in the set."""
        return key in self._keys


class Graph:
    """The class of TorchScript's graphs, of which there are none."""


class JitType:
    """The class of the types of TorchScript, which annotations name."""


class TensorType(JitType):
    """The type of tensors."""


class OptionalType(JitType):
    """A type or None."""


class ListType(JitType):
    """The type of lists."""


class DictType(JitType):
    """The type of dicts."""


class TupleType(JitType):
    """The type of tuples."""


IntType = FloatType = BoolType = StringType = NoneType = AnyType = NumberType = JitType
Value = Node = ScriptMethod = ScriptModule = ScriptFunction = FunctionSchema = ScriptObject = Graph


class _NN:
    """``torch._C._nn``: functions of ``nn`` without another module."""

    @staticmethod
    def _parse_to(*args: Any, **kwargs: Any) -> tuple[Any, Any, bool, Any]:
        """The device, dtype, non_blocking and memory format that ``to(...)`` was called with."""
        device = dtype = None
        for value in args:
            if isinstance(value, Tensor):
                device, dtype = value.device, value.dtype
            elif isinstance(value, _native.dtype):
                dtype = value
            elif isinstance(value, bool):
                kwargs.setdefault("non_blocking", value)
            elif value is not None:
                device = value
        device, dtype = kwargs.get("device", device), kwargs.get("dtype", dtype)
        if device is not None:
            device = _native.device(device)
        non_blocking = bool(kwargs.get("non_blocking", False))
        return device, dtype, non_blocking, kwargs.get("memory_format")

    def __getattr__(self, name: str) -> Any:
        from genesis.nn import functional

        return getattr(functional, name)


_nn = _NN()


class _ExcludeDispatchKeyGuard:
    """A block without functions of some kinds; there are none to leave out."""

    def __init__(self, keys: DispatchKeySet) -> None: ...

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...


DisableTorchFunction = overrides.DisableTorchFunction
DisableTorchFunctionSubclass = overrides.DisableTorchFunctionSubclass


def _log_api_usage_once(event: str) -> None:
    """Nothing: nothing is logged."""


def _ignored(*args: Any) -> None:
    """Nothing: a setting of TorchScript, which is not there."""


_jit_set_profiling_executor = _jit_set_profiling_mode = _jit_set_texpr_fuser_enabled = _ignored
_jit_override_can_fuse_on_cpu = _jit_override_can_fuse_on_gpu = _ignored
_jit_set_nvfuser_enabled = _jit_set_nvfuser_guard_mode = _ignored
_set_math_sdp_allow_fp16_bf16_reduction = _set_graph_executor_optimize = _ignored


def _jit_can_fuse_on_cpu() -> bool:
    """Whether TorchScript joins operators: no."""
    return False


_jit_can_fuse_on_gpu = _jit_texpr_fuser_enabled = _get_cudnn_enabled = _jit_can_fuse_on_cpu


def _is_torch_function_mode_enabled() -> bool:
    """Whether a mode of overrides is entered."""
    from genesis.overrides import _get_current_function_mode

    return _get_current_function_mode() is not None


def _get_privateuse1_backend_name() -> str:
    """The name of the device that extensions may add."""
    return "privateuseone"


def _get_default_device() -> str:
    """The device of new tensors."""
    from genesis import get_default_device

    return str(get_default_device())


def _get_accelerator(check: Any = None) -> Any:
    """The accelerator of this machine: the CPU means none, as in PyTorch."""
    return _native.device("cpu")


def _show_config() -> str:
    """How the library was built."""
    from genesis import __config__

    return str(__config__.show())


def _is_alias_of(x: Any, y: Any) -> bool:
    """Whether two tensors share their memory."""
    return bool(x.untyped_storage().data_ptr() == y.untyped_storage().data_ptr())


def _get_tracing_state() -> None:
    """The trace that TorchScript makes: none."""


def _is_tracing() -> bool:
    """Whether TorchScript traces: no."""
    return False


def _are_functorch_transforms_active() -> bool:
    """Whether a function runs under vmap."""
    return _functorch_maybe_current_level() is not None


def _functorch_maybe_current_level() -> int | None:
    """The number of vmaps that run, None if there are none."""
    return len(_native._levels()) or None


def _dispatch_has_kernel_for_dispatch_key(name: str, key: Any) -> bool:
    """Whether an operator has a function of a kind: those that custom_op defined do."""
    from genesis.library import _operators

    return name.partition(".")[0] in _operators


def _dispatch_has_kernel(name: str) -> bool:
    """Whether there is an operator of this name."""
    return _dispatch_has_kernel_for_dispatch_key(name, None)


def _cuda_getCurrentRawStream(device: int) -> int:
    raise RuntimeError("there is no CUDA device")


_has_cuda = has_cuda = has_mps = has_xpu = _has_mps = _has_mkldnn = False


def __getattr__(name: str) -> Any:
    return getattr(_native, name)
