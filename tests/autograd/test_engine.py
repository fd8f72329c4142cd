"""Stories about backward: what accumulates, what is freed, what is refused, and in which words."""

import gc
import itertools
import threading
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import GradcheckError, grad, gradcheck, gradgradcheck

MILLION = 1_000_000


def leaf(*values, **kwargs):
    data = values[0] if len(values) == 1 and isinstance(values[0], list) else list(values)
    return genesis.tensor(data, dtype=genesis.float32, requires_grad=True, **kwargs)


def same(t, expected):
    np.testing.assert_allclose(t.detach().numpy(), expected, rtol=1e-6)


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


# --- in-place


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


# --- modes

MODES = ["no_grad", "enable_grad", "inference_mode"]


def test_no_grad_builds_no_graph():
    x = leaf(1.0)
    with genesis.no_grad():
        assert not genesis.is_grad_enabled()
        y = x * 2
    assert genesis.is_grad_enabled()
    assert not y.requires_grad
    assert y.grad_fn is None


def test_modes_nest_and_are_left_as_they_were_found():
    with genesis.no_grad():
        with genesis.enable_grad():
            assert genesis.is_grad_enabled()
            with genesis.no_grad():
                assert not genesis.is_grad_enabled()
            assert genesis.is_grad_enabled()
        assert not genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()


def test_an_exception_leaves_the_mode():
    with pytest.raises(KeyError), genesis.no_grad():
        raise KeyError
    assert genesis.is_grad_enabled()


def test_a_mode_object_can_be_entered_again():
    mode = genesis.no_grad()
    for _ in range(2):
        with mode:
            assert not genesis.is_grad_enabled()
        assert genesis.is_grad_enabled()


def test_set_grad_enabled_is_a_call_a_context_and_a_decorator():
    try:
        genesis.set_grad_enabled(False)
        assert not genesis.is_grad_enabled()
    finally:
        genesis.set_grad_enabled(True)
    with genesis.set_grad_enabled(False):
        assert not genesis.is_grad_enabled()
        with genesis.set_grad_enabled(True):
            assert genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()

    @genesis.set_grad_enabled(False)
    def function(x):
        return x * 2

    assert genesis.is_grad_enabled()
    assert not function(leaf(1.0)).requires_grad


@pytest.mark.parametrize("mode", MODES)
@pytest.mark.parametrize("called", [True, False], ids=["with parentheses", "without"])
def test_modes_decorate_functions(mode, called):
    mode_type = getattr(genesis, mode)

    def function(x):
        """What it does."""
        return x * 2

    decorated = (mode_type() if called else mode_type)(function)
    with genesis.no_grad():
        assert decorated(leaf(1.0)).requires_grad == (mode == "enable_grad")
    assert decorated(leaf(1.0)).requires_grad == (mode == "enable_grad")
    assert decorated.__name__ == "function"
    assert decorated.__doc__ == "What it does."


def test_the_mode_belongs_to_the_thread():
    seen = {}

    def other():
        seen["at start"] = genesis.is_grad_enabled()
        genesis.set_grad_enabled(False)
        seen["result"] = (leaf(1.0) * 2).requires_grad

    with genesis.no_grad():
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
        assert not genesis.is_grad_enabled()
    assert genesis.is_grad_enabled()
    assert seen == {"at start": True, "result": False}


def test_inference_tensors_cannot_enter_a_graph():
    x = leaf(1.0)
    with genesis.inference_mode():
        y = x * 2
    assert not y.requires_grad
    with pytest.raises(RuntimeError, match="inference"):
        y.requires_grad_()
    y.clone().requires_grad_()


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


# --- size and life of graphs


def _on_a_small_stack(function):
    """Runs `function` in a thread with 512 KB of stack, where recursion over a graph crashes."""
    errors = []

    def run():
        try:
            function()
        except BaseException as error:
            errors.append(error)

    before = threading.stack_size(512 * 1024)
    try:
        thread = threading.Thread(target=run)
        thread.start()
    finally:
        threading.stack_size(before)
    thread.join()
    if errors:
        raise errors[0]


def test_a_chain_of_a_million_nodes_runs_backward_and_is_destroyed():
    def story():
        x = leaf(1.0)
        y = x
        for _ in range(MILLION):
            y = y + 1
        y.sum().backward()
        same(x.grad, [1])
        del y

    _on_a_small_stack(story)


def test_a_chain_of_a_million_nodes_is_destroyed_without_backward():
    def story():
        x = leaf(1.0)
        y = x
        for _ in range(MILLION):
            y = y * x  # each node saves the result before it
        del y
        gc.collect()

    _on_a_small_stack(story)


def test_a_long_chain_of_views_and_writes_is_destroyed():
    def story():
        y = leaf(1.0, 2.0) * 1
        for _ in range(20_000):
            y[0].mul_(1.0)
        y.sum().backward()

    _on_a_small_stack(story)


def test_a_sum_of_many_terms_runs_backward():
    x = leaf(1.0)
    genesis.stack([x * float(i) for i in range(2000)]).sum().backward()
    same(x.grad, [sum(range(2000))])


def test_backward_frees_what_the_graph_saved():
    x = leaf(1.0, 2.0)
    y = x.exp()
    saved = weakref.ref(y)
    z = (y * y).sum()
    del y
    z.backward()
    gc.collect()
    assert saved() is None
    assert z.grad_fn is not None  # the graph is still there, emptied


def test_memory_of_a_graph_is_given_back():
    x = genesis.ones(1000, requires_grad=True)
    x.sum().backward()  # x.grad exists from here on
    before = genesis.memory.allocated()
    y = x
    for _ in range(10):
        y = (y * x).sin()
    y = y.sum()
    assert genesis.memory.allocated() > before + 10 * x.numel() * 4
    y.backward()
    del y
    assert genesis.memory.allocated() == before


def test_a_graph_dies_with_its_result():
    x = leaf(1.0)
    y = x * 2
    alive = weakref.ref(y)
    z = y * 3
    del y
    gc.collect()
    del z
    gc.collect()
    assert alive() is None


# --- cycles


def _dies(make):
    """Whether the tensor that `make` returns is collected once nobody holds it."""
    alive = weakref.ref(make())
    gc.collect()
    return alive() is None


def test_a_hook_that_closes_over_its_own_leaf_does_not_leak():
    def make():
        x = leaf(1.0)
        x.register_hook(lambda g: g + x.detach() * 0)
        x.sum().backward()
        return x

    assert _dies(make)


def test_a_hook_that_closes_over_its_own_result_does_not_leak():
    def make():
        y = leaf(1.0) * 2
        y.register_hook(lambda g: g + y.detach() * 0)
        y.sum().backward()
        return y

    assert _dies(make)


def test_a_gradient_with_a_graph_does_not_keep_its_leaf_alive():
    def make():
        x = leaf(2.0)
        (x**3).sum().backward(create_graph=True)
        assert x.grad.requires_grad
        return x

    assert _dies(make)


def test_an_attribute_that_points_back_does_not_leak():
    def make():
        x = leaf(1.0)
        x.result = x * 2
        x.itself = x
        return x

    assert _dies(make)


def test_a_function_that_keeps_its_own_output_does_not_leak():
    class Double(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.y = x * 2
            return ctx.y

        @staticmethod
        def backward(ctx, dy):
            return dy * 2

    def make():
        y = Double.apply(leaf(1.0))
        y.sum().backward()
        return y

    assert _dies(make)


# --- the checker that the rest relies on


def _function(forward, backward):
    """A Function with a backward of our choice, right or wrong."""

    class Made(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return forward(x)

        @staticmethod
        def backward(ctx, dy):
            (x,) = ctx.saved_tensors
            return backward(dy, x)

    return Made.apply


def test_gradcheck_promotes_float32_and_takes_several_inputs_and_outputs():
    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    index = genesis.tensor([1, 0])
    assert gradcheck(lambda x: (x**2).sum(), x, eps=1e-6) is True
    assert gradcheck(lambda x, i, y: (x * y, (x / y)[i], i), (x, index, y), order=2) is True
    assert gradcheck(lambda x, y: x @ y, (x, genesis.ones(2)), fast_mode=True, order=3) is True
    assert gradgradcheck(lambda x: x.exp(), x) is True
    assert x.grad is None


@pytest.mark.parametrize("fast_mode", [False, True])
def test_gradcheck_shows_where_a_gradient_is_wrong(fast_mode):
    wrong = _function(lambda x: x.exp(), lambda dy, x: dy * x.exp() * genesis.tensor([1.0, 1.5]))
    with pytest.raises(GradcheckError) as caught:
        gradcheck(lambda a, x: (a, wrong(x)), (leaf(1.0), leaf(0.0, 0.0)), fast_mode=fast_mode)
    text = str(caught.value)
    assert "output 1" in text
    assert "input 1" in text
    assert "1 of 4" in text
    assert "output[1] / d input[1]: analytic 1.5, numeric 1" in text
    assert gradcheck(wrong, leaf(0.0, 0.0), raise_exception=False, fast_mode=fast_mode) is False


def test_gradcheck_notices_a_gradient_that_is_missing():
    with pytest.raises(GradcheckError, match="analytic 0, numeric 2"):
        gradcheck(lambda x: x.detach() * 2, leaf(1.0))
    assert gradcheck(lambda x: x.floor(), leaf(1.5))


def test_gradcheck_of_second_order_notices_a_constant_in_the_backward():
    once = _function(lambda x: x.exp(), lambda dy, x: dy * x.detach().exp())
    assert gradcheck(once, leaf(1.0, 2.0))
    with pytest.raises(GradcheckError, match="gradgradcheck"):
        gradcheck(once, leaf(1.0, 2.0), order=2)


def test_gradcheck_notices_noise():
    noise = iter(range(100))
    noisy = _function(lambda x: x * 2, lambda dy, x: dy * (2 + 1e-7 * next(noise)))
    with pytest.raises(GradcheckError, match="nondet_tol"):
        gradcheck(noisy, leaf(1.0))
    assert gradcheck(noisy, leaf(1.0), nondet_tol=1e-3)


def test_gradcheck_wants_something_to_check():
    with pytest.raises(ValueError, match="requires_grad"):
        gradcheck(lambda x: x, genesis.ones(2))
