"""Compare the gradients that backward computes with central differences.

Everything runs in float64 on copies of the inputs: in float32 a difference of 1e-6 drowns in
rounding. Inputs are perturbed through their NumPy buffers: an evaluation is one function call.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import numpy.typing as npt

from genesis import _C, autograd

if TYPE_CHECKING:
    from genesis._C import Tensor

Array: TypeAlias = npt.NDArray[np.float64]
_SHOWN = 5  # how many deviations an error lists


class GradcheckError(RuntimeError):
    """A gradient disagrees with the finite differences of its function."""


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
    order: int = 1,
) -> bool:
    """Check the gradients of ``func(*inputs)`` against central differences of half-width ``eps``.

    ``inputs`` is a tensor or a tuple; those that require grad are checked, in float64 whatever
    their dtype. ``fast_mode`` compares random projections of the Jacobian, and looks at every
    element only if one is off. ``order=2`` also checks the gradient of the gradient. Two backward
    passes over one graph may differ by ``nondet_tol``. Returns True, or raises
    :class:`GradcheckError` (returns False if ``raise_exception=False``).

    >>> x = genesis.tensor([1.0, 2.0], requires_grad=True)
    >>> gradcheck(lambda x: (x**2).sum(), x)
    True
    """
    if order < 1:
        raise ValueError(f"gradcheck: order must be at least 1, got {order}")
    f = _Function(func, inputs)
    if not f.watched:
        raise ValueError("gradcheck: no input requires grad; create one with requires_grad=True")
    try:
        _check_backward(f, nondet_tol)
        if not (fast_mode and _projections_agree(f, eps, atol, rtol)):
            _check_jacobian(f, eps, atol, rtol)
        if order > 1:
            gradgradcheck(
                func, inputs, None, eps, atol, rtol,
                nondet_tol=nondet_tol, fast_mode=fast_mode, order=order - 1,
            )  # fmt: skip
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def gradgradcheck(
    func: Callable[..., Any],
    inputs: Any,
    grad_outputs: Any = None,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    fast_mode: bool = False,
    order: int = 1,
) -> bool:
    """Check the gradient of the gradient: :func:`gradcheck` on the backward pass of ``func``.

    ``grad_outputs`` holds one tensor for each output of ``func`` that requires grad (None: random);
    those that require grad are checked like further inputs. The other arguments are gradcheck's.
    """
    f = _Function(func, inputs)
    outputs = f.differentiable(f.args)
    if not outputs:
        return True  # no gradient to differentiate
    if grad_outputs is None:
        rng = np.random.default_rng(0)
        seeds = [_like(out, rng.standard_normal(out.shape)).requires_grad_() for out in outputs]
    else:
        seeds = list(grad_outputs if isinstance(grad_outputs, (tuple, list)) else [grad_outputs])

    def gradient(*args_and_seeds: Any) -> tuple[Tensor, ...]:
        args, seeds = args_and_seeds[: len(f.args)], args_and_seeds[len(f.args) :]
        watched = [args[i] for i in f.watched]
        grads = autograd.grad(
            f.differentiable(args), watched, list(seeds), create_graph=True, allow_unused=True
        )
        return tuple(g for g in grads if g is not None)

    try:
        return gradcheck(
            gradient, (*f.args, *seeds), eps, atol, rtol,
            raise_exception=raise_exception, nondet_tol=nondet_tol, fast_mode=fast_mode,
            order=order,
        )  # fmt: skip
    except GradcheckError as error:
        raise GradcheckError(
            "gradgradcheck, where the outputs are the gradients of the inputs and inputs "
            f"{len(f.args)}.. are grad_outputs:\n{error}"
        ) from None


class _Function:
    """A function with float64 copies of its inputs; `watched` numbers those that require grad."""

    def __init__(self, func: Callable[..., Any], inputs: Any) -> None:
        def copied(arg: Any) -> Any:
            if not (hasattr(arg, "is_floating_point") and arg.is_floating_point()):
                return arg
            return arg.detach().clone().double().requires_grad_(arg.requires_grad)

        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        self.func = func
        self.args = tuple(copied(arg) for arg in inputs)
        self.watched = [
            i for i, arg in enumerate(self.args) if getattr(arg, "requires_grad", False)
        ]

    def outputs(self, args: tuple[Any, ...]) -> list[tuple[int, Tensor]]:
        """The floating outputs, each with its number among all outputs."""
        result = self.func(*args)
        several = result if isinstance(result, (tuple, list)) else (result,)
        return [(i, out) for i, out in enumerate(several) if out.is_floating_point()]

    def differentiable(self, args: tuple[Any, ...]) -> list[Tensor]:
        return [out for _, out in self.outputs(args) if out.requires_grad]

    def backward(self, number: int, out: Tensor, seed: Array) -> list[Array]:
        """The gradient of one output for each watched input, flat; zeros where there is none."""
        tensors = [self.args[i] for i in self.watched]
        grads: tuple[Any, ...] = (None,) * len(tensors)
        if out.requires_grad:
            grads = autograd.grad(
                out, tensors, _like(out, seed), retain_graph=True, allow_unused=True
            )
        flat = []
        for i, x, g in zip(self.watched, tensors, grads, strict=True):
            if g is not None and (tuple(g.shape) != tuple(x.shape) or g.dtype != x.dtype):
                raise GradcheckError(
                    f"gradcheck: output {number}: the gradient of input {i} is {g.dtype} of shape "
                    f"{tuple(g.shape)}, the input is {x.dtype} of shape {tuple(x.shape)}"
                )
            flat.append(np.zeros(x.numel()) if g is None else g.detach().numpy().flatten())
        return flat

    def difference(self, i: int, step: Array) -> list[Array]:
        """f(x + step) - f(x - step) for each floating output, flat, where x is input i."""
        buffer = self.args[i].detach().numpy()
        x = buffer.copy()
        sides = []
        try:
            for sign in (1, -1):
                buffer[...] = x + sign * step
                outputs = self.outputs(self.args)
                # flatten() copies: an output may be a view of the input that changes next
                sides.append([out.detach().double().numpy().flatten() for _, out in outputs])
        finally:
            buffer[...] = x
        return [above - below for above, below in zip(*sides, strict=True)]


def _like(t: Tensor, values: Array) -> Tensor:
    return _C.tensor(np.broadcast_to(values, tuple(t.shape)), dtype=t.dtype)


def _check_backward(f: _Function, nondet_tol: float) -> None:
    """Shape and dtype of the gradients, and twice the same gradients from the same graph."""
    rng = np.random.default_rng(0)
    for number, out in f.outputs(f.args):
        seed = rng.standard_normal(out.shape)
        first, second = (f.backward(number, out, seed) for _ in range(2))
        for i, a, b in zip(f.watched, first, second, strict=True):
            off = float(np.max(np.abs(a - b), initial=0.0))
            if off > nondet_tol:
                raise GradcheckError(
                    f"gradcheck: output {number}, input {i}: two backward passes over one graph "
                    f"differ by {off:.3g}; allowed: nondet_tol={nondet_tol:g}"
                )


def _projections_agree(f: _Function, eps: float, atol: float, rtol: float) -> bool:
    rng = np.random.default_rng(1)
    outputs = f.outputs(f.args)
    v = [rng.standard_normal(out.shape) for _, out in outputs]
    grads = [f.backward(number, out, v[o]) for o, (number, out) in enumerate(outputs)]
    for w, i in enumerate(f.watched):
        u = rng.standard_normal(f.args[i].shape)
        for o, difference in enumerate(f.difference(i, eps * u)):
            numeric = float(v[o].ravel() @ difference) / (2 * eps)
            slack = atol * np.abs(u).sum() * np.abs(v[o]).sum() + rtol * abs(numeric)
            if not abs(float(grads[o][w] @ u.ravel()) - numeric) <= slack:
                return False
    return True


def _check_jacobian(f: _Function, eps: float, atol: float, rtol: float) -> None:
    def basis(shape: tuple[int, ...]) -> list[Array]:
        size = int(np.prod(shape))
        return [row.reshape(shape) for row in np.eye(size)]

    columns = {
        i: [f.difference(i, eps * unit) for unit in basis(f.args[i].shape)] for i in f.watched
    }
    for o, (number, out) in enumerate(f.outputs(f.args)):
        rows = [f.backward(number, out, unit) for unit in basis(out.shape)]
        for w, i in enumerate(f.watched):
            if not rows or not columns[i]:
                continue  # zero-size: nothing to compare
            a = np.stack([row[w] for row in rows])
            n = np.stack([column[o] for column in columns[i]], axis=1) / (2 * eps)
            bad = ~(np.abs(a - n) <= atol + rtol * np.abs(n))  # written so that nan is bad
            if bad.any():
                raise GradcheckError(_report(number, out, i, f.args[i], a, n, bad))


def _report(number: int, out: Tensor, i: int, x: Tensor, a: Array, n: Array, bad: Any) -> str:
    off = np.where(bad, np.nan_to_num(np.abs(a - n), nan=np.inf, posinf=np.inf), -1.0)
    text = (
        f"gradcheck: output {number} of shape {tuple(out.shape)}, input {i} of shape "
        f"{tuple(x.shape)}: {bad.sum()} of {bad.size} derivatives are off; the largest deviations:"
    )
    for place in np.argsort(-off, axis=None)[: min(_SHOWN, bad.sum())]:
        row, column = divmod(int(place), a.shape[1])
        index = [
            [int(k) for k in np.unravel_index(flat, tuple(t.shape))]
            for flat, t in ((row, out), (column, x))
        ]
        text += (
            f"\n  d output{index[0]} / d input{index[1]}: "
            f"analytic {a[row, column]:.6g}, numeric {n[row, column]:.6g}"
        )
    return text
