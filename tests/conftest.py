"""What every test gets: fixed seeds, and the number of threads put back."""

import os
import signal

import genesis
import numpy as np
import pytest
from hypothesis import HealthCheck, settings

# A shell starts what it runs in the background with Ctrl-C ignored, and children inherit that.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# Fixed examples: a red build is red again on the next run. `--hypothesis-seed=random` explores.
settings.register_profile(
    "genesis",
    deadline=None,  # the first example pays for imports and page faults
    derandomize=True,
    max_examples=60,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("genesis")

if os.environ.get("GENESIS_TEST_COMPILED") == "1":  # every call of a module, compiled and checked
    from tests.compiler import mode

    mode.install()


def pytest_collection_modifyitems(config, items):
    """Keep one test of every GENESIS_TEST_SAMPLE, where all of them would take too long (tools/arm)."""
    if os.environ.get("GENESIS_TEST_COMPILED") == "1":
        skipped = [t for t in items if getattr(t, "originalname", t.name) in mode.SKIPPED]
        config.hook.pytest_deselected(items=skipped)
        items[:] = [t for t in items if t not in skipped]
    step = int(os.environ.get("GENESIS_TEST_SAMPLE", "1"))
    if step > 1:
        config.hook.pytest_deselected(items=[t for i, t in enumerate(items) if i % step])
        items[:] = items[::step]


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20261115)


@pytest.fixture
def num_threads():
    """Restores the number of threads that a test changes."""
    before = genesis.get_num_threads()
    yield
    genesis.set_num_threads(before)
