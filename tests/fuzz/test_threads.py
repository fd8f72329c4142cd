"""Threads of every kind at once: what `tools/sanitize thread` watches for races."""

import concurrent.futures
import threading
import warnings

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.data import DataLoader, TensorDataset
from genesis.nn import functional as F

pytestmark = pytest.mark.usefixtures("num_threads")
THREADS = 4
ROUNDS = 6


def together(*functions):
    """Runs all at the same time; what one raises is raised."""
    start = threading.Barrier(len(functions))

    def run(function):
        start.wait()
        return function()

    with concurrent.futures.ThreadPoolExecutor(len(functions)) as pool:
        return list(pool.map(run, functions))


def test_operations_large_enough_for_the_pool():
    genesis.set_num_threads(4)
    x = genesis.tensor(np.random.default_rng(0).normal(size=(300, 400)).astype(np.float32))

    def work():
        return [
            (F.softmax(x @ x.t(), -1).sum() + x.exp().sort(0)[0].mean()).item()
            for _ in range(ROUNDS)
        ]

    results = together(*[work] * THREADS)
    assert len({value for result in results for value in result}) == 1


def test_backward_through_shared_parameters():
    genesis.set_num_threads(3)
    layer = nn.Linear(50, 60)
    x = genesis.ones(200, 50)

    def work():
        for _ in range(ROUNDS):
            layer(x).sum().backward()

    together(*[work] * THREADS)
    assert (layer.weight.grad == 200 * THREADS * ROUNDS).all()


def test_graphs_recorded_and_differentiated_apart():
    def work():
        for _ in range(ROUNDS):
            x = genesis.ones(2000, requires_grad=True)
            y = x
            for _ in range(10):
                y = (y * 1.5).tanh() + x
            (g,) = genesis.autograd.grad(y.sum(), x, create_graph=True)
            g.pow(2).sum().backward()

    together(*[work] * THREADS)


def test_batches_in_threads():
    data = TensorDataset(genesis.arange(4000.0).reshape(1000, 4))

    def work():
        return sum(x.sum().item() for (x,) in DataLoader(data, batch_size=50, shuffle=True))

    assert set(together(*[work] * THREADS)) == {sum(range(4000))}


def test_modes_belong_to_their_thread():
    def quiet():
        for _ in range(100):
            with genesis.no_grad():
                assert not (genesis.ones(3, requires_grad=True) * 2).requires_grad
            with genesis.autocast("cpu"):
                assert (genesis.ones(2, 2) @ genesis.ones(2, 2)).dtype == genesis.bfloat16

    def recording():
        for _ in range(200):
            assert (genesis.ones(3, requires_grad=True) * 2).requires_grad
            assert (genesis.ones(2, 2) @ genesis.ones(2, 2)).dtype == genesis.float32

    together(quiet, recording, quiet, recording)


def test_the_number_of_threads_changes_while_others_compute():
    x = genesis.ones(500, 500)

    def change():
        for n in (1, 4, 2, 3) * ROUNDS:
            genesis.set_num_threads(n)

    def work():
        for _ in range(ROUNDS):
            assert (x @ x).max() == 500
            assert x.sum() == 250_000

    together(change, work, work)


def test_random_numbers_and_training():
    def work():
        model = nn.Sequential(nn.Linear(20, 40), nn.Dropout(0.1), nn.Linear(40, 1))
        optimizer = genesis.optim.Adam(model.parameters())
        for _ in range(ROUNDS):
            optimizer.zero_grad()
            model(genesis.randn(300, 20)).pow(2).mean().backward()
            optimizer.step()

    together(*[work] * THREADS)


def test_plans_run_while_others_are_captured():
    genesis.set_num_threads(2)
    x = genesis.linspace(0, 1, 40_000)
    shared = genesis.compile(lambda x: (x.sin() * 2 + 1).tanh().sum())
    expected = [shared(x) for _ in range(3)][-1]

    def replay():
        return all(shared(x) == expected for _ in range(10 * ROUNDS))

    def capture():
        for i in range(ROUNDS):
            own = genesis.compile(lambda x, i=i: (x.cos() + i).exp().sum())
            first = own(x)
            assert all(own(x) == first for _ in range(3))
            assert own.plan is not None
        return True

    assert all(together(replay, capture, replay, capture))


def test_a_capture_contains_nothing_of_other_threads():
    captured = threading.Event()
    stop = threading.Event()
    w = nn.Parameter(genesis.zeros(3))
    optimizer = genesis.optim.SGD([w], lr=1.0)

    def steps():
        count = 0
        while not stop.is_set():
            w.grad = genesis.ones(3)
            optimizer.step()
            count += 1
            captured.set()
        return count

    def capture():
        captured.wait()

        def f(x):
            captured.clear()
            captured.wait()  # a step of the other thread
            return x.exp() + 1

        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")
                for _ in range(3):
                    own = genesis.compile(f)
                    results = [own(genesis.ones(5)) for _ in range(3)]
                    assert all((r == results[0]).all() for r in results)
                    assert own.plan is not None
        finally:
            stop.set()

    count, _ = together(steps, capture)
    assert w.tolist() == [-count] * 3


def test_memory_is_taken_and_given_back():
    def work():
        kept = []
        for i in range(60 * ROUNDS):
            kept.append(genesis.full((1 + 37 * i % 5000,), float(i)))
            if len(kept) > 20:
                del kept[:: 2 + i % 3]
        return all((t == t[0]).all() for t in kept)

    def release():
        for _ in range(20 * ROUNDS):
            genesis.memory.empty_cache()
            genesis.memory.allocated()
        return True

    assert all(together(work, release, work, work))


def test_kernels_with_memory_and_tables_of_their_own():
    genesis.set_num_threads(3)
    values = np.random.default_rng(0).normal(size=(64, 64)).astype(np.float32)
    x = genesis.tensor(values)
    images = genesis.from_numpy(np.random.default_rng(1).normal(size=(4, 8, 20, 20)))
    weights = genesis.ones(8, 8, 3, 3, dtype=genesis.float64)
    lstm = nn.LSTM(64, 64)

    def work():
        return [
            genesis.fft.fft(genesis.ones(3 * 7 * 11 * 13 + number)).abs().sum().item()
            for number in range(ROUNDS)
        ] + [
            genesis.linalg.solve(x, x).sum().item(),
            genesis.linalg.svd(x)[1].sum().item(),
            F.conv2d(images, weights, padding=1).sum().item(),
            F.conv2d(images.float(), weights.float(), padding=1).sum().item(),
            F.scaled_dot_product_attention(x[None], x[None], x[None]).sum().item(),
            lstm(x[:, None])[0].sum().item(),
            x.sort()[0].cumsum(0).sum().item(),
            x[x > 0].sum().item(),
            genesis.einsum("ij,kj->ik", x, x).sum().item(),
            x.half().softmax(-1).sum().item(),
        ]

    results = together(*[work] * THREADS)
    assert all(result == results[0] for result in results)


def test_hooks_and_profiles():
    def profiled():
        with genesis.profiler.profile():
            for _ in range(ROUNDS):
                genesis.ones(100).exp().sum()

    def trained():
        x = genesis.ones(50, requires_grad=True)
        x.register_hook(lambda g: g * 2)
        for _ in range(5 * ROUNDS):
            (x.sin() * 3).sum().backward()

    together(profiled, trained, trained)
