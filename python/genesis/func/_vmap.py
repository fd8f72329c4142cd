"""``vmap``, which vectorizes a function over a dimension of its inputs."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._pytree import TreeSpec, tree_flatten, tree_paths, tree_unflatten

__all__ = ["debug_unwrap", "functionalize", "vmap"]

_RANDOMNESS = ("error", "different", "same")


def check_randomness(name: str, randomness: str) -> None:
    if randomness not in _RANDOMNESS:
        raise _C.ShapeError(
            f"{name}: randomness must be 'error', 'different' or 'same', got {randomness!r}"
        )


def check_chunk_size(name: str, chunk_size: int | None) -> None:
    if chunk_size is not None and (not isinstance(chunk_size, int) or chunk_size < 1):
        raise ValueError(f"{name}: chunk_size must be a positive int or None, got {chunk_size!r}")


def vmap(
    func: Callable[..., Any],
    in_dims: Any = 0,
    out_dims: Any = 0,
    randomness: str = "error",
    *,
    chunk_size: int | None = None,
) -> Callable[..., Any]:
    """A function that maps ``func`` over a dimension of its inputs.

    ``func`` is written for a single element. It is called once, and each of its operations runs on
    all elements.

    ``in_dims`` is the dimension of each positional argument to map over: an int for all arguments,
    or a tuple with an entry for each. An entry is an int, None for an argument that is not mapped
    over, or a nested structure of these that matches the argument. ``out_dims`` is the position of
    the mapped dimension in the outputs, in the same form. Keyword arguments are not mapped over.

    ``randomness`` is ``"error"`` (random operations inside ``func`` raise), ``"different"`` (each
    element has its own random numbers) or ``"same"`` (all elements share them). ``chunk_size`` is
    the maximum number of elements computed at once, which limits memory.

    >>> vmap(genesis.dot)(genesis.tensor([[1.0, 2.0], [3.0, 4.0]]), genesis.ones(2, 2))
    tensor([3., 7.])
    >>> from genesis.func import grad
    >>> vmap(grad(lambda w, x: (w * x) ** 2), in_dims=(None, 0))(
    ...     genesis.tensor(2.0), genesis.tensor([1.0, 2.0, 3.0])
    ... )
    tensor([ 4., 16., 36.])
    """
    check_randomness("vmap", randomness)
    check_chunk_size("vmap", chunk_size)

    @functools.wraps(func)
    def mapped(*args: Any, **kwargs: Any) -> Any:
        places, leaves, spec = _inputs(func, in_dims, args)
        size = _batch_size(func, places, leaves, spec)
        called = functools.partial(func, **kwargs) if kwargs else func
        if chunk_size is None or size <= chunk_size:
            outputs, _, out_spec = _run(called, out_dims, randomness, size, places, leaves, spec)
            return tree_unflatten(outputs, out_spec)
        return _in_chunks(called, out_dims, randomness, chunk_size, size, places, leaves, spec)

    return mapped


def _in_chunks(
    func: Callable[..., Any],
    out_dims: Any,
    randomness: str,
    chunk_size: int,
    size: int,
    places: list[int | None],
    leaves: list[Any],
    spec: TreeSpec,
) -> Any:
    chunks: list[list[Any]] = []
    ends: list[int | None] = []
    out_spec = TreeSpec(None)
    state = _C._rng_position() if randomness == "same" else None
    for start in range(0, size, chunk_size):
        if state is not None:
            _C._rng_return(state)
        n = min(chunk_size, size - start)
        part = [
            x if d is None else x.narrow(d, start, n) for x, d in zip(leaves, places, strict=True)
        ]
        outputs, ends, out_spec = _run(func, out_dims, randomness, n, places, part, spec)
        chunks.append(outputs)
    joined = [
        chunks[0][i] if d is None else _C.cat([c[i] for c in chunks], d) for i, d in enumerate(ends)
    ]
    return tree_unflatten(joined, out_spec)


def _name(func: Any) -> str:
    func = func.func if isinstance(func, functools.partial) else func
    return getattr(func, "__name__", type(func).__name__)


def _inputs(
    func: Any, in_dims: Any, args: tuple[Any, ...]
) -> tuple[list[int | None], list[Any], TreeSpec]:
    if not isinstance(in_dims, (int, tuple, list)):
        raise ValueError(
            f"vmap({_name(func)}): in_dims must be an int or a tuple with an entry for each "
            f"argument, got {in_dims!r}"
        )
    if not args:
        raise ValueError(
            f"vmap({_name(func)}): called without positional arguments, so there is nothing to map "
            "over"
        )
    if isinstance(in_dims, int):
        each: tuple[Any, ...] = (in_dims,) * len(args)
    else:
        each = tuple(in_dims)
        if len(each) != len(args):
            raise ValueError(
                f"vmap({_name(func)}): in_dims has {len(each)} entries for {len(args)} positional "
                "arguments; it must have one for each"
            )
    leaves, spec = tree_flatten(args)
    places: list[Any] = []
    for i, (dim, part) in enumerate(zip(each, spec.children, strict=False)):
        if dim is None or isinstance(dim, int):
            places += [dim] * part.num_leaves
        else:
            _spread(func, i, dim, args[i], part, places)
    for i, (x, d) in enumerate(zip(leaves, places, strict=True)):
        if d is None:
            continue
        if not isinstance(d, int) or isinstance(d, bool):
            raise ValueError(f"vmap({_name(func)}): in_dims has {d!r}, expected an int or None")
        if not isinstance(x, Tensor):
            raise ValueError(
                f"vmap({_name(func)}): in_dims maps over dimension {d} of {tree_paths(spec)[i]}, "
                f"which must be a tensor, got {type(x).__name__}; use None for it"
            )
        if not -x.ndim <= d < x.ndim:
            raise ValueError(
                f"vmap({_name(func)}): in_dims maps over dimension {d}, which is out of range for "
                f"a tensor of shape {tuple(x.shape)}"
            )
        if d < 0:
            places[i] = d % x.ndim
    return places, leaves, spec


def _spread(func: Any, i: int, dim: Any, arg: Any, spec: TreeSpec, into: list[Any]) -> None:
    """Append the entry of in_dims for every leaf of an argument."""
    before = len(into)
    _match(dim, arg, into)
    if len(into) - before != spec.num_leaves:
        raise ValueError(
            f"vmap({_name(func)}): in_dims of argument {i} is {dim!r}, which does not have the "
            f"structure of the argument, {spec}"
        )


def _match(dim: Any, arg: Any, into: list[Any]) -> None:
    if dim is None or isinstance(dim, int):
        into += [dim] * len(tree_flatten(arg)[0])
    elif isinstance(arg, dict) and isinstance(dim, dict):
        for key, value in arg.items():
            if key in dim:
                _match(dim[key], value, into)
    elif isinstance(arg, (list, tuple)) and isinstance(dim, (list, tuple)) and len(arg) == len(dim):
        for d, value in zip(dim, arg, strict=True):
            _match(d, value, into)


def _batch_size(func: Any, places: list[int | None], leaves: list[Any], spec: TreeSpec) -> int:
    sizes = [x.shape[d] for x, d in zip(leaves, places, strict=True) if d is not None]
    if not sizes:
        raise ValueError(
            f"vmap({_name(func)}): no argument is mapped over; at least one entry of in_dims must "
            "be an int, for an argument that contains a tensor"
        )
    if len(set(sizes)) > 1:
        shapes = [
            f"dimension {d} of shape {tuple(x.shape)}"
            for x, d in zip(leaves, places, strict=True)
            if d is not None
        ]
        raise ValueError(
            f"vmap({_name(func)}): the mapped dimensions must have the same size, got {sizes}: "
            + ", ".join(shapes)
        )
    return int(sizes[0])


def _run(
    func: Callable[..., Any],
    out_dims: Any,
    randomness: str,
    size: int,
    places: list[int | None],
    leaves: list[Any],
    spec: TreeSpec,
) -> tuple[list[Tensor], list[int | None], TreeSpec]:
    """The outputs for one chunk, flat; their mapped dimensions; and their structure."""
    from genesis.func import _batching

    level = _batching.Level(size, randomness)
    inside = [
        x if d is None else _C._batched(x.movedim(d, 0) if d else x, level)
        for x, d in zip(leaves, places, strict=True)
    ]
    with _batching.entered(level):
        result = func(*tree_unflatten(inside, spec))
    outputs, out_spec = tree_flatten(result)
    ends = _out_places(func, out_dims, out_spec)
    for i, (x, d) in enumerate(zip(outputs, ends, strict=True)):
        if not isinstance(x, Tensor):
            raise ValueError(
                f"vmap({_name(func)}): the function must return tensors, or nested dicts, lists "
                f"and tuples of tensors, got {type(x).__name__}"
            )
        batched = _batching.is_at(x, level)
        value = x._value if batched else x  # type: ignore[attr-defined]
        outputs[i] = value if batched and d == 0 else _leave(func, value, batched, d, size)
    return outputs, ends, out_spec


def _out_places(func: Any, out_dims: Any, spec: TreeSpec) -> list[int | None]:
    n = spec.num_leaves
    if out_dims is None or isinstance(out_dims, int):
        return [out_dims] * n
    dummy = tree_unflatten(list(range(n)), spec)
    places: list[Any] = []
    if isinstance(out_dims, (tuple, list)) and spec.kind is None and len(out_dims) == 1:
        out_dims = out_dims[0]
    _match(out_dims, dummy, places)
    if len(places) != n:
        raise ValueError(
            f"vmap({_name(func)}): out_dims is {out_dims!r}, which does not have the structure of "
            f"the output, {spec}"
        )
    return places


def _leave(func: Any, x: Tensor, batched: bool, dim: int | None, size: int) -> Tensor:
    """An output with its mapped dimension at the position given by ``out_dims``."""
    if dim is None:
        if batched:
            raise ValueError(
                f"vmap({_name(func)}): out_dims is None for an output that depends on a mapped "
                "input; pass the position of the mapped dimension"
            )
        return x
    if not batched:
        x = x.expand(size, *x.shape)
    if not -x.ndim <= dim < x.ndim:
        raise IndexError(
            f"vmap({_name(func)}): out_dims {dim} is out of range: the output has {x.ndim} "
            "dimensions, including the mapped one"
        )
    return x if dim == 0 else x.movedim(0, dim)


def debug_unwrap(tensor: Tensor, *, recurse: bool = True) -> Tensor:
    """The whole batch of a tensor inside :func:`vmap`, for debugging.

    Its first dimension is the mapped one. With ``recurse``, all levels of ``vmap`` are removed.
    """
    while _C._is_batched(tensor):
        tensor = tensor._value  # type: ignore[attr-defined]
        if not recurse:
            break
    return tensor


def functionalize(func: Callable[..., Any], *, remove: str = "mutations") -> Callable[..., Any]:
    """A function that calls ``func``.

    PyTorch's version removes in-place operations for its compilers, which Genesis does not need.
    The results are the same. ``remove`` is ``"mutations"`` or ``"mutations_and_views"``.
    """
    if remove not in ("mutations", "mutations_and_views"):
        raise ValueError(
            f"functionalize: remove must be 'mutations' or 'mutations_and_views', got {remove!r}"
        )

    @functools.wraps(func)
    def same(*args: Any, **kwargs: Any) -> Any:
        return func(*args, **kwargs)

    return same
