"""DTensor: a tensor that is sharded among ranks, and operators on it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed import _call
from genesis.distributed._work import Work
from genesis.distributed.checkpoint._files import Piece
from genesis.distributed.device_mesh import DeviceMesh
from genesis.distributed.tensor import _redistribute as move
from genesis.distributed.tensor._placement import Partial, Placement, Replicate, Shard
from genesis.nn.modules.module import Module

Placements = tuple[Placement, ...]


def _normal(placements: Sequence[Placement] | None, mesh: DeviceMesh, ndim: int) -> Placements:
    if placements is None:
        return (Replicate(),) * mesh.ndim
    found = tuple(placements)
    if len(found) != mesh.ndim or not all(isinstance(p, Placement) for p in found):
        raise ValueError(
            f"DTensor: placements must be {mesh.ndim} of Shard, Replicate and Partial, one for "
            f"each dimension of the mesh, got {placements}"
        )
    result: list[Placement] = []
    for p in found:
        if isinstance(p, Shard):
            if not -ndim <= p.dim < ndim:
                raise ValueError(f"DTensor: {p} of a tensor with {ndim} dimensions")
            p = Shard(p.dim % ndim)
        result.append(p)
    sharded = [p.dim for p in result if isinstance(p, Shard)]
    if len(set(sharded)) != len(sharded):
        raise ValueError(
            f"DTensor: a dimension can be divided along one dimension of the mesh, got {placements}"
        )
    return tuple(result)


class DTensor:
    """A tensor of ``shape`` on the ranks of a mesh; each rank has a local tensor.

    ``placements`` says for each dimension of the mesh whether its ranks divide the tensor
    (`Shard`), all have it (`Replicate`), or have parts of a sum (`Partial`). Matrix products,
    pointwise operators and reductions work on the local tensors and exchange data where they have
    to; gradients flow through all of them.
    """

    __array_ufunc__ = None

    def __init__(
        self, local: Tensor, mesh: DeviceMesh, placements: Placements, shape: tuple[int, ...]
    ) -> None:
        self._local_tensor = local
        self.device_mesh = mesh
        self.placements = placements
        self.shape = _C.Size(shape)

    @staticmethod
    def from_local(
        local_tensor: Tensor,
        device_mesh: DeviceMesh,
        placements: Sequence[Placement] | None = None,
        *,
        shape: Sequence[int] | None = None,
    ) -> DTensor:
        """The tensor of which each rank passes its part; ``shape`` is needed if they are uneven."""
        placed = _normal(placements, device_mesh, local_tensor.ndim)
        if shape is None:
            sizes = list(local_tensor.shape)
            for d, p in enumerate(placed):
                if isinstance(p, Shard):
                    sizes[p.dim] *= device_mesh.size(d)
            shape = sizes
        return DTensor(local_tensor, device_mesh, placed, tuple(shape))

    # ---- what it is -----------------------------------------------------------------------------

    @property
    def dtype(self) -> _C.dtype:
        return self._local_tensor.dtype

    @property
    def device(self) -> Any:
        return self._local_tensor.device

    @property
    def requires_grad(self) -> bool:
        return self._local_tensor.requires_grad

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def T(self) -> DTensor:
        return self.transpose(0, 1)

    @property
    def grad(self) -> DTensor | None:
        """The gradient, placed as the tensor is."""
        g = self._local_tensor.grad
        return None if g is None else DTensor(g, self.device_mesh, self.placements, self.shape)

    def dim(self) -> int:
        return len(self.shape)

    def size(self, dim: int | None = None) -> Any:
        return self.shape if dim is None else self.shape[dim]

    def numel(self) -> int:
        return self.shape.numel()

    def requires_grad_(self, requires_grad: bool = True) -> DTensor:
        self._local_tensor.requires_grad_(requires_grad)
        return self

    def backward(self, gradient: DTensor | None = None) -> None:
        """The gradients of all that went into it; all ranks call it."""
        whole = self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)
        whole._local_tensor.backward(None if gradient is None else gradient.full_tensor())

    def __repr__(self) -> str:
        return (
            f"DTensor(local_tensor={self._local_tensor!r}, device_mesh={self.device_mesh!r}, "
            f"placements={self.placements})"
        )

    def to_local(self) -> Tensor:
        """The tensor of this rank."""
        return self._local_tensor

    def full_tensor(self) -> Tensor:
        """The full tensor, on every rank."""
        return self.redistribute(placements=[Replicate()] * self.device_mesh.ndim)._local_tensor

    def redistribute(
        self, device_mesh: DeviceMesh | None = None, placements: Sequence[Placement] | None = None
    ) -> DTensor:
        """The same tensor in other placements."""
        if device_mesh is not None and device_mesh is not self.device_mesh:
            raise ValueError("redistribute: the mesh must be that of the tensor")
        mesh = self.device_mesh
        wanted = _normal(placements, mesh, len(self.shape))
        local, placed = self._local_tensor, list(self.placements)

        def turn(d: int, then: Placement) -> None:
            nonlocal local
            local = move.change(mesh.get_group(d), local, placed[d], then, tuple(self.shape))
            placed[d] = then

        for d in reversed(range(mesh.ndim)):  # first what has to be added or put together
            if placed[d] == wanted[d] or isinstance(placed[d], Replicate):
                continue
            free = wanted[d] not in placed  # else the dimension is still divided otherwise
            direct = isinstance(placed[d], Partial) and isinstance(wanted[d], Shard) and free
            turn(d, wanted[d] if direct else Replicate())
        for d in range(mesh.ndim):
            if placed[d] != wanted[d]:
                turn(d, wanted[d])
        return DTensor(local, mesh, wanted, self.shape)

    def __checkpoint_piece__(self) -> Piece:
        begin = [0] * len(self.shape)
        first = True  # of the ranks that have the same values
        for d, p in enumerate(self.placements):
            at = self.device_mesh.get_local_rank(d)
            if isinstance(p, Shard):
                step = -(-self.shape[p.dim] // self.device_mesh.size(d))
                begin[p.dim] = min(at * step, self.shape[p.dim])
            elif isinstance(p, Partial):
                raise ValueError("checkpoint: a partial tensor cannot be saved; redistribute it")
            elif at:
                first = False
        local = self._local_tensor
        return Piece(local if first else None, tuple(begin), tuple(self.shape), local.dtype)

    # ---- operators ------------------------------------------------------------------------------

    def _like(self, local: Tensor, placements: Placements, shape: Sequence[int]) -> DTensor:
        return DTensor(local, self.device_mesh, placements, tuple(shape))

    def _whole_sums(self) -> DTensor:
        """The tensor with its partial sums added."""
        if not any(isinstance(p, Partial) for p in self.placements):
            return self
        return self.redistribute(
            placements=[Replicate() if isinstance(p, Partial) else p for p in self.placements]
        )

    def _pointwise(self, function: Callable[[Tensor], Tensor]) -> DTensor:
        x = self._whole_sums()
        return x._like(function(x._local_tensor), x.placements, x.shape)

    def _linear(self, function: Callable[[Tensor], Tensor]) -> DTensor:
        """An operator that commutes with sums."""
        return self._like(function(self._local_tensor), self.placements, self.shape)

    def _binary(self, other: Any, function: Callable[[Any, Any], Tensor], kind: str) -> DTensor:
        if not isinstance(other, DTensor):
            if isinstance(other, Tensor) and other.ndim:
                raise TypeError(
                    "DTensor: the other operand is a Tensor; distribute_tensor() it first"
                )
            linear = kind in ("mul", "div")
            return (self._linear if linear else self._pointwise)(lambda x: function(x, other))
        if other.device_mesh is not self.device_mesh:
            raise ValueError("DTensor: the operands are on different meshes")
        a, b = self, other
        shape = _C.broadcast_shapes(tuple(a.shape), tuple(b.shape))
        if not (kind == "add" and a.placements == b.placements):
            a, b = a._whole_sums(), b._whole_sums()
        mesh = self.device_mesh
        result: list[Placement] = []
        for d in range(mesh.ndim):
            where = [_aligned(t.placements[d], len(t.shape), len(shape)) for t in (a, b)]
            if isinstance(where[0], Partial):
                result.append(Partial())
                continue
            found = [p for p in where if isinstance(p, Shard) and p not in result]
            result.append(found[0] if found else Replicate())
        locals_ = [_placed(t, result, shape) for t in (a, b)]
        return DTensor(function(*locals_), mesh, tuple(result), tuple(shape))

    def __add__(self, other: Any) -> DTensor:
        return self._binary(other, lambda a, b: a + b, "add")

    def __sub__(self, other: Any) -> DTensor:
        return self._binary(other, lambda a, b: a - b, "add")

    def __mul__(self, other: Any) -> DTensor:
        return self._binary(other, lambda a, b: a * b, "mul")

    def __truediv__(self, other: Any) -> DTensor:
        return self._binary(other, lambda a, b: a / b, "div")

    def __pow__(self, other: Any) -> DTensor:
        return self._binary(other, lambda a, b: a**b, "pow")

    def __radd__(self, other: Any) -> DTensor:
        return self.__add__(other)

    def __rmul__(self, other: Any) -> DTensor:
        return self.__mul__(other)

    def __rsub__(self, other: Any) -> DTensor:
        return self._pointwise(lambda x: other - x)

    def __rtruediv__(self, other: Any) -> DTensor:
        return self._pointwise(lambda x: other / x)

    def __neg__(self) -> DTensor:
        return self._linear(lambda x: -x)

    def __matmul__(self, other: DTensor) -> DTensor:
        return matmul(self, other)

    matmul = __matmul__
    add, sub, mul, div, pow, neg = __add__, __sub__, __mul__, __truediv__, __pow__, __neg__

    def transpose(self, dim0: int, dim1: int) -> DTensor:
        """Two dimensions exchanged."""
        n = len(self.shape)
        d0, d1 = dim0 % n, dim1 % n
        swap = {d0: d1, d1: d0}
        placed = tuple(
            Shard(swap.get(p.dim, p.dim)) if isinstance(p, Shard) else p for p in self.placements
        )
        shape = list(self.shape)
        shape[d0], shape[d1] = shape[d1], shape[d0]
        return self._like(self._local_tensor.transpose(d0, d1), placed, shape)

    def t(self) -> DTensor:
        return self.transpose(0, 1)

    def detach(self) -> DTensor:
        return self._linear(lambda x: x.detach())

    def to(self, dtype: _C.dtype) -> DTensor:
        return self._linear(lambda x: x.to(dtype))

    # ---- reductions -----------------------------------------------------------------------------

    def _dims(self, dim: Any) -> list[int]:
        n = len(self.shape)
        if dim is None:
            return list(range(n))
        return [d % n for d in ([dim] if isinstance(dim, int) else dim)]

    def sum(self, dim: Any = None, keepdim: bool = False) -> DTensor:
        """The sum; along a divided dimension it stays partial until it is used."""
        dims = self._dims(dim)
        kept = [d for d in range(len(self.shape)) if d not in dims]
        placed: list[Placement] = []
        for p in self.placements:
            if isinstance(p, Shard) and p.dim in dims:
                placed.append(Partial())
            elif isinstance(p, Shard) and not keepdim:
                placed.append(Shard(kept.index(p.dim)))
            else:
                placed.append(p)
        local = self._local_tensor.sum(dims, keepdim=keepdim) if dims else self._local_tensor
        shape = [
            1 if d in dims else s for d, s in enumerate(self.shape) if keepdim or d not in dims
        ]
        return self._like(local, tuple(placed), shape)

    def mean(self, dim: Any = None, keepdim: bool = False) -> DTensor:
        """The mean."""
        count = 1
        for d in self._dims(dim):
            count *= self.shape[d]
        return self.sum(dim, keepdim) / count

    def _over_whole(self, dim: int, function: Callable[[Tensor], Tensor]) -> DTensor:
        """An operator that requires a dimension that is not sharded."""
        d = dim % len(self.shape)
        x = self._whole_sums().redistribute(
            placements=[
                Replicate() if isinstance(p, Partial) or p == Shard(d) else p
                for p in self.placements
            ]
        )
        return x._like(function(x._local_tensor), x.placements, x.shape)

    def softmax(self, dim: int) -> DTensor:
        return self._over_whole(dim, lambda x: x.softmax(dim))

    def log_softmax(self, dim: int) -> DTensor:
        return self._over_whole(dim, lambda x: x.log_softmax(dim))

    def amax(self, dim: int, keepdim: bool = False) -> DTensor:
        return self._extreme("amax", dim, keepdim)

    def amin(self, dim: int, keepdim: bool = False) -> DTensor:
        return self._extreme("amin", dim, keepdim)

    def _extreme(self, name: str, dim: int, keepdim: bool) -> DTensor:
        d = dim % len(self.shape)
        x = self._over_whole(d, lambda t: t)
        placed = tuple(
            Shard(p.dim - 1) if isinstance(p, Shard) and p.dim > d and not keepdim else p
            for p in x.placements
        )
        shape = [1 if i == d else s for i, s in enumerate(x.shape) if keepdim or i != d]
        return x._like(getattr(x._local_tensor, name)(d, keepdim=keepdim), placed, shape)

    def item(self) -> Any:
        return self.full_tensor().item()

    def tolist(self) -> Any:
        return self.full_tensor().tolist()


def _unary(name: str) -> Callable[[DTensor], DTensor]:
    def method(self: DTensor) -> DTensor:
        return self._pointwise(lambda x: getattr(_C, name)(x))

    method.__name__ = name
    method.__doc__ = f"``{name}`` of each element."
    return method


for _name in ("exp", "log", "sqrt", "rsqrt", "tanh", "sigmoid", "relu", "sin", "cos", "abs", "erf"):
    setattr(DTensor, _name, _unary(_name))


def _aligned(p: Placement, ndim: int, out: int) -> Placement:
    """A placement counted in the dimensions of a broadcast result."""
    return Shard(p.dim + out - ndim) if isinstance(p, Shard) else p


def _placed(t: DTensor, result: Sequence[Placement], shape: Sequence[int]) -> Tensor:
    """The local tensor of an operand, as a result in these placements needs it."""
    shift = len(shape) - len(t.shape)
    wanted: list[Placement] = []
    divided: list[int] = []
    for d, p in enumerate(result):
        if isinstance(p, Shard):
            own = p.dim - shift
            if own < 0 or t.shape[own] == 1:  # broadcast along the sharded dimension
                wanted.append(Replicate())
                divided.append(d)
            else:
                wanted.append(Shard(own))
        else:
            wanted.append(p if isinstance(p, Partial) else Replicate())
    local = t.redistribute(placements=wanted)._local_tensor
    for d in divided:
        local = move.enter_divided(t.device_mesh.get_group(d), local)
    return local


def matmul(a: DTensor, b: DTensor) -> DTensor:
    """The matrix product of (..., n, k) and (k, m), divided as its operands allow.

    Along each dimension of the mesh: rows of ``a`` divided gives rows of the result, columns of
    ``b`` columns, and the inner dimension a partial sum.
    """
    if not isinstance(b, DTensor) or len(b.shape) != 2 or len(a.shape) < 2:
        raise ValueError("DTensor: matmul needs operands of shapes (..., n, k) and (k, m)")
    if a.shape[-1] != b.shape[0]:
        raise _C.ShapeError(f"matmul: shapes {tuple(a.shape)} and {tuple(b.shape)} do not fit")
    a, b = a._whole_sums(), b._whole_sums()
    mesh, inner = a.device_mesh, len(a.shape) - 1
    left: list[Placement] = []
    right: list[Placement] = []
    result: list[Placement] = []
    for pa, pb in zip(a.placements, b.placements, strict=True):
        inside = pb == Shard(0) or (pa == Shard(inner) and not isinstance(pb, Shard))
        if inside and Shard(inner) not in left:
            left.append(Shard(inner))
            right.append(Shard(0))
            result.append(Partial())
        elif pb == Shard(1):
            left.append(Replicate())
            right.append(pb)
            result.append(Shard(inner))
        elif isinstance(pa, Shard) and not inside:
            left.append(pa)
            right.append(Replicate())
            result.append(pa)
        else:
            left.append(Replicate())
            right.append(Replicate())
            result.append(Replicate())
    x = a.redistribute(placements=left)._local_tensor
    y = b.redistribute(placements=right)._local_tensor
    for d in range(mesh.ndim):
        group = mesh.get_group(d)
        if isinstance(left[d], Replicate) and isinstance(right[d], Shard):
            x = move.enter_divided(group, x)
        if isinstance(right[d], Replicate) and isinstance(left[d], Shard):
            y = move.enter_divided(group, y)
    shape = (*a.shape[:-1], b.shape[1])
    return DTensor(x @ y, mesh, tuple(result), shape)


def distribute_tensor(
    tensor: Tensor, device_mesh: DeviceMesh, placements: Sequence[Placement] | None = None
) -> DTensor:
    """A tensor of rank 0 of the mesh, divided as ``placements`` say. The result is a leaf.

    >>> mesh = genesis.distributed.init_device_mesh("cpu", (1,))
    >>> distribute_tensor(genesis.ones(4, 2), mesh, [Shard(0)]).shape
    genesis.Size([4, 2])
    >>> genesis.distributed.destroy_process_group()
    """
    placed = _normal(placements, device_mesh, tensor.ndim)
    if any(isinstance(p, Partial) for p in placed):
        raise ValueError("distribute_tensor: placements must be Shard or Replicate")
    local = tensor.detach().clone()
    for d, p in enumerate(placed):
        group = device_mesh.get_group(d)
        if group.size() > 1:
            record = _call.record("broadcast", local.dtype, local.shape, root=0)
            Work(group.queue, record, group.broadcast(local, 0, record)).wait()
        if isinstance(p, Shard):
            local = move._cut(group, local, p.dim).clone()
    if tensor.requires_grad:
        local.requires_grad_()
    return DTensor(local, device_mesh, placed, tuple(tensor.shape))


def distribute_module(
    module: Module,
    device_mesh: DeviceMesh,
    partition_fn: Callable[[str, Module, DeviceMesh], None] | None = None,
) -> Module:
    """Let ``partition_fn(name, module, mesh)`` divide the parameters of each submodule."""
    if partition_fn is not None:
        for name, child in list(module.named_modules()):
            partition_fn(name, child, device_mesh)
    return module
