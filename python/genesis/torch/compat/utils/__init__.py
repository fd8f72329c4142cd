"""Names of ``torch.utils`` that ``genesis.utils`` does not have."""

from __future__ import annotations

from genesis._C import Tensor

__all__ = ["swap_tensors"]


def swap_tensors(t1: Tensor, t2: Tensor) -> None:
    """Exchange values, class and attributes of two tensors that are in no graph."""
    for t in (t1, t2):
        if not t.is_leaf:
            raise RuntimeError("swap_tensors: a tensor was computed; only leaves can be exchanged")
    first, second = t1.detach(), t2.detach()
    grads, wanted = (t1.requires_grad, t2.requires_grad), (t1.grad, t2.grad)
    t1.grad = t2.grad = None
    t1.requires_grad_(False), t2.requires_grad_(False)
    t1.data, t2.data = second, first
    t1.requires_grad_(grads[1]), t2.requires_grad_(grads[0])
    t1.grad, t2.grad = wanted[1], wanted[0]
    t1.__class__, t2.__class__ = t2.__class__, t1.__class__
    attributes = dict(t1.__dict__)
    t1.__dict__.clear()
    t1.__dict__.update(t2.__dict__)
    t2.__dict__.clear()
    t2.__dict__.update(attributes)
