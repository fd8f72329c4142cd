"""The other commands: info, doctor, convert, graph, and the command line itself."""

import json
import subprocess
import sys

import genesis
import numpy as np
import pytest
from genesis.cli import COMMANDS, bench, doctor

from tests.cli.command import PACKAGE, run, start

pytestmark = pytest.mark.usefixtures("num_threads")


@pytest.fixture(autouse=True)
def elsewhere(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)


# --- the command line


def test_help_and_version():
    for words in ((), ("--help",), ("help",)):
        done = run(*words)
        assert done.status == 0
        for name in COMMANDS:
            assert name in done.out
    assert run("--version").out == f"genesis {genesis.__version__}\n"
    for name in COMMANDS:
        with pytest.raises(SystemExit) as stop:
            run(name, "moons", "--help") if name == "train" else run(name, "--help")
        assert stop.value.code == 0


def test_help_of_a_command():
    assert "genesis train TASK" in run("help", "train").out
    with pytest.raises(SystemExit):
        run("help", "convert")
    assert "did you mean doctor?" in run("help", "docter").err


def test_an_unknown_command_gets_the_nearest_one():
    done = run("trian")
    assert done.status == 2
    assert "did you mean train?" in done.err


@pytest.mark.parametrize("name", COMMANDS)
def test_an_unknown_option_is_named(name):
    words = (name, "moons") if name == "train" else (name,)
    done = run(*words, "a", "b", "--colour")
    assert done.status == 2
    assert f"genesis {name}" in done.err
    assert "--help" in done.err


def test_the_module_runs_too_and_importing_genesis_does_not_need_it():
    process = start("--version")
    assert process.communicate()[0] == f"genesis {genesis.__version__}\n"
    code = "import sys, genesis; print(any(n.startswith('genesis.cli') for n in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE
    )
    assert done.stdout == "False\n"


# --- info


def test_info_says_what_is_here():
    done = run("info")
    assert genesis.__version__ in done.out
    assert genesis._C._isa() in done.out
    found = json.loads(run("info", "--json").out)
    assert found["genesis"]["version"] == genesis.__version__
    assert found["processor"]["threads in use"] == genesis.get_num_threads()


# --- doctor


def test_the_doctor_finds_this_installation_in_order():
    done = run("doctor", "--json")
    found = json.loads(done.out)
    assert found["wrong"] == []
    assert done.status == 0
    assert found["checks"]["gradients"] > 100


def test_the_doctor_finds_wrong_gradients_and_values(monkeypatch):
    class Wrong(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    def table():
        x = genesis.ones(2, dtype=genesis.float64, requires_grad=True)
        return {"exp": (genesis.exp, (x,)), "broken": (Wrong.apply, (x,)), "missing": (None, (x,))}

    def sick():
        raise AssertionError("a sum is wrong")

    monkeypatch.setattr(doctor, "gradient_table", table)
    monkeypatch.setattr(doctor, "_SECOND", ("exp",))
    monkeypatch.setattr(doctor, "_values", sick)
    done = run("doctor")
    assert done.status == 1
    assert "wrong  gradients: broken" in done.out
    assert "wrong  gradients: missing" in done.out
    assert "wrong  basics: values: AssertionError: a sum is wrong" in done.out
    assert "gradients          1/3" in done.out
    assert "All is well" not in done.out
    found = json.loads(run("doctor", "--json").out)
    assert [w["name"] for w in found["wrong"]] == ["values", "broken", "missing"]


# --- convert


@pytest.fixture
def model(tmp_path):
    genesis.manual_seed(0)
    layer = genesis.nn.Linear(3, 2)
    genesis.save({"model": layer.state_dict(), "epoch": 4}, "run.pt")
    genesis.save(dict(layer.state_dict()), "model.pt")
    return layer


@pytest.mark.parametrize("target", ["b.safetensors", "b.npz", "b.pth"])
def test_converting_keeps_values(model, target):
    done = run("convert", "model.pt", target)
    assert done.status == 0, done.err
    assert "2 tensors, 8 numbers" in done.out
    found = genesis.load(target)
    for name, value in model.state_dict().items():
        np.testing.assert_array_equal(np.asarray(found[name]), value.numpy())
    assert run("convert", target, "back.pt").status == 0
    assert genesis.load("back.pt").keys() == model.state_dict().keys()


def test_converting_is_read_by_torch(model):
    torch = pytest.importorskip("torch")
    run("convert", "model.pt", "a.safetensors")
    run("convert", "a.safetensors", "b.pt")
    np.testing.assert_array_equal(
        torch.load("b.pt")["weight"].numpy(), model.weight.detach().numpy()
    )


def test_converting_a_part_to_another_dtype(model):
    done = run(
        "convert", "run.pt", "half.safetensors", "--part", "model", "--dtype", "float16", "--json"
    )
    assert json.loads(done.out)["numbers"] == 8
    found = genesis.load("half.safetensors")
    assert {x.dtype for x in found.values()} == {genesis.float16}
    assert run("convert", "run.pt", "one.npy", "--part", "model.bias").status == 0
    np.testing.assert_array_equal(np.load("one.npy"), model.bias.detach().numpy())
    assert run("convert", "run.pt", "all.npz").status == 0
    assert sorted(np.load("all.npz")) == ["epoch", "model.bias", "model.weight"]


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("none.pt", "b.npz"), "none.pt: there is no such file"),
        (("model.pt", "b.onnx"), "must end in .safetensors"),
        (("model.pt", "model.pt"), "--force"),
        (("model.pt", "b.npz", "--part", "weights"), "has weight, bias"),
        (("model.pt", "b.npz", "--part", "bias.x"), "has a Tensor there"),
        (("page.pt", "b.npz"), "web page"),
        (("words.safetensors", "b.npz"), "name is a str"),
        (("model.pt", "folder/none/b.npz"), "folder/none"),
    ],
)
def test_mistakes_of_converting(model, tmp_path, arguments, expected):
    (tmp_path / "page.pt").write_text("<html>")
    genesis.save({"name": "x"}, "words.safetensors")
    done = run("convert", *arguments)
    assert done.status == 2
    assert expected in done.err


# --- bench


def test_bench_measures_the_same_lines_in_both(tmp_path):
    done = run(
        "bench", "--only", "8x8|MLP", "--milliseconds", 3, "--json", "--threads", 1, "-o", "b.svg"
    )
    assert done.status == 0, done.err
    found = json.loads(done.out)["microseconds"]
    assert list(found) == ["add 8x8", "training step, MLP"]
    libraries = {"genesis", "torch"} if "torch" in sys.modules else {"genesis"}
    assert all(times.keys() == libraries for times in found.values())
    assert all(0 < t < 1e6 for times in found.values() for t in times.values())
    picture = (tmp_path / "b.svg").read_text()
    assert picture.startswith("<svg")
    assert "training step, MLP" in picture
    alone = run("bench", "--only", "add 8x8", "--milliseconds", 3, "--alone")
    assert "torch" not in alone.out


def test_bench_without_torch_or_with_a_broken_one(monkeypatch):
    words = ("bench", "--only", "add 8x8", "--milliseconds", 3)
    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: None)
    assert "PyTorch is not installed here" in run(*words).out

    monkeypatch.setattr(bench.importlib.util, "find_spec", lambda name: "somewhere")
    monkeypatch.setitem(sys.modules, "torch", None)  # makes importing it fail
    done = run(*words)
    assert done.status == 0
    assert "cannot be imported, so Genesis is timed alone" in done.out


def test_the_workloads_give_the_same_in_both():
    torch = pytest.importorskip("torch")
    ours, theirs = bench.workloads(genesis), bench.workloads(torch)
    assert ours.keys() == theirs.keys()
    for name in ours:
        assert tuple(ours[name]().shape) == tuple(theirs[name]().shape)


def test_mistakes_of_bench():
    assert "fits none of" in run("bench", "--only", "banana").err
    assert "no regular expression" in run("bench", "--only", "(").err
    assert "must end in .svg" in run("bench", "-o", "a.png").err


# --- graph

CODE = """
import genesis
from genesis import nn

def loss():
    x = genesis.ones(3, requires_grad=True)
    return (x.exp() * 2).sum()

def scaled(x, index):
    return x[index].sum()

class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(4, 3)

    def forward(self, x):
        return self.first(x).relu()

def broken():
    raise ValueError("nothing here")

number = 3
"""


@pytest.fixture
def code(tmp_path, monkeypatch):
    (tmp_path / "sketches.py").write_text(CODE)
    yield
    sys.modules.pop("sketches", None)


def test_graphs_of_functions_and_models(code, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "path", list(sys.path))
    text = run("graph", "sketches:loss").out
    assert "exp" in text
    assert "sum" in text
    done = run("graph", "sketches.py:Net", "--input", "2x4", "-o", "net.svg")
    assert done.status == 0, done.err
    assert "first.weight" in (tmp_path / "net.svg").read_text()
    assert run("graph", "sketches:Net", "--input", "2x4", "--format", "dot").out.startswith(
        "digraph"
    )
    assert run("graph", "sketches:loss", "--format", "mermaid").out.startswith("flowchart")
    done = run("graph", "sketches:scaled", "--input", "5x2", "--input", "3:int64")
    assert done.status == 0, done.err


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        (("sketches",), "expected MODULE:FUNCTION"),
        (("sketches:los",), "did you mean loss?"),
        (("nowhere:f",), "no module 'nowhere'"),
        (("nowhere.py:f",), "no such file"),
        (("sketches:broken",), "ValueError: nothing here"),
        (("sketches:number",), "expected a tensor"),
        (("sketches:Net",), "give it inputs, such as --input 32x10"),
        (("sketches:Net", "--input", "2,4"), "expected a shape"),
        (("sketches:Net", "--input", "2x4:sometype"), "expected a shape"),
        (("sketches:loss", "-o", "a.pdf"), "must end in"),
    ],
)
def test_mistakes_of_graph(code, monkeypatch, arguments, expected):
    monkeypatch.setattr(sys, "path", list(sys.path))
    done = run("graph", *arguments)
    assert done.status == 2
    assert expected in done.err
