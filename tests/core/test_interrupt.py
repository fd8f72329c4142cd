"""Ctrl-C, threads that share tensors, and threads that outlive the interpreter."""

import os
import signal
import subprocess
import sys
import threading
import time

import genesis
import pytest


def interrupted(code: str, after: float = 0.7) -> str:
    """Run ``code``, which prints a line before it computes, and press Ctrl-C; what it wrote."""
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    process.stdout.readline()
    time.sleep(after)
    os.kill(process.pid, signal.SIGINT)
    try:
        return process.communicate(timeout=60)[1]
    finally:
        process.kill()


START = "import genesis, genesis.nn.functional as F\ngenesis.set_num_threads({threads})\n"
ATTENTION = "F.scaled_dot_product_attention({0}, {0}, {0})"
# Left alone, each takes much longer than interrupted() waits, and needs little memory.
LONG = {
    "attention": (
        2,
        f"x = genesis.ones(1 << 21, 8)\nprint('go', flush=True)\n{ATTENTION.format('x')}",
    ),
    "one thread": (
        1,
        f"x = genesis.ones(1 << 21, 8)\nprint('go', flush=True)\n{ATTENTION.format('x')}",
    ),
    "mvlgamma": (
        1,
        "x = genesis.full((4000,), 1e8)\nprint('go', flush=True)\ngenesis.mvlgamma(x, 1 << 24)",
    ),
    "mode": (1, "x = genesis.rand(1 << 25)\nprint('go', flush=True)\nx.mode()"),
    "tril_indices": (
        1,
        "print('go', flush=True)\nwhile True: genesis.tril_indices(20000, 20000)",
    ),
    "sum": (1, "x = genesis.ones(1).expand(1 << 46)\nprint('go', flush=True)\nx.sum()"),
    "columns": (
        2,
        "x = genesis.ones(1, 1024).expand(1 << 40, 1024)\nprint('go', flush=True)\nx.amax(0)",
    ),
    "dot": (2, "x = genesis.ones(1).expand(1 << 46)\nprint('go', flush=True)\nx.dot(x)"),
    "svd": (2, "x = genesis.rand(3000, 3000)\nprint('go', flush=True)\ngenesis.linalg.svd(x)"),
    "backward": (
        2,
        "x = genesis.ones(1 << 21, 8, requires_grad=True)\n"
        "class Long(genesis.autograd.Function):\n"
        "    @staticmethod\n"
        "    def forward(ctx, x):\n"
        "        return x * 1\n"
        "    @staticmethod\n"
        "    def backward(ctx, g):\n"
        f"        return {ATTENTION.format('g')}\n"
        "y = Long.apply(x).sum()\n"
        "print('go', flush=True)\ny.backward()",
    ),
}


@pytest.mark.parametrize("name", LONG)
def test_ctrl_c_stops_a_long_operation(name):
    threads, code = LONG[name]
    assert "KeyboardInterrupt" in interrupted(START.format(threads=threads) + code)


def test_a_lapack_call_that_was_left_behind_does_no_harm():
    code = START.format(threads=2) + (
        "import time\n"
        "x = genesis.rand(3000, 3000)\n"
        "print('go', flush=True)\n"
        "try:\n"
        "    genesis.linalg.svd(x)\n"
        "except KeyboardInterrupt:\n"
        "    del x\n"
        "    y = genesis.linalg.inv(genesis.eye(50) * 2)\n"
        "    assert genesis.equal(y, genesis.eye(50) * 0.5)\n"
        "    raise SystemExit(3)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        time.sleep(0.7)
        process.send_signal(signal.SIGINT)
        try:
            assert process.wait(60) == 3
        finally:
            process.kill()


def test_an_in_place_operation_is_completed():
    code = START.format(threads=2) + (
        "x = genesis.zeros(1 << 26)\n"
        "print('go', flush=True)\n"
        "try:\n"
        "    while True:\n"
        "        x.add_(1)\n"
        "except KeyboardInterrupt:\n"
        "    assert x.min() == x.max() > 0\n"
        "    raise\n"
    )
    errors = interrupted(code)
    assert "KeyboardInterrupt" in errors and "AssertionError" not in errors


def test_a_handler_that_returns_does_not_stop_an_operation():
    code = START.format(threads=2) + (
        "import signal\n"
        "calls = []\n"
        "signal.signal(signal.SIGINT, lambda *_: calls.append(1))\n"
        "x = genesis.ones(1500, 1500)\n"
        "print('go', flush=True)\n"
        "while not calls:\n"
        "    y = x @ x\n"
        "assert (y == 1500).all()\n"
        "raise SystemExit('counted')\n"
    )
    errors = interrupted(code)
    assert "counted" in errors and "KeyboardInterrupt" not in errors


def test_after_ctrl_c_the_library_works():
    code = START.format(threads=2) + (
        "x = genesis.ones(1 << 21, 8)\n"
        "print('go', flush=True)\n"
        "try:\n"
        "    F.scaled_dot_product_attention(x, x, x)\n"
        "except KeyboardInterrupt:\n"
        "    y = genesis.ones(500, 500)\n"
        "    assert ((y @ y) == 500).all() and genesis.ones(1 << 22).sum() == 1 << 22\n"
        "    raise SystemExit('works')\n"
    )
    errors = interrupted(code)
    assert "works" in errors


@pytest.mark.parametrize("reshaped", [False, True])
def test_data_is_replaced_while_another_thread_writes(reshaped):
    # Without care the memory is freed, or the shape changes, under the kernel.
    n = 1 << 19
    x = genesis.zeros(n)
    end = time.monotonic() + 1.5
    failed = []

    def write():
        try:
            while time.monotonic() < end:
                x.add_(1)
                x.mul_(0.5)
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=write) for _ in range(2)]
    for thread in threads:
        thread.start()
    sizes = [n, n // 2, 2 * n] if reshaped else [n]
    rounds = 0
    while time.monotonic() < end:
        x.data = genesis.full((sizes[rounds % len(sizes)],), 1.0)
        genesis.memory.empty_cache()
        rounds += 1
    for thread in threads:
        thread.join()
    assert not failed and rounds > 3
    assert x.isfinite().all()


DAEMON = """
import threading, time, genesis, sys
class Twice(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2
    @staticmethod
    def backward(ctx, g):
        time.sleep(0)
        return g * 2
def compute():
    x = genesis.ones(600, 600, requires_grad=True)
    x.register_hook(lambda g: g * 1)
    while True:
        Twice.apply(x @ x).sum().backward()
        genesis.linalg.svd(x.detach()[:60, :60])
for _ in range(3):
    threading.Thread(target=compute, daemon=True).start()
time.sleep(float(sys.argv[1]))
"""


@pytest.mark.parametrize("delay", [0.05, 0.1, 0.15, 0.2, 0.25, 0.3])
def test_daemon_threads_that_compute_do_not_break_the_end(delay):
    run = subprocess.run(
        [sys.executable, "-c", DAEMON, str(delay)], capture_output=True, text=True, timeout=60
    )
    # The sanitizer notes that the reference of this catch is null, as the compiler makes it.
    errors = [line for line in run.stderr.splitlines() if "__forced_unwind" not in line]
    assert run.returncode == 0 and not errors, (run.returncode, run.stderr[-500:])
