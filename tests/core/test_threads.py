"""The same bits for any number of threads; fork; several Python threads at once."""

import concurrent.futures
import os
import pickle
import select
import signal
import threading

import genesis
import numpy as np
import pytest
from genesis.nn import functional as F

pytestmark = pytest.mark.usefixtures("num_threads")


def _data(*shape, seed=0):
    values = np.random.default_rng(seed).normal(size=shape).astype(np.float32)
    return genesis.tensor(values)


# enough work for several chunks each
PROGRAMS = {
    "sum": lambda: _data(1_000_003).sum(),
    "mean over rows": lambda: _data(2003, 517).mean(dim=0),
    "sum over columns": lambda: _data(2003, 517).sum(dim=1),
    "sum of a transposed matrix": lambda: _data(1003, 517).t().sum(dim=0),
    "sum of float64": lambda: _data(500_009).double().sum(),
    "max": lambda: _data(2003, 517).max(dim=0).values,
    "variance": lambda: _data(300_007).var(),
    "norm": lambda: (_data(700_001) ** 2).sum().sqrt(),
    "softmax": lambda: F.softmax(_data(513, 1031), dim=-1),
    "softmax of short lines": lambda: F.log_softmax(_data(30_011, 17), dim=-1),
    "softmax over rows": lambda: F.softmax(_data(513, 1031), dim=0),
    "cumulative sum": lambda: _data(300_007).cumsum(0),
    "elementwise": lambda: (_data(1_000_003) * 2 + 1).exp().sin(),
    "broadcast": lambda: _data(1003, 1) * _data(1, 517),
    "matmul": lambda: _data(257, 513) @ _data(513, 129, seed=1),
    "matmul float64": lambda: _data(257, 513).double() @ _data(513, 129, seed=1).double(),
    "batched matmul": lambda: _data(7, 65, 33) @ _data(7, 33, 65, seed=1),
    "vector product": lambda: _data(1003, 517) @ _data(517, seed=1),
    "bags of rows": lambda: F.embedding_bag(
        genesis.arange(40_000).reshape(-1, 8) % 1003, _data(1003, 33)
    ),
    "gather": lambda: _data(1003, 517)[genesis.arange(1003).flip(0)],
    "sort": lambda: _data(200_003).sort().values,
    "rand": lambda: genesis.rand(300_007),
    "randn": lambda: genesis.randn(300_007),
    "randn float64": lambda: genesis.randn(300_007, dtype=genesis.float64),
    "randint": lambda: genesis.randint(0, 1000, (300_007,)),
    "randperm": lambda: genesis.randperm(100_003),
    "dropout": lambda: F.dropout(genesis.ones(300_007), 0.3, training=True),
}


def _gradients():
    x = _data(513, 517).requires_grad_()
    w = _data(517, 33, seed=1).requires_grad_()
    (F.softmax(x @ w, dim=-1) ** 2).sum().backward()
    return genesis.cat([x.grad.reshape(-1), w.grad.reshape(-1)])


PROGRAMS["gradients"] = _gradients


def _bits(program, threads):
    genesis.set_num_threads(threads)
    genesis.manual_seed(3)
    return program().detach().numpy().tobytes()


@pytest.mark.parametrize("name", PROGRAMS)
def test_results_do_not_depend_on_the_number_of_threads(name):
    one, two, seven = (_bits(PROGRAMS[name], n) for n in (1, 2, 7))
    assert one == two
    assert one == seven


def test_the_number_of_threads_can_be_set_and_asked():
    for n in (1, 3, 2):
        genesis.set_num_threads(n)
        assert genesis.get_num_threads() == n
    for wrong in (0, -1):
        with pytest.raises((ValueError, RuntimeError), match=r"(?i)positive|at least|thread"):
            genesis.set_num_threads(wrong)


def _in_child(function):
    """The result of `function` in a forked process; a child that hangs is killed."""
    read, write = os.pipe()
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            os.close(read)
            with os.fdopen(write, "wb") as pipe:
                pickle.dump(function(), pipe)
            status = 0
        finally:
            os._exit(status)
    os.close(write)
    with os.fdopen(read, "rb") as pipe:
        alive, _, _ = select.select([pipe], [], [], 30)
        if not alive:
            os.kill(pid, signal.SIGKILL)
        data = pipe.read()
    _, status = os.waitpid(pid, 0)
    assert status == 0, "the child failed" if alive else "the child hung"
    return pickle.loads(data)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(60)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_forked_child_computes_the_same():
    genesis.set_num_threads(2)
    expected = _bits(_gradients, 2)  # the pool is running when we fork

    def child():
        first = _bits(_gradients, 2)
        return first == expected, _bits(PROGRAMS["matmul"], 2)

    for _ in range(2):
        same, matmul = _in_child(child)
        assert same
        assert matmul == _bits(PROGRAMS["matmul"], 2)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_does_not_use_the_stacks_of_threads_that_it_lacks():
    def compute_in_threads(n):
        here = threading.Barrier(n + 1)

        def work():
            genesis.ones(3) + 1
            here.wait()
            here.wait()

        threads = [threading.Thread(target=work) for _ in range(n)]
        for thread in threads:
            thread.start()
        here.wait()
        return here, threads

    def end(here, threads):
        here.wait()
        for thread in threads:
            thread.join()

    def child():
        for _ in range(3):
            end(*compute_in_threads(8))  # the C library gives back the stacks of the others
        with genesis.autograd.detect_anomaly():  # tells all threads
            return genesis.ones(3).exp().tolist()

    running = compute_in_threads(60)
    try:
        assert _in_child(child) == genesis.ones(3).exp().tolist()
    finally:
        end(*running)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.timeout(120)
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_transforms_while_the_parent_plans_a_transform():
    stop = threading.Event()

    def plan():
        n = 200_000
        while not stop.is_set():
            genesis.fft.fft(genesis.ones(n))
            n += 1

    thread = threading.Thread(target=plan)
    thread.start()
    try:
        for i in range(10):
            first = _in_child(lambda i=i: genesis.fft.fft(genesis.ones(150 + i)).real[0].item())
            assert first == pytest.approx(150 + i)
    finally:
        stop.set()
        thread.join()


@pytest.mark.timeout(120)
def test_python_threads_compute_side_by_side():
    def work(seed):
        x = _data(301, 203, seed=seed).requires_grad_()
        w = _data(203, 17, seed=seed + 100).requires_grad_()
        for _ in range(3):
            (x @ w).sin().sum().backward()
        return x.grad.numpy().tobytes() + w.grad.numpy().tobytes()

    expected = [work(seed) for seed in range(8)]
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        for _ in range(3):
            assert list(pool.map(work, range(8))) == expected


@pytest.mark.timeout(120)
def test_python_threads_may_share_what_they_only_read():
    w = _data(203, 203)

    def work(_):
        return (_data(101, 203) @ w).exp().sum().item()

    expected = work(0)
    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        assert list(pool.map(work, range(20))) == [expected] * 20


@pytest.mark.timeout(120)
def test_threads_backward_into_one_leaf():
    w = genesis.zeros(1000, requires_grad=True)

    def work(_):
        (w * 2).sum().backward()

    with concurrent.futures.ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(100)))
    assert w.grad.tolist() == [200.0] * 1000
