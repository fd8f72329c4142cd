"""Types of the sizes that layers take."""

from typing import Optional, Tuple, TypeVar, Union  # noqa: UP035

from genesis._C import Tensor

T = TypeVar("T")
# The forms of typing, which packages look into.
_scalar_or_tuple_any_t = Union[T, Tuple[T, ...]]  # noqa: UP006, UP007
_scalar_or_tuple_1_t = Union[T, Tuple[T]]  # noqa: UP006, UP007
_scalar_or_tuple_2_t = Union[T, Tuple[T, T]]  # noqa: UP006, UP007
_scalar_or_tuple_3_t = Union[T, Tuple[T, T, T]]  # noqa: UP006, UP007
_scalar_or_tuple_4_t = Union[T, Tuple[T, T, T, T]]  # noqa: UP006, UP007
_scalar_or_tuple_5_t = Union[T, Tuple[T, T, T, T, T]]  # noqa: UP006, UP007
_scalar_or_tuple_6_t = Union[T, Tuple[T, T, T, T, T, T]]  # noqa: UP006, UP007
_size_any_t = _scalar_or_tuple_any_t[int]
_size_1_t = _scalar_or_tuple_1_t[int]
_size_2_t = _scalar_or_tuple_2_t[int]
_size_3_t = _scalar_or_tuple_3_t[int]
_size_4_t = _scalar_or_tuple_4_t[int]
_size_5_t = _scalar_or_tuple_5_t[int]
_size_6_t = _scalar_or_tuple_6_t[int]
_size_any_opt_t = Tuple[Optional[int], ...]  # noqa: UP006, UP045
_size_2_opt_t = Tuple[Optional[int], Optional[int]]  # noqa: UP006, UP045
_size_3_opt_t = Tuple[Optional[int], Optional[int], Optional[int]]  # noqa: UP006, UP045
_ratio_2_t = _scalar_or_tuple_2_t[float]
_ratio_3_t = _scalar_or_tuple_3_t[float]
_ratio_any_t = _scalar_or_tuple_any_t[float]
_tensor_list_t = _scalar_or_tuple_any_t[Tensor]
_maybe_indices_t = _scalar_or_tuple_2_t[Tensor]
