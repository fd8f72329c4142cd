"""Every example of documents 000 and 001 that Genesis is specified by."""

import math

import genesis
import numpy as np
import pytest

from tests.spec.printed import out


def test_000_backward_print():
    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = (x**2).sum()
    y.backward()
    assert out(lambda: print(x.grad)) == "tensor([2., 4., 6.])"


def test_000_detach():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    y = x.detach()
    assert out(lambda: print(y.requires_grad)) == "False"


def test_000_retain_grad():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    y = x * 2
    y.retain_grad()
    z = y.sum()
    z.backward()
    assert out(lambda: print(y.grad)) == "tensor([1., 1.])"


def test_000_zero_grad_none():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    x.sum().backward()
    x.zero_grad()
    assert out(lambda: print(x.grad)) == "None"


def test_000_tensor_ctor():
    t = genesis.Tensor([[1.0, 2.0], [3.0, 4.0]], device=None, dtype=None, requires_grad=True)
    assert (
        t.shape == (2, 2)
        and t.ndim == 2
        and t.size == 4
        and t.requires_grad
        and t.is_leaf
        and t.grad_fn is None
        and t.grad is None
    )
    assert genesis.Tensor(np.zeros((2, 3), np.float32)).requires_grad is False
    assert str(t.device).startswith("cpu") and t.dtype == genesis.float32


def test_000_ops():
    a = np.array([[1.0, 2.0], [3.0, 4.0]], np.float32)
    b = a + 1
    x = genesis.tensor(a, requires_grad=True)
    y = genesis.tensor(b, requires_grad=True)
    for f, g in [
        (lambda p, q: p + q,) * 2,
        (lambda p, q: p - q,) * 2,
        (lambda p, q: p * q,) * 2,
        (lambda p, q: p / q,) * 2,
        (lambda p, q: p**q,) * 2,
        (lambda p, q: p @ q,) * 2,
    ]:
        np.testing.assert_allclose(f(x, y).detach().numpy(), g(a, b), rtol=1e-5)
    for n in ["abs", "exp", "log", "sqrt", "sin", "cos", "tanh"]:
        np.testing.assert_allclose(getattr(x, n)().detach().numpy(), getattr(np, n)(a), rtol=1e-5)
        getattr(x, n)().sum().backward()
    np.testing.assert_allclose((-x).detach().numpy(), -a)
    assert (
        float(x.sum()) == 10
        and float(x.mean()) == 2.5
        and float(x.max()) == 4
        and float(x.min()) == 1
    )
    assert (
        x.reshape((4,)).shape == (4,)
        and x.view((4,)).shape == (4,)
        and x.unsqueeze(0).shape == (1, 2, 2)
        and x.unsqueeze(0).squeeze().shape == (2, 2)
    )
    np.testing.assert_allclose(x.transpose((0, 1)).detach().numpy(), a.T)
    np.testing.assert_allclose(x.transpose(0, 1).detach().numpy(), a.T)


def test_000_custom_function_exp():
    from genesis import Function

    class Exp(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return genesis.tensor(x.data.exp(), requires_grad=x.requires_grad)

        @staticmethod
        def backward(ctx, grad_output):
            (x,) = ctx.saved_tensors
            return grad_output * x.exp()

    exp = Exp.apply
    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    y = exp(x)
    y.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.exp([1.0, 2.0, 3.0]), rtol=1e-5)
    assert not y.is_leaf and y.grad_fn is not None


@pytest.mark.filterwarnings("ignore::genesis.autograd.OutsideGraphWarning")
def test_000_no_grad_enable_grad():
    model = genesis.nn.Linear(3, 2)
    x = genesis.randn(4, 3)
    with genesis.no_grad():
        y = model(x)
        assert not y.requires_grad
        with genesis.enable_grad():
            z = y.sum()
            z.backward()  # must not raise (000/001 example)
    assert genesis.is_grad_enabled() if hasattr(genesis, "is_grad_enabled") else True


def test_000_set_grad_enabled():
    x = genesis.tensor([1.0], requires_grad=True)
    try:
        genesis.set_grad_enabled(False)
        y = x * 2
        assert not y.requires_grad
    finally:
        genesis.set_grad_enabled(True)
    assert (x * 2).requires_grad


def test_000_hook_print():
    got = []

    def print_grad(grad):
        print(f"Gradient: {grad}")
        got.append(grad)
        return grad

    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    x.register_hook(print_grad)
    y = (x**2).sum()
    s = out(y.backward)
    assert "Gradient: tensor([2., 4., 6.])" in s


def test_000_hook_replaces():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    x.register_hook(lambda g: g * 10)
    x.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), [10.0, 10.0])


def test_000_accumulate():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    x.sum().backward()
    assert out(lambda: print(x.grad)) == "tensor([1., 1.])"
    (x * 2).sum().backward()
    assert out(lambda: print(x.grad)) == "tensor([3., 3.])"
    x.grad = None
    assert x.grad is None


def test_000_running_mean():
    alpha = 0.9
    running_mean = genesis.zeros(3)
    batch_mean = genesis.randn(5, 3).mean(dim=0)
    running_mean = alpha * running_mean.detach() + (1 - alpha) * batch_mean
    assert running_mean.shape == (3,)


def test_000_clip_grad_norm_():
    m = genesis.nn.Linear(4, 4)
    (m(genesis.randn(8, 4) * 100) ** 2).sum().backward()
    genesis.nn.utils.clip_grad_norm_(m.parameters(), max_norm=1.0)
    n = math.sqrt(sum(float((p.grad**2).sum()) for p in m.parameters()))
    assert n <= 1.0 + 1e-3


def test_000_autocast():
    model = genesis.nn.Linear(4, 2)
    criterion = genesis.nn.MSELoss()
    old = genesis.enable_autocast
    try:
        genesis.enable_autocast = True
        with genesis.autocast():
            output = model(genesis.randn(3, 4))
            loss = criterion(output, genesis.zeros(3, 2))
        loss.backward()
        assert all(
            p.grad is not None and p.grad.dtype == genesis.float32 for p in model.parameters()
        )
    finally:
        genesis.enable_autocast = old


def test_000_training_loop():
    nn = genesis.nn

    class MyModel(nn.Module):
        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, 3)

        def forward(self, x):
            return self.l(x)

    model = MyModel()
    optimizer = genesis.optim.Adam(model.parameters())
    criterion = nn.CrossEntropyLoss()
    X = genesis.randn(16, 4)
    T = genesis.tensor(np.random.randint(0, 3, 16))
    ls = []
    for _epoch in range(20):
        outputs = model(X)
        loss = criterion(outputs, T)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        ls.append(loss.item())
    assert ls[-1] < ls[0]
    model.eval()
    with genesis.no_grad():
        assert model(X).shape == (16, 3)


def test_000_checkpoint():
    from genesis.utils.checkpoint import checkpoint

    l1, l2, l3 = (genesis.nn.Linear(4, 4) for _ in range(3))
    x = genesis.randn(2, 4, requires_grad=True)
    y = l3(checkpoint(l2, checkpoint(l1, x)))
    y.sum().backward()
    g = x.grad.numpy().copy()
    x.zero_grad()
    l3(l2(l1(x))).sum().backward()
    np.testing.assert_allclose(g, x.grad.numpy(), rtol=1e-5)
    assert l1.weight.grad is not None


def test_000_gradcheck_float32():
    from genesis.autograd import gradcheck

    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    assert gradcheck(lambda x: (x**2).sum(), x, eps=1e-6) is True


def test_000_grad_fn_print():
    x = genesis.tensor([1.0], requires_grad=True)
    y = x * 2 + 3
    assert out(lambda: print(y.grad_fn)) == "<AddBackward>"
    nf = y.grad_fn.next_functions
    assert len(nf) >= 1 and "Mul" in str(nf[0][0])


def test_000_inplace_add_():
    x = genesis.tensor([1.0, 2.0])
    x.add_(genesis.tensor([1.0, 1.0]))
    np.testing.assert_allclose(x.numpy(), [2.0, 3.0])


@pytest.mark.parametrize(
    "data,dt",
    [
        (42, "int64"),
        (3.14, "float32"),
        (True, "bool"),
        ([1, 2, 3], "int64"),
        ([1.0, 2.0, 3.0], "float32"),
        (np.array([1, 2]), "int64"),
        (np.array([1.0, 2.0]), "float32"),
        (np.array([1], np.int32), "int32"),
        (np.array([True]), "bool"),
    ],
)
def test_001_dtype_inference(data, dt):
    assert genesis.tensor(data).dtype == getattr(genesis, dt)


def test_001_explicit_dtype():
    assert genesis.tensor([1, 2, 3], dtype=genesis.float32).dtype == genesis.float32


def test_001_reductions():
    a = np.arange(6, dtype=np.float32).reshape(2, 3)
    x = genesis.tensor(a)
    np.testing.assert_allclose(x.sum(dim=0).numpy(), a.sum(0))
    assert x.sum(dim=1, keepdim=True).shape == (2, 1)
    np.testing.assert_allclose(x.mean(dim=0).numpy(), a.mean(0))
    assert x.mean(dim=1, keepdim=True).shape == (2, 1)
    m = x.max(dim=0)
    m = m if hasattr(m, "numpy") else m[0]
    np.testing.assert_allclose(m.numpy(), a.max(0))
    m = x.max(dim=1, keepdim=True)
    m = m if hasattr(m, "numpy") else m[0]
    assert m.shape == (2, 1)
    assert x.sum(axis=0, keepdims=True).shape == (1, 3) and x.mean(
        axis=1, keepdims=False
    ).shape == (2,)
