"""Ways to divide a layer. Activations between layers are plain tensors, placed as layouts say."""

from __future__ import annotations

from typing import Any

from genesis._C import Tensor
from genesis.distributed import _call
from genesis.distributed._group import ProcessGroup
from genesis.distributed._shards import ShardSpec, mark, rows_of
from genesis.distributed._work import Work
from genesis.distributed.device_mesh import DeviceMesh
from genesis.distributed.tensor import _redistribute as move
from genesis.distributed.tensor._dtensor import DTensor
from genesis.distributed.tensor._placement import Partial, Placement, Replicate, Shard
from genesis.nn import functional as F
from genesis.nn.modules.linear import Linear
from genesis.nn.modules.module import Module
from genesis.nn.modules.sparse import Embedding
from genesis.nn.parameter import Parameter


class ParallelStyle:
    """Base of the ways to divide a layer."""

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        raise TypeError(f"{type(self).__name__} cannot be applied: define _apply")


def _positive(p: Placement, ndim: int) -> Placement:
    return Shard(p.dim % ndim) if isinstance(p, Shard) else p


def _convert(group: ProcessGroup, x: Tensor, now: Placement, then: Placement) -> Tensor:
    """A local tensor in another placement; all ranks have parts of equal size."""
    now, then = _positive(now, x.ndim), _positive(then, x.ndim)
    shape = list(x.shape)
    if isinstance(now, Shard):
        shape[now.dim] *= group.size()
    return move.change(group, x, now, then, tuple(shape))


def _output(mesh: DeviceMesh, x: Tensor, layout: Placement, local: bool) -> Any:
    return x if local else DTensor.from_local(x, mesh, [layout])


def _input(x: Any, group: ProcessGroup, layout: Placement) -> tuple[Tensor, Placement]:
    """The local tensor of an input and its placement, which a DTensor provides itself."""
    if isinstance(x, DTensor):
        return x.to_local(), x.placements[0]
    return x, layout


def _share(
    module: Module, name: str, group: ProcessGroup, dim: int | None, source: int | None
) -> None:
    """Replace a parameter by this rank's part of it, or by that of the source rank."""
    p = module._parameters.get(name)
    if p is None:
        return
    whole = p.detach().contiguous()
    if source is not None and group.size() > 1:
        record = _call.record("broadcast", whole.dtype, whole.shape, root=source)
        Work(group.queue, record, group.broadcast(whole, source, record)).wait()
    if dim is None:
        p.data.copy_(whole)
        return
    spec = ShardSpec(group, tuple(p.shape), dim)
    if p.shape[dim] % group.size():
        raise ValueError(
            f"parallelize_module: {name} of shape {tuple(p.shape)} cannot be divided evenly along "
            f"dimension {dim} among {group.size()} ranks"
        )
    part = Parameter(spec.cut(whole).clone(), p.requires_grad)
    mark(part, spec)
    setattr(module, name, part)


class ColwiseParallel(ParallelStyle):
    """Divides the outputs of a `Linear`, or the width of an `Embedding`, among the ranks."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = input_layouts or Replicate()
        self.output_layouts = output_layouts or Shard(-1)
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        group = mesh.get_group()
        if isinstance(module, Linear):
            _share(module, "weight", group, 0, source)
            _share(module, "bias", group, 0, source)
        elif isinstance(module, Embedding):
            _share(module, "weight", group, 1, source)
        else:
            raise TypeError(
                f"ColwiseParallel: expected Linear or Embedding, got {type(module).__name__}"
            )

        def before(_: Module, args: Any) -> Any:
            x, now = _input(args[0], group, self.input_layouts)
            if not x.is_floating_point():
                return (_convert(group, x, now, Replicate()), *args[1:])
            now = _positive(now, x.ndim)
            if isinstance(now, Shard):
                count = x.shape[now.dim] * group.size()
                return (move.join_for_divided(group, x, now.dim, count), *args[1:])
            x = _convert(group, x, now, Replicate())
            return (move.enter_divided(group, x), *args[1:])

        def after(_: Module, args: Any, output: Tensor) -> Any:
            placed = _convert(group, output, Shard(-1), self.output_layouts)
            return _output(mesh, placed, self.output_layouts, self.use_local_output)

        module.register_forward_pre_hook(before)
        module.register_forward_hook(after)


class RowwiseParallel(ParallelStyle):
    """Divides the inputs of a `Linear`, or the rows of an `Embedding`; the results are summed."""

    def __init__(
        self,
        *,
        input_layouts: Placement | None = None,
        output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:
        self.input_layouts = input_layouts
        self.output_layouts = output_layouts or Replicate()
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        group = mesh.get_group()
        if isinstance(module, Linear):
            _share(module, "weight", group, 1, source)
            _share(module, "bias", group, None, source)
            self._linear(module, mesh, group)
        elif isinstance(module, Embedding):
            count = module.weight.shape[0]
            _share(module, "weight", group, 0, source)
            self._embedding(module, mesh, group, count)
        else:
            raise TypeError(
                f"RowwiseParallel: expected Linear or Embedding, got {type(module).__name__}"
            )

    def _linear(self, module: Linear, mesh: DeviceMesh, group: ProcessGroup) -> None:
        def forward(input: Any) -> Any:
            x, now = _input(input, group, self.input_layouts or Shard(-1))
            x = _convert(group, x, now, Shard(-1))
            y = _convert(group, F.linear(x, module.weight), Partial(), self.output_layouts)
            if module.bias is not None:
                layout = _positive(self.output_layouts, y.ndim)
                last = isinstance(layout, Shard)
                bias = move.enter_divided(group, module.bias) if last else module.bias
                if layout == Shard(y.ndim - 1):
                    bias = _convert(group, module.bias, Replicate(), Shard(0))
                y = y + bias
            return _output(mesh, y, self.output_layouts, self.use_local_output)

        module.forward = forward  # type: ignore[method-assign]

    def _embedding(
        self, module: Embedding, mesh: DeviceMesh, group: ProcessGroup, count: int
    ) -> None:
        begin, end = rows_of(count, group.size(), group.rank())

        def forward(input: Any) -> Any:
            x, now = _input(input, group, self.input_layouts or Replicate())
            x = _convert(group, x, now, Replicate())
            mine = (x >= begin) & (x < end)
            rows = F.embedding((x - begin).clamp(0, end - begin - 1), module.weight)
            rows = rows * mine.unsqueeze(-1).to(rows.dtype)
            y = _convert(group, rows, Partial(), self.output_layouts)
            return _output(mesh, y, self.output_layouts, self.use_local_output)

        module.forward = forward  # type: ignore[method-assign]


class SequenceParallel(ParallelStyle):
    """Divides the positions of a sequence: for norms, whose parameters all ranks have."""

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = True) -> None:
        self.sequence_dim = sequence_dim
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        group = mesh.get_group()
        layout = Shard(self.sequence_dim)
        names = list(module._parameters)
        for name in names:
            _share(module, name, group, None, source)
        plain = module.forward

        def forward(input: Any, *args: Any, **kwargs: Any) -> Any:
            x, now = _input(input, group, layout)
            x = _convert(group, x, now, layout)
            kept = {n: module.__dict__[n] for n in names if module._parameters[n] is not None}
            try:  # the gradient of a parameter is the sum over the positions of all ranks
                for n, p in kept.items():
                    module.__dict__[n] = move.enter_divided(group, p)
                y = plain(x, *args, **kwargs)
            finally:
                module.__dict__.update(kept)
            return _output(mesh, y, layout, self.use_local_output)

        module.forward = forward


def _each(layouts: Any, count: int) -> list[Any]:
    found = list(layouts) if isinstance(layouts, (list, tuple)) else [layouts]
    return found + [None] * (count - len(found))


class PrepareModuleInput(ParallelStyle):
    """Brings the inputs of a module from one layout into another."""

    def __init__(
        self, *, input_layouts: Any, desired_input_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.now, self.then = input_layouts, desired_input_layouts
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        group = mesh.get_group()

        def before(_: Module, args: Any) -> Any:
            result = []
            now, then = _each(self.now, len(args)), _each(self.then, len(args))
            for x, a, b in zip(args, now, then, strict=True):
                if a is None or b is None or not isinstance(x, (Tensor, DTensor)):
                    result.append(x)
                    continue
                local, place = _input(x, group, a)
                y = _convert(group, local, place, b)
                result.append(_output(mesh, y, b, self.use_local_output))
            return tuple(result)

        module.register_forward_pre_hook(before)


class PrepareModuleOutput(ParallelStyle):
    """Brings the outputs of a module from one layout into another."""

    def __init__(
        self, *, output_layouts: Any, desired_output_layouts: Any, use_local_output: bool = True
    ) -> None:
        self.now, self.then = output_layouts, desired_output_layouts
        self.use_local_output = use_local_output

    def _apply(self, module: Module, mesh: DeviceMesh, source: int | None) -> None:
        group = mesh.get_group()

        def after(_: Module, args: Any, output: Any) -> Any:
            several = isinstance(output, (tuple, list))
            outputs = list(output) if several else [output]
            result = []
            now, then = _each(self.now, len(outputs)), _each(self.then, len(outputs))
            for x, a, b in zip(outputs, now, then, strict=True):
                if a is None or b is None:
                    result.append(x)
                    continue
                local, place = _input(x, group, a)
                y = _convert(group, local, place, b)
                result.append(_output(mesh, y, b, self.use_local_output))
            return type(output)(result) if several else result[0]

        module.register_forward_hook(after)
