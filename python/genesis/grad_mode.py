"""Grad modes: the names of ``genesis`` in a separate module."""

from genesis._C import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
