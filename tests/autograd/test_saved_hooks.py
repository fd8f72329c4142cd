"""autograd.graph: hooks on what operations save, edges of the graph, hooks on several tensors."""

import gc
import tempfile
import threading
import uuid
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, grad, gradgradcheck
from genesis.autograd.graph import (
    GradientEdge,
    disable_saved_tensors_hooks,
    get_gradient_edge,
    increment_version,
    register_multi_grad_hook,
    save_on_cpu,
    saved_tensors_hooks,
)

from tests.autograd.leaves import leaf, same


def as_array(t):
    return t.numpy().copy()


def test_what_is_saved_goes_through_the_hooks():
    packed, unpacked = [], []

    def pack(t):
        assert not t.requires_grad
        assert not genesis.is_grad_enabled()
        packed.append(tuple(t.shape))
        return t.numpy().copy() * 10  # backward sees what unpack makes of it

    def unpack(a):
        unpacked.append(a.shape)
        return genesis.from_numpy(a)

    x, y = leaf(1.0, 2.0), leaf(3.0, 4.0)
    with saved_tensors_hooks(pack, unpack):
        z = x * y
    assert packed == [(2,), (2,)]
    assert unpacked == []
    z.sum().backward()
    assert unpacked == [(2,), (2,)]
    same(x.grad, [30, 40])
    same(y.grad, [10, 20])


def test_outside_the_hooks_nothing_changes():
    x = leaf(2.0)
    with saved_tensors_hooks(as_array, genesis.from_numpy):
        pass
    assert (x * x).grad_fn.inputs[0] is x


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x * x,
        lambda x: x.exp(),  # saves its own output
        lambda x: (x.sigmoid() * x).tanh().softmax(0),
        lambda x: (x[:2] @ x[1:]).sqrt() + genesis.cat([x, x * 2]).prod(),
        lambda x: Cube.apply(x),
    ],
)
def test_derivatives_of_any_order_stay_right(f):
    def packed(x):
        with saved_tensors_hooks(as_array, genesis.from_numpy):
            return f(x)

    assert gradgradcheck(packed, (leaf(0.3, 0.7, 1.1),))
    x = leaf(0.3, 0.7, 1.1)
    for order in range(2):
        g1, g2 = (genesis.autograd.grad(h(x).sum(), x, create_graph=True)[0] for h in (f, packed))
        same(g1, g2.detach().numpy())
        assert g2.requires_grad, order


class Cube(Function):
    @staticmethod
    def forward(ctx, x):
        y = x**3
        ctx.save_for_backward(x, y)
        return y

    @staticmethod
    def backward(ctx, dy):
        x, y = ctx.saved_tensors
        return 3 * dy * x * x + 0 * y


def test_a_rule_that_looks_twice_unpacks_once_and_every_pass_unpacks_anew():
    calls = []
    x = leaf(0.5)
    with saved_tensors_hooks(lambda t: t, lambda t: calls.append(1) or t):
        y = x.tanh()
    y.backward(retain_graph=True)
    assert len(calls) == 1
    y.backward()
    assert len(calls) == 2
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_the_innermost_pair_is_used():
    used = []
    with saved_tensors_hooks(lambda t: used.append("outer") or t, lambda t: t):
        leaf(1.0).exp()
        with saved_tensors_hooks(lambda t: used.append("inner") or t, lambda t: t):
            leaf(1.0).exp()
        leaf(1.0).exp()
    leaf(1.0).exp()
    assert used == ["outer", "inner", "outer"]


def test_hooks_may_compute_with_gradients_on():
    def pack(t):
        with genesis.enable_grad():
            u = t.clone().requires_grad_()
            return (u * u).sqrt().detach()  # what this saves is not packed in turn

    x = leaf(3.0)
    with saved_tensors_hooks(pack, lambda t: t):
        y = x * x
    y.backward()
    same(x.grad, [6])


def test_tensors_can_be_kept_on_disk():
    with tempfile.TemporaryDirectory() as folder:

        def pack(t):
            name = f"{folder}/{uuid.uuid4()}.npy"
            np.save(name, t.numpy())
            return name

        x, w = genesis.ones(50, 60, requires_grad=True), genesis.ones(60, 70, requires_grad=True)
        with saved_tensors_hooks(pack, lambda name: genesis.from_numpy(np.load(name))):
            y = (x @ w).relu()
        y.sum().backward()
    same(x.grad, np.full((50, 60), 70))


def test_what_hooks_hold_is_released_by_backward():
    class Box:
        def __init__(self, t):
            self.t = t

    boxes = []

    def pack(t):
        box = Box(t.clone())
        boxes.append(weakref.ref(box))
        return box

    x = leaf(1.0)
    with saved_tensors_hooks(pack, lambda box: box.t):
        y = x * x
    assert all(ref() is not None for ref in boxes)
    y.backward()
    assert all(ref() is None for ref in boxes)


def test_a_packed_object_that_points_back_is_collected():
    def make():
        box = []
        with saved_tensors_hooks(lambda t: (t, box), lambda p: p[0]):
            y = leaf(2.0).exp()
        box.append(y)
        return y

    alive = weakref.ref(make())
    gc.collect()
    assert alive() is None


def test_mistakes_of_hooks_are_errors():
    x = leaf(1.0, 2.0)

    def build(pack, unpack):
        with saved_tensors_hooks(pack, unpack):
            return (x * 1).exp().sum()

    with pytest.raises(TypeError, match="unpack hook must return a Tensor, got int"):
        build(lambda t: t, lambda t: 3).backward()
    with pytest.raises(
        ValueError,
        match=r"unpack hook returned float32 of shape \(1,\).*'exp' saved as float32 of shape \(2,\)",
    ):
        build(lambda t: t, lambda t: t[:1]).backward()
    with pytest.raises(ValueError, match="float64"):
        build(lambda t: t, lambda t: t.double()).backward()
    with pytest.raises(RuntimeError, match="pack hook changed a tensor"):
        build(lambda t: t.add_(1), lambda t: t)
    with pytest.raises(ZeroDivisionError):
        build(lambda t: 1 / 0, lambda t: t)
    with pytest.raises(ZeroDivisionError):
        build(lambda t: t, lambda t: 1 / 0).backward()
    with (
        pytest.raises(TypeError, match="pack_hook must be callable, got int"),
        saved_tensors_hooks(3, None),
    ):
        pass
    x.grad = None
    x.exp().sum().backward()  # the engine is sound
    same(x.grad, np.exp([1, 2]))


def test_hooks_can_be_forbidden():
    with disable_saved_tensors_hooks("not here"):
        with pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(as_array, as_array):
            pass
        with disable_saved_tensors_hooks("nor here"):
            pass
        with pytest.raises(RuntimeError, match="not here"), saved_tensors_hooks(as_array, as_array):
            pass
    with (
        saved_tensors_hooks(lambda t: t, lambda t: t),
        pytest.raises(RuntimeError, match="active"),
        disable_saved_tensors_hooks("too late"),
    ):
        pass


def test_hooks_belong_to_a_thread():
    def run():
        results.append((leaf(2.0) * 1).exp().grad_fn)

    results, packed = [], []
    with saved_tensors_hooks(lambda t: packed.append(1) or t, lambda t: t):
        thread = threading.Thread(target=run)
        thread.start()
        thread.join()
    assert results
    assert packed == []


def test_save_on_cpu_changes_nothing():
    x = leaf(3.0)
    with save_on_cpu(pin_memory=True):
        y = x * x
    y.backward()
    same(x.grad, [6])


# --- edges


def test_an_edge_stands_for_its_tensor():
    x = leaf(2.0)
    y = x * 3
    z = (y * y).sum()
    edge = get_gradient_edge(y)
    assert isinstance(edge, GradientEdge)
    assert edge.node is y.grad_fn
    assert edge.output_nr == 0
    same(grad(z, [edge], retain_graph=True)[0], [12])
    same(grad(z, edge, retain_graph=True)[0], [12])
    accumulate = get_gradient_edge(x)
    assert accumulate.node.variable is x
    z.backward(inputs=[accumulate])
    same(x.grad, [36])


def test_an_edge_of_one_output_of_several():
    x = leaf(1.0, 2.0)
    a, b = x.unbind()
    loss = 2 * a + 3 * b
    got = grad(loss, [get_gradient_edge(b), get_gradient_edge(a)])
    assert [float(g) for g in got] == [3, 2]


def test_mistakes_with_edges_are_errors():
    with pytest.raises(RuntimeError, match="does not require grad"):
        get_gradient_edge(genesis.ones(1))
    y = leaf(1.0) * 2
    with pytest.raises(IndexError, match="MulBackward has 1 outputs, got output_nr 5"):
        grad(y, [GradientEdge(y.grad_fn, 5)])
    with pytest.raises(TypeError, match="expected tensors, got int"):
        grad(y, [3])


def test_increment_version_makes_backward_notice():
    x = leaf(2.0) * 1
    y = x * x
    increment_version([x, x])
    with pytest.raises(RuntimeError, match="increment_version"):
        y.backward()


# --- several tensors


def test_a_hook_on_several_tensors_runs_when_all_gradients_are_there():
    x = leaf(1.0)
    a, b, c = x * 2, x * 3, x * 4
    calls = []
    handle = register_multi_grad_hook(
        [a, b, c], lambda grads: calls.append([g if g is None else float(g) for g in grads])
    )
    (a * 5 + b * 7).backward(retain_graph=True)
    (a + b + c).backward(retain_graph=True)
    assert calls == [[5, 7, None], [1, 1, 1]]
    handle.remove()
    (a + b).backward(retain_graph=True)
    assert len(calls) == 2


def test_a_hook_on_any_of_several_tensors_runs_once_in_a_pass():
    x = leaf(1.0)
    a, b = x * 2, x * 3
    calls = []
    with register_multi_grad_hook([a, b], lambda g: calls.append(float(g)), mode="any"):
        (a * 5 + b * 7).backward(retain_graph=True)
        (a * 9).backward(retain_graph=True)
    (a * 9).backward()
    assert len(calls) == 2
    assert calls[1] == 9
    with pytest.raises(ValueError, match="mode"):
        register_multi_grad_hook([x], print, mode="some")
