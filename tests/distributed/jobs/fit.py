"""`genesis.fit` on several ranks: gradients, measures, checkpoints and interruptions."""

import json
import os
import pathlib
import signal
import sys

import genesis
from genesis import distributed, nn, optim
from genesis.data import DataLoader, DistributedSampler, TensorDataset
from genesis.training import Callback, EarlyStopping, Interrupted, Trainer

folder = pathlib.Path(sys.argv[1])
genesis.manual_seed(0)
x = genesis.randn(96, 3)
y = (x.sum(1) > 0).long()
other = genesis.randn(37, 3)  # the ranks get different numbers of them
labels = (other.sum(1) > 0).long()
loss = nn.CrossEntropyLoss()


def network(dropout=0.0):
    genesis.manual_seed(1)
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.Dropout(dropout), nn.Linear(8, 2))


def vector(model):
    return nn.utils.parameters_to_vector(model.parameters()).detach()


def everywhere(value):
    values = [None] * distributed.get_world_size()
    distributed.all_gather_object(values, value)
    return values


def gradients_are_the_mean_of_all_ranks():
    model = nn.Linear(3, 2)
    with genesis.no_grad():
        for p in model.parameters():
            p.fill_(0.1)
    history = genesis.fit(
        model, DataLoader(TensorDataset(x, y), 8, shuffle=True), loss, epochs=2,
        optimizer=lambda p: optim.SGD(p, lr=0.5), metrics=["accuracy", "auroc"][:1], log=True,
        validation=(other, labels),
    )  # fmt: skip
    size = distributed.get_world_size()
    alone = nn.Linear(3, 2)
    with genesis.no_grad():
        for p in alone.parameters():
            p.fill_(0.1)
    optimizer, right = optim.SGD(alone.parameters(), lr=0.5), 0
    for epoch in range(2):
        shares = []
        for rank in range(size):
            sampler = DistributedSampler(x, size, rank, seed=genesis.initial_seed() % 2**31)
            sampler.set_epoch(epoch)
            shares.append(list(sampler))
        right = 0
        for begin in range(0, len(shares[0]), 8):
            rows = [i for share in shares for i in share[begin : begin + 8]]
            scores = alone(x[rows])
            right += (scores.argmax(1) == y[rows]).sum().item()
            optimizer.zero_grad()
            loss(scores, y[rows]).backward()
            optimizer.step()
    assert genesis.allclose(vector(model), vector(alone), atol=1e-5)
    assert abs(history.last("accuracy") - right / len(x)) < 1e-9
    scores = model(other)
    assert abs(history.last("val_loss") - loss(scores, labels).item()) < 1e-5
    exact = (scores.argmax(1) == labels).double().mean().item()
    assert abs(history.last("val_accuracy") - exact) < 1e-9
    first, *rest = everywhere((vector(model), history.epochs[-1]["val_loss"]))
    assert all(genesis.equal(first[0], v) and first[1] == value for v, value in rest)


class StopOne(Callback):
    """The last rank alone is asked to stop."""

    def __init__(self, step):
        self.step = step

    def on_step_end(self, trainer, measures):
        if trainer.step == self.step and trainer.rank == trainer.job.size - 1:
            os.kill(os.getpid(), signal.SIGINT)


def fit(path, step, accumulate=1):
    model = network(0.3)
    genesis.manual_seed(10 + distributed.get_rank())  # other numbers for dropout on each rank
    trainer = Trainer(
        model, loss, checkpoint=path, batch_size=8, ema=0.9, schedule="cosine", metrics="accuracy",
        callbacks=[EarlyStopping(patience=50), StopOne(step)], accumulate=accumulate,
        log=folder / "log.jsonl",
    )  # fmt: skip
    history = trainer.fit((x, y), epochs=3, validation=(other, labels))
    return model, history


def a_resumed_run_ends_bitwise_equal(accumulate):
    whole, expected = fit(folder / f"whole{accumulate}", -1, accumulate)
    for step in (2, 4):
        try:
            fit(folder / f"broken{accumulate}", step, accumulate)
        except Interrupted as stop:
            assert stop.step == step
        else:
            raise AssertionError("it was not interrupted")
    broken, history = fit(folder / f"broken{accumulate}", -1, accumulate)
    assert history.losses == expected.losses
    assert genesis.equal(vector(whole), vector(broken))


gradients_are_the_mean_of_all_ranks()
a_resumed_run_ends_bitwise_equal(1)
a_resumed_run_ends_bitwise_equal(2)
distributed.barrier()
if distributed.get_rank() == 0:
    events = [json.loads(line)["event"] for line in (folder / "log.jsonl").read_text().splitlines()]
    assert events[:4] == ["begin", "epoch", "epoch", "epoch"]  # of one rank
print("ok")
