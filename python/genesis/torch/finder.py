"""``torch`` and ``torch.*`` in the import system: each name is a module of Genesis.

``torch.a.b`` is the module ``genesis.a.b`` itself, not a copy: classes and state are shared.
Private names that only packages written for PyTorch ask for are in ``genesis.torch.compat``.
"""

from __future__ import annotations

import functools
import importlib
import importlib.abc
import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

from genesis.torch import missing

# A folder with a package `torch` and its metadata: what `genesis torch enable` writes into an
# environment. On the path it makes importlib.metadata and the processes that we start find us.
SITE = Path(__file__).parent / "site"
_ROOTS = ("genesis", "genesis.torch.compat")
_ELSEWHERE = {
    "torch._C": "genesis.torch.compat._C",  # genesis._C is another module
    "torch.cuda.amp.autocast_mode": "genesis.cuda.amp",
    "torch.cuda.amp.grad_scaler": "genesis.amp.grad_scaler",
    "torch.cuda.random": "genesis.cuda",
    "torch.cuda.memory": "genesis.cuda",
    # PyTorch has a module for each of these classes.
    **{
        f"torch.optim.{name}": "genesis.optim"
        for name in ("adadelta", "adamax", "nadam", "radam", "rmsprop", "rprop", "sparse_adam")
    },
    **{
        f"torch.nn.modules.{name}": "genesis.nn.modules"
        for name in ("channelshuffle", "flatten", "pixelshuffle")
    },
}
# Modules that PyTorch has under an older or a private name as well, with everything below them.
_MOVED = {
    "torch.distributed._composable.fsdp": "torch.distributed.fsdp",
    "torch.distributed._tensor": "torch.distributed.tensor",
    "torch.distributed.distributed_c10d": "torch.distributed",
    "torch.functorch": "torch.func",
    "torch._ops": "torch.ops",
}
# Modules of Genesis that PyTorch does not have: not visible as torch.*.
_OURS_ONLY = {"cli", "debug", "memory", "torch"}


@functools.cache
def home(name: str) -> str | None:
    """The module of Genesis for ``torch.*``; None if there is none."""
    if name in _ELSEWHERE:
        return _ELSEWHERE[name]
    for old, new in _MOVED.items():
        if name == old or name.startswith(f"{old}."):
            return home(new + name.removeprefix(old))
    _, _, rest = name.partition(".")
    if rest.partition(".")[0] in _OURS_ONLY:
        return None
    for root in _ROOTS:
        candidate = f"{root}.{rest}"
        try:
            if importlib.util.find_spec(candidate) is not None:
                return candidate
        except (ModuleNotFoundError, AttributeError):  # the parent is no package
            continue
    return None


class _Loader(importlib.abc.Loader):
    """Gives the import system a module that exists already."""

    def __init__(self, module_name: str) -> None:
        self.module_name = module_name

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        module = importlib.import_module(self.module_name)
        self._spec = module.__spec__
        self._alias = spec.name
        return module

    def exec_module(self, module: ModuleType) -> None:
        module.__spec__ = self._spec  # the import system has written that of the other name
        missing.watch(module, self._alias)
        below = f"{self.module_name}."
        for name, loaded in list(sys.modules.items()):  # what the module imported itself
            if name.startswith(below) and loaded is not None:
                missing.watch(loaded, self._alias + name.removeprefix(self.module_name))

    def get_code(self, fullname: str) -> Any:  # `python -m torch.x`
        spec = importlib.util.find_spec(self.module_name)
        loader: Any = None if spec is None else spec.loader
        return loader.get_code(self.module_name)

    def is_package(self, fullname: str) -> bool:
        spec = importlib.util.find_spec(self.module_name)
        return spec is not None and spec.submodule_search_locations is not None


class _TorchLoader(importlib.abc.Loader):
    """Makes the module ``torch``: the names of ``genesis``, and PyTorch's version."""

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        from genesis.torch.toplevel import make

        return make(spec)

    def exec_module(self, module: ModuleType) -> None:
        pass

    def is_package(self, fullname: str) -> bool:
        return True


class Finder(importlib.abc.MetaPathFinder):
    """Finds ``torch`` and everything below it."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname == "torch":
            spec = importlib.machinery.ModuleSpec(
                "torch", _TorchLoader(), origin=str(SITE / "torch" / "__init__.py"), is_package=True
            )
            spec.submodule_search_locations = [str(SITE / "torch")]
            spec.has_location = True
            return spec
        if not fullname.startswith("torch."):
            return None
        found = home(fullname)
        if found is None:
            missing.note_module(fullname)
            return None
        real = importlib.util.find_spec(found)
        assert real is not None
        spec = importlib.machinery.ModuleSpec(fullname, _Loader(found), origin=real.origin)
        spec.submodule_search_locations = real.submodule_search_locations
        return spec


_FINDER = Finder()


def is_ours(module: ModuleType) -> bool:
    """Whether a module named ``torch`` is this one, or its package on disk."""
    origin = getattr(module.__spec__, "origin", None) or ""
    try:
        text = Path(origin).read_text(encoding="utf-8")
    except OSError:
        return False
    return "genesis.torch.install()" in text


def is_installed() -> bool:
    """Whether the finder is in place."""
    return _FINDER in sys.meta_path


def install() -> None:
    """Put the finder in front, and the package for other processes on their path."""
    sys.meta_path.insert(0, _FINDER)
    sys.modules.pop("torch", None)  # the package on disk, which called us
    if not _enabled():
        site = str(SITE)
        sys.path.insert(0, site)  # first, as a PyTorch that is installed must not win
        places = os.environ.get("PYTHONPATH", "")
        if site not in places.split(os.pathsep):
            os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [site, places]))
    importlib.import_module("torch")


def _enabled() -> bool:
    """Whether importlib.metadata sees our metadata already, as in an enabled environment."""
    import importlib.metadata

    try:
        return importlib.metadata.version("torch").endswith("+genesis")
    except importlib.metadata.PackageNotFoundError:
        return False
