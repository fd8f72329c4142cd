"""Tensors and parts of modules by their names."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor
from genesis.nn.modules.module import Module

__all__ = ["NamedMemberAccessor", "set_tensor", "swap_submodule", "swap_tensor"]

_MISSING: Any = object()


def swap_tensor(module: Module, name: str, tensor: Any, allow_missing: bool = False) -> Any:
    """Put a tensor in the place of a parameter or buffer; returns the one that was there."""
    if not isinstance(module, Module):
        raise TypeError(f"{module} is not an instance of torch.nn.Module")
    for own in (module._parameters, module._buffers):
        if name in own:
            before = own[name]
            own[name] = None if tensor is _MISSING else tensor
            if tensor is _MISSING:
                del own[name]
            return before
    before = getattr(module, name, _MISSING)
    if before is _MISSING and not allow_missing:
        raise AttributeError(f"{type(module).__name__} has no attribute `{name}`")
    if tensor is _MISSING:
        if before is not _MISSING:
            delattr(module, name)
    else:
        setattr(module, name, tensor)
    return before


def set_tensor(module: Module, name: str, tensor: Tensor) -> None:
    """Put a tensor in the place of a parameter or buffer."""
    swap_tensor(module, name, tensor, allow_missing=True)


def swap_submodule(module: Module, name: str, submodule: Module) -> Module:
    """Put a module in the place of a part; returns the part."""
    before = module._modules.get(name)
    if before is None:
        raise AttributeError(f"{type(module).__name__} has no submodule `{name}`")
    module._modules[name] = submodule
    return before


class NamedMemberAccessor:
    """Tensors of a module and of its parts by names with dots."""

    def __init__(self, module: Module) -> None:
        self.module = module

    def _place(self, name: str) -> tuple[Module, str]:
        prefix, _, last = name.rpartition(".")
        return self.module.get_submodule(prefix), last

    def get_submodule(self, name: str) -> Module:
        """A part."""
        return self.module.get_submodule(name)

    def swap_submodule(self, path: str, value: Module) -> Module:
        """Put a module in the place of a part; returns the part."""
        owner, name = self._place(path)
        return swap_submodule(owner, name, value)

    def get_tensor(self, name: str) -> Any:
        """A parameter or buffer."""
        owner, last = self._place(name)
        return getattr(owner, last)

    def set_tensor(self, name: str, value: Tensor) -> None:
        """Put a tensor in a place."""
        set_tensor(*self._place(name), value)

    def del_tensor(self, name: str) -> None:
        """Take a tensor out."""
        swap_tensor(*self._place(name), _MISSING)

    def swap_tensor(self, name: str, value: Any, allow_missing: bool = False) -> Any:
        """Put a tensor in a place; returns the one that was there."""
        return swap_tensor(*self._place(name), value, allow_missing)

    def swap_tensors_dict(self, tensors: dict[str, Any], allow_missing: bool = False) -> Any:
        """Put tensors in their places; returns those that were there, and their names."""
        before = {name: self.swap_tensor(name, t, allow_missing) for name, t in tensors.items()}
        return before, [name for name, t in before.items() if t is _MISSING]
