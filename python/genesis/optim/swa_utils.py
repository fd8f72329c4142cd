"""Averages of models over training: stochastic weight averaging and moving averages."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis._missing import explain
from genesis.nn.modules.batchnorm import _BatchNorm
from genesis.nn.modules.module import Module
from genesis.optim.lr_scheduler.base import LRScheduler, Rate, for_each_group
from genesis.optim.optimizer import Optimizer

__all__ = [
    "SWALR",
    "AveragedModel",
    "get_ema_avg_fn",
    "get_ema_multi_avg_fn",
    "get_swa_avg_fn",
    "get_swa_multi_avg_fn",
    "update_bn",
]

AverageOne = Callable[[Tensor, Tensor, Any], Tensor]
AverageAll = Callable[[list[Tensor], list[Tensor], Any], None]


def _require_decay(decay: float) -> None:
    if not 0 <= decay <= 1:
        raise ValueError(f"an exponential average needs a decay between 0 and 1, got {decay}")


def _move(averaged: list[Tensor], current: list[Tensor], weight: float) -> None:
    """Each tensor towards the other by ``weight``: the floating ones in one native call."""
    pairs = list(zip(averaged, current, strict=True))
    floating = [pair for pair in pairs if pair[0].is_floating_point()]
    _C._average_lists([a for a, _ in floating], [c for _, c in floating], weight)
    for a, c in pairs:
        if not a.is_floating_point():
            a.copy_((a + (c - a) * weight).to(a.dtype))


def get_ema_multi_avg_fn(decay: float = 0.999) -> AverageAll:
    """The moving average ``decay * averaged + (1 - decay) * current``, of all parameters at once.

    >>> average = [genesis.zeros(1)]
    >>> get_ema_multi_avg_fn(0.75)(average, [genesis.ones(1)], 1)
    >>> average[0]
    tensor([0.2500])
    """
    _require_decay(decay)

    @no_grad()
    def ema_update(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        _move(averaged, current, 1 - decay)

    return ema_update


def get_swa_multi_avg_fn() -> AverageAll:
    """The mean of all that were seen, of all parameters at once.

    >>> average = [genesis.zeros(1)]
    >>> get_swa_multi_avg_fn()(average, [genesis.ones(1)], 1)
    >>> average[0]
    tensor([0.5000])
    """

    @no_grad()
    def swa_update(averaged: list[Tensor], current: list[Tensor], num_averaged: Any) -> None:
        _move(averaged, current, 1 / (float(num_averaged) + 1))

    return swa_update


def get_ema_avg_fn(decay: float = 0.999) -> AverageOne:
    """The moving average of one parameter.

    >>> get_ema_avg_fn(0.75)(genesis.zeros(1), genesis.ones(1), 1)
    tensor([0.2500])
    """
    _require_decay(decay)

    @no_grad()
    def ema_update(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return decay * averaged + (1 - decay) * current

    return ema_update


def get_swa_avg_fn() -> AverageOne:
    """The mean of all that were seen, of one parameter.

    >>> get_swa_avg_fn()(genesis.zeros(1), genesis.ones(1), 1)
    tensor([0.5000])
    """

    @no_grad()
    def swa_update(averaged: Tensor, current: Tensor, num_averaged: Any) -> Tensor:
        return averaged + (current - averaged) / (float(num_averaged) + 1)

    return swa_update


class AveragedModel(Module):
    """A copy of a model whose parameters are an average over training.

    Call ``update_parameters(model)`` after each step of the optimizer. The average is the mean of
    all that were seen, unless ``avg_fn`` or ``multi_avg_fn`` says otherwise. Buffers are copied, or
    with ``use_buffers`` averaged too.

    >>> model = genesis.nn.Linear(1, 1, bias=False)
    >>> averaged = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    >>> for value in (1.0, 2.0, 3.0):
    ...     _ = model.weight.data.fill_(value)
    ...     averaged.update_parameters(model)
    >>> averaged.module.weight.item()
    2.25
    """

    n_averaged: Tensor

    def __init__(
        self,
        model: Module,
        device: Any = None,
        avg_fn: AverageOne | None = None,
        multi_avg_fn: AverageAll | None = None,
        use_buffers: bool = False,
    ) -> None:
        super().__init__()
        if avg_fn is not None and multi_avg_fn is not None:
            raise ValueError("AveragedModel: pass one of avg_fn and multi_avg_fn, not both")
        self.module = copy.deepcopy(model)
        if device is not None:
            self.module = self.module.to(device)
        self.register_buffer("n_averaged", _C.tensor(0, dtype=_C.int64))
        self.avg_fn = avg_fn
        self.multi_avg_fn = multi_avg_fn
        self.use_buffers = use_buffers

    def forward(self, *args: Any, **kwargs: Any) -> Any:
        return self.module(*args, **kwargs)

    @no_grad()
    def update_parameters(self, model: Module) -> None:
        """Take ``model`` into the average."""
        own, others = self._averaged(self.module), self._averaged(model)
        if int(self.n_averaged) == 0:
            for p, q in zip(own, others, strict=True):
                p.copy_(q)
        elif self.avg_fn is not None:
            for p, q in zip(own, others, strict=True):
                p.copy_(self.avg_fn(p, q, self.n_averaged))
        else:
            (self.multi_avg_fn or get_swa_multi_avg_fn())(own, others, self.n_averaged)
        if not self.use_buffers:
            for b, c in zip(self.module.buffers(), model.buffers(), strict=True):
                b.copy_(c)
        self.n_averaged += 1

    def _averaged(self, model: Module) -> list[Tensor]:
        buffers = model.buffers() if self.use_buffers else ()
        return [t.detach() for t in chain(model.parameters(), buffers)]


@no_grad()
def update_bn(loader: Iterable[Any], model: Module, device: Any = None) -> None:
    """Recompute the running statistics of batch norms with one pass over ``loader``.

    Items may be inputs, or lists and tuples that begin with them.

    >>> model = genesis.nn.BatchNorm1d(1)
    >>> update_bn([genesis.tensor([[1.0], [3.0]])], model)
    >>> model.running_mean
    tensor([2.])
    """
    norms = [module for module in model.modules() if isinstance(module, _BatchNorm)]
    if not norms:
        return
    momenta = [norm.momentum for norm in norms]
    training = model.training
    model.train()
    try:
        for norm in norms:
            norm.reset_running_stats()
            norm.momentum = None
        for item in loader:
            batch = item[0] if isinstance(item, (list, tuple)) else item
            model(batch if device is None else batch.to(device))
    finally:
        for norm, momentum in zip(norms, momenta, strict=True):
            norm.momentum = momentum
        model.train(training)


class SWALR(LRScheduler):
    """From the current rate to ``swa_lr`` in ``anneal_epochs`` steps, along a cosine or a line.

    >>> optimizer = genesis.optim.SGD([genesis.nn.Parameter(genesis.ones(1))], lr=1.0)
    >>> scheduler = SWALR(optimizer, swa_lr=0.5, anneal_epochs=2, anneal_strategy="linear")
    >>> optimizer.step()
    >>> scheduler.step()
    >>> scheduler.get_last_lr()
    [0.75]
    """

    def __init__(
        self,
        optimizer: Optimizer,
        swa_lr: float | list[float],
        anneal_epochs: int = 10,
        anneal_strategy: str = "cos",
        last_epoch: int = -1,
    ) -> None:
        self._require_optimizer(optimizer)
        lrs = for_each_group("SWALR: swa_lr", optimizer, swa_lr)
        for group, lr in zip(optimizer.param_groups, lrs, strict=True):
            group["swa_lr"] = lr
        if anneal_strategy not in ("cos", "linear"):
            raise ValueError(
                f"SWALR: anneal_strategy must be 'cos' or 'linear', got {anneal_strategy!r}"
            )
        if not isinstance(anneal_epochs, int) or anneal_epochs < 0:
            raise ValueError(
                f"SWALR: anneal_epochs must be an int of at least 0, got {anneal_epochs!r}"
            )
        self._anneal_strategy = anneal_strategy
        self.anneal_epochs = anneal_epochs
        super().__init__(optimizer, last_epoch)

    def _share(self, step: float) -> float:
        """The fraction completed after this many steps."""
        t = max(0.0, min(1.0, step / max(1, self.anneal_epochs)))
        return t if self._anneal_strategy == "linear" else (1 - math.cos(math.pi * t)) / 2

    def get_lr(self) -> list[Rate]:
        self._warn_outside_step()
        step = self._step_count - 1
        if self.anneal_epochs == 0:
            step = max(1, step)
        before, now = self._share(step - 1), self._share(step)
        rates = []
        for group in self.optimizer.param_groups:
            lr, target = group["lr"], group["swa_lr"]
            start = target if before == 1 else (lr - before * target) / (1 - before)
            rates.append(target * now + start * (1 - now))
        return rates


explain(globals())
