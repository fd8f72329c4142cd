"""Schedules that cycle the learning rate, and momentum against it."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

from genesis.optim.lr_scheduler.base import (
    LRScheduler,
    Rate,
    for_each_group,
    set_rate,
    state_of,
)
from genesis.optim.optimizer import Optimizer, ParamGroup


class _Cycle(LRScheduler):
    """Also cycles momentum, which is "momentum" or the first of "betas"."""

    cycle_momentum: bool
    use_beta1: bool

    def _begin_momentum(self, base: Any, largest: Any, last_epoch: int) -> None:
        if not self.cycle_momentum:
            return
        defaults = self.optimizer.defaults
        if "momentum" not in defaults and "betas" not in defaults:
            raise ValueError(
                f"{type(self).__name__}: {type(self.optimizer).__name__} has neither momentum nor "
                "betas; pass cycle_momentum=False"
            )
        self.use_beta1 = "betas" in defaults
        bases = for_each_group("base_momentum", self.optimizer, base)
        highs = for_each_group("max_momentum", self.optimizer, largest)
        self._keep_momenta(bases, highs)
        if last_epoch == -1:
            for group, low, high in zip(self.optimizer.param_groups, bases, highs, strict=True):
                self._set_momentum(group, high)
                group["max_momentum"] = high
                group["base_momentum"] = low

    def _keep_momenta(self, bases: list[float], highs: list[float]) -> None:
        pass

    def _set_momentum(self, group: ParamGroup, value: float) -> None:
        if self.use_beta1:
            group["betas"] = (value, *group["betas"][1:])
        else:
            group["momentum"] = value


class CyclicLR(_Cycle):
    """Between ``base_lr`` and ``max_lr``, up in ``step_size_up`` steps, down in ``step_size_down``.

    ``mode`` scales the height: "triangular" not, "triangular2" by half in each cycle, "exp_range"
    by ``gamma`` in each step; or ``scale_fn`` does, of the cycle or of the step (``scale_mode``).
    Momentum goes from ``max_momentum`` to ``base_momentum`` while the rate rises.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], momentum=0.9)
    >>> scheduler = CyclicLR(optimizer, base_lr=0.1, max_lr=0.5, step_size_up=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr(), optimizer.param_groups[0]["momentum"]
    ([0.5], 0.8)
    """

    def __init__(
        self,
        optimizer: Optimizer,
        base_lr: float | list[float],
        max_lr: float | list[float],
        step_size_up: int = 2000,
        step_size_down: int | None = None,
        mode: str = "triangular",
        gamma: float = 1.0,
        scale_fn: Callable[[float], float] | None = None,
        scale_mode: str = "cycle",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.8,
        max_momentum: float | list[float] = 0.9,
        last_epoch: int = -1,
    ) -> None:
        self._require_optimizer(optimizer)
        if mode not in ("triangular", "triangular2", "exp_range") and scale_fn is None:
            raise ValueError(
                "CyclicLR: mode must be 'triangular', 'triangular2' or 'exp_range', or scale_fn "
                f"be given, got {mode!r}"
            )
        self.optimizer = optimizer
        bases = for_each_group("base_lr", optimizer, base_lr)
        if last_epoch == -1:
            for group, lr in zip(optimizer.param_groups, bases, strict=True):
                set_rate(group, lr)
        self.max_lrs = for_each_group("max_lr", optimizer, max_lr)
        down = step_size_up if step_size_down is None else step_size_down
        self.total_size = float(step_size_up + down)
        self.step_ratio = step_size_up / self.total_size
        self.mode = mode
        self.gamma = gamma
        self._scale_fn_custom = scale_fn
        if scale_fn is None:
            scale_mode = "iterations" if mode == "exp_range" else "cycle"
        self.scale_mode = scale_mode
        self.cycle_momentum = cycle_momentum
        self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)
        self.base_lrs = bases

    def _keep_momenta(self, bases: list[float], highs: list[float]) -> None:
        self.base_momentums, self.max_momentums = bases, highs

    def scale_fn(self, x: float) -> float:
        """What the height of cycle x, or of step x, is multiplied by."""
        if self._scale_fn_custom is not None:
            return self._scale_fn_custom(x)
        if self.mode == "triangular2":
            return float(0.5 ** (x - 1))
        return float(self.gamma**x) if self.mode == "exp_range" else 1.0

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        cycle = math.floor(1 + self.last_epoch / self.total_size)
        x = 1 + self.last_epoch / self.total_size - cycle
        up = self.step_ratio
        height = x / up if x <= up else (x - 1) / (up - 1)
        height *= self.scale_fn(cycle if self.scale_mode == "cycle" else self.last_epoch)
        if self.cycle_momentum:
            momenta = zip(
                self.optimizer.param_groups, self.base_momentums, self.max_momentums, strict=True
            )
            for group, low, high in momenta:
                self._set_momentum(group, high - (high - low) * height)
        return [
            low + (high - low) * height
            for low, high in zip(self.base_lrs, self.max_lrs, strict=True)
        ]

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_scale_fn_custom": state_of(self._scale_fn_custom)}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_scale_fn_custom"})
        state = state_dict.get("_scale_fn_custom")
        if state is not None and self._scale_fn_custom is not None:
            self._scale_fn_custom.__dict__.update(state)


def _positive_int(name: str, value: Any) -> int:
    if not isinstance(value, int) or value <= 0:
        raise ValueError(f"OneCycleLR: {name} must be a positive int, got {value!r}")
    return value


class OneCycleLR(_Cycle):
    """One rise to ``max_lr`` and one fall far below where it began, in ``total_steps``.

    Begins at max_lr / div_factor, rises for ``pct_start`` of the steps, and ends at the first rate
    / final_div_factor; with ``three_phase`` it first falls as it rose. Momentum goes the other way.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], momentum=0.9)
    >>> scheduler = OneCycleLR(optimizer, max_lr=1.0, total_steps=10)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        max_lr: float | list[float],
        total_steps: int | None = None,
        epochs: int | None = None,
        steps_per_epoch: int | None = None,
        pct_start: float = 0.3,
        anneal_strategy: str = "cos",
        cycle_momentum: bool = True,
        base_momentum: float | list[float] = 0.85,
        max_momentum: float | list[float] = 0.95,
        div_factor: float = 25.0,
        final_div_factor: float = 1e4,
        three_phase: bool = False,
        last_epoch: int = -1,
    ) -> None:
        self._require_optimizer(optimizer)
        if total_steps is not None:
            self.total_steps = _positive_int("total_steps", total_steps)
        elif epochs is not None and steps_per_epoch is not None:
            self.total_steps = _positive_int("epochs", epochs)
            self.total_steps *= _positive_int("steps_per_epoch", steps_per_epoch)
        else:
            raise ValueError("OneCycleLR: pass total_steps, or epochs and steps_per_epoch")
        if not isinstance(pct_start, float) or not 0 <= pct_start <= 1:
            raise ValueError(
                f"OneCycleLR: pct_start must be a float between 0 and 1, got {pct_start!r}"
            )
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"OneCycleLR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}"
            )
        self.optimizer = optimizer
        self._schedule_phases = self._phases(pct_start, three_phase)
        self._anneal_func_type = anneal_strategy
        highs = for_each_group("max_lr", optimizer, max_lr)
        if last_epoch == -1:
            for group, high in zip(optimizer.param_groups, highs, strict=True):
                group["initial_lr"] = high / div_factor
                group["max_lr"] = high
                group["min_lr"] = group["initial_lr"] / final_div_factor
        self.cycle_momentum = cycle_momentum
        self._begin_momentum(base_momentum, max_momentum, last_epoch)
        super().__init__(optimizer, last_epoch)

    def _phases(self, pct_start: float, three_phase: bool) -> list[dict[str, Any]]:
        """Where each phase ends, and the keys of a group between which it moves."""
        rise = pct_start * self.total_steps
        ends = [rise - 1, 2 * rise - 2] if three_phase else [rise - 1]
        lrs = ["initial_lr", "max_lr", *(["initial_lr"] if three_phase else []), "min_lr"]
        momenta = ["max_momentum", "base_momentum", "max_momentum", "max_momentum"]
        return [
            {
                "end_step": end,
                "start_lr": lrs[i],
                "end_lr": lrs[i + 1],
                "start_momentum": momenta[i],
                "end_momentum": momenta[i + 1],
            }
            for i, end in enumerate([*ends, self.total_steps - 1])
        ]

    def _between(self, start: float, end: float, done: float) -> float:
        if self._anneal_func_type == "linear":
            return (end - start) * done + start
        return end + (start - end) / 2 * (math.cos(math.pi * done) + 1)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        t = self.last_epoch
        if t > self.total_steps:
            raise ValueError(
                f"OneCycleLR: step {t} is beyond total_steps={self.total_steps}; the cycle is over"
            )
        start: float = 0
        for phase in self._schedule_phases:
            if t <= phase["end_step"]:
                break
            start = phase["end_step"]
        else:
            start = self._schedule_phases[-2]["end_step"]
        length = phase["end_step"] - start
        done = (t - start) / length if length else 1.0
        for group in self.optimizer.param_groups:
            if self.cycle_momentum:
                ends = group[phase["start_momentum"]], group[phase["end_momentum"]]
                self._set_momentum(group, self._between(*ends, done))
        return [
            self._between(group[phase["start_lr"]], group[phase["end_lr"]], done)
            for group in self.optimizer.param_groups
        ]
