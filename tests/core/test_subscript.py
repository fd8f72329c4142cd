"""Indexing, one story at a time: kinds of index, kinds of value, graph and memory."""

import genesis
import numpy as np
import pytest
from genesis.autograd import gradcheck


def _x(*shape, **kwargs):
    values = np.arange(float(np.prod(shape))).reshape(shape)
    return genesis.tensor(values, dtype=genesis.float64, **kwargs)


# --- kinds of index


def test_numpy_integers_and_bools_are_indices():
    x = _x(3, 4)
    assert x[np.int64(1)].tolist() == [4, 5, 6, 7]
    assert x[np.int32(-1), np.uint8(2)].item() == 10
    assert x[np.bool_(True)].shape == (1, 3, 4)
    assert x[False].shape == (0, 3, 4)


def test_an_object_with_index_is_an_integer():
    class Two:
        def __index__(self):
            return 2

    assert _x(3)[Two()].item() == 2
    assert _x(5)[: Two()].tolist() == [0, 1]


def test_slices_take_tensors_as_bounds():
    assert _x(5)[genesis.tensor(1) : genesis.tensor(3)].tolist() == [1, 2]


def test_ranges_and_nested_lists_are_arrays():
    x = _x(3, 4)
    assert x[range(2), 1].tolist() == [1, 5]
    assert x[[[0, 1], [2, 0]], 0].tolist() == [[0, 4], [8, 0]]
    assert x[[]].shape == (0, 4)
    assert x[[[True, False, True, False]] * 3].tolist() == [0, 2, 4, 6, 8, 10]


def test_a_list_of_tensors_is_one_array():
    x = _x(3, 4)
    assert x[[genesis.tensor(0), genesis.tensor(2)]].shape == (2, 4)


def test_arrays_parted_by_a_slice_come_first():
    x = _x(2, 3, 4)
    assert x[[0, 1], :, [0, 1]].shape == (2, 3)
    assert x[:, [0, 1, 2], [0, 1, 2]].shape == (2, 3)
    assert x[:, 0, [1, 2]].shape == (2, 2)


def test_an_index_that_does_not_fit_in_64_bits_is_out_of_range():
    with pytest.raises(IndexError):
        _x(3)[10**30]


def test_an_empty_tuple_and_an_ellipsis_are_views_of_everything():
    x = _x(2)
    x[()][0] = 5
    x[...][1] = 6
    assert x.tolist() == [5, 6]


def test_every_out_of_range_index_is_found_before_anything_is_written():
    x = _x(3)
    with pytest.raises(IndexError, match="index 3 is out of range for dimension 0 of size 3"):
        x[[0, 1, 3]] = -1.0
    assert x.tolist() == [0, 1, 2]
    y = _x(2, 3)
    with pytest.raises(IndexError, match="index -4.*dimension 1 of size 3"):
        y[:, [0, -4]] = -1.0
    assert y.tolist() == _x(2, 3).tolist()


# --- iteration and membership


def test_iteration_stops_and_gives_rows():
    assert [row.tolist() for row in _x(2, 2)] == [[0, 1], [2, 3]]
    assert list(_x(0, 2)) == []
    first, second = _x(2)
    assert (first.item(), second.item()) == (0, 1)
    with pytest.raises(TypeError, match="0-d"):
        iter(genesis.tensor(1.0))


def test_iteration_is_differentiable():
    x = _x(3, 2, requires_grad=True)
    total = sum((i + 1) * row.sum() for i, row in enumerate(x))
    total.backward()
    assert x.grad.tolist() == [[1, 1], [2, 2], [3, 3]]


def test_membership():
    x = _x(2, 3)
    assert 3.0 in x
    assert 3 in x
    assert genesis.tensor(5.0) in x
    assert 7 not in x
    assert float("nan") not in x
    with pytest.raises(TypeError, match="str"):
        _ = "3" in x


# --- values


def test_values_of_every_kind_are_written():
    x = genesis.zeros(4, 3)
    x[0] = 1
    x[1] = [1, 2, 3]
    x[2] = np.arange(3)
    x[3] = genesis.tensor(7)
    assert x.tolist() == [[1, 1, 1], [1, 2, 3], [0, 1, 2], [7, 7, 7]]
    x[[0, 1]] = True
    x[[2, 3], 1:] = np.array([[5.0], [6.0]])
    assert x.tolist() == [[1, 1, 1], [1, 1, 1], [0, 5, 5], [7, 6, 6]]


def test_leading_dimensions_of_one_in_the_value_are_dropped():
    x = genesis.zeros(2, 3)
    x[0] = genesis.ones(1, 1, 3)
    x[[1]] = genesis.ones(1, 1, 3) * 2
    assert x.tolist() == [[1, 1, 1], [2, 2, 2]]


def test_a_value_that_does_not_fit_names_both_shapes():
    x = genesis.zeros(2, 3)
    for index in (0, slice(None), [0, 1], genesis.tensor([True, False])):
        with pytest.raises(ValueError, match=r"\(2, 2\)|\(4,\)"):
            x[index] = genesis.ones(2, 2) if not isinstance(index, int) else genesis.ones(4)
    assert x.tolist() == [[0] * 3] * 2


def test_a_number_that_the_dtype_cannot_hold_is_refused():
    x = genesis.zeros(3, dtype=genesis.int8)
    for index in (0, slice(None), [0, 1], genesis.tensor([True, False, True])):
        with pytest.raises((ValueError, RuntimeError), match="300.*int8"):
            x[index] = 300


def test_deleting_is_refused():
    with pytest.raises(TypeError, match="delete"):
        del _x(3)[0]


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int16", "int64", "float16", "bfloat16"])
def test_every_dtype_is_read_and_written(dtype):
    x = genesis.zeros(3, 2, dtype=getattr(genesis, dtype))
    x[[0, 2]] = 1
    x[genesis.tensor([False, True, False])] = 1
    x[1, 0] = 0
    assert x.float().tolist() == [[1, 1], [0, 1], [1, 1]]
    assert x[[1, 0]].float().tolist() == [[0, 1], [1, 1]]


def test_the_last_of_several_values_for_a_place_remains():
    x = genesis.zeros(3)
    x[[1, 1, 1]] = genesis.tensor([1.0, 2.0, 3.0])
    assert x.tolist() == [0, 3, 0]
    rows = genesis.zeros(4, 2000)
    values = genesis.arange(100).float().reshape(100, 1).expand(100, 2000)
    rows[np.arange(100) % 4] = values
    assert rows[:, 7].tolist() == [96, 97, 98, 99]


def test_values_that_overlap_what_is_written():
    x = _x(6)
    x[1:] = x[:-1]
    assert x.tolist() == [0, 0, 1, 2, 3, 4]
    y = _x(6)
    y[[5, 4, 3, 2, 1, 0]] = y
    assert y.tolist() == [5, 4, 3, 2, 1, 0]
    z = genesis.tensor([True, False, True])
    z[z] = False
    assert z.tolist() == [False, False, False]


# --- graph


@pytest.mark.parametrize(
    "index",
    [
        1,
        (slice(None), 2),
        (slice(None, None, 2), slice(1, None)),
        [2, 0],
        ([2, 0], slice(1, 3)),
        (slice(None), [1, 1]),
        np.array([[True, False, True, False]] * 3),
        (None, [0, 2]),
    ],
    ids=str,
)
def test_gradient_of_writing_to_second_order(index):
    def write(x, value):
        y = x * x
        y[index] = value * value
        return y * y

    def add(x, value):
        y = x * x
        y[index] += value
        return y * y

    rng = np.random.default_rng(0)
    shape = np.zeros((3, 4))[index].shape
    for function in (write, add):
        for value_shape in {shape, shape[-1:], ()}:
            x = genesis.tensor(rng.normal(size=(3, 4)), dtype=genesis.float64, requires_grad=True)
            value = genesis.tensor(
                rng.normal(size=value_shape), dtype=genesis.float64, requires_grad=True
            )
            assert gradcheck(function, (x, value), order=2)


def test_a_masked_number_cuts_the_gradient_there():
    x = _x(3, requires_grad=True)
    y = x * 2
    mask = genesis.tensor([True, False, True])
    y[mask] = 0.0
    y.sum().backward()
    assert x.grad.tolist() == [0, 2, 0]


def test_an_array_that_is_changed_later_does_not_change_the_gradient():
    x = _x(3, requires_grad=True)
    rows = np.array([0, 1])
    mask = np.array([True, False, False])
    y = x * 1
    z = y[rows]
    y[mask] = 0.0
    rows[:] = 10**9
    mask[:] = True
    (z.sum() + y.sum()).backward()
    assert x.grad.tolist() == [1, 2, 1]


def test_adding_to_a_part_leaves_one_history():
    x = _x(3, requires_grad=True)
    y = x * 1
    y[1:] += 10
    y[0] *= 3
    y.sum().backward()
    assert x.grad.tolist() == [3, 1, 1]


def test_writing_a_detached_part_of_itself_cuts_the_gradient():
    x = _x(3, requires_grad=True)
    y = x * 1
    y[:2] = y.detach()[:2]
    y.sum().backward()
    assert x.grad.tolist() == [0, 0, 1]


def test_a_leaf_is_not_written():
    x = _x(3, requires_grad=True)
    for index in (0, slice(None), [0, 1], genesis.tensor([True, False, False])):
        with pytest.raises(RuntimeError, match="leaf"):
            x[index] = 1.0
    assert x.tolist() == [0, 1, 2]
    with genesis.no_grad():
        x[[0, 1]] = 5.0
    assert x.tolist() == [5, 5, 2]


def test_reading_by_array_keeps_no_view():
    x = _x(3)
    y = x[[0, 1]]
    y[0] = 9
    assert x.tolist() == [0, 1, 2]


def test_gradients_that_share_a_place_add_up_in_any_number_of_threads(num_threads):
    rng = np.random.default_rng(0)
    index = genesis.tensor(rng.integers(0, 50, 4000))
    weights = genesis.tensor(rng.normal(size=(4000, 96)).astype("float32"))
    results = []
    for threads in (1, 2, 3):
        genesis.set_num_threads(threads)
        x = genesis.zeros(50, 96, requires_grad=True)
        (x[index] * weights).sum().backward()
        results.append(x.grad.numpy().tobytes())
    assert len(set(results)) == 1


def test_half_precision_gradients_are_summed_in_float32():
    x = genesis.zeros(2, dtype=genesis.bfloat16, requires_grad=True)
    x[genesis.zeros(1000, dtype=genesis.int64)].sum().backward()
    assert x.grad.float().tolist() == [1000, 0]


# --- other views


def test_a_view_of_another_dtype_shares_bytes():
    x = genesis.tensor([1.0, -2.0])
    bits = x.view(genesis.int32)
    assert bits.tolist() == [0x3F800000, -0x40000000]
    bits[0] = 0
    assert x.tolist() == [0, -2]
    assert x.view(genesis.uint8).shape == (8,)
    assert x.view(dtype=genesis.int64).shape == (1,)
    assert genesis.zeros(3, 4).view(genesis.float64).shape == (3, 2)
    for wrong in (
        lambda: genesis.zeros(3, 3).view(genesis.float64),
        lambda: genesis.zeros(4, 4).t().view(genesis.uint8),
        lambda: genesis.zeros(4)[1:3].view(genesis.float64),
        lambda: genesis.tensor(1.0).view(genesis.uint8),
    ):
        with pytest.raises(ValueError, match="view"):
            wrong()


def test_too_many_dimensions_are_refused():
    x = genesis.zeros(1)
    with pytest.raises(ValueError, match="64"):
        x.reshape((1,) * 65)
    with pytest.raises(ValueError, match="64"):
        x.expand((1,) * 65)
    with pytest.raises(ValueError, match="dimensions"):
        x.repeat((1,) * 40)
    assert (x.reshape((1,) * 64) + 1).sum().item() == 1


def test_as_strided_of_an_expanded_tensor_shares_the_gradient():
    x = genesis.ones(3, dtype=genesis.float64, requires_grad=True)
    y = x.expand(2, 3).as_strided((3,), (1,))
    y.sum().backward()
    assert x.grad.tolist() == [1, 1, 1]


def test_a_loop_of_writes_keeps_every_gradient():
    x = _x(5, 3, requires_grad=True)
    y = genesis.zeros(5, 3, dtype=genesis.float64)
    for i in range(5):
        y[i] = x[i] * (i + 1)
    y[2] = 0.0
    y.sum().backward()
    assert x.grad[:, 0].tolist() == [1, 2, 0, 4, 5]


def test_transposed_properties():
    x = _x(2, 3, 4)
    assert x.T.shape == (4, 3, 2)
    assert x.mT.shape == (2, 4, 3)
    assert _x(2, 3).H.tolist() == _x(2, 3).T.tolist()
    with pytest.raises(ValueError, match=r"\(3,\)"):
        _ = _x(3).mT
    with pytest.raises(ValueError, match="matrix"):
        _ = x.H
