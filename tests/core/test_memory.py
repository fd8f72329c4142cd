"""How much memory tensors hold, and that all of it comes back."""

import gc

import genesis
import numpy as np
import pytest
from genesis import memory


@pytest.fixture(autouse=True)
def _collected():
    gc.collect()


def big():
    return genesis.ones(100_000)


def test_allocated_rises_and_falls_with_a_tensor():
    before = memory.allocated()
    x = big()
    assert memory.allocated() - before == 400_000
    del x
    assert memory.allocated() == before


def test_a_view_holds_the_memory_of_its_base():
    before = memory.allocated()
    view = big()[:1]
    assert memory.allocated() - before == 400_000
    del view
    assert memory.allocated() == before


def test_views_and_detached_tensors_cost_nothing():
    x = big()
    before = memory.allocated()
    views = [x.reshape(10, -1), x.detach(), x[5:], x.expand(3, -1)]
    assert memory.allocated() == before
    del views


def test_borrowed_memory_is_not_ours():
    before = memory.allocated()
    x = genesis.from_numpy(np.ones(100_000))
    assert memory.allocated() == before
    del x


def test_an_array_keeps_the_memory_of_its_tensor():
    before = memory.allocated()
    array = big().numpy()
    assert memory.allocated() - before == 400_000
    del array
    assert memory.allocated() == before


def test_an_inplace_operation_needs_no_memory():
    x = big()
    before = memory.allocated()
    memory.reset_peak()
    x.add_(1).mul_(2).exp_()
    assert memory.peak() - before < 1000


def test_peak_remembers_and_can_be_reset():
    before = memory.allocated()
    memory.reset_peak()
    x = big()
    del x
    assert memory.peak() - before >= 400_000
    memory.reset_peak()
    assert memory.peak() == memory.allocated()


def test_a_chain_of_temporaries_holds_two_at_a_time():
    x = big()
    before = memory.allocated()
    memory.reset_peak()
    y = (((x + 1) * 2) - 3) / 4
    assert memory.peak() - before <= 2 * 400_000 + 1000
    del y


def test_no_grad_saves_nothing():
    x = big().requires_grad_()
    with genesis.no_grad():
        before = memory.allocated()
        y = x.exp().sin().sum()
        assert memory.allocated() - before < 1000
    del y


def test_a_training_step_gives_everything_back():
    weight = genesis.nn.Parameter(genesis.randn(64, 64))
    bias = genesis.nn.Parameter(genesis.zeros(64))
    data = genesis.randn(32, 64)

    def step():
        loss = (genesis.nn.functional.linear(data, weight, bias) ** 2).mean()
        loss.backward()
        for p in (weight, bias):
            p -= 0.1 * p.grad

    step()
    gc.collect()
    before = memory.allocated()
    for _ in range(5):
        step()
    assert memory.allocated() == before


def test_an_error_in_an_operation_leaks_nothing():
    x, y = big(), genesis.ones(3)
    before = memory.allocated()
    for _ in range(3):
        with pytest.raises(ValueError):
            x + y
    gc.collect()
    assert memory.allocated() == before


@pytest.mark.skipif(hasattr(genesis._C, "_canary_address"), reason="sanitizer builds do not cache")
def test_the_cache_can_be_emptied():
    memory.empty_cache()
    before = memory.cached()
    x = genesis.ones(1_000_000)
    del x
    assert memory.cached() >= before + 4_000_000
    memory.empty_cache()
    assert memory.cached() == before


@pytest.mark.skipif(hasattr(genesis._C, "_canary_address"), reason="sanitizer builds do not cache")
def test_the_cache_of_small_blocks_can_be_emptied():
    memory.empty_cache()
    before = memory.cached()
    tensors = [genesis.ones(n) for n in (10, 100, 1000, 2000) for _ in range(1000)]
    kept = tensors[1500]
    del tensors
    assert memory.cached() >= before + 10_000_000
    memory.empty_cache()
    assert memory.cached() <= before + 100_000
    assert kept.sum() == 100
