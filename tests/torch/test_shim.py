"""Genesis under the name torch: in a process, in its children, and in an environment.

Each test runs a program of its own, as the name cannot be taken back in this process.
"""

import subprocess
import sys
import textwrap
from pathlib import Path

import genesis
import pytest
from genesis.torch_version import TorchVersion


def run(*command, **options):
    return subprocess.run(command, capture_output=True, text=True, timeout=120, **options)


def program(folder, text):
    file = folder / "program.py"
    file.write_text(textwrap.dedent(text))
    return str(file)


def run_torch(file, *more, before=()):
    return run(sys.executable, "-m", "genesis", "run-torch", *before, file, *more)


def test_names(tmp_path):
    file = program(
        tmp_path,
        """
        import importlib, importlib.metadata, importlib.util, sys
        import torch, genesis
        import torch.nn.functional as F
        from torch.utils.data import DataLoader
        assert F is genesis.nn.functional and torch.nn is genesis.nn
        assert DataLoader is genesis.utils.data.DataLoader
        assert torch.__version__ == "2.13.0+genesis" and torch.__version__ >= (2, 2)
        assert importlib.metadata.version("torch") == "2.13.0+genesis"
        assert importlib.util.find_spec("torch.nn.functional") is not None
        assert importlib.util.find_spec("torch.no_such_module") is None
        assert importlib.import_module("torch.optim.lr_scheduler") is genesis.optim.lr_scheduler
        assert genesis.nn.__spec__.name == "genesis.nn"
        assert genesis.__version__ != torch.__version__
        assert not hasattr(torch, "debug") and not hasattr(torch, "Tape")
        assert sys.argv[1:] == ["--flag", "x"], sys.argv
        print("done", __name__)
        """,
    )
    done = run_torch(file, "--flag", "x")
    assert done.stdout == "done __main__\n", done.stderr
    done = run(sys.executable, "-m", "genesis.torch", file, "--flag", "x")
    assert done.stdout == "done __main__\n", done.stderr


def test_children(tmp_path):
    file = program(
        tmp_path,
        """
        import multiprocessing, subprocess, sys
        import torch

        def work(n):
            import torch
            return torch.__version__, torch.ones(n).sum().item()

        if __name__ == "__main__":
            for method in ("spawn", "fork"):
                with multiprocessing.get_context(method).Pool(1) as pool:
                    assert pool.map(work, [3]) == [("2.13.0+genesis", 3.0)]
            code = "import torch; print(torch.__version__)"
            print(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout)
        """,
    )
    done = run_torch(file)
    assert done.stdout.strip() == "2.13.0+genesis", done.stderr


def test_exact_behaviour(tmp_path):
    file = program(
        tmp_path,
        """
        import numpy as np, torch
        for make in (torch.tensor, torch.as_tensor, torch.from_numpy):
            assert make(np.ones(2)).dtype is torch.float64
        assert torch.tensor(np.float64(1)).dtype is torch.float64
        assert torch.tensor([1.0]).dtype is torch.float32
        values, indices = torch.ones(2, 3).max(axis=0)
        assert indices.dtype is torch.int64
        for bad in (lambda: torch.ones(1).backward(), leaf):
            try:
                bad()
            except RuntimeError as error:
                continue
            raise AssertionError("nothing was raised")
        assert repr(torch.float32) == "torch.float32"
        assert repr(torch.ones(2, 3).shape) == "torch.Size([2, 3])"
        y = torch.ones(1, requires_grad=True) + 1
        assert y.grad_fn.name() == "AddBackward0"
        with torch.no_grad():
            assert torch.nn.Parameter(torch.ones(2)).numpy().sum() == 2
        print("done")
        """.replace("import numpy as np, torch\n", """import numpy as np, torch
        def leaf():
            p = torch.nn.Parameter(torch.ones(1))
            p -= 1
"""),
    )  # fmt: skip
    done = run_torch(file)
    assert done.stdout == "done\n", done.stderr


def test_missing_names(tmp_path):
    file = program(
        tmp_path,
        """
        import torch
        assert not hasattr(torch, "no_such_function")
        try:
            import torch.no_such_module
        except ImportError:
            pass
        torch.nn.functional.no_such_loss
        """,
    )
    done = run_torch(file, before=["--report"])
    assert done.returncode != 0
    assert "module 'torch.nn.functional' has no attribute 'no_such_loss'" in done.stderr
    assert "Genesis does not have it" in done.stderr
    report = done.stderr[done.stderr.index("names of torch that were asked for") :]
    lines = [line.strip() for line in report.splitlines()]
    for name, line in (
        ("no_such_function", 3),
        ("no_such_module", 5),
        ("nn.functional.no_such_loss", 8),
    ):
        assert f"{file}:{line}" in lines[lines.index(f"torch.{name}") + 1]


def test_report_of_methods(tmp_path):
    file = program(tmp_path, "import torch\ntorch.ones(2).no_such_method()\n")
    done = run_torch(file, before=["--report"])
    assert "Tensor.no_such_method" in done.stderr


def test_unknown_program():
    done = run_torch("/nowhere/x.py")
    assert done.returncode == 2
    assert "/nowhere/x.py" in done.stderr


@pytest.fixture(scope="module")
def environment(tmp_path_factory):
    """An environment with this Genesis, without PyTorch."""
    import venv

    import numpy

    folder = tmp_path_factory.mktemp("environment")
    venv.create(folder, with_pip=False)
    site = next((folder / "lib").glob("python*/site-packages"))
    link = folder / "link"
    (link / "genesis").mkdir(parents=True)
    for entry in (*Path(genesis.__file__).parent.iterdir(), Path(genesis._C.__file__)):
        place = link / "genesis" / entry.name
        if not place.exists():
            place.symlink_to(entry.resolve())
    libraries = Path(numpy.__file__).parent
    for entry in (libraries, libraries.parent / "numpy.libs"):
        if entry.exists():
            (link / entry.name).symlink_to(entry)
    (site / "genesis.pth").write_text(f"{link}\n")
    return folder / "bin" / "python"


def test_environment(environment):
    def command(action):
        return run(environment, "-m", "genesis", "torch", action)

    ask = [environment, "-c", "import torch; print(torch.__version__)"]
    assert "there is no torch" in command("status").stdout
    assert run(*ask).returncode != 0
    done = command("enable")
    assert done.returncode == 0, done.stderr
    assert "torch is Genesis" in command("enable").stdout  # again: the same
    assert run(*ask).stdout == "2.13.0+genesis\n"
    shown = run(
        environment, "-c", "import importlib.metadata as m; print(m.metadata('torch')['Summary'])"
    )
    assert shown.stdout.startswith("NOT PyTorch")
    assert "there is no torch" in command("disable").stdout
    assert run(*ask).returncode != 0


def test_environment_with_pytorch(environment):
    site = next((environment.parent.parent / "lib").glob("python*/site-packages"))
    (site / "torch").mkdir()
    (site / "torch" / "__init__.py").write_text("")
    try:
        for action in ("enable", "disable"):
            done = run(environment, "-m", "genesis", "torch", action)
            assert done.returncode == 1
            assert "PyTorch" in done.stderr
        assert [file.name for file in (site / "torch").iterdir()] == ["__init__.py"]
    finally:
        (site / "torch" / "__init__.py").unlink()
        (site / "torch").rmdir()


def test_metadata_says_the_version():
    from genesis.torch import TORCH_VERSION
    from genesis.torch.finder import SITE

    data = SITE / "torch.egg-info"
    assert f"Version: {TORCH_VERSION}\n" in (data / "PKG-INFO").read_text()
    listed = {line.split(",")[0] for line in (data / "RECORD").read_text().splitlines()}
    names = {"METADATA", "INSTALLER", "RECORD"}
    assert {path.name for path in data.iterdir()} == {"PKG-INFO", "INSTALLER", "RECORD"}
    assert listed == {"torch/__init__.py", *(f"torch-{TORCH_VERSION}.dist-info/{n}" for n in names)}


def test_versions():
    version = TorchVersion("2.13.0+genesis")
    assert version > "2.9"
    assert version >= (2, 13)
    assert version == "2.13.0"
    assert version != "2.13.0+cpu"
    assert version < "3"
    assert not version < "2.13.0a1"
    assert version in {"2.13.0+genesis"}


def test_the_switch_is_off():
    assert genesis.tensor(__import__("numpy").ones(2)).dtype == genesis.float32
    assert repr(genesis.float32) == "genesis.float32"
