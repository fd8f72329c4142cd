"""Tensors of which some elements are specified and others are not (``genesis.masked``)."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.overrides import DisableTorchFunctionSubclass

__all__ = ["MaskedTensor", "as_masked_tensor", "is_masked_tensor", "masked_tensor"]

_grad: Any = Tensor.grad  # a property of the class


class MaskedTensor(Tensor):
    """A tensor ``data`` with a ``mask`` that is True for the elements that are specified.

    Elementwise operations apply to the data and keep the mask, shape operations apply to both, and
    reductions use the specified elements only. Operands must have equal masks. ``get_data()``,
    ``get_mask()`` and ``to_tensor(value)`` return plain tensors.

    >>> x = masked_tensor(genesis.tensor([1.0, 2.0, 3.0]), genesis.tensor([True, False, True]))
    >>> x.sum()
    MaskedTensor(  4.0000, True)
    >>> (x * 2).to_tensor(0)
    tensor([2., 0., 6.])
    """

    _masked_mask: Tensor

    def __new__(cls, data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
        _check(data, mask)
        made = _made(data.detach().clone(), mask.clone())
        made.requires_grad_(requires_grad)
        return made

    def __init__(self, data: Tensor, mask: Tensor, requires_grad: bool = False) -> None:
        pass

    @classmethod
    def __torch_function__(
        cls, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        return _call(func, args, kwargs or {})

    def get_data(self) -> Tensor:
        """The data, as a plain tensor in the same graph."""
        data: Tensor = _plain(self)
        return data

    def get_mask(self) -> Tensor:
        """The mask."""
        return self._masked_mask

    def to_tensor(self, value: Any) -> Tensor:
        """The data, with ``value`` in place of the elements that are not specified."""
        return self.get_data().masked_fill(~self._masked_mask, value)

    @property
    def grad(self) -> Tensor | None:
        with DisableTorchFunctionSubclass():
            found = _grad.__get__(self)
        return None if found is None else _made(_plain(found), self._masked_mask)

    @grad.setter
    def grad(self, value: Tensor | None) -> None:
        with DisableTorchFunctionSubclass():
            _grad.__set__(self, None if value is None else _plain(value))

    def __repr__(self) -> str:
        data, mask = _plain(self).detach(), self._masked_mask
        if data.ndim == 0:
            shown = _element(data.item()) if mask.item() else "--"
            return f"MaskedTensor({shown}, {mask.item()})"
        lines = _shown(data.tolist(), mask.tolist(), data.ndim).split("\n")
        return "MaskedTensor(\n" + "\n".join("  " + line for line in lines) + "\n)"

    __str__ = __repr__


def masked_tensor(data: Tensor, mask: Tensor, requires_grad: bool = False) -> MaskedTensor:
    """A MaskedTensor with copies of ``data`` and ``mask``. It is a leaf of the graph.

    >>> masked_tensor(genesis.tensor([1.0, 2.0]), genesis.tensor([True, False]))
    MaskedTensor(
      [  1.0000,       --]
    )
    """
    return MaskedTensor(data, mask, requires_grad)


def as_masked_tensor(data: Tensor, mask: Tensor) -> MaskedTensor:
    """``data`` as a MaskedTensor. Gradients flow back to ``data``.

    >>> x = genesis.tensor([1.0, 2.0], requires_grad=True)
    >>> as_masked_tensor(x, genesis.tensor([True, False])).sum().backward()
    >>> x.grad
    tensor([1., 0.])
    """
    _check(data, mask)
    if data.requires_grad:  # masked-out elements have no gradient, not even NaN
        data = _C.where(mask, data, data.detach())
    return _made(data.clone(), mask.clone())


def is_masked_tensor(obj: Any) -> bool:
    """Whether ``obj`` is a MaskedTensor."""
    return isinstance(obj, MaskedTensor)


def _check(data: Any, mask: Any) -> None:
    for name, x in (("data", data), ("mask", mask)):
        if isinstance(x, MaskedTensor) or not isinstance(x, Tensor):
            raise TypeError(f"MaskedTensor: {name} must be a Tensor, got {type(x).__name__}")
        if str(x.layout).rpartition(".")[2] != "strided":
            raise TypeError(
                f"MaskedTensor: {name} must be dense, got layout {x.layout}; use to_dense()"
            )
    if mask.dtype != _C.bool:
        raise TypeError(f"MaskedTensor: mask must have dtype bool, got {mask.dtype}")
    if data.is_complex():
        raise TypeError(f"MaskedTensor: data of {data.dtype} is not supported; use real numbers")
    if data.shape != mask.shape:
        raise ValueError(
            "MaskedTensor: data and mask must have the same shape, got "
            f"{tuple(data.shape)} and {tuple(mask.shape)}"
        )


def _made(data: Tensor, mask: Tensor) -> MaskedTensor:
    with DisableTorchFunctionSubclass():
        made: MaskedTensor = data.as_subclass(MaskedTensor)
    made._masked_mask = mask
    return made


def _plain(x: Any) -> Any:
    if isinstance(x, MaskedTensor):
        with DisableTorchFunctionSubclass():
            return x.as_subclass(Tensor)
    return x


def _mapped(function: Callable[[Any], Any], tree: Any) -> Any:
    if isinstance(tree, (list, tuple)):
        return type(tree)([_mapped(function, x) for x in tree])
    if isinstance(tree, dict):
        return {k: _mapped(function, v) for k, v in tree.items()}
    return function(tree)


def _mask_or(x: Any) -> Any:
    return x._masked_mask if isinstance(x, MaskedTensor) else x


def _wrapped(data: Any, mask: Any) -> Any:
    if isinstance(data, (list, tuple)):
        return type(data)([_wrapped(d, m) for d, m in zip(data, mask, strict=True)])
    return _made(data, mask)


# ---- dispatch

_REDUCTIONS = ("sum", "mean", "amin", "amax", "argmin", "argmax", "prod", "norm", "var", "std")
_NORMALIZATIONS = ("softmax", "log_softmax", "softmin", "cumsum", "cumprod")
_CASTS = {
    "to", "type", "double", "float", "half", "bfloat16", "long", "int", "short", "char", "byte",
    "bool", "clone", "contiguous", "detach", "to_dense", "cpu", "positive", "zeros_like",
    "ones_like", "rand_like", "randn_like", "full_like", "empty_like",
}  # fmt: skip
_SHAPES = {
    "reshape", "view", "view_as", "reshape_as", "transpose", "t", "permute", "squeeze", "unsqueeze",
    "flatten", "unflatten", "ravel", "expand", "expand_as", "broadcast_to", "select", "narrow",
    "split", "chunk", "unbind", "cat", "concat", "concatenate", "stack", "hstack", "vstack", "flip",
    "roll", "repeat", "tile", "unfold", "movedim", "moveaxis", "swapaxes", "swapdims", "adjoint",
    "diagonal", "diag", "tril", "triu", "__getitem__", "index_select", "gather", "T.__get__",
    "mT.__get__", "rot90", "repeat_interleave", "take_along_dim", "tensor_split",
}  # fmt: skip
_IN_PLACE = {"requires_grad_", "backward", "register_hook", "retain_grad", "zero_grad", "detach_"}
_READS = {"item", "__len__", "__bool__", "__float__", "__int__", "is_contiguous", "stride", "size",
          "dim", "numel", "nelement", "element_size", "data_ptr", "is_floating_point", "tolist",
          "is_complex", "is_same_size", "storage_offset", "ndimension", "__hash__", "get_device",
          "is_signed", "untyped_storage", "is_inference", "__format__"}  # fmt: skip
_OPERATORS = {
    "truediv": "div", "floordiv": "floor_divide", "mod": "remainder", "and": "bitwise_and",
    "or": "bitwise_or", "xor": "bitwise_xor", "invert": "bitwise_not",
}  # fmt: skip


def _name(func: Any) -> str:
    name = func.__name__
    if name in ("__get__", "__set__", "__delete__"):
        return f"{func.__self__.__name__}.{name}"
    return str(name)


def _is_elementwise(name: str) -> bool:
    from genesis.func._batching import operator_infos

    infos = operator_infos()
    if name.startswith("__"):
        bare = name.strip("_")
        tried = [bare, bare[1:]] if bare[0] in "ri" else [bare]
        return any(
            _is_elementwise(_OPERATORS.get(b, b)) for b in tried if b in infos or b in _OPERATORS
        )
    info = infos.get(name)
    return info is not None and info["batch"] == "elementwise"


def _call(func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
    name = _name(func)
    if name in _REDUCTIONS or name == "all":
        return _reduced(name, *args, **kwargs)
    if name in _NORMALIZATIONS:
        return _normalized(name, *args, **kwargs)
    if name == "where":
        return _where(*args, **kwargs)
    if name == "copy_":
        return _copied(*args, **kwargs)
    attribute = name.endswith(("__get__", "__set__", "__delete__")) and name not in _SHAPES
    if attribute or name in _IN_PLACE or name in _READS:
        with DisableTorchFunctionSubclass():
            return func(*args, **kwargs)
    data_args, data_kwargs = _mapped(_plain, args), _mapped(_plain, kwargs)
    if name in _CASTS:
        return _made(func(*data_args, **data_kwargs), args[0]._masked_mask)
    if name in _SHAPES:
        mask_args, mask_kwargs = _mapped(_mask_or, args), _mapped(_mask_or, kwargs)
        return _wrapped(func(*data_args, **data_kwargs), func(*mask_args, **mask_kwargs))
    if _is_elementwise(name):
        mask = _common_mask(name, [*args, *kwargs.values()])
        made = func(*data_args, **data_kwargs)
        in_place = name.endswith("_") and not name.startswith("__")
        if in_place or (name.startswith("__i") and made is data_args[0]):
            return args[0]
        return _made(made, mask.expand_as(made))
    raise TypeError(
        f"{name.strip('_')}: not defined for a MaskedTensor; compute with get_data() and "
        "get_mask(), or with to_tensor(value)"
    )


def _common_mask(name: str, values: list[Any]) -> Tensor:
    masks = [x._masked_mask for x in values if isinstance(x, MaskedTensor)]
    for other in masks[1:]:
        if other.shape != masks[0].shape or not _C.equal(other, masks[0]):
            raise ValueError(
                f"{name.strip('_')}: the masks of the operands must be equal; use to_tensor(value) "
                "for one of them"
            )
    return masks[0]


def _any(mask: Tensor, dim: Any, keepdim: bool) -> Tensor:
    if dim is None or (isinstance(dim, (list, tuple)) and not dim):
        return mask.any()
    dims = dim if isinstance(dim, (list, tuple)) else (dim,)
    for d in sorted((d % mask.ndim for d in dims), reverse=True):
        mask = mask.any(d, keepdim=keepdim)
    return mask


def _reduced(name: str, input: Any, dim: Any = None, keepdim: bool = False, **kwargs: Any) -> Any:
    from genesis import masked

    data, mask = _plain(input), input._masked_mask
    if name == "all":
        filled = data.bool() | ~mask
        result = filled.all() if dim is None else filled.all(dim, keepdim=keepdim)
    elif name == "norm":
        p = 2.0 if dim is None else dim  # norm(p, dim, keepdim)
        dim, keepdim = (
            (keepdim if keepdim is not False else kwargs.pop("dim", None)),
            kwargs.pop("keepdim", False),
        )
        result = masked.norm(data, kwargs.pop("p", p), dim, keepdim=keepdim, mask=mask, **kwargs)
    elif name in ("argmin", "argmax") and dim is None:
        result = getattr(masked, name)(data.flatten(), 0, mask=mask.flatten())
    else:
        result = getattr(masked, name)(data, dim, keepdim=keepdim, mask=mask, **kwargs)
    return _made(result, _any(mask, dim, keepdim))


def _normalized(name: str, input: Any, dim: Any, *args: Any, **kwargs: Any) -> Any:
    from genesis import masked

    kwargs.pop("_stacklevel", None)
    dtype = kwargs.pop("dtype", next((a for a in args if not isinstance(a, int)), None))
    made = getattr(masked, name)(_plain(input), dim, dtype=dtype, mask=input._masked_mask)
    return _made(made, input._masked_mask)


def _where(condition: Any, input: Any, other: Any) -> Any:
    condition = _plain(condition)
    data = _C.where(condition, _plain(input), _plain(other))
    masks = [
        x._masked_mask if isinstance(x, MaskedTensor) else _C.ones_like(condition, dtype=_C.bool)
        for x in (input, other)
    ]
    return _made(data, _C.where(condition, *masks))


def _copied(target: Any, source: Any, non_blocking: bool = False) -> Any:
    _common_mask("copy_", [target, source])
    _plain(target).copy_(_plain(source))
    return target


# ---- text


def _element(value: Any) -> str:
    return f"{value:8.4f}" if isinstance(value, float) else str(value)


def _shown(data: Any, mask: Any, dims: int) -> str:
    if dims > 1:
        parts = [_shown(d, m, dims - 1) for d, m in zip(data, mask, strict=True)]
        return "[\n" + ",\n".join("  " + p.replace("\n", "\n  ") for p in parts) + "\n]"
    elements = [_element(d) for d in data]
    width = max((len(e) if m else 8 for e, m in zip(elements, mask, strict=True)), default=0)
    return (
        "["
        + ", ".join(e if m else "--".rjust(width) for e, m in zip(elements, mask, strict=True))
        + "]"
    )
