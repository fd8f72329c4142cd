"""The tape: what is alive, in order, with what it keeps."""

import gc
import io
import threading

import genesis
import pytest
from genesis.debug import get_tape, print_tape, trace


@pytest.fixture(autouse=True)
def nothing_alive():
    gc.collect()
    assert [e for e in get_tape() if not e.is_leaf] == []


def operations():
    return [e for e in get_tape() if not e.is_leaf]


def test_operations_in_the_order_of_recording_with_shapes_dtypes_and_bytes():
    x = genesis.ones(10, 10, requires_grad=True)
    w = genesis.ones(10, 3, dtype=genesis.float64, requires_grad=True)
    y = (x.double() @ w).relu().sum()
    tape = get_tape()
    ops = [e for e in tape if not e.is_leaf]
    assert [e.op for e in ops][1:] == ["matmul", "relu", "sum"]
    assert [e.number for e in ops] == sorted(e.number for e in ops)
    cast, product, relu, total = ops
    assert product.shape == (10, 3) and product.dtype == genesis.float64 and total.shape == ()
    assert product.saved == 10 * 10 * 8 + 10 * 3 * 8
    assert relu.inputs == (product.number,) and total.inputs == (relu.number,)
    leaves = {e.number: e.shape for e in tape if e.is_leaf}
    assert {leaves[product.inputs[1]], leaves[cast.inputs[0]]} == {(10, 3), (10, 10)}
    assert tape.saved >= product.saved
    y.backward()
    assert all(e.released for e in operations())


def test_the_tape_prints_as_a_table():
    x = genesis.ones(4, 2, requires_grad=True)
    y = x.exp().sum()
    out = io.StringIO()
    print_tape(file=out)
    lines = out.getvalue().splitlines()
    assert lines[0].split() == ["#", "operation", "output", "dtype", "inputs", "saved"]
    assert any(
        "exp" in line and "(4, 2)" in line and "float32" in line and "32 B" in line
        for line in lines
    )
    assert lines[-1] == "2 operations, 32 B saved for backward"
    assert y.requires_grad


def test_an_empty_tape_says_so(capsys):
    print_tape()
    assert "empty" in capsys.readouterr().out


def test_what_dies_or_is_not_recorded_is_not_on_the_tape():
    x = genesis.ones(2, requires_grad=True)
    y = x * 2
    z = y * 3
    assert [e.op for e in operations()] == ["mul", "mul"]
    del z
    assert [e.op for e in operations()] == ["mul"]
    with genesis.no_grad():
        y * 2
    y.detach() * 2
    assert len(operations()) == 1
    del y
    assert operations() == []


def test_memory_kept_twice_is_counted_once():
    x = genesis.ones(1000, requires_grad=True)
    y = x.exp()
    a, b = y.sin(), y.cos()
    assert get_tape().saved == 4000
    assert sum(e.saved for e in operations()) == 3 * 4000
    del a, b


def test_each_thread_has_its_own():
    x = genesis.ones(2, requires_grad=True)
    y = x.exp()
    seen = []

    def work():
        z = x.sin()
        seen.append([e.op for e in get_tape() if not e.is_leaf])
        del z

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert seen == [["sin"]]
    assert [e.op for e in operations()] == ["exp"]
    del y


def test_modules_and_lines_are_known_inside_trace():
    x = genesis.ones(1, 2)
    layer = genesis.nn.Linear(2, 3)
    with trace():
        y = layer(x)
    (entry,) = operations()
    assert entry.module == "Linear" and entry.place.split(":")[0].endswith("test_tape.py")
    assert "Linear" in str(get_tape())
    del y


def test_shapes_of_many_dimensions():
    x = genesis.ones(1, 2, 1, 2, 1, 2, requires_grad=True)
    y = x.exp()
    assert operations()[0].shape == (1, 2, 1, 2, 1, 2)
    z = y.unsqueeze(0).exp()
    assert operations()[-1].shape is None  # more than six are not noted
    assert "?" in str(get_tape())
    del y, z
