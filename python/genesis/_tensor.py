"""What Tensor can do as a Python object: copy, pickle, format. Attached to the native type.

These are Python's protocols, which are called rarely; computations are native.
"""

from __future__ import annotations

import copy
import pickle
import sys
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._missing import AbsentMember

# Names of the native module that are shown elsewhere (genesis.autograd), or only used inside.
NOT_PUBLIC: set[str] = {"Context", "Node", "OutsideGraphWarning", "RemovableHandle", "op_info"}


def _require_leaf(x: Tensor, what: str) -> None:
    if not x.is_leaf:
        raise RuntimeError(
            f"{what}: a tensor of shape {tuple(x.shape)} made by {x.grad_fn} cannot be copied with "
            "its graph; only leaves can. Use x.detach(), or x.clone() to stay in the graph"
        )


def _same_kind(x: Tensor, data: Tensor) -> Tensor:
    """`data` as a tensor of the class of `x`, requiring grad if `x` does."""
    return _C._make_subclass(type(x), data, x.requires_grad, x._is_parameter())


def _copy(self: Tensor) -> Tensor:
    _require_leaf(self, "copy")
    twin = _same_kind(self, self.detach())
    twin.grad = self.grad
    twin.__dict__.update(self.__dict__)
    return twin


def _copied_memory(x: Tensor, memo: dict[int, Any]) -> Tensor:
    """The values of `x` in new memory: what shares memory with it shares that of its copy."""
    base = x._base
    if base is None or not base.is_leaf or base.dtype != x.dtype:
        return x.detach().clone()
    copied = copy.deepcopy(base, memo).detach()
    offset = x.storage_offset() - base.storage_offset()
    if offset < 0 or tuple(copied.stride()) != tuple(base.stride()):
        return x.detach().clone()
    place = copied.storage_offset() + offset
    return copied.as_strided(tuple(x.shape), tuple(x.stride()), place)


def _deepcopy(self: Tensor, memo: dict[int, Any]) -> Tensor:
    if id(self) in memo:
        return memo[id(self)]  # type: ignore[no-any-return]
    _require_leaf(self, "deepcopy")
    twin = _same_kind(self, _copied_memory(self, memo))
    memo[id(self)] = twin
    if self.grad is not None:
        twin.grad = copy.deepcopy(self.grad.detach(), memo)
    twin.__dict__.update(copy.deepcopy(self.__dict__, memo))
    return twin


def _rebuild(
    cls: type[Tensor],
    dtype: _C.dtype,
    shape: tuple[int, ...],
    data: Any,
    requires_grad: bool,
    parameter: bool,
    attributes: dict[str, Any],
) -> Tensor:
    memory = memoryview(data)
    if memory.readonly or not memory.nbytes:  # memory of size zero may be anywhere
        values = _C._from_bytes(bytes(memory), dtype, shape)
    else:  # memory in the pickle, or out of band (protocol 5)
        values = _C.frombuffer(memory, dtype=dtype).reshape(shape)
    tensor = _C._make_subclass(cls, values, requires_grad, parameter)
    tensor.__dict__.update(attributes)
    return tensor


def _rebuild_meta(
    dtype: _C.dtype,
    shape: tuple[int, ...],
    stride: tuple[int, ...],
    cls: type[Tensor],
    requires_grad: bool,
    parameter: bool,
    attributes: dict[str, Any],
) -> Tensor:
    memory = _C.empty_strided(shape, stride, dtype=dtype, device="meta")
    made = _C._make_subclass(cls, memory, requires_grad, parameter)
    made.__dict__.update(attributes)
    return made


def _reduce_ex(self: Tensor, protocol: int) -> tuple[Any, ...]:
    # The values only: a view is saved without the memory around it, and the graph stays behind.
    if self.is_meta:
        kind = type(self), self.requires_grad, self._is_parameter(), self.__dict__
        return _rebuild_meta, (self.dtype, tuple(self.shape), tuple(self.stride()), *kind)
    data: Any
    if protocol >= 5:  # allows passing the memory on without a copy
        flat = self.detach().contiguous().reshape(-1)
        data = pickle.PickleBuffer(flat.view(dtype=_C.uint8))
    else:
        data = _C._to_bytes(self)
    state = (
        type(self), self.dtype, tuple(self.shape), data, self.requires_grad,
        self._is_parameter(), self.__dict__,
    )  # fmt: skip
    return _rebuild, state


def _format(self: Tensor, spec: str) -> str:
    if self.ndim == 0:
        return format(self.item(), spec)
    return object.__format__(self, spec)


def _reversed(self: Tensor) -> Tensor:
    return self.flip(0) if self.ndim else self


def _repr_html(self: Tensor) -> str:
    from genesis import _notebook

    return _notebook.tensor_html(self)


def _cuda(self: Tensor, device: Any = None) -> Tensor:
    """The tensor on a CUDA device. This build has none: the error suggests an alternative."""
    return self.to(_C.device("cuda" if device is None else device))


class Truth(int):
    """True or False, with the ``item()`` that results of earlier libraries had."""

    def __new__(cls, value: object) -> Truth:
        return super().__new__(cls, bool(value))

    def item(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


def allclose(
    input: Tensor,
    other: Tensor,
    rtol: float = 1e-05,
    atol: float = 1e-08,
    equal_nan: bool = False,
) -> Truth:
    """Whether isclose is true everywhere. The answer has an ``item()``, as a tensor has.

    >>> allclose(genesis.ones(2), genesis.tensor([1.0, 1.0 + 1e-9]))
    True
    """
    return Truth(_C.allclose(input, other, rtol, atol, equal_nan))


allclose = _C._overridable(allclose)


def _astype(self: Tensor, dtype: Any, copy: bool = True) -> Tensor:
    """The tensor in another dtype, as NumPy has it: a copy, unless ``copy=False`` and none is
    needed. Gradients pass through."""
    return self.to(dtype=dtype, copy=copy)


def _to_dtype(self: Tensor, dtype: Any) -> Tensor:
    """The tensor in another dtype."""
    return self.to(dtype=dtype)


def _free(self: Tensor) -> None:
    """Does nothing: memory is released when the last reference is dropped."""


def _apply_hooks(self: Tensor, grad: Tensor) -> Tensor:
    """Apply the hooks of this tensor to a gradient."""
    for hook in self.hooks:
        changed = hook(grad)
        grad = grad if changed is None else changed
    return grad


def _set_creator(self: Tensor, function: Any, idx: int | None = None) -> None:
    """Say that ``function``, a Function's context or node, made this tensor.

    Tensors know their node from the moment they are made, so this only checks that it is the same.
    """
    if self.grad_fn is not function or (idx is not None and self.output_nr != idx):
        raise RuntimeError(
            f"set_creator: this tensor was made by {self.grad_fn}, not by {function!r}; return it "
            "from Function.forward, which gives it its place in the graph"
        )


def _layout(self: Tensor) -> Any:
    from genesis import _legacy

    return _legacy.strided


def _next_seed(self: _C.Generator) -> int:
    """Draws a seed for another generator."""
    return int(_C.randint(0, 2**31 - 1, (1,), generator=self).item())


def _array_ufunc(self: Tensor, ufunc: Any, method: str, *inputs: Any, **kwargs: Any) -> Any:
    from genesis import _numpy_protocol

    return _numpy_protocol.array_ufunc(ufunc, method, inputs, kwargs)


def _array_function(self: Tensor, func: Any, types: Any, args: Any, kwargs: Any) -> Any:
    from genesis import _numpy_protocol

    return _numpy_protocol.array_function(func, args, kwargs)


def _untyped_storage(self: Tensor) -> Any:
    """The memory that the tensor is a part of."""
    from genesis.storage import UntypedStorage

    return UntypedStorage._of(self)


def _storage(self: Tensor) -> Any:
    """The memory that the tensor is a part of, as elements of its dtype."""
    from genesis.storage import TypedStorage, UntypedStorage

    return TypedStorage(UntypedStorage._of(self), self.dtype)


def _new(self: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """A tensor of the same dtype: of these sizes, or of these values."""
    if not args or all(isinstance(n, int) for n in args) or isinstance(args[0], _C.Size):
        return _C.empty(*(args or (0,)), **{"dtype": self.dtype, "device": self.device, **kwargs})
    return _C.tensor(*args, **{"dtype": self.dtype, "device": self.device, **kwargs})


def _is_view(self: Tensor) -> bool:
    """Whether the tensor is a view of another one."""
    return self._base is not None


def _share_memory(self: Tensor) -> Tensor:
    """Move the tensor to memory that processes which this one starts see as well."""
    from genesis import _shared_memory

    return _shared_memory.share(self)


def _is_shared(self: Tensor) -> bool:
    """Whether other processes see writes to the tensor's memory."""
    module = sys.modules.get("genesis._shared_memory")
    return module is not None and module.is_shared(self)


def _to_dense(self: Tensor, dtype: Any = None, *, masked_grad: Any = None) -> Tensor:
    """The tensor itself; for a sparse tensor, the equivalent dense one."""
    return self if dtype is None else self.to(dtype)


def _to_sparse(
    self: Tensor,
    sparse_dim: int | None = None,
    *,
    layout: Any = None,
    blocksize: Any = None,
    dense_dim: int | None = None,
) -> Tensor:
    """A sparse tensor with the nonzero elements."""
    from genesis.sparse import _functions

    if blocksize is not None or (dense_dim is not None and dense_dim != 0):
        raise ValueError("to_sparse: blocksize and dense_dim are not supported; omit them")
    result: Tensor = _functions.to_sparse(self, sparse_dim, layout=layout, blocksize=blocksize)
    return result


def _to_sparse_coo(self: Tensor) -> Tensor:
    """A tensor of layout sparse_coo with the nonzero elements."""
    return _to_sparse(self)


def _to_sparse_csr(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix of layout sparse_csr with the nonzero elements."""
    from genesis import _legacy

    return _to_sparse(self, layout=_legacy.sparse_csr, dense_dim=dense_dim)


def _to_sparse_csc(self: Tensor, dense_dim: int | None = None) -> Tensor:
    """A matrix of layout sparse_csc with the nonzero elements."""
    from genesis import _legacy

    return _to_sparse(self, layout=_legacy.sparse_csc, dense_dim=dense_dim)


def _sparse_mask(self: Tensor, mask: Tensor) -> Tensor:
    """A sparse tensor with the indices of ``mask`` and the elements of this tensor there."""
    from genesis.sparse import _products

    result: Tensor = _products.sparse_mask(self, mask)
    return result


def _sparse_dim(self: Tensor) -> int:
    """The number of sparse dimensions; 0 for a dense tensor."""
    return 0


def _dense_dim(self: Tensor) -> int:
    """The number of dense dimensions."""
    return self.ndim


def _only_sparse(name: str) -> Callable[..., Any]:
    def refuse(self: Tensor) -> Any:
        raise RuntimeError(
            f"{name}: expected a sparse tensor, got a dense one of shape {tuple(self.shape)}; use "
            "x.to_sparse()"
        )

    refuse.__doc__ = "Of sparse tensors only; see genesis.sparse."
    return refuse


def _apply_(self: Tensor, callable: Callable[[Any], Any]) -> Tensor:
    """Replace each element by the result of a Python function, in place. Slow."""
    return _map_elements("apply_", self, (self,), callable)


def _map_(self: Tensor, other: Tensor, callable: Callable[[Any, Any], Any]) -> Tensor:
    """Replaces each element by a function of it and of that of ``other``, in place. Slow."""
    return _map_elements("map_", self, (self, other), callable)


def _map2_(self: Tensor, x: Tensor, y: Tensor, callable: Callable[[Any, Any, Any], Any]) -> Tensor:
    """Replaces each element by a function of it and of those of two tensors, in place. Slow."""
    return _map_elements("map2_", self, (self, x, y), callable)


def _map_elements(
    op: str, self: Tensor, tensors: tuple[Tensor, ...], function: Callable[..., Any]
) -> Tensor:
    if any(t.requires_grad for t in tensors):
        raise RuntimeError(f"{op}: has no gradient; use detach() or no_grad() on a copy")
    if not callable(function):
        raise TypeError(f"{op}: expected a function, got {type(function).__name__}")
    shape = tuple(self.shape)
    lists = [t.broadcast_to(shape).reshape(-1).tolist() for t in tensors]
    values = [function(*elements) for elements in zip(*lists, strict=True)]
    return self.copy_(_C.tensor(values, dtype=self.dtype).reshape(shape))


def _set_(
    self: Tensor,
    source: Any = None,
    storage_offset: int = 0,
    size: Any = None,
    stride: Any = None,
) -> Tensor:
    """Shows the memory of another tensor (or of a storage), all of it or a part; none if absent."""
    if self.grad_fn is not None:
        raise RuntimeError(
            "set_: this tensor is part of a graph, whose gradients would not fit other memory; "
            "detach() it first"
        )
    if source is None:
        if size is not None or stride is not None:
            raise TypeError("set_: size and stride need a source")
        self.data = _C.empty(0, dtype=self.dtype)
        return self
    if isinstance(source, Tensor):
        if source.dtype != self.dtype:
            raise TypeError(f"set_: this tensor is {self.dtype} but source is {source.dtype}")
        part = source.detach()
    else:
        part = _C.frombuffer(memoryview(source), dtype=self.dtype)
    if size is not None:
        sizes = (size,) if isinstance(size, int) else tuple(size)
        steps = tuple(_C.empty(sizes, device="cpu").stride()) if stride is None else stride
        part = part.as_strided(sizes, steps, storage_offset)
    self.data = part
    return self


def _is_set_to(self: Tensor, tensor: Tensor) -> bool:
    """Whether both show the same memory in the same way."""
    return (
        self.data_ptr() == tensor.data_ptr()
        and tuple(self.shape) == tuple(tensor.shape)
        and tuple(self.stride()) == tuple(tensor.stride())
        and self.dtype == tensor.dtype
    )


def _dim_order(self: Tensor, *, ambiguity_check: Any = False) -> tuple[int, ...]:
    """The dimensions in memory order, outermost first."""
    strides = tuple(self.stride())
    return tuple(sorted(range(self.ndim), key=lambda d: -strides[d]))


def _polygamma_(self: Tensor, n: int) -> Tensor:
    """polygamma(), in place."""
    return self.copy_(self.polygamma(n))


def _second(name: str) -> Callable[..., Any]:
    def call(self: Tensor, *args: Any, **kwargs: Any) -> Any:
        import genesis

        return getattr(genesis, name)(self, *args, **kwargs)

    call.__doc__ = f"The same as ``genesis.{name}``."
    return call


def _resized(self: Tensor, *sizes: Any) -> Tensor:
    """The same elements in another shape. Use reshape()."""
    return self.reshape(*sizes)


def _resized_as(self: Tensor, tensor: Tensor) -> Tensor:
    """The same elements in the shape of another tensor. Use reshape()."""
    return self.reshape(tuple(tensor.shape))


def _nonzero_static(self: Tensor, *, size: int, fill_value: int = -1) -> Tensor:
    """nonzero() cut or filled up to ``size`` rows."""
    from genesis import _numeric

    return _numeric.nonzero_static(self, size=size, fill_value=fill_value)


def _as_complex(self: Tensor) -> complex:
    return complex(self.item())


def _no(self: Tensor) -> bool:
    return False


def _explain(*error: Any) -> Exception:
    from genesis import _named_errors  # loaded when there is an error

    return _named_errors.explain(*error)


_METHODS: dict[str, Callable[..., Any]] = {
    "__array_function__": _array_function,
    "__array_ufunc__": _array_ufunc,
    "untyped_storage": _untyped_storage,
    "storage": _storage,
    "_typed_storage": _storage,
    "new": _new,
    "_is_view": _is_view,
    "share_memory_": _share_memory,
    "to_dense": _to_dense,
    "is_shared": _is_shared,
    "__complex__": _as_complex,
    "__copy__": _copy,
    "__deepcopy__": _deepcopy,
    "__reduce_ex__": _reduce_ex,
    "__format__": _format,
    "__reversed__": _reversed,
    "_repr_html_": _repr_html,
    "apply_hooks": _apply_hooks,
    "astype": _astype,
    "cuda": _cuda,
    "free": _free,
    "set_creator": _set_creator,
    "to_dtype": _to_dtype,
    "to_sparse": _to_sparse,
    "to_sparse_coo": _to_sparse_coo,
    "to_sparse_csr": _to_sparse_csr,
    "to_sparse_csc": _to_sparse_csc,
    "sparse_mask": _sparse_mask,
    "sparse_dim": _sparse_dim,
    "dense_dim": _dense_dim,
    "nonzero_static": _nonzero_static,
    "apply_": _apply_,
    "map_": _map_,
    "map2_": _map2_,
    "set_": _set_,
    "is_set_to": _is_set_to,
    "dim_order": _dim_order,
    "polygamma_": _polygamma_,
    "resize": _resized,
    "resize_as": _resized_as,
    **{
        name: _second(name)
        for name in (
            "hash_tensor",
            "is_distributed",
            "istft",
            "narrow_copy",
            "slice_inverse",
            "smm",
            "sspaddmm",
            "stft",
            "unsafe_chunk",
            "unsafe_split",
            "unsafe_split_with_sizes",
        )
    },
    **{
        name: _only_sparse(name)
        for name in (
            "_indices",
            "_nnz",
            "_values",
            "ccol_indices",
            "coalesce",
            "col_indices",
            "crow_indices",
            "indices",
            "is_coalesced",
            "row_indices",
            "values",
        )
    },
}
_PROPERTIES: dict[str, Callable[[Tensor], Any]] = {
    "is_mkldnn": lambda self: False,
    "is_nested": lambda self: False,
    "is_quantized": lambda self: False,
    "is_sparse": lambda self: False,
    "is_sparse_csr": lambda self: False,
    "is_view": lambda self: self._base is not None,
    "layout": _layout,
    "strides": lambda self: tuple(self.stride()),
}
for _name, _method in _METHODS.items():
    if _name in vars(Tensor):
        raise ImportError(f"genesis.Tensor.{_name} is bound twice")
    _method.__name__ = _name
    _method.__qualname__ = f"Tensor.{_name}"
    setattr(Tensor, _name, _C._overridable(_method, _explain))
setattr(Tensor, "allclose", allclose)  # noqa: B010  # in place of the native one
for _name, _method in _PROPERTIES.items():
    setattr(Tensor, _name, property(_method))
# default_generator is a generator, and was a function that returned it.
setattr(_C.Generator, "__call__", lambda self: self)  # noqa: B010
setattr(_C.Generator, "next_seed", _next_seed)  # noqa: B010


def _make_subclass(cls: type[Tensor], data: Tensor, require_grad: bool = False) -> Tensor:
    """A tensor of the class ``cls`` on the memory of ``data``, outside the graph."""
    return _C._make_subclass(cls, data.detach(), require_grad)


# A subclass keeps its class through every function (genesis.overrides).
setattr(Tensor, "__torch_function__", classmethod(_C._keep_subclass))  # noqa: B010
setattr(Tensor, "_make_subclass", staticmethod(_make_subclass))  # noqa: B010

# Members of PyTorch's tensors that Genesis lacks. Reading one raises an AttributeError that says
# why; tests/torch/test_names.py compares them with the table of PyTorch's names.
_ABSENT = """
chalf const_data_ptr dequantize eig grad_dtype hash_tensor index int_repr lstsq module_load name
q_per_channel_axis q_per_channel_scales q_per_channel_zero_points q_scale q_zero_point qscheme
record_stream reinforce resize_as_sparse_ slice_inverse solve sparse_resize_
sparse_resize_and_clear_ storage_type symeig to_mkldnn to_padded_tensor to_sparse_bsc to_sparse_bsr
volatile
""".split()  # noqa: SIM905
for _name in _ABSENT:
    if _name not in vars(Tensor):
        setattr(Tensor, _name, AbsentMember(_name))

# Kinds of tensors that do not exist here.
for _kind in (
    "ipu",
    "maia",
    "mkldnn",
    "mps",
    "mtia",
    "nested",
    "quantized",
    "vulkan",
    "xla",
    "xpu",
):
    setattr(Tensor, f"is_{_kind}", False)

# array + tensor is what tensor + array is, and NumPy's functions of tensors are ours.
setattr(Tensor, "__array_priority__", 1000.0)  # noqa: B010


class _Finder:
    """Finds modules that no other finder finds: see `genesis._einops` and `genesis._beside`."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        if name == _EINOPS:
            from genesis import _einops

            return _einops.found(self, name)
        if name in ("genesis.device", "genesis.tensor"):
            from genesis import _beside

            return _beside.spec(name)
        return None


_EINOPS = "einops._backends"
if _EINOPS in sys.modules:
    from genesis import _einops

    _einops.define(sys.modules[_EINOPS])
sys.meta_path.insert(0, _Finder())
