"""Compare the gradients that backward computes with central differences.

Everything runs in float64 on copies of the inputs: in float32 a difference of 1e-6 drowns in
rounding. Inputs are perturbed through their NumPy buffers: an evaluation is one function call.
A complex tensor is checked as the real numbers that are its parts: its gradient is the gradient of
the real parts, plus i times that of the imaginary ones.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from genesis import _C, autograd
from genesis._C import Tensor
from genesis.autograd import forward_ad

Array: TypeAlias = npt.NDArray[np.float64]
_Outputs: TypeAlias = list[tuple[int, Tensor]]  # with their numbers among all that are returned
_SHOWN = 5  # how many deviations an error lists


class GradcheckError(RuntimeError):
    """A gradient disagrees with the finite differences of its function."""


@dataclass(frozen=True)
class _Checks:
    """The options that gradcheck and gradgradcheck share."""

    eps: float
    atol: float
    rtol: float
    nondet_tol: float
    check_undefined_grad: bool = True
    check_batched_grad: bool = False
    check_batched_forward_grad: bool = False
    check_forward_ad: bool = False
    check_backward_ad: bool = True
    fast_mode: bool = False
    order: int = 1

    def __post_init__(self) -> None:
        if self.order < 1:
            raise ValueError(f"gradcheck: order must be at least 1, got {self.order}")
        if not self.eps > 0:
            raise ValueError(f"gradcheck: eps must be positive, got {self.eps}")
        for batched, of in (("grad", "backward_ad"), ("forward_grad", "forward_ad")):
            if getattr(self, f"check_batched_{batched}") and not getattr(self, f"check_{of}"):
                raise ValueError(f"gradcheck: check_batched_{batched} needs check_{of}=True")
        if not (self.check_forward_ad or self.check_backward_ad):
            raise ValueError(
                "gradcheck: check_forward_ad and check_backward_ad are both False; set one"
            )


def gradcheck(
    func: Callable[..., Any],
    inputs: Any,
    eps: float = 1e-6,
    atol: float = 1e-5,
    rtol: float = 1e-3,
    *,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_batched_forward_grad: bool = False,
    check_forward_ad: bool = False,
    check_backward_ad: bool = True,
    fast_mode: bool = False,
    masked: bool | None = None,
    order: int = 1,
) -> bool:
    """Check the gradients of ``func(*inputs)`` against central differences of half-width ``eps``.

    ``inputs`` is a tensor or a tuple; those that require grad are checked, in float64 (or
    complex128) whatever their dtype (of a module, a copy in float64 is run). ``fast_mode`` compares
    random projections of the Jacobian, and looks at every element only if one is off. ``order=2``
    also checks the gradient of the gradient. Two backward passes over one graph may differ by
    ``nondet_tol``. With ``check_undefined_grad``, an output whose gradient is missing must count as
    one whose gradient is zero. ``check_forward_ad`` checks the tangents of ``forward_ad`` too
    (``check_backward_ad=False``: only those); ``check_batched_grad`` and
    ``check_batched_forward_grad`` check that many at once under ``vmap`` equal one at a time.
    The dtypes of gradients are always checked (``check_grad_dtypes``), and inputs are dense
    (``masked``). Returns True, or raises :class:`GradcheckError` (returns False if
    ``raise_exception=False``).

    >>> x = genesis.tensor([1.0, 2.0], requires_grad=True)
    >>> gradcheck(lambda x: (x**2).sum(), x)
    True
    """
    checks = _Checks(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_batched_grad,
        check_batched_forward_grad,
        check_forward_ad,
        check_backward_ad,
        fast_mode,
        order,
    )
    try:
        _check(_Function(func, inputs), checks)
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
    gen_non_contig_grad_outputs: bool = False,
    raise_exception: bool = True,
    nondet_tol: float = 0.0,
    check_undefined_grad: bool = True,
    check_grad_dtypes: bool = False,
    check_batched_grad: bool = False,
    check_fwd_over_rev: bool = False,
    check_rev_over_rev: bool = True,
    fast_mode: bool = False,
    masked: bool = False,
    order: int = 1,
) -> bool:
    """Check the gradient of the gradient: :func:`gradcheck` on the backward pass of ``func``.

    ``grad_outputs`` holds one tensor for each output of ``func`` that requires grad (None: random,
    with gaps between the elements if ``gen_non_contig_grad_outputs``); those that require grad are
    checked like further inputs. ``check_fwd_over_rev`` and ``check_rev_over_rev`` say whether the
    backward pass is differentiated by ``forward_ad`` or by another backward pass. The other
    arguments are gradcheck's.

    >>> gradgradcheck(lambda x: x.exp(), genesis.tensor([1.0, 2.0], requires_grad=True))
    True
    """
    checks = _Checks(
        eps,
        atol,
        rtol,
        nondet_tol,
        check_undefined_grad,
        check_batched_grad,
        check_forward_ad=check_fwd_over_rev,
        check_backward_ad=check_rev_over_rev,
        fast_mode=fast_mode,
        order=order,
    )
    f = _Function(func, inputs)
    seeds = _seeds(f, grad_outputs, gen_non_contig_grad_outputs)
    try:
        _check_gradient_of(f, seeds, checks)
    except GradcheckError:
        if raise_exception:
            raise
        return False
    return True


def _check(f: _Function, checks: _Checks) -> None:
    if not f.grad_inputs:
        raise ValueError("gradcheck: no input requires grad; create one with requires_grad=True")
    if checks.check_backward_ad:
        _check_backward(f, checks)
        if not (checks.fast_mode and _projections_agree(f, checks)):
            _check_jacobian(f, checks)
    if checks.check_forward_ad:
        _check_tangents(f, checks)
    if checks.check_batched_grad:
        _check_batched_grad(f, checks)
    if checks.order > 1:
        seeds = _seeds(f, None, gaps=False)
        _check_gradient_of(f, seeds, replace(checks, order=checks.order - 1))


def _check_gradient_of(f: _Function, seeds: list[Tensor], checks: _Checks) -> None:
    if not seeds:
        return  # no output requires grad: no gradient to differentiate

    def gradient(*args_and_seeds: Any) -> tuple[Tensor, ...]:
        args, seeds = args_and_seeds[: len(f.args)], args_and_seeds[len(f.args) :]
        grad_inputs = [args[i] for i in f.grad_inputs]
        grads = autograd.grad(
            f.differentiable(args), grad_inputs, list(seeds), create_graph=True, allow_unused=True
        )
        return tuple(g for g in grads if g is not None)

    try:
        _check(_Function(gradient, (*f.args, *seeds)), checks)
    except GradcheckError as error:
        raise GradcheckError(
            "gradgradcheck, where the outputs are the gradients of the inputs and inputs "
            f"{len(f.args)}.. are grad_outputs:\n{error}"
        ) from None


def _seeds(f: _Function, given: Any, gaps: bool) -> list[Tensor]:
    """The gradients of the outputs with which the backward pass is checked."""
    outputs = f.differentiable(f.args)
    if given is not None:
        seeds = list(given if isinstance(given, (tuple, list)) else [given])
        if len(seeds) != len(outputs):
            raise ValueError(
                f"gradgradcheck: grad_outputs has {len(seeds)} tensors, but {len(outputs)} outputs "
                "require grad; give one for each of those"
            )
        return seeds
    rng = np.random.default_rng(0)
    seeds = [_like(out, rng.standard_normal(_shape(out))) for out in outputs]
    if gaps:
        seeds = [_C.stack([seed, seed], -1)[..., 0] for seed in seeds]
    return [seed.requires_grad_() for seed in seeds]


class _Function:
    """A function with float64 copies of its inputs; `grad_inputs` are those that require grad."""

    def __init__(self, func: Callable[..., Any], inputs: Any) -> None:
        def copied(arg: Any) -> Any:
            if not _differentiable(arg):
                return arg
            wide = arg.detach().clone().to(_C.complex128 if arg.is_complex() else _C.float64)
            return wide.requires_grad_(arg.requires_grad)

        inputs = inputs if isinstance(inputs, (tuple, list)) else (inputs,)
        # a module has its own tensors, which must be as exact as the inputs
        module: Any = func
        is_module = hasattr(module, "state_dict")
        self.func: Callable[..., Any] = copy.deepcopy(module).double() if is_module else func
        self.converted = any(
            _differentiable(x) and x.dtype not in (_C.float64, _C.complex128) for x in inputs
        )
        self.args = tuple(copied(arg) for arg in inputs)
        self.grad_inputs = [
            i for i, arg in enumerate(self.args) if getattr(arg, "requires_grad", False)
        ]

    def outputs(self, args: tuple[Any, ...]) -> _Outputs:
        """The floating and complex outputs, each with its number among all outputs."""
        try:
            result = self.func(*args)
        except _C.DTypeError as error:
            if not self.converted:
                raise
            raise TypeError(
                "gradcheck: the function mixes its inputs, which are converted to float64, with "
                f"tensors of another dtype ({error}); convert what it uses, e.g. with .double()"
            ) from error
        several = result if isinstance(result, (tuple, list)) else (result,)
        for i, out in enumerate(several):
            if not isinstance(out, Tensor):
                raise TypeError(
                    "gradcheck: the function must return a tensor or a tuple of tensors, got "
                    f"{type(out).__name__} as output {i}"
                )
        return [(i, out) for i, out in enumerate(several) if _differentiable(out)]

    def differentiable(self, args: tuple[Any, ...]) -> list[Tensor]:
        return [out for _, out in self.outputs(args) if out.requires_grad]

    def backward(
        self, outputs: _Outputs, number: int, seed: Array, others: bool = False
    ) -> list[Array]:
        """The gradient of one output for each grad_inputs input, flat; zeros where there is none.

        With ``others``, the other outputs have a gradient of zeros; without, they have none.
        """
        tensors = [self.args[i] for i in self.grad_inputs]
        live = [
            (out, _like(out, seed if n == number else np.zeros(_shape(out))))
            for n, out in outputs
            if out.requires_grad and (others or n == number)
        ]
        grads: tuple[Any, ...] = (None,) * len(tensors)
        if live:
            grads = autograd.grad(
                [out for out, _ in live],
                tensors,
                [seed for _, seed in live],
                retain_graph=True,
                allow_unused=True,
            )
        flat = []
        for i, x, g in zip(self.grad_inputs, tensors, grads, strict=True):
            if g is not None and (tuple(g.shape) != tuple(x.shape) or g.dtype != x.dtype):
                raise GradcheckError(
                    f"gradcheck: output {number}: the gradient of input {i} is {g.dtype} of shape "
                    f"{tuple(g.shape)}, the input is {x.dtype} of shape {tuple(x.shape)}"
                )
            flat.append(np.zeros(_shape(x)).flatten() if g is None else _parts(g.detach().numpy()))
        return flat

    def tangents(self, i: int, tangent: Tensor) -> list[Tensor]:
        """The tangent of each floating output, where that of input i is given."""
        with forward_ad.dual_level():
            x = forward_ad.make_dual(self.args[i].detach(), tangent)
            args = (*self.args[:i], x, *self.args[i + 1 :])
            found = [(out, forward_ad.unpack_dual(out).tangent) for _, out in self.outputs(args)]
        return [_C.zeros_like(out.detach()) if t is None else t for out, t in found]

    def difference(self, i: int, step: Array) -> list[Array]:
        """f(x + step) - f(x - step) for each floating output, flat, where x is input i."""
        buffer = self.args[i].detach().numpy()
        if np.iscomplexobj(buffer):
            buffer = buffer.reshape(-1).view(np.float64)
        x = buffer.copy()
        sides = []
        try:
            for sign in (1, -1):
                buffer[...] = x + sign * step
                outputs = self.outputs(self.args)
                sides.append([_parts(_wide(out.detach()).numpy()) for _, out in outputs])
        finally:
            buffer[...] = x
        return [above - below for above, below in zip(*sides, strict=True)]


def _differentiable(x: Any) -> bool:
    return isinstance(x, Tensor) and (x.is_floating_point() or x.is_complex())


def _wide(x: Tensor) -> Tensor:
    return x.to(_C.complex128 if x.is_complex() else _C.float64)


def _shape(t: Tensor) -> tuple[int, ...]:
    """The shape of the real numbers that a tensor consists of: of a complex one, flat."""
    return (2 * t.numel(),) if t.is_complex() else tuple(t.shape)


def _parts(values: npt.NDArray[Any]) -> Array:
    """The real numbers that an array consists of, flat: a copy, since it may change next."""
    flat = values.flatten()
    return flat.view(np.float64) if np.iscomplexobj(flat) else flat


def _like(t: Tensor, values: Array) -> Tensor:
    if t.is_complex():
        return _C.tensor(values.view(np.complex128).reshape(tuple(t.shape)), dtype=t.dtype)
    return _C.tensor(values.reshape(tuple(t.shape)), dtype=t.dtype)


def _check_backward(f: _Function, checks: _Checks) -> None:
    """Gradients have the right shape and dtype, and are the same twice, and with zeros for None."""
    rng = np.random.default_rng(0)
    outputs = f.outputs(f.args)
    for number, out in outputs:
        seed = rng.standard_normal(_shape(out))
        if checks.check_undefined_grad and len(outputs) > 1:
            _check_undefined(f, outputs, number, seed, checks.nondet_tol)
        first, second = (
            f.backward(outputs, number, seed, not checks.check_undefined_grad) for _ in range(2)
        )
        for i, a, b in zip(f.grad_inputs, first, second, strict=True):
            off = float(np.max(np.abs(a - b), initial=0.0))
            if off > checks.nondet_tol:
                raise GradcheckError(
                    f"gradcheck: output {number}, input {i}: two backward passes over one graph "
                    f"differ by {off:.3g}; allowed: nondet_tol={checks.nondet_tol:g}"
                )


def _check_undefined(
    f: _Function, outputs: _Outputs, number: int, seed: Array, tolerance: float
) -> None:
    """An output without gradient counts as one with a gradient of zeros."""
    with_zeros = f.backward(outputs, number, seed, others=True)
    try:
        without = f.backward(outputs, number, seed)
    except GradcheckError:
        raise
    except Exception as error:
        raise GradcheckError(
            f"gradcheck: backward of output {number} fails if the other outputs have no gradient, "
            f"and not if they have zeros ({type(error).__name__}: {error}); backward must take a "
            "gradient that is None for zeros"
        ) from error
    for i, a, b in zip(f.grad_inputs, without, with_zeros, strict=True):
        # zero times an infinite derivative is nan, which is not informative
        off = float(np.max(np.abs(a - b), initial=0.0, where=np.isfinite(b)))
        if not off <= max(tolerance, 1e-9 * np.max(np.abs(a), initial=1.0)):
            raise GradcheckError(
                f"gradcheck: output {number}, input {i}: with zeros for the gradients of the other "
                f"outputs the gradient differs by {off:.3g} from the one without any; backward "
                "must take a gradient that is None for zeros"
            )


def _projections_agree(f: _Function, checks: _Checks) -> bool:
    rng = np.random.default_rng(1)
    outputs = f.outputs(f.args)
    v = [rng.standard_normal(_shape(out)) for _, out in outputs]
    others = not checks.check_undefined_grad
    grads = [f.backward(outputs, n, v[o], others) for o, (n, _) in enumerate(outputs)]
    for w, i in enumerate(f.grad_inputs):
        u = rng.standard_normal(_shape(f.args[i]))
        for o, difference in enumerate(f.difference(i, checks.eps * u)):
            numeric = float(v[o].ravel() @ difference) / (2 * checks.eps)
            # so tight that one wrong derivative among many shows
            rtol = checks.rtol / np.sqrt(max(1, u.size * v[o].size))
            slack = checks.atol + rtol * abs(numeric)
            if not abs(float(grads[o][w] @ u.ravel()) - numeric) <= slack:
                return False
    return True


def _basis(t: Tensor) -> list[Array]:
    shape = _shape(t)
    return [row.reshape(shape) for row in np.eye(int(np.prod(shape)))]


def _check_jacobian(f: _Function, checks: _Checks) -> None:
    columns = {
        i: [f.difference(i, checks.eps * unit) for unit in _basis(f.args[i])] for i in f.grad_inputs
    }
    outputs = f.outputs(f.args)
    others = not checks.check_undefined_grad
    for o, (number, out) in enumerate(outputs):
        rows = [f.backward(outputs, number, unit, others) for unit in _basis(out)]
        for w, i in enumerate(f.grad_inputs):
            if not rows or not columns[i]:
                continue  # zero-size: nothing to compare
            a = np.stack([row[w] for row in rows])
            n = np.stack([column[o] for column in columns[i]], axis=1) / (2 * checks.eps)
            # written so that nan is bad
            bad = ~(np.abs(a - n) <= checks.atol + checks.rtol * np.abs(n))
            if bad.any():
                raise GradcheckError(_report(number, out, i, f.args[i], a, n, bad))


def _check_tangents(f: _Function, checks: _Checks) -> None:
    """The tangents of the outputs for each element of each input."""
    outputs = f.outputs(f.args)
    for i in f.grad_inputs:
        x = f.args[i]
        units = _basis(x)
        if checks.fast_mode and units:  # one direction in place of every element
            rng = np.random.default_rng(2)
            units = [rng.standard_normal(_shape(x))]
        if not units:
            continue
        columns = [f.tangents(i, _like(x, unit)) for unit in units]
        numeric = [f.difference(i, checks.eps * unit) for unit in units]
        for o, (number, out) in enumerate(outputs):
            a = np.stack([_parts(column[o].detach().numpy()) for column in columns], axis=1)
            n = np.stack([column[o] for column in numeric], axis=1) / (2 * checks.eps)
            bad = ~(np.abs(a - n) <= checks.atol + checks.rtol * np.abs(n))
            if bad.any():
                raise GradcheckError("forward_ad: " + _report(number, out, i, x, a, n, bad))
        if checks.check_batched_forward_grad:
            from genesis.func import vmap

            many = _C.stack([_like(x, unit) for unit in units])
            batched = vmap(lambda tangent, i=i: tuple(f.tangents(i, tangent)))(many)
            for o, (number, _) in enumerate(outputs):
                one_by_one = _C.stack([column[o] for column in columns])
                _require_equal(one_by_one, batched[o], number, i, checks, "tangents")


def _check_batched_grad(f: _Function, checks: _Checks) -> None:
    """A batch of backward passes under vmap, and one after the other."""
    inputs = [f.args[i] for i in f.grad_inputs]
    rng = np.random.default_rng(3)
    for number, out in f.outputs(f.args):
        if not out.requires_grad:
            continue
        seeds = [_like(out, rng.standard_normal(_shape(out))) for _ in range(2)]

        def backward(seed: Tensor, batched: bool, out: Tensor = out) -> tuple[Any, ...]:
            return autograd.grad(
                out, inputs, seed, retain_graph=True, allow_unused=True, is_grads_batched=batched
            )

        singles = [backward(seed, False) for seed in seeds]
        together = backward(_C.stack(seeds), True)
        for w, i in enumerate(f.grad_inputs):
            if together[w] is not None:
                expected = _C.stack([single[w] for single in singles])
                _require_equal(expected, together[w], number, i, checks, "gradients")


def _require_equal(
    expected: Tensor, got: Tensor, number: int, i: int, checks: _Checks, what: str
) -> None:
    a, b = expected.detach().numpy(), got.detach().numpy()
    if not np.allclose(b, a, rtol=checks.rtol, atol=checks.atol, equal_nan=True):
        raise GradcheckError(
            f"gradcheck: output {number}, input {i}: a batch of {what} under vmap differs by "
            f"{float(np.max(np.abs(a - b))):.3g} from the same computed one by one"
        )


def _place(number: int, t: Tensor) -> str:
    """Which element of a tensor, and which part of it, one of its real numbers is."""
    flat, part = divmod(number, 2) if t.is_complex() else (number, 0)
    index = [int(k) for k in np.unravel_index(flat, tuple(t.shape))]
    return f"{index}{('.real', '.imag')[part] if t.is_complex() else ''}"


def _report(number: int, out: Tensor, i: int, x: Tensor, a: Array, n: Array, bad: Any) -> str:
    off = np.where(bad, np.nan_to_num(np.abs(a - n), nan=np.inf, posinf=np.inf), -1.0)
    table: list[tuple[str, ...]] = [
        ("output", "input", "its value", "analytic", "numeric", "difference")
    ]
    for place in np.argsort(-off, axis=None)[: min(_SHOWN, bad.sum())]:
        row, column = divmod(int(place), a.shape[1])
        index = [_place(flat, t) for flat, t in ((row, out), (column, x))]
        value = _parts(x.detach().numpy())[column]
        numbers = (value, a[row, column], n[row, column], a[row, column] - n[row, column])
        table.append((*index, *(f"{number:.6g}" for number in numbers)))
    widths = [max(map(len, cells)) for cells in zip(*table, strict=True)]
    lines = [
        "  ".join(cell.rjust(width) for cell, width in zip(row, widths, strict=True))
        for row in table
    ]
    text = (
        f"gradcheck: output {number} of shape {tuple(out.shape)}, input {i} of shape "
        f"{tuple(x.shape)}: {bad.sum()} of {bad.size} derivatives are off; the worst:\n  "
        + "\n  ".join(lines)
    )
    if out.dtype.to_real() != x.dtype.to_real():
        text += f"\nThe output is {out.dtype}, too coarse for differences of float64 inputs."
    return text
