"""Python's operators on tensors: every one, both sides, in place, and what they refuse."""

import operator

import genesis
import numpy as np
import pytest

SYMBOLS = {
    "+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv,
    "//": operator.floordiv, "%": operator.mod, "**": operator.pow,
}  # fmt: skip
BITS = {
    "&": operator.and_, "|": operator.or_, "^": operator.xor, "<<": operator.lshift,
    ">>": operator.rshift,
}  # fmt: skip
COMPARED = {
    "<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne,
    ">": operator.gt, ">=": operator.ge,
}  # fmt: skip


def same(actual, expected):
    np.testing.assert_allclose(actual.numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("symbol", SYMBOLS)
def test_arithmetic_with_numbers_arrays_and_tensors_on_both_sides(symbol):
    op = SYMBOLS[symbol]
    a, b = np.array([1.0, 2.5, 4.0], np.float32), np.array([2.0, 0.5, 3.0], np.float32)
    x, y = genesis.tensor(a), genesis.tensor(b)
    same(op(x, y), op(a, b))
    same(op(x, 2), op(a, 2))
    same(op(3.0, x), op(3.0, a))
    same(op(x, b), op(a, b))
    same(op(b, x), op(b, a))
    assert isinstance(op(b, x), genesis.Tensor)


@pytest.mark.parametrize("symbol", BITS)
def test_bits_on_both_sides(symbol):
    op = BITS[symbol]
    a, b = np.array([1, 6, 12]), np.array([3, 1, 2])
    x, y = genesis.tensor(a), genesis.tensor(b)
    same(op(x, y), op(a, b))
    same(op(x, 2), op(a, 2))
    same(op(3, y), op(3, b))


@pytest.mark.parametrize("symbol", [*SYMBOLS, *BITS])
def test_in_place_keeps_the_object(symbol):
    a, b = np.array([7, 6, 12]), np.array([3, 1, 2])
    if symbol == "/":
        a, b = a.astype(np.float32), b.astype(np.float32)
    x = genesis.tensor(a)
    kept, data = x, x.data_ptr()
    scope = {"x": x, "y": genesis.tensor(b), "a": a.copy(), "b": b}
    exec(f"x {symbol}= y; a {symbol}= b", scope)
    assert scope["x"] is kept and x.data_ptr() == data
    same(kept, scope["a"])


@pytest.mark.parametrize("symbol", COMPARED)
def test_comparisons_are_elementwise(symbol):
    op = COMPARED[symbol]
    a, b = np.array([1.0, 2.0, np.nan]), np.array([2.0, 2.0, np.nan])
    same(op(genesis.tensor(a), genesis.tensor(b)), op(a, b))
    same(op(genesis.tensor(a), 2), op(a, 2))
    same(op(2, genesis.tensor(a)), op(2, a))


def test_what_is_not_a_number_is_not_compared():
    x = genesis.ones(2)
    assert (x == None) is False  # noqa: E711
    assert (x != None) is True  # noqa: E711
    assert (x == "text") is False
    with pytest.raises(TypeError):
        x < None  # noqa: B015
    with pytest.raises(TypeError):
        x + None
    with pytest.raises(TypeError):
        "text" * x


def test_comparison_with_a_number_outside_the_dtype_is_not_fooled():
    assert (genesis.tensor([1, 200], dtype=genesis.uint8) > -1).tolist() == [True, True]
    assert (genesis.tensor([1, 2], dtype=genesis.int32) < 2**40).tolist() == [True, True]
    assert (genesis.tensor([0.1], dtype=genesis.float16) == 0.1).item()
    assert (genesis.tensor([0.1], dtype=genesis.bfloat16) == 0.1).item()


def test_integer_extremes_do_not_trap():
    for dtype in (genesis.int8, genesis.int16, genesis.int32, genesis.int64):
        low = {"int8": -(2**7), "int16": -(2**15), "int32": -(2**31), "int64": -(2**63)}
        x = genesis.tensor([low[str(dtype).rpartition(".")[2]]], dtype=dtype)
        assert (x // -1).item() == x.item()
        assert (x % -1).item() == 0
        assert genesis.fmod(x, -1).item() == 0
        assert genesis.div(x, -1, rounding_mode="trunc").item() == x.item()
        assert abs(x).item() == x.item() == (-x).item() == (x * -1).item()
        assert genesis.gcd(x, x).item() == x.item()


def test_division_of_integers_by_zero_raises_and_changes_nothing():
    x = genesis.tensor([1, 2, 3])
    for function in ("floor_divide_", "remainder_", "fmod_"):
        with pytest.raises(ZeroDivisionError) as caught:
            getattr(x, function)(genesis.tensor([1, 0, 2]))
        assert isinstance(caught.value, RuntimeError)
    assert x.tolist() == [1, 2, 3]


def test_divmod_and_round():
    q, r = divmod(genesis.tensor([7.0, -7.0]), 3)
    assert q.tolist() == [2.0, -3.0] and r.tolist() == [1.0, 2.0]
    q, r = divmod(7, genesis.tensor([3, -3]))
    assert q.tolist() == [2, -3] and r.tolist() == [1, -2]
    assert round(genesis.tensor([0.5, 1.5])).tolist() == [0.0, 2.0]
    assert round(genesis.tensor([1.25], dtype=genesis.float64), 1).tolist() == [1.2]


def test_invert_a_mask():
    mask = genesis.tensor([True, False])
    assert (~mask).tolist() == [False, True]
    assert (mask & ~mask).tolist() == [False, False]
    assert (mask | True).tolist() == [True, True]
    with pytest.raises(TypeError, match="logical_not"):
        -mask
    with pytest.raises(RuntimeError, match="logical_xor"):
        mask - mask


@pytest.mark.parametrize("shift", [slice(1, None), slice(None, -1)])
def test_overlapping_memory_is_read_before_it_is_written(shift):
    other = slice(None, -1) if shift.start else slice(1, None)
    a = np.arange(5000.0)
    x = genesis.tensor(a)
    x[shift].add_(x[other])
    expected = a.copy()
    expected[shift] = a[shift] + a[other]
    same(x, expected)


def test_overlapping_memory_of_a_transposed_or_broadcast_view():
    a = np.arange(9.0).reshape(3, 3)
    x = genesis.tensor(a)
    x += x.transpose(0, 1)
    same(x, a + a.T)
    x = genesis.tensor(a)
    x *= x[1]
    same(x, a * a[1])


def test_out_receives_the_result():
    x, y = genesis.tensor([1.0, 2.0]), genesis.tensor([3.0, 4.0])
    out = genesis.zeros(2)
    assert genesis.add(x, y, out=out) is out
    assert out.tolist() == [4.0, 6.0]
    wide = genesis.zeros(2, dtype=genesis.float64)
    assert genesis.mul(x, y, out=wide).tolist() == [3.0, 8.0]
    with pytest.raises(TypeError, match="cannot be stored"):
        genesis.div(x, y, out=genesis.zeros(2, dtype=genesis.int64))
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        genesis.add(x, y, out=genesis.zeros(3))
    with pytest.raises(RuntimeError, match="requires grad"):
        genesis.add(x.requires_grad_(), y, out=out)


def test_in_place_with_itself_has_the_right_gradient():
    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = x * 1
    y *= y
    y.sum().backward()
    assert x.grad.tolist() == [2.0, 4.0, 6.0]


def test_in_place_cannot_change_the_dtype():
    x = genesis.tensor([1, 2])
    with pytest.raises(TypeError, match="float32 and cannot be stored in a int64"):
        x /= 2
    assert x.tolist() == [1, 2]


def test_numbers_keep_the_dtype_of_the_tensor():
    for dtype in (genesis.float16, genesis.bfloat16, genesis.float32, genesis.float64):
        x = genesis.ones(2, dtype=dtype)
        assert (x * 2.5 + 1).dtype == dtype and (2**x).dtype == dtype
    assert (genesis.tensor([1]) * 2.5).dtype == genesis.float32
    assert (genesis.tensor([True]) + 1).dtype == genesis.int64


def test_two_numbers_make_a_0d_tensor():
    assert genesis.add(1, 2).item() == 3
    assert genesis.mul(2.0, 3).item() == 6.0
    assert genesis.pow(2, 3).item() == 8
    assert genesis.maximum(2, 3).item() == 3
