"""Jacobians, Hessians and their products at a point, with PyTorch's names and signatures.

The functions take a tensor or a tuple of tensors as inputs and return the same form. For pytrees,
keyword arguments and composition there is :mod:`genesis.func`, on which this module stands.

With ``create_graph=True`` results can be differentiated further, with respect to the inputs and to
whatever else the function uses; otherwise they are detached. With ``strict=True`` an output that
depends on none of the inputs, or an input that no output depends on, is an error instead of zeros.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain
from genesis._named_errors import name_errors
from genesis._pytree import tree_map
from genesis.func._forward import Pushforward, jacfwd, one_by_one
from genesis.func._level import Level, gradients, or_zeros
from genesis.func._reverse import hessian as func_hessian
from genesis.func._reverse import jacrev, rows

__all__ = ["hessian", "hvp", "jacobian", "jvp", "vhp", "vjp"]

Tensors: TypeAlias = Tensor | tuple[Tensor, ...]


def jacobian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    strategy: str = "reverse-mode",
) -> Any:
    """The Jacobian of ``func`` at ``inputs``.

    A tensor of shape ``output.shape + input.shape``; for a tuple of inputs a tuple of those, for a
    tuple of outputs a tuple of that. ``strategy`` is ``"reverse-mode"``, a pass for each output
    element, or ``"forward-mode"``, a pass for each input element. With ``vectorize=True``, all
    passes run at once, by the rules of :func:`genesis.func.vmap`.

    >>> jacobian(lambda x: x**2, genesis.tensor([1.0, 2.0]))
    tensor([[2., 0.],
            [0., 4.]])
    """
    _check_strategy("jacobian", "strategy", strategy)
    if vectorize:
        transform = jacfwd if strategy == "forward-mode" else jacrev
        return _vectorized("jacobian", transform, func, inputs, create_graph, strict)
    call = _Call("jacobian", func, inputs, create_graph, strict)
    if strategy == "forward-mode":
        blocks = one_by_one(Pushforward(call.level, call.outputs), call.tracked())
    else:
        blocks = [rows(y, call.level.inputs, create_graph=call.tracked()) for y in call.outputs]
    for block in blocks:
        call.check_derivatives(block)
    return call.as_outputs([call.as_inputs(block) for block in blocks])


def hessian(
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool = False,
    strict: bool = False,
    vectorize: bool = False,
    outer_jacobian_strategy: str = "reverse-mode",
) -> Any:
    """The Hessian of ``func``, which returns one number, at ``inputs``.

    A tensor of shape ``input.shape + input.shape``; for a tuple of inputs, a tuple of tuples.
    ``outer_jacobian_strategy`` is how the gradient is differentiated; see :func:`jacobian`.

    >>> hessian(lambda x: (x**3).sum(), genesis.tensor([1.0, 2.0]))
    tensor([[ 6.,  0.],
            [ 0., 12.]])
    """
    _check_strategy("hessian", "outer_jacobian_strategy", outer_jacobian_strategy)
    if vectorize:
        _Call("hessian", func, inputs, create_graph, strict).gradient()  # checks the output
        return _vectorized("hessian", func_hessian, func, inputs, create_graph, strict)
    call = _Call("hessian", func, inputs, create_graph, strict)
    grads = call.gradient()
    if outer_jacobian_strategy == "forward-mode":
        blocks = one_by_one(Pushforward(call.level, grads), call.tracked())
    else:
        blocks = [rows(g, call.level.inputs, create_graph=call.tracked()) for g in grads]
    for block in blocks:
        call.check_derivatives(block)
    return call.as_inputs([call.as_inputs(block) for block in blocks])


def vjp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, and ``v`` times its Jacobian.

    ``v`` has the form of the output and may be left out if that is one number.

    >>> vjp(lambda x: x**2, genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _Call("vjp", func, inputs, create_graph, strict)
    seeds = call.vector(v, call.outputs, "the output")
    grads = gradients(
        call.outputs,
        call.level.inputs,
        seeds,
        create_graph=call.tracked(*seeds),
        retain_graph=True,
    )
    call.check_derivatives(grads)
    return call.as_outputs(call.outputs), call.as_inputs(or_zeros(grads, call.level.inputs))


def jvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, and its Jacobian times ``v``.

    ``v`` has the form of the inputs and may be left out if those are one number.

    >>> jvp(lambda x: x**2, genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 10.0]))
    (tensor([1., 4.]), tensor([ 2., 40.]))
    """
    call = _Call("jvp", func, inputs, create_graph, strict)
    tangents = call.vector(v, call.level.inputs, "the inputs")
    push = Pushforward(call.level, call.outputs)
    products = push(dict(enumerate(tangents)), call.tracked(*tangents))
    call.check_derivatives(products)
    return call.as_outputs(call.outputs), call.as_outputs(products)


def vhp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, which returns one number, and ``v`` times its Hessian.

    ``v`` has the form of the inputs and may be left out if those are one number.

    >>> vhp(lambda x: (x**3).sum(), genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return _hessian_product("vhp", func, inputs, v, create_graph, strict)


def hvp(
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None = None,
    create_graph: bool = False,
    strict: bool = False,
) -> tuple[Any, Any]:
    """The output of ``func``, which returns one number, and its Hessian times ``v``.

    The Hessian is symmetric, so this is what :func:`vhp` computes, at the same price.

    >>> hvp(lambda x: (x**3).sum(), genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 10.0]))
    (tensor(9.), tensor([  6., 120.]))
    """
    return _hessian_product("hvp", func, inputs, v, create_graph, strict)


def _hessian_product(
    name: str,
    func: Callable[..., Any],
    inputs: Tensors,
    v: Tensors | None,
    create_graph: bool,
    strict: bool,
) -> tuple[Any, Any]:
    call = _Call(name, func, inputs, create_graph, strict)
    vectors = call.vector(v, call.level.inputs, "the inputs")
    grads = call.gradient()
    products = gradients(
        grads,
        call.level.inputs,
        vectors,
        create_graph=call.tracked(*vectors),
        retain_graph=True,
    )
    call.check_derivatives(products)
    return call.as_outputs(call.outputs), call.as_inputs(or_zeros(products, call.level.inputs))


def _vectorized(
    name: str,
    transform: Callable[..., Any],
    func: Callable[..., Any],
    inputs: Tensors,
    create_graph: bool,
    strict: bool,
) -> Any:
    """Apply a transform of :mod:`genesis.func`, which computes all rows at once, to func."""
    if strict:
        raise RuntimeError(
            f"{name}: strict=True and vectorize=True cannot be combined; pass one of them"
        )
    several = isinstance(inputs, tuple)
    args = inputs if several else (inputs,)
    result = transform(func, tuple(range(len(args))) if several else 0)(*args)
    if create_graph:
        return result
    return tree_map(lambda x: x.detach(), result)


def _check_strategy(name: str, argument: str, value: str) -> None:
    if value not in ("reverse-mode", "forward-mode"):
        raise ValueError(
            f"{name}: {argument} must be 'reverse-mode' or 'forward-mode', got {value!r}"
        )


class _Call:
    """One call of the function, on stand-ins for its inputs."""

    def __init__(
        self,
        name: str,
        func: Callable[..., Any],
        inputs: Tensors,
        create_graph: bool,
        strict: bool,
    ) -> None:
        self.name = name
        self.create_graph = create_graph
        self.strict = strict
        self._one_input = isinstance(inputs, Tensor)
        self.level = Level(name)
        stand_ins = self.level.enter(self._tuple(inputs, "inputs"))
        result = self.level.run(func, stand_ins, {})
        self._one_output = isinstance(result, Tensor)
        self.outputs = self._tuple(result, "outputs of the function")
        if strict:
            self._require_use()

    def _tuple(self, values: Any, what: str) -> tuple[Tensor, ...]:
        several = values if isinstance(values, tuple) else (values,)
        for i, value in enumerate(several):
            if not isinstance(value, Tensor):
                place = f" at index {i}" if isinstance(values, tuple) else ""
                raise TypeError(
                    f"{self.name}: the {what} must be a tensor or a tuple of tensors, got "
                    f"{type(value).__name__}{place}"
                )
        return several

    def tracked(self, *others: Tensor) -> bool:
        """Whether computations with the outputs and ``others`` must be recorded."""
        if not self.create_graph:
            return False
        # check_derivatives() must detect the dependence on the inputs in any case
        return self.strict or self.level.seen_outside(*self.outputs, *others)

    def vector(self, v: Tensors | None, like: Sequence[Tensor], what: str) -> list[Tensor]:
        if v is None:
            if len(like) != 1 or like[0].numel() != 1:
                raise ValueError(
                    f"{self.name}: v can be left out only if {what} is one tensor with one element"
                )
            return [_C.ones_like(like[0].detach())]
        vectors = self._tuple(v, "vectors v")
        if len(vectors) != len(like):
            raise ValueError(
                f"{self.name}: v has {len(vectors)} tensors, expected {len(like)}, as {what} has"
            )
        for i, (given, wanted) in enumerate(zip(vectors, like, strict=True)):
            if tuple(given.shape) != tuple(wanted.shape):
                raise ValueError(
                    f"{self.name}: v[{i}] has shape {tuple(given.shape)}, expected "
                    f"{tuple(wanted.shape)}, as {what} has"
                )
        return list(vectors)

    def gradient(self) -> list[Tensor]:
        """The gradient of the one number that the function returned, recorded."""
        if len(self.outputs) != 1 or not self._one_output or self.outputs[0].numel() != 1:
            shapes = ", ".join(str(tuple(y.shape)) for y in self.outputs)
            raise ValueError(
                f"{self.name}: the function must return one tensor with one element, got "
                f"{len(self.outputs)} of shape {shapes}"
            )
        grads = gradients(self.outputs, self.level.inputs, None, create_graph=True)
        if self.strict:
            self._require_dependence(grads, "gradient")
        return or_zeros(grads, self.level.inputs)

    def _require_use(self) -> None:
        """Strict mode: every output depends on an input, every input is used."""
        unused = set(range(len(self.level.inputs)))
        for number, out in enumerate(self.outputs):
            grads = gradients(
                [out],
                self.level.inputs,
                [_C.zeros_like(out.detach())],
                create_graph=False,
                retain_graph=True,
            )
            used = {i for i, g in enumerate(grads) if g is not None}
            if not used:
                raise RuntimeError(
                    f"{self.name}: output {number} of the function depends on none of the inputs, "
                    "which strict=True does not allow; pass strict=False for zeros"
                )
            unused -= used
        if unused:
            raise RuntimeError(
                f"{self.name}: no output of the function depends on input {min(unused)}, which "
                "strict=True does not allow; pass strict=False for zeros"
            )

    def check_derivatives(self, derivatives: Sequence[Tensor | None]) -> None:
        """Strict mode: what is to be differentiated again depends on the inputs."""
        if self.strict and self.create_graph:
            self._require_dependence(derivatives, "derivative")

    def _require_dependence(self, derivatives: Sequence[Tensor | None], what: str) -> None:
        for i, derivative in enumerate(derivatives):
            found: list[Tensor | None] = []
            if derivative is not None:
                found = gradients(
                    [derivative],
                    self.level.inputs,
                    [_C.zeros_like(derivative.detach())],
                    create_graph=False,
                    retain_graph=True,
                )
            if all(g is None for g in found):
                raise RuntimeError(
                    f"{self.name}: {what} {i} of the function is independent of the inputs, which "
                    "strict=True does not allow; pass strict=False for zeros"
                )

    def _finished(self, values: Sequence[Any]) -> tuple[Any, ...]:
        if self.create_graph:
            return tuple(self.level.leave(value) for value in values)
        return tuple(v.detach() if isinstance(v, Tensor) else v for v in values)

    def as_inputs(self, values: Sequence[Any]) -> Any:
        finished = self._finished(values)
        return finished[0] if self._one_input else finished

    def as_outputs(self, values: Sequence[Any]) -> Any:
        finished = self._finished(values)
        return finished[0] if self._one_output else finished


explain(globals())
name_errors(__all__, globals())
