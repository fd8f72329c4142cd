"""Rules of reductions, scans and sorts whose dimensions are optional."""

from __future__ import annotations

import math
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._shape import dims, shifted
from genesis.func._batching._tensor import Call, batch_of, looped, rule


def _all_dims(call: Call) -> Any:
    """A reduction of all dimensions, as one of all but the batch."""
    bound = call.bind()
    x = bound.pop(next(iter(call.op.params)))
    bound.pop("dim", None)
    value = batch_of(x, call.level)
    if x.ndim == 0:
        value = value.unsqueeze(1)
    result = call.op.func(value, dim=list(range(1, value.ndim)), **bound)
    if x.ndim == 0 and bound.get("keepdim"):
        result = _each(result, lambda r: r.squeeze(1))
    return call.result(result)


def _each(result: Any, f: Any) -> Any:
    if isinstance(result, Tensor):
        return f(result)
    parts = [f(r) for r in result]
    return type(result)(*parts) if hasattr(type(result), "_fields") else type(result)(parts)


def _flat(call: Call) -> tuple[Tensor, dict[str, Any], Tensor]:
    bound = call.bind()
    x = bound.pop(next(iter(call.op.params)))
    bound.pop("dim", None)
    return batch_of(x, call.level).reshape(call.level.size, x.numel()), bound, x


def _given(call: Call) -> bool:
    dim = call.bind().get("dim")
    return dim is not None and not (isinstance(dim, (list, tuple)) and not dim)


@rule(
    "sum", "mean", "nansum", "nanmean", "prod", "any", "all", "amax", "amin", "var", "std",
    "var_mean", "std_mean", "logsumexp", "count_nonzero", "linalg_vector_norm", "vector_norm",
)  # fmt: skip
def reductions(call: Call) -> Any:
    if len(call.args) > 1 and isinstance(call.args[1], bool):  # var(x, unbiased)
        call = Call(call.op, call.level, call.args[:1], {**call.kwargs, "unbiased": call.args[1]})
    return dims(call) if _given(call) else _all_dims(call)


@rule("argmax", "argmin", "aminmax", "median", "nanmedian")
def single(call: Call) -> Any:
    if _given(call):
        return dims(call)
    flat, bound, x = _flat(call)
    keep = bound.pop("keepdim", False)
    result = call.op.func(flat, dim=1, **bound)
    if call.op.name in ("median", "nanmedian"):
        result = result[0]
    if keep:
        result = _each(result, lambda r: r.reshape(call.level.size, *(1,) * x.ndim))
    return call.result(result)


@rule("max", "min")
def extreme(call: Call) -> Any:
    other = call.kwargs.get("other")
    if other is None and len(call.args) > 1 and isinstance(call.args[1], Tensor):
        other = call.args[1]
    if other is not None:
        return (_C.maximum if call.op.name == "max" else _C.minimum)(call.args[0], other)
    if _given(call):
        if "axis" in call.kwargs:  # NumPy's: values only
            keep = call.bind().get("keepdim", False)
            return getattr(call.args[0], f"a{call.op.name}")(call.kwargs["axis"], keep)
        return dims(call)
    flat, _, _ = _flat(call)
    return call.result((_C.amax if call.op.name == "max" else _C.amin)(flat, dim=1))


@rule("linalg_norm", "norm")
def norm(call: Call) -> Any:
    bound = call.bind()
    if _given(call):
        return dims(call)
    x = bound.pop(next(iter(call.op.params)))
    bound.pop("dim", None)
    keep = bound.pop("keepdim", False)
    order = bound.get("ord") if call.op.name == "linalg_norm" else bound.get("p", "fro")
    matrix = call.op.name == "linalg_norm" and order is not None and x.ndim == 2
    if matrix:
        return call.result(call.op.func(x._value, dim=[1, 2], keepdim=keep, **bound))
    if isinstance(order, str) or order is None:
        order = 2.0
        if call.op.name == "norm" and bound.get("p") == "nuc":
            return call.result(_C.norm(x._value, p="nuc", dim=[1, 2], keepdim=keep))
    options = {"dtype": bound["dtype"]} if bound.get("dtype") is not None else {}
    flat = x._value.reshape(call.level.size, x.numel())
    value = _C.linalg_vector_norm(flat, order, 1, **options)
    return call.result(value.reshape(call.level.size, *(1,) * x.ndim) if keep else value)


@rule("trace")
def trace(call: Call) -> Any:
    return call.args[0].diagonal().sum(-1)


@rule("dist")
def dist(call: Call) -> Any:
    bound = call.bind()
    return _C.linalg_vector_norm(bound["input"] - bound["other"], bound.get("p", 2.0))


@rule("sum_to_size")
def sum_to_size(call: Call) -> Any:
    x, size = call.args[0], [int(s) for s in call.bind()["size"]]
    extra = x.ndim - len(size)
    if extra > 0:
        x = x.sum(list(range(extra)))
    kept = [d for d, (a, b) in enumerate(zip(x.shape, size, strict=True)) if b == 1 and a != 1]
    return x.sum(kept, keepdim=True) if kept else x


@rule("quantile", "nanquantile")
def quantile(call: Call) -> Any:
    bound = call.bind()
    x, q, dim = bound["input"], bound["q"], bound.get("dim")
    if isinstance(q, Tensor) and hasattr(q, "_value"):
        return looped(call)
    options = {"interpolation": bound.get("interpolation", "linear")}
    value, keep = x._value, bound.get("keepdim", False)
    if dim is None:
        value = value.reshape(call.level.size, x.numel())
        result = call.op.func(value, q, dim=1, **options)
        front = isinstance(q, Tensor) and q.ndim > 0
        result = result.movedim(-1, 0) if front else result
        return call.result(
            result.reshape(call.level.size, *result.shape[1:], *(1,) * x.ndim) if keep else result
        )
    if x.ndim == 0:
        value, keep = value.unsqueeze(1), False
    result = call.op.func(value, q, dim=shifted("quantile", dim, x.ndim), keepdim=keep, **options)
    return call.result(result.movedim(1, 0) if isinstance(q, Tensor) and q.ndim > 0 else result)


@rule("cov", "corrcoef")
def cov(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    if bound.get("fweights") is not None or bound.get("aweights") is not None:
        return looped(call)
    if x.ndim < 2 or x.shape[0] == 1:
        x = x.reshape(1, x.numel())
        return _square(x, bound, call.op.name).reshape(())
    return _square(x, bound, call.op.name)


def _square(x: Any, bound: dict[str, Any], name: str) -> Any:
    n = x.shape[1]
    centred = x - x.mean(1, keepdim=True)
    c = centred @ centred.mT / max(n - bound.get("correction", 1), 0 if n == 0 else 1e-300)
    if name == "cov":
        return c
    d = c.diagonal().sqrt()
    return (c / d.unsqueeze(0) / d.unsqueeze(1)).clamp(-1, 1)


@rule("trapezoid", "trapz", "cumulative_trapezoid")
def trapezoid(call: Call) -> Any:
    bound = call.bind()
    y, x, dim = bound["y"], bound.get("x"), bound.get("dim", -1)
    n = y.shape[dim]
    pairs = y.narrow(dim, 1, n - 1) + y.narrow(dim, 0, n - 1) if n else y
    if x is None:
        step: Any = bound.get("dx", 1.0)
    else:
        if x.ndim == 1:
            x = x.view([-1 if d == dim % y.ndim else 1 for d in range(y.ndim)])
            dim = dim % y.ndim
        step = x.narrow(dim, 1, x.shape[dim] - 1) - x.narrow(dim, 0, x.shape[dim] - 1)
    area = pairs * step / 2
    return area.cumsum(dim) if call.op.name.startswith("cum") else area.sum(dim)


@rule("_fft", "_fft_real", "_fft_to_real")
@rule("sort", "argsort", "topk", "kthvalue", "mode", "softmax", "log_softmax", "softmin", "_glu")
def along(call: Call) -> Any:
    return dims(call)


@rule("msort")
def msort(call: Call) -> Any:
    x = call.args[0]
    return x.sort(0)[0] if x.ndim else x.clone()


@rule("searchsorted", "bucketize")
def searchsorted(call: Call) -> Any:
    bound = call.bind()
    if call.op.name == "bucketize":
        sequence, x = bound.pop("boundaries"), bound.pop("input")
    else:
        sequence, x = bound.pop("sorted_sequence"), bound.pop("input")
    sorter = bound.get("sorter")
    level = call.level
    x = x if isinstance(x, Tensor) else _C.tensor(x)
    if not hasattr(sequence, "_value") and sequence.ndim == 1 and sorter is None:
        return call.result(_C.searchsorted(sequence, batch_of(x, level), **bound))
    if sorter is not None:
        bound["sorter"] = batch_of(sorter, level)
    line = sequence.ndim == 1
    values = batch_of(x, level)
    if line:
        values = values.reshape(level.size, math.prod(x.shape))
    result = _C.searchsorted(batch_of(sequence, level), values.contiguous(), **bound)
    return call.result(result.reshape(level.size, *x.shape) if line else result)


@rule("isin")
def isin(call: Call) -> Any:
    bound = call.bind()
    x, test = bound["elements"], bound["test_elements"]
    x = x if isinstance(x, Tensor) else _C.tensor(x)
    test = test if isinstance(test, Tensor) else _C.tensor(test)
    found = (x.unsqueeze(-1) == test.reshape(test.numel())).any(-1)
    return found.logical_not() if bound.get("invert") else found


@rule("renorm", "renorm_")
def renorm(call: Call) -> Any:
    bound = call.bind()
    x, dim = bound["input"], bound["dim"] % bound["input"].ndim
    others = [d for d in range(x.ndim) if d != dim]
    norms = _C.linalg_vector_norm(x, bound["p"], others, keepdim=True)
    limit = bound["maxnorm"]
    made = x * _C.where(norms > limit, limit / (norms + 1e-7), 1.0)
    return x.copy_(made) if call.op.in_place else made
