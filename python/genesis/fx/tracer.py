"""Records the ``forward`` of a module as a graph."""

from __future__ import annotations

import builtins
import functools
import inspect
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from genesis._C import Tensor
from genesis.fx.graph import Graph
from genesis.fx.graph_module import GraphModule
from genesis.fx.node import Node
from genesis.fx.proxy import Proxy, TracerBase
from genesis.nn.modules.container import Sequential
from genesis.nn.modules.module import Module

__all__ = ["ProxyableClassMeta", "Tracer", "symbolic_trace", "wrap"]

# Functions of some module that are recorded as one call: (globals of the module, name).
_wrapped: list[tuple[dict[str, Any], str]] = []


def wrap(fn_or_name: str | Callable[..., Any]) -> Any:
    """Record calls of a function of this module as one node, instead of its operations.

    Called at the top level of a module with the name of a function, or as its decorator.
    """
    frame = inspect.currentframe()
    assert frame is not None
    assert frame.f_back is not None
    name = fn_or_name if isinstance(fn_or_name, str) else fn_or_name.__name__
    if frame.f_back.f_code.co_name != "<module>":
        raise NotImplementedError("wrap: call it at the top level of a module")
    _wrapped.append((frame.f_back.f_globals, name))
    return fn_or_name


class ProxyableClassMeta(type):
    """Classes whose construction with proxies is recorded as one node."""

    def __call__(cls, *args: Any, **kwargs: Any) -> Any:
        proxies = [x for x in (*args, *kwargs.values()) if isinstance(x, Proxy)]
        if proxies:
            return proxies[0].tracer.create_proxy("call_function", cls, args, kwargs)
        return super().__call__(*args, **kwargs)


class Tracer(TracerBase):
    """Calls ``forward`` with stand-ins and records the operations on them.

    Modules of ``genesis.nn`` are recorded as one call each (``is_leaf_module``), other modules by
    what they do.
    """

    def __init__(
        self,
        autowrap_modules: tuple[ModuleType, ...] = (),
        autowrap_functions: tuple[Callable[..., Any], ...] = (),
        param_shapes_constant: bool = False,
    ) -> None:
        super().__init__()
        self._autowrap = {id(function) for function in autowrap_functions}
        for module in autowrap_modules:
            self._autowrap |= {id(f) for f in vars(module).values() if inspect.isfunction(f)}
        self.root: Module = Module()
        self.submodule_paths: dict[Module, str] = {}
        self.module_stack: dict[str, Any] = {}

    def is_leaf_module(self, m: Module, module_qualified_name: str) -> bool:
        """Whether a module is recorded as one call."""
        inside = m.__module__.startswith(("genesis.nn", "torch.nn"))
        return inside and not isinstance(m, Sequential)

    def path_of_module(self, mod: Module) -> str:
        """The name of a submodule of the traced module."""
        if mod not in self.submodule_paths:
            raise NameError("symbolic_trace: a module is called that is not part of the traced one")
        return self.submodule_paths[mod]

    def call_module(
        self, m: Module, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        """Called for the call of a submodule: records the call, or its operations."""
        path = self.path_of_module(m)
        if self.is_leaf_module(m, path):
            return self.create_proxy("call_module", path, args, kwargs)
        return forward(*args, **kwargs)

    def create_arg(self, a: Any) -> Any:
        if isinstance(a, Tensor):
            return self._attribute_of(a)
        return super().create_arg(a)

    def _plain(self, a: Any) -> Any:
        return self._attribute_of(a) if isinstance(a, Tensor) else super()._plain(a)

    def _attribute_of(self, tensor: Tensor) -> Node:
        """A node for a parameter or buffer; another tensor becomes an attribute of the module."""
        if id(tensor) not in self._tensors:
            number = sum(name.startswith("_tensor_constant") for name in vars(self.root))
            name = f"_tensor_constant{number}"
            setattr(self.root, name, tensor)
            self._tensors[id(tensor)] = name
        return self.create_node("get_attr", self._tensors[id(tensor)], (), {})

    def trace(self, root: Module | Callable[..., Any], concrete_args: Any = None) -> Graph:
        """The graph of a module's ``forward``, or of a function.

        ``concrete_args`` gives values to parameters that are not to be inputs.
        """
        if isinstance(root, Module):
            self.root, function = root, type(root).forward
            prefix: tuple[Any, ...] = (root,)
        else:
            self.root, function, prefix = Module(), root, ()
        self.submodule_paths = {m: name for name, m in self.root.named_modules()}
        named = [*self.root.named_parameters(), *self.root.named_buffers()]
        self._tensors = {id(t): name for name, t in named}
        self.graph = Graph(tracer_cls=type(self))
        arguments, keywords = self._inputs(function, len(prefix), concrete_args or {})
        with _Patches(self):
            result = function(*prefix, *arguments, **keywords)
        self.graph.output(self.create_arg(result))
        return self.graph

    def _inputs(
        self, function: Callable[..., Any], skip: int, concrete: dict[str, Any]
    ) -> tuple[list[Any], dict[str, Any]]:
        arguments: list[Any] = []
        keywords: dict[str, Any] = {}
        for parameter in list(inspect.signature(function).parameters.values())[skip:]:
            name = parameter.name
            if parameter.kind is parameter.VAR_POSITIONAL:
                arguments.append(self.create_proxy("placeholder", f"*{name}", (), {}))
                continue
            if parameter.kind is parameter.VAR_KEYWORD:
                keywords[name] = self.create_proxy("placeholder", f"**{name}", (), {})
                continue
            default = () if parameter.default is parameter.empty else (parameter.default,)
            value = (
                concrete[name] if name in concrete
                else self.create_proxy("placeholder", name, default, {})
            )  # fmt: skip
            if parameter.kind is parameter.KEYWORD_ONLY:
                keywords[name] = value
            else:
                arguments.append(value)
        return arguments, keywords


class _Patches:
    """While a trace runs: calls of modules and of wrapped functions are recorded."""

    def __init__(self, tracer: Tracer) -> None:
        self.tracer = tracer
        self.undo: list[Callable[[], None]] = []

    def __enter__(self) -> None:
        tracer = self.tracer
        plain = Module.__call__

        def call(module: Module, *args: Any, **kwargs: Any) -> Any:
            def forward(*args: Any, **kwargs: Any) -> Any:
                return plain(module, *args, **kwargs)

            return tracer.call_module(module, forward, args, kwargs)

        Module.__call__ = call  # type: ignore[method-assign,assignment]
        self.undo.append(lambda: delattr(Module, "__call__"))
        for place, name in self._functions():
            original = place.get(name) or getattr(builtins, name)
            there = name in place
            place[name] = _recorded(original)
            self.undo.append(functools.partial(_restore, place, name, original, there))

    def _functions(self) -> list[tuple[dict[str, Any], str]]:
        found = list(_wrapped)
        place = sys.modules.get(type(self.tracer.root).__module__)
        if place is not None:
            found += [
                (vars(place), n) for n, f in vars(place).items() if id(f) in self.tracer._autowrap
            ]
        return found

    def __exit__(self, *exception: object) -> None:
        for undo in reversed(self.undo):
            undo()


def _restore(place: dict[str, Any], name: str, original: Any, there: bool) -> None:
    if there:
        place[name] = original
    else:
        place.pop(name, None)


def _recorded(function: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        proxies = [x for x in (*args, *kwargs.values()) if isinstance(x, Proxy)]
        if not proxies:
            return function(*args, **kwargs)
        return proxies[0].tracer.create_proxy("call_function", function, args, kwargs)

    return call


def symbolic_trace(
    root: Module | Callable[..., Any], concrete_args: dict[str, Any] | None = None
) -> GraphModule:
    """A module or function as a ``GraphModule``, whose graph can be looked at and changed.

    >>> model = genesis.nn.Sequential(genesis.nn.Linear(2, 3), genesis.nn.ReLU())
    >>> traced = genesis.fx.symbolic_trace(model)
    >>> [node.op for node in traced.graph.nodes]
    ['placeholder', 'call_module', 'call_module', 'output']
    """
    tracer = Tracer()
    graph = tracer.trace(root, concrete_args)
    name = type(root).__name__ if isinstance(root, Module) else root.__name__
    return GraphModule(tracer.root, graph, name)
