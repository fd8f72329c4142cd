"""The types that we promise: mypy accepts the package and its uses; results are what they say."""

import ast
import importlib.util
import pathlib
import shutil
import subprocess
import sys

import genesis
import numpy as np
import pytest

from tests.ops.op import DTYPES, Op, cast, tensor
from tests.ops.table import OPS

ROOT = pathlib.Path(__file__).parents[2]
KINDS = {
    "builtins.bool": bool,
    "builtins.int": int,
    "Self": genesis.Tensor,
    "Size": genesis.Size,
    "Tensor": genesis.Tensor,
}


def _stubs():
    spec = importlib.util.spec_from_file_location("stubs", ROOT / "tools" / "stubs.py")
    stubs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(stubs)
    return {"_C.pyi": stubs.generate(genesis._C), **stubs.namespaces(genesis._C)}


@pytest.fixture(scope="module")
def returns():
    """What each function and method is declared to return."""
    tree = ast.parse(_stubs()["_C.pyi"])
    (tensor,) = [n for n in tree.body if isinstance(n, ast.ClassDef) and n.name == "Tensor"]
    return {
        node.name: ast.unparse(node.returns)
        for node in (*tree.body, *tensor.body)
        if isinstance(node, ast.FunctionDef)
    }


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS])
def test_an_op_returns_what_its_stub_says(op: Op, returns):
    declared = returns.get(op.name, "Any")
    if declared == "Any" or op.name not in (*vars(genesis), *vars(genesis.Tensor)):
        return
    sample = op.all_samples()[0]
    dtype = DTYPES[op.dtypes][-1]
    leaves = [tensor(cast(a, dtype, op), dtype) for a in op.leaves(sample)]
    args, kwargs = op.with_leaves(sample, leaves)
    out = next(iter(op.forms().values()))(*args, **kwargs)
    if declared.startswith("tuple"):
        if op.wrap is not None:  # the row tests one of the results
            return
        assert type(out) is tuple
        assert all(isinstance(t, genesis.Tensor) for t in out)
    elif declared.startswith("_"):
        if op.wrap is not None:  # the row tests one of the results
            return
        assert isinstance(out, tuple)
        assert all(hasattr(out, field) for field in type(out).__match_args__)
    else:
        assert isinstance(out, KINDS[declared])


def test_every_method_has_types(returns):
    members = vars(genesis.Tensor).items()
    methods = {name for name, m in members if type(m).__name__ == "method_descriptor"}
    assert {n for n in methods if not n.startswith("__")} <= set(returns)


@pytest.mark.timeout(600)
def test_mypy_accepts_the_package_and_its_uses(tmp_path):
    pytest.importorskip("mypy")
    if np.lib.NumpyVersion(np.__version__) < "2.0.0":
        pytest.skip("this NumPy's own types are incomplete")
    package = pathlib.Path(genesis.__file__).parent
    unwanted = shutil.ignore_patterns("*.so", "*.pyi", "lib")
    shutil.copytree(package, tmp_path / "genesis", ignore=unwanted)
    for name, text in _stubs().items():
        (tmp_path / "genesis" / name).write_text(text)
    shutil.copy(ROOT / "tests" / "typing" / "uses.py", tmp_path / "uses.py")
    command = [sys.executable, "-m", "mypy", "--strict", "--config-file=", "uses.py", "genesis"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
