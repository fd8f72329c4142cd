"""A module as a function of its parameters."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

__all__ = ["functional_call", "replace_all_batch_norm_modules_", "stack_module_state"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """Call ``module(*args, **kwargs)`` with other tensors in place of its parameters and buffers.

    ``parameter_and_buffer_dicts`` is a dict, or a sequence of dicts, from the names of
    ``named_parameters()`` and ``named_buffers()`` to tensors. Tensors that are not in it keep their
    values; with ``strict``, the names must match exactly. A tensor that has several names in the
    module is replaced under all of them, unless ``tie_weights=False``. ``args`` is a tuple of
    arguments, or a single argument. If the module reassigns a buffer, the dict is updated.

    >>> layer = genesis.nn.Linear(2, 1)
    >>> weight = {"weight": genesis.tensor([[1.0, 2.0]]), "bias": genesis.tensor([3.0])}
    >>> functional_call(layer, weight, genesis.tensor([10.0, 10.0]))
    tensor([33.])
    >>> from genesis.func import grad
    >>> x = genesis.tensor([10.0, 20.0])
    >>> grad(lambda p: functional_call(layer, p, x).sum())(weight)["weight"]
    tensor([[10., 20.]])
    """
    several = parameter_and_buffer_dicts
    if not isinstance(several, (dict, list, tuple)):
        raise _C.ShapeError(
            "functional_call: parameter_and_buffer_dicts must be a dict or a list of dicts, got "
            f"{type(several).__name__}"
        )
    dicts = [several] if isinstance(several, dict) else list(several)
    given: dict[str, Tensor] = {}
    for tensors in dicts:
        for name, tensor in tensors.items():
            if name in given:
                raise _C.ShapeError(f"functional_call: {name!r} is in several dicts; remove one")
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"functional_call: {name!r} must be a tensor, got {type(tensor).__name__}"
                )
            given[name] = tensor
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    places = _places(module, given, tie_weights, strict)
    before = [registry[name] for registry, name, _, _ in places]
    try:
        for registry, name, tensor, _ in places:
            registry[name] = tensor
        return module(*positional, **kwargs) if kwargs else module(*positional)
    finally:
        _restore(places, before, dicts)


# One tensor of a module: the registry that it is in, its name there, and what is to replace it,
# with the name under which that was given.
_Place = tuple[dict[str, Any], str, Tensor, str]


def _places(
    module: Module, given: dict[str, Tensor], tie_weights: bool, strict: bool
) -> list[_Place]:
    own: dict[str, tuple[Any, str]] = {}
    _collect(module, "", own)
    source: dict[str, str] = {name: name for name in given if name in own}
    if tie_weights and len({id(registry[name]) for registry, name in own.values()}) < len(own):
        _add_tied(source, own, given)
    if strict:
        missing = [name for name in own if name not in source]
        unexpected = [name for name in given if name not in own]
        if missing or unexpected:
            raise RuntimeError(
                f"functional_call: for {type(module).__name__}, missing names {missing}, "
                f"unexpected names {unexpected}; pass strict=False to allow both"
            )
    return [(*own[full], given[name], name) for full, name in source.items()]


def _collect(module: Any, prefix: str, own: dict[str, tuple[Any, str]]) -> None:
    """The tensors of a module and of those below it by name: the registry and the name there."""
    for registry in (module._parameters, module._buffers):
        for name, tensor in registry.items():
            if tensor is not None:
                own[prefix + name] = (registry, name)
    for name, part in module._modules.items():
        if part is not None:
            _collect(part, f"{prefix}{name}.", own)


def _add_tied(
    source: dict[str, str], own: dict[str, tuple[Any, str]], given: dict[str, Tensor]
) -> None:
    """Replace a tensor that has several names under all of them."""
    tied: dict[int, list[str]] = {}
    for full, (registry, name) in own.items():
        tied.setdefault(id(registry[name]), []).append(full)
    for names in tied.values():
        named = [name for name in names if name in given]
        if len({id(given[name]) for name in named}) > 1:
            raise ValueError(
                f"functional_call: {named} are one tensor in the module, but got different "
                "ones; pass one of them, or tie_weights=False"
            )
        source.update((name, named[0]) for name in names if named)


def _restore(places: list[_Place], before: list[Any], dicts: list[dict[str, Tensor]]) -> None:
    # backwards: two places may be the same one, where a module is shared
    for (registry, name, tensor, full), original in zip(
        reversed(places), reversed(before), strict=True
    ):
        now = registry.get(name)
        registry[name] = original
        if now is not tensor and now is not original and isinstance(now, Tensor):
            for tensors in dicts:
                if full in tensors:
                    tensors[full] = now


def stack_module_state(
    models: Sequence[Module],
) -> tuple[dict[str, Tensor], dict[str, Tensor]]:
    """The parameters and the buffers of models of one kind, each stacked along a new dimension.

    With :func:`functional_call` and :func:`vmap`, all models run at once. The results are leaves;
    parameters require grad as those of the models do.

    >>> from genesis.func import vmap
    >>> models = [genesis.nn.Linear(2, 3) for _ in range(5)]
    >>> params, buffers = stack_module_state(models)
    >>> params["weight"].shape
    genesis.Size([5, 3, 2])
    >>> x = genesis.ones(2)
    >>> vmap(lambda p: functional_call(models[0], p, x))(params).shape
    genesis.Size([5, 3])
    """
    from genesis import _C

    models = list(models)
    if not models:
        raise RuntimeError("stack_module_state: needs at least one model, got none")
    kinds = {type(m) for m in models}
    if len(kinds) > 1:
        names = sorted(kind.__name__ for kind in kinds)
        raise RuntimeError(f"stack_module_state: the models must be of one class, got {names}")
    if len({m.training for m in models}) > 1:
        raise RuntimeError("stack_module_state: some models are in training mode, some are not")

    def stacked(dicts: list[dict[str, Tensor]]) -> dict[str, Tensor]:
        made = {}
        for name, first in dicts[0].items():
            found = [d[name] for d in dicts]
            if len({x.requires_grad for x in found}) > 1:
                raise RuntimeError(
                    f"stack_module_state: {name!r} requires grad in some of the models only"
                )
            made[name] = _C.stack([x.detach() for x in found]).requires_grad_(first.requires_grad)
        return made

    return (
        stacked([dict(m.named_parameters()) for m in models]),
        stacked([dict(m.named_buffers()) for m in models]),
    )


def replace_all_batch_norm_modules_(root: Module) -> Module:
    """Let every batch norm in ``root`` use the statistics of its batch, and return ``root``.

    Running statistics cannot be updated for each element that :func:`vmap` maps over.
    """
    from genesis.nn.modules.batchnorm import _BatchNorm

    for part in root.modules():
        if isinstance(part, _BatchNorm):
            part.running_mean = None
            part.running_var = None
            part.num_batches_tracked = None
            part.track_running_stats = False
    return root
