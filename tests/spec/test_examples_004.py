"""Every example of document 004 (GT), with `import genesis as gt`."""

import genesis as gt
import numpy as np
import pytest

from tests.spec.printed import out


def test_004_enable():
    a = gt.randn(10, 10, requires_grad=True)
    b = gt.from_numpy(np.random.randn(5, 5), requires_grad=True)
    assert a.requires_grad and b.requires_grad


def test_004_basic():
    x = gt.randn(10, 10, requires_grad=True)
    loss = (x * 2).sum()
    loss.backward()
    np.testing.assert_allclose(x.grad.data.numpy(), np.full((10, 10), 2.0))


def test_004_multi():
    a = gt.randn(100, 50, requires_grad=True)
    b = gt.randn(50, 20, requires_grad=True)
    (a @ b).relu().sum().backward()
    assert a.grad.data.numpy().shape == (100, 50) and b.grad.data.numpy().shape == (50, 20)


def test_004_mlp():
    from genesis.nn import SGD, Linear, Module

    class MLP(Module):
        def __init__(self):
            super().__init__()
            self.fc1 = Linear(784, 256)
            self.fc2 = Linear(256, 10)

        def forward(self, x):
            return self.fc2(self.fc1(x).relu())

    model = MLP()
    optimizer = SGD(model.parameters(), lr=0.01)
    X = gt.randn(64, 784)
    Y = gt.randn(64, 10)
    ls = []
    for epoch in range(20):
        pred = model(X)
        loss = ((pred - Y) ** 2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        ls.append(float(loss.data.numpy()))
        assert str(f"Epoch {epoch}, Loss: {loss.data.numpy()}")
    assert ls[-1] < ls[0]


def test_004_ops():
    a = gt.randn(3, 3, requires_grad=True)
    for y in [
        a + a,
        a - a,
        a * a,
        a / (a * a + 1),
        a**2,
        a @ a,
        a.T,
        a.relu(),
        a.sigmoid(),
        a.tanh(),
        a.sum(),
        a.sum(axis=0),
        a.mean(),
        a.mean(axis=1),
        a.exp(),
        (a * a + 1).log(),
    ]:
        y.sum().backward()


def test_004_broadcast():
    x = gt.randn(100, 1, requires_grad=True)
    y = gt.randn(1, 50, requires_grad=True)
    z = x + y
    assert z.shape == (100, 50)
    z.sum().backward()
    assert (
        out(lambda: print(x.grad.data.numpy().shape)) == "(100, 1)"
        and out(lambda: print(y.grad.data.numpy().shape)) == "(1, 50)"
    )


def test_004_linear_kwargs():
    from genesis.nn import Linear

    layer = Linear(input_size=784, output_size=256)
    assert layer(gt.randn(2, 784)).shape == (2, 256)
    assert len([p.data.numpy().shape for p in layer.parameters()]) == 2


def test_004_losses():
    from genesis.nn import binary_cross_entropy, cross_entropy_loss, mse_loss

    p = gt.randn(4, 3, requires_grad=True)
    mse_loss(p, gt.zeros(4, 3)).backward()
    cross_entropy_loss(p, gt.tensor([0, 1, 2, 0])).backward()
    one = np.eye(3, dtype=np.float32)[[0, 1, 2, 0]]
    np.testing.assert_allclose(
        float(cross_entropy_loss(p, gt.tensor(one))),
        float(cross_entropy_loss(p, gt.tensor([0, 1, 2, 0]))),
        rtol=1e-5,
    )
    binary_cross_entropy(p.sigmoid(), gt.ones(4, 3)).backward()


def test_004_sgd_momentum():
    from genesis.nn import SGD, Linear

    m = Linear(3, 1)
    o = SGD(m.parameters(), lr=0.01, momentum=0.9)
    (m(gt.randn(4, 3)) ** 2).mean().backward()
    o.step()
    o.zero_grad()


def test_004_manual_update():
    from genesis.nn import Linear

    model = Linear(3, 1)
    w = model.weight.data.numpy().copy()
    (model(gt.randn(4, 3)) ** 2).mean().backward()
    g = model.weight.grad.numpy().copy()
    for param in model.parameters():
        param -= 0.01 * param.grad
        param.grad.zero_()
    np.testing.assert_allclose(model.weight.data.numpy(), w - 0.01 * g, rtol=1e-5)
    assert (
        float(model.weight.grad.abs().sum()) == 0
        and model.weight.is_leaf
        and model.weight.requires_grad
    )
    (model(gt.randn(4, 3)) ** 2).mean().backward()


def test_004_print_tape():
    x = gt.randn(10, 10, requires_grad=True)
    y = x.relu().sum()
    s = out(gt.debug.print_tape)
    assert "relu" in s.lower() and "sum" in s.lower()
    y.backward()


def test_004_compare_torch():
    torch = pytest.importorskip("torch")
    data = np.random.randn(10, 10).astype(np.float32)
    a = torch.from_numpy(data.copy())
    a.requires_grad = True
    (a * 2).sum().backward()
    b = gt.from_numpy(data.copy(), requires_grad=True)
    (b * 2).sum().backward()
    assert np.allclose(a.grad.numpy(), b.grad.data.numpy())
