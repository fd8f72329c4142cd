"""Schedules along a cosine."""

from __future__ import annotations

import math

from genesis.optim.lr_scheduler.base import LRScheduler, Rate, rates
from genesis.optim.lr_scheduler.factor import LambdaLR
from genesis.optim.optimizer import Optimizer


def _half_wave(position: float) -> float:
    """1 at 0, 0 at 1, along a cosine."""
    return (1 + math.cos(math.pi * position)) / 2


class CosineAnnealingLR(LRScheduler):
    """From the first rate to ``eta_min`` in ``T_max`` steps along a cosine, and back again.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = CosineAnnealingLR(optimizer, T_max=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self, optimizer: Optimizer, T_max: int, eta_min: float = 0.0, last_epoch: int = -1
    ) -> None:
        self.T_max = T_max
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        current = rates(self.optimizer)
        if self._is_initial:
            return current
        if self._step_count == 1 and self.last_epoch > 0:
            return self._get_closed_form_lr()
        if (self.last_epoch - 1 - self.T_max) % (2 * self.T_max) == 0:
            # The rate is at its lowest, where a factor would keep it.
            rise = 1 - _half_wave(1 / self.T_max)
            return [
                lr + (base - self.eta_min) * rise
                for base, lr in zip(self.base_lrs, current, strict=True)
            ]
        ratio = _half_wave(self.last_epoch / self.T_max)
        ratio /= _half_wave((self.last_epoch - 1) / self.T_max)
        return [ratio * (lr - self.eta_min) + self.eta_min for lr in current]

    def _get_closed_form_lr(self) -> list[Rate]:
        height = _half_wave(self.last_epoch / self.T_max)
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


class CosineAnnealingWarmRestarts(LRScheduler):
    """Down a cosine in ``T_0`` steps, then from the top again, in ``T_mult`` times as many.

    ``step(epoch)`` may be given fractions of epochs.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = CosineAnnealingWarmRestarts(optimizer, T_0=2)
    >>> for _ in range(2):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [1.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        T_0: int,
        T_mult: int = 1,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        for name, value in (("T_0", T_0), ("T_mult", T_mult)):
            if not isinstance(value, int) or value < 1:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts: {name} must be a positive int, got {value!r}"
                )
        self.T_0 = T_0
        self.T_i = T_0
        self.T_mult = T_mult
        self.eta_min = eta_min
        self.T_cur: float = last_epoch
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        height = _half_wave(self.T_cur / self.T_i)
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]

    def step(self, epoch: float | None = None) -> None:
        """Set the rates of the next step, or of ``epoch``, which may be a fraction."""
        if epoch is None and self.last_epoch >= 0:
            epoch = self.last_epoch + 1
            self.T_cur += 1
            if self.T_cur >= self.T_i:
                self.T_cur %= self.T_i
                self.T_i *= self.T_mult
        else:
            epoch = 0 if epoch is None else epoch
            if epoch < 0:
                raise ValueError(
                    f"CosineAnnealingWarmRestarts.step: epoch must not be negative, got {epoch}"
                )
            self._find(epoch)
        self.last_epoch = math.floor(epoch)
        self._get_lr_called_within_step = True
        try:
            self._set(self.get_lr())
        finally:
            self._get_lr_called_within_step = False

    def _find(self, epoch: float) -> None:
        """The cycle that ``epoch`` is in, and the position there."""
        start, length = 0, self.T_0
        if self.T_mult == 1:
            start = int(epoch // length) * length
        while epoch >= start + length:
            start += length
            length *= self.T_mult
        self.T_cur, self.T_i = epoch - start, length


class WarmupCosineLR(LRScheduler):
    """Up a line from ``start_factor`` of the rate in ``warmup_steps``, then down a cosine.

    The rate reaches ``eta_min`` at step ``total_steps`` and stays there.

    >>> optimizer = genesis.optim.AdamW([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = WarmupCosineLR(optimizer, warmup_steps=2, total_steps=4)
    >>> seen = []
    >>> for _ in range(5):
    ...     seen.append(round(scheduler.get_last_lr()[0], 4))
    ...     optimizer.step()
    ...     scheduler.step()
    >>> seen
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        warmup_steps: int,
        total_steps: int,
        start_factor: float = 0.0,
        eta_min: float = 0.0,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= warmup_steps <= total_steps or total_steps < 1:
            raise ValueError(
                "WarmupCosineLR: 0 <= warmup_steps <= total_steps must hold, got "
                f"{warmup_steps} and {total_steps}"
            )
        if not 0 <= start_factor <= 1:
            raise ValueError(
                f"WarmupCosineLR: start_factor must be between 0 and 1, got {start_factor}"
            )
        self.warmup_steps = warmup_steps
        self.total_steps = total_steps
        self.start_factor = start_factor
        self.eta_min = eta_min
        super().__init__(optimizer, last_epoch)

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        return self._get_closed_form_lr()

    def _get_closed_form_lr(self) -> list[Rate]:
        t = self.last_epoch
        if t < self.warmup_steps:
            factor = self.start_factor + (1 - self.start_factor) * t / self.warmup_steps
            return [base * factor for base in self.base_lrs]
        done = (t - self.warmup_steps) / max(1, self.total_steps - self.warmup_steps)
        height = _half_wave(min(1.0, done))
        return [self.eta_min + (base - self.eta_min) * height for base in self.base_lrs]


def get_cosine_schedule_with_warmup(
    optimizer: Optimizer,
    num_warmup_steps: int,
    num_training_steps: int,
    num_cycles: float = 0.5,
    last_epoch: int = -1,
) -> LambdaLR:
    """A `LambdaLR`: up a line in the warm-up, then down ``num_cycles`` waves of a cosine to 0.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = get_cosine_schedule_with_warmup(optimizer, 2, 4)
    >>> [scheduler.lr_lambdas[0](step) for step in range(5)]
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """

    def factor(step: int) -> float:
        if step < num_warmup_steps:
            return step / max(1, num_warmup_steps)
        done = (step - num_warmup_steps) / max(1, num_training_steps - num_warmup_steps)
        return max(0.0, _half_wave(2 * num_cycles * done))

    return LambdaLR(optimizer, factor, last_epoch)
