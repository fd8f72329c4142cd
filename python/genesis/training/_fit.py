"""Training in one call."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from typing import Any

from genesis._C import Tensor
from genesis.nn import Module
from genesis.report import History
from genesis.training._trainer import Trainer


def fit(
    model: Module,
    data: Any,
    loss: Callable[[Any, Any], Tensor] | None = None,
    *,
    epochs: int = 1,
    metrics: Any = None,
    validation: Any = None,
    optimizer: Any = None,
    schedule: Any = None,
    schedule_every: str = "step",
    callbacks: Iterable[Any] = (),
    step: Callable[[Module, Any], Any] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = True,
    save_every: float = 60.0,
    log: Any = None,
    report: str | os.PathLike[str] | None = None,
    precision: str = "float32",
    clip_norm: float | None = None,
    clip_value: float | None = None,
    accumulate: int = 1,
    ema: float | None = None,
    batch_size: int = 32,
) -> History:
    """Train a model and return the measured values.

    :param model: the module to train. Its weights are changed.
    :param data: a DataLoader, a Dataset, a tuple of tensors ``(x, y)``, or an iterable of batches
        ``(input, ..., target)``. A Dataset and tensors are shuffled into batches of ``batch_size``.
    :param loss: function of the output of the model and the target, for example
        ``nn.CrossEntropyLoss()``.
    :param epochs: passes over the data, resumed ones included.
    :param metrics: `genesis.metrics`, names such as ``"accuracy"``, or functions of output and
        target; one, a list, or a dict of names.
    :param validation: data for a pass without training after each epoch. Its measures are named
        ``val_loss`` and so on.
    :param optimizer: an Optimizer, or a function of the parameters that returns one. AdamW with its
        defaults if it is None.
    :param schedule: an LRScheduler, ``"cosine"`` or ``"linear"`` (with a warm-up of one twentieth),
        or a function ``(optimizer, steps)`` that returns an LRScheduler.
    :param schedule_every: whether the schedule moves after each ``"step"`` or each ``"epoch"``.
        ReduceLROnPlateau moves after epochs, by the validation loss.
    :param callbacks: objects with methods of `genesis.training.Callback`, or functions.
    :param step: ``function(model, batch)`` in place of ``loss``, for batches of another form.
        Returns the loss, ``(loss, measures)``, or a `genesis.training.Step`.
    :param checkpoint: a folder. The run is saved there every ``save_every`` seconds, at Ctrl-C and
        at the end; the same call resumes it, and ends bitwise equal to an unbroken run.
    :param resume: False raises if ``checkpoint`` holds a run already.
    :param log: None shows progress on a terminal only; True always, False never. ``"json"`` prints
        a JSON object per line, and a path appends them to a file.
    :param report: the path of an HTML report, written at the end.
    :param precision: ``"bfloat16"`` or ``"float16"`` for mixed precision; float16 scales the loss.
    :param clip_norm: the largest norm of all gradients together.
    :param clip_value: the largest absolute value of a gradient.
    :param accumulate: how many batches make one update of the model.
    :param ema: the decay of an exponential moving average of the weights, such as 0.999. Validation
        uses the averaged weights, and the model has them at the end.
    :param batch_size: of a Dataset or tensors; each rank has its own batches.

    Under ``genesis run -n N`` the ranks train together: each takes its share of the data, gradients
    are averaged, measures are those of all ranks, and rank 0 logs and saves.

    >>> x = genesis.randn(256, 2)
    >>> y = (x[:, 0] * x[:, 1] > 0).long()
    >>> model = genesis.nn.Sequential(
    ...     genesis.nn.Linear(2, 32), genesis.nn.ReLU(), genesis.nn.Linear(32, 2))
    >>> history = fit(model, (x, y), genesis.nn.CrossEntropyLoss(), epochs=40, metrics="accuracy",
    ...               optimizer=lambda p: genesis.optim.Adam(p, lr=1e-2))
    >>> history.last("accuracy") > 0.9
    True
    """
    trainer = Trainer(
        model, loss, optimizer=optimizer, schedule=schedule, schedule_every=schedule_every,
        metrics=metrics, callbacks=callbacks, step=step, checkpoint=checkpoint, resume=resume,
        save_every=save_every, log=log, precision=precision, clip_norm=clip_norm,
        clip_value=clip_value, accumulate=accumulate, ema=ema, batch_size=batch_size,
    )  # fmt: skip
    history = trainer.fit(data, epochs, validation)
    if report is not None and trainer.is_main:
        trainer.report().save(report)
    return history
