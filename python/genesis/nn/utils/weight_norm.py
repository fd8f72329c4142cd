"""Weight normalization by a hook. The newer form is in ``parametrizations``."""

from __future__ import annotations

from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import name_errors
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["WeightNorm", "norm_except_dim", "remove_weight_norm", "weight_norm"]

M = TypeVar("M", bound=Module)


def norm_except_dim(v: Tensor, dim: int) -> Tensor:
    """The norm of each slice of ``v`` along ``dim``, with kept dimensions; for -1, of all of ``v``.

    >>> norm_except_dim(genesis.tensor([[3.0, 4.0], [0.0, 1.0]]), 0)
    tensor([[5.],
            [1.]])
    """
    if dim == -1:
        return _C.linalg_vector_norm(v)
    if not -v.ndim <= dim < v.ndim:
        raise IndexError(
            f"norm_except_dim: dim {dim} is out of range for a weight of shape {tuple(v.shape)}"
        )
    dim %= v.ndim
    others = tuple(d for d in range(v.ndim) if d != dim)
    return _C.linalg_vector_norm(v, 2, others, True) if others else v.abs()


class WeightNorm:
    """The hook that computes ``g * v / |v|`` before each forward call."""

    def __init__(self, name: str, dim: int) -> None:
        self.name = name
        self.dim = dim

    def compute_weight(self, module: Module) -> Tensor:
        """The weight, as a function of ``g`` and ``v``."""
        g, v = getattr(module, self.name + "_g"), getattr(module, self.name + "_v")
        result: Tensor = v * (g / norm_except_dim(v, self.dim))
        return result

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self.name, self.compute_weight(module))


def weight_norm(module: M, name: str = "weight", dim: int | None = 0) -> M:
    """Replace a weight by its magnitude ``<name>_g`` and its direction ``<name>_v``.

    There is a magnitude for each slice along ``dim``, or with None, one for the whole weight.

    >>> layer = weight_norm(genesis.nn.Linear(20, 40))
    >>> layer.weight_g.shape, layer.weight_v.shape
    (genesis.Size([40, 1]), genesis.Size([40, 20]))
    """
    if any(
        isinstance(h, WeightNorm) and h.name == name for h in module._forward_pre_hooks.values()
    ):
        raise RuntimeError(f"weight_norm: parameter {name!r} has a weight norm already")
    hook = WeightNorm(name, -1 if dim is None else dim)
    weight = module._parameters.get(name)
    if weight is None:
        raise ValueError(f"weight_norm: {type(module).__name__} has no parameter {name!r}")
    delattr(module, name)
    norm = norm_except_dim(weight.detach(), hook.dim)
    module.register_parameter(name + "_g", Parameter(norm))
    module.register_parameter(name + "_v", Parameter(weight.detach()))
    setattr(module, name, hook.compute_weight(module))
    module.register_forward_pre_hook(hook)
    return module


def remove_weight_norm(module: M, name: str = "weight") -> M:
    """Remove weight normalization: the weight becomes a parameter again.

    >>> layer = remove_weight_norm(weight_norm(genesis.nn.Linear(2, 3)))
    >>> [name for name, _ in layer.named_parameters()]
    ['bias', 'weight']
    """
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, WeightNorm) and hook.name == name:
            weight = hook.compute_weight(module).detach()
            for attribute in (name, name + "_g", name + "_v"):
                delattr(module, attribute)
            setattr(module, name, Parameter(weight))
            del module._forward_pre_hooks[number]
            return module
    raise ValueError(f"weight_norm of '{name}' not found in {module}")


name_errors(__all__, globals())
