"""NumPy's functions of tensors: ``np.sin(x)`` is ``genesis.sin(x)``, with its gradient.

Ufuncs come through ``__array_ufunc__``, other functions through ``__array_function__``. Those that
have a counterpart here are sent to it. Others get arrays, if no gradient would be lost; if one
would, the error says so. This file is imported when NumPy first encounters a tensor.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from genesis import _C, linalg
from genesis._C import Tensor

# ---- ufuncs -------------------------------------------------------------------------------------

# Where the name differs from ours.
_UFUNCS = {
    "absolute": "abs",
    "arccos": "acos",
    "arccosh": "acosh",
    "arcsin": "asin",
    "arcsinh": "asinh",
    "arctan": "atan",
    "arctan2": "atan2",
    "arctanh": "atanh",
    "bitwise_count": "",
    "conjugate": "conj",
    "degrees": "rad2deg",
    "divide": "div",
    "equal": "eq",
    "fabs": "abs",
    "greater": "gt",
    "greater_equal": "ge",
    "invert": "bitwise_not",
    "left_shift": "bitwise_left_shift",
    "less": "lt",
    "less_equal": "le",
    "multiply": "mul",
    "negative": "neg",
    "not_equal": "ne",
    "power": "pow",
    "radians": "deg2rad",
    "right_shift": "bitwise_right_shift",
    "rint": "round",
    "subtract": "sub",
    "vecdot": "",
}
_REDUCTIONS = {
    "add": "sum",
    "bitwise_and": "all",
    "bitwise_or": "any",
    "logical_and": "all",
    "logical_or": "any",
    "maximum": "amax",
    "minimum": "amin",
    "multiply": "prod",
}
_SCANS = {"add": "cumsum", "multiply": "cumprod"}


def _counterpart(name: str) -> Callable[..., Any] | None:
    if name == "cbrt":
        return lambda x: _C.sign(x) * _C.abs(x) ** (1 / 3)
    return getattr(_C, _UFUNCS.get(name, name) or "-", None)


def _operand(x: Any) -> Any:
    return _C.as_tensor(x) if isinstance(x, np.ndarray) else x


def _refuse(what: str) -> TypeError:
    return TypeError(
        f"{what} has no counterpart that keeps gradients; use x.detach().numpy() to leave the "
        "graph, or compute it with functions of genesis"
    )


def _stored(result: Any, out: Any, what: str) -> Any:
    """The result in an array that NumPy was given as ``out``, as by ``array += tensor``."""
    if result.requires_grad:
        raise TypeError(
            f"{what}: the result requires grad and cannot be stored in an array, which records no "
            "gradient; use tensor.detach(), or make the array a tensor"
        )
    out[...] = result.numpy()
    return out


def array_ufunc(ufunc: Any, method: str, inputs: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of ``ufunc`` for ``inputs``, at least one of which is a tensor."""
    what = f"numpy.{ufunc.__name__}" + ("" if method == "__call__" else f".{method}")
    outs = kwargs.pop("out", None) or ()
    operands = [_operand(x) for x in inputs]
    if any(not isinstance(x, (Tensor, int, float, np.generic)) for x in operands):
        return NotImplemented
    table = {"reduce": _REDUCTIONS, "accumulate": _SCANS}.get(method)
    function: Callable[..., Any] | None = None
    if method == "__call__":
        function = _counterpart(ufunc.__name__)
        if not kwargs.keys() <= {"dtype"}:
            raise TypeError(
                f"{what}: {', '.join(sorted(kwargs))} cannot be given with tensors; use "
                "genesis.where, or arrays"
            )
    elif table is not None and ufunc.__name__ in table:
        function = getattr(_C, table[ufunc.__name__])
        kwargs.setdefault("axis", 0)
        kwargs = {key: value for key, value in kwargs.items() if value is not None or key == "axis"}
        if kwargs["axis"] is None and function is not _C.cumsum:
            del kwargs["axis"]
    elif method == "outer" and len(operands) == 2:
        each, (x, y) = _counterpart(ufunc.__name__), map(_C.as_tensor, operands)
        if each is not None:
            operands = [x.reshape(*x.shape, *(1 for _ in y.shape)), y]
            function = each
    if function is None:
        return _with_arrays(getattr(ufunc, method), what, inputs, {**kwargs, **_given(outs)})
    dtype = kwargs.pop("dtype", None)
    result = _applied(function, operands, kwargs)
    if dtype is not None:
        result = result.to(dtype=dtype)
    if outs:
        return outs[0].copy_(result) if isinstance(outs[0], Tensor) else _stored(
            result, outs[0], what
        )  # fmt: skip
    return result


def _given(outs: Any) -> dict[str, Any]:
    return {"out": outs} if outs else {}


def _weak(x: Any) -> bool:
    return isinstance(x, (int, float, np.generic))


_FLIPPED = {
    "sub": lambda x, y: y.__rsub__(x),
    "div": lambda x, y: y.__rtruediv__(x),
    "pow": lambda x, y: y.__rpow__(x),
    "floor_divide": lambda x, y: y.__rfloordiv__(x),
    "remainder": lambda x, y: y.__rmod__(x),
}
_SAME_BACKWARDS = {"add", "mul", "eq", "ne", "maximum", "minimum", "fmax", "fmin", "logaddexp"}
_TURNED = {"gt": "lt", "lt": "gt", "ge": "le", "le": "ge"}


def _applied(function: Callable[..., Any], operands: list[Any], kwargs: dict[str, Any]) -> Any:
    """The call, with a number on the left kept as weak as one on the right."""
    if len(operands) == 2 and _weak(operands[0]) and isinstance(operands[1], Tensor):
        number, tensor = operands
        name = getattr(function, "__name__", "")
        if name in _FLIPPED:
            return _FLIPPED[name](number, tensor)
        if name in _SAME_BACKWARDS:
            return _second_as_tensor(function, tensor, number)
        if name in _TURNED:
            return getattr(_C, _TURNED[name])(tensor, number)
        operands = [_C.as_tensor(number).to(tensor.dtype), tensor]
    elif len(operands) == 2 and _weak(operands[1]):
        return _second_as_tensor(function, operands[0], operands[1])
    return function(*operands, **kwargs)


def _second_as_tensor(function: Callable[..., Any], x: Tensor, number: Any) -> Any:
    try:
        return function(x, number)
    except TypeError:  # an operator of two tensors, such as maximum
        plain = number.item() if isinstance(number, np.generic) else number
        return function(x, _C.as_tensor(plain).to(_C.result_type(x, plain)))


# ---- other functions ----------------------------------------------------------------------------


def _axis_as_dim(name: str) -> Callable[..., Any]:
    function = getattr(_C, name)

    def call(x: Any, axis: Any = None, keepdims: bool = False, **kwargs: Any) -> Any:
        _only_defaults(name, kwargs)
        if axis is None and not keepdims:
            return function(_operand(x))
        return function(_operand(x), axis=axis, keepdims=keepdims)

    return call


def _only_defaults(name: str, kwargs: dict[str, Any]) -> None:
    """Raise if an argument was given that the counterpart does not have."""
    no_value = getattr(np, "_NoValue", None)
    for key, value in kwargs.items():
        if value is not None and value is not no_value:
            raise TypeError(f"numpy.{name}: {key} cannot be given with tensors; use genesis.{name}")


def _spread(name: str) -> Callable[..., Any]:
    def call(x: Any, axis: Any = None, ddof: float = 0, keepdims: Any = False, **kw: Any) -> Any:
        _only_defaults(name, kw)
        return getattr(_C, name)(_operand(x), axis=axis, correction=ddof, keepdims=bool(keepdims))

    return call


def _joined(name: str) -> Callable[..., Any]:
    def call(arrays: Any, axis: Any = 0, **kwargs: Any) -> Any:
        _only_defaults(name, kwargs)
        tensors = [_C.as_tensor(x) for x in arrays]
        if axis is None:
            tensors, axis = [x.reshape(-1) for x in tensors], 0
        dtype = tensors[0].dtype
        for x in tensors[1:]:
            dtype = _C.promote_types(dtype, x.dtype)
        return getattr(_C, name)([x.to(dtype) for x in tensors], axis)

    return call


def _of_list(name: str) -> Callable[..., Any]:
    return lambda arrays: getattr(_C, name)([_C.as_tensor(x) for x in arrays])


def _flat_if_none(name: str) -> Callable[..., Any]:
    def call(x: Any, axis: Any = None, **kwargs: Any) -> Any:
        _only_defaults(name, kwargs)
        return getattr(_C, name)(x.reshape(-1) if axis is None else x, 0 if axis is None else axis)

    return call


def _last_axis(name: str) -> Callable[..., Any]:
    def call(x: Any, axis: Any = -1, **kwargs: Any) -> Any:
        _only_defaults(name, {k: v for k, v in kwargs.items() if k != "kind" and v is not False})
        x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
        found = getattr(_C, name)(x, axis)
        return found if isinstance(found, Tensor) else found.values

    return call


def _plain(name: str) -> Callable[..., Any]:
    """One with the same parameters in the same order."""
    function = getattr(_C, name)
    return lambda *args, **kwargs: function(*map(_operand, args), **kwargs)


def _dot(a: Any, b: Any) -> Any:
    x, y = _C.as_tensor(a), _C.as_tensor(b)
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    if y.ndim > 2:
        return _C.tensordot(x, y.movedim(-2, 0), 1)
    return _C.matmul(x, y)


def _pieces(x: Any, parts: Any, axis: int = 0) -> list[Tensor]:
    return list(_C.tensor_split(x, parts if isinstance(parts, int) else list(parts), axis))


def _equal_pieces(x: Any, parts: Any, axis: int = 0) -> list[Tensor]:
    if isinstance(parts, int) and x.shape[axis] % parts != 0:
        raise ValueError(f"numpy.split: {x.shape[axis]} elements are no {parts} equal pieces")
    return _pieces(x, parts, axis)


def _take(x: Any, indices: Any, axis: Any = None, **kwargs: Any) -> Any:
    _only_defaults("take", {k: v for k, v in kwargs.items() if v != "raise"})
    places = _C.as_tensor(indices)
    x, axis = (x.reshape(-1), 0) if axis is None else (x, axis)
    found = x.index_select(axis, places.reshape(-1).long())
    return found.reshape(*x.shape[:axis], *places.shape, *x.shape[axis:][1:])


def _where(condition: Any, x: Any = None, y: Any = None) -> Any:
    condition = _C.as_tensor(condition)
    if x is None and y is None:
        return condition.nonzero(as_tuple=True)
    return _C.where(condition.bool(), _operand(x), _operand(y))


def _clip(x: Any, a_min: Any = None, a_max: Any = None, **kwargs: Any) -> Any:
    low, high = kwargs.pop("min", a_min), kwargs.pop("max", a_max)
    _only_defaults("clip", kwargs)
    return _C.clamp(_operand(x), _operand(low), _operand(high))


def _round(x: Any, decimals: int = 0, **kwargs: Any) -> Any:
    _only_defaults("round", kwargs)
    return _C.round(x, decimals=decimals)


def _transpose(x: Any, axes: Any = None) -> Any:
    return x.permute(*reversed(range(x.ndim)) if axes is None else axes) if x.ndim else x


def _repeat(x: Any, repeats: Any, axis: Any = None) -> Any:
    counts = repeats if isinstance(repeats, int) else _C.as_tensor(repeats)
    return _C.repeat_interleave(x, counts, axis)


def _norm(x: Any, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Any:
    return linalg.norm(x, ord, axis, keepdims)


def _like(name: str) -> Callable[..., Any]:
    def call(x: Any, *value: Any, dtype: Any = None, **kwargs: Any) -> Any:
        usual = {"order": "K", "subok": True, "shape": None, "device": None}
        _only_defaults(name, {k: v for k, v in kwargs.items() if v != usual.get(k)})
        return getattr(_C, name)(x, *value, dtype=dtype)

    return call


def _percentile(x: Any, q: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    return _quantile(x, _C.tensor(q, dtype=_C.float64) / 100, axis, keepdims=keepdims, **kwargs)


def _quantile(x: Any, q: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    interpolation = kwargs.pop("method", "linear")
    _only_defaults("quantile", {k: v for k, v in kwargs.items() if v is not False})
    return _C.quantile(x, _operand(q), axis, bool(keepdims), interpolation=interpolation)


def _median(x: Any, axis: Any = None, keepdims: Any = False, **kwargs: Any) -> Any:
    return _quantile(x, 0.5, axis, keepdims, **kwargs)


def _reshape(x: Any, shape: Any = None, order: str = "C", **kwargs: Any) -> Any:
    _only_defaults("reshape", {} if order == "C" else {"order": order})
    return x.reshape(kwargs.get("newshape", shape))


_SAME_PARAMETERS = (
    "allclose", "diff", "einsum", "flip", "fliplr", "flipud", "inner", "isclose", "kron",
    "moveaxis", "outer", "ravel", "swapaxes", "tensordot", "tile", "trace", "tril", "triu",
)  # fmt: skip
_OF_MATRICES = (
    "cholesky", "det", "eigh", "inv", "matrix_power", "pinv", "qr", "slogdet", "solve", "svd",
)  # fmt: skip
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _axis_as_dim(name) for name in ["all", "any", "mean", "prod", "sum"]},
    **{name: _axis_as_dim(ours) for name, ours in (("max", "amax"), ("amax", "amax"),
                                                   ("min", "amin"), ("amin", "amin"))},
    **{name: _spread(name) for name in ("std", "var")},
    **{name: _flat_if_none(name) for name in ("cumsum", "cumprod")},
    **{name: _last_axis(name) for name in ("sort", "argsort")},
    **{name: _of_list(name) for name in ("vstack", "hstack", "dstack", "column_stack")},
    **{name: _plain(name) for name in _SAME_PARAMETERS},
    "argmax": lambda x, axis=None, out=None, keepdims=False: _C.argmax(x, axis, bool(keepdims)),
    "argmin": lambda x, axis=None, out=None, keepdims=False: _C.argmin(x, axis, bool(keepdims)),
    "around": _round,
    "array_equal": lambda a, b: _C.equal(_C.as_tensor(a), _C.as_tensor(b)),
    "array_split": _pieces,
    "broadcast_to": lambda x, shape: x.broadcast_to(shape),
    "clip": _clip,
    "concatenate": _joined("cat"),
    "copy": lambda x, order="K", subok=False: x.clone(),
    "count_nonzero": lambda x, axis=None: _C.count_nonzero(x, axis),
    "diag": lambda x, k=0: _C.diag(x, k),
    "diagonal": lambda x, offset=0, axis1=0, axis2=1: x.diagonal(offset, axis1, axis2),
    "dot": _dot,
    "empty_like": _like("empty_like"),
    "expand_dims": lambda x, axis: x.unsqueeze(axis),
    "full_like": _like("full_like"),
    "median": _median,
    "ndim": lambda x: x.ndim,
    "nan_to_num": lambda x, copy=True, nan=0.0, posinf=None, neginf=None: _C.nan_to_num(
        x, nan, posinf, neginf),
    "nonzero": lambda x: x.nonzero(as_tuple=True),
    "ones_like": _like("ones_like"),
    "percentile": _percentile,
    "quantile": _quantile,
    "repeat": _repeat,
    "reshape": _reshape,
    "roll": lambda x, shift, axis=None: _C.roll(x, shift, axis),
    "round": _round,
    "round_": _round,  # the name of round before NumPy 1.25
    "shape": lambda x: tuple(x.shape),
    "size": lambda x, axis=None: x.numel() if axis is None else x.shape[axis],
    "split": _equal_pieces,
    "squeeze": lambda x, axis=None: x.squeeze() if axis is None else x.squeeze(axis),
    "stack": _joined("stack"),
    "take": _take,
    "take_along_axis": lambda x, indices, axis=-1: _C.take_along_dim(
        x, _C.as_tensor(indices), axis),
    "transpose": _transpose,
    "where": _where,
    "zeros_like": _like("zeros_like"),
    "linalg.norm": _norm,
    **{f"linalg.{name}": getattr(linalg, name) for name in _OF_MATRICES},
}  # fmt: skip


def _tensors_in(x: Any) -> list[Tensor]:
    if isinstance(x, Tensor):
        return [x]
    if isinstance(x, dict):
        return [t for value in x.values() for t in _tensors_in(value)]
    if isinstance(x, (list, tuple)):
        return [t for value in x for t in _tensors_in(value)]
    return []


def _as_arrays(x: Any) -> Any:
    if isinstance(x, Tensor):
        return x.numpy()
    if isinstance(x, dict):
        return {key: _as_arrays(value) for key, value in x.items()}
    return type(x)(map(_as_arrays, x)) if type(x) in (list, tuple) else x


def _with_arrays(function: Any, what: str, args: Any, kwargs: dict[str, Any]) -> Any:
    if any(t.requires_grad for t in _tensors_in((args, kwargs))):
        raise _refuse(what)
    return function(*_as_arrays(tuple(args)), **_as_arrays(kwargs))


def array_function(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    """The result of a NumPy function whose arguments include a tensor."""
    if _C._is_exact_torch():  # PyTorch does not take part: np.stack([x, x]) is an array
        return func._implementation(*args, **kwargs)
    module = str(getattr(func, "__module__", "")).removeprefix("numpy").removeprefix(".")
    name = f"{module}.{func.__name__}" if module == "linalg" else func.__name__
    ours = _FUNCTIONS.get(name) if module in ("", "linalg") else None
    what = f"numpy.{name}"
    if ours is None or kwargs.get("out") is not None:
        return _with_arrays(func, what, args, kwargs)
    return ours(*args, **kwargs)
