"""Views and shapes against NumPy, on random shapes and chains of operations."""

import genesis
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

shapes = st.lists(st.integers(0, 4), min_size=0, max_size=4).map(tuple)
filled = st.lists(st.integers(1, 4), min_size=1, max_size=4).map(tuple)


def _array(shape):
    return np.arange(float(np.prod(shape))).reshape(shape)


def _pair(shape):
    array = _array(shape)
    return array, genesis.tensor(array, dtype=genesis.float64)


def same(t, array):
    assert t.shape == array.shape
    np.testing.assert_array_equal(t.numpy(), array)


# --- one operation


@st.composite
def _reshape_case(draw):
    shape = draw(filled)
    # regroup the factors of the sizes: 4 is 2 2, so (4, 3) may become (2, 6)
    factors = [f for n in shape for f in ((2, 2) if n == 4 else (n,))]
    target = []
    for factor in draw(st.permutations(factors)):
        if target and draw(st.booleans()):
            target[-1] *= factor
        else:
            target.append(factor)
    if target and draw(st.booleans()):
        target[draw(st.integers(0, len(target) - 1))] = -1
    return shape, tuple(target)


@given(_reshape_case())
def test_reshape(case):
    shape, target = case
    array, t = _pair(shape)
    same(t.reshape(target), array.reshape(target))
    same(t.reshape(*target) if target else t.reshape(()), array.reshape(target))
    same(t.view(target), array.reshape(target))
    assert np.shares_memory(t.view(target).numpy(), t.numpy())


@given(_reshape_case())
def test_reshape_of_a_transposed_tensor(case):
    shape, target = case
    array, t = _pair(shape)
    order = tuple(reversed(range(len(shape))))
    same(t.permute(order).reshape(target), array.transpose(order).reshape(target))


@given(filled, st.randoms())
def test_permute_and_transpose(shape, random):
    array, t = _pair(shape)
    order = list(range(len(shape)))
    random.shuffle(order)
    same(t.permute(*order), array.transpose(order))
    same(t.permute(tuple(order)), array.transpose(order))
    i, j = random.choice(order), random.choice(order) - len(shape)
    same(t.transpose(i, j), array.swapaxes(i, j))
    same(t.movedim(i, j), np.moveaxis(array, i, j))


def test_transpose_takes_dims_as_the_spec_says():
    array, t = _pair((2, 3, 4))
    same(t.transpose(0, 2), array.swapaxes(0, 2))
    same(t.transpose((0, 1)), array.swapaxes(0, 1))  # two dims swap
    same(t.transpose((2, 0, 1)), array.transpose(2, 0, 1))  # a longer tuple permutes
    same(t.transpose(), array.swapaxes(-1, -2))  # none swaps the last two
    same(t[0].T, array[0].T)


@given(filled, st.lists(st.integers(1, 3), max_size=2))
def test_expand(shape, more):
    mask = [(i + len(more)) % 2 for i in range(len(shape))]
    small = tuple(1 if m else n for m, n in zip(mask, shape, strict=True))
    array, t = _pair(small)
    target = (*more, *shape)
    out = t.expand(target)
    same(out, np.broadcast_to(array, target))
    assert np.shares_memory(out.numpy(), t.numpy())
    keep = tuple(-1 if not m else n for m, n in zip(mask, shape, strict=True))
    same(t.expand(*more, *keep), np.broadcast_to(array, target))


@given(shapes, st.data())
def test_squeeze_and_unsqueeze(shape, data):
    array, t = _pair(shape)
    dim = data.draw(st.integers(-len(shape) - 1, len(shape)))
    same(t.unsqueeze(dim), np.expand_dims(array, dim))
    same(t.unsqueeze(dim).squeeze(dim), array)
    same(t.squeeze(), array.squeeze())
    if shape:
        dim = data.draw(st.integers(-len(shape), len(shape) - 1))
        same(t.squeeze(dim), array.squeeze(dim) if shape[dim] == 1 else array)


@given(shapes, st.data())
def test_flip_and_roll(shape, data):
    array, t = _pair(shape)
    if not shape:
        return
    dims = tuple(data.draw(st.sets(st.integers(0, len(shape) - 1))))
    same(t.flip(dims), np.flip(array, dims))
    shift = data.draw(st.integers(-5, 5))
    same(t.roll(shift, 0), np.roll(array, shift, 0))


@given(st.lists(st.integers(0, 3), min_size=1, max_size=3), st.data())
def test_cat_stack_split_and_chunk(shape, data):
    dim = data.draw(st.integers(-len(shape), len(shape) - 1))
    parts = []
    for size in data.draw(st.lists(st.integers(0, 3), min_size=1, max_size=3)):
        own = list(shape)
        own[dim] = size
        parts.append(_pair(own))
    arrays, tensors = [a for a, _ in parts], [t for _, t in parts]
    whole = np.concatenate(arrays, dim)
    t = genesis.cat(tensors, dim)
    same(t, whole)
    for out, array in zip(t.split([a.shape[dim] for a in arrays], dim), arrays, strict=True):
        same(out, array)
    step = data.draw(st.integers(1, 4))
    if whole.shape[dim]:
        edges = range(step, whole.shape[dim], step)
        for out, array in zip(t.split(step, dim), np.split(whole, list(edges), dim), strict=True):
            same(out, array)
    same(genesis.stack([t, t], dim), np.stack([whole, whole], dim))


@given(filled, st.lists(st.integers(0, 3), min_size=4, max_size=5))
def test_repeat_and_tile(shape, counts):
    array, t = _pair(shape)
    same(t.repeat(*counts), np.tile(array, counts))
    same(t.tile(counts[:2]), np.tile(array, counts[:2]))


@st.composite
def _broadcast_pair(draw):
    whole = draw(st.lists(st.integers(0, 3), max_size=4))

    def part():
        cut = draw(st.integers(0, len(whole)))
        return tuple(1 if draw(st.booleans()) else n for n in whole[cut:])

    return part(), part()


@given(_broadcast_pair())
def test_broadcasting(case):
    (a, x), (b, y) = _pair(case[0]), _pair(case[1])
    same(x + y, a + b)
    same(x * 2 - y, a * 2 - b)
    for out, array in zip(genesis.broadcast_tensors(x, y), np.broadcast_arrays(a, b), strict=True):
        same(out, array)


@given(_broadcast_pair())
def test_gradients_of_broadcasting_have_the_shapes_of_the_inputs(case):
    (a, x), (b, y) = _pair(case[0]), _pair(case[1])
    x.requires_grad_()
    y.requires_grad_()
    out = x * y
    weights = _array(out.shape) + 1
    out.backward(genesis.tensor(weights, dtype=genesis.float64))

    def summed(gradient, shape):
        gradient = gradient.sum(axis=tuple(range(gradient.ndim - len(shape))))
        axes = tuple(i for i, n in enumerate(shape) if n == 1 and gradient.shape[i] != 1)
        return gradient.sum(axis=axes, keepdims=True)

    np.testing.assert_allclose(x.grad.numpy(), summed(weights * b, a.shape))
    np.testing.assert_allclose(y.grad.numpy(), summed(weights * a, b.shape))


# --- chains of operations: every element of the result is an element of the input, so the index of
# each tells values and gradient at once


@st.composite
def _step(draw, shape):
    """One operation on a tensor of `shape`, for NumPy and for us."""
    n = len(shape)
    kind = draw(
        st.sampled_from(["reshape", "permute", "slice", "select", "unsqueeze", "flip", "expand"])
    )
    if kind == "permute":
        order = draw(st.permutations(range(n)))
        return lambda a: a.transpose(order), lambda t: t.permute(tuple(order))
    if kind == "unsqueeze":
        dim = draw(st.integers(0, n))
        return lambda a: np.expand_dims(a, dim), lambda t: t.unsqueeze(dim)
    if kind == "expand":
        count = draw(st.integers(1, 2))
        return lambda a: np.broadcast_to(a, (count, *a.shape)), lambda t: t.expand(count, *t.shape)
    if n == 0:
        return lambda a: a.reshape(1, 1), lambda t: t.reshape(1, 1)
    dim = draw(st.integers(0, n - 1))
    if kind == "reshape":  # merge two dimensions, or all
        target = (
            (*shape[:dim], shape[dim] * shape[dim + 1], *shape[dim + 2 :]) if dim + 1 < n else (-1,)
        )
        return lambda a: a.reshape(target), lambda t: t.reshape(target)
    if kind == "flip":
        return lambda a: np.flip(a, dim), lambda t: t.flip(dim)
    if kind == "select":
        i = draw(st.integers(0, shape[dim] - 1))
        return lambda a: a.take(i, dim), lambda t: t.select(dim, i)
    start = draw(st.integers(0, shape[dim] - 1))
    index = (slice(None),) * dim + (slice(start, None, draw(st.integers(1, 2))),)
    return lambda a: a[index], lambda t: t[index]


@given(filled, st.data())
def test_chains_of_views(shape, data):
    array, t = _pair(shape)
    leaf = t.requires_grad_()
    for _ in range(data.draw(st.integers(1, 6))):
        numpy_step, our_step = data.draw(_step(array.shape))
        array, t = numpy_step(array), our_step(t)
        assert t.shape == array.shape
    same(t.detach(), array)
    weights = _array(array.shape) + 1
    t.backward(genesis.tensor(weights, dtype=genesis.float64))
    expected = np.zeros(int(np.prod(shape)))
    np.add.at(expected, array.astype(int).reshape(-1), weights.reshape(-1))
    np.testing.assert_allclose(leaf.grad.numpy().reshape(-1), expected)


@given(filled, st.data())
def test_writing_through_a_chain_of_views(shape, data):
    array, t = _pair(shape)
    base_array, base = array, t
    for _ in range(data.draw(st.integers(1, 4))):
        numpy_step, our_step = data.draw(_step(array.shape))
        next_array, next_t = numpy_step(array), our_step(t)
        if not (np.shares_memory(next_array, base_array) and next_array.flags.writeable):
            break
        if not np.shares_memory(next_t.numpy(), base.numpy()):
            break  # flip copies here, and is a view there
        array, t = next_array, next_t
    array += 100
    t.add_(100)
    same(base, base_array)


# --- errors


def test_shapes_that_do_not_fit_are_named():
    x = genesis.zeros(2, 3)
    for wrong in (lambda: x.reshape(4), lambda: x.view(4, 2), lambda: x.reshape(-1, 4)):
        with pytest.raises(ValueError, match=r"\(2, 3\)"):
            wrong()
    with pytest.raises(ValueError, match="-1"):
        x.reshape(-1, -1)
    with pytest.raises(ValueError, match=r"\(2, 3\).*\(2, 4\)"):
        x.expand(2, 4)
    with pytest.raises(ValueError, match=r"contiguous|reshape"):
        x.t().view(6)


def test_dims_out_of_range_are_named():
    x = genesis.zeros(2, 3)
    for wrong in (
        lambda: x.transpose(0, 2),
        lambda: x.unsqueeze(4),
        lambda: x.squeeze(2),
        lambda: x.flip(2),
        lambda: x.permute(0, 2),
        lambda: genesis.cat([x, x], 2),
    ):
        with pytest.raises(IndexError, match="dim"):
            wrong()
    with pytest.raises((ValueError, RuntimeError), match=r"(?i)permute|repeat|dims"):
        x.permute(0, 0)
