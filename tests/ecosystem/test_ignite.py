"""ignite: an engine with a metric and a checkpoint."""

import ignite.engine
import ignite.handlers
import ignite.metrics
import torch

from .helpers import fill, wave


def test_engine(check, tmp_path):
    model = fill(torch.nn.Linear(4, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    data = [(wave(4, 4, start=float(i)), torch.tensor([0, 1, 2, 1])) for i in range(3)]
    loss = torch.nn.functional.cross_entropy
    trainer = ignite.engine.create_supervised_trainer(model, optimizer, loss)
    saver = ignite.handlers.Checkpoint(
        {"model": model}, ignite.handlers.DiskSaver(str(tmp_path), require_empty=False)
    )
    trainer.add_event_handler(ignite.engine.Events.EPOCH_COMPLETED, saver)
    state = trainer.run(data, max_epochs=2)
    judge = ignite.engine.create_supervised_evaluator(
        model, {"accuracy": ignite.metrics.Accuracy(), "loss": ignite.metrics.Loss(loss)}
    )
    metrics = judge.run(data).metrics
    check(last=state.output, accuracy=metrics["accuracy"], loss=metrics["loss"])
    assert torch.equal(torch.load(next(tmp_path.glob("*.pt")))["weight"], model.weight)
