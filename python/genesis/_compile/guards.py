"""What a function reads besides its arguments: closures, globals, attributes of objects.

A walk from the function finds the values that it can reach. Each is guarded: a plan is used only
while they are the same objects, or equal numbers. The same list tells, after a call, whether the
call changed any of them.
"""

from __future__ import annotations

import array
import builtins
import collections
import dis
import functools
import sys
import types
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from genesis import _C
from genesis._C import Tensor

ITEM, CELL, ELEMENT, LENGTH, ATTRIBUTE, CONTENTS = range(6)
_PLAIN = (int, float, bool, str, bytes, complex, type(None), type(Ellipsis), range, slice)
_BOUND = (types.BuiltinFunctionType, types.MethodWrapperType)
_HOOKS = ("_forward_hooks", "_forward_pre_hooks", "_backward_hooks", "_backward_pre_hooks")
_MOST = 50_000  # guards of one function
_MOST_CONTENTS = 4096  # elements of a set or deque, or bytes of an array, that are compared
# Names by which a function reads options of optimizers, and what schedulers compute: they are
# guarded only then, since steps that are repeated read them anew.
_OPTION_NAMES = frozenset(["param_groups", "defaults"])
_SCHEDULE_NAMES = frozenset(["get_last_lr", "_last_lr", "last_epoch", "_step_count", "get_lr"])
_STANDARD = frozenset(sys.stdlib_module_names) | {"genesis", "torch", "numpy", "builtins"}


# The value of a guard for a name that must not exist.
ABSENT = object()
_GLOBAL_OPS = frozenset(["LOAD_GLOBAL", "LOAD_NAME", "STORE_GLOBAL", "DELETE_GLOBAL"])


class TooMuch(Exception):
    """A function reaches more than can be guarded."""


def _of_library(name: Any) -> bool:
    if not isinstance(name, str):  # of a native object
        return True
    top = name.partition(".")[0]
    return top in _STANDARD and top != "__main__"


class Walk:
    """All that a function reaches: guards, and the tensors among it."""

    def __init__(self, roots: Iterable[Any]) -> None:
        self.guards: list[tuple[int, Any, Any, Any]] = []
        self.tensors: dict[int, Tensor] = {}
        self.hooked: str | None = None  # a module with hooks
        self.owners: list[Any] = []  # optimizers and schedulers
        self.unknown: str | None = None  # a value that cannot be guarded
        self._names: set[str] = set()  # in functions of the user
        self._attributes: list[tuple[str, str]] = []  # that cannot be guarded: names, reasons
        self._owners: dict[int, str] = {}
        self._seen: set[int] = set()
        self._kept: list[Any] = []  # so that no id is used again
        self._todo: list[Any] = list(roots)
        self._guard_hooks()
        while self._todo:
            self._visit(self._todo.pop())
            if len(self.guards) > _MOST:
                raise TooMuch(f"it reaches more than {_MOST} values")
        for name, reason in self._attributes:
            if name in self._names:
                self.unknown = reason
        self._guard_options()

    def _guard_options(self) -> None:
        """Options and schedules that the function reads itself."""
        from genesis.optim import Optimizer

        for owner in self.owners:
            if isinstance(owner, Optimizer):
                if self._names & _OPTION_NAMES:
                    for group in owner.param_groups:
                        self.guards += [(ITEM, group, k, group[k]) for k in group if k != "params"]
            elif self._names & _SCHEDULE_NAMES:
                self.guards += [(ITEM, vars(owner), k, vars(owner)[k]) for k in vars(owner)]

    def _guard_hooks(self) -> None:
        """Hooks of all modules, which a replay would not call."""
        module = sys.modules.get("genesis.nn.modules._hooks")
        if module is None:  # there are no modules
            return
        everywhere = module.everywhere
        self.guards.append((ATTRIBUTE, everywhere, "active", everywhere.active))
        if everywhere.active:
            self.hooked = "hooks of all modules are registered"

    def checker(self) -> Any:
        """The guards, ready to be checked by ``_C._guards_fail``."""
        return _C._guards(self.guards, ABSENT)

    def describe(self, number: int) -> str:
        """What a guard looks at."""
        kind, container, key, _ = self.guards[number]
        if kind == CELL:
            return f"the variable {key!r} of an enclosing function"
        if kind == LENGTH:
            return f"the length of a {type(container).__name__}"
        if kind == CONTENTS:
            return f"a {type(container).__name__}"
        owner = self._owners.get(id(container), f"a {type(container).__name__}")
        return f"{key!r} of {owner}"

    def _guard(self, kind: int, container: Any, key: Any, value: Any) -> None:
        self.guards.append((kind, container, key, value))
        if type(value) in _PLAIN:
            return
        reason = _unguarded(value)
        if reason is None:
            self._todo.append(value)
        elif kind == ITEM and isinstance(key, str):  # an attribute, perhaps of no interest here
            self._attributes.append((key, reason))
        else:
            self.unknown = reason

    def _visit(self, value: Any) -> None:
        kind = type(value)
        if kind in _PLAIN or id(value) in self._seen:
            return
        self._seen.add(id(value))
        self._kept.append(value)
        if isinstance(value, Tensor):
            self.tensors[id(value)] = value
        elif isinstance(value, types.FunctionType):
            self._function(value)
        elif isinstance(value, types.MethodType):
            self._todo += [value.__self__, value.__func__]
        elif isinstance(value, dict):
            self._dict(value)
        elif isinstance(value, list):
            self.guards.append((LENGTH, value, len(value), None))
            for i, item in enumerate(value):
                self._guard(ELEMENT, value, i, item)
        elif isinstance(value, (tuple, set, frozenset, collections.deque)):
            if not isinstance(value, (tuple, frozenset)):
                kept = frozenset(value) if isinstance(value, set) else tuple(value)
                self.guards.append((CONTENTS, value, None, kept))
            self._todo += list(value)
        elif isinstance(value, np.ndarray):
            self.guards.append((CONTENTS, value, None, value.tobytes()))
        elif isinstance(value, functools.partial):
            self._todo += [value.func, value.args, value.keywords]
        elif isinstance(value, _BOUND):
            if not isinstance(value.__self__, types.ModuleType):
                self._todo.append(value.__self__)
        elif isinstance(value, (type, types.ModuleType)):
            if isinstance(value, type) and not _of_library(value.__module__):
                self._class(value)
        else:
            self._object(value)

    def _dict(self, value: dict[Any, Any], unread: Callable[[str], bool] | None = None) -> None:
        """Guards all items; ``unread`` tells what the function does not look into."""
        self.guards.append((LENGTH, value, len(value), None))
        for key, item in value.items():
            if unread is not None and unread(key):
                self.guards.append((ITEM, value, key, item))
            else:
                self._guard(ITEM, value, key, item)

    def _function(self, value: types.FunctionType) -> None:
        wrapped = getattr(value, "__wrapped__", None)
        if wrapped is not None:
            self._todo.append(wrapped)
        for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
            try:
                content = cell.cell_contents
            except ValueError:
                continue
            self._guard(CELL, cell, name, content)
        if _of_library(value.__module__):
            return
        self._todo += list(value.__defaults__ or ()) + list((value.__kwdefaults__ or {}).values())
        if value.__dict__:
            self._owners[id(value.__dict__)] = f"function {value.__name__}"
            self._dict(value.__dict__)
        self._owners[id(value.__globals__)] = f"module {value.__module__}"
        names, global_names = _names(value.__code__)
        self._names |= names
        for name in global_names:
            if name not in value.__globals__:
                if not hasattr(builtins, name):
                    self.guards.append((ITEM, value.__globals__, name, ABSENT))
                continue
            item = value.__globals__[name]
            self._guard(ITEM, value.__globals__, name, item)
            if isinstance(item, types.ModuleType) and not _of_library(item.__name__):
                self._owners[id(vars(item))] = f"module {item.__name__}"
                for inner in names & vars(item).keys():
                    self._guard(ITEM, vars(item), inner, vars(item)[inner])

    def _class(self, value: type) -> None:
        for cls in value.__mro__:
            if _of_library(cls.__module__):
                continue
            for name, item in vars(cls).items():
                if isinstance(item, types.FunctionType):
                    self._todo.append(item)
                elif isinstance(item, (staticmethod, classmethod)):
                    self._todo.append(item.__func__)
                elif isinstance(item, property):
                    self._todo += [f for f in (item.fget, item.fset) if f]
                elif not name.startswith("__") and isinstance(
                    item, (int, float, bool, str, tuple, list, dict, Tensor)
                ):
                    self._guard(ATTRIBUTE, cls, name, item)

    def _object(self, value: Any) -> None:
        from genesis._compile.compiled import CompiledFunction
        from genesis.optim import Optimizer
        from genesis.optim.lr_scheduler import LRScheduler

        cls = type(value)
        if isinstance(value, CompiledFunction):  # its plans are no part of what it computes
            self._todo += value.roots
            return
        if isinstance(value, LRScheduler):
            self.owners.append(value)
            return
        if isinstance(value, Optimizer):  # its steps read everything else anew
            self.owners.append(value)
            self.guards.append((LENGTH, value.param_groups, len(value.param_groups), None))
            for i, group in enumerate(value.param_groups):
                self.guards.append((ELEMENT, value.param_groups, i, group))
                self._guard(ITEM, group, "params", group["params"])
            return
        if not _of_library(cls.__module__):
            self._todo.append(cls)
        attributes = getattr(value, "__dict__", None)
        if isinstance(attributes, dict):
            self._owners[id(attributes)] = f"a {cls.__name__}"
            # A module without hooks looks at nothing but this flag.
            unhooked = attributes.get("_hooked") is False
            self._dict(attributes, _is_hooks if unhooked else None)
            for hooks in _HOOKS:
                if attributes.get(hooks):
                    self.hooked = f"a {cls.__name__} has hooks"
        for base in cls.__mro__:
            slots = base.__dict__.get("__slots__", ())
            for name in (slots,) if isinstance(slots, str) else slots:
                if hasattr(value, name):
                    self._guard(ATTRIBUTE, value, name, getattr(value, name))


def _unguarded(value: Any) -> str | None:
    """Why changes of a value cannot be noticed."""
    name = type(value).__name__
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject or value.nbytes > _MOST_CONTENTS:
            return "the function reaches a NumPy array, which may change; use a tensor"
    elif isinstance(value, (bytearray, memoryview, array.array)):
        return f"the function reaches a {name}, which may change; use a tensor or a list"
    elif isinstance(value, collections.deque):
        if len(value) > _MOST_CONTENTS:
            return "the function reaches a long deque, which may change"
    elif hasattr(type(value), "__next__"):
        return f"the function reaches a {name}, whose position a replay would not move"
    return None


def _is_hooks(name: str) -> bool:
    return "_hooks" in name


@functools.lru_cache(4096)
def _names(code: types.CodeType) -> tuple[frozenset[str], frozenset[str]]:
    """All names in a function and in those inside it, and which of them are globals."""
    names = set(code.co_names)
    global_names = {i.argval for i in dis.get_instructions(code) if i.opname in _GLOBAL_OPS}
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            inner, inner_globals = _names(constant)
            names |= inner
            global_names |= inner_globals
    return frozenset(names), frozenset(global_names)
