"""Averages of models, and what belongs to them."""

import copy

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.optim import SGD, swa_utils
from genesis.optim.swa_utils import (
    SWALR,
    AveragedModel,
    get_ema_avg_fn,
    get_ema_multi_avg_fn,
    get_swa_avg_fn,
    get_swa_multi_avg_fn,
    update_bn,
)


def model_of(module):
    return module.nn.Sequential(
        module.nn.Linear(3, 4), module.nn.BatchNorm1d(4), module.nn.Linear(4, 2, bias=False)
    )


def filled(model, module, seed):
    rng = np.random.default_rng(seed)
    state = {}
    for key, value in model.state_dict().items():
        if "num_batches" in key:
            state[key] = module.tensor(seed)
        else:
            state[key] = module.tensor(rng.uniform(0.5, 1.5, tuple(value.shape)).astype("float32"))
    model.load_state_dict(state)
    return model


AVERAGES = {
    "mean": lambda s: {},
    "mean-buffers": lambda s: {"use_buffers": True},
    "ema-all": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9)},
    "ema-one": lambda s: {"avg_fn": s.get_ema_avg_fn(0.9)},
    "ema-buffers": lambda s: {"multi_avg_fn": s.get_ema_multi_avg_fn(0.9), "use_buffers": True},
    "swa-all": lambda s: {"multi_avg_fn": s.get_swa_multi_avg_fn()},
    "swa-one": lambda s: {"avg_fn": s.get_swa_avg_fn()},
    "own": lambda s: {"avg_fn": lambda average, current, n: 0.25 * average + 0.75 * current},
}


@pytest.mark.parametrize("name", AVERAGES)
def test_averages_are_pytorchs(name):
    torch = pytest.importorskip("torch")
    results = []
    for module, utils in ((genesis, swa_utils), (torch, torch.optim.swa_utils)):
        averaged = AVERAGES[name](utils)
        average = utils.AveragedModel(model_of(module), **averaged)
        for seed in range(1, 6):
            average.update_parameters(filled(model_of(module), module, seed))
        results.append({k: v.detach().numpy() for k, v in average.state_dict().items()})
    assert list(results[0]) == list(results[1])
    for key, value in results[0].items():
        if name == "mean-buffers" and "num_batches" in key:
            continue  # PyTorch has no mean of integers
        np.testing.assert_allclose(value, results[1][key], rtol=1e-6, err_msg=key)


def test_a_mean_is_the_mean():
    average = AveragedModel(nn.Linear(2, 2))
    models = [filled(nn.Linear(2, 2), genesis, seed) for seed in range(4)]
    for model in models:
        average.update_parameters(model)
    expected = np.mean([m.weight.detach().numpy() for m in models], axis=0)
    np.testing.assert_allclose(average.module.weight.detach().numpy(), expected, rtol=1e-6)
    assert int(average.n_averaged) == 4
    x = genesis.ones(1, 2)
    assert average(x).tolist() == average.module(x).tolist()


def test_the_original_is_not_touched_and_the_copy_can_be_saved():
    model = nn.Linear(2, 2)
    average = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.5))
    before = model.weight.tolist()
    average.update_parameters(model)
    average.update_parameters(filled(nn.Linear(2, 2), genesis, 0))
    assert model.weight.tolist() == before
    again = AveragedModel(nn.Linear(2, 2))
    again.load_state_dict(average.state_dict())
    assert again.module.weight.tolist() == average.module.weight.tolist()
    assert copy.deepcopy(average).module.weight.tolist() == average.module.weight.tolist()


@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_lists_of_any_dtype_and_layout(dtype):
    rng = np.random.default_rng(0)
    t = getattr(genesis, dtype)
    a, b = rng.normal(size=(30, 50)), rng.normal(size=(30, 50))
    lists = (
        [genesis.tensor(a, dtype=t), genesis.tensor(a.T.copy(), dtype=t).T],
        [
            genesis.tensor(b.T.copy(), dtype=t).T,
            genesis.tensor(b, dtype=t),
        ],
    )
    start = lists[0][0].double().numpy()
    expected = start + 0.25 * (lists[1][0].double().numpy() - start)
    get_ema_multi_avg_fn(0.75)(*lists, 3)
    tolerance = {"float16": 1e-3, "bfloat16": 1e-2, "float64": 1e-15}[dtype]
    for averaged in lists[0]:
        np.testing.assert_allclose(averaged.double().numpy(), expected, tolerance, tolerance)
    version = lists[0][0]._version
    get_swa_multi_avg_fn()(*lists, genesis.tensor(3))
    assert lists[0][0]._version > version


@pytest.mark.parametrize("strategy", ["cos", "linear"])
@pytest.mark.parametrize("epochs", [0, 1, 7])
def test_the_rate_goes_pytorchs_way(strategy, epochs):
    torch = pytest.importorskip("torch")
    rates = []
    for module, utils in ((genesis, swa_utils), (torch, torch.optim.swa_utils)):
        groups = [{"params": [module.nn.Parameter(module.ones(1))]} for _ in range(2)]
        optimizer = module.optim.SGD(groups, lr=0.5)
        decay = module.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)
        for _ in range(5):
            optimizer.step()
            decay.step()
        scheduler = utils.SWALR(optimizer, [0.05, 0.6], epochs, strategy)
        rates.append([])
        for _ in range(12):
            optimizer.step()
            scheduler.step()
            rates[-1].append(scheduler.get_last_lr())
        state = scheduler.state_dict()
        scheduler.load_state_dict(state)
    np.testing.assert_allclose(rates[0], rates[1], rtol=1e-12)


def test_update_bn_computes_the_statistics_of_a_pass():
    rng = np.random.default_rng(0)
    batches = [genesis.tensor(rng.normal(2.0, 3.0, (16, 3))) for _ in range(5)]
    model = nn.Sequential(nn.BatchNorm1d(3), nn.Linear(3, 1))
    model.eval()
    model[0].momentum = 0.3
    update_bn([(batch, 1) for batch in batches], model)
    means = np.mean([b.numpy().mean(0) for b in batches], axis=0)
    np.testing.assert_allclose(model[0].running_mean.numpy(), means, rtol=1e-5)
    assert model[0].momentum == 0.3
    assert not model.training
    update_bn(batches, nn.Linear(3, 1))  # nothing to do


def test_bad_arguments_raise():
    with pytest.raises(ValueError, match="decay between 0 and 1"):
        get_ema_avg_fn(1.5)
    with pytest.raises(ValueError, match="one of avg_fn and multi_avg_fn"):
        AveragedModel(nn.Linear(1, 1), avg_fn=get_swa_avg_fn(), multi_avg_fn=get_swa_multi_avg_fn())
    optimizer = SGD([nn.Parameter(genesis.ones(1))])
    with pytest.raises(ValueError, match="anneal_strategy"):
        SWALR(optimizer, 0.1, anneal_strategy="steps")
    with pytest.raises(ValueError, match="anneal_epochs"):
        SWALR(optimizer, 0.1, anneal_epochs=-1)
    with pytest.raises(ValueError, match="1 tensors to update, and 2"):
        genesis._C._average_lists([genesis.ones(1)], [genesis.ones(1)] * 2, 0.5)
