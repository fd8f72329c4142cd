"""Operations in place, on tensors and on views, inside a graph."""

import itertools

import genesis
import pytest
from genesis.autograd import gradcheck

from tests.autograd.leaves import leaf, same


def test_changing_a_saved_tensor_names_both_operations():
    x = leaf(1.0, 2.0)
    y = x.exp()
    y.add_(1)
    with pytest.raises(RuntimeError, match=r"exp.*add_"):
        y.sum().backward()


def test_changing_a_saved_input_through_a_view_is_noticed():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = (y * y).sum()
    y[0].mul_(5)
    with pytest.raises(RuntimeError, match=r"mul.*mul_"):
        z.backward()


def test_changing_a_tensor_that_nobody_saved_is_fine():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.add_(1)
    y.mul_(3)
    y.sum().backward()
    same(x.grad, [6, 6])


def test_every_inplace_write_bumps_the_version():
    x = genesis.ones(2, 2)
    versions = [x._version]
    for write in (
        lambda: x.add_(1),
        lambda: x.__setitem__(0, 5.0),
        lambda: x[1].zero_(),
        lambda: x.detach().mul_(2),
    ):
        write()
        versions.append(x._version)
    assert all(b > a for a, b in itertools.pairwise(versions))


def test_inplace_on_a_leaf_says_what_to_do():
    x = leaf(1.0, 2.0)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 1.0), lambda: x[0].mul_(2)):
        with pytest.raises(RuntimeError, match=r"leaf.*no_grad"):
            write()
    with genesis.no_grad():
        x.add_(1)
    same(x, [2, 3])
    assert x.is_leaf


def test_a_tensor_becomes_part_of_a_graph_by_an_inplace_operation():
    x, y = leaf(2.0), genesis.ones(1)
    y.mul_(x)
    assert y.requires_grad
    assert not y.is_leaf
    y.sum().backward()
    same(x.grad, [1])


def _one_view(y):
    y[0].mul_(10)


def _two_overlapping_views(y):
    row, column = y[0], y[:, 1]
    row.mul_(2)
    column.add_(1)
    row.sin_()
    return row * 3, column.exp()


def _view_of_a_view(y):
    y[:2].t()[0].exp_()


def _reshaped_view(y):
    flat = y.reshape(-1)
    flat[::2].mul_(flat[1::2].clone())


def _base_after_view(y):
    row = y[1]
    y.mul_(y.clone())
    return row * 2


def _view_before_and_after(y):
    row = y[1]
    before = row * 3
    y.add_(2)
    return before, row.exp()


def _transposed_write(y):
    y.t().copy_(y.t().clone().sin())


def _unsqueezed(y):
    y.unsqueeze(0).squeeze(0).view(6).pow_(3)


@pytest.mark.parametrize(
    "program",
    [
        _one_view,
        _two_overlapping_views,
        _view_of_a_view,
        _reshaped_view,
        _base_after_view,
        _view_before_and_after,
        _transposed_write,
        _unsqueezed,
    ],
    ids=lambda program: program.__name__.strip("_"),
)
def test_inplace_on_views_gives_the_right_gradient(program, rng):
    def function(x):
        y = x * 1
        more = program(y)
        more = () if more is None else more if isinstance(more, tuple) else (more,)
        return (y, *more)

    x = genesis.tensor(rng.uniform(0.5, 1.5, (2, 3)), dtype=genesis.float64, requires_grad=True)
    assert gradcheck(function, x, order=2)


ROW, MASK = genesis.tensor([1, 0]), genesis.tensor([[True, False, True], [False, False, True]])


@pytest.mark.parametrize(
    "index",
    [
        0,
        (slice(None), 1),
        (..., slice(0, 3, 2)),
        (1, 2),
        ROW,
        (ROW, ROW),
        MASK,
        (slice(None), genesis.tensor([0, 2])),
        (None, 0),
        ...,
    ],
    ids=str,
)
def test_setitem_has_gradients_for_both_sides(index, rng):
    def function(x, value):
        y = x * 1
        y[index] = value * 2
        return y * y

    x = genesis.tensor(rng.normal(size=(2, 3)), dtype=genesis.float64, requires_grad=True)
    shape = tuple(x.detach()[index].shape)
    for value_shape in {shape, shape[-1:], ()}:
        values = rng.normal(size=value_shape)
        value = genesis.tensor(values, dtype=genesis.float64, requires_grad=True)
        assert gradcheck(function, (x, value), order=2)


def test_setitem_of_a_number_stops_the_gradient_there():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    y[1] = 5.0
    y.sum().backward()
    same(x.grad, [2, 0, 2])
