"""Threads of every kind at once: what `tools/sanitize thread` watches for races."""

import concurrent.futures
import threading

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
