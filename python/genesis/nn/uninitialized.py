"""Tensors that wait for their shape: parameters and buffers of lazy modules."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from genesis import _C
from genesis._C import Tensor
from genesis.nn.parameter import Buffer, Parameter

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["UninitializedBuffer", "UninitializedParameter"]


def _refusing(name: str) -> Callable[..., NoReturn]:
    def refuse(self: Tensor, *args: Any, **kwargs: Any) -> NoReturn:
        raise ValueError(
            f"{name}: {type(self).__name__} has no values yet; call its module with a batch first"
        )

    return refuse


def _computes(name: str) -> bool:
    """Whether a method of tensors needs values: all but what conversions and copies call."""
    allowed = {
        *("to", "type", "float", "double", "half", "bfloat16", "cpu", "is_floating_point"),
        *("detach", "detach_", "requires_grad_", "register_hook", "zero_grad"),
    }
    operator = (hasattr(int, name) or hasattr(list, name)) and not hasattr(object, name)
    public = not name.startswith("_") and name not in allowed
    return (operator or public) and callable(getattr(Tensor, name, None))


_Refusing: Any = type(
    "_Refusing", (Tensor,), {name: _refusing(name) for name in dir(Tensor) if _computes(name)}
)


class UninitializedTensorMixin(_Refusing):  # type: ignore[misc]
    """A tensor that gets its shape later. Until then it refuses to be computed with."""

    cls_to_become: type[Tensor]

    def materialize(
        self, shape: int | Sequence[int], device: Any = None, dtype: _C.dtype | None = None
    ) -> None:
        """Give it memory of this shape, not initialised; it is a plain parameter or buffer then."""
        data = _C.empty(shape, dtype=self.dtype if dtype is None else dtype, device=device)
        self.__class__ = self.cls_to_become  # type: ignore[assignment]
        self.data = data

    @property
    def shape(self) -> Any:
        raise RuntimeError(
            f"{type(self).__name__}: it has no shape yet; call the module with a batch first. A "
            "state_dict that holds it cannot be loaded into a module that is initialised"
        )

    def __repr__(self) -> str:
        return f"<{type(self).__name__}>"

    def __deepcopy__(self, memo: dict[int, Any]) -> Any:
        if id(self) not in memo:
            copy = type(self)(dtype=self.dtype)
            copy.requires_grad_(self.requires_grad)
            memo[id(self)] = copy
        return memo[id(self)]

    def __reduce_ex__(self, protocol: Any) -> Any:
        return _uninitialized, (type(self), self.requires_grad, str(self.dtype).rpartition(".")[2])


def _uninitialized(cls: type, requires_grad: bool, dtype: str) -> Any:
    made = cls(dtype=getattr(_C, dtype))
    return made.requires_grad_(requires_grad)


class UninitializedParameter(UninitializedTensorMixin, Parameter):
    """A parameter whose shape a lazy module finds out in its first call.

    >>> p = UninitializedParameter()
    >>> p.materialize((2, 3))
    >>> p.shape
    genesis.Size([2, 3])
    """

    cls_to_become = Parameter

    def __new__(
        cls, requires_grad: bool = True, device: Any = None, dtype: _C.dtype | None = None
    ) -> Self:
        data = _C.empty(0, device=device, dtype=dtype)
        return _C._make_subclass(cls, data, requires_grad, True)

    def __init__(
        self, requires_grad: bool = True, device: Any = None, dtype: _C.dtype | None = None
    ) -> None:
        pass


class UninitializedBuffer(UninitializedTensorMixin, Buffer):
    """A buffer whose shape a lazy module finds out in its first call.

    >>> b = UninitializedBuffer()
    >>> b.materialize(3)
    >>> b.shape
    genesis.Size([3])
    """

    cls_to_become = Buffer

    def __new__(
        cls,
        requires_grad: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
        persistent: bool = True,
    ) -> Self:
        data = _C.empty(0, device=device, dtype=dtype)
        buffer = _C._make_subclass(cls, data, requires_grad, False)
        buffer.persistent = persistent
        return buffer

    def __init__(
        self,
        requires_grad: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
        persistent: bool = True,
    ) -> None:
        pass


def is_lazy(param: object) -> bool:
    """Whether it waits for its shape.

    >>> is_lazy(UninitializedParameter()), is_lazy(Parameter())
    (True, False)
    """
    return isinstance(param, UninitializedTensorMixin)
