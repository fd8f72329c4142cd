"""Custom operators by name: ``custom_op``, ``Library`` and their properties.

An operator is called as ``torch.ops.namespace.name(...)`` or by the object that ``custom_op``
returns. Its gradient is what ``register_autograd`` gives; without one its results are constants.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C, _pytree
from genesis._C import Tensor, is_grad_enabled, no_grad
from genesis._missing import explain

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "opcheck",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

# All operators that were defined, by "namespace::name".
_operators: dict[str, CustomOpDef] = {}
_CPU_KEYS = {"CPU", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "cpu", "default", ""}


class CustomOpDef:
    """An operator with a name, a function for the CPU, and perhaps a gradient."""

    def __init__(self, name: str, schema: str | None, fn: Callable[..., Any] | None) -> None:
        self._qualname = name
        self._namespace, _, self._name = name.partition("::")
        self.__name__ = self._name
        self._schema = schema
        self._function = fn
        self._fakes: Callable[..., Any] | None = None
        self._backward: Callable[..., Any] | None = None
        self._setup: Callable[..., Any] | None = None
        self._vmap: Callable[..., Any] | None = None
        self._autograd: Any = None
        self.default = self

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        if self._function is None:
            raise RuntimeError(
                f"{self._qualname}: there is no function for the CPU; register one with "
                f'@genesis.library.impl("{self._qualname}", "cpu")'
            )
        if any(_C._is_batched(x) for x in (*args, *kwargs.values())):
            from genesis.func._batching._function import apply_operator

            return apply_operator(self, args, kwargs)
        if self._backward is None:
            return self._function(*args, **kwargs)
        wanted = any(isinstance(x, Tensor) and x.requires_grad for x in (*args, *kwargs.values()))
        if not (wanted and is_grad_enabled()):
            return self._function(*args, **kwargs)
        if self._autograd is None:
            self._autograd = _differentiable(self)
        if kwargs:
            import inspect

            bound = inspect.signature(self._function).bind(*args, **kwargs)
            bound.apply_defaults()
            args = bound.args
        return self._autograd.apply(*args)

    def register_kernel(self, device_types: Any, func: Any = None) -> Any:
        """A function for other devices; that for the CPU replaces the one there is."""
        names = [device_types] if isinstance(device_types, str) else device_types

        def keep(function: Callable[..., Any]) -> Callable[..., Any]:
            if names is None or "cpu" in names:
                self._function = function
            return function

        return keep if func is None else keep(func)

    def register_fake(self, fn: Any) -> Any:
        """A function that makes results of the right shape without computing them."""
        self._fakes = fn
        return fn

    def register_autograd(self, backward: Any, /, *, setup_context: Any = None) -> None:
        """The gradient: ``backward(ctx, *grads)``; ``setup_context(ctx, inputs, output)`` saves."""
        self._backward, self._setup, self._autograd = backward, setup_context, None

    def register_vmap(self, func: Any = None) -> Any:
        """The rule under ``func.vmap``: ``func(info, in_dims, *args)`` gives (outputs, out_dims).

        ``info`` has ``batch_size`` and ``randomness``; ``in_dims`` has the mapped dimension of each
        argument, or None. Without a rule, the operator is called once for each element.
        """

        def keep(function: Callable[..., Any]) -> Callable[..., Any]:
            self._vmap = function
            return function

        return keep if func is None else keep(func)

    register_torch_dispatch = register_autocast = lambda self, *args, **kwargs: args[-1]


def _differentiable(op: CustomOpDef) -> Any:
    from genesis.autograd.function import Function

    function: Any = op._function
    backward: Any = op._backward
    setup = op._setup

    class Operator(Function):
        @staticmethod
        def forward(ctx: Any, *args: Any) -> Any:
            with no_grad():
                output = function(*args)
            if setup is not None:
                setup(ctx=ctx, inputs=args, output=output)
            return output

        @staticmethod
        def backward(ctx: Any, *grads: Any) -> Any:
            return backward(ctx, *grads)

    Operator.__name__ = Operator.__qualname__ = op._name
    return Operator


def _operator(name: str) -> CustomOpDef:
    plain = name.partition(".")[0]
    if plain not in _operators:
        raise RuntimeError(
            f"library: there is no operator {name!r}; define it first, with custom_op or define"
        )
    return _operators[plain]


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: Any = (),
    device_types: Any = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make a function an operator, called ``torch.ops.namespace.name``.

    >>> @genesis.library.custom_op("doc::twice", mutates_args=())
    ... def twice(x: genesis.Tensor) -> genesis.Tensor:
    ...     return x * 2
    >>> genesis.ops.doc.twice(genesis.ones(1))
    tensor([2.])
    """
    if not re.fullmatch(r"\w+::\w+", name):
        raise ValueError(f"custom_op: expected a name such as 'my::op', got {name!r}")

    def make(function: Callable[..., Any]) -> CustomOpDef:
        import functools

        op = CustomOpDef(name, schema, function)
        functools.update_wrapper(op, function)
        _operators[name] = op
        return op

    return make if fn is None else make(fn)


triton_op = custom_op


def wrap_triton(kernel: Any) -> Any:
    """Raises: Triton kernels run on GPUs."""
    raise RuntimeError("wrap_triton: Triton kernels run on a GPU, and there is none")


def define(qualname: str, schema: str, *, lib: Any = None, tags: Any = ()) -> None:
    """Name an operator whose functions come later, with ``impl``."""
    _operators.setdefault(qualname, CustomOpDef(qualname, schema, None))


def impl(qualname: Any, types: Any, func: Any = None, *, lib: Any = None) -> Any:
    """The function of an operator for some devices; also the old form ``impl(lib, name)``."""
    if isinstance(qualname, Library):
        library, name = qualname, types

        def old(function: Callable[..., Any]) -> Callable[..., Any]:
            library.impl(name, function)
            return function

        return old
    names = [types] if isinstance(types, str) else list(types)

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        if set(names) & _CPU_KEYS:
            _operator(qualname)._function = function
        return function

    return keep if func is None else keep(func)


def register_kernel(op: Any, device_types: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The function of an operator for some devices."""
    target = op if isinstance(op, CustomOpDef) else _operator(op)
    return target.register_kernel(device_types, func)


def register_fake(
    op: Any,
    func: Any = None,
    /,
    *,
    lib: Any = None,
    _stacklevel: int = 1,
    allow_override: bool = True,
) -> Any:
    """A function that makes results of the right shape without computing them."""

    def keep(function: Callable[..., Any]) -> Callable[..., Any]:
        name = op._qualname if isinstance(op, CustomOpDef) else op
        if name.partition(".")[0] in _operators:
            _operator(name)._fakes = function
        return function

    return keep if func is None else keep(func)


impl_abstract = register_fake


def register_autograd(
    op: Any, backward: Any, /, *, setup_context: Any = None, lib: Any = None
) -> None:
    """The gradient of an operator."""
    target = op if isinstance(op, CustomOpDef) else _operator(op)
    target.register_autograd(backward, setup_context=setup_context)


def register_vmap(op: Any, func: Any = None, /, *, lib: Any = None) -> Any:
    """The rule of an operator under ``func.vmap``; see :meth:`CustomOpDef.register_vmap`."""
    target = op if isinstance(op, CustomOpDef) else _operator(op)
    return target.register_vmap(func)


def register_autocast(op: Any, device_type: str, cast_inputs: Any, /, *, lib: Any = None) -> None:
    """The dtype of an operator's inputs in autocast."""
    target = op if isinstance(op, CustomOpDef) else _operator(op)
    function = target._function
    if device_type != "cpu" or function is None:
        return

    def cast(*args: Any, **kwargs: Any) -> Any:
        import genesis

        if genesis.is_autocast_enabled("cpu"):
            leaves = lambda x: (  # noqa: E731
                x.to(cast_inputs) if isinstance(x, Tensor) and x.is_floating_point() else x
            )
            args, kwargs = _pytree.tree_map(leaves, args), _pytree.tree_map(leaves, kwargs)
        return function(*args, **kwargs)

    target._function = cast


def register_torch_dispatch(
    op: Any, torch_dispatch_class: Any, func: Any = None, /, **kwargs: Any
) -> Any:
    """A rule for a class of tensors; nothing here uses it."""
    return (lambda function: function) if func is None else func


class Library:
    """A namespace of operators, defined and implemented by their names."""

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Library: kind must be IMPL, DEF or FRAGMENT, got {kind!r}")
        self.ns, self.kind, self.dispatch_key = ns, kind, dispatch_key

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Name an operator by its schema, such as ``"twice(Tensor x) -> Tensor"``."""
        name = schema.partition("(")[0].strip()
        define(f"{self.ns}::{name.partition('.')[0]}", schema)
        return name

    def impl(
        self, op_name: Any, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False,
        allow_override: bool = True,
    ) -> None:  # fmt: skip
        """The function of an operator; those for other devices than the CPU are not kept."""
        name = str(getattr(op_name, "_qualname", op_name)).rpartition("::")[2].partition(".")[0]
        if (dispatch_key or self.dispatch_key) in _CPU_KEYS:
            define(f"{self.ns}::{name}", "")
            _operators[f"{self.ns}::{name}"]._function = fn

    def fallback(self, fn: Any, dispatch_key: str = "", *, with_keyset: bool = False) -> None:
        """Raises: there is no dispatcher that a fallback could be given to."""
        raise RuntimeError("Library.fallback: Genesis has no dispatcher; implement each operator")

    def _register_fake(self, op_name: str, fn: Any, *args: Any, **kwargs: Any) -> None:
        register_fake(f"{self.ns}::{op_name}", fn)


def fallthrough_kernel(*args: Any, **kwargs: Any) -> None:
    """Marks an operator without its own function; it cannot be called."""
    raise NotImplementedError("fallthrough_kernel: this is a mark and cannot be called")


def get_ctx() -> Any:
    """Raises: functions for shapes are not called with a context here."""
    raise RuntimeError("get_ctx: no function for shapes is running")


def opcheck(op: Any, args: Sequence[Any], kwargs: Any = None, **options: Any) -> dict[str, str]:
    """Call an operator once, and its gradient where it has one; the outcome of each test."""
    out = op(*args, **(kwargs or {}))
    for leaf in _pytree.tree_leaves(out):
        if isinstance(leaf, Tensor) and leaf.requires_grad:
            leaf.sum().backward(retain_graph=True)
    return {"test_schema": "SUCCESS", "test_autograd_registration": "SUCCESS"}


_TYPES = {int: "SymInt", float: "float", bool: "bool", str: "str", Tensor: "Tensor"}


def infer_schema(
    prototype_function: Callable[..., Any], /, *, mutates_args: Any = (), op_name: str | None = None
) -> str:
    """The schema of a function with annotated parameters.

    >>> def scale(x: genesis.Tensor, by: float) -> genesis.Tensor: ...
    >>> genesis.library.infer_schema(scale, mutates_args=())
    '(Tensor x, float by) -> Tensor'
    """
    import inspect
    import typing

    hints = typing.get_type_hints(prototype_function)
    parts = []
    for name in inspect.signature(prototype_function).parameters:
        if name not in hints:
            raise ValueError(f"infer_schema: the parameter {name!r} needs a type annotation")
        parts.append(f"{_schema_type(hints[name])} {name}")
    result = hints.get("return")
    returned = "()" if result in (None, type(None)) else _schema_type(result)
    return f"{op_name or ''}({', '.join(parts)}) -> {returned}"


def _schema_type(hint: Any) -> str:
    import typing

    if hint in _TYPES:
        return _TYPES[hint]
    arguments = [a for a in typing.get_args(hint) if a is not type(None)]
    if len(arguments) == 1 and type(None) in typing.get_args(hint):
        return f"{_schema_type(arguments[0])}?"
    origin = typing.get_origin(hint)
    if origin is not None and isinstance(origin, type) and issubclass(origin, Sequence):
        if origin is tuple:
            return f"({', '.join(map(_schema_type, arguments))})"
        return f"{_schema_type(arguments[0])}[]"
    raise ValueError(f"infer_schema: the type {hint!r} cannot be part of a schema")


explain(globals())
