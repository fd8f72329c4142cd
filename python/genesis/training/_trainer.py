"""The training loop: steps, epochs, validation, checkpoints, and what is called in between.

Read `fit`, `_run_epoch` and `_train_batch` first. A checkpoint is only written after an update of
the model, never between the batches of an accumulated one, so that no gradients have to be saved.
"""

from __future__ import annotations

import contextlib
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.amp import GradScaler, autocast
from genesis.nn import BCEWithLogitsLoss, Module
from genesis.nn.utils import clip_grad_norm_, clip_grad_value_
from genesis.optim import lr_scheduler
from genesis.optim.swa_utils import AveragedModel, get_ema_multi_avg_fn
from genesis.report import History, Report
from genesis.training import _batches, _choices, _progress
from genesis.training._job import Job
from genesis.training._measures import Measures, named
from genesis.training._report import make_report
from genesis.training._signals import Interrupted, Signals
from genesis.training._store import Store
from genesis.training.callbacks import as_callback

_PRECISIONS = {"float32": None, "bfloat16": _C.bfloat16, "float16": _C.float16}


@dataclass
class Step:
    """What `Trainer.compute` finds for a batch.

    ``output`` and ``target`` go to the metrics; ``measures`` are averaged over the epoch, weighted
    by ``size``, the number of samples.
    """

    loss: Tensor
    output: Any = None
    target: Any = None
    measures: dict[str, float] = field(default_factory=dict)
    size: int | None = None


class Trainer:
    """Trains a model; `fit` makes one. Its arguments are described there.

    A subclass may define `compute` for batches or losses of another form, and `validate`.

    >>> x = genesis.randn(64, 3)
    >>> trainer = Trainer(genesis.nn.Linear(3, 1), genesis.nn.MSELoss())
    >>> history = trainer.fit((x, x.sum(1, keepdim=True)), epochs=2)
    >>> trainer.epoch, trainer.step, len(history.losses)
    (2, 4, 4)
    """

    def __init__(
        self,
        model: Module,
        loss: Callable[[Any, Any], Tensor] | None = None,
        *,
        optimizer: Any = None,
        schedule: Any = None,
        schedule_every: str = "step",
        metrics: Any = None,
        callbacks: Iterable[Any] = (),
        step: Callable[[Module, Any], Any] | None = None,
        checkpoint: str | os.PathLike[str] | None = None,
        resume: bool = True,
        save_every: float = 60.0,
        keep: int | None = 2,
        log: Any = None,
        precision: str = "float32",
        clip_norm: float | None = None,
        clip_value: float | None = None,
        accumulate: int = 1,
        ema: float | None = None,
        batch_size: int = 32,
    ) -> None:
        self.job = Job.current()
        wrapped = isinstance(model, Module) and hasattr(model, "no_sync")
        self.model: Module = model.module if wrapped else model
        self.loss = loss
        self.step_function = step
        self._check(precision, schedule_every, clip_norm, clip_value, accumulate, ema)
        self.precision = precision
        self.clip_norm = clip_norm
        self.clip_value = clip_value
        self.accumulate = accumulate
        self.batch_size = batch_size
        self.optimizer: Any = _choices.optimizer(optimizer, self.model)
        self.schedule: Any = schedule if hasattr(schedule, "state_dict") else None
        by_loss = isinstance(schedule, lr_scheduler.ReduceLROnPlateau)
        self.schedule_every = "epoch" if by_loss else schedule_every
        self._schedule_request = schedule
        self.scaler = GradScaler() if precision == "float16" else None
        self.ema: AveragedModel | None = None
        if ema is not None:
            self.ema = AveragedModel(self.model, multi_avg_fn=get_ema_multi_avg_fn(ema))
        self.ema_decay = ema
        self.callbacks = [as_callback(c) for c in callbacks]
        self.measures = Measures(named(metrics, isinstance(loss, BCEWithLogitsLoss)))
        self.checkpoint = None if checkpoint is None else os.fspath(checkpoint)
        self.resume = resume
        self.save_every = save_every
        self.keep = keep
        self.console = _progress.console_for(log, self.is_main)
        self.history = History()
        self.losses: list[float] = []  # of this rank, in the epoch so far
        self.step = 0  # updates of the model
        self.batches = 0  # of the epoch so far
        self.epochs = 0  # how many the run has
        self.stopped = False
        self.seconds = 0.0  # of the epoch so far
        self.loader: Any = None
        self._training: Module = model
        if self.job.size > 1 and not wrapped:
            from genesis.distributed import DistributedDataParallel

            self._training = DistributedDataParallel(self.model)
        self._network = self._training

    def _check(
        self, precision: str, every: str, norm: float | None, value: float | None, accumulate: int,
        ema: float | None,
    ) -> None:  # fmt: skip
        if not isinstance(self.model, Module):
            raise TypeError(f"Trainer: model must be a Module, got {type(self.model).__name__}")
        own = type(self).compute is not Trainer.compute
        if not callable(self.loss) and self.step_function is None and not own:
            raise TypeError(
                "Trainer: pass loss=function(output, target), such as genesis.nn.MSELoss(), or "
                f"step=function(model, batch); got loss={self.loss!r}"
            )
        if precision not in _PRECISIONS:
            raise ValueError(
                f"Trainer: precision must be one of {list(_PRECISIONS)}, got {precision!r}"
            )
        if every not in ("step", "epoch"):
            raise ValueError(f'Trainer: schedule_every must be "step" or "epoch", got {every!r}')
        for name, limit in (("clip_norm", norm), ("clip_value", value)):
            if limit is not None and not limit > 0:
                raise ValueError(f"Trainer: {name} must be positive or None, got {limit!r}")
        if type(accumulate) is not int or accumulate < 1:
            raise ValueError(f"Trainer: accumulate must be a positive int, got {accumulate!r}")
        if ema is not None and not 0 < ema < 1:
            raise ValueError(f"Trainer: ema must be between 0 and 1, such as 0.999, got {ema!r}")

    # ---- what is known about a run --------------------------------------------------------------

    @property
    def rank(self) -> int:
        """The rank of this process in a distributed job; 0 otherwise."""
        return self.job.rank

    @property
    def is_main(self) -> bool:
        """Whether this rank logs and saves."""
        return self.job.rank == 0

    @property
    def epoch(self) -> int:
        """How many epochs are complete."""
        return len(self.history.epochs)

    @property
    def tables(self) -> dict[str, Tensor]:
        """The latest matrices of metrics by name, such as "val_confusion_matrix"."""
        return self.measures.tables

    @property
    def evaluated(self) -> Module:
        """The module that validation uses: averaged weights with ``ema``, else the model."""
        return self.model if self.ema is None else self.ema.module

    def settings(self) -> dict[str, Any]:
        """All settings of the run as plain values, for logs and reports."""
        groups = self.optimizer.param_groups[0]
        numbers = {k: v for k, v in groups.items() if isinstance(v, (int, float, bool, tuple))}
        found: dict[str, Any] = {
            "model": type(self.model).__name__,
            "parameters": sum(p.numel() for p in self.model.parameters()),
            "epochs": self.epochs,
            "optimizer": type(self.optimizer).__name__,
            "optimizer_options": numbers,
            "schedule": _choices.schedule_name(self.schedule, self._schedule_request),
            "schedule_every": self.schedule_every,
            "precision": self.precision,
            "clip_norm": self.clip_norm,
            "clip_value": self.clip_value,
            "accumulate": self.accumulate,
            "ema": self.ema_decay,
            "metrics": list(self.measures.metrics),
            "checkpoint": self.checkpoint,
            "save_every": self.save_every,
            "ranks": self.job.size,
            "threads": _C.get_num_threads(),
        }
        size = getattr(self.loader, "batch_size", None)
        if size is not None:
            found["batch_size"] = size
        return found

    def stop(self) -> None:
        """End training after the epoch at hand."""
        self.stopped = True

    # ---- what a subclass may replace -------------------------------------------------------------

    def compute(self, batch: Any) -> Step:
        """The loss of a batch ``(input, ..., target)``, or what ``step=`` returned for it.

        ``self.network`` is the module to call: it is other than ``self.model`` when ranks train
        together, and in validation with ``ema``.
        """
        if self.step_function is not None:
            return _as_step(self.step_function(self.network, batch))
        inputs, target = _batches.split(batch)
        output = self.network(*inputs)
        assert self.loss is not None
        return Step(self.loss(output, target), output, target)

    @property
    def network(self) -> Module:
        """The module that `compute` calls."""
        return self._network

    def validate(self, data: Any) -> dict[str, float]:
        """Measures after an epoch, of a pass over ``validation=``, named "val_..."."""
        return {} if data is None else self.evaluate(data, prefix="val_")

    # ---- the loop -------------------------------------------------------------------------------

    def fit(self, data: Any, epochs: int = 1, validation: Any = None) -> History:
        """Train until ``epochs`` epochs are complete, in all calls and resumed runs together."""
        if type(epochs) is not int or epochs < 1:
            raise ValueError(f"fit: epochs must be a positive int, got {epochs!r}")
        self.epochs = epochs
        self.loader = _batches.loader("data", data, self.batch_size, True, self.job)
        if validation is not None:
            validation = _batches.loader("validation", validation, self.batch_size, False, self.job)
        steps = _batches.length(self.loader)
        if self.schedule is None:
            self.schedule = _choices.schedule(
                self._schedule_request, self.optimizer, self.schedule_every, self._updates(steps),
                epochs,
            )  # fmt: skip
        store = None if self.checkpoint is None else Store(self, self.checkpoint, self.keep)
        if store is not None and store.restore():
            self.console.line(f"resumed after epoch {self.epoch}, step {self.step}")
        self.console.data({"event": "begin", **self.settings()})
        with (
            Signals(store is not None, patience=10 if self.job.size > 1 else 0) as signals,
            _progress.Progress(self.console, epochs, self._updates(steps)) as progress,
        ):
            self._call("on_fit_begin")
            while self.epoch < epochs and not self.stopped:
                self._run_epoch(steps, validation, store, signals, progress)
        if self.ema is not None and self.ema.n_averaged:
            self.model.load_state_dict(self.ema.module.state_dict())
        self._call("on_fit_end")
        return self.history

    def _run_epoch(
        self, steps: int | None, validation: Any, store: Store | None, signals: Signals,
        progress: _progress.Progress,
    ) -> None:  # fmt: skip
        epoch = self.epoch
        _batches.set_epoch(self.loader, epoch)
        self._call("on_epoch_begin")
        self.model.train()
        start = time.perf_counter() - self.seconds
        pending = Measures({})  # of the batches since the last update
        count = 0
        for batch in self.loader:
            self.batches += 1
            count += 1
            last = count == self.accumulate or self.batches == steps
            self._train_batch(batch, pending, last or steps is None)
            self.seconds = time.perf_counter() - start
            if last:
                self._update(count, pending)
                count = 0
                progress.step(epoch, self._updates(self.batches) or 0, self._so_far)
                self._save_if_asked(store, signals, epoch)
        if count:  # fewer batches than usual are left, which only the end could tell
            self._update(count, pending)
        self._end_epoch(validation, store, signals, progress)

    def _train_batch(self, batch: Any, pending: Measures, sync: bool) -> None:
        """Add the gradients of a batch."""
        apart = contextlib.nullcontext() if sync else getattr(
            self._training, "no_sync", contextlib.nullcontext)()  # fmt: skip
        with apart:
            with self.autocast():
                found = self.compute(batch)
            loss = found.loss if self.accumulate == 1 else found.loss / self.accumulate
            (loss if self.scaler is None else self.scaler.scale(loss)).backward()
        size = _batches.size(batch) if found.size is None else found.size
        values = {"loss": found.loss.item(), **found.measures}
        pending.add(values, size)
        self.measures.add(values, size)
        self.measures.update(found.output, found.target)

    def _update(self, count: int, pending: Measures) -> None:
        """One step of the optimizer with the gradients of ``count`` batches."""
        clips = self.clip_norm is not None or self.clip_value is not None
        scale = None
        if self.scaler is not None:
            scale = self.scaler.get_scale()
            if clips:
                self.scaler.unscale_(self.optimizer)
        if clips or count != self.accumulate:
            self._change_gradients(self.accumulate / count)
        if self.scaler is None:
            self.optimizer.step()
        else:
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()
        skipped = scale is not None and self.scaler.get_scale() < scale  # type: ignore[union-attr]
        if self.schedule is not None and self.schedule_every == "step" and not skipped:
            self.schedule.step()
        if self.ema is not None:
            self.ema.update_parameters(self.model)
        self.step += 1
        values = pending.means()
        pending.reset()
        self.losses.append(values["loss"])
        self._call("on_step_end", values)

    def _change_gradients(self, factor: float) -> None:
        """Multiply gradients whose losses were divided by more batches than there were; clip."""
        parameters = [p for group in self.optimizer.param_groups for p in group["params"]]
        if factor != 1:
            for p in parameters:
                if p.grad is not None:
                    p.grad.mul_(factor)
        if self.clip_norm is not None:
            clip_grad_norm_(parameters, self.clip_norm)
        if self.clip_value is not None:
            clip_grad_value_(parameters, self.clip_value)

    def _end_epoch(
        self, validation: Any, store: Store | None, signals: Signals,
        progress: _progress.Progress,
    ) -> None:  # fmt: skip
        epoch = self.epoch
        rate = sum(self.job.gather(self.measures.samples)) / max(self.seconds, 1e-9)
        of_ranks = zip(*self.job.gather(self.losses), strict=True)
        self.history.losses += [sum(step) / self.job.size for step in of_ranks]
        self.losses = []
        entry = self.measures.result(self.job)
        entry.update(self.validate(validation))
        if self.schedule is not None and self.schedule_every == "epoch":
            self._step_schedule(entry)
        shown = {**entry, "samples_per_second": rate}
        progress.epoch(epoch, shown)
        self.console.data({"event": "epoch", "epoch": epoch + 1, **shown})
        self.history.epochs.append({**entry, "seconds": self.seconds, "samples_per_second": rate})
        self.measures.reset()
        self.seconds, self.batches = 0.0, 0
        self._call("on_epoch_end", dict(self.history.epochs[-1]))
        if store is not None and (self.epoch >= self.epochs or self.stopped):
            store.save()
        if self.epoch < self.epochs:
            self._save_if_asked(store, signals, epoch)

    def _step_schedule(self, entry: dict[str, float]) -> None:
        if isinstance(self.schedule, lr_scheduler.ReduceLROnPlateau):
            self.schedule.step(entry.get("val_loss", entry["loss"]))
        else:
            self.schedule.step()

    def _so_far(self) -> dict[str, float]:
        rate = self.measures.samples / max(self.seconds, 1e-9)
        return {**self.measures.means(), "samples_per_second": rate}

    def _updates(self, steps: int | None) -> int | None:
        return None if steps is None else -(-steps // self.accumulate)

    def _save_if_asked(self, store: Store | None, signals: Signals, epoch: int) -> None:
        """Save when it is time; stop if a rank was interrupted."""
        due = store is not None and self.is_main and store.age() >= self.save_every
        number, save = self.job.largest([signals.number, int(due)])
        if store is not None and (number or save):
            store.save()
        if number:
            raise Interrupted(epoch, self.step, number, self.checkpoint)

    def _call(self, event: str, *arguments: Any) -> None:
        for callback in self.callbacks:
            method = getattr(callback, event, None)
            if method is not None:
                method(self, *arguments)

    def autocast(self) -> contextlib.AbstractContextManager[Any]:
        """The context in which the model runs: mixed precision, or nothing."""
        dtype = _PRECISIONS[self.precision]
        return contextlib.nullcontext() if dtype is None else autocast("cpu", dtype)

    # ---- without training -----------------------------------------------------------------------

    @contextlib.contextmanager
    def _evaluating(self) -> Any:
        """Evaluation mode without gradients, of the module that validation uses."""
        before, training = self._network, self.model.training
        self._network = self.evaluated
        self._network.eval()
        try:
            with _C.no_grad(), self.autocast():
                yield
        finally:
            self._network = before
            self.model.train(training)

    def evaluate(self, data: Any, prefix: str = "") -> dict[str, float]:
        """The loss and the metrics over ``data``, on all ranks together."""
        data = _batches.loader("data", data, self.batch_size, False, self.job)
        kept = self.measures.state_dict()
        self.measures.reset()
        try:
            with self._evaluating():
                for batch in data:
                    found = self.compute(batch)
                    size = _batches.size(batch) if found.size is None else found.size
                    self.measures.add({"loss": found.loss.item(), **found.measures}, size)
                    self.measures.update(found.output, found.target)
            return self.measures.result(self.job, prefix)
        finally:
            self.measures.load_state_dict(kept)

    def predict(self, data: Any) -> Tensor:
        """The outputs for all batches of ``data`` in one tensor.

        Batches are inputs, or tuples of inputs; of a tuple whose last item is a target, pass the
        inputs only.
        """
        if isinstance(data, Tensor):
            data = (data,)
        found = []
        with self._evaluating():
            for batch in _batches.loader("data", data, self.batch_size, False, Job()):
                inputs = batch if isinstance(batch, (tuple, list)) else (batch,)
                found.append(self._network(*inputs))
        return _C.cat(found)

    def report(self, title: str = "", summary: str = "", goal: str | None = None) -> Report:
        """A report of the run so far, with a graph and times of one step.

        The model, the optimizer and the random state are unchanged.
        """
        return make_report(self, title, summary, goal)


def _as_step(found: Any) -> Step:
    if isinstance(found, Step):
        return found
    if isinstance(found, Tensor):
        return Step(found)
    if isinstance(found, tuple) and len(found) == 2 and isinstance(found[1], dict):
        values = {k: float(v) for k, v in found[1].items()}
        return Step(found[0], measures=values)
    raise TypeError(
        "fit: step must return the loss, (loss, dict of measures) or a genesis.training.Step, got "
        f"{type(found).__name__}"
    )
