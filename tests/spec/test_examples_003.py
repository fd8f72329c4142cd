"""Every example of document 003 (Mojo), written in Python."""

import genesis
import numpy as np
import pytest


def test_003_tape_context():
    from genesis.autograd import Tape

    tape = Tape()
    with tape:
        x = genesis.randn(10, 5)
        w = genesis.randn(5, 3)
        y = x @ w
        loss = y.sum()
    grads = tape.backward(loss)
    dx = grads.get(x)
    dw = grads.get(w)
    np.testing.assert_allclose(dx.numpy(), np.ones((10, 3)) @ w.numpy().T, rtol=1e-4)
    np.testing.assert_allclose(dw.numpy(), x.numpy().T @ np.ones((10, 3)), rtol=1e-4, atol=1e-5)


def test_003_tape_start_stop():
    from genesis.autograd import Tape

    tape = Tape()
    tape.start_recording()
    x = genesis.randn(10, 5)
    w = genesis.randn(5, 3)
    loss = (x @ w).sum()
    tape.stop_recording()
    assert tape.backward(loss).get(w).shape == (5, 3)


def test_003_train_step():
    from genesis.autograd import Tape

    softmax = genesis.nn.functional.softmax
    cross_entropy_loss = genesis.nn.cross_entropy_loss
    x = genesis.randn(32, 784)
    w = genesis.randn(784, 10)
    b = genesis.randn(10)
    targets = genesis.tensor(np.random.randint(0, 10, 32))
    tape = Tape()
    with tape:
        logits = x @ w + b
        probs = softmax(logits, dim=-1)
        loss = cross_entropy_loss(probs, targets)
    grads = tape.backward(loss)
    dw = grads.get(w)
    db = grads.get(b)
    w = w - 0.1 * dw
    b = b - 0.1 * db
    assert w.shape == (784, 10) and b.shape == (10,)


def test_003_grad_mode():
    from genesis.autograd import is_grad_enabled, no_grad, set_grad_enabled

    assert is_grad_enabled()
    with no_grad():
        assert not is_grad_enabled()
        p = genesis.randn(4, 3).argmax(dim=-1)
        assert p.shape == (4,)
    set_grad_enabled(False)
    assert not is_grad_enabled()
    set_grad_enabled(True)


def test_003_accumulation():
    from genesis.autograd import Tape, accumulate_gradients

    model = genesis.nn.Linear(4, 2)
    criterion = genesis.nn.MSELoss()
    opt = genesis.optim.SGD(model.parameters(), lr=0.1)
    tape = Tape()
    n = 4
    xs = [genesis.randn(8, 4) for _ in range(n)]
    ts = [genesis.randn(8, 2) for _ in range(n)]
    for i in range(n):
        with tape:
            output = model.forward(xs[i])
            loss = criterion.forward(output, ts[i])
            loss = loss / n
        grads = tape.backward(loss)
        accumulate_gradients(grads)
    g = model.weight.grad.numpy().copy()
    model.weight.grad = None
    model.bias.grad = None
    for i in range(n):
        (criterion(model(xs[i]), ts[i]) / n).backward()
    np.testing.assert_allclose(g, model.weight.grad.numpy(), rtol=1e-4, atol=1e-6)
    opt.step()
    opt.zero_grad()


def test_003_retain_graph():
    from genesis.autograd import Tape

    tape = Tape()
    with tape:
        x = genesis.randn(3)
        h = x * x
        loss1 = h.sum()
        loss2 = (h * 2).sum()
    g1 = tape.backward(loss1, retain_graph=True)
    g2 = tape.backward(loss2)
    np.testing.assert_allclose(g1.get(x).numpy(), 2 * x.numpy(), rtol=1e-5)
    np.testing.assert_allclose(g2.get(x).numpy(), 4 * x.numpy(), rtol=1e-5)
    with pytest.raises(RuntimeError):
        tape.backward(loss1)


def test_003_nan_inf():
    from genesis.autograd import Tape

    tape = Tape()
    with tape:
        x = genesis.tensor([0.0, 1.0])
        loss = x.log().sum() + x.sqrt().sum()
    grads = tape.backward(loss)
    found = False
    for _tensor_id, grad in grads.items():
        if grad.has_nan() or grad.has_inf():
            found = True
    assert found


def test_003_checkpoint():
    from genesis.autograd import checkpoint

    x = genesis.randn(4, 4, requires_grad=True)
    checkpoint(lambda t: (t @ t).relu(), x).sum().backward()
    assert x.grad.shape == (4, 4)


def test_003_clip():
    from genesis.nn.utils import clip_grad_norm, clip_grad_value

    m = genesis.nn.Linear(3, 3)
    (m(genesis.randn(5, 3)) ** 2).sum().backward()
    clip_grad_norm(m.parameters(), max_norm=1.0)
    clip_grad_value(m.parameters(), clip_value=0.5)
    assert all(float(p.grad.abs().max()) <= 0.5 for p in m.parameters())


def test_003_supported_ops():
    nn = genesis.nn
    F = nn.functional
    x = genesis.randn(2, 3, 8, 8, requires_grad=True)
    for a in ["relu", "leaky_relu", "elu", "gelu", "sigmoid", "tanh"]:
        getattr(F, a)(x).sum().backward()
    F.softmax(x, dim=-1).sum().backward()
    F.log_softmax(x, dim=-1).sum().backward()
    for layer in [
        nn.Conv2d(3, 4, 3),
        nn.BatchNorm2d(3),
        nn.MaxPool2d(2),
        nn.AvgPool2d(2),
        nn.Dropout(0.5),
    ]:
        layer(x).sum().backward()
    a = genesis.randn(5, requires_grad=True)
    b = genesis.randn(5, requires_grad=True)
    genesis.dot(a, b).backward()
    np.testing.assert_allclose(a.grad.numpy(), b.detach().numpy(), rtol=1e-6)
    nn.BCELoss()(F.sigmoid(a), genesis.ones(5)).backward()
    nn.MSELoss()(a, b).backward()


def test_003_penalty_double_backward():
    x = genesis.randn(3, requires_grad=True)
    y = (x**3).sum()
    (g,) = genesis.autograd.grad(y, x, create_graph=True)
    (g**2).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 36 * x.detach().numpy() ** 3, rtol=1e-3, atol=1e-4)
