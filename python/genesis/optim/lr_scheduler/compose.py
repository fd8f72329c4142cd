"""Composite schedules."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Sequence
from typing import Any

from genesis.optim.lr_scheduler.base import LRScheduler, rates, set_rate
from genesis.optim.lr_scheduler.plateau import ReduceLROnPlateau
from genesis.optim.optimizer import Optimizer


class _Composed(LRScheduler):
    _schedulers: list[LRScheduler]

    def _check(self, schedulers: Sequence[LRScheduler], optimizer: Optimizer) -> None:
        name = type(self).__name__
        for i, scheduler in enumerate(schedulers):
            if isinstance(scheduler, ReduceLROnPlateau):
                raise ValueError(
                    f"{name}: scheduler {i} is a ReduceLROnPlateau, whose step() needs a result; "
                    "step it by itself"
                )
            if not isinstance(scheduler, LRScheduler):
                raise TypeError(f"{name}: scheduler {i} is a {type(scheduler).__name__}")
            if scheduler.optimizer is not optimizer:
                raise ValueError(f"{name}: scheduler {i} belongs to another optimizer")

    def state_dict(self) -> dict[str, Any]:
        return {**super().state_dict(), "_schedulers": [s.state_dict() for s in self._schedulers]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "_schedulers"})
        for scheduler, state in zip(self._schedulers, state_dict["_schedulers"], strict=True):
            scheduler.load_state_dict(state)


class SequentialLR(_Composed):
    """One schedule after the other: the next begins at each milestone.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> warmup = genesis.optim.lr_scheduler.ConstantLR(optimizer, factor=0.1, total_iters=2)
    >>> decay = genesis.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = SequentialLR(optimizer, [warmup, decay], milestones=[2])
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        schedulers: list[LRScheduler],
        milestones: list[int],
        last_epoch: int = -1,
    ) -> None:
        if not schedulers:
            raise ValueError("SequentialLR: there are no schedulers")
        self._check(schedulers, optimizer)
        if len(milestones) != len(schedulers) - 1:
            raise ValueError(
                f"SequentialLR: {len(schedulers)} schedulers need {len(schedulers) - 1} "
                f"milestones, got {len(milestones)}"
            )
        self._schedulers = schedulers
        self._milestones = milestones
        self.last_epoch = last_epoch + 1
        self.optimizer = optimizer
        # Each made its first step when it was created; now only the first of them may.
        for group in optimizer.param_groups:
            set_rate(group, group["initial_lr"])
        _take_back_a_step(self)
        self._initial_step()

    def _initial_step(self) -> None:
        first = self._schedulers[bisect_right(self._milestones, 0)]
        first._initial_step()
        self._last_lr = first.get_last_lr()

    def step(self) -> None:  # type: ignore[override]
        """Set the rates of the next step."""
        self.last_epoch += 1
        i = bisect_right(self._milestones, self.last_epoch)
        scheduler = self._schedulers[i]
        if i > 0 and self._milestones[i - 1] == self.last_epoch:
            scheduler._update_lr(0)
        else:
            scheduler.step()
        self._last_lr = scheduler.get_last_lr()


def _take_back_a_step(scheduler: LRScheduler) -> None:
    if isinstance(scheduler, _Composed):
        for part in scheduler._schedulers:
            _take_back_a_step(part)
    else:
        scheduler.last_epoch -= 1


class ChainedScheduler(_Composed):
    """Several schedules at once: each changes what the ones before it set.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> constant = genesis.optim.lr_scheduler.ConstantLR(optimizer, factor=0.5, total_iters=4)
    >>> decay = genesis.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.5)
    >>> scheduler = ChainedScheduler([constant, decay], optimizer)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, schedulers: Sequence[LRScheduler], optimizer: Optimizer | None = None
    ) -> None:
        if not schedulers:
            raise ValueError("ChainedScheduler: there are no schedulers")
        optimizer = optimizer or schedulers[0].optimizer
        self._check(schedulers, optimizer)
        self._schedulers = list(schedulers)
        self.optimizer = optimizer
        self._last_lr = rates(optimizer)

    def _initial_step(self) -> None:
        for scheduler in self._schedulers:
            scheduler._initial_step()
        self._last_lr = rates(self.optimizer)

    def step(self) -> None:  # type: ignore[override]
        """Step each of them."""
        for scheduler in self._schedulers:
            scheduler.step()
        self._last_lr = rates(self.optimizer)
