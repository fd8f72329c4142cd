"""Genesis under the name of PyTorch, so that packages written for PyTorch run unchanged.

``install()`` makes ``torch`` and ``torch.*`` mean Genesis in this process and in those it starts.
``genesis run-torch script.py`` and ``python -m genesis.torch script.py`` do that for a script,
``genesis torch enable`` for a whole environment.
"""

from __future__ import annotations

import sys
from typing import Any

from genesis import _C
from genesis.torch import finder

__all__ = ["TORCH_VERSION", "install", "is_installed"]

TORCH_VERSION = "2.13.0+genesis"


def install() -> None:
    """Make ``import torch`` mean Genesis from here on, with PyTorch's behaviour everywhere.

    Where PyTorch and the specification of Genesis differ, PyTorch is followed after this call, in
    the whole process: see ``set_exact`` and the guide "Coming from PyTorch".
    """
    if is_installed():
        return
    loaded = sys.modules.get("torch")
    if loaded is not None and not finder.is_ours(loaded):
        raise RuntimeError(
            f"genesis.torch.install: PyTorch itself is imported already, from "
            f"{getattr(loaded, '__file__', None)}; call install() before anything imports torch"
        )
    set_exact(True)
    finder.install()
    _name_classes()


def _name_classes() -> None:
    """Give classes PyTorch's modules: packages tell tensors by the module of their class."""
    from genesis.nn.parameter import Parameter

    for cls in (_C.Tensor, _C.dtype, _C.device, _C.Size):
        cls.__module__ = "torch"
    Parameter.__module__ = "torch.nn.parameter"


def is_installed() -> bool:
    """Whether ``torch`` means Genesis in this process."""
    return finder.is_installed()


_removed: dict[str, Any] = {}


def set_exact(exact: bool) -> None:
    """The one switch between PyTorch's behaviour and that of the specification of Genesis.

    With True: float64 arrays of NumPy stay float64, ``backward()`` without a graph raises,
    ``Tensor(2, 3)`` is a size, ``max(axis=)`` returns values and indices, changing a leaf in place
    raises, nodes, dtypes and sizes print as PyTorch's do. Methods of modules that PyTorch does not
    have are gone, as they would hide those of a package's own base classes.
    """
    from genesis.nn.modules._tree import ModuleTree

    for name in ("num_parameters", "vars"):
        if exact and name in ModuleTree.__dict__:
            _removed[name] = ModuleTree.__dict__[name]
            delattr(ModuleTree, name)
        elif not exact and name in _removed:
            setattr(ModuleTree, name, _removed.pop(name))
    _C._set_exact_torch(exact)


def is_exact() -> bool:
    """Whether PyTorch's behaviour is followed where the specification differs."""
    return _C._is_exact_torch()
