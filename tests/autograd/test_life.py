"""How large graphs grow, and that they die."""

import gc
import sys
import threading
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, Tape

from tests.autograd.leaves import leaf, same

MILLION = 1_000_000


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


def test_module_hooks_like_cycles_do_not_leak():
    class Box:
        def __init__(self):
            self.weight = leaf(1.0)
            self.handle = self.weight.register_hook(
                self.hook
            )  # a bound method: box -> weight -> hook -> box
            self.after = self.weight.register_post_accumulate_grad_hook(self.hook)

        def hook(self, g):
            return None

    assert _dies(Box)


def test_hooks_of_a_module_that_close_over_it_do_not_leak():
    def make():
        layer = genesis.nn.Linear(2, 2)
        layer.register_forward_pre_hook(lambda m, args: layer.training and None)
        layer.register_forward_hook(lambda m, args, out: layer.training and None)
        layer.register_full_backward_hook(lambda m, gi, go: layer.training and None)
        layer.register_full_backward_pre_hook(lambda m, go: layer.training and None)
        layer.last = layer(genesis.ones(3, 2, requires_grad=True))
        layer.last.sum().backward()
        return layer.weight

    assert _dies(make)


def test_a_node_hook_that_closes_over_its_result_does_not_leak():
    def make():
        y = leaf(1.0) * 2
        y.grad_fn.register_hook(lambda gi, go: y.shape and None)
        y.grad_fn.register_prehook(lambda go: y.shape and None)
        y.sum().backward()
        return y

    assert _dies(make)


def test_notes_on_a_node_that_point_back_do_not_leak():
    def make():
        y = leaf(1.0) * 2
        y.grad_fn.metadata["y"] = y
        return y

    assert _dies(make)


# --- long runs


def _resident():
    with open("/proc/self/statm") as f:
        return int(f.read().split()[1]) * 4096


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(hasattr(genesis._C, "_canary_address"), reason="a sanitizer keeps freed memory")
def test_ten_thousand_training_steps_need_no_more_memory():
    class Scale(Function):
        @staticmethod
        def forward(ctx, x):
            y = x * 2
            ctx.save_for_backward(y)
            ctx.note = [1]
            return y

        @staticmethod
        def backward(ctx, g):
            return g * 2 + 0 * ctx.saved_tensors[0]

    genesis.manual_seed(0)
    x, t = genesis.randn(8, 4), genesis.randn(8, 2)
    a, b = (genesis.nn.Parameter(genesis.randn(*s) * 0.1) for s in ((4, 8), (8, 2)))
    handle = a.register_hook(lambda g: None)
    tape = Tape()

    def steps(n):
        for i in range(n):
            y = Scale.apply((x @ a).tanh()) @ b
            loss = ((y - t) ** 2).mean()
            loss.backward(create_graph=i % 100 == 0)
            with genesis.no_grad():
                for p in (a, b):
                    p -= 0.01 * p.grad
            a.grad = b.grad = None
            if i % 10 == 0:
                with tape:
                    loss = (a * a).sum()
                tape.backward(loss)

    steps(1000)
    gc.collect()
    resident, allocated = _resident(), genesis.memory.allocated()
    steps(10_000)
    gc.collect()
    assert genesis.memory.allocated() == allocated
    assert _resident() - resident < 1 << 20
    handle.remove()


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
@pytest.mark.skipif(hasattr(genesis._C, "_canary_address"), reason="a sanitizer keeps freed memory")
def test_training_a_module_with_an_optimizer_needs_no_more_memory():
    nn = genesis.nn
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    model.register_forward_hook(lambda module, args, out: None)
    optimizer = genesis.optim.Adam(model.parameters())
    x, t = genesis.randn(8, 4), genesis.randn(8, 2)

    def steps(n):
        for _ in range(n):
            optimizer.zero_grad()
            ((model(x) - t) ** 2).mean().backward()
            optimizer.step()

    steps(500)
    gc.collect()
    resident, allocated = _resident(), genesis.memory.allocated()
    steps(10_000)
    gc.collect()
    assert genesis.memory.allocated() == allocated
    assert _resident() - resident < 1 << 20


# --- threads


def _in_threads(n, work):
    """Runs work(i) in n threads at once and raises what they raised."""
    errors, start = [], threading.Barrier(n)

    def run(i):
        try:
            start.wait()
            work(i)
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(i,)) for i in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def test_backward_in_several_threads_on_separate_graphs():
    def work(i):
        x = genesis.full(
            (300, 300), 1.0 + i, requires_grad=True
        )  # large enough to give up the lock
        for _ in range(5):
            x.grad = None
            y = x
            for _ in range(4):
                y = (y * 0.5).relu() + x
            y.sum().backward()
            same(x.grad, np.full((300, 300), 1 + 0.5 + 0.25 + 0.125 + 0.0625))

    _in_threads(4, work)


def test_backward_in_several_threads_to_shared_leaves():
    w = genesis.ones(300, 300, requires_grad=True)
    b = genesis.ones(3, requires_grad=True)

    def work(i):
        for _ in range(20):
            ((w * float(i + 1)).sum() + (b * 2).sum()).backward()

    _in_threads(4, work)
    same(w.grad, np.full((300, 300), 20 * (1 + 2 + 3 + 4)))
    same(b.grad, np.full(3, 160))


def test_backward_in_several_threads_over_one_retained_graph():
    x = genesis.ones(200, 200, requires_grad=True)
    y = ((x * 2).exp() * x).sum()
    (expected,) = genesis.autograd.grad(y, x, retain_graph=True)

    def work(i):
        for _ in range(5):
            (g,) = genesis.autograd.grad(y, x, retain_graph=True)
            same(g, expected.numpy())

    _in_threads(4, work)


def test_functions_tapes_and_hooks_in_several_threads():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        def backward(ctx, g):
            return 2 * ctx.saved_tensors[0] * g

    def work(i):
        x, tape, seen = genesis.full((3,), float(i)), Tape(), []
        for _ in range(50):
            with tape:
                y = Square.apply(x).sum()
            y.register_hook(lambda g: seen.append(float(g)))
            same(tape.backward(y)[x], np.full(3, 2.0 * i))
        assert seen == [1.0] * 50

    _in_threads(4, work)


# --- exceptions


@pytest.mark.parametrize("where", ["hook", "prehook", "posthook", "accumulate", "function"])
def test_an_exception_leaves_graph_and_engine_as_they_were(where):
    trouble = [True]

    def fail(*_):
        if trouble:
            raise KeyError(where)

    class Identity(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * 1

        @staticmethod
        def backward(ctx, g):
            fail()
            return g

    x = leaf(2.0)
    h = x * x
    y = Identity.apply(h) if where == "function" else h * 1
    if where == "hook":
        y.register_hook(fail)
    elif where == "prehook":
        y.grad_fn.register_prehook(fail)
    elif where == "posthook":
        y.grad_fn.register_hook(fail)
    elif where == "accumulate":
        x.register_post_accumulate_grad_hook(fail)
    z = (y * y).sum()
    for _ in range(3):
        with pytest.raises(KeyError, match=where):
            z.backward(retain_graph=True)
    assert genesis.is_grad_enabled()
    trouble.clear()
    x.grad = None
    z.backward(retain_graph=True)
    same(x.grad, [32])
    other = leaf(3.0)
    (other * other).backward()  # another graph
    same(other.grad, [6])
    alive = weakref.ref(h)
    del h, y, z
    gc.collect()
    assert alive() is None
