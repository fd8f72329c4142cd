"""Collective operations on tensors, with PyTorch's names and meaning."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call
from genesis.distributed._group import ProcessGroup
from genesis.distributed._reduce import ReduceOp, reduction_of
from genesis.distributed._work import Finished, Steps, Work
from genesis.distributed._world import member, only_cpu, seconds_of

_INVALID = _call.record("nothing", None, ())


def _run(
    group: ProcessGroup, record: bytes, steps: Steps, async_op: bool, *outputs: Tensor
) -> Work | None:
    """Start an operation, and wait for it unless it is to go on in the background."""
    work = Work(group.queue, record, steps, lambda: list(outputs))
    if async_op:
        return work
    work.wait()
    return None


def _checked(group: ProcessGroup, check: Callable[[], Any]) -> Any:
    """What ``check`` returns. If this rank's arguments are wrong, the other ranks hear of it."""
    try:
        return check()
    except Exception:
        if group.size() > 1:
            with contextlib.suppress(_call.CollectiveError):
                _run(group, _INVALID, group.agree(_INVALID), False)
        raise


def _tensor(name: str, argument: str, value: Any) -> Tensor:
    if not isinstance(value, Tensor):
        raise TypeError(f"{name}: {argument} must be a Tensor, got {type(value).__name__}")
    if value.dtype not in _call.DTYPE_CODES:
        raise TypeError(f"{name}: {argument} has dtype {value.dtype}, which cannot be sent")
    if str(value.device) == "meta":
        raise ValueError(f"{name}: {argument} is on the device 'meta' and has no values to send")
    return value


def _root(
    name: str, group: ProcessGroup, rank: int | None, group_rank: int | None, word: str
) -> int:
    """A rank of the job or of the group, as the rank in the group."""
    if group_rank is not None:
        if rank is not None:
            raise ValueError(f"{name}: give {word} or group_{word}, not both")
        if not 0 <= group_rank < group.size():
            raise ValueError(
                f"{name}: group_{word}={group_rank}, the group has {group.size()} ranks"
            )
        return group_rank
    rank = 0 if rank is None else rank
    if rank not in group.ranks:
        raise ValueError(f"{name}: {word}={rank} is not among the ranks {list(group.ranks)}")
    return group.ranks.index(rank)


def _list(
    name: str, argument: str, value: Any, count: int, shape: tuple[int, ...] | None, dtype: Any
) -> list[Tensor]:
    if not isinstance(value, (list, tuple)) or len(value) != count:
        got = f"{len(value)} of them" if isinstance(value, (list, tuple)) else type(value).__name__
        raise ValueError(f"{name}: {argument} must be a list of {count} tensors, got {got}")
    for i, t in enumerate(value):
        _tensor(name, f"{argument}[{i}]", t)
        if t.dtype != dtype or (shape is not None and tuple(t.shape) != shape):
            raise _call.CollectiveError(
                f"{name}: {argument}[{i}] is {t.dtype} {tuple(t.shape)}, expected {dtype}"
                + ("" if shape is None else f" {shape}")
            )
    return list(value)


def all_reduce(
    tensor: Tensor, op: Any = ReduceOp.SUM, group: Any = None, async_op: bool = False
) -> Work | None:
    """Reduce over all ranks; every rank has the result, in ``tensor``.

    >>> genesis.distributed.init_process_group()
    >>> x = genesis.ones(2)
    >>> all_reduce(x)
    >>> x
    tensor([1., 1.])
    >>> genesis.distributed.destroy_process_group()
    """
    found = member(group, "all_reduce")
    if found is None:
        return None
    if not async_op and isinstance(tensor, Tensor) and isinstance(op, int):
        quick = found.channels.get((tensor.dtype, tensor.shape, op))
        if quick is not None and not found.queue.works:
            quick.run(tensor)
            return None

    def check() -> int:
        _tensor("all_reduce", "tensor", tensor)
        return reduction_of("all_reduce", op, tensor.dtype)

    reduction = _checked(found, check)
    record = _call.record("all_reduce", tensor.dtype, tensor.shape, reduction)
    quick = found.channel(tensor, reduction, record)
    if quick is not None and not async_op and not found.queue.works:
        quick.run(tensor)
        return None
    return _run(found, record, found.all_reduce(tensor, reduction, record), async_op, tensor)


def broadcast(
    tensor: Tensor,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give all ranks the tensor of the rank ``src``, in ``tensor``."""
    found = member(group, "broadcast")
    if found is None:
        return None

    def check() -> int:
        _tensor("broadcast", "tensor", tensor)
        return _root("broadcast", found, src, group_src, "src")

    root = _checked(found, check)
    record = _call.record("broadcast", tensor.dtype, tensor.shape, root=root)
    return _run(found, record, found.broadcast(tensor, root, record), async_op, tensor)


def reduce(
    tensor: Tensor,
    dst: int | None = None,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """Reduce over all ranks; the rank ``dst`` has the result, in ``tensor``."""
    found = member(group, "reduce")
    if found is None:
        return None

    def check() -> tuple[int, int]:
        _tensor("reduce", "tensor", tensor)
        reduction = reduction_of("reduce", op, tensor.dtype)
        return reduction, _root("reduce", found, dst, group_dst, "dst")

    reduction, root = _checked(found, check)
    record = _call.record("reduce", tensor.dtype, tensor.shape, reduction, root)
    return _run(found, record, found.reduce(tensor, reduction, root, record), async_op, tensor)


def all_gather(
    tensor_list: list[Tensor], tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks, copied into ``tensor_list`` in the order of the ranks."""
    found = member(group, "all_gather")
    if found is None:
        return None
    count = found.size()

    def check() -> list[Tensor]:
        _tensor("all_gather", "tensor", tensor)
        shape = tuple(tensor.shape)
        return _list("all_gather", "tensor_list", tensor_list, count, shape, tensor.dtype)

    outputs = _checked(found, check)
    into = _C.empty((count, *tensor.shape), dtype=tensor.dtype)
    record = _call.record("all_gather", tensor.dtype, tensor.shape)

    def steps() -> Steps:
        yield from found.all_gather(into, tensor, record)
        for i, output in enumerate(outputs):
            output.detach().copy_(into[i])

    return _run(found, record, steps(), async_op, *outputs)


def all_gather_into_tensor(
    output_tensor: Tensor, input_tensor: Tensor, group: Any = None, async_op: bool = False
) -> Work | None:
    """The tensors of all ranks in one: joined along dimension 0, or stacked."""
    name = "all_gather_into_tensor"
    found = member(group, name)
    if found is None:
        return None

    def check() -> None:
        _tensor(name, "output_tensor", output_tensor)
        _tensor(name, "input_tensor", input_tensor)
        shape, n = tuple(input_tensor.shape), found.size()
        allowed = [(n, *shape)] + ([(n * shape[0], *shape[1:])] if shape else [])
        if tuple(output_tensor.shape) not in allowed or output_tensor.dtype != input_tensor.dtype:
            raise _call.CollectiveError(
                f"{name}: output_tensor is {output_tensor.dtype} {tuple(output_tensor.shape)}; "
                f"for an input of {input_tensor.dtype} {shape} on {n} ranks it must have one of "
                f"the shapes {allowed}"
            )

    _checked(found, check)
    record = _call.record("all_gather", input_tensor.dtype, input_tensor.shape)
    into = output_tensor.detach()
    whole = into if into.is_contiguous() else _C.empty(tuple(into.shape), dtype=into.dtype)

    def steps() -> Steps:
        yield from found.all_gather(whole, input_tensor, record)
        if whole is not into:
            into.copy_(whole)

    return _run(found, record, steps(), async_op, output_tensor)


def reduce_scatter(
    output: Tensor,
    input_list: list[Tensor],
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce a list of tensors over all ranks; rank i has the result of number i."""
    found = member(group, "reduce_scatter")
    if found is None:
        return None

    def check() -> tuple[int, list[Tensor]]:
        _tensor("reduce_scatter", "output", output)
        shape, count = tuple(output.shape), found.size()
        parts = _list("reduce_scatter", "input_list", input_list, count, shape, output.dtype)
        return reduction_of("reduce_scatter", op, output.dtype), parts

    reduction, parts = _checked(found, check)
    flat = _C.stack([p.detach() for p in parts]).reshape(-1)
    record = _call.record("reduce_scatter", output.dtype, output.shape, reduction)
    return _run(
        found, record, found.reduce_scatter(output, flat, reduction, record), async_op, output
    )


def reduce_scatter_tensor(
    output: Tensor,
    input: Tensor,
    op: Any = ReduceOp.SUM,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Reduce a tensor over all ranks and give each rank its part along dimension 0."""
    name = "reduce_scatter_tensor"
    found = member(group, name)
    if found is None:
        return None

    def check() -> int:
        _tensor(name, "output", output)
        _tensor(name, "input", input)
        shape, n = tuple(output.shape), found.size()
        allowed = [(n, *shape)] + ([(n * shape[0], *shape[1:])] if shape else [])
        if tuple(input.shape) not in allowed or output.dtype != input.dtype:
            raise _call.CollectiveError(
                f"{name}: input is {input.dtype} {tuple(input.shape)}; for an output of "
                f"{output.dtype} {shape} on {n} ranks it must have one of the shapes {allowed}"
            )
        return reduction_of(name, op, output.dtype)

    reduction = _checked(found, check)
    flat = input.detach().clone().reshape(-1)
    record = _call.record("reduce_scatter", output.dtype, output.shape, reduction)
    return _run(
        found, record, found.reduce_scatter(output, flat, reduction, record), async_op, output
    )


def all_to_all(
    output_tensor_list: list[Tensor],
    input_tensor_list: list[Tensor],
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Send number i of the inputs to rank i; output i is what rank i sent here."""
    found = member(group, "all_to_all")
    if found is None:
        return None
    n = found.size()

    def check() -> tuple[list[Tensor], list[Tensor]]:
        kind = input_tensor_list[0].dtype if input_tensor_list else None
        inputs = _list("all_to_all", "input_tensor_list", input_tensor_list, n, None, kind)
        return inputs, _list("all_to_all", "output_tensor_list", output_tensor_list, n, None, kind)

    inputs, outputs = _checked(found, check)
    dtype = inputs[0].dtype
    out = _C.cat([t.detach().reshape(-1) for t in inputs])
    counts_in = [t.numel() for t in outputs]
    into = _C.empty(sum(counts_in), dtype=dtype)
    record = _call.record("all_to_all", dtype, ())

    def steps() -> Steps:
        yield from found.all_to_all(into, counts_in, out, [t.numel() for t in inputs], record)
        begin = 0
        for output, count in zip(outputs, counts_in, strict=True):
            output.detach().copy_(into[begin : begin + count].reshape(output.shape))
            begin += count

    return _run(found, record, steps(), async_op, *outputs)


def all_to_all_single(
    output: Tensor,
    input: Tensor,
    output_split_sizes: Sequence[int] | None = None,
    input_split_sizes: Sequence[int] | None = None,
    group: Any = None,
    async_op: bool = False,
) -> Work | None:
    """Split ``input`` along dimension 0, send part i to rank i, and join what comes in."""
    name = "all_to_all_single"
    found = member(group, name)
    if found is None:
        return None
    n = found.size()

    def split(what: str, t: Tensor, sizes: Sequence[int] | None) -> list[int]:
        _tensor(name, what, t)
        if t.ndim == 0:
            raise ValueError(f"{name}: {what} must have at least one dimension")
        rows = t.shape[0]
        if not sizes and rows % n:
            raise ValueError(f"{name}: {what} has {rows} rows, which {n} ranks do not divide")
        parts = [rows // n] * n if not sizes else list(sizes)
        if len(parts) != n or sum(parts) != rows:
            raise ValueError(
                f"{name}: the split sizes {parts} of {what} must be {n} that add to {rows}"
            )
        width = t[0].numel() if rows else 1
        return [p * width for p in parts]

    def check() -> tuple[list[int], list[int]]:
        if output.dtype != input.dtype:
            raise TypeError(f"{name}: output is {output.dtype}, input is {input.dtype}")
        return split("input", input, input_split_sizes), split("output", output, output_split_sizes)

    counts_out, counts_in = _checked(found, check)
    out = input.detach().contiguous().reshape(-1)
    into = _C.empty(output.numel(), dtype=output.dtype)
    record = _call.record("all_to_all", input.dtype, ())

    def steps() -> Steps:
        yield from found.all_to_all(into, counts_in, out, counts_out, record)
        output.detach().copy_(into.reshape(output.shape))

    return _run(found, record, steps(), async_op, output)


def gather(
    tensor: Tensor,
    gather_list: list[Tensor] | None = None,
    dst: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_dst: int | None = None,
) -> Work | None:
    """The tensors of all ranks, copied into ``gather_list`` on the rank ``dst``."""
    found = member(group, "gather")
    if found is None:
        return None

    def check() -> tuple[int, list[Tensor]]:
        _tensor("gather", "tensor", tensor)
        root = _root("gather", found, dst, group_dst, "dst")
        if found.rank() != root:
            if gather_list:
                raise ValueError(
                    "gather: gather_list is only for the rank dst; pass None on others"
                )
            return root, []
        shape = tuple(tensor.shape)
        return root, _list("gather", "gather_list", gather_list, found.size(), shape, tensor.dtype)

    root, outputs = _checked(found, check)
    into = _C.empty((found.size(), *tensor.shape), dtype=tensor.dtype) if outputs else None
    record = _call.record("gather", tensor.dtype, tensor.shape, root=root)

    def steps() -> Steps:
        yield from found.gather(into, tensor, root, record)
        for i, output in enumerate(outputs):
            output.detach().copy_(into[i])  # type: ignore[index]

    return _run(found, record, steps(), async_op, *outputs)


def scatter(
    tensor: Tensor,
    scatter_list: list[Tensor] | None = None,
    src: int | None = None,
    group: Any = None,
    async_op: bool = False,
    group_src: int | None = None,
) -> Work | None:
    """Give rank i number i of the ``scatter_list`` of the rank ``src``, in ``tensor``."""
    found = member(group, "scatter")
    if found is None:
        return None

    def check() -> tuple[int, Tensor | None]:
        _tensor("scatter", "tensor", tensor)
        root = _root("scatter", found, src, group_src, "src")
        if found.rank() != root:
            if scatter_list:
                raise ValueError(
                    "scatter: scatter_list is only for the rank src; pass None on others"
                )
            return root, None
        shape = tuple(tensor.shape)
        parts = _list("scatter", "scatter_list", scatter_list, found.size(), shape, tensor.dtype)
        return root, _C.stack([p.detach() for p in parts])

    root, parts = _checked(found, check)
    record = _call.record("scatter", tensor.dtype, tensor.shape, root=root)
    return _run(found, record, found.scatter(tensor, parts, root, record), async_op, tensor)


def barrier(group: Any = None, async_op: bool = False, device_ids: Any = None) -> Work | None:
    """Wait until all ranks have come here. ``device_ids`` may name the CPU only."""
    only_cpu("barrier", "device_ids", device_ids)
    found = member(group, "barrier")
    if found is None:
        return Finished() if async_op else None
    record = _call.record("barrier", None, ())
    return _run(found, record, found.agree(record), async_op)


def monitored_barrier(group: Any = None, timeout: Any = None, wait_all_ranks: bool = False) -> None:
    """`barrier` that raises when a rank does not come within ``timeout`` (that of the job).

    The first rank of the group says which rank is missing, with ``wait_all_ranks`` all that are.
    """
    found = member(group, "monitored_barrier")
    if found is None or found.size() == 1:
        return
    seconds = seconds_of(timeout, "monitored_barrier")
    found.status.begin(_call.record("barrier", None, ()))
    try:
        late = found.late_ranks(seconds)
    finally:
        found.status.end()
    if late and found.rank() != 0:
        raise RuntimeError(
            f"monitored_barrier: rank {found.ranks[0]} did not let this rank pass within "
            f"{seconds:g} s; its error says which rank did not come"
        )
    if late:
        names = ", ".join(str(found.ranks[r]) for r in (late if wait_all_ranks else late[:1]))
        raise RuntimeError(
            f"monitored_barrier: rank {names} did not come within {seconds:g} s; see what it does, "
            "or pass a longer timeout"
        )
