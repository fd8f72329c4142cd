"""Hooks on tensors, retained gradients, and leaving the graph."""

import genesis
import numpy as np
import pytest
from genesis.autograd import grad

from tests.autograd.leaves import leaf, same

# --- hooks


def test_hooks_run_in_order_and_each_sees_the_result_of_the_one_before():
    x, seen = leaf(1.0), []
    x.register_hook(lambda g: seen.append(float(g)) or g * 10)
    x.register_hook(lambda g: seen.append(float(g)))
    x.register_hook(lambda g: g + 1)
    (x * 2).sum().backward()
    assert seen == [2.0, 20.0]
    same(x.grad, [21])


def test_a_hook_may_change_the_gradient_in_place():
    x, y = leaf(1.0, 2.0), leaf(1.0, 2.0)

    def scale(g):
        g.mul_(100)

    x.register_hook(scale)
    (x + y).backward(genesis.tensor([1.0, 2.0]))
    same(x.grad, [100, 200])
    same(y.grad, [1, 2])  # the hook had a buffer of its own


def test_a_hook_may_change_an_expanded_gradient_in_place():
    x = genesis.zeros(4, requires_grad=True)

    def clip(g):
        g.clamp_(max=0.5)

    x.register_hook(clip)
    x.sum().backward()
    same(x.grad, np.full(4, 0.5))


def test_a_removed_hook_does_not_run():
    x, calls = leaf(1.0), []
    handle = x.register_hook(lambda g: calls.append("first"))
    x.register_hook(lambda g: calls.append("second"))
    handle.remove()
    handle.remove()  # twice is fine
    x.sum().backward()
    assert calls == ["second"]


def test_a_hook_may_remove_itself():
    x, calls = leaf(1.0), []

    def once(g):
        calls.append(float(g))
        handle.remove()

    handle = x.register_hook(once)
    x.sum().backward()
    x.sum().backward()
    assert calls == [1.0]


def test_a_hook_on_an_intermediate_tensor_changes_what_flows_on():
    x = leaf(1.0)
    y = x * 2
    y.register_hook(lambda g: g * 5)
    (y * 3).sum().backward()
    same(x.grad, [30])


def test_hooks_see_what_grad_returns():
    x = leaf(1.0)
    x.register_hook(lambda g: g * 5)
    (g,) = grad((x * 2).sum(), x)
    same(g, [10])


def test_a_hook_that_returns_another_shape_is_refused():
    x = leaf(1.0, 2.0)
    x.register_hook(lambda g: g.sum())
    with pytest.raises(RuntimeError, match=r"hook.*\(\).*\(2,\)"):
        x.sum().backward()


def test_an_exception_in_a_hook_comes_out_of_backward_and_leaves_the_engine_sound():
    x = leaf(1.0)

    def fail(g):
        raise KeyError("from the hook")

    handle = x.register_hook(fail)
    with pytest.raises(KeyError, match="from the hook"):
        (x * 2).sum().backward()
    handle.remove()
    (x * 2).sum().backward()
    same(x.grad, [2])


def test_a_hook_may_run_a_backward_of_its_own():
    x, inner = leaf(1.0), leaf(3.0)

    def hook(g):
        with genesis.enable_grad():  # hooks run in the mode of the pass, which records nothing
            (inner * inner).sum().backward()

    y = x * 2
    y.register_hook(hook)
    (y * y).sum().backward()
    same(x.grad, [8])
    same(inner.grad, [6])


def test_a_hook_on_a_tensor_without_grad_is_refused():
    with pytest.raises(RuntimeError, match="require"):
        genesis.ones(2).register_hook(lambda g: g)


# --- retain_grad, detach, requires_grad


def test_retain_grad_keeps_the_gradient_of_an_intermediate_tensor():
    x = leaf(1.0, 2.0)
    y = x * 2
    y.retain_grad()
    y.retain_grad()  # twice is fine
    (y * 3).sum().backward()
    same(y.grad, [3, 3])
    same(x.grad, [6, 6])


def test_retain_grad_keeps_what_the_hooks_made_of_it():
    x = leaf(1.0)
    y = x * 2
    y.retain_grad()
    y.register_hook(lambda g: g * 10)
    y.sum().backward()
    same(y.grad, [10])


def test_retain_grad_on_a_leaf_changes_nothing():
    x = leaf(1.0)
    x.retain_grad()
    x.sum().backward()
    same(x.grad, [1])


def test_detach_shares_memory_and_stops_gradients():
    x = leaf(1.0, 2.0)
    d = x.detach()
    assert not d.requires_grad
    assert d.is_leaf
    (x * d).sum().backward()
    same(x.grad, [1, 2])
    with genesis.no_grad():
        d[0] = 7
    same(x, [7, 2])


def test_only_floating_tensors_require_grad():
    for make in (
        lambda: genesis.tensor([1, 2], requires_grad=True),
        lambda: genesis.ones(2, dtype=genesis.int64).requires_grad_(),
        lambda: genesis.zeros(2, dtype=genesis.bool, requires_grad=True),
    ):
        with pytest.raises(RuntimeError, match=r"(?i)float"):
            make()


def test_requires_grad_cannot_be_turned_off_inside_a_graph():
    y = leaf(1.0) * 2
    with pytest.raises(RuntimeError, match="detach"):
        y.requires_grad = False
    assert y.requires_grad


def test_leaves_and_results_tell_what_they_are():
    x = leaf(1.0)
    y = x * 2
    assert x.is_leaf
    assert x.grad_fn is None
    assert not y.is_leaf
    assert y.requires_grad
    assert genesis.ones(1).is_leaf
    assert not (genesis.ones(1) * 2).requires_grad


def test_comparisons_and_integers_leave_the_graph():
    x = leaf(1.0, -1.0)
    assert not (x > 0).requires_grad
    assert not x.argmax().requires_grad
    assert not x.long().requires_grad
