"""The dtype that autocast uses for each kind of operation."""

from __future__ import annotations

from enum import Enum
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._pytree import tree_leaves
from genesis.amp.autocast_mode import get_autocast_dtype, is_autocast_enabled

__all__ = ["AMPPolicy", "get_amp_dtype"]


class AMPPolicy(Enum):
    """Kinds of operations: products (FP16), reductions and losses (FP32), arithmetic and views."""

    FP16 = "fp16"
    FP32 = "fp32"
    PROMOTE = "promote"
    PRESERVE = "preserve"


def get_amp_dtype(policy: AMPPolicy | str | None, *args: Any, **kwargs: Any) -> _C.dtype | None:
    """The dtype to which an operation of this kind casts its arguments; None if it does not cast.

    ``FP16`` is half precision: that of the ``autocast`` block, or float16 outside. ``PROMOTE``
    (also None) is float32 where the arguments mix float32 with half precision.

    >>> get_amp_dtype(AMPPolicy.FP32)
    genesis.float32
    >>> get_amp_dtype("promote", genesis.ones(1), genesis.ones(1).half())
    genesis.float32
    """
    try:
        kind = AMPPolicy.PROMOTE if policy is None else AMPPolicy(policy)
    except ValueError:
        known = ", ".join(repr(p.value) for p in AMPPolicy)
        raise ValueError(f"get_amp_dtype: policy must be one of {known}, got {policy!r}") from None
    if kind is AMPPolicy.FP16:
        return get_autocast_dtype() if is_autocast_enabled() else _C.float16
    if kind is AMPPolicy.FP32:
        return _C.float32
    if kind is AMPPolicy.PRESERVE:
        return None
    found = {x.dtype for x in tree_leaves((args, kwargs)) if isinstance(x, Tensor)}
    mixed = _C.float32 in found and bool(found & {_C.float16, _C.bfloat16})
    return _C.float32 if mixed else None
