"""Scaling of losses, so that small gradients survive float16."""

from __future__ import annotations

import enum
import math
import warnings
from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.optim.optimizer import Optimizer


class _Stage(enum.Enum):
    READY = 0
    UNSCALED = 1
    STEPPED = 2


class GradScaler:
    """Scales losses, and unscales gradients before an optimizer step.

    If a gradient is infinite or NaN, the step is skipped and the scale is multiplied by
    ``backoff_factor``. After ``growth_interval`` consecutive steps with finite gradients, it is
    multiplied by ``growth_factor``.

    >>> p = genesis.nn.Parameter(genesis.ones(2))
    >>> optimizer, scaler = genesis.optim.SGD([p], lr=0.5), GradScaler(init_scale=1024.0)
    >>> scaler.scale((p * p).sum()).backward()
    >>> scaler.step(optimizer)
    >>> scaler.update()
    >>> p.tolist(), scaler.get_scale()
    ([0.0, 0.0], 1024.0)
    """

    def __init__(
        self,
        device: str = "cpu",
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if not isinstance(device, str):
            raise TypeError(
                f"GradScaler: device must be a str, got {device!r}; pass init_scale= by name"
            )
        if enabled and device != "cpu":
            warnings.warn(
                f"GradScaler: device {device!r} is not available; scaling is disabled; use 'cpu'",
                stacklevel=2,
            )
            enabled = False
        if enabled and not growth_factor > 1:
            raise ValueError(f"GradScaler: growth_factor must be above 1, got {growth_factor}")
        if enabled and not 0 < backoff_factor < 1:
            raise ValueError(
                f"GradScaler: backoff_factor must be between 0 and 1, got {backoff_factor}"
            )
        self._device = device
        self._enabled = enabled
        self._scale = float(init_scale)
        self._growth_factor = growth_factor
        self._backoff_factor = backoff_factor
        self._growth_interval = growth_interval
        self._growth_tracker = 0
        # Of each optimizer since the last update: how far it is, and whether all was finite.
        self._stages: dict[int, tuple[_Stage, bool]] = {}

    def scale(self, outputs: Any) -> Any:
        """The loss, or each of several losses, multiplied by the scale."""
        if not self._enabled:
            return outputs
        if isinstance(outputs, Tensor):
            return outputs * self._scale
        if isinstance(outputs, Iterable) and not isinstance(outputs, (str, bytes)):
            scaled = [self.scale(value) for value in outputs]
            return scaled if not isinstance(outputs, tuple) else tuple(scaled)
        raise TypeError(
            f"GradScaler.scale: expected tensors or iterables of them, got {type(outputs).__name__}"
        )

    def unscale_(self, optimizer: Optimizer) -> None:
        """Divide the gradients of an optimizer by the scale, e.g. before gradient clipping."""
        if not self._enabled:
            return
        stage, _ = self._stages.get(id(optimizer), (_Stage.READY, True))
        if stage is _Stage.UNSCALED:
            raise RuntimeError(
                "GradScaler.unscale_: was already called on this optimizer since the last update()"
            )
        if stage is _Stage.STEPPED:
            raise RuntimeError("GradScaler.unscale_: comes before step(); call update() first")
        grads = []
        for group in optimizer.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                if p.grad.dtype == _C.float16:
                    raise ValueError(
                        "GradScaler.unscale_: a gradient is float16 and may not hold the unscaled "
                        "values; keep parameters in float32 and use autocast"
                    )
                grads.append(p.grad._values() if p.grad.is_sparse else p.grad)
        if not grads:
            raise RuntimeError(
                "GradScaler.unscale_: no parameter of this optimizer has a gradient; call "
                "backward() first"
            )
        finite = _C._unscale_grads(grads, 1 / self._scale)
        self._stages[id(optimizer)] = (_Stage.UNSCALED, bool(finite))

    def step(self, optimizer: Optimizer, *args: Any, **kwargs: Any) -> Any:
        """Unscale the gradients if needed, and call ``optimizer.step`` if all are finite."""
        if not self._enabled:
            return optimizer.step(*args, **kwargs)
        if "closure" in kwargs or (args and callable(args[0])):
            raise RuntimeError(
                "GradScaler.step: closures are not supported, since each of their gradients would "
                "have to be unscaled; compute gradients before the step"
            )
        stage, finite = self._stages.get(id(optimizer), (_Stage.READY, True))
        if stage is _Stage.STEPPED:
            raise RuntimeError(
                "GradScaler.step: was already called on this optimizer since the last update()"
            )
        if stage is _Stage.READY:
            self.unscale_(optimizer)
            _, finite = self._stages[id(optimizer)]
        self._stages[id(optimizer)] = (_Stage.STEPPED, finite)
        return optimizer.step(*args, **kwargs) if finite else None

    def update(self, new_scale: float | Tensor | None = None) -> None:
        """Update the scale, after the steps of all optimizers, or set it to ``new_scale``."""
        if not self._enabled:
            return
        if new_scale is not None:
            value = float(new_scale)
            if not 0 < value < math.inf:
                raise ValueError(f"GradScaler.update: a scale must be positive, got {value}")
            self._scale = value
        elif not self._stages:
            raise RuntimeError(
                "GradScaler.update: there was no step() or unscale_() since the last update()"
            )
        elif all(finite for _, finite in self._stages.values()):
            self._growth_tracker += 1
            if self._growth_tracker == self._growth_interval:
                grown = self._scale * self._growth_factor
                self._scale = grown if grown <= 3.4028234663852886e38 else self._scale
                self._growth_tracker = 0
        else:
            self._scale *= self._backoff_factor
            self._growth_tracker = 0
        self._stages.clear()

    def is_enabled(self) -> bool:
        """Whether scaling is enabled."""
        return self._enabled

    def get_scale(self) -> float:
        """The current scale; 1 if scaling is disabled."""
        return self._scale if self._enabled else 1.0

    def get_growth_factor(self) -> float:
        """The factor by which the scale grows."""
        return self._growth_factor

    def set_growth_factor(self, new_factor: float) -> None:
        """Set the factor by which the scale grows."""
        self._growth_factor = new_factor

    def get_backoff_factor(self) -> float:
        """The factor of the scale after a skipped step."""
        return self._backoff_factor

    def set_backoff_factor(self, new_factor: float) -> None:
        """Set the factor of the scale after a skipped step."""
        self._backoff_factor = new_factor

    def get_growth_interval(self) -> int:
        """The number of consecutive steps after which the scale grows."""
        return self._growth_interval

    def set_growth_interval(self, new_interval: int) -> None:
        """Set the number of consecutive steps after which the scale grows."""
        self._growth_interval = new_interval

    def state_dict(self) -> dict[str, Any]:
        """The state, with PyTorch's keys; empty if disabled. Call it after ``update``."""
        if not self._enabled:
            return {}
        return {
            "scale": self._scale,
            "growth_factor": self._growth_factor,
            "backoff_factor": self._backoff_factor,
            "growth_interval": self._growth_interval,
            "_growth_tracker": self._growth_tracker,
        }

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Load the result of ``state_dict``."""
        if not self._enabled:
            return
        if not state_dict:
            raise RuntimeError(
                "GradScaler.load_state_dict: the state is empty, perhaps of a scaler that was not "
                "enabled"
            )
        self._scale = float(state_dict["scale"])
        self._growth_factor = state_dict["growth_factor"]
        self._backoff_factor = state_dict["backoff_factor"]
        self._growth_interval = state_dict["growth_interval"]
        self._growth_tracker = state_dict["_growth_tracker"]

    def __getstate__(self) -> dict[str, Any]:
        if self._stages:
            raise RuntimeError("GradScaler: can be pickled only after update()")
        return self.__dict__.copy()
