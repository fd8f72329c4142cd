"""fully_shard: parameters are sharded among ranks, and gathered only while they are used."""

from __future__ import annotations

import weakref
from typing import Any

from genesis import _C
from genesis._C import Context, Tensor
from genesis.autograd.function import Function
from genesis.autograd.graph import saved_tensors_hooks
from genesis.distributed import _call, _reduce
from genesis.distributed._ddp import broadcast_coalesced, verify_same
from genesis.distributed._group import ProcessGroup
from genesis.distributed._shards import ShardSpec, mark
from genesis.distributed._work import Work
from genesis.distributed._world import member
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

_live: weakref.WeakSet[_Unit] = weakref.WeakSet()  # units whose parameters are gathered now


class FSDPModule:
    """What `fully_shard` adds to a module."""

    _fsdp_unit: _Unit

    def unshard(self) -> None:
        """Put the parameters together now, until `reshard`."""
        self._fsdp_unit.attach(self._fsdp_unit.gather())

    def reshard(self) -> None:
        """Free the full parameters."""
        self._fsdp_unit.detach()
        self._fsdp_unit.whole = None


class _Member:
    """A parameter of a unit: its part on this rank, and where it is used."""

    def __init__(self, name: str, p: Parameter, group: ProcessGroup) -> None:
        if p.ndim == 0:
            raise ValueError(f"fully_shard: {name} has no dimension to divide; give it shape (1,)")
        self.name = name
        self.spec = ShardSpec(group, tuple(p.shape), 0)
        self.rows = -(-p.shape[0] // group.size())  # of every rank but the last ones
        self.width = p.numel() // p.shape[0] if p.shape[0] else 0
        self.size = self.rows * self.width  # elements in the buffer of a rank, padded
        self.local = Parameter(self.spec.cut(p.detach()).clone(), p.requires_grad)
        mark(self.local, self.spec)
        self.places: list[tuple[Module, str]] = []


class _Unit:
    """The parameters of a module that are gathered together."""

    def __init__(
        self, module: Module, named: list[tuple[str, Parameter]], group: ProcessGroup, free: bool
    ) -> None:
        self.group = group
        self.free = free  # after forward
        self.whole: list[Tensor] | None = None
        self.members: list[_Member] = []
        by_id: dict[int, _Member] = {}
        for name, p in named:
            by_id[id(p)] = _Member(name, p, group)
            self.members.append(by_id[id(p)])
        for owner in module.modules():
            for name, own in list(owner._parameters.items()):
                if own is not None and id(own) in by_id:
                    found = by_id[id(own)]
                    found.places.append((owner, name))
                    setattr(owner, name, found.local)
        kinds = {m.local.dtype for m in self.members}
        if len(kinds) > 1:
            raise ValueError(
                "fully_shard: the parameters of a module must have one dtype, got "
                f"{sorted(map(str, kinds))}; call fully_shard on the parts"
            )
        self.dtype = self.members[0].local.dtype
        self.total = sum(m.size for m in self.members)
        self.depth = 0
        self.hooks: list[Any] = []

    # ---- moving ---------------------------------------------------------------------------------

    def gather(self) -> list[Tensor]:
        """The full parameters, outside of the graph."""
        if self.whole is not None:
            return self.whole
        flat = _C.zeros(self.total, dtype=self.dtype)
        begin = 0
        for m in self.members:
            flat[begin : begin + m.local.numel()] = m.local.detach().reshape(-1)
            begin += m.size
        n = self.group.size()
        table = _C.empty((n, self.total), dtype=self.dtype)
        record = _call.record("all_gather", self.dtype, (self.total,))
        Work(self.group.queue, record, self.group.all_gather(table, flat, record, False)).wait()
        whole = []
        begin = 0
        for m in self.members:
            shape = m.spec.shape
            rows = table[:, begin : begin + m.size].reshape(n * m.rows, *shape[1:])
            whole.append(rows[: shape[0]].contiguous() if n > 1 else rows[: shape[0]].clone())
            begin += m.size
        self.whole = whole
        _live.add(self)
        return whole

    def scatter(self, grads: tuple[Tensor | None, ...]) -> list[Tensor]:
        """The means of the gradients of all ranks, each rank the rows of its parameters."""
        n = self.group.size()
        table = _C.zeros((n, self.total), dtype=self.dtype)
        begin = 0
        for m, grad in zip(self.members, grads, strict=True):
            if grad is not None:
                padded = grad.detach().reshape(m.spec.shape[0], -1)
                if padded.shape[0] < n * m.rows:
                    longer = _C.zeros((n * m.rows, m.width), dtype=self.dtype)
                    longer[: padded.shape[0]] = padded
                    padded = longer
                table[:, begin : begin + m.size] = padded.reshape(n, m.size)
            begin += m.size
        output = _C.empty(self.total, dtype=self.dtype)
        record = _call.record("reduce_scatter", self.dtype, (self.total,), _reduce.AVG)
        steps = self.group.reduce_scatter(output, table.reshape(-1), _reduce.AVG, record, False)
        Work(self.group.queue, record, steps).wait()
        parts = []
        begin = 0
        for m in self.members:
            count = m.local.numel()
            parts.append(output[begin : begin + count].reshape(m.local.shape).clone())
            begin += m.size
        return parts

    def attach(self, whole: list[Tensor]) -> None:
        """Make the full parameters visible to the modules."""
        for m, tensor in zip(self.members, whole, strict=True):
            for owner, name in m.places:
                owner.__dict__[name] = tensor

    def detach(self) -> None:
        for m in self.members:
            for owner, name in m.places:
                owner.__dict__[name] = m.local

    # ---- around forward -------------------------------------------------------------------------

    def before(self, module: Module, args: Any) -> None:
        self.depth += 1
        if self.depth > 1:
            return
        whole = self.gather()
        if _C.is_grad_enabled() and any(m.local.requires_grad for m in self.members):
            used = list(_Gather.apply(self, *(m.local for m in self.members)))
            if self.free:
                self.hooks.append(saved_tensors_hooks(_pack, _unpack))
                self.hooks[-1].__enter__()
        else:
            used = whole
        self.attach(used)

    def after(self, module: Module, args: Any, output: Any) -> None:
        self.depth -= 1
        if self.depth:
            return
        self.detach()
        if self.hooks:
            self.hooks.pop().__exit__(None, None, None)
        if self.free:
            self.whole = None


class _Gather(Function):
    """Whole parameters of their parts; backward gives the parts of the summed gradients."""

    @staticmethod
    def forward(ctx: Context, unit: _Unit, *parts: Tensor) -> Any:
        ctx.unit = unit
        return tuple(t.detach() for t in unit.gather())

    @staticmethod
    def backward(ctx: Context, *grads: Any) -> Any:
        unit: _Unit = ctx.unit
        unit.whole = None
        parts = unit.scatter(grads)
        return None, *(
            part if m.local.requires_grad else None
            for m, part in zip(unit.members, parts, strict=True)
        )


class _Saved:
    """A placeholder for a view of a full parameter that an operation saved for backward."""

    def __init__(self, unit: _Unit, index: int, x: Tensor, offset: int) -> None:
        self.unit = unit
        self.index = index
        self.shape, self.stride, self.offset = tuple(x.shape), tuple(x.stride()), offset


def _pack(x: Tensor) -> Any:
    address = x.data_ptr()
    for unit in _live:
        for i, whole in enumerate(unit.whole or ()):
            start = whole.data_ptr()
            if start <= address < start + whole.nbytes and x.dtype == whole.dtype:
                return _Saved(unit, i, x, (address - start) // x.itemsize)
    return x


def _unpack(saved: Any) -> Tensor:
    if not isinstance(saved, _Saved):
        return saved  # type: ignore[no-any-return]
    whole = saved.unit.gather()[saved.index]
    return whole.as_strided(saved.shape, saved.stride, whole.storage_offset() + saved.offset)


def fully_shard(module: Module, *, mesh: Any = None, reshard_after_forward: bool = True) -> Module:
    """Divide the parameters of ``module`` among the ranks, in place, and return it.

    Each rank keeps 1/N of the rows of every parameter, of its gradient and of the optimizer's state
    for it, so make the optimizer afterwards. Forward puts the parameters together; they are freed
    afterwards and put together again in backward (``reshard_after_forward``), after which each
    rank gets its part of the mean gradient. Call it on the large parts of a model first, for
    example on each block, and then on the model: what is divided already stays as it is.

    >>> genesis.distributed.init_process_group()
    >>> model = fully_shard(genesis.nn.Linear(4, 2))
    >>> model(genesis.ones(1, 4)).sum().backward()
    >>> model.bias.grad
    tensor([1., 1.])
    >>> genesis.distributed.destroy_process_group()
    """
    if not isinstance(module, Module):
        raise TypeError(f"fully_shard: module must be a Module, got {type(module).__name__}")
    if isinstance(module, FSDPModule):
        raise ValueError("fully_shard: it was called on this module before")
    group = member(mesh, "fully_shard")
    if group is None:
        raise ValueError("fully_shard: this rank is not in the mesh")
    named = [(n, p) for n, p in module.named_parameters() if not hasattr(p, "_shard_spec")]
    if group.size() > 1:
        entries = [(n, tuple(p.shape), str(p.dtype)) for n, p in named]
        verify_same(group, "fully_shard: the parameters", entries)
        buffers = [b for b in module.buffers() if b.numel()]
        broadcast_coalesced(group, [p for _, p in named if p.numel()] + buffers, 0)
    cls = type(module)
    module.__class__ = type(f"FSDP{cls.__name__}", (FSDPModule, cls), {})
    if named:
        unit = _Unit(module, named, group, reshard_after_forward)
        module._fsdp_unit = unit
        module.register_forward_pre_hook(unit.before, prepend=True)
        module.register_forward_hook(unit.after, always_call=True)
    return module
