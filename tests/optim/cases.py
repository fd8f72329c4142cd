"""Optimizers and the options under which each is tested."""

from __future__ import annotations

from typing import Any

import genesis
import numpy as np

CASES: list[tuple[str, dict[str, Any]]] = [
    ("SGD", {}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "dampening": 0.1, "weight_decay": 0.01}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.1}),
    ("SGD", {"lr": 0.01, "maximize": True}),
    ("Adam", {}),
    ("Adam", {"weight_decay": 0.1, "betas": (0.8, 0.9), "eps": 1e-3}),
    ("Adam", {"amsgrad": True, "lr": 0.1}),
    ("Adam", {"maximize": True, "decoupled_weight_decay": True, "weight_decay": 0.1}),
    ("AdamW", {}),
    ("AdamW", {"amsgrad": True, "weight_decay": 0.3}),
    ("NAdam", {}),
    ("NAdam", {"weight_decay": 0.1, "momentum_decay": 0.1}),
    ("NAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("RAdam", {}),
    ("RAdam", {"weight_decay": 0.1, "betas": (0.4, 0.9)}),
    ("RAdam", {"weight_decay": 0.1, "decoupled_weight_decay": True, "maximize": True}),
    ("Adamax", {}),
    ("Adamax", {"weight_decay": 0.1, "maximize": True}),
    ("Adagrad", {}),
    ("Adagrad", {"lr_decay": 0.1, "weight_decay": 0.1, "initial_accumulator_value": 0.5}),
    ("Adadelta", {}),
    ("Adadelta", {"weight_decay": 0.1, "rho": 0.7, "maximize": True}),
    ("RMSprop", {}),
    ("RMSprop", {"momentum": 0.9}),
    ("RMSprop", {"centered": True, "alpha": 0.9}),
    ("RMSprop", {"centered": True, "momentum": 0.5, "weight_decay": 0.1, "maximize": True}),
    ("Rprop", {}),
    ("Rprop", {"etas": (0.3, 1.5), "step_sizes": (1e-3, 0.1), "maximize": True}),
    ("ASGD", {}),
    ("ASGD", {"t0": 20, "lambd": 0.01, "weight_decay": 0.1}),
]
LION: list[tuple[str, dict[str, Any]]] = [
    ("Lion", {}),
    ("Lion", {"lr": 0.01, "betas": (0.7, 0.8), "weight_decay": 0.1, "maximize": True}),
]
SHAPES = ((5, 3), (7,), (), (2, 0))


def name_of(case: tuple[str, dict[str, Any]]) -> str:
    return "-".join([case[0], *case[1]])


def parameters(dtype: str = "float32", seed: int = 0) -> list[Any]:
    rng = np.random.default_rng(seed)
    return [
        genesis.nn.Parameter(genesis.tensor(rng.normal(size=shape), dtype=getattr(genesis, dtype)))
        for shape in SHAPES
    ]


def set_gradients(params: list[Any], rng: np.random.Generator) -> None:
    """Gradients of a noisy bowl."""
    for p in params:
        noise = genesis.tensor(rng.normal(size=tuple(p.shape)) * 0.1, dtype=p.dtype)
        p.grad = p.detach() * 0.5 + noise


def copied(module: Any, state: Any) -> Any:
    """A state dict with tensors of `module` in place of the other library's."""
    if hasattr(state, "detach"):
        array = state.detach().numpy()
        return module.tensor(array, dtype=getattr(module, array.dtype.name))
    if isinstance(state, dict):
        return {key: copied(module, value) for key, value in state.items()}
    if isinstance(state, (list, tuple)):
        return type(state)(copied(module, value) for value in state)
    return state
