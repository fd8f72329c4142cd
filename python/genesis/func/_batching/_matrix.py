"""Rules of matrix products: all end in one product of stacks of matrices."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._elementwise import leading, require_mapped_self
from genesis.func._batching._tensor import Call, Level, batch_of, rule


def _at(x: Any, level: Level) -> bool:
    return getattr(x, "_level", None) is level


@rule("matmul", "mm", "bmm", "mv", "dot", "vdot", "__matmul__")
def matmul(call: Call) -> Any:
    x, y = (*call.args, *call.kwargs.values())[:2]
    _check(call.op.name, x, y)
    return call.result(product(x, y, call.level))


_RANKS = {"mm": (2, 2), "bmm": (3, 3), "mv": (2, 1), "dot": (1, 1), "vdot": (1, 1)}


def _check(name: str, x: Tensor, y: Tensor) -> None:
    ranks = _RANKS.get(name)
    if ranks is not None and (x.ndim, y.ndim) != ranks:
        raise RuntimeError(
            f"{name}: needs tensors of {ranks[0]} and {ranks[1]} dimensions, got shapes "
            f"{tuple(x.shape)} and {tuple(y.shape)}"
        )
    if x.ndim == 0 or y.ndim == 0:
        raise RuntimeError(f"{name}: needs at least one dimension, got a 0-d tensor")
    inner = y.shape[-2] if y.ndim > 1 else y.shape[0]
    if x.shape[-1] != inner:
        raise RuntimeError(
            f"{name}: shapes {tuple(x.shape)} and {tuple(y.shape)} cannot be multiplied: "
            f"{x.shape[-1]} columns and {inner} rows"
        )


def product(x: Any, y: Any, level: Level) -> Any:
    """The product ``x @ y`` of the elements, as the batch of results."""
    a, b = _at(x, level), _at(y, level)
    if a and not b and (y.ndim <= 2 or x.ndim >= 2):
        if y.ndim <= 2:  # one matrix for all: rows of all elements at once
            return x._value @ y
        if x.ndim == 2:
            return x._value.unsqueeze(1) @ y
        rank = max(x.ndim, y.ndim)
        return _raised(x._value, rank) @ y
    xv, yv = batch_of(x, level), batch_of(y, level)
    if x.ndim == 1:
        xv = xv.unsqueeze(1)
    if y.ndim == 1:
        yv = yv.unsqueeze(2)
    rank = max(x.ndim, y.ndim, 2)
    out = _raised(xv, rank) @ _raised(yv, rank)
    if y.ndim == 1:
        out = out.squeeze(-1)
    if x.ndim == 1:
        out = out.squeeze(-1 if y.ndim == 1 else -2)
    return out


def _raised(value: Tensor, rank: int) -> Tensor:
    missing = rank + 1 - value.ndim
    if missing <= 0:
        return value
    return value.reshape(value.shape[0], *(1,) * missing, *value.shape[1:])


@rule("linear")
def linear(call: Call) -> Any:
    level, args = call.level, call.args
    if len(args) != 3:
        bound = call.bind()
        args = bound["input"], bound["weight"], bound.get("bias")
    x, weight, bias = args
    if not _at(weight, level) and not _at(bias, level):
        return call.result(_C.linear(x._value, weight, bias))
    if bias is not None and not _at(weight, level):
        return _C.linear(x, weight) + bias
    if weight.ndim == 1:
        out = call.result(product(x, weight, level))
        return out if bias is None else out + bias
    w, flat, rank = weight._value, batch_of(x, level), x.ndim
    if rank == 1:
        flat = flat.unsqueeze(1)
    elif rank != 2:
        flat = flat.reshape(level.size, -1, x.shape[-1])
    out = _C.bmm(flat, w.mT) if flat.shape[-1] == w.shape[-1] else flat @ w.mT
    if bias is not None:
        out = out + batch_of(bias, level).unsqueeze(1)
    if rank == 1:
        out = out.squeeze(1)
    elif rank != 2:
        out = out.reshape(level.size, *x.shape[:-1], w.shape[1])
    return _C._batched(out, level)


@rule("addmm", "addmm_", "addmv", "addmv_", "addr", "addr_")
@rule("baddbmm", "baddbmm_", "addbmm", "addbmm_")
def add_product(call: Call) -> Any:
    (x, a, b), kwargs = call.args[:3], call.kwargs
    if len(call.args) < 3:
        bound = list(call.bind().values())
        x, a, b = [v for v in bound if isinstance(v, Tensor)][:3]
    name = call.op.name.strip("_")
    made = _C.outer(a, b) if name == "addr" else _C.matmul(a, b)
    if name == "addbmm":
        made = made.sum(0)
    alpha, beta = kwargs.get("alpha", 1), kwargs.get("beta", 1)
    if alpha != 1:
        made = made * alpha
    result = made + (x if beta == 1 else x * beta) if beta != 0 else made.expand(made.shape)
    if call.op.in_place:
        require_mapped_self(call)
        return x.copy_(result)
    return result


@rule("outer", "ger")
def outer(call: Call) -> Any:
    x, y = (*call.args, *call.kwargs.values())[:2]
    if x.ndim != 1 or y.ndim != 1:
        raise RuntimeError(
            f"outer: needs vectors, got shapes {tuple(x.shape)} and {tuple(y.shape)}"
        )
    return x.unsqueeze(1) * y


@rule("inner")
def inner(call: Call) -> Any:
    x, y = (*call.args, *call.kwargs.values())[:2]
    if x.ndim == 0 or y.ndim == 0:
        return x * y
    return _C.tensordot(x, y, [[x.ndim - 1], [y.ndim - 1]])


@rule("kron")
def kron(call: Call) -> Any:
    x, y = (*call.args, *call.kwargs.values())[:2]
    rank = max(x.ndim, y.ndim)
    x = x.reshape(*(1,) * (rank - x.ndim), *x.shape)
    y = y.reshape(*(1,) * (rank - y.ndim), *y.shape)
    left, right, shape = [], [], []
    for m, n in zip(x.shape, y.shape, strict=True):
        left += [m, 1]
        right += [1, n]
        shape.append(m * n)
    return (x.reshape(left) * y.reshape(right)).reshape(shape)


@rule("tensordot")
def tensordot(call: Call) -> Any:
    bound = call.bind()
    x, y, dims = bound["a"], bound["b"], bound.get("dims", 2)
    if isinstance(dims, Tensor):
        dims = dims.tolist()
    if isinstance(dims, int):
        a, b = list(range(x.ndim - dims, x.ndim)), list(range(dims))
    else:
        a, b = ([d] if isinstance(d, int) else list(d) for d in dims)
    a, b = [d % x.ndim for d in a], [d % y.ndim for d in b]
    rows = [d for d in range(x.ndim) if d not in a]
    columns = [d for d in range(y.ndim) if d not in b]
    n = 1
    for i, j in zip(a, b, strict=True):
        if x.shape[i] != y.shape[j]:
            if 1 not in (x.shape[i], y.shape[j]):
                raise RuntimeError(
                    f"tensordot: dims {i} and {j} have sizes {x.shape[i]} and {y.shape[j]}"
                )
            x = x if y.shape[j] != 1 else x.sum(i, keepdim=True)
            y = y if x.shape[i] != 1 else y.sum(j, keepdim=True)
        n *= x.shape[i]
    left = x.permute(*rows, *a).reshape(_numel(x, rows), n)
    right = y.permute(*b, *columns).reshape(n, _numel(y, columns))
    shape = [x.shape[d] for d in rows] + [y.shape[d] for d in columns]
    return (left @ right).reshape(shape)


def _numel(x: Tensor, dims: list[int]) -> int:
    n = 1
    for d in dims:
        n *= x.shape[d]
    return n


@rule("einsum")
def einsum(call: Call) -> Any:
    equation = call.args[0]
    operands = call.args[1:]
    if len(operands) == 1 and isinstance(operands[0], (list, tuple)):
        operands = tuple(operands[0])
    if not isinstance(equation, str):
        from genesis.func._batching._tensor import looped

        return looped(call)
    letters = set(equation)
    batch = next(
        c for c in "ZYXWVUTSRQPONMLKJIHGFEDCBAzyxwvutsrqponmlkjihgfedcba" if c not in letters
    )
    sides = equation.replace(" ", "").split("->")
    terms = sides[0].split(",")
    if len(terms) != len(operands):
        raise RuntimeError(f"einsum: {len(terms)} terms for {len(operands)} operands")
    if len(sides) == 1:
        inside = sides[0].replace(",", "").replace(".", "")
        once = sorted(c for c in set(inside) if inside.count(c) == 1)
        sides.append(("..." if "..." in sides[0] else "") + "".join(once))
    level = call.level
    terms = [batch + t if _at(x, level) else t for t, x in zip(terms, operands, strict=True)]
    values = [x._value if _at(x, level) else x for x in operands]
    return call.result(_C.einsum(f"{','.join(terms)}->{batch}{sides[1]}", *values))


@rule("linalg_multi_dot", "chain_matmul")
def chain(call: Call) -> Any:
    tensors = list(next(iter(call.bind().values())))
    product_so_far = tensors[0]
    for x in tensors[1:]:
        product_so_far = _C.matmul(product_so_far, x)
    return product_so_far


@rule("cdist")
def cdist(call: Call) -> Any:
    return leading(call)


@rule("pdist")
def pdist(call: Call) -> Any:
    bound = call.bind()
    x = bound["input"]
    places = _C.triu_indices(x.shape[0], x.shape[0], 1)
    return _C.linalg_vector_norm(x[places[0]] - x[places[1]], bound.get("p", 2.0), -1)


@rule("linalg_solve", "linalg_solve_ex", "linalg_lstsq")
def solve(call: Call) -> Any:
    bound = call.bind()
    a, b = bound.pop("A"), bound.pop("B")
    vector = b.ndim == 1 or (a.ndim - 1 == b.ndim and b.shape == a.shape[:-1])
    if vector:
        b = b.unsqueeze(-1)
    rank = max(a.ndim, b.ndim)
    level = call.level
    out = call.op.func(
        _raised(batch_of(a, level), rank), _raised(batch_of(b, level), rank), **bound
    )
    if not vector:
        return call.result(out)
    if isinstance(out, Tensor):
        return call.result(out.squeeze(-1))
    if call.op.name == "linalg_solve_ex":
        return call.result(type(out)([out[0].squeeze(-1), out[1]]))
    residuals = out[1].squeeze(-1) if b.ndim == 1 and out[1].numel() else out[1]
    return call.result(type(out)([out[0].squeeze(-1), residuals, *out[2:]]))


@rule("vander", "linalg_vander")
def vander(call: Call) -> Any:
    bound = call.bind()
    x = bound["x"]
    if x.ndim == 0:
        x = x.reshape(1)
    n = bound.get("N")
    n = x.shape[-1] if n is None else n
    powers = _C.arange(n)
    if call.op.name == "vander" and not bound.get("increasing", False):
        powers = powers.flip(0)
    return x.unsqueeze(-1) ** powers


@rule("linalg_vecdot")
def vecdot(call: Call) -> Any:
    bound = call.bind()
    x, y = (bound[name] for name in list(call.op.params)[:2])
    return ((x.conj() if x.is_complex() else x) * y).sum(bound.get("dim", -1))


@rule("linalg_tensorinv")
def tensorinv(call: Call) -> Any:
    bound = call.bind()
    a, n = bound["A"], bound.get("ind", 2)
    rows, columns = a.shape[:n], a.shape[n:]
    matrix = a.reshape(_numel(a, list(range(n))), _numel(a, list(range(n, a.ndim))))
    return _C.linalg_inv(matrix).reshape(*columns, *rows)


@rule("linalg_tensorsolve")
def tensorsolve(call: Call) -> Any:
    bound = call.bind()
    a, b, dims = bound["A"], bound["B"], bound.get("dims")
    if dims is not None:
        moved = [d % a.ndim for d in dims]
        a = a.permute(*[d for d in range(a.ndim) if d not in moved], *moved)
    shape = a.shape[b.ndim :]
    solved = _C.linalg_solve(a.reshape(b.numel(), -1), b.reshape(b.numel()))
    return solved.reshape(shape)
