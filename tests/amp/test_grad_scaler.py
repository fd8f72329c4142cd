"""Scaling of losses: skipped steps, growth, and the order of calls."""

import math
import pickle

import genesis
import numpy as np
import pytest
from genesis.amp import GradScaler


def setup(**options):
    p = genesis.nn.Parameter(genesis.tensor([1.0, 2.0]))
    return p, genesis.optim.SGD([p], lr=0.1), GradScaler(**options)


def test_a_step_is_that_of_the_unscaled_loss():
    p, optimizer, scaler = setup(init_scale=128.0)
    scaler.scale((p * p).sum()).backward()
    assert p.grad.tolist() == [256.0, 512.0]
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(p.tolist(), [0.8, 1.6], rtol=1e-6)


@pytest.mark.parametrize("bad", [math.inf, -math.inf, math.nan])
def test_a_step_with_infinite_gradients_is_skipped(bad):
    p, optimizer, scaler = setup()
    p.grad = genesis.tensor([1.0, bad])
    assert scaler.step(optimizer) is None
    scaler.update()
    assert p.tolist() == [1.0, 2.0]
    assert scaler.get_scale() == 2.0**15


def test_the_scale_follows_pytorchs():
    torch = pytest.importorskip("torch")
    options = {
        "init_scale": 256.0,
        "growth_interval": 3,
        "backoff_factor": 0.25,
        "growth_factor": 3.0,
    }
    p, optimizer, mine = setup(**options)
    q = torch.nn.Parameter(torch.tensor([1.0, 2.0]))
    other_optimizer, other = torch.optim.SGD([q], lr=0.1), torch.amp.GradScaler("cpu", **options)
    rng = np.random.default_rng(0)
    other.scale(torch.tensor(1.0))  # makes its scale
    for _ in range(40):
        grad = rng.normal(size=2).astype("float32")
        if rng.uniform() < 0.2:
            grad[1] = np.inf
        p.grad, q.grad = genesis.tensor(grad), torch.tensor(grad)
        mine.step(optimizer)
        mine.update()
        other.step(other_optimizer)
        other.update()
        assert mine.get_scale() == other.get_scale()
        assert mine.state_dict() == other.state_dict()
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-6)


def test_gradients_can_be_clipped_between():
    p, optimizer, scaler = setup()
    scaler.scale((p * p).sum()).backward()
    scaler.unscale_(optimizer)
    assert p.grad.tolist() == [2.0, 4.0]
    p.grad.clamp_(max=1.0)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(p.tolist(), [0.9, 1.9], rtol=1e-6)


@pytest.mark.parametrize("dtype", ["float32", "float64", "bfloat16"])
def test_large_strided_and_empty_gradients_are_unscaled(dtype):
    rng = np.random.default_rng(0)
    shapes = [(70_001,), (300, 200), (0, 3), ()]
    params = [genesis.nn.Parameter(genesis.zeros(s, dtype=getattr(genesis, dtype))) for s in shapes]
    for p in params:
        p.grad = genesis.tensor(rng.normal(size=tuple(p.shape)), dtype=p.dtype)
    params[1].grad = genesis.tensor(rng.normal(size=(200, 300)), dtype=params[1].dtype).T
    expected = [p.grad.float().numpy() / 8 for p in params]
    scaler, optimizer = GradScaler(init_scale=8.0), genesis.optim.SGD(params)
    scaler.unscale_(optimizer)
    for p, g in zip(params, expected, strict=True):
        np.testing.assert_array_equal(p.grad.float().numpy(), g)
    scaler.update()
    params[0].grad[70_000] = math.inf
    scaler.step(optimizer)
    scaler.update()
    assert scaler.get_scale() == 4.0


def test_several_losses_and_optimizers():
    p, optimizer, scaler = setup(init_scale=2.0)
    q = genesis.nn.Parameter(genesis.ones(1))
    other = genesis.optim.SGD([q], lr=1.0)
    first, second = scaler.scale([p.sum(), q.sum()])
    (first + second).backward()
    q.grad.fill_(math.nan)
    scaler.step(optimizer)
    scaler.step(other)
    scaler.update()
    np.testing.assert_allclose(p.tolist(), [0.9, 1.9], rtol=1e-6)
    assert q.tolist() == [1.0]
    assert scaler.get_scale() == 1.0


def test_calls_in_a_wrong_order_raise():
    p, optimizer, scaler = setup()
    with pytest.raises(RuntimeError, match="no parameter of this optimizer has a gradient"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match=r"no step\(\)"):
        scaler.update()
    p.grad = genesis.ones(2)
    scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.unscale_(optimizer)
    scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="already called"):
        scaler.step(optimizer)
    with pytest.raises(RuntimeError, match="comes before step"):
        scaler.unscale_(optimizer)
    with pytest.raises(RuntimeError, match="after update"):
        pickle.dumps(scaler)
    scaler.update()
    with pytest.raises(RuntimeError, match="closures"):
        scaler.step(optimizer, lambda: 1.0)
    half = genesis.nn.Parameter(genesis.ones(1, dtype=genesis.float16))
    half.grad = genesis.ones(1, dtype=genesis.float16)
    with pytest.raises(ValueError, match="float16"):
        scaler.unscale_(genesis.optim.SGD([half]))
    with pytest.raises(TypeError, match="expected tensors"):
        scaler.scale(3.0)


def test_a_scaler_that_is_off_does_nothing():
    p, optimizer, scaler = setup(enabled=False)
    loss = (p * p).sum()
    assert scaler.scale(loss) is loss
    loss.backward()
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    np.testing.assert_allclose(p.tolist(), [0.8, 1.6], rtol=1e-6)
    assert scaler.get_scale() == 1.0
    assert scaler.state_dict() == {}
    with pytest.warns(UserWarning, match="'cuda' is not available"):
        assert not GradScaler("cuda").is_enabled()


def test_states_and_pickles():
    _, _, scaler = setup(init_scale=4.0, growth_interval=7)
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.state_dict() == scaler.state_dict()
    assert pickle.loads(pickle.dumps(scaler)).state_dict() == scaler.state_dict()
    scaler.update(genesis.tensor(16.0))
    assert scaler.get_scale() == 16.0
    with pytest.raises(ValueError, match="growth_factor"):
        GradScaler(growth_factor=0.5)
    with pytest.raises(ValueError, match="backoff_factor"):
        GradScaler(backoff_factor=2.0)
    with pytest.raises(RuntimeError, match="empty"):
        other.load_state_dict({})


def test_training_with_float16_learns():
    rng = np.random.default_rng(0)
    x = genesis.tensor(rng.normal(size=(64, 4)))
    y = x @ genesis.tensor(rng.normal(size=(4, 1)))
    genesis.manual_seed(0)
    model = genesis.nn.Linear(4, 1)
    optimizer, scaler = genesis.optim.Adam(model.parameters(), lr=0.05), GradScaler()
    losses = []
    for _ in range(150):
        optimizer.zero_grad()
        with genesis.autocast(dtype=genesis.float16):
            loss = genesis.nn.functional.mse_loss(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        losses.append(loss.item())
    assert losses[-1] < 0.01 * losses[0]
