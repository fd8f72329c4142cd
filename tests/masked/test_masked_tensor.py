"""MaskedTensor: elementwise operators keep the mask, reductions count what is specified."""

import genesis
import numpy as np
import pytest
from genesis.masked import MaskedTensor, as_masked_tensor, is_masked_tensor, masked_tensor

RNG = np.random.default_rng(0)
DATA = RNG.normal(size=(3, 4)).astype(np.float32)
MASK = RNG.random((3, 4)) > 0.4
MASK[1] = False


def make(module=genesis, requires_grad=False):
    return module.masked.masked_tensor(
        module.tensor(DATA), module.tensor(MASK), requires_grad=requires_grad
    )


CALLS = {
    "add": lambda m, x: x + x,
    "scaled": lambda m, x: x * 2,
    "with a plain tensor": lambda m, x: x / m.tensor(DATA + 3),
    "sin": lambda m, x: x.sin(),
    "exp": lambda m, x: m.exp(x),
    "neg": lambda m, x: -x,
    "less": lambda m, x: x < 0.1,
    "power": lambda m, x: x**2,
    "maximum": lambda m, x: m.maximum(x, x * 2),
    "clamp": lambda m, x: x.clamp(0, 1),
    "sum": lambda m, x: x.sum(),
    "sum along": lambda m, x: x.sum(0),
    "sum kept": lambda m, x: m.sum(x, 1, keepdim=True),
    "mean": lambda m, x: x.mean(),
    "mean along": lambda m, x: x.mean(0),
    "amax": lambda m, x: x.amax(0),
    "amin": lambda m, x: m.amin(x, 1),
    "prod": lambda m, x: x.prod(0),
    "argmax": lambda m, x: x.argmax(0),
    "argmin": lambda m, x: m.argmin(x, dim=0),
    "var": lambda m, x: x.var(0),
    "std": lambda m, x: x.std(0),
    "all": lambda m, x: (x < 5).all(),
    "softmax": lambda m, x: m.softmax(x, 0),
    "transpose": lambda m, x: x.transpose(0, 1),
    "row": lambda m, x: x[0],
    "slice": lambda m, x: x[:, 1:3],
    "view": lambda m, x: x.view(4, 3),
    "unsqueeze": lambda m, x: x.unsqueeze(0).expand(2, 3, 4),
    "stack": lambda m, x: m.stack([x, x]),
    "cat": lambda m, x: m.cat([x, x]),
    "split": lambda m, x: x.split(2, 1)[0],
    "where": lambda m, x: m.where(m.tensor(DATA > 0), x, x * 2),
    "to": lambda m, x: x.to(m.float64),
    "in place": lambda m, x: x.add_(1),
    "mul_": lambda m, x: x.mul_(x),
}
GRADIENTS = {
    "sum": lambda m, x: x.sum(),
    "mean": lambda m, x: (x * x).mean(),
    "exp": lambda m, x: x.exp().sum(),
    "amax": lambda m, x: x.amax(0).sum(),
    "softmax": lambda m, x: (m.softmax(x, 0) * x).sum(),
    "slice": lambda m, x: x[:, 1:].mean(),
}


def check(ours, theirs):
    mask = theirs.get_mask().numpy()
    np.testing.assert_array_equal(ours.get_mask().numpy(), mask)
    assert str(ours.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1]
    a, b = ours.get_data().detach().numpy(), theirs.get_data().detach().numpy()
    np.testing.assert_allclose(np.where(mask, a, 0), np.where(mask, b, 0), rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", CALLS)
def test_against_pytorch(name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.masked")
    ours = CALLS[name](genesis, make())
    assert isinstance(ours, MaskedTensor)
    check(ours, CALLS[name](torch, make(torch)))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", GRADIENTS)
def test_gradients_against_pytorch(name):
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.masked")
    leaves = [make(m, requires_grad=True) for m in (genesis, torch)]
    for m, x in zip((genesis, torch), leaves, strict=True):
        GRADIENTS[name](m, x).backward()
    if name != "slice":  # of which PyTorch's gradient masks the rest
        check(leaves[0].grad, leaves[1].grad)
    plain = genesis.tensor(DATA, requires_grad=True)
    GRADIENTS[name](genesis, as_masked_tensor(plain, genesis.tensor(MASK))).backward()
    want = leaves[1].grad.to_tensor(0).numpy()
    np.testing.assert_allclose(plain.grad.numpy(), want, rtol=1e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore")
def test_text():
    torch = pytest.importorskip("torch")
    pytest.importorskip("torch.masked")
    for pick in (lambda x: x, lambda x: x[0], lambda x: x.sum(), lambda x: x[1].sum()):
        assert repr(pick(make())) == repr(pick(make(torch)))
    whole = [
        m.masked.masked_tensor(m.arange(3), m.tensor([True, False, True])) for m in (genesis, torch)
    ]
    assert repr(whole[0]) == repr(whole[1])


def test_parts():
    x = make()
    assert is_masked_tensor(x)
    assert not is_masked_tensor(x.get_data())
    assert type(x.get_data()) is genesis.Tensor
    np.testing.assert_array_equal(x.to_tensor(7).numpy(), np.where(MASK, DATA, 7))
    assert x.shape == (3, 4)
    assert x.sum().item() == pytest.approx(DATA[MASK].sum(), rel=1e-5)


def test_errors():
    x = make()
    with pytest.raises(ValueError, match="add: the masks of the operands must be equal"):
        x + masked_tensor(genesis.tensor(DATA), genesis.tensor(~MASK))
    with pytest.raises(TypeError, match="data must be a Tensor, got list"):
        masked_tensor([1.0], genesis.tensor([True]))
    with pytest.raises(TypeError, match="mask must have dtype bool, got"):
        masked_tensor(genesis.tensor(DATA), genesis.tensor(DATA))
    with pytest.raises(ValueError, match=r"same shape, got \(3, 4\) and \(4,\)"):
        masked_tensor(genesis.tensor(DATA), genesis.tensor(MASK[0]))
    with pytest.raises(TypeError, match=r"not defined for a MaskedTensor; .* to_tensor\(value\)"):
        x @ x.t()
