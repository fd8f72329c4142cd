"""Schedules: the same learning rates as PyTorch's, step by step, and states that go both ways."""

import copy
import math

import genesis
import numpy as np
import pytest
from genesis.optim import lr_scheduler


class Power:
    """A callable with a state."""

    def __init__(self, base):
        self.base = base

    def __call__(self, step):
        return self.base**step


SIMPLE = {
    "LambdaLR": lambda s, o: s.LambdaLR(o, lambda step: 0.95**step),
    "LambdaLR-each": lambda s, o: s.LambdaLR(o, [lambda step: 1 / (1 + step), Power(0.9)]),
    "MultiplicativeLR": lambda s, o: s.MultiplicativeLR(o, lambda step: 0.9 + 0.001 * step),
    "StepLR": lambda s, o: s.StepLR(o, 7, 0.5),
    "MultiStepLR": lambda s, o: s.MultiStepLR(o, [3, 9, 9, 30], 0.3),
    "ConstantLR": lambda s, o: s.ConstantLR(o, 0.2, 11),
    "LinearLR": lambda s, o: s.LinearLR(o, 0.1, 0.7, 13),
    "ExponentialLR": lambda s, o: s.ExponentialLR(o, 0.93),
    "PolynomialLR": lambda s, o: s.PolynomialLR(o, 40, 2.5),
    "CosineAnnealingLR": lambda s, o: s.CosineAnnealingLR(o, 12, 0.003),
    "CosineAnnealingWarmRestarts": lambda s, o: s.CosineAnnealingWarmRestarts(o, 5, 2, 0.001),
    "CosineAnnealingWarmRestarts-1": lambda s, o: s.CosineAnnealingWarmRestarts(o, 7),
    "CyclicLR": lambda s, o: s.CyclicLR(o, 0.01, [0.1, 0.2], 6, 9),
    "CyclicLR-2": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, mode="triangular2"),
    "CyclicLR-exp": lambda s, o: s.CyclicLR(o, 0.01, 0.1, 5, mode="exp_range", gamma=0.97),
    "CyclicLR-own": lambda s, o: s.CyclicLR(
        o, 0.01, 0.1, 5, scale_fn=lambda x: 1 / (1 + x), scale_mode="iterations", cycle_momentum=False
    ),
    "OneCycleLR": lambda s, o: s.OneCycleLR(o, 0.3, total_steps=62),
    "OneCycleLR-linear": lambda s, o: s.OneCycleLR(
        o, [0.3, 0.2], epochs=8, steps_per_epoch=8, anneal_strategy="linear", three_phase=True
    ),
}  # fmt: skip
COMPOSED = {
    "SequentialLR": lambda s, o: s.SequentialLR(
        o,
        [s.LinearLR(o, 0.1, total_iters=8), s.CosineAnnealingLR(o, 30), s.ExponentialLR(o, 0.9)],
        [8, 35],
    ),
    "ChainedScheduler": lambda s, o: s.ChainedScheduler(
        [s.LinearLR(o, 0.3, total_iters=9), s.StepLR(o, 10, 0.7), s.CosineAnnealingLR(o, 50, 1e-4)],
        o,
    ),
}
ALL = pytest.mark.parametrize("name", [*SIMPLE, *COMPOSED])
MAKE = {**SIMPLE, **COMPOSED}


def optimizer_of(module, kind="SGD", tensor_lr=False):
    first, second = (module.nn.Parameter(module.ones(2)) for _ in range(2))
    lr = module.tensor(0.1, dtype=module.float64) if tensor_lr else 0.1
    options = {"momentum": 0.9} if kind == "SGD" else {}
    groups = [{"params": [first]}, {"params": [second], "lr": 0.05}]
    return getattr(module.optim, kind)(groups, lr=lr, **options)


def options_of(optimizer):
    keys = ("lr", "momentum", "betas")
    return [[np.array(g[k], dtype=float) for k in keys if k in g] for g in optimizer.param_groups]


def assert_same(ours, theirs, what=""):
    for a, b in zip(options_of(ours), options_of(theirs), strict=True):
        for x, y in zip(a, b, strict=True):
            np.testing.assert_allclose(x, y, rtol=1e-12, atol=1e-16, err_msg=what)


@pytest.mark.parametrize("kind", ["SGD", "Adam"])
@ALL
def test_sixty_steps_are_pytorchs(name, kind):
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(genesis, kind), optimizer_of(torch, kind)
    mine = MAKE[name](lr_scheduler, ours)
    other = MAKE[name](torch.optim.lr_scheduler, theirs)
    assert_same(ours, theirs, "at first")
    for step in range(60):
        ours.step()
        theirs.step()
        mine.step()
        other.step()
        assert_same(ours, theirs, f"step {step}")
        np.testing.assert_allclose(mine.get_last_lr(), other.get_last_lr(), rtol=1e-12, atol=1e-16)


@ALL
def test_a_state_goes_on_in_both_libraries(name):
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(genesis), optimizer_of(torch)
    mine = MAKE[name](lr_scheduler, ours)
    for _ in range(17):
        ours.step()
        mine.step()
    other = MAKE[name](torch.optim.lr_scheduler, theirs)
    state = copy.deepcopy(mine.state_dict())
    other.load_state_dict(copy.deepcopy(state))
    again = optimizer_of(genesis)
    back = MAKE[name](lr_scheduler, again)
    back.load_state_dict(copy.deepcopy(other.state_dict()))
    for optimizer in (theirs, again):
        for group, source in zip(optimizer.param_groups, ours.param_groups, strict=True):
            group.update({k: v for k, v in source.items() if k != "params"})
        optimizer.step()
    for _ in range(20):
        ours.step()
        for scheduler in (mine, other, back):
            scheduler.step()
        assert_same(ours, theirs)
        assert_same(ours, again)


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "LambdaLR", "OneCycleLR"])
def test_a_learning_rate_that_is_a_tensor_is_changed_in_place(name):
    optimizer = optimizer_of(genesis, tensor_lr=True)
    lr, plain = optimizer.param_groups[0]["lr"], optimizer_of(genesis)
    scheduler, other = (MAKE[name](lr_scheduler, o) for o in (optimizer, plain))
    for _ in range(10):
        for o, s in ((optimizer, scheduler), (plain, other)):
            o.step()
            s.step()
    assert optimizer.param_groups[0]["lr"] is lr
    assert math.isclose(lr.item(), plain.param_groups[0]["lr"], rel_tol=1e-9)


@pytest.mark.parametrize("name", ["StepLR", "MultiStepLR", "LinearLR", "CosineAnnealingLR"])
def test_resuming_with_last_epoch_goes_on(name):
    torch = pytest.importorskip("torch")
    for module, schedulers in ((genesis, lr_scheduler), (torch, torch.optim.lr_scheduler)):
        optimizer = optimizer_of(module)
        with pytest.raises(KeyError, match="initial_lr"):
            schedulers.StepLR(optimizer, 7, 0.5, last_epoch=4)
    results = []
    arguments = {"StepLR": (7, 0.5), "MultiStepLR": ([6, 9],), "CosineAnnealingLR": (12,)}
    for module, schedulers in ((genesis, lr_scheduler), (torch, torch.optim.lr_scheduler)):
        optimizer = optimizer_of(module)
        for group in optimizer.param_groups:
            group["initial_lr"] = group["lr"]
        made = getattr(schedulers, name)(optimizer, *arguments.get(name, ()), last_epoch=4)
        optimizer.step()
        results.append([])
        for _ in range(10):
            made.step()
            results[-1].append(made.get_last_lr())
    np.testing.assert_allclose(results[0], results[1], rtol=1e-12)


@pytest.mark.parametrize(
    "options",
    [
        {"patience": 2},
        {"mode": "max", "factor": 0.5, "patience": 1, "threshold": 0.1, "cooldown": 2},
        {"threshold_mode": "abs", "threshold": 0.3, "patience": 0, "min_lr": [0.01, 0.02]},
        {"mode": "max", "threshold_mode": "abs", "patience": 3, "eps": 1e-2},
    ],
)
def test_reducing_on_a_plateau_is_pytorchs(options):
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(genesis), optimizer_of(torch)
    mine = lr_scheduler.ReduceLROnPlateau(ours, **options)
    other = torch.optim.lr_scheduler.ReduceLROnPlateau(theirs, **options)
    rng = np.random.default_rng(0)
    for step in range(60):
        value = math.exp(-step / 20) + 0.2 * rng.normal()
        mine.step(genesis.tensor(value))
        other.step(float(np.float32(value)))
        assert_same(ours, theirs, f"step {step}")
    state = {k: v for k, v in other.state_dict().items() if k != "_last_lr"}
    for key, value in state.items():
        assert mine.state_dict()[key] == value, key
    mine.load_state_dict(other.state_dict())


def test_warm_restarts_take_fractions_of_epochs():
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(genesis), optimizer_of(torch)
    mine = lr_scheduler.CosineAnnealingWarmRestarts(ours, 3, 2)
    other = torch.optim.lr_scheduler.CosineAnnealingWarmRestarts(theirs, 3, 2)
    for epoch in (0.5, 2.9, 3.0, 8.5, 9.25, 1.0, 20.5, 21.0):
        mine.step(epoch)
        other.step(epoch)
        assert_same(ours, theirs, f"epoch {epoch}")


def test_a_chain_within_a_sequence_begins_once():
    """PyTorch's begins with one decay too many, and a warning."""
    optimizer, s = optimizer_of(genesis), lr_scheduler
    chain = s.ChainedScheduler([s.ConstantLR(optimizer, 0.5, 3), s.ExponentialLR(optimizer, 0.9)])
    scheduler = s.SequentialLR(optimizer, [chain, s.StepLR(optimizer, 5)], [4])
    for t in range(8):
        expected = 0.1 * 0.9**t * (0.5 if t < 3 else 1.0) if t < 4 else 0.1
        assert math.isclose(scheduler.get_last_lr()[0], expected, rel_tol=1e-12)
        optimizer.step()
        scheduler.step()


def test_warm_up_and_cosine():
    optimizer = optimizer_of(genesis)
    scheduler = lr_scheduler.WarmupCosineLR(optimizer, 5, 25, start_factor=0.2, eta_min=0.01)
    for t in range(40):
        if t < 5:
            expected = 0.1 * (0.2 + 0.8 * t / 5)
        else:
            expected = 0.01 + 0.09 * (1 + math.cos(math.pi * min(1.0, (t - 5) / 20))) / 2
        assert math.isclose(scheduler.get_last_lr()[0], expected, rel_tol=1e-12)
        optimizer.step()
        scheduler.step()
    with pytest.raises(ValueError, match="warmup_steps <= total_steps"):
        lr_scheduler.WarmupCosineLR(optimizer, 5, 3)


@pytest.mark.parametrize("name", ["StepLR", "CosineAnnealingLR", "LinearLR", "PolynomialLR"])
def test_a_given_epoch_warns_and_jumps(name):
    torch = pytest.importorskip("torch")
    ours, theirs = optimizer_of(genesis), optimizer_of(torch)
    mine, other = MAKE[name](lr_scheduler, ours), MAKE[name](torch.optim.lr_scheduler, theirs)
    for o in (ours, theirs):
        o.step()
    for epoch in (3, 10, 8):
        with pytest.warns(UserWarning, match="deprecated"):
            mine.step(epoch)
        with pytest.warns(UserWarning, match="epoch"):
            other.step(epoch)
        assert_same(ours, theirs, f"epoch {epoch}")


def test_stepping_before_the_optimizer_warns():
    scheduler = lr_scheduler.StepLR(optimizer_of(genesis), 1)
    with pytest.warns(UserWarning, match=r"before optimizer.step\(\)"):
        scheduler.step()


def test_reading_the_next_rates_warns():
    scheduler = lr_scheduler.ExponentialLR(optimizer_of(genesis), 0.5)
    with pytest.warns(UserWarning, match="get_last_lr"):
        scheduler.get_lr()


def test_bad_arguments_raise():
    optimizer = optimizer_of(genesis)
    s = lr_scheduler
    with pytest.raises(TypeError, match="expected an Optimizer, got int"):
        s.StepLR(3, 2)
    with pytest.raises(ValueError, match="lr_lambda has 1 values, but the optimizer has 2"):
        s.LambdaLR(optimizer, [lambda step: 1.0])
    with pytest.raises(TypeError, match="must be a function"):
        s.LambdaLR(optimizer, 0.5)
    with pytest.raises(ValueError, match="factor must be between 0 and 1"):
        s.ConstantLR(optimizer, 2.0)
    with pytest.raises(ValueError, match="start_factor"):
        s.LinearLR(optimizer, 0.0)
    with pytest.raises(ValueError, match="T_0 must be a positive int"):
        s.CosineAnnealingWarmRestarts(optimizer, 0)
    with pytest.raises(ValueError, match="pass total_steps"):
        s.OneCycleLR(optimizer, 0.1)
    with pytest.raises(ValueError, match="neither momentum nor betas"):
        s.CyclicLR(genesis.optim.Adagrad([genesis.nn.Parameter(genesis.ones(1))]), 0.1, 0.2)
    with pytest.raises(ValueError, match="factor must be below 1"):
        s.ReduceLROnPlateau(optimizer, factor=1.0)
    step, other = s.StepLR(optimizer, 2), s.StepLR(optimizer_of(genesis), 2)
    with pytest.raises(ValueError, match="need 1 milestones, got 0"):
        s.SequentialLR(optimizer, [step, step], [])
    with pytest.raises(ValueError, match="another optimizer"):
        s.ChainedScheduler([step, other])
    with pytest.raises(ValueError, match="step it by itself"):
        s.ChainedScheduler([step, s.ReduceLROnPlateau(optimizer)])
    cycle = s.OneCycleLR(optimizer, 0.1, total_steps=2)
    optimizer.step()
    cycle.step()
    cycle.step()
    with pytest.raises(ValueError, match="the cycle is over"):
        cycle.step()
