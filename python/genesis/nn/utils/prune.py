"""Pruning: a mask keeps weights at zero.

A pruned parameter ``weight`` is stored as ``weight_orig``, with a buffer ``weight_mask``; before
each forward, ``weight`` is their product. ``remove`` makes it a plain parameter again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain
from genesis.nn.modules.module import Module

__all__ = [
    "BasePruningMethod",
    "CustomFromMask",
    "Identity",
    "L1Unstructured",
    "LnStructured",
    "PruningContainer",
    "RandomStructured",
    "RandomUnstructured",
    "custom_from_mask",
    "global_unstructured",
    "identity",
    "is_pruned",
    "l1_unstructured",
    "ln_structured",
    "random_structured",
    "random_unstructured",
    "remove",
]


def _count(amount: float, size: int) -> int:
    """The number of elements to prune, of ``size``."""
    if isinstance(amount, bool) or not isinstance(amount, (int, float)):
        raise TypeError(f"prune: amount must be a number, got {type(amount).__name__}")
    if amount < 0 or (isinstance(amount, float) and amount > 1):
        raise ValueError(
            f"prune: amount must be a float from 0.0 to 1.0 (a fraction) or an int from 0 (a "
            f"count), got {amount}"
        )
    if isinstance(amount, float):
        return round(amount * size)
    if amount > size:
        raise ValueError(
            f"prune: amount must be at most {size}, the number to prune from, got {amount}"
        )
    return amount


def _without(mask: Tensor, elements: Tensor) -> Tensor:
    """The mask with zeros at these positions of the flattened tensor."""
    mask = mask.clone().contiguous()
    mask.view(-1)[elements] = 0
    return mask


class BasePruningMethod:
    """The base class of pruning methods.

    A subclass defines ``compute_mask`` and ``PRUNING_TYPE``: "global", "unstructured" (elements) or
    "structured" (slices along a dimension).
    """

    PRUNING_TYPE: str = "unstructured"
    _tensor_name: str

    def __call__(self, module: Module, inputs: Any) -> None:
        setattr(module, self._tensor_name, self.apply_mask(module))

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        """The mask of ``t``, which may prune more than ``default_mask`` does."""
        raise TypeError(f"{type(self).__name__} does not define compute_mask()")

    def apply_mask(self, module: Module) -> Tensor:
        """The pruned tensor, a differentiable function of the parameter."""
        original: Tensor = getattr(module, self._tensor_name + "_orig")
        mask: Tensor = getattr(module, self._tensor_name + "_mask")
        return mask.to(original.dtype) * original

    @classmethod
    def apply(
        cls, module: Module, name: str, *args: Any, importance_scores: Tensor | None = None,
        **kwargs: Any,
    ) -> BasePruningMethod:  # fmt: skip
        """Prune a parameter, which may already be pruned."""
        method = cls(*args, **kwargs)
        method._tensor_name = name
        number, before = _method_of(module, name)
        if not isinstance(getattr(module, name, None), Tensor):
            raise ValueError(f"prune: {type(module).__name__} has no parameter {name!r}")
        original = getattr(module, name)
        scores = original if importance_scores is None else importance_scores
        if scores.shape != original.shape:
            raise ValueError(
                f"prune: importance_scores must have the shape of {name}, {tuple(original.shape)}, "
                f"got {tuple(scores.shape)}"
            )
        if before is None:
            default = _C.ones_like(original.detach())
        else:
            default = getattr(module, name + "_mask").detach().clone()
            methods: Any = before if isinstance(before, PruningContainer) else (before,)
            method = PruningContainer(*methods, method)
        mask = method.compute_mask(scores.detach(), default).to(original.dtype)
        # The module is changed only after all checks.
        if number is None:
            del module._parameters[name]
            module.register_parameter(name + "_orig", original)
            module.register_buffer(name + "_mask", mask)
        else:
            del module._forward_pre_hooks[number]
            setattr(module, name + "_mask", mask)
        setattr(module, name, method.apply_mask(module))
        module.register_forward_pre_hook(method)
        return method

    def prune(
        self, t: Tensor, default_mask: Tensor | None = None, importance_scores: Tensor | None = None
    ) -> Tensor:
        """The pruned tensor, without changing a module."""
        scores = t if importance_scores is None else importance_scores
        default = _C.ones_like(t) if default_mask is None else default_mask
        return t * self.compute_mask(scores, default)

    def remove(self, module: Module) -> None:
        """Make the pruned tensor a plain parameter again."""
        name = self._tensor_name
        weight = self.apply_mask(module)
        original = module._parameters[name + "_orig"]
        assert original is not None
        original.data = weight.data
        for attribute in (name, name + "_orig", name + "_mask"):
            delattr(module, attribute)
        module.register_parameter(name, original)


class PruningContainer(BasePruningMethod):
    """Several pruning methods, applied to a parameter in order."""

    def __init__(self, *args: BasePruningMethod) -> None:
        self._pruning_methods: tuple[BasePruningMethod, ...] = ()
        for method in args:
            self._tensor_name = method._tensor_name
            self.add_pruning_method(method)

    def add_pruning_method(self, method: BasePruningMethod) -> None:
        """Add a method, which prunes the elements that the previous ones kept."""
        if method._tensor_name != self._tensor_name:
            raise ValueError(
                f"PruningContainer: prunes {self._tensor_name!r}, not {method._tensor_name!r}"
            )
        self._pruning_methods += (method,)

    def __len__(self) -> int:
        return len(self._pruning_methods)

    def __getitem__(self, index: int) -> BasePruningMethod:
        return self._pruning_methods[index]

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        method, mask = self._pruning_methods[-1], default_mask.to(t.dtype)
        kept: Any
        if method.PRUNING_TYPE == "unstructured":
            kept = mask == 1
        elif method.PRUNING_TYPE == "structured":
            dim = method.dim % t.ndim  # type: ignore[attr-defined]
            others = [d for d in range(t.ndim) if d != dim]
            index: list[Any] = [slice(None)] * t.ndim
            index[dim] = mask.sum(others) != 0
            kept = tuple(index)
        else:
            kept = tuple([slice(None)] * t.ndim)
        new = mask.clone()
        new[kept] = method.compute_mask(t[kept], mask[kept])
        return new


class Identity(BasePruningMethod):
    """Prunes nothing, but adds a mask of ones."""

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        return default_mask


class RandomUnstructured(BasePruningMethod):
    """Prunes elements at random."""

    def __init__(self, amount: float) -> None:
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _count(self.amount, t.numel())
        return _without(default_mask, _C.randperm(t.numel())[:n])


class L1Unstructured(BasePruningMethod):
    """Prunes the elements of smallest absolute value."""

    def __init__(self, amount: float) -> None:
        self.amount = amount

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        n = _count(self.amount, t.numel())
        return _without(default_mask, t.abs().reshape(-1).topk(n, largest=False).indices)


class _Structured(BasePruningMethod):
    PRUNING_TYPE = "structured"

    def __init__(self, amount: float, dim: int = -1) -> None:
        self.amount = amount
        self.dim = dim

    def importance(self, t: Tensor, dim: int) -> Tensor:
        """The importance of each slice along ``dim``."""
        raise TypeError(f"{type(self).__name__} does not define importance()")

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if t.ndim <= 1:
            raise ValueError(
                f"prune: structured pruning is for tensors of at least 2 dimensions, got shape "
                f"{tuple(t.shape)}; use an unstructured method"
            )
        if not -t.ndim <= self.dim < t.ndim:
            raise IndexError(f"prune: dim {self.dim} is out of range for shape {tuple(t.shape)}")
        dim = self.dim % t.ndim
        n = _count(self.amount, t.shape[dim])
        pruned = self.importance(t, dim).topk(n, largest=False).indices
        return default_mask.index_fill(dim, pruned, 0)


class RandomStructured(_Structured):
    """Prunes slices along a dimension at random."""

    def importance(self, t: Tensor, dim: int) -> Tensor:
        return _C.rand(t.shape[dim])


class LnStructured(_Structured):
    """Prunes the slices along a dimension whose n-norm is smallest."""

    def __init__(self, amount: float, n: float | str, dim: int = -1) -> None:
        super().__init__(amount, dim)
        self.n = n

    def importance(self, t: Tensor, dim: int) -> Tensor:
        order = 2.0 if self.n == "fro" else float(self.n)
        return _C.linalg_vector_norm(t, order, [d for d in range(t.ndim) if d != dim])


class CustomFromMask(BasePruningMethod):
    """Prunes by a given mask."""

    PRUNING_TYPE = "global"

    def __init__(self, mask: Tensor) -> None:
        self.mask = mask

    def compute_mask(self, t: Tensor, default_mask: Tensor) -> Tensor:
        if self.mask.shape != default_mask.shape:
            raise ValueError(
                f"prune: the mask must have shape {tuple(default_mask.shape)}, got "
                f"{tuple(self.mask.shape)}"
            )
        return default_mask * self.mask.to(default_mask.dtype)


def identity(module: Module, name: str) -> Module:
    """Add a mask of ones to a parameter, which prunes nothing.

    >>> bool(identity(genesis.nn.Linear(2, 3), "bias").bias_mask.all())
    True
    """
    Identity.apply(module, name)
    return module


def random_unstructured(module: Module, name: str, amount: float) -> Module:
    """Prune ``amount`` elements (a count or a fraction) at random.

    >>> int(random_unstructured(genesis.nn.Linear(2, 3), "weight", 1).weight_mask.sum())
    5
    """
    RandomUnstructured.apply(module, name, amount)
    return module


def l1_unstructured(
    module: Module, name: str, amount: float, importance_scores: Tensor | None = None
) -> Module:
    """Prune the ``amount`` elements with the smallest absolute values or ``importance_scores``.

    >>> int(l1_unstructured(genesis.nn.Linear(2, 3), "weight", 0.5).weight_mask.sum())
    3
    """
    L1Unstructured.apply(module, name, amount, importance_scores=importance_scores)
    return module


def random_structured(module: Module, name: str, amount: float, dim: int) -> Module:
    """Prune ``amount`` slices along a dimension at random.

    >>> int(random_structured(genesis.nn.Linear(5, 3), "weight", 3, dim=1).weight_mask.sum())
    6
    """
    RandomStructured.apply(module, name, amount, dim)
    return module


def ln_structured(
    module: Module,
    name: str,
    amount: float,
    n: float,
    dim: int,
    importance_scores: Tensor | None = None,
) -> Module:
    """Prune the ``amount`` slices along a dimension whose n-norm is smallest.

    >>> int(ln_structured(genesis.nn.Linear(5, 3), "weight", 3, n=2, dim=1).weight_mask.sum())
    6
    """
    LnStructured.apply(module, name, amount, n, dim, importance_scores=importance_scores)
    return module


def custom_from_mask(module: Module, name: str, mask: Tensor) -> Module:
    """Prune where a mask is 0.

    >>> layer = custom_from_mask(genesis.nn.Linear(1, 2), "bias", genesis.tensor([0, 1]))
    >>> float(layer.bias[0])
    0.0
    """
    CustomFromMask.apply(module, name, mask)
    return module


def global_unstructured(
    parameters: Iterable[tuple[Module, str]],
    pruning_method: Callable[..., Any],
    importance_scores: Mapping[tuple[Module, str], Tensor] | None = None,
    **kwargs: Any,
) -> None:
    """Prune several parameters together, as one vector.

    >>> a, b = genesis.nn.Linear(2, 2), genesis.nn.Linear(2, 2)
    >>> global_unstructured([(a, "weight"), (b, "weight")], L1Unstructured, amount=4)
    >>> int(a.weight_mask.sum() + b.weight_mask.sum())
    4
    """
    places = list(parameters)
    scores = dict(importance_scores or {})
    flat = [scores.get((m, n), getattr(m, n)).detach().reshape(-1) for m, n in places]
    masks = [
        getattr(m, n + "_mask", _C.ones_like(getattr(m, n).detach())).reshape(-1) for m, n in places
    ]
    method = pruning_method(**kwargs)
    if method.PRUNING_TYPE != "unstructured":
        raise TypeError(
            "global_unstructured: needs an unstructured method, got "
            f"{type(method).__name__}, which is {method.PRUNING_TYPE}"
        )
    method._tensor_name = "temp"
    container = PruningContainer(method)
    mask, at = container.compute_mask(_C.cat(flat), _C.cat(masks)), 0
    for module, name in places:
        tensor = getattr(module, name)
        custom_from_mask(module, name, mask[at : at + tensor.numel()].view(tensor.shape))
        at += tensor.numel()


def _method_of(module: Module, name: str) -> tuple[int | None, BasePruningMethod | None]:
    for number, hook in module._forward_pre_hooks.items():
        if isinstance(hook, BasePruningMethod) and hook._tensor_name == name:
            return number, hook
    return None, None


def remove(module: Module, name: str) -> Module:
    """Make pruning permanent: the parameter gets the pruned values.

    >>> layer = remove(l1_unstructured(genesis.nn.Linear(2, 3), "weight", 0.5), "weight")
    >>> isinstance(layer.weight, genesis.nn.Parameter), int((layer.weight == 0).sum())
    (True, 3)
    """
    number, method = _method_of(module, name)
    if method is None or number is None:
        raise ValueError(
            f"Parameter '{name}' of module {module} has to be pruned before pruning can be removed"
        )
    method.remove(module)
    del module._forward_pre_hooks[number]
    return module


def is_pruned(module: Module) -> bool:
    """Whether a module or one of its submodules has a pruned parameter.

    >>> is_pruned(genesis.nn.Linear(2, 3))
    False
    """
    return any(
        isinstance(hook, BasePruningMethod)
        for _, submodule in module.named_modules()
        for hook in submodule._forward_pre_hooks.values()
    )


explain(globals())
