"""No op without a row, no row without an op."""

import inspect

import genesis
import pytest
from genesis.nn import functional

from tests.ops.op import Op
from tests.ops.table import OPS

# What is registered like an op and is none, with the place where it is tested instead. A short
# list: if an op cannot be written as a row, the table lacks a feature.
_NOT_OPS = {
    "grad modes, in tests/autograd/test_engine.py": [
        "is_grad_enabled", "is_inference_mode_enabled",
    ],
    "autograd state of a tensor, in tests/autograd/test_engine.py": [
        "detach_", "register_hook", "register_post_accumulate_grad_hook", "requires_grad_",
        "retain_grad",
    ],
    "conversion, in tests/core/test_tensor.py": ["from_numpy", "item", "numpy", "tensor", "tolist"],
    "threads, in tests/core/test_threads.py": ["get_num_threads", "set_num_threads"],
    "default dtype, in tests/core/test_tensor.py": ["get_default_dtype", "set_default_dtype"],
}  # fmt: skip
EXEMPT = {name: reason for reason, names in _NOT_OPS.items() for name in names}

ROWS = {op.name.removeprefix("Tensor.") for op in OPS} | {f"{op.name}_" for op in OPS if op.inplace}


def _registered() -> list[str]:
    """Public names of the op registry, where a method without a function is Tensor.<name>."""
    names = {name.removeprefix("Tensor.") for name in genesis._C.op_names()}
    names = {name.replace("linalg_", "linalg.", 1) for name in names}  # genesis.linalg.<name>
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
