"""What every scheduler has."""

from __future__ import annotations

import functools
import types
import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar, cast

from genesis import _C
from genesis._C import Tensor
from genesis.optim.optimizer import Optimizer, ParamGroup

Step = TypeVar("Step", bound=Callable[..., Any])
Rate = Any  # a float, or a tensor of one element


def rates(optimizer: Optimizer, key: str = "lr") -> list[Rate]:
    """That option of each group; tensors are copied, since they are changed in place."""
    values = [group[key] for group in optimizer.param_groups]
    return [value.clone() if isinstance(value, Tensor) else value for value in values]


def set_rate(group: ParamGroup, value: Rate, key: str = "lr") -> None:
    if isinstance(group[key], Tensor):
        group[key].fill_(float(value))
    else:
        group[key] = value


def for_each_group(name: str, optimizer: Optimizer, value: Any) -> list[Any]:
    """A value, or one for each group, as a list for the groups."""
    n = len(optimizer.param_groups)
    values = list(value) if isinstance(value, (list, tuple)) else [value] * n
    if len(values) != n:
        raise ValueError(
            f"{name} has {len(values)} values, but the optimizer has {n} parameter groups"
        )
    return values


def state_of(function: Callable[..., Any] | None) -> dict[str, Any] | None:
    """What a callable object carries; a plain function carries nothing that could be saved."""
    if function is None or isinstance(function, types.FunctionType):
        return None
    return dict(function.__dict__)


def _repeatable(step: Step) -> Step:
    """A ``step`` that replays of a compiled function call again, as it computes in Python."""

    @functools.wraps(step)
    def repeated(self: LRScheduler, *args: Any, **kwargs: Any) -> Any:
        if _C._capturing():
            from genesis._compile import host as _host

            if _host.hosts is not None:
                if any(isinstance(x, Tensor) for x in (*args, *kwargs.values())):
                    _C._capture_interrupt("a scheduler's step is called with a tensor")
                return _host.repeated(self, functools.partial(repeated, self, *args, **kwargs))
        return step(self, *args, **kwargs)

    return cast(Step, repeated)


class LRScheduler:
    """Base class: ``get_lr`` gives the rates of step ``last_epoch``, one for each group.

    ``last_epoch=-1`` begins anew; another value resumes, with "initial_lr" in each group.

    >>> class Harmonic(LRScheduler):
    ...     def get_lr(self):
    ...         return [base / (1 + self.last_epoch) for base in self.base_lrs]
    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = Harmonic(optimizer)
    >>> for _ in range(3):
    ...     optimizer.step()
    ...     scheduler.step()
    >>> scheduler.get_last_lr()
    [0.25]
    """

    optimizer: Optimizer
    base_lrs: list[Rate]
    last_epoch: int
    _step_count: int
    _last_lr: list[Rate]
    _is_initial = False
    _get_lr_called_within_step = False

    def __init__(self, optimizer: Optimizer, last_epoch: int = -1) -> None:
        self._require_optimizer(optimizer)
        self.optimizer = optimizer
        for i, group in enumerate(optimizer.param_groups):
            if last_epoch == -1:
                lr = group["lr"]
                group.setdefault("initial_lr", lr.clone() if isinstance(lr, Tensor) else lr)
            elif "initial_lr" not in group:
                raise KeyError(
                    f"{type(self).__name__}: last_epoch={last_epoch} resumes, but group {i} has no "
                    "'initial_lr'; load the optimizer's state first, or begin with last_epoch=-1"
                )
        self.base_lrs = rates(optimizer, "initial_lr")
        self.last_epoch = last_epoch
        self._initial_step()

    def _require_optimizer(self, optimizer: Any) -> None:
        if not isinstance(optimizer, Optimizer):
            raise TypeError(
                f"{type(self).__name__}: expected an Optimizer, got {type(optimizer).__name__}; "
                "make the optimizer first and pass it"
            )

    def _initial_step(self) -> None:
        self._step_count = 0
        self._is_initial = True
        try:
            self.step()
        finally:
            self._is_initial = False

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "step" in cls.__dict__:
            cls.step = _repeatable(cls.step)  # type: ignore[method-assign]

    def get_last_lr(self) -> list[Rate]:
        """The rates that the last step set."""
        return self._last_lr

    def get_lr(self) -> list[Rate]:
        """The rates of step ``last_epoch``; to be called by ``step`` only."""
        raise NotImplementedError(f"{type(self).__name__} does not define get_lr()")

    def _warn_outside_step(self) -> None:
        if not self._get_lr_called_within_step:
            warnings.warn(
                f"{type(self).__name__}.get_lr() computes the next step; use get_last_lr() to read "
                "the current rates",
                stacklevel=3,
            )

    @_repeatable
    def step(self, epoch: int | None = None) -> None:
        """Set the rates of the next step. With ``epoch``, which is deprecated, of that step."""
        if self._step_count == 1 and not self.optimizer._opt_called:
            warnings.warn(
                f"{type(self).__name__}.step() was called before optimizer.step(): the first "
                "learning rate of the schedule is skipped; call optimizer.step() first",
                stacklevel=3,
            )
        self._step_count += 1
        if epoch is not None:
            warnings.warn(
                f"{type(self).__name__}.step(epoch) is deprecated; call step() without it",
                stacklevel=3,
            )
        self._update_lr(epoch)

    def _update_lr(self, epoch: int | None = None) -> None:
        self.last_epoch = self.last_epoch + 1 if epoch is None else epoch
        jump = None if epoch is None else getattr(self, "_get_closed_form_lr", None)
        self._get_lr_called_within_step = True
        try:
            values = self.get_lr() if jump is None else jump()
        finally:
            self._get_lr_called_within_step = False
        self._set(values)

    def _set(self, values: Sequence[Rate]) -> None:
        for group, lr in zip(self.optimizer.param_groups, values, strict=True):
            set_rate(group, lr)
        self._last_lr = rates(self.optimizer)

    def state_dict(self) -> dict[str, Any]:
        """Everything but the optimizer. Of functions, only what callable objects carry."""
        return {key: value for key, value in self.__dict__.items() if key != "optimizer"}

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what ``state_dict`` returned."""
        self.__dict__.update(state_dict)


_LRScheduler = LRScheduler  # its name before PyTorch 2
