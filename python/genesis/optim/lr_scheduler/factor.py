"""Schedules that multiply the learning rate."""

from __future__ import annotations

from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from genesis.optim.lr_scheduler.base import LRScheduler, Rate, for_each_group, rates, state_of
from genesis.optim.optimizer import Optimizer

Factor = Callable[[int], float]


class _Chainable(LRScheduler):
    """A subclass defines the factor of this step, and the rate as a function of the initial one."""

    def _ratio(self) -> float:
        raise NotImplementedError(f"{type(self).__name__} does not define _ratio()")

    def _total(self) -> float:
        raise NotImplementedError(f"{type(self).__name__} does not define _total()")

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        ratio = self._ratio()
        return [lr * ratio for lr in rates(self.optimizer)]

    def _get_closed_form_lr(self) -> list[Rate]:
        total = self._total()
        return [lr * total for lr in self.base_lrs]


class StepLR(_Chainable):
    """Multiplies the rate by ``gamma`` every ``step_size`` steps.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = StepLR(optimizer, step_size=2, gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self, optimizer: Optimizer, step_size: int, gamma: float = 0.1, last_epoch: int = -1
    ) -> None:
        self.step_size = step_size
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        return 1.0 if self.last_epoch == 0 or self.last_epoch % self.step_size else self.gamma

    def _total(self) -> float:
        return float(self.gamma ** (self.last_epoch // self.step_size))


class MultiStepLR(_Chainable):
    """Multiplies the rate by ``gamma`` at each milestone.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    >>> for _ in range(4):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        milestones: Iterable[int],
        gamma: float = 0.1,
        last_epoch: int = -1,
    ) -> None:
        self.milestones = Counter(milestones)
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        return float(self.gamma ** self.milestones[self.last_epoch])

    def _total(self) -> float:
        passed = bisect_right(sorted(self.milestones.elements()), self.last_epoch)
        return float(self.gamma**passed)


class ConstantLR(_Chainable):
    """Multiplies the rate by ``factor`` until step ``total_iters``.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> ConstantLR(optimizer, factor=0.5, total_iters=4).get_last_lr()
    [0.5]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        factor: float = 1.0 / 3,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 <= factor <= 1:
            raise ValueError(f"ConstantLR: factor must be between 0 and 1, got {factor}")
        self.factor = factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        if self.last_epoch == 0:
            return self.factor
        return 1 / self.factor if self.last_epoch == self.total_iters else 1.0

    def _total(self) -> float:
        return 1.0 if self.last_epoch >= self.total_iters else self.factor


class LinearLR(_Chainable):
    """Multiplies the rate by a factor that goes from ``start_factor`` to ``end_factor``.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = LinearLR(optimizer, start_factor=0.5, total_iters=2)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        start_factor: float = 1.0 / 3,
        end_factor: float = 1.0,
        total_iters: int = 5,
        last_epoch: int = -1,
    ) -> None:
        if not 0 < start_factor <= 1:
            raise ValueError(
                f"LinearLR: start_factor must be above 0 and at most 1, got {start_factor}"
            )
        if not 0 <= end_factor <= 1:
            raise ValueError(f"LinearLR: end_factor must be between 0 and 1, got {end_factor}")
        self.start_factor = start_factor
        self.end_factor = end_factor
        self.total_iters = total_iters
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        if self.last_epoch == 0:
            return self.start_factor
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        rise = self.end_factor - self.start_factor
        return 1 + rise / (self.total_iters * self.start_factor + (self.last_epoch - 1) * rise)

    def _total(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return self.start_factor + (self.end_factor - self.start_factor) * done


class ExponentialLR(_Chainable):
    """Multiplies the rate by ``gamma`` in every step.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = ExponentialLR(optimizer, gamma=0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def __init__(self, optimizer: Optimizer, gamma: float, last_epoch: int = -1) -> None:
        self.gamma = gamma
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        return 1.0 if self._is_initial else self.gamma

    def _total(self) -> float:
        return float(self.gamma**self.last_epoch)


class PolynomialLR(_Chainable):
    """The first rate times (1 - t / total_iters) ** power, 0 in the end.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = PolynomialLR(optimizer, total_iters=4)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self, optimizer: Optimizer, total_iters: int = 5, power: float = 1.0, last_epoch: int = -1
    ) -> None:
        self.total_iters = total_iters
        self.power = power
        super().__init__(optimizer, last_epoch)

    def _ratio(self) -> float:
        if self._is_initial or self.last_epoch > self.total_iters:
            return 1.0
        left = [1 - t / self.total_iters for t in (self.last_epoch, self.last_epoch - 1)]
        return float((left[0] / left[1]) ** self.power)

    def _total(self) -> float:
        done = min(self.total_iters, self.last_epoch) / self.total_iters
        return float((1 - done) ** self.power)


class _WithFactors(LRScheduler):
    """Has functions of the step, one for each group."""

    lr_lambdas: list[Factor]

    def __init__(
        self,
        optimizer: Optimizer,
        lr_lambda: Factor | list[Factor],
        last_epoch: int = -1,
        verbose: bool = False,
    ) -> None:
        self._require_optimizer(optimizer)
        self.verbose = verbose
        self.lr_lambdas = for_each_group(f"{type(self).__name__}: lr_lambda", optimizer, lr_lambda)
        for factor in self.lr_lambdas:
            if not callable(factor):
                raise TypeError(
                    f"{type(self).__name__}: lr_lambda must be a function of the step, got "
                    f"{type(factor).__name__}"
                )
        super().__init__(optimizer, last_epoch)

    def _set(self, values: Sequence[Rate]) -> None:
        super()._set(values)
        if self.verbose:
            print(f"{type(self).__name__}: step {self.last_epoch}, learning rates {self._last_lr}")

    def state_dict(self) -> dict[str, Any]:
        state = {key: value for key, value in super().state_dict().items() if key != "verbose"}
        return {**state, "lr_lambdas": [state_of(f) for f in self.lr_lambdas]}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        super().load_state_dict({k: v for k, v in state_dict.items() if k != "lr_lambdas"})
        for factor, state in zip(self.lr_lambdas, state_dict["lr_lambdas"], strict=True):
            if state is not None:
                factor.__dict__.update(state)


class LambdaLR(_WithFactors):
    """The first rate times a function of the step, or one function for each group.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = LambdaLR(optimizer, lambda step: 1 / (1 + step))
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        return [
            lr * factor(self.last_epoch)
            for factor, lr in zip(self.lr_lambdas, self.base_lrs, strict=True)
        ]


class MultiplicativeLR(_WithFactors):
    """The rate times a function of the step, in every step after the first.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = MultiplicativeLR(optimizer, lambda step: 0.5)
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.5]
    """

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        current = rates(self.optimizer)
        if self._is_initial:
            return current
        return [
            lr * factor(self.last_epoch)
            for factor, lr in zip(self.lr_lambdas, current, strict=True)
        ]
