"""States of models and optimizers that are sharded among ranks: in parts, or full.

The names are those of ``torch.distributed.checkpoint.state_dict``. A part is a `Piece`, which
`genesis.distributed.checkpoint.save` writes in parallel. All ranks call these functions.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from genesis._C import Tensor
from genesis.distributed._shards import ShardSpec, spec_of
from genesis.distributed.checkpoint._files import Piece
from genesis.nn.modules.module import Module
from genesis.optim.optimizer import Optimizer, StateDict

__all__ = [
    "StateDictOptions",
    "get_model_state_dict",
    "get_optimizer_state_dict",
    "get_state_dict",
    "set_model_state_dict",
    "set_optimizer_state_dict",
    "set_state_dict",
]


@dataclass
class StateDictOptions:
    """``full_state_dict``: full tensors on every rank instead of parts. ``strict``: all names."""

    full_state_dict: bool = False
    strict: bool = True


def _plain(model: Module) -> Module:
    """The model inside of DistributedDataParallel."""
    from genesis.distributed._ddp import DistributedDataParallel

    return model.module if isinstance(model, DistributedDataParallel) else model


def _given(spec: ShardSpec, local: Tensor, full: bool) -> Any:
    return spec.full(local.detach()) if full else spec.piece(local.detach())


def get_model_state_dict(
    model: Module, *, options: StateDictOptions | None = None
) -> dict[str, Any]:
    """The state of a model; sharded parameters are `Piece` objects or full tensors.

    >>> list(get_model_state_dict(genesis.nn.Linear(2, 1)))
    ['weight', 'bias']
    """
    full = options is not None and options.full_state_dict
    inner = _plain(model)
    specs = {n: spec_of(p) for n, p in inner.named_parameters(remove_duplicate=False)}
    result: dict[str, Any] = {}
    for name, value in inner.state_dict().items():
        spec = specs.get(name)
        result[name] = value if spec is None else _given(spec, value, full)
    return result


def _part(spec: ShardSpec | None, value: Any, local: Tensor | None = None) -> Any:
    """This rank's part of a value that is full, or already a part."""
    if isinstance(value, Piece):
        return value.values
    if spec is None or not isinstance(value, Tensor) or tuple(value.shape) != spec.shape:
        return value
    return spec.cut(value)


def set_model_state_dict(
    model: Module, model_state_dict: dict[str, Any], *, options: StateDictOptions | None = None
) -> Any:
    """Load a state with full tensors or with parts into a model, sharded or not."""
    strict = options is None or options.strict
    inner = _plain(model)
    specs = {n: spec_of(p) for n, p in inner.named_parameters(remove_duplicate=False)}
    local = {n: _part(specs.get(n), v) for n, v in model_state_dict.items()}
    return inner.load_state_dict(local, strict=strict)


def _params(optimizer: Optimizer) -> list[Tensor]:
    found: dict[int, Tensor] = {}
    for group in optimizer.param_groups:
        for p in group["params"]:
            found.setdefault(id(p), p)
    return list(found.values())


def numbered_state(optimizer: Optimizer, full: bool = False) -> StateDict:
    """``optimizer.state_dict()`` with parts in place of the states of divided parameters."""
    sharded = getattr(optimizer, "sharded_state_dict", None)
    if sharded is not None:
        result: StateDict = sharded()
        return result
    state = optimizer.state_dict()
    params = _params(optimizer)
    found: dict[Any, Any] = {}
    for number, values in state["state"].items():
        p = params[number] if isinstance(number, int) else None
        spec = None if p is None else spec_of(p)
        found[number] = values
        if spec is None or p is None:
            continue
        found[number] = {}
        for key, value in values.items():
            if isinstance(value, Tensor) and value.ndim:
                if value.shape != p.shape:
                    raise ValueError(
                        f"state_dict: {type(optimizer).__name__} keeps {key!r} of shape "
                        f"{tuple(value.shape)} for a divided parameter of shape {tuple(p.shape)}; "
                        "such a state belongs to one number of ranks and cannot be saved"
                    )
                value = _given(spec, value, full)
            found[number][key] = value
    return {**state, "state": found}


def load_numbered_state(optimizer: Optimizer, state: StateDict) -> None:
    """Load the result of `numbered_state`, full or in parts."""
    params = _params(optimizer)
    found: dict[Any, Any] = {}
    for number, values in state["state"].items():
        spec = spec_of(params[number]) if isinstance(number, int) else None
        found[number] = {k: _part(spec, v) for k, v in values.items()}
    optimizer.load_state_dict({**state, "state": found})


def _names(model: Module, optimizer: Optimizer) -> list[str]:
    by_id = {id(p): n for n, p in _plain(model).named_parameters()}
    return [by_id.get(id(p), str(i)) for i, p in enumerate(_params(optimizer))]


def get_optimizer_state_dict(
    model: Module, optimizers: Optimizer, *, options: StateDictOptions | None = None
) -> StateDict:
    """The state of an optimizer, with the names of the parameters in place of numbers."""
    names = _names(model, optimizers)
    state = numbered_state(optimizers, options is not None and options.full_state_dict)
    groups = [{**g, "params": [names[i] for i in g["params"]]} for g in state["param_groups"]]
    return {
        "state": {names[n] if isinstance(n, int) else n: v for n, v in state["state"].items()},
        "param_groups": groups,
    }


def set_optimizer_state_dict(
    model: Module,
    optimizers: Optimizer,
    optim_state_dict: StateDict,
    *,
    options: StateDictOptions | None = None,
) -> None:
    """Load what `get_optimizer_state_dict` returned, on any number of ranks."""
    numbers = {n: i for i, n in enumerate(_names(model, optimizers))}
    unknown = [n for n in optim_state_dict["state"] if n not in numbers]
    if unknown:
        raise KeyError(f"set_optimizer_state_dict: the model has no parameter {unknown[0]!r}")
    groups = [
        {**g, "params": [numbers[n] for n in g["params"]]} for g in optim_state_dict["param_groups"]
    ]
    state = {numbers[n]: v for n, v in optim_state_dict["state"].items()}
    load_numbered_state(optimizers, {"state": state, "param_groups": groups})


def get_state_dict(
    model: Module, optimizers: Optimizer, *, options: StateDictOptions | None = None
) -> tuple[dict[str, Any], StateDict]:
    """The states of a model and its optimizer."""
    return (
        get_model_state_dict(model, options=options),
        get_optimizer_state_dict(model, optimizers, options=options),
    )


def set_state_dict(
    model: Module,
    optimizers: Optimizer,
    *,
    model_state_dict: dict[str, Any],
    optim_state_dict: StateDict,
    options: StateDictOptions | None = None,
) -> Any:
    """Load the states of a model and its optimizer."""
    set_optimizer_state_dict(model, optimizers, optim_state_dict, options=options)
    return set_model_state_dict(model, model_state_dict, options=options)
