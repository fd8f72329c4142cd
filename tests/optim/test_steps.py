"""Steps of optimizers: equal to PyTorch's, to their own formulas, for any dtype and layout."""

import genesis
import numpy as np
import pytest
from genesis import optim
from genesis.autograd import gradcheck

from tests.optim.cases import CASES, LION, copied, name_of, parameters, set_gradients

ALL = pytest.mark.parametrize("case", [*CASES, *LION], ids=name_of)


def values(params):
    return [p.detach().float().numpy().copy() for p in params]


def run(case, params, steps=20, seed=1):
    optimizer = getattr(optim, case[0])(params, **case[1])
    rng = np.random.default_rng(seed)
    for _ in range(steps):
        set_gradients(params, rng)
        optimizer.step()
    return optimizer


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_hundred_steps_are_pytorchs(case, dtype):
    torch = pytest.importorskip("torch")
    ours = parameters(dtype)
    theirs = [torch.nn.Parameter(torch.tensor(p.detach().numpy())) for p in ours]
    name, options = case
    mine, other = (
        getattr(optim, name)(ours, **options),
        getattr(torch.optim, name)(theirs, **options),
    )
    rng = np.random.default_rng(1)
    for _ in range(100):
        set_gradients(ours, rng)
        for p, q in zip(ours, theirs, strict=True):
            q.grad = torch.tensor(p.grad.numpy())
        mine.step()
        other.step()
    tolerance = 3e-6 if dtype == "float32" else 1e-10  # NAdam's mu_product is float32 in both
    for p, q in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), tolerance, tolerance)
        assert list(mine.state[p]) == list(other.state[q])
        for key, value in mine.state[p].items():
            expected = other.state[q][key]
            assert value.dtype == str(expected.dtype).removeprefix("torch.")
            np.testing.assert_allclose(value.numpy(), expected.numpy(), tolerance, tolerance)
    assert list(mine.param_groups[0]) == list(other.param_groups[0])
    assert repr(mine) == repr(other)


@pytest.mark.parametrize("case", CASES, ids=name_of)
def test_a_state_goes_to_pytorch_and_comes_back(case):
    torch = pytest.importorskip("torch")
    ours = parameters()
    mine = run(case, ours, 5)
    theirs = [torch.nn.Parameter(torch.tensor(p.detach().numpy())) for p in ours]
    other = getattr(torch.optim, case[0])(theirs)
    other.load_state_dict(copied(torch, mine.state_dict()))
    back = getattr(optim, case[0])(
        twins := [genesis.nn.Parameter(p.detach().clone()) for p in ours]
    )
    back.load_state_dict(copied(genesis, other.state_dict()))
    assert back.state_dict()["param_groups"] == mine.state_dict()["param_groups"]
    rng = np.random.default_rng(2)
    for _ in range(5):
        set_gradients(ours, rng)
        for p, q, r in zip(ours, theirs, twins, strict=True):
            q.grad = torch.tensor(p.grad.numpy())
            r.grad = p.grad.clone()
        for optimizer in (mine, other, back):
            optimizer.step()
    for p, q, r in zip(ours, theirs, twins, strict=True):
        np.testing.assert_array_equal(p.detach().numpy(), r.detach().numpy())
        np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), 1e-6, 1e-6)


@ALL
def test_the_kernel_computes_the_formula(case):
    plain = parameters("float64")
    run(case, plain)
    recorded = [p.detach().clone() for p in parameters("float64")]
    with genesis.no_grad():
        run((case[0], {**case[1], "differentiable": True}), recorded)
    for p, q in zip(plain, recorded, strict=True):
        # The number that counts NAdam's momentum is kept in float32.
        np.testing.assert_allclose(p.detach().numpy(), q.numpy(), 1e-8, 1e-8)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("case", [c for c in [*CASES, *LION] if c[0] != "Rprop"], ids=name_of)
def test_half_precision_rounds_once(case, dtype):
    half = parameters(dtype)
    wide = [genesis.nn.Parameter(p.detach().float()) for p in half]
    run(case, half, 1)
    name, options = case
    optimizer = getattr(optim, name)(wide, **options)
    set_gradients(twins := parameters(dtype), np.random.default_rng(1))
    for p, q in zip(wide, twins, strict=True):
        p.grad = q.grad.float()
    optimizer.step()
    for p, q in zip(half, wide, strict=True):
        assert p.dtype == dtype
        np.testing.assert_array_equal(
            p.detach().float().numpy(), q.detach().to(p.dtype).float().numpy()
        )


@pytest.mark.parametrize("case", [*CASES, *LION], ids=name_of)
def test_any_layout_gives_the_same(case):
    def layouts(p):
        gaps = genesis.zeros(*p.shape[:-1], 2 * p.shape[-1])[..., ::2].copy_(p.detach())
        dense = p.detach().T.contiguous().T if p.ndim == 2 else p.detach().clone()
        return genesis.nn.Parameter(gaps), genesis.nn.Parameter(dense)

    plain = [p for p in parameters() if p.ndim > 0]
    variants = list(zip(*map(layouts, plain), strict=True))
    run(case, plain, 5)
    for params in variants:
        run(case, list(params), 5)
        for p, q in zip(params, plain, strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())


@ALL
def test_a_step_counts_as_a_write(case):
    (p, *_) = params = parameters()
    run(case, params, 1)
    y = (p * p).sum()
    run(case, params, 1)
    with pytest.raises(RuntimeError, match=r"\.step"):
        y.backward()


@pytest.mark.parametrize(
    "case", [("AdamW", {"amsgrad": True}), ("SGD", {"momentum": 0.9})], ids=name_of
)
def test_the_number_of_threads_does_not_matter(case):
    def trained():
        rng = np.random.default_rng(0)
        sizes = (3, 100_003, 1, 40_000, 5)
        params = [genesis.nn.Parameter(genesis.tensor(rng.normal(size=n))) for n in sizes]
        run(case, params, 3)
        return values(params)

    before = genesis.get_num_threads()
    try:
        genesis.set_num_threads(1)
        one = trained()
        genesis.set_num_threads(3)
        three = trained()
    finally:
        genesis.set_num_threads(before)
    for a, b in zip(one, three, strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("case", [c for c in CASES if c[0] != "Rprop"], ids=name_of)
def test_a_differentiable_step_has_gradients(case):
    rng = np.random.default_rng(0)
    start, first, second = (
        genesis.tensor(rng.normal(size=3) + 0.1, dtype=genesis.float64, requires_grad=True)
        for _ in range(3)
    )

    def after_two_steps(start, first, second):
        p = start.clone()
        optimizer = getattr(optim, case[0])([p], **case[1], differentiable=True)
        for g in (first, second):
            p.grad = g
            optimizer.step()
        return p

    # A step that divides by the gradient's size bends sharply.
    assert gradcheck(after_two_steps, (start, first, second), atol=1e-4, rtol=1e-2)
