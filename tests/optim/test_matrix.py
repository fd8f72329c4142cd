"""Optimizers that look at more than one element at a time: LBFGS, Adafactor, Muon."""

import genesis
import numpy as np
import pytest
from genesis import optim

from tests.optim.cases import copied

START = [0.2, 1.0, 0.5, 2.0]


def rosenbrock(module, x):
    return sum(100 * (x[i + 1] - x[i] ** 2) ** 2 + (1 - x[i]) ** 2 for i in range(len(START) - 1))


def minimized(module, steps, **options):
    p = module.nn.Parameter(module.tensor(START, dtype=module.float64))
    q = module.nn.Parameter(module.tensor([[3.0]], dtype=module.float64))
    unused = module.nn.Parameter(module.ones(2, dtype=module.float64))
    optimizer = module.optim.LBFGS([p, q, unused], **options)
    losses = []

    def closure():
        optimizer.zero_grad()
        loss = rosenbrock(module, p) + (q**4).sum()
        loss.backward()
        return loss

    for _ in range(steps):
        losses.append(optimizer.step(closure).item())
    return p, q, losses, optimizer


OPTIONS = [
    {"line_search_fn": "strong_wolfe"},
    {"line_search_fn": "strong_wolfe", "history_size": 2, "max_iter": 5},
    {"line_search_fn": "strong_wolfe", "lr": 0.3, "max_eval": 7},
    {"lr": 0.001, "max_iter": 10},
]


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")  # PyTorch's own
@pytest.mark.parametrize("options", OPTIONS)
def test_lbfgs_takes_pytorchs_steps(options):
    torch = pytest.importorskip("torch")
    p, q, losses, mine = minimized(genesis, 6, **options)
    p2, q2, losses2, other = minimized(torch, 6, **options)
    np.testing.assert_allclose(losses, losses2, rtol=1e-5, atol=1e-12)
    np.testing.assert_allclose(p.detach().numpy(), p2.detach().numpy(), rtol=1e-5, atol=1e-6)
    np.testing.assert_allclose(q.detach().numpy(), q2.detach().numpy(), rtol=1e-4, atol=1e-4)
    state, state2 = mine.state[mine.param_groups[0]["params"][0]], other.state[p2]
    assert (state["n_iter"], state["func_evals"]) == (state2["n_iter"], state2["func_evals"])


def test_lbfgs_finds_the_minimum():
    p, _, losses, _ = minimized(genesis, 20, line_search_fn="strong_wolfe")
    np.testing.assert_allclose(p.detach().numpy(), 1.0, rtol=1e-4)
    assert losses[-1] < 1e-9


@pytest.mark.filterwarnings("ignore:Converting a tensor with requires_grad")
@pytest.mark.parametrize("options", OPTIONS[:2])
def test_a_state_of_lbfgs_can_be_saved(options):
    p, q, _, optimizer = minimized(genesis, 2, **options)
    twins = [genesis.nn.Parameter(x.detach().clone()) for x in optimizer.param_groups[0]["params"]]
    twin = optim.LBFGS(twins)
    twin.load_state_dict(optimizer.state_dict())

    def closure_of(o, x, y):
        def closure():
            o.zero_grad()
            loss = rosenbrock(genesis, x) + (y**4).sum()
            loss.backward()
            return loss

        return closure

    optimizer.step(closure_of(optimizer, p, q))
    twin.step(closure_of(twin, *twins[:2]))
    assert p.tolist() == twins[0].tolist()
    torch = pytest.importorskip("torch")
    theirs = [torch.nn.Parameter(torch.tensor(x.detach().numpy())) for x in (p, q, twins[2])]
    other = torch.optim.LBFGS(theirs)
    other.load_state_dict(copied(torch, optimizer.state_dict()))
    other.step(closure_of(other, *theirs[:2]))
    optimizer.step(closure_of(optimizer, p, q))
    np.testing.assert_allclose(p.detach().numpy(), theirs[0].detach().numpy(), rtol=1e-6)


def test_lbfgs_needs_a_closure_and_one_group():
    p = genesis.nn.Parameter(genesis.ones(2))
    with pytest.raises(TypeError, match="needs a closure"):
        optim.LBFGS([p]).step()
    with pytest.raises(ValueError, match="one group"):
        optim.LBFGS([{"params": [p]}, {"params": [genesis.nn.Parameter(genesis.ones(1))]}])
    with pytest.raises(ValueError, match="line_search_fn"):
        optim.LBFGS([p], line_search_fn="golden")


CASES = [
    ("Adafactor", {}, [(6, 4), (5,), (2, 3, 4), ()], 3e-6),
    ("Adafactor", {"lr": 0.1, "weight_decay": 0.1, "d": 2.0, "beta2_decay": -0.5}, [(6, 4)], 3e-6),
    ("Adafactor", {"eps": (1e-4, 1e-2), "maximize": True}, [(6, 4), (3,)], 3e-6),
    # Muon computes in bfloat16: products in another order differ by its rounding.
    ("Muon", {"lr": 0.02}, [(6, 4), (4, 6), (5, 5), (9, 14)], 1e-3),
    ("Muon", {"adjust_lr_fn": "match_rms_adamw", "weight_decay": 0.0, "nesterov": False}, [(8, 3)], 1e-3),
    ("Muon", {"momentum": 0.5, "ns_steps": 2, "ns_coefficients": (2.0, -1.5, 0.5)}, [(7, 7)], 1e-3),
]  # fmt: skip


@pytest.mark.parametrize(("name", "options", "shapes", "tolerance"), CASES)
def test_steps_are_pytorchs(name, options, shapes, tolerance):
    torch = pytest.importorskip("torch")
    rng = np.random.default_rng(0)
    arrays = [rng.normal(size=shape).astype("float32") for shape in shapes]
    ours = [genesis.nn.Parameter(genesis.tensor(a)) for a in arrays]
    theirs = [torch.nn.Parameter(torch.tensor(a)) for a in arrays]
    mine, other = (
        getattr(optim, name)(ours, **options),
        getattr(torch.optim, name)(theirs, **options),
    )
    steps = 100
    for step in range(steps):
        for p, q in zip(ours, theirs, strict=True):
            noise = rng.normal(size=tuple(p.shape)) * 0.1
            g = (p.detach().numpy() * 0.5 + noise).astype("float32")
            p.grad, q.grad = genesis.tensor(g), torch.tensor(g)
        mine.step()
        other.step()
        if step == steps // 2:  # over to each other's state
            mine.load_state_dict(copied(genesis, other.state_dict()))
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), tolerance, tolerance)
        assert list(mine.state[p]) == list(other.state[q])
        for key, value in mine.state[p].items():
            assert value.shape == tuple(other.state[q][key].shape)
            np.testing.assert_allclose(
                value.numpy(), other.state[q][key].numpy(), tolerance, tolerance, err_msg=key
            )
    assert repr(mine) == repr(other)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_layout_does_not_matter(name):
    rng = np.random.default_rng(0)
    value, grad = rng.normal(size=(2, 6, 4)).astype("float32")
    plain = genesis.nn.Parameter(genesis.tensor(value))
    turned = genesis.nn.Parameter(genesis.tensor(value.T.copy()).T)
    strided = genesis.nn.Parameter(genesis.tensor(np.repeat(value, 2, axis=1))[:, ::2])
    assert not turned.is_contiguous() and not strided.is_contiguous()
    plain.grad, turned.grad = genesis.tensor(grad), genesis.tensor(grad)
    strided.grad = genesis.tensor(grad.T.copy()).T
    optimizer = getattr(optim, name)([plain, turned, strided], lr=0.1)
    for _ in range(3):
        optimizer.step()
    for p in (turned, strided):
        np.testing.assert_allclose(p.detach().numpy(), plain.detach().numpy(), 1e-5, 1e-3)


@pytest.mark.parametrize("name", ["Adafactor", "Muon"])
def test_a_step_is_one_native_call(name):
    params = [genesis.nn.Parameter(genesis.ones(3, 3)) for _ in range(5)]
    for p in params:
        p.grad = genesis.eye(3)
    optimizer = getattr(optim, name)(params)
    with genesis.profiler.profile() as profile:
        optimizer.step()
    events = [e for e in profile.events() if e.name.endswith("_step")]
    assert [e.name for e in events] == [f"{name.lower()}_step"]


def test_a_state_of_another_parameter_changes_nothing():
    p, q = (genesis.nn.Parameter(genesis.ones(shape)) for shape in [(3, 4), (4, 3)])
    for name, key in [("Adafactor", "row_var"), ("Muon", "momentum_buffer")]:
        optimizer = getattr(optim, name)([p, q])
        p.grad, q.grad = genesis.ones(3, 4), genesis.ones(4, 3)
        optimizer.step()
        before = p.tolist()
        optimizer.state[q][key] = genesis.zeros(2, 2)
        with pytest.raises(ValueError, match=r"belongs to another parameter"):
            optimizer.step()
        assert p.tolist() == before


def test_lbfgs_takes_what_pytorch_saved():
    torch = pytest.importorskip("torch")
    p, q, _, other = minimized(torch, 2, line_search_fn="strong_wolfe")
    twins = [
        genesis.nn.Parameter(genesis.tensor(x.detach().numpy()))
        for x in other.param_groups[0]["params"]
    ]
    mine = optim.LBFGS(twins)
    mine.load_state_dict(copied(genesis, other.state_dict()))

    def closure_of(module, optimizer, x, y):
        def closure():
            optimizer.zero_grad()
            loss = rosenbrock(module, x) + (y**4).sum()
            loss.backward()
            return loss

        return closure

    mine.step(closure_of(genesis, mine, *twins[:2]))
    other.step(closure_of(torch, other, p, q))
    np.testing.assert_allclose(twins[0].detach().numpy(), p.detach().numpy(), rtol=1e-6)


def test_muon_moves_along_an_orthogonal_matrix():
    rng = np.random.default_rng(0)
    p = genesis.nn.Parameter(genesis.zeros(20, 8))
    p.grad = genesis.tensor(rng.normal(size=(20, 8)))
    optim.Muon([p], lr=1.0, weight_decay=0.0).step()
    singular = np.linalg.svd(p.detach().numpy() / np.sqrt(20 / 8), compute_uv=False)
    assert (singular > 0.5).all()
    assert (singular < 1.3).all()


def test_muon_refuses_what_is_no_matrix():
    with pytest.raises(ValueError, match="matrices only"):
        optim.Muon([genesis.nn.Parameter(genesis.ones(3))])
    with pytest.raises(ValueError, match="adjust_lr_fn"):
        optim.Muon([genesis.nn.Parameter(genesis.ones(3, 3))], adjust_lr_fn="mine")


def test_adafactor_keeps_rows_and_columns_only():
    p = genesis.nn.Parameter(genesis.ones(50, 40))
    p.grad = genesis.ones(50, 40)
    optimizer = optim.Adafactor([p])
    optimizer.step()
    assert sum(v.numel() for v in optimizer.state[p].values()) == 50 + 40 + 1
    with pytest.raises(ValueError, match="d must be at least 1"):
        optim.Adafactor([p], d=0.5)


@pytest.mark.parametrize("search", [None, "strong_wolfe"])
def test_lbfgs_moves_complex_parameters_as_pairs_of_real_ones(search):
    def minimized(complex_):
        parts = genesis.tensor([[1.0, 2.0], [-3.0, 0.5]], dtype=genesis.float64)
        w = genesis.nn.Parameter(genesis.tensor([0.5, 2.0], dtype=genesis.float64))
        z = genesis.nn.Parameter(genesis.view_as_complex(parts) if complex_ else parts)
        optimizer = optim.LBFGS([z, w], lr=0.5, max_iter=6, line_search_fn=search)

        def closure():
            optimizer.zero_grad()
            x = genesis.view_as_real(z) if complex_ else z
            loss = ((x - 2) ** 4).sum() + (w * x.norm(dim=1)).sum() ** 2 + (w - 1).pow(4).sum()
            loss.backward()
            return loss

        optimizer.step(closure)
        return (genesis.view_as_real(z) if complex_ else z).detach(), w.detach()

    for found, expected in zip(minimized(True), minimized(False), strict=True):
        assert genesis.equal(found, expected)


@pytest.mark.parametrize("kind", [optim.Adafactor, optim.Muon])
def test_complex_parameters_are_refused(kind):
    p = genesis.nn.Parameter(genesis.ones(2, 2, dtype=genesis.complex64))
    optimizer = kind([p], lr=0.1)
    optimizer.step()  # without a gradient there is nothing to refuse
    (p * p.conj()).real.sum().backward()
    with pytest.raises(RuntimeError, match="does not support complex parameters"):
        optimizer.step()
