"""Tape: gradients of whatever was computed while it recorded."""

import copy
import gc
import threading
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, Tape, accumulate_gradients

from tests.autograd.leaves import leaf, same


def test_a_tape_differentiates_tensors_that_do_not_require_grad():
    x, w, tape = genesis.randn(4, 3), genesis.randn(3, 2), Tape()
    with tape as entered:
        loss = (x @ w).sum()
    assert entered is tape
    grads = tape.backward(loss)
    same(grads.get(x), np.ones((4, 2)) @ w.numpy().T)
    same(grads.get(w), x.numpy().T @ np.ones((4, 2)))
    assert not x.requires_grad
    assert x.grad is None
    assert genesis.Tape is Tape


def test_gradients_are_found_by_tensor():
    x, unused, tape = leaf(1.0, 2.0), leaf(1.0), Tape()
    with tape:
        y = x * x
        z = y.sum()
    grads = tape.backward(z)
    same(grads[x], [2, 4])
    same(grads[y], [1, 1])
    same(grads[z], 1)
    assert x in grads
    assert unused not in grads
    assert grads.get(unused) is None
    assert grads.get(unused, 7) == 7
    with pytest.raises(KeyError, match=r"shape \(1,\)"):
        grads[unused]
    with pytest.raises(TypeError, match="expected a Tensor, got str"):
        grads.get("x")
    assert (
        len(grads) == len(list(grads.items())) == len(list(grads)) == len(list(grads.values())) == 3
    )
    assert all(isinstance(number, int) for number, _ in grads.items())
    assert x.grad is None  # nothing is written


def test_gradients_of_results_that_nobody_holds_are_not_kept():
    x, tape = genesis.ones(2), Tape()
    with tape:
        loss = ((x * 2) * 3).sum()
    assert len(tape.backward(loss)) == 2  # of x and of the loss


def test_start_and_stop():
    tape = Tape()
    assert not tape.recording
    tape.start_recording()
    assert tape.recording
    x = genesis.ones(2)
    y = (x * 2).sum()
    tape.stop_recording()
    assert (genesis.ones(2) * 2).grad_fn is None
    same(tape.backward(y)[x], [2, 2])
    with pytest.raises(RuntimeError, match="not recording"):
        tape.stop_recording()
    with tape, pytest.raises(RuntimeError, match="recording already"):
        tape.start_recording()
    assert not tape.recording


def test_a_tape_can_be_used_again():
    x, tape = genesis.tensor([3.0]), Tape()
    for factor in (1.0, 2.0, 3.0):
        with tape:
            y = factor * x * x
        assert len(tape) == 2
        same(tape.backward(y)[x], [6 * factor])


def test_a_tape_may_be_paused():
    x, tape = genesis.tensor([3.0]), Tape()
    with tape:
        y = x * x
    constant = x * 10
    with tape:
        z = y * constant
    assert [op.name for op in tape.operations] == ["mul", "mul"]
    same(tape.backward(z)[x], [2 * 3 * 30])


def test_no_grad_and_detach_hide_from_a_tape():
    x, tape = genesis.tensor([3.0]), Tape()
    with tape:
        with genesis.no_grad():
            hidden = x * 2
        y = x * hidden * x.detach()
    same(tape.backward(y)[x], [18])


def test_integers_are_not_watched():
    tape = Tape()
    with tape:
        n = genesis.tensor([1, 2]) * 2
        assert n.grad_fn is None
        assert (genesis.ones(2) > 0).grad_fn is None


@pytest.mark.parametrize(
    "join", [genesis.cat, genesis.stack, lambda xs: genesis.cat([xs[0], xs[1] * 2])]
)
def test_lists_of_tensors_are_watched(join):
    a, b, tape = genesis.ones(2), genesis.ones(2), Tape()
    with tape:
        y = (join([a, b]) * 3).sum()
    grads = tape.backward(y)
    assert a in grads
    assert b in grads


def test_operations_in_place_and_views_are_recorded():
    x, y, tape = genesis.ones(3), genesis.zeros(3), Tape()
    with tape:
        y[1:] = x[1:] * 2
        y.mul_(5)
        loss = y.sum()
    same(tape.backward(loss)[x], [0, 10, 10])


def test_a_function_is_recorded():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            assert ctx.needs_input_grad == (True,)
            return 2 * x

        @staticmethod
        def backward(ctx, g):
            return 2 * g

    x, tape = genesis.ones(2), Tape()
    with tape:
        y = Double.apply(x)
    assert [op.name for op in tape.operations] == ["Double"]
    same(tape.backward(y, genesis.tensor([1.0, 3.0]))[x], [2, 6])


def test_operations_tell_names_inputs_and_shapes():
    x, w, tape = genesis.ones(2, 3), genesis.ones(3, 4), Tape()
    with tape:
        y = x @ w
        a, b = y.split(2, dim=1)
        loss = (a * b).sum()
    names = [op.name for op in tape.operations]
    assert names[0] == "matmul"
    assert names[-2:] == ["mul", "sum"]
    matmul, *_, mul, total = tape.operations
    assert matmul.shapes == ((2, 4),)
    assert mul.shapes == ((2, 2),)
    assert total.shapes == ((),)
    assert len(set(matmul.inputs)) == 2
    assert total.inputs == mul.outputs
    grads = tape.backward(loss)
    assert set(matmul.inputs) <= set(dict(grads.items()))
    assert repr(tape) == f"<Tape of {len(names)} operations>"
    tape.reset()
    assert tape.operations == []
    assert tape


# --- retaining and differentiating again


def test_the_graph_is_emptied_unless_retained():
    x, tape = genesis.tensor([2.0]), Tape()
    with tape:
        y = x * x
    same(tape.backward(y, retain_graph=True)[x], [4])
    same(tape.backward(y)[x], [4])
    with pytest.raises(RuntimeError, match="freed"):
        tape.backward(y)


def test_create_graph_gives_gradients_of_gradients():
    x, tape = genesis.tensor(2.0), Tape()
    with tape:
        y = x**4
    first = tape.backward(y, create_graph=True)[x]
    second = tape.backward(first, create_graph=True)[x]
    third = tape.backward(second)[x]
    assert [float(first), float(second), float(third)] == [32, 48, 48]


def test_nested_tapes():
    x, outer, inner = genesis.tensor(2.0), Tape(), Tape()
    with outer:
        with inner:
            y = x**3
        first = inner.backward(y)[x]  # recorded by the outer tape
        loss = first * first
    assert len(inner) < len(outer)
    same(first, 12)
    same(outer.backward(loss)[x], 2 * 12 * 12)


def test_a_backward_inside_both_tapes_is_seen_by_the_outer():
    x, outer, inner = genesis.tensor(2.0), Tape(), Tape()
    with outer, inner:
        first = inner.backward(x**3)[x]
    same(outer.backward(first)[x], 12)


def test_tapes_may_be_stopped_in_any_order():
    x, a, b = genesis.ones(1), Tape(), Tape()
    a.start_recording()
    b.start_recording()
    y = x * 2
    a.stop_recording()
    z = y * 3
    b.stop_recording()
    assert (len(a), len(b)) == (1, 2)
    assert (x * 2).grad_fn is None
    same(b.backward(z)[x], [6])


def test_a_tape_and_requires_grad_live_together():
    w, x, tape = leaf(3.0), genesis.tensor([5.0]), Tape()
    with tape:
        loss = w * x
    loss.backward(retain_graph=True)
    same(w.grad, [5])
    assert x.grad is None
    same(tape.backward(loss)[x], [3])


# --- watching


def test_stop_watching_makes_a_constant():
    x, w, tape = genesis.tensor([2.0]), genesis.tensor([3.0]), Tape()
    tape.stop_watching(x)
    with tape:
        assert (x * x).grad_fn is None
        y = x * w
    grads = tape.backward(y)
    assert x not in grads
    same(grads[w], [2])
    tape.watch(x)
    with tape:
        y = x * w
    same(tape.backward(y)[x], [3])


def test_only_what_is_watched():
    x, w, p, tape = genesis.tensor([2.0]), genesis.tensor([3.0]), leaf(5.0), Tape(watch_all=False)
    tape.watch(x)
    with tape:
        assert (w * w).grad_fn is None
        y = x * w * p
    grads = tape.backward(y)
    same(grads[x], [15])
    same(grads[p], [6])
    assert w not in grads
    with pytest.raises(TypeError, match=r"watch.*floating.*int64"):
        tape.watch(genesis.tensor([1]))
    with pytest.raises(TypeError, match=r"stop_watching: expected tensors, got int"):
        tape.stop_watching(3)


def test_an_inner_tape_may_watch_less_than_the_outer():
    x, w, outer, inner = genesis.tensor([2.0]), genesis.tensor([3.0]), Tape(), Tape()
    inner.stop_watching(x)
    with outer, inner:
        y = x * w
    assert x not in inner.backward(y, retain_graph=True)
    same(outer.backward(y)[x], [3])


def test_hooks_on_what_a_tape_watches():
    x, tape, seen = genesis.tensor([2.0]), Tape(), []
    with tape:
        y = x * x
        y.register_hook(lambda g: g * 3)
        handle = x.register_hook(lambda g: seen.append(float(g)))
    same(tape.backward(y)[x], [12])
    assert seen == [12]
    handle.remove()
    with pytest.raises(RuntimeError, match="require"):
        x.register_hook(print)


# --- errors


def test_a_loss_that_was_not_recorded_is_an_error():
    tape = Tape()
    with pytest.raises(RuntimeError, match="not computed while a tape was recording"):
        tape.backward(genesis.ones(1))
    with pytest.raises(TypeError, match="loss must be a Tensor, got float"):
        tape.backward(1.0)
    with pytest.raises(TypeError, match="gradient must be a Tensor"):
        tape.backward(leaf(1.0) * 2, 3.0)
    with tape:
        y = genesis.ones(2) * 2
    with pytest.raises(RuntimeError, match=r"shape \(2,\).*gradient="):
        tape.backward(y)


def test_an_exception_inside_stops_the_recording():
    tape = Tape()
    with pytest.raises(KeyError), tape:
        raise KeyError("inside")
    assert not tape.recording
    assert (genesis.ones(1) * 2).grad_fn is None


# --- accumulating


def test_accumulate_gradients_adds_to_grad():
    w, b, x, tape = leaf(3.0), leaf(1.0), genesis.tensor([5.0]), Tape()
    for _ in range(2):
        with tape:
            loss = w * x + b
        accumulate_gradients(tape.backward(loss))
    same(w.grad, [10])
    same(b.grad, [2])
    assert x.grad is None
    with tape:
        loss = w * x
    grads = tape.backward(loss)
    accumulate_gradients(grads, [x])
    same(x.grad, [3])
    same(w.grad, [10])
    with pytest.raises(KeyError):
        accumulate_gradients(grads, [b])


def test_accumulate_gradients_where_nothing_requires_grad():
    x, tape = genesis.ones(2), Tape()
    with tape:
        loss = x.sum()
    accumulate_gradients(tape.backward(loss))
    same(x.grad, [1, 1])


def test_each_gradient_has_memory_of_its_own():
    x, y, tape = genesis.ones(3), genesis.ones(3), Tape()
    with tape:
        loss = (x + y).sum()
    grads = tape.backward(loss)
    grads[x].mul_(100)
    same(grads[y], [1, 1, 1])


# --- life and threads


def test_a_tape_keeps_neither_graph_nor_memory():
    x, tape = genesis.ones(1000), Tape()
    before = genesis.memory.allocated()
    with tape:
        y = ((x * 2) * x).exp().sum()
    assert genesis.memory.allocated() > before
    del y
    assert genesis.memory.allocated() == before
    with tape:
        y = (x * x).sum()
    grads = tape.backward(y)
    del y, grads, tape
    assert genesis.memory.allocated() == before


def test_a_tape_that_is_dropped_while_it_records_stops():
    tape = Tape()
    tape.start_recording()
    x = genesis.ones(1)
    assert (x * 2).grad_fn is not None
    del tape
    gc.collect()
    assert (x * 2).grad_fn is None


def test_a_tape_on_its_own_tensor_is_collected():
    def make():
        x = genesis.ones(1)
        x.tape = Tape()
        x.tape.watch(x)
        with x.tape:
            x.y = x * 2
        x.grads = x.tape.backward(x.y)
        return x

    alive = weakref.ref(make())
    gc.collect()
    assert alive() is None


def test_a_tape_belongs_to_its_thread():
    tape, errors = Tape(), []

    def other():
        errors.append((genesis.ones(1) * 2).grad_fn)  # not recorded here
        try:
            tape.stop_recording()
        except RuntimeError as error:
            errors.append(str(error))

    with tape:
        thread = threading.Thread(target=other)
        thread.start()
        thread.join()
    assert errors[0] is None
    assert "another thread" in errors[1]


def test_a_tape_abandoned_by_its_thread_is_harmless():
    tape = Tape()
    thread = threading.Thread(target=tape.start_recording)
    thread.start()
    thread.join()
    del tape
    gc.collect()
    assert (genesis.ones(1) * 2).grad_fn is None


# ---- outside the block ------------------------------------------------------------------------


def test_what_only_a_tape_watched_is_not_recorded_outside():
    x, tape = genesis.ones(2), Tape()
    with tape:
        loss = (x * x).sum()
        assert loss.requires_grad
    assert not loss.requires_grad and loss.is_leaf
    after = loss * 2
    assert not after.requires_grad and after.grad_fn is None
    assert float(loss.numpy()) == 2  # an array loses no gradient
    same(tape.backward(loss)[x], [2, 2])


def test_what_requires_grad_itself_is_recorded_outside():
    w, x, tape = genesis.ones(2, requires_grad=True), genesis.ones(2), Tape()
    with tape:
        hidden = x * 3
        loss = (hidden * w).sum()
    assert loss.requires_grad and not hidden.requires_grad
    (loss * 2).backward()
    same(w.grad, [6, 6])


@pytest.mark.parametrize("again", [False, True])
def test_a_running_sum_outside_grows_no_graph(again):
    x, tape, total = genesis.ones(2), Tape(), genesis.zeros(())
    for _ in range(5):
        tape = tape if again else Tape()
        with tape:
            loss = (x * x).sum()
        total = total + loss
        same(tape.backward(loss)[x], [2, 2])
    assert total.item() == 10 and not total.requires_grad and total.grad_fn is None


def test_a_loss_of_the_step_before_is_a_value_to_the_next_tape():
    x, loss = genesis.tensor([2.0]), genesis.tensor(0.0)
    for _ in range(3):
        tape = Tape()
        with tape:
            new = (x * x).sum() + loss
        grads = tape.backward(new)
        same(grads[x], [4])
        assert grads[loss].item() == 1  # a leaf to this tape, though another one made it
        loss = new
    assert loss.item() == 12


def test_a_paused_tape_goes_on_where_it_stopped():
    x, tape = genesis.tensor([2.0]), Tape()
    with tape:
        y = x * x
    assert not y.requires_grad
    between = y * 100  # not seen
    with tape:
        assert y.requires_grad
        z = (y * 3 + between).sum()
    same(tape.backward(z)[x], [12])


def test_an_inner_tape_leaves_to_the_outer_what_both_saw():
    x, outer, inner = genesis.tensor([2.0]), Tape(), Tape()
    with outer:
        with inner:
            y = x * x
        assert y.requires_grad
        z = (y * y).sum()
    assert not y.requires_grad and not z.requires_grad
    same(outer.backward(z)[x], [32])


def test_a_result_of_a_tape_may_become_a_leaf():
    x, tape = genesis.ones(2), Tape()
    with tape:
        y = x * 2
    y.requires_grad_()
    assert y.is_leaf
    (y * 3).sum().backward()
    same(y.grad, [3, 3])
    assert copy.deepcopy(y).tolist() == [2, 2]


def test_a_tape_that_watches_some_follows_their_results():
    x, c = genesis.tensor([3.0]), genesis.tensor([5.0])
    tape = Tape(watch_all=False)
    tape.watch(x)
    with tape:
        y = x * x
        z = (y * c).sum()
    assert not z.requires_grad
    grads = tape.backward(z)
    same(grads[x], [30])
    assert c not in grads
