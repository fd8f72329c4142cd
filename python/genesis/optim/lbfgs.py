"""L-BFGS: a quasi-Newton method for full batches."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from genesis import _C
from genesis._C import Tensor, enable_grad, no_grad
from genesis.optim.optimizer import Closure, Optimizer, ParamGroup


class _Point(NamedTuple):
    """A point on the line of search: where, the loss, its gradient, and its slope there."""

    t: float
    loss: float
    grad: Tensor
    slope: float


class LBFGS(Optimizer):
    """Newton steps with an inverse Hessian built from the last ``history_size`` gradients.

    Each ``step`` makes up to ``max_iter`` iterations and calls the closure up to ``max_eval`` times
    (5/4 of ``max_iter`` by default). ``line_search_fn="strong_wolfe"`` searches along each
    direction; without it, each iteration moves by ``lr``. There is one group of parameters.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer = LBFGS([p], line_search_fn="strong_wolfe")
    >>> def closure():
    ...     optimizer.zero_grad()
    ...     loss = ((p - 3) ** 2).sum()
    ...     loss.backward()
    ...     return loss
    >>> optimizer.step(closure)
    tensor(8., grad_fn=<SumBackward>)
    >>> [round(x, 4) for x in p.tolist()]
    [3.0, 3.0]
    """

    def __init__(
        self,
        params: Iterable[Any],
        lr: float | Tensor = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        options = {
            "lr": lr,
            "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad,
            "tolerance_change": tolerance_change,
            "history_size": history_size,
            "line_search_fn": line_search_fn,
        }
        super().__init__(params, options)
        if len(self.param_groups) != 1:
            raise ValueError(
                f"LBFGS: there must be one group of parameters, got {len(self.param_groups)}"
            )

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr")
        if group["line_search_fn"] not in (None, "strong_wolfe"):
            raise ValueError(
                "LBFGS: line_search_fn must be None or 'strong_wolfe', got "
                f"{group['line_search_fn']!r}"
            )

    @no_grad()
    def step(self, closure: Closure | None = None) -> Any:
        if closure is None:
            raise TypeError("LBFGS.step: needs a closure that computes the loss and its gradients")
        group = self.param_groups[0]
        params = _Reals(group["params"])
        state = self.state[group["params"][0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)

        evaluations = 0

        def evaluate() -> Any:
            nonlocal evaluations
            evaluations += 1
            state["func_evals"] += 1
            with enable_grad():
                return closure()

        first = evaluate()
        loss, grad = float(first), params.grad()
        if not grad.numel() or float(grad.abs().max()) <= group["tolerance_grad"]:
            return first
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            d = _C._lbfgs_direction(grad, state, group["history_size"])
            state["prev_flat_grad"], state["prev_loss"] = grad.clone(), loss
            slope = float(grad.dot(d))
            t = float(group["lr"])
            if state["n_iter"] == 1:
                t *= min(1.0, 1 / float(grad.abs().sum()))
            state["d"], state["t"] = d, t
            if slope > -group["tolerance_change"]:
                break
            before = loss
            if group["line_search_fn"]:
                start = _Point(0.0, loss, grad, slope)
                most = group["max_eval"] - evaluations
                t, loss, grad, _ = _search(params, start, t, d, evaluate, most)
                state["t"] = t
            else:
                _C._lbfgs_move(params.values, d, t)
                if iteration != group["max_iter"]:
                    loss, grad = float(evaluate()), params.grad()
            if (
                evaluations >= group["max_eval"]
                or float(grad.abs().max()) <= group["tolerance_grad"]
                or float((d * t).abs().max()) <= group["tolerance_change"]
                or abs(loss - before) < group["tolerance_change"]
            ):
                break
        return first


class _Reals:
    """The parameters as real numbers: of a complex one, its real and imaginary parts."""

    def __init__(self, params: list[Tensor]) -> None:
        self.complex = [p for p in params if p.is_complex()]
        views = {id(p): _C.view_as_real(p.detach()) for p in self.complex}
        self.values = [views.get(id(p), p) for p in params]
        self.views = list(views.values())

    def grad(self) -> Tensor:
        """All gradients in one dimension."""
        for view, p in zip(self.views, self.complex, strict=True):
            view.grad = None if p.grad is None else _C.view_as_real(p.grad.resolve_conj())
        return _C._flat_grad(self.values)


def _search(
    params: _Reals,
    start: _Point,
    t: float,
    d: Tensor,
    evaluate: Callable[[], Any],
    most: int,
) -> _Point:
    """Moves the parameters to the best point found along ``d``."""
    origin = [p.clone() for p in params.values]

    def at(t: float) -> _Point:
        _C._lbfgs_move(params.values, d, t, origin)
        loss, grad = float(evaluate()), params.grad()
        return _Point(t, loss, grad, float(grad.dot(d)))

    found = _strong_wolfe(at, start, t, float(d.abs().max()), most)
    _C._lbfgs_move(params.values, d, found.t, origin)
    return found


def _strong_wolfe(
    at: Callable[[float], _Point], start: _Point, t: float, size: float, most: int
) -> _Point:
    """A point on the line that is low enough and flat enough (Nocedal and Wright, 3.5 and 3.6)."""
    enough, flat, smallest = 1e-4, 0.9, 1e-9

    def too_high(point: _Point) -> bool:
        return point.loss > start.loss + enough * point.t * start.slope

    def is_flat(point: _Point) -> bool:
        return abs(point.slope) <= -flat * start.slope

    # Continue until a minimum is between two points.
    before, now, tries = start, at(t), 0
    while tries < most:
        if too_high(now) or (tries > 1 and now.loss >= before.loss):
            break
        if is_flat(now):
            return now
        if now.slope >= 0:
            break
        step = now.t - before.t
        t = _cubic_minimum(before, now, (now.t + 0.01 * step, now.t * 10))
        before, now, tries = now, at(t), tries + 1
    else:
        before = start

    # Narrow them down.
    low, high = (before, now) if before.loss <= now.loss else (now, before)
    stuck = False
    while tries < most and abs(high.t - low.t) * size >= smallest:
        left, right = sorted((low.t, high.t))
        t = _cubic_minimum(low, high, (left, right))
        margin = 0.1 * (right - left)
        if min(right - t, t - left) >= margin:
            stuck = False
        elif stuck or t >= right or t <= left:
            t = right - margin if abs(t - right) < abs(t - left) else left + margin
            stuck = False
        else:
            stuck = True
        now, tries = at(t), tries + 1
        if too_high(now) or now.loss >= low.loss:
            high = now
            if high.loss < low.loss:
                low, high = high, low
            continue
        if is_flat(now):
            return now
        if now.slope * (high.t - low.t) >= 0:
            high = low
        low = now
    return low


def _cubic_minimum(a: _Point, b: _Point, bounds: tuple[float, float]) -> float:
    """Where the cubic through both points has its minimum, within the bounds."""
    if a.t > b.t:
        a, b = b, a
    if a.t == b.t:
        return sum(bounds) / 2
    d1 = a.slope + b.slope - 3 * (a.loss - b.loss) / (a.t - b.t)
    square = d1 * d1 - a.slope * b.slope
    if not square >= 0:
        return sum(bounds) / 2
    d2 = math.sqrt(square)
    bottom = b.slope - a.slope + 2 * d2
    if bottom == 0:
        return sum(bounds) / 2
    return min(max(b.t - (b.t - a.t) * (b.slope + d2 - d1) / bottom, bounds[0]), bounds[1])
