"""DistributedDataParallel: the same model on every rank, with the gradients of all batches."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from typing import Any

from genesis import _C, _pytree
from genesis._C import Tensor
from genesis.distributed import _call, _objects
from genesis.distributed._buckets import Reducer, leaves_of
from genesis.distributed._collectives import all_reduce
from genesis.distributed._group import ProcessGroup
from genesis.distributed._reduce import ReduceOp
from genesis.distributed._work import Work
from genesis.distributed._world import member, only_cpu
from genesis.nn.modules.module import Module
from genesis.utils import random_state

BUCKET_MB = 1.0


def broadcast_coalesced(group: ProcessGroup, tensors: list[Tensor], root: int) -> None:
    """Give all ranks the values of ``root``, with one message for each dtype."""
    by_dtype: dict[Any, list[Tensor]] = {}
    for t in tensors:
        by_dtype.setdefault(t.dtype, []).append(t.detach())
    for dtype, members in by_dtype.items():
        flat = _C.cat([t.reshape(-1) for t in members])
        record = _call.record("broadcast", dtype, flat.shape, root=root)
        Work(group.queue, record, group.broadcast(flat, root, record)).wait()
        if group.rank() == root:
            continue
        begin = 0
        for t in members:
            t.copy_(flat[begin : begin + t.numel()].reshape(t.shape))
            begin += t.numel()


def verify_same(group: ProcessGroup, what: str, mine: list[tuple[Any, ...]]) -> None:
    """Raise on every rank if the lists of the ranks differ, and say where they do."""
    everything: list[Any] = [None] * group.size()
    _objects.all_gather_object(everything, mine, group)
    for rank, theirs in zip(group.ranks, everything, strict=True):
        if theirs == everything[0]:
            continue
        if len(theirs) != len(everything[0]):
            detail = f"rank {group.ranks[0]} has {len(everything[0])}, rank {rank} {len(theirs)}"
        else:
            first, other = next(
                (a, b) for a, b in zip(everything[0], theirs, strict=True) if a != b
            )
            detail = f"rank {group.ranks[0]} has {first}, rank {rank} has {other}"
        raise _call.CollectiveError(
            f"{what} differ between the ranks: {detail}; build the same model on every rank"
        )


class DistributedDataParallel(Module):
    """Wraps a model so that backward leaves the mean of the gradients of all ranks in ``grad``.

    Parameters and buffers of rank 0 are given to all ranks at the start, and buffers before each
    forward (``broadcast_buffers``). Gradients travel in buckets of ``bucket_cap_mb`` while backward
    still runs. Parameters that do not take part in every loss need ``find_unused_parameters``, or
    ``static_graph`` if they are the same in each step. ``device_ids`` and ``output_device`` may
    name the CPU only, and ``dim`` must be 0. ``debug`` compares every bucket across ranks
    before it is summed; the variable ``GENESIS_DISTRIBUTED_DEBUG=1`` turns it on.

    With ``shards=V`` a step is made of V parts of the global batch, whatever the number of ranks:
    each rank takes the same number of them (`split`), and their gradients are added in one fixed
    order. A run then ends with the same bits on 1, 2 or 4 ranks.

    >>> genesis.distributed.init_process_group()
    >>> model = DistributedDataParallel(genesis.nn.Linear(2, 1))
    >>> model(genesis.ones(3, 2)).sum().backward()
    >>> model.module.bias.grad
    tensor([3.])
    >>> genesis.distributed.destroy_process_group()
    """

    def __init__(
        self,
        module: Module,
        device_ids: Any = None,
        output_device: Any = None,
        dim: int = 0,
        broadcast_buffers: bool = True,
        init_sync: bool = True,
        process_group: Any = None,
        bucket_cap_mb: float | None = None,
        find_unused_parameters: bool = False,
        check_reduction: bool = False,
        gradient_as_bucket_view: bool = False,
        static_graph: bool = False,
        *,
        shards: int | None = None,
        debug: bool | None = None,
    ) -> None:
        super().__init__()
        if not isinstance(module, Module):
            raise TypeError(
                f"DistributedDataParallel: module must be a Module, got {type(module).__name__}"
            )
        only_cpu("DistributedDataParallel", "device_ids", device_ids)
        only_cpu("DistributedDataParallel", "output_device", output_device)
        if dim != 0:
            raise ValueError(
                f"DistributedDataParallel: dim={dim!r}: a rank has one device, so no batch is cut "
                "along a dimension; leave dim out"
            )
        group = member(process_group, "DistributedDataParallel")
        if group is None:
            raise ValueError("DistributedDataParallel: this rank is not in process_group")
        named = [(n, p) for n, p in module.named_parameters() if p.requires_grad]
        if not named:
            raise RuntimeError(
                "DistributedDataParallel: the module has no parameter that requires grad; it "
                "needs no wrapper"
            )
        if bucket_cap_mb is not None and not bucket_cap_mb > 0:
            raise ValueError(
                f"DistributedDataParallel: bucket_cap_mb must be positive, got {bucket_cap_mb!r}"
            )
        if shards is not None and (type(shards) is not int or shards < 1 or shards % group.size()):
            raise ValueError(
                f"DistributedDataParallel: shards must be a multiple of the {group.size()} ranks, "
                f"got {shards!r}"
            )
        self.module = module
        self.process_group = group
        self.broadcast_buffers = broadcast_buffers
        self.find_unused_parameters = find_unused_parameters
        self.static_graph = static_graph
        self.gradient_as_bucket_view = gradient_as_bucket_view
        self.require_backward_grad_sync = True
        self.require_forward_param_sync = True
        self.shards = shards
        self.bucket_bytes_cap = int((bucket_cap_mb or BUCKET_MB) * 2**20)
        if debug is None:
            debug = (
                os.environ.get("GENESIS_DISTRIBUTED_DEBUG", "0") not in ("", "0")
                or os.environ.get("TORCH_DISTRIBUTED_DEBUG", "") == "DETAIL"
            )
        self.debug = bool(debug) or check_reduction
        self._static_unused: set[int] | None = None
        self._join: _Join | None = None
        self._numbers = {id(p): i for i, (_, p) in enumerate(named)}
        self._buffers_to_sync = [b for b in module.buffers() if b.numel()]
        if group.size() > 1:
            entries = [(n, tuple(p.shape), str(p.dtype)) for n, p in named]
            verify_same(group, "DistributedDataParallel: the parameters", entries)
            if init_sync:
                everything = [*module.parameters(), *self._buffers_to_sync]
                broadcast_coalesced(group, [t for t in everything if t.numel()], 0)
        self.reducer: Reducer | None = None
        if group.size() > 1 or shards:
            self.reducer = Reducer(
                [p for _, p in named],
                [n for n, _ in named],
                group,
                self.bucket_bytes_cap,
                gradient_as_bucket_view,
                self.debug,
                shards,
            )

    # ---- forward --------------------------------------------------------------------------------

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        reducer = self.reducer
        if reducer is None:
            return self.module(*inputs, **kwargs)
        if self._join is not None:
            self._join.count_active()
        if (
            self.broadcast_buffers
            and self._buffers_to_sync
            and self.require_forward_param_sync
            and self.process_group.size() > 1
        ):
            root = 0 if self._join is None else self._join.authority
            broadcast_coalesced(self.process_group, self._buffers_to_sync, root)
        reducer.active = False
        keep = bool(reducer.keep and self.shards)
        sync = _C.is_grad_enabled() and (self.require_backward_grad_sync or keep)
        looks = self.find_unused_parameters or self.static_graph
        if sync and not looks:
            reducer.prepare(None, keep)
        output = self.module(*inputs, **kwargs)
        if sync and looks:
            reducer.prepare(self._unused(output), keep)
        return output

    def _unused(self, output: Any) -> set[int]:
        """The numbers of the parameters that a backward from this output does not reach."""
        if self.static_graph and self._static_unused is not None:
            return self._static_unused
        tensors = (t for t in _pytree.tree_leaves(output) if isinstance(t, Tensor))
        reached = leaves_of(tensors)
        unused = {i for key, i in self._numbers.items() if key not in reached}
        if self.static_graph:
            self._static_unused = unused
        return unused

    @contextlib.contextmanager
    def no_sync(self) -> Iterator[None]:
        """Forward and backward inside only add up local gradients; the next outside sums them."""
        before = self.require_backward_grad_sync
        self.require_backward_grad_sync = False
        try:
            yield
        finally:
            self.require_backward_grad_sync = before

    def split(self, *tensors: Tensor) -> Iterator[Any]:
        """The shards of this rank's batch, for a forward and backward of each.

        The gradients are summed over all ranks in the backward of the last one. The loss of each
        shard must be a mean over its samples. Random numbers (dropout) inside of a shard come from
        a seed for it, which depends on the random state of the ranks, but not on their number: give
        all ranks the same seed.
        """
        if not self.shards or self.reducer is None:
            raise RuntimeError("split: pass shards= to DistributedDataParallel to use it")
        count = self.shards // self.process_group.size()
        for t in tensors:
            if t.ndim == 0 or t.shape[0] % count:
                raise ValueError(
                    f"split: a batch of shape {tuple(t.shape)} cannot be cut into {count} equal "
                    f"shards; use a batch that {self.shards} shards divide"
                )
        step = tensors[0].shape[0] // count
        reducer = self.reducer
        base = int(_C.randint(0, 1 << 40, (1,)).item())
        first = self.process_group.rank() * count
        try:
            for i in range(count):
                reducer.keep = i + 1 < count
                parts = tuple(t[i * step : (i + 1) * step] for t in tensors)
                with random_state.seeded((base << 16) + first + i):
                    yield parts[0] if len(parts) == 1 else parts
        finally:
            reducer.keep = False

    # ---- hooks and joining ----------------------------------------------------------------------

    def register_comm_hook(self, state: Any, hook: Callable[[Any, Any], Any]) -> None:
        """Let ``hook(state, bucket)`` sum a bucket; it returns a future of the mean gradients."""
        if not callable(hook):
            raise TypeError(f"register_comm_hook: hook must be callable, got {hook!r}")
        if self.reducer is not None:
            if self.reducer.hook is not None:
                raise RuntimeError("register_comm_hook: it can only be called once")
            self.reducer.hook, self.reducer.hook_state = hook, state

    @contextlib.contextmanager
    def join(
        self,
        divide_by_initial_world_size: bool = True,
        enable: bool = True,
        throw_on_early_termination: bool = False,
    ) -> Iterator[None]:
        """Inside, ranks may have different numbers of batches.

        A rank that has finished takes part in the sums of the others, with zeros. The gradients are
        divided by the number of ranks, or by that of the ranks that are still at work. At the end
        all ranks have the parameters of the rank that finished last.
        """
        if not enable or self.process_group.size() == 1:
            yield
            return
        if self.shards or (self.reducer is not None and self.reducer.hook is not None):
            raise RuntimeError("join: it cannot be used together with shards= or a hook")
        self._join = _Join(self, divide_by_initial_world_size, throw_on_early_termination)
        if self.reducer is not None:  # a rank without inputs would not see in which order they come
            self.reducer.ready_order = None
        try:
            yield
            self._join.finish()
        finally:
            if self.reducer is not None:
                self.reducer.divisor = None
            self._join = None


class _Join:
    """Keeps the ranks synchronized while some of them have no further inputs."""

    def __init__(self, ddp: DistributedDataParallel, by_world: bool, throw: bool) -> None:
        self.ddp = ddp
        self.group = ddp.process_group
        self.by_world = by_world
        self.throw = throw
        self.authority = 0

    def _count(self, active: bool) -> int:
        """How many ranks are at work; also which of them is the first."""
        flags = _C.zeros(self.group.size(), dtype=_C.int32)
        if active:
            flags[self.group.rank()] = 1
        all_reduce(flags, ReduceOp.SUM, self.group)
        at_work = [i for i, flag in enumerate(flags.tolist()) if flag]
        if at_work:
            self.authority = at_work[0]
        if self.throw and 0 < len(at_work) < self.group.size():
            done = [self.group.ranks[i] for i, f in enumerate(flags.tolist()) if not f]
            raise RuntimeError(
                f"join: detected that ranks {done} have exhausted their inputs, and "
                "throw_on_early_termination=True"
            )
        return len(at_work)

    def count_active(self) -> None:
        count = self._count(True)
        assert self.ddp.reducer is not None
        self.ddp.reducer.divisor = self.group.size() if self.by_world else count

    def finish(self) -> None:
        ddp, reducer = self.ddp, self.ddp.reducer
        assert reducer is not None
        while self._count(False):
            if ddp.broadcast_buffers and ddp._buffers_to_sync:
                broadcast_coalesced(self.group, ddp._buffers_to_sync, self.authority)
            reducer.send_nothing()
            if ddp.find_unused_parameters or ddp.static_graph:
                used = _C.zeros(len(reducer.params), dtype=_C.int32)
                record = _call.record("all_reduce", used.dtype, used.shape)
                steps = self.group.all_reduce(used, 0, record, checked=reducer.debug)
                Work(self.group.queue, record, steps).wait()
        tensors = [t for t in (*ddp.module.parameters(), *ddp._buffers_to_sync) if t.numel()]
        broadcast_coalesced(self.group, tensors, self.authority)
