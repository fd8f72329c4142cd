"""Views whose base enters a graph after they were made, and what may be written between a call and backward."""

import genesis
import pytest

from tests.autograd.leaves import leaf, same


def test_a_view_made_before_its_base_was_written_passes_gradients_on():
    x = genesis.zeros(4)
    v = x[:2]
    p = leaf(2.0, 3.0)
    x[:2] = p
    assert v.requires_grad
    assert not v.is_leaf
    (x.sum() + (v * 2).sum()).backward()
    same(p.grad, [3, 3])


def test_rows_made_before_their_matrix_was_written_pass_gradients_on():
    x = genesis.zeros(3, 2)
    rows = [x[i] for i in range(3)]
    w = genesis.ones(3, 2, requires_grad=True)
    x += w
    genesis.stack(rows).sum().backward()
    same(w.grad, [[1, 1]] * 3)


def test_a_sibling_of_a_written_view_passes_gradients_on():
    x = genesis.zeros(4)
    v, sibling = x[:3], x[1:]
    w = leaf(1.0, 1.0, 1.0)
    v.add_(w)
    sibling.sum().backward()
    same(w.grad, [0, 1, 1])


def test_a_view_of_a_view_follows_the_base():
    x = genesis.zeros(2, 3)
    v = x.t()[1:].reshape(-1)[::2] if x.t()[1:].is_contiguous() else x.t()[1:]
    p = genesis.ones(2, 3, requires_grad=True)
    x.copy_(p)
    (v * v).sum().backward()
    same(p.grad, [[0, 2, 2], [0, 2, 2]])


@pytest.mark.parametrize("read", ["numpy", "__array__", "tolist"])
def test_readers_see_that_a_view_requires_grad(read):
    x = genesis.zeros(2)
    v = x[:1]
    x.mul_(leaf(1.0, 2.0))
    if read == "tolist":
        assert v.tolist() == [0]
        return
    with pytest.raises(RuntimeError, match="requires grad"):
        getattr(v, read)()


def test_a_view_requires_grad_as_soon_as_its_base_does():
    x = genesis.zeros(3)
    v = x[:2]
    x.requires_grad_()
    assert v.requires_grad
    with pytest.raises(RuntimeError, match="leaf"):
        v.add_(1)
    with genesis.no_grad():
        x.add_(1)
    v.sum().backward()  # the write made its history anew, as in PyTorch
    same(x.grad, [1, 1, 0])
    assert v.grad_fn is not None


def test_a_view_that_is_a_leaf_may_not_be_written():
    v = genesis.zeros(3)[:2].requires_grad_()
    for write in (lambda: v.add_(1), lambda: v[:1].fill_(1), lambda: v[0].zero_()):
        with pytest.raises(RuntimeError, match="leaf"):
            write()


def test_a_base_with_other_memory_leaves_its_views_alone():
    x = genesis.zeros(4)
    v = x[2:]
    x.data = genesis.ones(1)
    x.requires_grad_()
    assert not v.requires_grad
    v.add_(1)
    same(v, [1, 1])


def test_a_retained_gradient_follows_its_tensor_through_a_write():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.mul_(3)
    y.sum().backward()
    same(y.grad, [1, 1])
    same(x.grad, [6, 6])


def test_a_retained_gradient_follows_a_view_whose_base_was_written():
    x = leaf(1.0, 2.0, 3.0)
    y = x * 2
    v = y[:2]
    v.retain_grad()
    y.mul_(3)
    (v * 5).sum().backward()
    same(v.grad, [5, 5])
    same(x.grad, [30, 30, 0])


@pytest.mark.parametrize("fill", ["zero_", "fill_", "copy_", "normal_", "setitem"])
def test_what_is_overwritten_gets_a_gradient_of_zeros(fill):
    x = leaf(1.0, 2.0)
    y = x * 1
    if fill == "zero_":
        y.zero_()
    elif fill == "fill_":
        y.fill_(3)
    elif fill == "copy_":
        y.copy_(genesis.ones(2))
    elif fill == "normal_":
        y.normal_()
    else:
        y[:] = 4
    y.sum().backward()
    same(x.grad, [0, 0])


def test_a_quotient_may_be_scaled_afterwards():
    x = leaf(3.0, 4.0)
    y = x / x.norm()
    y *= 3
    y.sum().backward()
    same(x.grad, [3 * 0.032, -3 * 0.024])


def test_a_factor_that_no_gradient_needs_may_be_written():
    x, c = leaf(1.0, 2.0), genesis.ones(2)
    y = genesis.lerp(x * 1, c, 0.5)
    c.zero_()
    y.sum().backward()
    same(x.grad, [0.5, 0.5])
    x, a, b = leaf(1.0, 2.0), genesis.ones(2), genesis.ones(2)
    y = genesis.addcmul(x, a, b)
    a.zero_()
    b.zero_()
    y.sum().backward()
    same(x.grad, [1, 1])


def test_a_buffer_of_a_product_may_be_reused():
    w = genesis.ones(2, 3, requires_grad=True)
    buffer = genesis.ones(4, 3)
    y = genesis.nn.functional.linear(buffer, w)
    with pytest.raises(RuntimeError, match=r"linear.*fill_"):
        buffer.zero_()  # the gradient of w needs it
        y.sum().backward()
    x, c = genesis.ones(4, 3, requires_grad=True), genesis.ones(2, 3)
    h = x * 1
    y = genesis.nn.functional.linear(h, c)
    with genesis.no_grad():
        h.zero_()  # the gradient of h does not
    y.sum().backward()
    same(x.grad, [[2, 2, 2]] * 4)


def test_false_as_an_index_writes_nothing():
    x = leaf(1.0, 2.0)
    y = x * 1
    z = y.exp().sum() + (y * y).sum()
    version = y._version
    y[False] = 5.0
    assert y._version == version
    z.backward()
