"""`utils.tensorboard` writes files that hold what was passed."""

import sys

import genesis
import pytest
from genesis.utils.tensorboard import FileWriter, SummaryWriter


def events(folder):
    """What the files of a folder hold: (tag, step, value)."""
    from tensorboardX.proto.event_pb2 import Event
    from tensorboardX.record_writer import RecordWriter  # noqa: F401

    found = []
    for path in sorted(folder.glob("events*")):
        data = path.read_bytes()
        at = 0
        while at < len(data):
            size = int.from_bytes(data[at : at + 8], "little")
            event = Event.FromString(data[at + 12 : at + 12 + size])
            found += [(v.tag, event.step, v) for v in event.summary.value]
            at += 12 + size + 4
    return found


def test_tensors_are_accepted(tmp_path):
    pytest.importorskip("tensorboardX")
    with SummaryWriter(tmp_path) as writer:
        assert writer.log_dir == str(tmp_path)
        writer.add_scalar("loss", genesis.tensor(0.5, requires_grad=True), 3)
        writer.add_scalar("half", genesis.tensor(0.25, dtype=genesis.bfloat16), global_step=4)
        writer.add_scalars("both", {"a": genesis.tensor(1.0), "b": 2.0}, 1)
        writer.add_histogram("weights", genesis.arange(10.0), 5)
        writer.add_image("picture", genesis.zeros(3, 4, 4), 6)
        writer.add_text("words", "hello", 7)
        writer.flush()
    found = {(tag, step): value for tag, step, value in events(tmp_path)}
    assert found["loss", 3].simple_value == 0.5
    assert found["half", 4].simple_value == 0.25
    assert found["weights", 5].histo.num == 10
    assert (found["picture", 6].image.height, found["picture", 6].image.width) == (4, 4)
    assert any(tag.startswith("words") for tag, _ in found)


def test_graphs_are_refused_with_the_way_out(tmp_path):
    pytest.importorskip("tensorboardX")
    with SummaryWriter(tmp_path) as writer, pytest.raises(RuntimeError, match="debug.graph"):
        writer.add_graph(genesis.nn.Linear(1, 1), genesis.ones(1))


def test_without_the_package_it_says_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setitem(sys.modules, "tensorboardX", None)
    for kind in (SummaryWriter, FileWriter):
        with pytest.raises(ImportError, match="pip install tensorboardX"):
            kind(tmp_path)
