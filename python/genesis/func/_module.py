"""A module as a function of its parameters."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

from genesis._C import Tensor

if TYPE_CHECKING:
    from genesis.nn.modules.module import Module

__all__ = ["functional_call"]


def functional_call(
    module: Module,
    parameter_and_buffer_dicts: dict[str, Tensor] | Sequence[dict[str, Tensor]],
    args: Any = None,
    kwargs: dict[str, Any] | None = None,
    *,
    tie_weights: bool = True,
    strict: bool = False,
) -> Any:
    """``module(*args, **kwargs)`` with other tensors in place of its parameters and buffers.

    The dict, or several, map names as of ``named_parameters()`` and ``named_buffers()`` to tensors.
    What is not named keeps its own value; with ``strict``, every name must be given and known. A
    tensor that has several names in the module is replaced under all of them, unless
    ``tie_weights=False``. ``args`` is the tuple of arguments, or the one argument. A buffer that
    the module assigns anew is put into the dict that it came from.

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
    dicts = [several] if isinstance(several, dict) else list(several)
    given: dict[str, Tensor] = {}
    for tensors in dicts:
        for name, tensor in tensors.items():
            if name in given:
                raise ValueError(f"functional_call: {name!r} is in several of the dicts")
            if not isinstance(tensor, Tensor):
                raise TypeError(
                    f"functional_call: {name!r} must be a tensor, got {type(tensor).__name__}"
                )
            given[name] = tensor
    positional = () if args is None else args if isinstance(args, tuple) else (args,)
    places = _places(module, given, tie_weights, strict)
    with _swapped(places, dicts):
        return module(*positional, **(kwargs or {}))


# One tensor of a module: the registry that it is in, its name there, and what is to replace it,
# with the name under which that was given.
_Place = tuple[dict[str, Any], str, Tensor, str]


def _places(
    module: Module, given: dict[str, Tensor], tie_weights: bool, strict: bool
) -> list[_Place]:
    own: dict[str, tuple[dict[str, Any], str]] = {}
    for prefix, part in module.named_modules(remove_duplicate=False):
        for registry in (part._parameters, part._buffers):
            for name, tensor in registry.items():
                if tensor is not None:
                    own[f"{prefix}.{name}" if prefix else name] = (registry, name)
    source: dict[str, str] = {name: name for name in given if name in own}
    if tie_weights:
        names: dict[int, list[str]] = {}
        for full, (registry, name) in own.items():
            names.setdefault(id(registry[name]), []).append(full)
        for tied in names.values():
            named = [name for name in tied if name in given]
            if len({id(given[name]) for name in named}) > 1:
                raise ValueError(
                    f"functional_call: {named} are one tensor in the module, but got different "
                    "ones; pass one of them, or tie_weights=False"
                )
            source.update((name, named[0]) for name in tied if named)
    if strict:
        missing = [name for name in own if name not in source]
        unexpected = [name for name in given if name not in own]
        if missing or unexpected:
            raise RuntimeError(
                f"functional_call: for {type(module).__name__}, missing names {missing}, "
                f"unexpected names {unexpected}; pass strict=False to allow both"
            )
    return [(*own[full], given[name], name) for full, name in source.items()]


@contextlib.contextmanager
def _swapped(places: list[_Place], dicts: list[dict[str, Tensor]]) -> Iterator[None]:
    before = [registry[name] for registry, name, _, _ in places]
    try:
        for registry, name, tensor, _ in places:
            registry[name] = tensor
        yield
    finally:
        # backwards: two places may be the same one, where a module is shared
        for (registry, name, tensor, full), original in reversed(
            list(zip(places, before, strict=True))
        ):
            now = registry.get(name)
            registry[name] = original
            if isinstance(now, Tensor) and now is not tensor and now is not original:
                for tensors in dicts:
                    if full in tensors:
                        tensors[full] = now
