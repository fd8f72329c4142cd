"""Half precision: every operator computes in float32 and rounds once, whatever way its loop takes."""

import genesis
import pytest

from tests.instruction_sets import NARROWER, run_tests

HALVES = [genesis.float16, genesis.bfloat16]
SHAPES = [(), (1,), (17,), (3, 5), (7, 100), (40, 47), (11, 300), (2, 3, 65), (0, 9), (33, 1025)]
BINARY = {
    "add": lambda a, b: a + b,
    "sub": lambda a, b: a - b,
    "mul": lambda a, b: a * b,
    "div": lambda a, b: a / b,
    "maximum": genesis.maximum,
    "minimum": genesis.minimum,
    "lt": lambda a, b: a < b,
    "ge": lambda a, b: a >= b,
    "eq": lambda a, b: a == b,
    "addcmul": lambda a, b: genesis.addcmul(a, b, a, value=0.3),
    "addcdiv": lambda a, b: genesis.addcdiv(a, a, b, value=0.3),
}
UNARY = {
    "neg": lambda x: -x,
    "abs": lambda x: x.abs(),
    "square": lambda x: x.square(),
    "power": lambda x: x**2,
    "relu": lambda x: x.relu(),
    "clamp": lambda x: x.clamp(-0.4, 0.7),
    "exp": lambda x: x.exp(),
    "scaled": lambda x: x * 0.1,
    "less a number": lambda x: 0.1 - x,
}
REDUCTIONS = {
    "sum": lambda x: x.sum(-1),
    "sum over rows": lambda x: x.sum(0),
    "amax": lambda x: x.amax(-1),
    "mean": lambda x: x.mean(),
}


def _operands(x):
    """Tensors that broadcast to x, laid out in every way."""
    yield "same", genesis.randn(x.shape).to(x.dtype)
    yield "one value", genesis.randn(()).to(x.dtype)
    if x.dim() >= 1:
        yield "repeated row", genesis.randn(x.shape[-1]).to(x.dtype)
        yield "every other", genesis.randn(*x.shape[:-1], 2 * x.shape[-1]).to(x.dtype)[..., ::2]
        yield "part of a row", genesis.randn(*x.shape[:-1], x.shape[-1] + 3).to(x.dtype)[..., 3:]
    if x.dim() >= 2:
        yield "one value per row", genesis.randn(*x.shape[:-1], 1).to(x.dtype)
        yield "transposed", genesis.randn(x.shape).to(x.dtype).mT.contiguous().mT
        yield "float32 row", genesis.randn(x.shape[-1])


def _exactly(result, wide):
    expected = wide.to(result.dtype)
    assert genesis.equal(result.nan_to_num(99), expected.nan_to_num(99))


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_rounds_once(dtype, shape):
    genesis.manual_seed(0)
    x = genesis.randn(shape).to(dtype)
    for f in UNARY.values():
        _exactly(f(x), f(x.float()))
    for _, y in _operands(x):
        for f in BINARY.values():
            _exactly(f(x, y), f(x.float(), y.float()))
            _exactly(f(y, x), f(y.float(), x.float()))
        if y.dtype == dtype:
            _exactly(x.clone().add_(y), x.float() + y.float())
            _exactly(
                genesis.zeros(2, *shape, dtype=dtype)[0].add_(y).mul_(x), y.float() * x.float()
            )


@pytest.mark.parametrize("dtype", HALVES, ids=str)
@pytest.mark.parametrize("shape", [s for s in SHAPES if 0 not in s and s], ids=str)
def test_reductions_accumulate_in_float32(dtype, shape):
    genesis.manual_seed(0)
    x = genesis.randn(shape).to(dtype)
    for laid_out in (x, x.mT.contiguous().mT if x.dim() > 1 else x[:]):
        for f in REDUCTIONS.values():
            expected = f(laid_out.double())
            error = (f(laid_out).double() - expected).abs().max().item()
            assert error <= genesis.finfo(dtype).eps * max(1.0, expected.abs().max().item())


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_special_values(dtype):
    x = genesis.tensor([0.0, -0.0, float("inf"), -float("inf"), float("nan"), 1e-7, 65504.0] * 5)
    x = x.to(dtype)
    for y in (x, x.flip(0), genesis.tensor(0.0, dtype=dtype)):
        for f in BINARY.values():
            _exactly(f(x, y), f(x.float(), y.float()))
    assert (1 / genesis.tensor([0.0, -0.0, 0.0], dtype=dtype).neg()).tolist()[1] == float("inf")
    assert (1 / genesis.tensor([-0.0] * 20, dtype=dtype).abs()).amin().item() == float("inf")


@pytest.mark.parametrize("dtype", HALVES, ids=str)
def test_every_value(dtype):
    x = genesis.arange(-(2**15), 2**15).to(genesis.int16).view(dtype)
    for number in (1.0, 1.5, 1 / 3, 1e30, -1e-30, -0.0, float("inf")):
        for name in ("mul", "add", "minimum"):
            result = BINARY[name](x, genesis.tensor(number))
            expected = BINARY[name](x.float(), genesis.tensor(number)).to(dtype)
            assert genesis.equal(result.view(genesis.int16), expected.view(genesis.int16))
    assert genesis.equal(x < 1.5, x.float() < 1.5)


@pytest.mark.parametrize("isa", NARROWER)
def test_narrower_instruction_sets(isa):
    run_tests(isa, __file__, "-k", "not instruction_sets")
