"""``torch._C._functorch``: the wrappers of PyTorch's function transforms.

Transforms of Genesis (``genesis.func``) do not wrap tensors, so no tensor is wrapped.
"""

from __future__ import annotations

from typing import Any

__all__ = [
    "get_unwrapped",
    "is_batchedtensor",
    "is_functorch_wrapped_tensor",
    "is_gradtrackingtensor",
    "maybe_get_bdim",
    "maybe_get_level",
]


def is_batchedtensor(tensor: Any) -> bool:
    """Whether a tensor is a wrapper of vmap: no."""
    return False


is_gradtrackingtensor = is_functionaltensor = is_functorch_wrapped_tensor = is_batchedtensor
is_legacy_batchedtensor = is_batchedtensor


def get_unwrapped(tensor: Any) -> Any:
    """The tensor itself."""
    return tensor


unwrap_if_dead = get_unwrapped


def maybe_get_bdim(tensor: Any) -> int:
    """The batch dimension of a wrapper: -1, there is none."""
    return -1


maybe_get_level = maybe_get_bdim


def _no_wrappers(*args: Any, **kwargs: Any) -> Any:
    raise RuntimeError(
        "torch._C._functorch: tensors of Genesis are not wrapped by transforms; use torch.func.vmap"
    )


_add_batch_dim = _remove_batch_dim = _no_wrappers
_vmap_increment_nesting = _vmap_decrement_nesting = _no_wrappers
_grad_increment_nesting = _grad_decrement_nesting = _no_wrappers
_wrap_for_grad = _unwrap_for_grad = _no_wrappers
