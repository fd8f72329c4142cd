"""A module as a tree of modules: walks over it, and changes of all of it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any, TypeVar

from genesis._C import Tensor
from genesis.nn.modules._registry import SizedIterator

if TYPE_CHECKING:
    from typing_extensions import Self

    from genesis.nn.modules.module import Module
    from genesis.nn.parameter import Parameter

T = TypeVar("T")


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")


def _below(root: Any) -> Iterable[Any]:
    """What ``root.modules()`` yields, without the names."""
    seen: dict[int, Any] = {}
    waiting = [root]
    while waiting:
        module = waiting.pop()
        if id(module) not in seen:
            seen[id(module)] = module
            waiting += [m for m in reversed(module._modules.values()) if m is not None]
    return seen.values()


class ModuleTree:
    """The part of Module that knows its submodules."""

    training: bool
    if TYPE_CHECKING:  # the names are not there when get_type_hints() asks for them
        _parameters: dict[str, Parameter | None]
        _buffers: dict[str, Tensor | None]
        _modules: dict[str, Module | None]

    # ---- walks ----------------------------------------------------------------------------------

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Module]]:
        """This module and all below it, with their paths.

        >>> [name for name, _ in genesis.nn.Sequential(genesis.nn.Identity()).named_modules()]
        ['', '0']
        """
        memo = set() if memo is None else memo
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self  # type: ignore[misc]
        for name, module in self._modules.items():
            if module is not None:
                path = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, path, remove_duplicate)

    def num_parameters(self) -> int:
        """How many numbers the module learns.

        >>> genesis.nn.Linear(2, 3).num_parameters()
        9
        """
        return sum(p.numel() for p in self.parameters())

    def vars(self) -> list[Tensor]:
        """All tensors of the module and of those below it: parameters and buffers."""
        return [*self.parameters(), *self.buffers()]

    def modules(self, remove_duplicate: bool = True) -> Iterator[Module]:
        """This module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_children(self) -> Iterator[tuple[str, Module]]:
        """The modules directly below this one, with their names."""
        seen = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def children(self) -> Iterator[Module]:
        """The modules directly below this one."""
        for _, module in self.named_children():
            yield module

    def _named_members(
        self,
        get_members_fn: Callable[[Any], Iterable[tuple[str, T | None]]],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, T]]:
        seen: set[int] = set()
        modules: Iterable[tuple[str, Any]] = (
            self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
            if recurse
            else [(prefix, self)]
        )
        for path, module in modules:
            for name, member in get_members_fn(module):
                if member is None or id(member) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(member))
                yield (f"{path}.{name}" if path else name), member

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> SizedIterator[tuple[str, Parameter]]:
        """The parameters with their paths. A shared one comes once, under its first path.

        >>> [name for name, _ in genesis.nn.Linear(2, 3).named_parameters()]
        ['weight', 'bias']
        """
        return SizedIterator(
            self._named_members(lambda m: m._parameters.items(), prefix, recurse, remove_duplicate)
        )

    def parameters(self, recurse: bool = True) -> SizedIterator[Parameter]:
        """The parameters, each once: an iterator that has a ``len()``.

        >>> len(genesis.nn.Linear(2, 3).parameters())
        2
        """
        if type(self).named_parameters is not ModuleTree.named_parameters:
            return SizedIterator(p for _, p in self.named_parameters(recurse=recurse))
        found: dict[int, Parameter] = {}
        for module in _below(self) if recurse else (self,):
            for parameter in module._parameters.values():
                if parameter is not None:
                    found.setdefault(id(parameter), parameter)
        return SizedIterator(found.values())

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> SizedIterator[tuple[str, Tensor]]:
        """The buffers with their paths."""
        return SizedIterator(
            self._named_members(lambda m: m._buffers.items(), prefix, recurse, remove_duplicate)
        )

    def buffers(self, recurse: bool = True) -> SizedIterator[Tensor]:
        """The buffers, each once."""
        return SizedIterator(b for _, b in self.named_buffers(recurse=recurse))

    # ---- by path --------------------------------------------------------------------------------

    def get_submodule(self, target: str) -> Module:
        """The module at a path such as ``"encoder.0"``; this one for ``""``.

        >>> genesis.nn.Sequential(genesis.nn.Identity()).get_submodule("0")
        Identity()
        """
        module: Any = self
        for name in target.split(".") if target else ():
            if module._modules.get(name) is None:
                what = "is not a Module" if hasattr(module, name) else "does not exist"
                raise AttributeError(
                    f"get_submodule: {target!r}: {name!r} of {type(module).__name__} {what}"
                )
            module = module._modules[name]
        return module  # type: ignore[no-any-return]

    def _get_member(self, what: str, target: str) -> Any:
        path, _, name = target.rpartition(".")
        module = self.get_submodule(path)
        members = module._parameters if what == "parameter" else module._buffers
        if members.get(name) is None:
            raise AttributeError(
                f"get_{what}: {target!r}: {type(module).__name__} has no {what} {name!r}"
            )
        return members[name]

    def get_parameter(self, target: str) -> Parameter:
        """The parameter at a path such as ``"encoder.0.weight"``."""
        return self._get_member("parameter", target)  # type: ignore[no-any-return]

    def get_buffer(self, target: str) -> Tensor:
        """The buffer at a path."""
        return self._get_member("buffer", target)  # type: ignore[no-any-return]

    def set_submodule(self, target: str, module: Module, strict: bool = False) -> None:
        """Put a module at a path. With ``strict``, a module must exist there.

        >>> model = genesis.nn.Sequential(genesis.nn.Linear(2, 2))
        >>> model.set_submodule("0", genesis.nn.Identity())
        >>> model[0]
        Identity()
        """
        if not target:
            raise ValueError("set_submodule: the path must not be empty")
        path, _, name = target.rpartition(".")
        parent = self.get_submodule(path)
        if not isinstance(module, ModuleTree):
            raise ValueError(f"set_submodule: {type(module).__name__} is not a Module")
        there = parent._modules.get(name)
        if there is None and (strict or hasattr(parent, name)):
            what = "is not a Module" if hasattr(parent, name) else "does not exist"
            raise AttributeError(f"set_submodule: {name!r} of {type(parent).__name__} {what}")
        setattr(parent, name, module)

    # ---- changes --------------------------------------------------------------------------------

    def apply(self, fn: Callable[[Module], Any]) -> Self:
        """Call ``fn`` on every module below this one, then on this one.

        >>> _ = genesis.nn.Linear(2, 1).apply(lambda module: print(module))
        Linear(in_features=2, out_features=1, bias=True)
        """
        for module in self.children():
            module.apply(fn)
        fn(self)  # type: ignore[arg-type]
        return self

    def train(self, mode: bool = True) -> Self:
        """Say whether the model is being trained, which matters to Dropout and BatchNorm."""
        if not isinstance(mode, bool):
            raise ValueError(f"train: mode must be a bool, got {mode!r}")
        self.training = mode
        for module in self.children():
            module.train(mode)
        return self

    def eval(self) -> Self:
        """``train(False)``."""
        return self.train(False)

    def requires_grad_(self, requires_grad: bool = True) -> Self:
        """Say whether the parameters are to get gradients."""
        for parameter in self.parameters():
            parameter.requires_grad_(requires_grad)
        return self

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop the gradients of all parameters, or fill them with zeros."""
        for parameter in self.parameters():
            parameter.zero_grad(set_to_none)

    # ---- text -----------------------------------------------------------------------------------

    def _get_name(self) -> str:
        return type(self).__name__

    def extra_repr(self) -> str:
        """What stands in the parentheses of the text of a layer."""
        return ""

    def _repr_html_(self) -> str:
        from genesis import _notebook

        return _notebook.module_html(self)

    def __repr__(self) -> str:
        extra = self.extra_repr()
        children = [f"({name}): {_indent(repr(m))}" for name, m in self._modules.items()]
        if not children and "\n" not in extra:
            return f"{self._get_name()}({extra})"
        lines = [*(extra.split("\n") if extra else []), *children]
        return "\n  ".join([f"{self._get_name()}(", *lines]) + "\n)"
