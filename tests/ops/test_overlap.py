"""Writing to tensors that show one place several times, and to those that only look as if they did."""

import genesis
import pytest


def expanded():
    return genesis.full((1,), 1.5).expand(3)


def windows():
    return genesis.full((5,), 1.5).as_strided((3, 3), (1, 1))


def interleaved():
    """Strides that no order nests, and yet no place twice: 0 2 4, 3 5 7."""
    return genesis.zeros(8).as_strided((2, 3), (3, 2))


@pytest.mark.parametrize("make", [expanded, windows])
@pytest.mark.parametrize(
    "fill",
    [
        lambda x: x.fill_(4),
        lambda x: x.masked_fill_(genesis.ones(3, dtype=genesis.bool), 4),
        lambda x: x.__setitem__(genesis.ones(x.shape, dtype=genesis.bool), 4),
        lambda x: x.__setitem__(genesis.tensor([0, 1, 2]), 4),
        lambda x: x.index_fill_(0, genesis.tensor([0, 1, 2]), 4),
    ],
)
def test_one_number_may_be_written_anywhere(make, fill):
    x = make()
    fill(x)
    assert (x == 4).all()


def test_a_place_is_written_if_the_mask_selects_it_once():
    x = expanded()
    x.masked_fill_(genesis.tensor([False, True, False]), 4)
    assert x.tolist() == [4, 4, 4]


@pytest.mark.parametrize("name", ["round_", "floor_", "ceil_", "trunc_", "relu_", "abs_", "sign_"])
def test_what_changes_nothing_the_second_time_may_be_applied_to_windows(name):
    x = windows()
    before = x.clone()
    getattr(x, name)()
    assert x.tolist() == getattr(before, name)().tolist()
    with pytest.raises(RuntimeError, match="share one memory location"):
        getattr(expanded(), name)()


def test_clamp_of_windows():
    x = windows()
    assert (x.clamp_(max=1) == 1).all()


@pytest.mark.parametrize("make", [expanded, windows])
@pytest.mark.parametrize(
    "write",
    [
        lambda x: x.add_(1),
        lambda x: x.neg_(),
        lambda x: x.copy_(genesis.rand(x.shape)),
        lambda x: x.uniform_(),
        lambda x: x.cumsum_(0),
    ],
)
def test_what_depends_on_the_order_of_writes_is_refused(make, write):
    x = make()
    with pytest.raises(RuntimeError, match="share one memory location"):
        write(x)
    assert (x == 1.5).all()


def test_interleaved_elements_do_not_overlap():
    x = interleaved()
    x.add_(1)
    x.copy_(genesis.arange(6.0).reshape(2, 3))
    assert x.tolist() == [[0, 1, 2], [3, 4, 5]]


def test_filling_an_expanded_tensor_inside_a_graph():
    w = genesis.ones(2, 1, requires_grad=True)
    y = w * 2
    y.expand(2, 3).fill_(7)
    assert y.tolist() == [[7], [7]]
    (y * y).sum().backward()
    assert w.grad.tolist() == [[0], [0]]
    z = w * 2
    with pytest.raises(RuntimeError, match="share one memory location"):
        z.expand(2, 3).masked_fill_(genesis.ones(2, 3, dtype=genesis.bool), 1)
