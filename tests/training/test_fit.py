"""`genesis.fit` and `Trainer`: the loop, its options, callbacks and logs."""

import json
import os
import re
import signal
import subprocess
import sys

import genesis
import numpy as np
import pytest
from genesis import nn, optim
from genesis.data import DataLoader, IterableDataset, TensorDataset
from genesis.training import (
    Callback,
    EarlyStopping,
    Interrupted,
    SaveBest,
    Step,
    TensorBoard,
    Trainer,
)


def data(n=96, seed=0):
    generator = genesis.Generator().manual_seed(seed)
    x = genesis.randn(n, 2, generator=generator)
    return x, (x[:, 0] * x[:, 1] > 0).long()


def network(dropout=0.0):
    genesis.manual_seed(3)
    return nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Dropout(dropout), nn.Linear(16, 2))


def sgd(parameters):
    return optim.SGD(parameters, lr=0.1)


def assert_same(a, b):
    for (name, x), y in zip(a.state_dict().items(), b.state_dict().values(), strict=True):
        assert genesis.equal(x, y), name


# --- the loop


def test_it_is_the_loop_that_one_would_write():
    x, y = data()
    ours, theirs = network(0.2), network(0.2)
    genesis.manual_seed(5)
    loader = DataLoader(TensorDataset(x, y), 16, shuffle=True)
    history = genesis.fit(ours, loader, nn.CrossEntropyLoss(), epochs=3, optimizer=sgd)
    genesis.manual_seed(5)
    optimizer, losses = sgd(theirs.parameters()), []
    for _ in range(3):
        for inputs, labels in loader:
            loss = nn.functional.cross_entropy(theirs(inputs), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
    assert history.losses == losses
    assert_same(ours, theirs)


def test_a_model_learns_and_measures_are_named():
    x, y = data(400)
    history = genesis.fit(
        network(), (x, y), nn.CrossEntropyLoss(), epochs=30, validation=data(100, seed=1),
        metrics={"acc": genesis.metrics.Accuracy(), "f1": "f1"},
        optimizer=lambda p: optim.Adam(p, 0.01), schedule="cosine",
    )  # fmt: skip
    expected = [
        "loss",
        "acc",
        "f1",
        "val_loss",
        "val_acc",
        "val_f1",
        "seconds",
        "samples_per_second",
    ]
    assert list(history.epochs[-1]) == expected
    assert len(history) == 30 and history.last("val_acc") > 0.9
    assert history.best("val_loss") <= history["val_loss"][0]
    with pytest.raises(KeyError, match="val_acc"):
        history["none"]


def test_measures_of_validation_are_those_of_the_whole_set():
    x, y = data()
    other = data(53, seed=2)
    model = network(0.5)
    loss = nn.CrossEntropyLoss()
    trainer = Trainer(model, loss, metrics="accuracy", batch_size=10)
    history = trainer.fit((x, y), validation=other)
    assert model.training
    model.eval()
    scores = model(other[0])
    assert history.last("val_loss") == pytest.approx(loss(scores, other[1]).item(), rel=1e-5)
    right = (scores.argmax(1) == other[1]).float().mean().item()
    assert history.last("val_accuracy") == pytest.approx(right)
    assert trainer.evaluate(other)["accuracy"] == pytest.approx(right)
    assert trainer.predict(other[0]).shape == (53, 2)
    np.testing.assert_allclose(
        trainer.predict(other[0]).numpy(), scores.detach().numpy(), rtol=1e-5, atol=1e-6
    )


def test_several_inputs_and_functions_as_metrics():
    class Sum(nn.Module):
        def __init__(self):
            super().__init__()
            self.layer = nn.Linear(2, 1)

        def forward(self, a, b):
            return self.layer(genesis.stack([a, b], 1)).squeeze(1)

    def largest(output, target):
        return (output - target).abs().max()

    a, b = genesis.randn(40), genesis.randn(40)
    history = genesis.fit(Sum(), (a, b, a + b), nn.MSELoss(), metrics=[largest, "mae"])
    assert {"loss", "largest", "mae"} <= history.epochs[0].keys()


def test_a_step_of_ones_own():
    x, _ = data()
    seen = []

    def plain(model, batch):
        return ((model(batch["x"]) - 1) ** 2).mean()

    def measured(model, batch):
        return plain(model, batch), {"largest": batch["x"].max()}

    def full(model, batch):
        seen.append(model.training)
        return Step(plain(model, batch), measures={"one": 1.0}, size=7)

    batches = [{"x": x[:50]}, {"x": x[50:]}]
    assert "loss" in genesis.fit(network(), batches, step=plain).epochs[0]
    assert genesis.fit(network(), batches, step=measured).last("largest") > 0
    assert genesis.fit(network(), batches, step=full, validation=batches).last("val_one") == 1.0
    assert seen == [True, True, False, False]
    with pytest.raises(TypeError, match="must return the loss"):
        genesis.fit(network(), batches, step=lambda model, batch: "loss")


def test_binary_targets_and_logits():
    x, y = data(200)
    target = y.float().unsqueeze(1)
    genesis.manual_seed(0)
    model = nn.Sequential(nn.Linear(2, 16), nn.ReLU(), nn.Linear(16, 1))
    names = ["accuracy", "precision", "auroc"]
    trainer = Trainer(
        model, nn.BCEWithLogitsLoss(), metrics=names, optimizer=lambda p: optim.Adam(p, 0.02)
    )
    trainer.fit((x, target), epochs=20)
    found = trainer.evaluate((x, target))
    right = ((model(x) > 0) == (target > 0)).float().mean().item()
    assert found["accuracy"] == pytest.approx(right) and right > 0.9
    assert found["auroc"] > 0.95 and 0.85 < found["precision"] <= 1


# --- options


def test_accumulated_gradients_are_those_of_the_large_batch():
    x, y = data(80)
    whole, parts, stream = network(), network(), network()
    loss = nn.CrossEntropyLoss()
    a = genesis.fit(whole, [(x[:64], y[:64]), (x[64:], y[64:])], loss, epochs=2, optimizer=sgd)
    small = [(x[i : i + 16], y[i : i + 16]) for i in range(0, 80, 16)]
    b = genesis.fit(parts, small, loss, epochs=2, optimizer=sgd, accumulate=4)
    assert len(a.losses) == len(b.losses) == 4
    np.testing.assert_allclose(a.losses, b.losses, rtol=1e-5)

    class Stream:  # has no length, so that the end comes unforeseen
        def __iter__(self):
            return iter(small)

    genesis.fit(stream, Stream(), loss, epochs=2, optimizer=sgd, accumulate=4)
    for p, q, r in zip(whole.parameters(), parts.parameters(), stream.parameters(), strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-4, atol=1e-6)
        assert genesis.equal(q, r)


def test_gradients_are_clipped():
    x, y = data(32)
    for options, norm in (({"clip_norm": 1e-3}, "fro"), ({"clip_value": 1e-4}, "max")):
        model = network()
        before = nn.utils.parameters_to_vector(model.parameters()).detach().clone()
        genesis.fit(model, [(x, y)], nn.CrossEntropyLoss(), optimizer=sgd, **options)
        step = nn.utils.parameters_to_vector(model.parameters()).detach() - before
        size = step.norm().item() if norm == "fro" else step.abs().max().item()
        assert 0 < size <= 0.1 * next(iter(options.values())) * 1.01


def test_averaged_weights_are_used_for_validation_and_kept_at_the_end():
    x, y = data(64)
    model, plain = network(), network()
    batches = [(x[:32], y[:32]), (x[32:], y[32:])]
    loss = nn.CrossEntropyLoss()
    history = genesis.fit(model, batches, loss, epochs=2, optimizer=sgd, ema=0.5, validation=(x, y))
    optimizer = sgd(plain.parameters())
    average = None
    for inputs, labels in batches * 2:
        optimizer.zero_grad()
        loss(plain(inputs), labels).backward()
        optimizer.step()
        now = nn.utils.parameters_to_vector(plain.parameters()).detach()
        average = now.clone() if average is None else 0.5 * average + 0.5 * now
    found = nn.utils.parameters_to_vector(model.parameters()).detach()
    np.testing.assert_allclose(found.numpy(), average.numpy(), rtol=1e-5, atol=1e-7)
    assert history.last("val_loss") == pytest.approx(loss(model(x), y).item(), rel=1e-5)


@pytest.mark.parametrize("precision", ["bfloat16", "float16"])
def test_mixed_precision(precision):
    x, y = data(64)
    half, full = network(), network()
    batches, loss = [(x, y)] * 4, nn.CrossEntropyLoss()
    a = genesis.fit(half, batches, loss, optimizer=sgd, precision=precision, metrics="accuracy",
                    clip_norm=5.0)  # fmt: skip
    b = genesis.fit(full, batches, loss, optimizer=sgd, clip_norm=5.0)
    assert a.losses != b.losses
    np.testing.assert_allclose(a.losses, b.losses, rtol=0.02)
    assert next(half.parameters()).dtype == genesis.float32


def rates(**options):
    x, y = data(32)
    model = network()
    optimizer = optim.SGD(model.parameters(), lr=1.0)
    if callable(options.get("make")):
        options["schedule"] = options.pop("make")(optimizer)
    found = []

    class Watch(Callback):
        def on_step_end(self, trainer, measures):
            found.append(trainer.optimizer.param_groups[0]["lr"])

        def on_epoch_end(self, trainer, measures):
            found.append(f"{trainer.optimizer.param_groups[0]['lr']:.4g}")

    genesis.fit(model, [(x, y)] * 2, nn.CrossEntropyLoss(), epochs=2, optimizer=optimizer,
                callbacks=[Watch()], **options)  # fmt: skip
    return found


def test_schedules_per_step_and_per_epoch():
    def make(optimizer):
        return optim.lr_scheduler.ExponentialLR(optimizer, 0.5)

    assert rates(make=make) == [0.5, 0.25, "0.25", 0.125, 0.0625, "0.0625"]
    assert rates(make=make, schedule_every="epoch") == [1.0, 1.0, "0.5", 0.5, 0.5, "0.25"]

    def by_steps(optimizer, steps):
        return optim.lr_scheduler.LambdaLR(optimizer, lambda i: 1 - i / steps)

    assert rates(schedule=by_steps) == [0.75, 0.5, "0.5", 0.25, 0.0, "0"]
    assert float(rates(schedule="linear")[-1]) == 0.0

    def plateau(optimizer):
        return optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=0, threshold=10.0)

    assert rates(make=plateau)[2::3] == ["0.1", "0.01"]


# --- interruptions


def interrupt_at(number):
    """A callback that sends a Ctrl-C in a step."""

    class Stop(Callback):
        def on_step_end(self, trainer, measures):
            if trainer.step == number:
                os.kill(os.getpid(), signal.SIGINT)

    return Stop()


def every_option(path, model, kind, callbacks):
    x, y = data()
    table = {
        "loader": lambda: DataLoader(TensorDataset(x, y), 8, shuffle=True),
        "workers": lambda: DataLoader(TensorDataset(x, y), 8, shuffle=True, num_workers=2),
        "tensors": lambda: (x, y),
        "list": lambda: [(x[i : i + 8], y[i : i + 8]) for i in range(0, 96, 8)],
        "shuffled": lambda: Shuffled(x, y),
    }
    genesis.manual_seed(7)
    return genesis.fit(
        model, table[kind](), nn.CrossEntropyLoss(), epochs=4, metrics=["accuracy", "auroc"][:1],
        validation=data(30, seed=1), optimizer=lambda p: optim.AdamW(p, lr=0.01), schedule="cosine",
        callbacks=[EarlyStopping(patience=10, restore_best=True), *callbacks], checkpoint=path,
        ema=0.9, accumulate=2, clip_norm=1.0, batch_size=8, precision="bfloat16",
    )  # fmt: skip


class Shuffled:
    """An iterable that draws its order from the default generator, and cannot be saved."""

    def __init__(self, x, y):
        self.x, self.y = x, y

    def __len__(self):
        return -(-len(self.x) // 8)

    def __iter__(self):
        for rows in genesis.randperm(len(self.x)).split(8):
            yield self.x[rows], self.y[rows]


def without_times(history):
    drop = ("seconds", "samples_per_second")
    return [{k: v for k, v in e.items() if k not in drop} for e in history.epochs]


@pytest.mark.parametrize("kind", ["loader", "workers", "tensors", "list", "shuffled"])
def test_a_resumed_run_ends_bitwise_equal(kind, tmp_path):
    dropout = 0.0 if kind == "shuffled" else 0.3
    whole, broken = network(dropout), network(dropout)
    expected = every_option(tmp_path / "whole", whole, kind, [])
    for step in (3, 6, 17):  # within an epoch, at the end of one, within a later one
        with pytest.raises(Interrupted) as stop:
            every_option(tmp_path / "broken", broken, kind, [interrupt_at(step)])
        assert stop.value.step == step and stop.value.status == 130
        broken = network(dropout)  # as in a new process
    history = every_option(tmp_path / "broken", broken, kind, [interrupt_at(-1)])
    assert history.losses == expected.losses
    assert without_times(history) == without_times(expected)
    assert_same(whole, broken)
    again = every_option(tmp_path / "broken", network(dropout), kind, [interrupt_at(-1)])
    assert again.losses == expected.losses  # a complete run is not trained again


def test_a_run_is_not_overwritten_and_can_be_made_longer(tmp_path):
    x, y = data(32)

    def fit(epochs, **o):
        return genesis.fit(
            network(), (x, y), nn.CrossEntropyLoss(), epochs=epochs, checkpoint=tmp_path, **o
        )

    fit(1)
    with pytest.raises(FileExistsError, match="resume=True"):
        fit(1, resume=False)
    assert len(fit(3)) == 3


def test_ctrl_c_without_a_checkpoint_stops_after_the_step():
    x, y = data(64)
    trainer = Trainer(network(), nn.CrossEntropyLoss(), callbacks=[interrupt_at(1)], batch_size=16)
    with pytest.raises(KeyboardInterrupt):
        trainer.fit((x, y), epochs=2)
    assert trainer.step == 1 and len(trainer.losses) == 1
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_a_trainer_goes_on_in_another_call():
    x, y = data(64)
    trainer = Trainer(network(), nn.CrossEntropyLoss())
    trainer.fit((x, y), epochs=1)
    assert len(trainer.fit((x, y), epochs=3)) == 3
    assert trainer.step == 6


# --- callbacks


def test_callbacks_are_called_in_order():
    x, y = data(32)
    events = []

    class Record:
        def __getattr__(self, name):
            if not name.startswith("on_"):
                raise AttributeError(name)
            return lambda trainer, *rest: events.append((name[3:], trainer.epoch, trainer.step))

    calls = []
    genesis.fit(network(), [(x, y)] * 2, nn.CrossEntropyLoss(), epochs=2,
                callbacks=[Record(), lambda trainer, measures: calls.append(measures["loss"])])  # fmt: skip
    assert events == [
        ("fit_begin", 0, 0),
        ("epoch_begin", 0, 0), ("step_end", 0, 1), ("step_end", 0, 2), ("epoch_end", 1, 2),
        ("epoch_begin", 1, 2), ("step_end", 1, 3), ("step_end", 1, 4), ("epoch_end", 2, 4),
        ("fit_end", 2, 4),
    ]  # fmt: skip
    assert len(calls) == 2
    with pytest.raises(TypeError, match="not a callback"):
        Trainer(network(), nn.MSELoss(), callbacks=[3])


def test_training_stops_early_and_keeps_the_best():
    x, y = data(32)
    model = network()
    values = iter([5.0, 3.0, 4.0, 3.5, 9.0])
    states = []

    class Fake(Trainer):
        def validate(self, data):
            states.append({k: v.clone() for k, v in self.model.state_dict().items()})
            return {"val_loss": next(values)}

    stopping = EarlyStopping(patience=2, restore_best=True)
    trainer = Fake(model, nn.CrossEntropyLoss(), callbacks=[stopping], optimizer=sgd)
    history = trainer.fit((x, y), epochs=20)
    assert len(history) == 4 and stopping.best == 3.0
    assert all(genesis.equal(v, states[1][k]) for k, v in model.state_dict().items())
    with pytest.raises(KeyError, match="val_"):
        genesis.fit(model, (x, y), nn.CrossEntropyLoss(), callbacks=[EarlyStopping()])


def test_the_best_weights_are_saved(tmp_path):
    x, y = data(32)
    values = iter([0.2, 0.9, 0.5])
    model = network()
    states = []

    class Fake(Trainer):
        def validate(self, data):
            states.append({k: v.clone() for k, v in self.model.state_dict().items()})
            return {"val_accuracy": next(values)}

    path = tmp_path / "best.safetensors"
    Fake(model, nn.CrossEntropyLoss(), callbacks=[SaveBest(path, "val_accuracy")]).fit((x, y), 3)
    assert all(genesis.equal(v, states[1][k]) for k, v in genesis.load(path).items())


def test_measures_go_to_tensorboard():
    written = []

    class Writer:
        def add_scalar(self, tag, value, step):
            written.append((tag, step))

        def flush(self):
            pass

    x, y = data(32)
    genesis.fit(network(), [(x, y)] * 4, nn.CrossEntropyLoss(), epochs=2,
                callbacks=[TensorBoard(Writer(), every=2)])  # fmt: skip
    assert [s for t, s in written if t == "step/loss"] == [2, 4, 6, 8]
    assert [s for t, s in written if t == "epoch/loss"] == [1, 2]


# --- logs and reports


def run(capsys, **options):
    x, y = data(64)
    genesis.fit(network(), (x, y), nn.CrossEntropyLoss(), epochs=2, metrics=["accuracy"],
                validation=(x, y), **options)  # fmt: skip
    return capsys.readouterr().out


def test_nothing_is_printed_unless_asked_for(capsys):
    assert run(capsys) == ""
    assert run(capsys, log=False) == ""


def test_progress_is_a_table_of_at_most_80_columns(capsys):
    lines = run(capsys, log=True).splitlines()
    assert lines[0].split() == [
        "epoch",
        "loss",
        "accuracy",
        "val",
        "loss",
        "val",
        "accuracy",
        "samples/s",
    ]
    assert len(lines) == 3 and len({len(line) for line in lines}) == 1 and len(lines[0]) <= 80
    x, y = data(64)
    many = {f"a_measure_of_a_long_name_{i}": genesis.metrics.Accuracy() for i in range(6)}
    genesis.fit(network(), (x, y), nn.CrossEntropyLoss(), metrics=many, log=True)
    assert all(len(line) <= 80 for line in capsys.readouterr().out.splitlines())


def test_json_lines_begin_with_all_settings(capsys, tmp_path):
    events = [json.loads(line) for line in run(capsys, log="json", clip_norm=2.0).splitlines()]
    assert [e["event"] for e in events] == ["begin", "epoch", "epoch"]
    expected = {"epochs": 2, "clip_norm": 2.0, "precision": "float32", "optimizer": "AdamW",
                "batch_size": 32, "metrics": ["accuracy"], "parameters": 82}  # fmt: skip
    assert expected.items() <= events[0].items()
    assert run(capsys, log=tmp_path / "log.jsonl") == ""
    assert len((tmp_path / "log.jsonl").read_text().splitlines()) == 3


def test_a_report_leaves_the_model_alone(tmp_path):
    x, y = data(64)
    model = network(0.5)
    trainer = Trainer(model, nn.CrossEntropyLoss(), metrics="accuracy")
    trainer.fit((x, y), epochs=2, validation=(x, y))
    before, drawn = genesis.get_rng_state(), {k: v.clone() for k, v in model.state_dict().items()}
    trainer.report("moons", "A test.").save(tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert genesis.equal(before, genesis.get_rng_state())
    assert all(genesis.equal(v, drawn[k]) for k, v in model.state_dict().items())
    for text in ("moons: val loss", "Training loss", "Accuracy", "validation", "Computation graph",
                 "Where the time goes", "AdamW", "82 parameters"):  # fmt: skip
        assert text in page, text
    assert not re.search(r"(?:src|href)=\"(?!data:)", page)


def test_confusion_matrices_are_kept_and_shown():
    x, y = data(64)
    trainer = Trainer(network(), nn.CrossEntropyLoss(), metrics=genesis.metrics.ConfusionMatrix())
    trainer.fit((x, y), validation=data(20, seed=1))
    assert trainer.tables["val_confusion_matrix"].sum().item() == 20
    assert trainer.tables["confusion_matrix"].sum().item() == 64
    assert "Val confusion matrix" in trainer.report().html()


# --- mistakes


class Endless(IterableDataset):
    def __iter__(self):
        return iter(zip(*data(8), strict=True))


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"model": 3}, TypeError, "must be a Module, got int"),
        ({"loss": None}, TypeError, "nn.MSELoss"),
        ({"data": genesis.ones(3)}, TypeError, "data must be a DataLoader"),
        ({"data": iter([1])}, TypeError, "ends after one pass"),
        ({"data": [genesis.ones(2, 2)]}, TypeError, "step=function"),
        ({"epochs": 0}, ValueError, "epochs must be"),
        ({"optimizer": "adam"}, TypeError, "optimizer must be"),
        ({"schedule": "cos"}, ValueError, "cosine"),
        ({"schedule": 3}, TypeError, "schedule must be"),
        ({"schedule": "cosine", "data": Endless()}, ValueError, "no length"),
        ({"schedule_every": "day"}, ValueError, "schedule_every"),
        ({"metrics": "accurcy"}, ValueError, "there is no metric 'accurcy'"),
        ({"metrics": ["accuracy", genesis.metrics.Accuracy()]}, ValueError, "twice"),
        ({"precision": "float8"}, ValueError, "precision must be"),
        ({"clip_norm": -1}, ValueError, "clip_norm must be positive"),
        ({"accumulate": 0}, ValueError, "accumulate"),
        ({"ema": 2}, ValueError, "ema must be between"),
        ({"log": 3.0}, TypeError, "log must be"),
    ],
)
def test_mistakes(options, error, text):
    given = {"model": network(), "data": data(8), "loss": nn.CrossEntropyLoss(), **options}
    with pytest.raises(error, match=text):
        genesis.fit(given.pop("model"), given.pop("data"), given.pop("loss"), **given)


def test_importing_genesis_does_not_import_it():
    code = (
        "import sys, genesis; assert not [n for n in sys.modules if n.startswith("
        "('genesis.training', 'genesis.metrics', 'genesis.report', 'genesis.data'))]"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
