"""Indexing against NumPy: reads, writes, views and gradients, on random shapes and expressions."""

import genesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

shapes = st.lists(st.integers(0, 4), min_size=1, max_size=4).map(tuple)


@st.composite
def _slice(draw, size):
    bound = st.none() | st.integers(-size - 2, size + 2)
    return slice(draw(bound), draw(bound), draw(st.none() | st.integers(1, 3)))


@st.composite
def basic(draw, shape=None):
    """A shape and an index of integers, slices, None and Ellipsis."""
    shape = draw(shapes) if shape is None else shape
    parts = []
    for size in shape[: draw(st.integers(0, len(shape)))]:
        kinds = ["slice", "slice", "none"] + (["int"] if size else [])
        kind = draw(st.sampled_from(kinds))
        if kind == "none":
            parts.append(None)
            kind = "slice"
        parts.append(draw(st.integers(-size, size - 1)) if kind == "int" else draw(_slice(size)))
    if draw(st.booleans()):
        # what stands behind the ellipsis indexes the last dimensions
        used = sum(part is not None for part in parts)
        tail = [
            draw(_slice(size))
            for size in shape[len(shape) - draw(st.integers(0, len(shape) - used)) :]
        ]
        parts = [*parts, ..., *tail]
    index = tuple(parts)
    return shape, index[0] if len(index) == 1 and draw(st.booleans()) else index


@st.composite
def advanced(draw):
    """A shape and an index with integer arrays and masks among slices, as NumPy and PyTorch agree.

    They differ where an integer and an array are parted by a slice (NumPy counts the integer as an
    array, PyTorch selects first), so integers stand only beside arrays.
    """
    shape = draw(st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple))
    common = draw(st.lists(st.integers(0, 3), min_size=0, max_size=2).map(tuple))
    before = draw(st.integers(0, len(shape) - 1))
    parts = [draw(_slice(size)) for size in shape[:before]]
    dim = before
    if draw(st.booleans()):  # a mask over one or two dimensions
        ndim = draw(st.integers(1, min(2, len(shape) - dim)))
        bits = draw(st.lists(st.booleans(), min_size=64, max_size=64))
        size = int(np.prod(shape[dim : dim + ndim]))
        parts.append(np.array(bits[:size]).reshape(shape[dim : dim + ndim]))
        dim += ndim
    else:
        for _ in range(draw(st.integers(1, len(shape) - dim))):
            size = shape[dim]
            if draw(st.integers(0, 4)) == 0:
                parts.append(draw(st.integers(-size, size - 1)))
            else:
                own = common[draw(st.integers(0, len(common))) :]  # broadcast against the others
                count = int(np.prod(own))
                values = draw(
                    st.lists(st.integers(-size, size - 1), min_size=count, max_size=count)
                )
                parts.append(np.array(values, np.int64).reshape(own))
            dim += 1
    parts += [draw(_slice(size)) for size in shape[dim : draw(st.integers(dim, len(shape)))]]
    if draw(st.booleans()):
        parts.append(...)
    return shape, tuple(parts)


@st.composite
def separated(draw):
    """Arrays parted by slices: their common dimensions come first in the result."""
    shape = draw(st.lists(st.integers(1, 4), min_size=3, max_size=4).map(tuple))
    count = draw(st.integers(0, 3))

    def array(size):
        return np.array(
            draw(st.lists(st.integers(0, size - 1), min_size=count, max_size=count)), np.int64
        )

    return shape, (array(shape[0]), draw(_slice(shape[1])), array(shape[2]))


anything = st.one_of(basic(), advanced(), separated())


def _array(shape):
    return np.arange(float(np.prod(shape))).reshape(shape) + 1


def _ours(index):
    def convert(part):
        return genesis.tensor(part) if isinstance(part, np.ndarray) else part

    return tuple(map(convert, index)) if isinstance(index, tuple) else convert(index)


@given(anything)
def test_reading(case):
    shape, index = case
    array = _array(shape)
    out = genesis.from_numpy(array)[_ours(index)]
    expected = array[index]
    assert out.shape == expected.shape
    np.testing.assert_array_equal(out.numpy(), expected)


@given(anything)
def test_reading_a_transposed_tensor(case):
    shape, index = case
    array = _array(shape[::-1]).T
    out = genesis.from_numpy(np.ascontiguousarray(array.T)).permute(*reversed(range(len(shape))))
    np.testing.assert_array_equal(out[_ours(index)].numpy(), array[index])


@given(basic())
def test_basic_indexing_is_a_view(case):
    shape, index = case
    array = _array(shape)
    out = genesis.from_numpy(array)[index]
    assert out.numel() == 0 or np.shares_memory(out.numpy(), array)


@given(advanced())
def test_indexing_with_arrays_is_a_copy(case):
    shape, index = case
    if not any(np.ndim(part) for part in index):
        return  # integers, and arrays that hold one: they select
    array = _array(shape)
    out = genesis.from_numpy(array)[_ours(index)]
    assert not np.shares_memory(out.numpy(), array)


@given(anything)
def test_writing_a_number(case):
    shape, index = case
    array = _array(shape)
    t = genesis.tensor(array, dtype=genesis.float64)
    version = t._version
    t[_ours(index)] = -5
    assert t._version > version
    array[index] = -5
    np.testing.assert_array_equal(t.numpy(), array)


@given(anything)
def test_writing_a_tensor(case):
    shape, index = case
    array = _array(shape)
    # which of several values for one place remains is not defined: let the value follow the place
    value = -array[index]
    t = genesis.tensor(array, dtype=genesis.float64)
    t[_ours(index)] = genesis.tensor(value, dtype=genesis.float64)
    array[index] = value
    np.testing.assert_array_equal(t.numpy(), array)


@given(basic())
def test_writing_broadcasts(case):
    shape, index = case
    array = _array(shape)
    place = array[index]
    if place.ndim == 0:
        return
    value = -_array(place.shape[-1:])
    t = genesis.tensor(array, dtype=genesis.float64)
    t[index] = genesis.tensor(value, dtype=genesis.float64)
    array[index] = value
    np.testing.assert_array_equal(t.numpy(), array)


@given(anything)
def test_gradient_of_reading(case):
    shape, index = case
    array = _array(shape)
    x = genesis.tensor(array, dtype=genesis.float64, requires_grad=True)
    out = x[_ours(index)]
    weights = np.arange(float(out.numel())).reshape(tuple(out.shape)) + 1
    out.backward(genesis.tensor(weights, dtype=genesis.float64))
    expected = np.zeros(shape)
    np.add.at(expected, index, weights)  # a place that is read twice receives both
    np.testing.assert_allclose(x.grad.numpy(), expected)


@given(basic())
def test_gradient_of_writing(case):
    shape, index = case
    array = _array(shape)
    x = genesis.tensor(array, dtype=genesis.float64, requires_grad=True)
    value = genesis.tensor(array[index] * 2, dtype=genesis.float64, requires_grad=True)
    y = x * 1
    y[index] = value
    weights = _array(shape)
    y.backward(genesis.tensor(weights, dtype=genesis.float64))
    expected = weights.copy()
    expected[index] = 0
    np.testing.assert_array_equal(x.grad.numpy(), expected)
    np.testing.assert_array_equal(value.grad.numpy(), weights[index])


# --- single stories


def test_negative_steps_are_refused_with_the_way_out():
    with pytest.raises(ValueError, match=r"step.*flip"):
        genesis.arange(4)[::-1]


def test_indices_out_of_range():
    x = genesis.zeros(2, 3)
    for index in (2, -3, (0, 3), (0, -4)):
        with pytest.raises(IndexError, match=r"range|bounds"):
            x[index]
        with pytest.raises(IndexError, match=r"range|bounds"):
            x[index] = 1.0
    with pytest.raises(IndexError, match=r"range|bounds"):
        x[genesis.tensor([0, 2])]
    with pytest.raises(IndexError):
        x[0, 0, 0]
    with pytest.raises(IndexError):
        genesis.tensor(1.0)[0]


def test_masks_must_fit():
    x = genesis.zeros(2, 3)
    with pytest.raises(IndexError, match=r"mask|shape"):
        x[genesis.tensor([True, False, True])]


def test_wrong_kinds_of_index():
    x = genesis.zeros(2, 3)
    for index in ("a", 1.0, genesis.tensor([0.5])):
        with pytest.raises((IndexError, TypeError)):
            x[index]


def test_a_value_that_does_not_fit_is_refused():
    x = genesis.zeros(2, 3)
    with pytest.raises((ValueError, RuntimeError), match=r"\(4,\)|4"):
        x[0] = genesis.ones(4)


def test_lists_and_arrays_are_indices():
    array = np.arange(12.0).reshape(3, 4)
    x = genesis.from_numpy(array)
    np.testing.assert_array_equal(x[[2, 0]].numpy(), array[[2, 0]])
    np.testing.assert_array_equal(x[np.array([2, 0])].numpy(), array[[2, 0]])
    np.testing.assert_array_equal(x[[0, 1], [1, 2]].numpy(), array[[0, 1], [1, 2]])
    np.testing.assert_array_equal(x[[True, False, True]].numpy(), array[[True, False, True]])


@pytest.mark.parametrize("dtype", ["int32", "int64"])
def test_both_integer_dtypes_can_index(dtype):
    x = genesis.arange(5.0)
    index = genesis.tensor([3, 1], dtype=getattr(genesis, dtype))
    assert x[index].tolist() == [3, 1]


def test_a_tensor_with_one_integer_selects():
    x = genesis.arange(6.0).reshape(2, 3)
    assert x[genesis.tensor(1)].tolist() == [3, 4, 5]
    assert x[genesis.tensor(1), genesis.tensor(2)].item() == 5


def test_a_mask_and_a_number_write_in_place():
    x = genesis.arange(4.0)
    x[x > 1] = 0
    assert x.tolist() == [0, 1, 0, 0]
    x[x == 0] += 5
    assert x.tolist() == [5, 1, 5, 5]


def test_writing_converts_to_the_dtype_of_the_tensor():
    x = genesis.zeros(3, dtype=genesis.int64)
    x[0] = 2.7
    x[1:] = genesis.tensor([1.9, -1.9])
    assert x.tolist() == [2, 1, -1]


def test_writing_to_a_part_of_itself():
    x = genesis.arange(6.0)
    x[1:] = x[:-1].clone()
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    y = genesis.arange(6.0)
    y[:] = y.flip(0)
    assert y.tolist() == [5, 4, 3, 2, 1, 0]
