"""Checkpointing changes when things are computed, and how much is kept, never a gradient."""

import contextlib
import gc
import math
import weakref

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import (
    CheckpointError,
    Tape,
    checkpoint,
    checkpoint_sequential,
    gradcheck,
    register_ambient_state,
)
from genesis.func import grad, hessian, jacrev, jvp

from tests.autograd.leaves import leaf


def f(x):
    return (x.sin() * x).exp()


class Counted:
    """A function that counts its runs, from the first line and to the last."""

    def __init__(self, function):
        self.function, self.begun, self.ended = function, 0, 0

    def __call__(self, *args, **kwargs):
        self.begun += 1
        result = self.function(*args, **kwargs)
        self.ended += 1
        return result


def identical(a, b):
    np.testing.assert_array_equal(a.detach().numpy(), b.detach().numpy())


def test_gradients_are_exact_and_the_function_runs_twice():
    model = nn.Sequential(nn.Linear(3, 5), nn.Linear(5, 2))
    x = genesis.randn(4, 3, requires_grad=True)
    counted = Counted(lambda x: model(x).tanh())
    y = checkpoint(counted, x)
    assert counted.begun == 1
    (y**2).sum().backward()
    assert counted.begun == 2
    got = [x.grad, *(p.grad for p in model.parameters())]
    x.grad = None
    model.zero_grad()
    (model(x).tanh() ** 2).sum().backward()
    for a, b in zip(got, [x.grad, *(p.grad for p in model.parameters())], strict=True):
        identical(a, b)


def _convolutional():
    return nn.Sequential(
        nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Dropout(0.5), nn.MaxPool2d(2)
    )


@pytest.mark.parametrize(
    ("make", "shape"),
    [
        (_convolutional, (3, 2, 6, 6)),
        (lambda: nn.LSTM(3, 4, num_layers=2, dropout=0.5, batch_first=True), (2, 5, 3)),
        (lambda: nn.TransformerEncoderLayer(8, 2, 16, dropout=0.3, batch_first=True), (2, 5, 8)),
    ],
    ids=["convolutional", "recurrent", "attention"],
)
@pytest.mark.parametrize("create_graph", [False, True])
def test_gradients_of_modules_are_exact(make, shape, create_graph):
    module, x = make(), genesis.randn(*shape, requires_grad=True)
    wanted = [x, *module.parameters()]

    def gradients(run):
        genesis.manual_seed(3)
        output = run(x)
        output = output[0] if isinstance(output, tuple) else output
        loss = (output**2).sum()
        grads = genesis.autograd.grad(loss, wanted, create_graph=create_graph)
        if create_graph:
            penalty = sum((g**2).sum() for g in grads)
            grads = genesis.autograd.grad(penalty, wanted, allow_unused=True)
        return grads

    plain, checkpointed = gradients(module), gradients(lambda x: checkpoint(module, x))
    for a, b in zip(plain, checkpointed, strict=True):
        assert (a is None) == (b is None)
        if a is not None:
            identical(a, b)


def test_nests_keywords_and_several_outputs():
    def function(pair, *, scale, options):
        assert options == {"text": "kept"}
        return {"product": pair["a"] * pair["b"][0] * scale}, pair["a"].exp()

    a, b, scale = leaf(1.0, 2.0), leaf(3.0, 4.0), leaf(2.0)

    def loss(run):
        first, second = run({"a": a, "b": [b, None]}, scale=scale, options={"text": "kept"})
        return (first["product"] * second).sum()

    got = genesis.autograd.grad(loss(lambda *x, **k: checkpoint(function, *x, **k)), [a, b, scale])
    for g, expected in zip(got, genesis.autograd.grad(loss(function), [a, b, scale]), strict=True):
        identical(g, expected)


@pytest.mark.parametrize("early_stop", [True, False])
@pytest.mark.parametrize("use_reentrant", [None, False, True])
def test_the_second_run_stops_early(early_stop, use_reentrant):
    counted = Counted(lambda x: f(x) + 1)
    x = leaf(1.0, 2.0)
    checkpoint(counted, x, early_stop=early_stop, use_reentrant=use_reentrant).sum().backward()
    assert (counted.begun, counted.ended) == (2, 1 if early_stop else 2)
    identical(x.grad, genesis.autograd.grad(f(x).sum(), x)[0])


def test_random_numbers_are_the_same_again():
    def noisy(x):
        return x.exp() * (genesis.rand(1000) > 0.5) * genesis.rand(1000)

    x = genesis.randn(1000, requires_grad=True)
    genesis.manual_seed(7)
    y = checkpoint(noisy, x)
    genesis.rand(3)
    state = genesis.get_rng_state()
    y.sum().backward()
    assert genesis.equal(genesis.get_rng_state(), state)  # backward does not disturb the stream
    genesis.manual_seed(7)
    identical(x.grad, genesis.autograd.grad(noisy(x).sum(), x)[0])

    x.grad = None
    genesis.manual_seed(7)
    checkpoint(noisy, x, preserve_rng_state=False).sum().backward()
    genesis.manual_seed(7)
    assert not genesis.equal(x.grad, genesis.autograd.grad(noisy(x).sum(), x)[0])


def test_ambient_state_and_contexts_are_put_in_force():
    precision, seen = ["low"], []

    def capture():
        value = precision[0]

        @contextlib.contextmanager
        def again():
            now, precision[0] = precision[0], value
            yield
            precision[0] = now

        return again

    remove = register_ambient_state(capture)

    @contextlib.contextmanager
    def noted(name):
        seen.append(name)
        yield
        seen.append("end of " + name)

    x = leaf(1.0)
    y = checkpoint(
        lambda x: (seen.append(precision[0]), x.exp())[1],
        x,
        context_fn=lambda: (noted("first"), noted("second")),
    )
    precision[0] = "high"
    y.backward()
    assert seen == ["first", "low", "end of first", "second", "low", "end of second"]
    assert precision == ["high"]
    remove()
    y = checkpoint(lambda x: (seen.append(precision[0]), x.exp())[1], x)
    precision[0] = "other"
    y.backward()
    assert seen[-2:] == ["high", "other"]


def test_higher_derivatives_and_other_passes():
    assert gradcheck(lambda x: checkpoint(f, x), leaf(0.5, -1.0, 2.0), order=3)
    x = leaf(0.5, -1.0, 2.0)
    (first,) = genesis.autograd.grad(checkpoint(f, x).sum(), x, create_graph=True)
    (plain,) = genesis.autograd.grad(f(x).sum(), x, create_graph=True)
    identical(first, plain)
    identical(*(genesis.autograd.grad((g**2).sum(), x)[0] for g in (first, plain)))
    identical(grad(lambda x: checkpoint(f, x).sum())(x), plain)
    identical(hessian(lambda x: checkpoint(f, x).sum())(x), hessian(lambda x: f(x).sum())(x))
    identical(jacrev(lambda x: checkpoint(f, x))(x), jacrev(f)(x))
    identical(jvp(lambda x: checkpoint(f, x), (x,), (x,))[1], jvp(f, (x,), (x,))[1])
    slope = lambda y: grad(lambda z: f(z).sum())(y) * y  # noqa: E731
    identical(grad(lambda x: checkpoint(slope, x).sum())(x), grad(lambda x: slope(x).sum())(x))


def test_passes_that_retain_the_graph():
    counted = Counted(f)
    x = leaf(1.0, 2.0)
    y = checkpoint(counted, x).sum()
    for runs in (2, 3):
        x.grad = None
        y.backward(retain_graph=True)
        assert counted.begun == runs
        identical(x.grad, genesis.autograd.grad(f(x).sum(), x)[0])
    y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.backward()


def test_hooks_run_once():
    seen = []

    def hooked(x):
        y = x.exp()
        y.register_hook(lambda g: seen.append(g) or g * 2)
        return y.sin()

    x = leaf(1.0)
    checkpoint(hooked, x).backward()
    assert len(seen) == 1
    np.testing.assert_allclose(x.grad.numpy(), 2 * math.cos(math.e) * math.e, rtol=1e-6)


def test_checkpoints_inside_checkpoints():
    inner, outer = Counted(f), None

    def nested(x):
        return checkpoint(inner, checkpoint(inner, x) * 0.1).cos() * x

    outer = Counted(nested)
    x = leaf(0.3, 1.0, 2.0)
    expected = genesis.autograd.grad((f(f(x) * 0.1).cos() * x).sum(), x)[0]
    checkpoint(outer, x).sum().backward()
    identical(x.grad, expected)
    assert outer.begun == 2
    # each of the two inner calls: first run, again with the outer one, again for its own gradient
    assert inner.begun == 6
    twice = lambda x: checkpoint(lambda x: checkpoint(nested, x), x)  # noqa: E731
    identical(genesis.autograd.grad(twice(x).sum(), x)[0], expected)
    assert gradcheck(twice, x, order=2, fast_mode=True)


def test_inputs_that_need_no_gradient():
    w, x = leaf(2.0), genesis.tensor([3.0])
    checkpoint(lambda x: x * w * w, x).backward()
    identical(w.grad, genesis.tensor([12.0]))
    with genesis.no_grad():
        counted = Counted(f)
        assert not checkpoint(counted, w).requires_grad
        assert counted.begun == 1
    assert checkpoint(lambda: 5) == 5
    assert not checkpoint(f, x).requires_grad


@pytest.mark.parametrize("watch_all", [True, False])
def test_on_a_tape(watch_all):
    x, w = genesis.tensor([1.0, 2.0]), leaf(3.0)
    tape = Tape(watch_all=watch_all)
    if not watch_all:
        tape.watch(x)
    with tape:
        y = checkpoint(lambda x: checkpoint(f, x * w).sin(), x).sum()
    gradients = tape.backward(y)
    x.requires_grad_()
    expected = genesis.autograd.grad(f(x * w).sin().sum(), [x, w])
    identical(gradients[x], expected[0])
    identical(gradients[w], expected[1])


def test_a_function_that_differs_is_noticed():
    sizes = iter([2, 3, 2, 2])
    x = leaf(1.0)
    y = checkpoint(lambda x: (x * genesis.ones(next(sizes))).exp().sum(), x)
    with pytest.raises(CheckpointError, match=r"of shape \(2,\) in the first run.* \(3,\) when"):
        y.backward()
    runs = iter(range(10))
    y = checkpoint(lambda x: x.exp() if next(runs) else x.exp().exp(), x)
    with pytest.raises(CheckpointError, match="saved 2 tensors when it ran first, and 1 when"):
        y.backward()
    runs = iter(range(10))
    y = checkpoint(lambda x: x.exp().exp() if next(runs) else x.exp(), x, early_stop=False)
    with pytest.raises(CheckpointError, match="saved 1 tensors when it ran first, and 2 when"):
        y.backward()
    y = checkpoint(f, x)
    y.backward()  # all is as before
    identical(x.grad, genesis.autograd.grad(f(x), x)[0])


def test_changes_in_place_are_noticed():
    w, x = leaf(2.0), leaf(3.0)
    y = checkpoint(lambda x: x * w, x)
    with genesis.no_grad():
        w.mul_(2)
    with pytest.raises(CheckpointError, match="changed in place since the first run"):
        y.backward()
    unchecked = checkpoint(lambda x: x * w, x, determinism_check="none")
    with genesis.no_grad():
        w.mul_(2)
    unchecked.backward()
    z = x * 1
    y = checkpoint(f, z)
    z.mul_(2)
    with pytest.raises(RuntimeError, match="changed in place"):
        y.backward()


def test_debug_shows_the_lines():
    runs = iter(range(10))

    def fickle(x):
        if next(runs):
            return (x * genesis.ones(3)).exp()
        return (x + genesis.ones(2)).exp()

    y = checkpoint(fickle, leaf(1.0), debug=True)
    with pytest.raises(CheckpointError) as caught:
        y.sum().backward()
    text = str(caught.value)
    assert "first saved at" in text
    assert "return (x + genesis.ones(2)).exp()" in text
    assert "return (x * genesis.ones(3)).exp()" in text


def test_an_exception_in_the_second_run_leaves_everything_in_order():
    runs = iter(range(10))

    def fails(x):
        if next(runs) == 1:
            raise ZeroDivisionError("second run")
        return f(x)

    x = leaf(1.0)
    y = checkpoint(fails, x)
    state = genesis.get_rng_state()
    with pytest.raises(ZeroDivisionError, match="second run"):
        y.backward(retain_graph=True)
    assert genesis.equal(genesis.get_rng_state(), state)
    y.backward()
    identical(x.grad, genesis.autograd.grad(f(x), x)[0])
    with pytest.raises(KeyError):
        checkpoint(lambda x: {}[x.exp()], x)
    identical(genesis.autograd.grad(x * x, x)[0], genesis.tensor([2.0]))


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="determinism_check"):
        checkpoint(f, leaf(1.0), determinism_check="maybe")
    for segments in (0, 3):
        with pytest.raises(ValueError, match="segments"):
            checkpoint_sequential([f, f], segments, leaf(1.0))


def test_nothing_is_kept_alive():
    gc.disable()
    try:
        x = leaf(1.0, 2.0)
        middle = x * 2
        watch = weakref.ref(middle)
        y = checkpoint(lambda x: checkpoint(f, x), middle).sum()
        del middle
        assert watch() is not None
        y.backward()
        del y
        assert watch() is None
        y = checkpoint(f, x * 2)  # dropped without a backward
        watch = weakref.ref(y.grad_fn)
        del y
        assert watch() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("segments", [1, 2, 3, 7])
def test_sequential_is_the_same_as_one_after_another(segments):
    layers = nn.Sequential(*(nn.Linear(4, 4) for _ in range(7)))
    x = genesis.randn(3, 4, requires_grad=True)
    checkpoint_sequential(layers, segments, x, use_reentrant=False).sum().backward()
    identical(x.grad, genesis.autograd.grad(layers(x).sum(), x)[0])


def peak_of(run, x):
    """The greatest amount of memory beyond what was there before, in activations."""
    run(x).sum().backward()
    before = genesis.memory.allocated()
    genesis.memory.reset_peak()
    run(x).sum().backward()
    return (genesis.memory.peak() - before) / (x.numel() * x.element_size())


def stack(depth):
    weights = [genesis.randn(32, 32, requires_grad=True) for _ in range(depth)]
    return [lambda x, w=w: (x @ w).tanh() for w in weights]


def test_memory_falls_from_linear_to_square_root():
    x = genesis.randn(512, 32)
    plain, checkpointed = {}, {}
    for depth in (16, 64):
        layers, parts = stack(depth), math.isqrt(depth)

        def plainly(x, layers=layers):
            for layer in layers:
                x = layer(x)
            return x

        plain[depth] = peak_of(plainly, x)
        checkpointed[depth] = peak_of(
            lambda x, layers=layers, parts=parts: checkpoint_sequential(layers, parts, x), x
        )
    assert plain[64] == pytest.approx(4 * plain[16], rel=0.15)
    assert checkpointed[64] == pytest.approx(2 * checkpointed[16], rel=0.25)
    assert checkpointed[64] < 2.5 * 8
    assert plain[64] > 64


def test_nested_checkpoints_keep_less_still():
    x = genesis.randn(512, 32)
    layers = stack(64)

    def halves(x, first, last):
        if last - first == 1:
            return layers[first](x)
        middle = (first + last) // 2
        x = checkpoint(halves, x, first, middle)
        return checkpoint(halves, x, middle, last)

    assert peak_of(lambda x: halves(x, 0, 64), x) < 12  # grows with the logarithm of the depth


def test_autocast_is_restored():
    layer = genesis.nn.Linear(8, 8)
    x = genesis.randn(4, 8, requires_grad=True)

    def run(call):
        seen = []

        def function(t):
            y = layer(t)
            seen.append(y.dtype)
            return y.tanh()

        with genesis.autocast("cpu", dtype=genesis.bfloat16):
            y = call(function, x)
        return seen, genesis.autograd.grad(y.float().sum(), [x, layer.weight])

    seen, grads = run(checkpoint)
    _, expected = run(lambda function, t: function(t))
    assert seen == [genesis.bfloat16] * 2
    assert all(genesis.equal(a, b) for a, b in zip(grads, expected, strict=True))
