"""The module ``torch``: the names of ``genesis``, with PyTorch's version."""

from __future__ import annotations

import importlib
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

import genesis
from genesis.torch import missing
from genesis.torch_version import TorchVersion

# Names of `genesis` that PyTorch does not have, or has with another meaning.
_HIDDEN = {"Tape", "debug", "enable_autocast", "memory", "torch"}


class _Torch(ModuleType):
    """``torch``; names are taken from ``genesis`` at the first access."""

    def __getattr__(self, name: str) -> Any:
        value = _find(name)
        setattr(self, name, value)
        return value

    def __dir__(self) -> list[str]:
        return sorted({*genesis.__all__, *genesis._HOME, *vars(self)} - _HIDDEN)


def make(spec: ModuleSpec) -> ModuleType:
    """A new module ``torch``."""
    from genesis.torch import TORCH_VERSION

    module = _Torch("torch", "Genesis under the name of PyTorch.")
    for name, value in vars(genesis).items():
        if name not in _HIDDEN and not name.startswith("__") and not isinstance(value, ModuleType):
            setattr(module, name, value)
    module.__version__ = TorchVersion(TORCH_VERSION)  # type: ignore[attr-defined]
    module.__all__ = sorted(set(genesis.__all__) - _HIDDEN)  # type: ignore[attr-defined]
    module.torch = module  # type: ignore[attr-defined]  # PyTorch's module has itself as a name
    return module


def _find(name: str) -> Any:
    if name.startswith("__") and name.endswith("__") and name != "__config__":
        raise AttributeError(f"module 'torch' has no attribute {name!r}", name=name)
    if name not in _HIDDEN:
        if name in genesis._SUBMODULES or name in _IMPORTED_WITH_TORCH:
            return importlib.import_module(f"torch.{name}")
        try:
            return getattr(genesis, name)
        except AttributeError:
            native = importlib.import_module("torch._C")  # its public names are names of torch
            if not name.startswith("_") and name in vars(native):
                return getattr(native, name)
            found = missing.elsewhere("torch", name)
            if found is not None:
                return found
    raise missing.error("torch", name, genesis.__all__)


# Modules that PyTorch imports with itself.
_IMPORTED_WITH_TORCH = {
    "_C", "__config__", "_dynamo", "_inductor", "_jit_internal", "_lowrank", "_ops",
    "_subclasses", "_tensor_str", "_utils", "accelerator", "ao", "backends",
    "compiler", "cpu", "distributed", "distributions", "export", "fft", "functional", "futures",
    "fx", "hub", "jit", "library", "masked", "mps", "mtia", "multiprocessing", "onnx",
    "ops", "overrides", "quantization", "quasirandom", "return_types", "signal", "sparse",
    "storage", "torch_version", "types", "version", "xpu",
}  # fmt: skip
