"""Whether operations are recorded: the names of ``genesis`` in a module of their own."""

from genesis._C import enable_grad, is_grad_enabled, no_grad, set_grad_enabled

__all__ = ["enable_grad", "is_grad_enabled", "no_grad", "set_grad_enabled"]
