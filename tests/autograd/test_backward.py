"""What backward and grad take, what accumulates, and what is freed."""

import genesis
import numpy as np
import pytest
from genesis.autograd import grad

from tests.autograd.leaves import leaf, same

# --- accumulation


def test_gradients_accumulate_over_backward_calls():
    x = leaf(1.0, 2.0)
    x.sum().backward()
    same(x.grad, [1, 1])
    (x * 2).sum().backward()
    same(x.grad, [3, 3])


def test_accumulation_happens_in_the_same_tensor():
    x = leaf(1.0, 2.0)
    x.sum().backward()
    first = x.grad
    assert x.grad is x.grad
    x.sum().backward()
    assert x.grad is first
    same(first, [2, 2])


def test_the_gradient_of_one_leaf_is_not_the_memory_of_another():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    (x + y).backward(genesis.ones(2))
    x.grad.zero_()
    same(y.grad, [1, 1])


def test_the_gradient_is_not_the_memory_of_the_argument():
    x, seed = leaf(1.0, 2.0), genesis.ones(2)
    x.clone().backward(seed)
    x.grad.mul_(5)
    same(seed, [1, 1])


def test_grad_can_be_assigned_and_cleared():
    x = leaf(1.0, 2.0)
    x.grad = genesis.tensor([5.0, 5.0])
    x.sum().backward()
    same(x.grad, [6, 6])
    x.grad = None
    assert x.grad is None
    x.sum().backward()
    same(x.grad, [1, 1])


def test_a_gradient_of_another_shape_cannot_be_assigned():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"\(3,\).*\(2,\)|\(2,\).*\(3,\)"):
        x.grad = genesis.ones(3)


def test_a_tensor_used_twice_receives_both_gradients():
    x = leaf(3.0)
    (x * x + x).sum().backward()
    same(x.grad, [7])


def test_diamond_runs_each_node_once():
    calls = []
    x = leaf(2.0)
    y = x * 3
    y.register_hook(lambda g: calls.append(float(g)))
    left, right = y.exp() * 0, y * y
    (left + right + y).sum().backward()
    assert calls == [13.0]  # 2 y + 1, arrived as one gradient
    same(x.grad, [39])


def test_a_ladder_of_diamonds_is_not_walked_by_paths():
    x = leaf(1.0)
    y = x
    for _ in range(100):  # 2^100 paths, 100 nodes
        y = (y + y) * 0.5
    y.sum().backward()
    same(x.grad, [1])


@pytest.mark.parametrize(
    ("shape", "other"),
    [((3,), (2, 3)), ((2, 1), (2, 3)), ((), (2,)), ((1, 1, 1), (2, 3)), ((0,), (1,))],
)
def test_broadcasting_is_undone(shape, other):
    x, y = genesis.ones(shape, requires_grad=True), genesis.ones(other, requires_grad=True)
    out = x * y
    out.sum().backward()
    assert x.grad.shape == x.shape
    assert y.grad.shape == y.shape
    assert float(x.grad.sum()) == float(y.grad.sum()) == out.numel()


def test_gradients_keep_the_dtype_of_their_leaf():
    x = genesis.ones(3, dtype=genesis.float32, requires_grad=True)
    y = genesis.ones(3, dtype=genesis.float64, requires_grad=True)
    (x * y).sum().backward()
    assert x.grad.dtype == genesis.float32
    assert y.grad.dtype == genesis.float64


def test_backward_works_inside_no_grad():
    x = leaf(2.0)
    y = (x * x).sum()
    with genesis.no_grad():
        y.backward()
    same(x.grad, [4])
    assert not x.grad.requires_grad


# --- what backward takes


def test_backward_of_a_non_scalar_shows_the_shape():
    x = genesis.ones(2, 3, requires_grad=True)
    with pytest.raises(RuntimeError, match=r"\(2, 3\).*gradient"):
        (x * 2).backward()


def test_backward_of_one_element_needs_no_gradient():
    x = leaf(2.0)
    (x.reshape(1, 1) * 3).backward()
    same(x.grad, [3])


def test_backward_takes_a_gradient_under_both_names():
    x = leaf(1.0, 2.0)
    (x * 2).backward(gradient=genesis.tensor([1.0, 10.0]))
    (x * 2).backward(out_grad=genesis.tensor([1.0, 10.0]))
    same(x.grad, [4, 40])


def test_a_gradient_of_another_shape_is_refused():
    x = leaf(1.0, 2.0)
    with pytest.raises(RuntimeError, match=r"\(3,\).*\(2,\)"):
        (x * 2).backward(genesis.ones(3))


def test_backward_of_a_tensor_outside_any_graph_warns_and_does_nothing():
    x = genesis.ones(())
    with pytest.warns(UserWarning, match="(?i)requires_grad|graph"):
        x.backward()
    assert x.grad is None


def test_autograd_functions_refuse_a_tensor_outside_any_graph():
    x = genesis.ones(())
    with pytest.raises(RuntimeError, match="require grad"):
        grad(x, leaf(1.0))
    with pytest.raises(RuntimeError, match="require grad"):
        genesis.autograd.backward(x)


def test_backward_with_inputs_touches_only_those():
    x, y = leaf(2.0), leaf(3.0)
    (x * y).sum().backward(inputs=[x])
    same(x.grad, [3])
    assert y.grad is None


def test_autograd_backward_takes_several_roots():
    x = leaf(2.0)
    genesis.autograd.backward([(x * 3).sum(), x * x], [None, genesis.tensor([10.0])])
    same(x.grad, [43])


def test_a_root_may_lie_below_another():
    x = leaf(2.0)
    y = x * x
    genesis.autograd.backward([y.sum(), (y * y).sum()])
    same(x.grad, [4 + 32])


# --- grad()


def test_grad_returns_gradients_and_touches_nothing():
    x, y = leaf(2.0), leaf(3.0)
    gx, gy = grad((x * y).sum(), [x, y])
    same(gx, [3])
    same(gy, [2])
    assert x.grad is None
    assert y.grad is None


def test_grad_of_intermediate_tensors():
    x = leaf(2.0)
    y = x * 3
    gx, gy = grad((y * y).sum(), [x, y])
    same(gy, [12])
    same(gx, [36])


def test_grad_names_the_input_that_is_not_used():
    x, unused = leaf(2.0), leaf(1.0)
    with pytest.raises(RuntimeError, match="allow_unused"):
        grad((x * x).sum(), [x, unused])
    gx, none = grad((x * x).sum(), [x, unused], allow_unused=True)
    same(gx, [4])
    assert none is None


def test_grad_of_an_input_that_does_not_require_grad_raises():
    x, constant = leaf(2.0), genesis.ones(1)
    with pytest.raises(RuntimeError, match="require"):
        grad((x * constant).sum(), [constant])


def test_grad_takes_the_same_input_twice():
    x = leaf(2.0)
    first, second = grad((x * x).sum(), [x, x])
    same(first, [4])
    same(second, [4])


# --- retain_graph and create_graph


def test_backward_twice_names_the_operation_and_the_way_out():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match=r"exp.*retain_graph=True") as caught:
        y.backward()
    assert "detach" in str(caught.value)
    same(x.grad, np.exp([1, 2]))


def test_retain_graph_allows_a_second_backward():
    x = leaf(1.0, 2.0)
    y = x.exp().sum()
    y.backward(retain_graph=True)
    y.backward()
    same(x.grad, 2 * np.exp([1, 2]))


def test_a_shared_part_of_two_graphs_is_freed_by_the_first():
    x = leaf(2.0)
    h = x.exp()
    first, second = h.sum(), (h * h).sum()
    first.backward()
    with pytest.raises(RuntimeError, match="exp"):
        second.backward()


def test_create_graph_gives_a_gradient_with_a_graph():
    x = leaf(2.0)
    (g,) = grad((x**4).sum(), x, create_graph=True)
    (gg,) = grad(g.sum(), x, create_graph=True)
    (ggg,) = grad(gg.sum(), x)
    same(g, [32])
    same(gg, [48])
    same(ggg, [48])
    assert g.requires_grad
    assert not ggg.requires_grad


def test_create_graph_retains_the_graph():
    x = leaf(2.0)
    y = (x**3).sum()
    grad(y, x, create_graph=True)
    y.backward()
    same(x.grad, [12])


def test_gradient_penalty_reaches_the_weights():
    w, x = leaf(3.0), leaf(2.0)
    (g,) = grad((w * x * x).sum(), x, create_graph=True)  # 2 w x
    (g * g).sum().backward()
    same(w.grad, [8 * 3 * 4])


# --- outputs and nodes


def test_outputs_of_unbind_split_and_chunk_go_back_to_their_places():
    x = genesis.arange(6.0).requires_grad_()
    a, _, c = x.split(2)
    (a * 2 + c * 3).sum().backward()
    same(x.grad, [2, 2, 0, 0, 3, 3])

    x.grad = None
    first, second = x.chunk(2)
    (first * second).sum().backward()
    same(x.grad, [3, 4, 5, 0, 1, 2])

    y = genesis.ones(3, 2, requires_grad=True)
    rows = y.unbind(0)
    (rows[0] * 5).sum().backward()
    same(y.grad, [[5, 5], [0, 0], [0, 0]])


def test_a_result_with_two_outputs_takes_a_gradient_for_either():
    x = genesis.tensor([[1.0, 5.0], [7.0, 3.0]], requires_grad=True)
    values, indices = x.max(dim=1)
    assert not indices.requires_grad
    values.sum().backward()
    same(x.grad, [[0, 1], [1, 0]])


def test_nodes_have_names_and_next_functions():
    x, constant = leaf(1.0), genesis.ones(1)
    y = x * constant + 3
    assert y.grad_fn.name() == "AddBackward"
    assert str(y.grad_fn) == "<AddBackward>"
    assert y.creator is y.grad_fn
    (mul, _), *_ = y.grad_fn.next_functions
    assert mul.name() == "MulBackward"
    (accumulate, index), (nothing, _) = mul.next_functions
    assert accumulate.name() == "AccumulateGrad"
    assert index == 0
    assert nothing is None


def test_a_node_is_one_object():
    y = leaf(1.0) * 2
    assert y.grad_fn is y.grad_fn
    assert y.grad_fn == y.grad_fn
    assert (y + 1).grad_fn.next_functions[0][0] is y.grad_fn


def test_backward_is_the_same_to_the_last_bit_every_time(rng):
    data = rng.normal(size=(17, 5))
    results = set()
    for _ in range(3):
        x = genesis.tensor(data, requires_grad=True)
        parts = [(x * float(i)).sin().sum(dim=i % 2).sum() for i in range(20)]
        sum(parts).backward()
        results.add(x.grad.numpy().tobytes())
    assert len(results) == 1
