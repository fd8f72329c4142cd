"""No op without a row, no row without an op."""

import inspect
import re

import genesis
import pytest
from genesis.nn import functional

from tests.ops.op import Op
from tests.ops.table import OPS

# Ops that no row can test, with the reason. If it grows, the table lacks a feature. What is no
# operator (threads, hooks, conversion to NumPy) is marked kTool in csrc/bindings and not listed.
EXEMPT: dict[str, str] = {}

ROWS = {op.name.removeprefix("Tensor.") for op in OPS} | {f"{op.name}_" for op in OPS if op.inplace}
ROWS |= {name.removeprefix("nn.functional.") for name in ROWS}


def _registered() -> list[str]:
    """Public names of the op registry, where a method without a function is Tensor.<name>."""
    names = {op["name"] for op in genesis._C.op_info() if not op["tool"]}
    for module in ("linalg", "special"):  # genesis.linalg.<name>
        names = {re.sub(f"^{module}_", f"{module}.", name) for name in names}
    return sorted(name for name in names if not name.startswith("_"))


def _functional() -> list[str]:
    public = vars(functional).items()
    return sorted(n for n, f in public if not n.startswith("_") and inspect.isroutine(f))


@pytest.mark.parametrize("name", _registered())
def test_every_op_has_a_row(name):
    assert name in ROWS or name in EXEMPT, f"add a row for {name} to tests/ops/table/"


@pytest.mark.parametrize("name", _functional())
def test_every_function_of_nn_functional_has_a_row(name):
    assert name in ROWS or name in EXEMPT, f"add a row for {name} to tests/ops/table/"


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in OPS])
def test_every_row_names_an_op(op: Op):
    assert op.forms()
    if op.inplace:
        assert hasattr(genesis.Tensor, f"{op.name}_"), f"Tensor.{op.name}_ does not exist"


def test_rows_have_names_of_their_own():
    ids = [op.id for op in OPS]
    assert len(ids) == len(set(ids)), sorted({i for i in ids if ids.count(i) > 1})


def test_no_op_is_both_tested_and_exempt():
    assert not set(EXEMPT) & ROWS
