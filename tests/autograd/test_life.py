"""How large graphs grow, and that they die."""

import gc
import threading
import weakref

import genesis

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
