"""Gradients in buckets: which parameters share a bucket, and when a bucket is sent."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call
from genesis.distributed._group import ProcessGroup
from genesis.distributed._reduce import Tree
from genesis.distributed._work import Work

SMALL = 1 << 18  # a small first bucket is sent early, and after a small last one the wait is short
Hook = Callable[[Any, "GradBucket"], Any]


class GradBucket:
    """Gradients that travel together; what a communication hook receives."""

    def __init__(self, index: int, numbers: list[int], params: Sequence[Tensor]) -> None:
        self.number = index
        self.numbers = numbers  # of its parameters, among all
        self.params = [params[i] for i in numbers]
        sizes = [p.numel() for p in self.params]
        self.flat = _C.zeros(sum(sizes), dtype=self.params[0].dtype)
        self.views: list[Tensor] = []
        begin = 0
        for p, size in zip(self.params, sizes, strict=True):
            self.views.append(self.flat[begin : begin + size].view(tuple(p.shape)))
            begin += size
        self.record = _call.record("all_reduce", self.flat.dtype, self.flat.shape)
        self.last = False
        self.pending = 0
        self.work: Any = None

    def index(self) -> int:
        """The number of the bucket; buckets travel in this order."""
        return self.number

    def buffer(self) -> Tensor:
        """All gradients of the bucket, in one dimension."""
        return self.flat

    def set_buffer(self, buffer: Tensor) -> None:
        """Put other values in place of the gradients."""
        self.flat.copy_(buffer)

    def gradients(self) -> list[Tensor]:
        """A view of the buffer for each parameter."""
        return list(self.views)

    def parameters(self) -> list[Tensor]:
        """The parameters, in the order of `gradients`."""
        return list(self.params)

    def is_last(self) -> bool:
        """Whether this is the last bucket of a step."""
        return self.last


def divide(params: Sequence[Tensor], order: Sequence[int], cap: int) -> list[GradBucket]:
    """Buckets of at most ``cap`` bytes and one dtype each, filled in an order of the parameters."""
    buckets: list[list[int]] = []
    open_: dict[Any, tuple[list[int], int]] = {}
    for i in order:
        dtype = params[i].dtype
        members, size = open_.get(dtype, ([], 0))
        limit = min(cap, SMALL) if not buckets else cap
        if members and size + params[i].nbytes > limit:
            buckets.append(members)
            members, size = [], 0
        members.append(i)
        open_[dtype] = members, size + params[i].nbytes
    buckets += [members for members, _ in open_.values() if members]
    if buckets:
        last = buckets.pop()
        cut = _small_tail(params, last)
        buckets += [last[:cut], last[cut:]] if cut else [last]
    made = [GradBucket(k, members, params) for k, members in enumerate(buckets)]
    if made:
        made[-1].last = True
    return made


def _small_tail(params: Sequence[Tensor], members: list[int]) -> int:
    """Where to split the last bucket, so that the last part is at most ``SMALL`` bytes."""
    cut, size = len(members), 0
    while cut > 0 and (cut == len(members) or size + params[members[cut - 1]].nbytes <= SMALL):
        cut -= 1
        size += params[members[cut]].nbytes
    return cut


class Reducer:
    """Sums the gradients of all ranks while backward runs.

    A hook on each parameter copies its gradient into its bucket. When a bucket is full and those
    before it have been sent, it is sent; each hook also advances what is under way. The hook of the
    last gradient waits for the rest.
    """

    def __init__(
        self,
        params: Sequence[Tensor],
        names: Sequence[str],
        group: ProcessGroup,
        cap: int,
        as_views: bool,
        debug: bool,
        shards: int | None,
    ) -> None:
        self.params = list(params)
        self.names = list(names)
        self.group = group
        self.cap = cap
        self.as_views = as_views
        self.debug = debug
        self.shards = shards
        self.hook: Hook | None = None
        self.hook_state: Any = None
        self.active = False
        self.keep = False  # gradients are only kept, in trees, until the last shard of a step
        self.divisor: float | None = None  # of the sum; None: the number of ranks
        self.trees = [Tree() for _ in self.params] if shards else []
        self.ready_order: list[int] | None = []  # of the first step, after which buckets follow it
        self.used: Tensor | None = None  # which parameters took part, where that may differ
        self._use(divide(self.params, range(len(self.params) - 1, -1, -1), cap))
        self.handles = [
            p.register_post_accumulate_grad_hook(self._hook_of(i))
            for i, p in enumerate(self.params)
        ]

    def _use(self, buckets: list[GradBucket]) -> None:
        self.buckets = buckets
        self.place = {
            i: (bucket, bucket.views[k]) for bucket in buckets for k, i in enumerate(bucket.numbers)
        }
        self._reset()

    def _reset(self) -> None:
        self.next = 0
        self.waiting = set(range(len(self.params)))
        for bucket in self.buckets:
            bucket.pending = len(bucket.numbers)
            bucket.work = None

    def _hook_of(self, i: int) -> Callable[[Tensor], None]:
        def hook(p: Tensor) -> None:
            if self.active:
                self._arrived(i, p)

        return hook

    # ---- a step ---------------------------------------------------------------------------------

    def prepare(self, unused: set[int] | None, keep: bool = False) -> None:
        """Before a forward whose gradients are to be summed. ``unused`` will get no gradient."""
        if self.waiting and len(self.waiting) < len(self.params):
            names = [self.names[i] for i in sorted(self.waiting)][:5]
            raise RuntimeError(
                "DistributedDataParallel: expected to have finished reduction in the prior "
                f"iteration: {len(self.waiting)} parameters got no gradient, {names} among them, "
                "so the ranks were not synchronised. Let every parameter take part in the loss, "
                "or pass find_unused_parameters=True"
            )
        self._maybe_rebuild()
        self._reset()
        self.active = True
        self.keep = keep
        self.used = None
        if unused is not None:
            kept = {i for i, tree in enumerate(self.trees) if tree.stack}
            flags = [int(i not in unused or i in kept) for i in range(len(self.params))]
            self.used = _C.tensor(flags, dtype=_C.int32)
            for i in sorted(unused, reverse=True):
                self._arrived(i, self.params[i])

    def _maybe_rebuild(self) -> None:
        """After the first step: buckets in the order in which rank 0 saw gradients arrive."""
        order = self.ready_order
        if order is None or len(set(order)) < len(self.params):
            return
        self.ready_order = None
        numbers = _C.tensor(order[: len(self.params)], dtype=_C.int64)
        if self.group.size() > 1:
            record = _call.record("broadcast", numbers.dtype, numbers.shape, root=0)
            Work(self.group.queue, record, self.group.broadcast(numbers, 0, record)).wait()
        if numbers.tolist() != [i for b in self.buckets for i in b.numbers]:
            for i, p in enumerate(self.params):  # gradients must not be in the old buckets
                if p.grad is not None and p.grad.data_ptr() == self.place[i][1].data_ptr():
                    p.grad = p.grad.clone()
            self._use(divide(self.params, numbers.tolist(), self.cap))

    def _arrived(self, i: int, p: Tensor) -> None:
        grad = p.grad
        if self.keep:
            if grad is not None:
                self.trees[i].add(grad)
                p.grad = None
            return
        if self.ready_order is not None:
            self.ready_order.append(i)
        bucket, view = self.place[i]
        self.waiting.discard(i)
        if self.trees and self.trees[i].stack:
            if grad is not None:
                self.trees[i].add(grad)
            grad = self.trees[i].total()
            p.grad = None if self.as_views else grad
        if grad is None:
            view.zero_()
        else:
            self._put(grad, view)
        if self.as_views and (grad is not None or self.used is not None):
            p.grad = view
        bucket.pending -= 1
        self._send_full()
        self.group.queue.poll()
        if not self.waiting:
            self._finish()

    def _put(self, grad: Tensor, view: Tensor) -> None:
        """Copy a gradient into its bucket, divided for the mean in the same pass over memory.

        A hook divides by itself, and sums of shards are divided at the end: their bits must not
        depend on the number of ranks.
        """
        divide = self.hook is None and not self.shards
        count = (self.divisor or self.group.size()) if divide else 1
        same = grad.data_ptr() == view.data_ptr()
        if count == 1:
            if not same:
                view.copy_(grad)
        elif same:
            view.div_(count)
        else:
            _C.div(grad.detach() if grad.requires_grad else grad, count, out=view)

    def _send_full(self) -> None:
        while self.next < len(self.buckets) and self.buckets[self.next].pending == 0:
            bucket = self.buckets[self.next]
            self.next += 1
            if self.hook is not None:
                bucket.work = self.hook(self.hook_state, bucket)
            elif self.group.size() > 1:
                bucket.work = self._sum(bucket)

    def _sum(self, bucket: GradBucket) -> Work:
        steps = self.group.all_reduce(bucket.flat, 0, bucket.record, checked=self.debug)
        return Work(self.group.queue, bucket.record, steps)

    def _finish(self) -> None:
        """Wait for all buckets and put the results into the gradients."""
        self.active = False
        absent: set[int] = set()
        if self.used is not None and self.group.size() > 1:
            record = _call.record("all_reduce", self.used.dtype, self.used.shape)
            steps = self.group.all_reduce(self.used, 0, record, checked=self.debug)
            Work(self.group.queue, record, steps).wait()
        if self.used is not None:
            absent = {i for i, n in enumerate(self.used.tolist()) if n == 0}
        for bucket in self.buckets:
            self._complete(bucket)
            for i, p, view in zip(bucket.numbers, bucket.params, bucket.views, strict=True):
                if i in absent:
                    if p.grad is not None and p.grad.data_ptr() == view.data_ptr():
                        p.grad = None
                elif self.as_views:
                    p.grad = view
                elif p.grad is None:
                    p.grad = view.clone()
                else:
                    p.grad.copy_(view)
        self._reset()

    def _complete(self, bucket: GradBucket) -> None:
        if self.hook is not None:
            result = bucket.work
            if hasattr(result, "wait"):
                waited = result.wait()
                value = getattr(result, "value", None)
                result = value() if callable(value) else waited
            if isinstance(result, (list, tuple)):
                result = result[0]
            if not isinstance(result, Tensor) or result.numel() != bucket.flat.numel():
                raise TypeError(
                    "DistributedDataParallel: the communication hook must return a future of a "
                    f"tensor with {bucket.flat.numel()} elements, got {result!r}"
                )
            if result.data_ptr() != bucket.flat.data_ptr():
                bucket.flat.copy_(result.reshape(-1))
            return
        if bucket.work is not None:
            bucket.work.wait()
            bucket.work = None
        if self.shards and self.shards != 1:
            bucket.flat.div_(self.shards)

    def send_nothing(self) -> None:
        """The contribution of a rank without further inputs: zeros, in the same order."""
        works = []
        for bucket in self.buckets:
            bucket.flat.zero_()
            works.append(self._sum(bucket))
        for work in works:
            work.wait()

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()


def leaves_of(outputs: Iterator[Tensor]) -> set[int]:
    """The identities of the leaves that a backward from these tensors would reach."""
    found: set[int] = set()
    seen: set[Any] = set()
    stack = []
    for t in outputs:
        if t.grad_fn is not None:
            stack.append(t.grad_fn)
        elif t.requires_grad:
            found.add(id(t))
    while stack:
        node = stack.pop()
        if node in seen:
            continue
        seen.add(node)
        variable = getattr(node, "variable", None)
        if variable is not None:
            found.add(id(variable))
        stack += [below for below, _ in node.next_functions if below is not None]
    return found
