"""Every example of the five documents that Genesis is specified by (000 to 004).

Mojo's examples (003) are written in Python; those of GT (004) use `import genesis as gt`.
"""

import contextlib
import io
import math

import genesis
import genesis as gt
import numpy as np
import pytest


def out(f):
    b = io.StringIO()
    with contextlib.redirect_stdout(b):
        f()
    return b.getvalue().strip()


# ---------------- 000 / 001
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


# ---------------- 002
def test_002_attrs():
    x = genesis.randn(3, requires_grad=True)
    y = x * 2
    assert x.creator is None and y.creator is not None and x.data.requires_grad is False


def test_002_out_grad_kw():
    x = genesis.randn(3, requires_grad=True)
    y = x * 2
    y.backward(out_grad=genesis.tensor([1.0, 2.0, 3.0]))
    np.testing.assert_allclose(x.grad.numpy(), [2.0, 4.0, 6.0])


def test_002_matmul_basic():
    x = genesis.randn(3, 4, requires_grad=True)
    y = genesis.randn(4, 2, requires_grad=True)
    z = x @ y
    z.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.ones((3, 2)) @ y.detach().numpy().T, rtol=1e-5)
    assert y.grad.shape == (4, 2)


def test_002_matmul_function():
    class MatMul(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.save_for_backward(a, b)
            return a @ b

        @staticmethod
        def backward(ctx, grad_output):
            a, b = ctx.saved_tensors
            return grad_output @ b.T, a.T @ grad_output

    a = genesis.randn(3, 4, requires_grad=True)
    b = genesis.randn(4, 2, requires_grad=True)
    MatMul.apply(a, b).sum().backward()
    np.testing.assert_allclose(b.grad.numpy(), a.detach().numpy().T @ np.ones((3, 2)), rtol=1e-5)


def test_002_add_function_broadcast():
    class Add(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, a, b):
            ctx.a_shape = a.shape
            ctx.b_shape = b.shape
            return a + b

        @staticmethod
        def backward(ctx, grad_output):
            grad_a = grad_output
            grad_b = grad_output
            for i, (da, db) in enumerate(zip(ctx.a_shape, ctx.b_shape, strict=False)):
                if da == 1 and db > 1:
                    grad_a = grad_a.sum(axis=i, keepdims=True)
                elif db == 1 and da > 1:
                    grad_b = grad_b.sum(axis=i, keepdims=True)
            return grad_a, grad_b

    a = genesis.randn(3, 1, requires_grad=True)
    b = genesis.randn(1, 4, requires_grad=True)
    Add.apply(a, b).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.full((3, 1), 4.0))
    np.testing.assert_allclose(b.grad.numpy(), np.full((1, 4), 3.0))


def test_002_custom_quadratic():
    class CustomFunction(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, input_tensor):
            ctx.save_for_backward(input_tensor)
            return input_tensor**2 + 2 * input_tensor + 1

        @staticmethod
        def backward(ctx, grad_output):
            (input_tensor,) = ctx.saved_tensors
            return grad_output * (2 * input_tensor + 2)

    x = genesis.randn(3, 4, requires_grad=True)
    CustomFunction.apply(x).sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), 2 * x.detach().numpy() + 2, rtol=1e-5)


def test_002_tuple_out_idx():
    class Two(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, grad_output, out_idx=None):
            return grad_output * (2 if out_idx == 0 else 3)

    x = genesis.randn(3, requires_grad=True)
    a, b = Two.apply(x)
    (a.sum() + b.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 5.0))


def test_000_tuple_star_grads():
    class Two(genesis.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2, x * 3

        @staticmethod
        def backward(ctx, *grad_outputs):
            return grad_outputs[0] * 2 + grad_outputs[1] * 3

    x = genesis.randn(3, requires_grad=True)
    a, b = Two.apply(x)
    (a.sum() + b.sum()).backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(3, 5.0))


def test_002_function_list_arg():
    class Cat2(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, ts):
            return ts[0] + ts[1]

        @staticmethod
        def backward(ctx, g):
            return g, g

    a = genesis.randn(3, requires_grad=True)
    b = genesis.randn(3, requires_grad=True)
    Cat2.apply([a, b]).sum().backward()
    np.testing.assert_allclose(a.grad.numpy(), np.ones(3))
    np.testing.assert_allclose(b.grad.numpy(), np.ones(3))


def test_002_hooks_monitor_clip():
    seen = []

    def monitor_grad(grad):
        seen.append(f"{grad.mean():.4f} {grad.std():.4f}")

    def clip_grad(grad):
        grad.data.clamp_(-1.0, 1.0)

    x = genesis.randn(10, requires_grad=True)
    x.register_hook(monitor_grad)
    x.register_hook(clip_grad)
    (x**3).sum().backward()
    assert seen
    np.testing.assert_allclose(
        x.grad.numpy(), np.clip(3 * x.detach().numpy() ** 2, -1, 1), rtol=1e-5
    )


def test_002_hook_inplace_on_expanded_grad():
    x = genesis.randn(4, requires_grad=True)
    x.register_hook(lambda g: (g.clamp_(-0.5, 0.5), None)[1])
    x.sum().backward()
    np.testing.assert_allclose(x.grad.numpy(), np.full(4, 0.5))


def test_002_inplace_ops():
    x = genesis.ones(3)
    x += 1
    x *= 3
    np.testing.assert_allclose(x.numpy(), np.full(3, 6.0))


def test_002_views():
    x = genesis.zeros(2, 3)
    x.reshape(6).add_(1)
    np.testing.assert_allclose(x.numpy(), np.ones((2, 3)))


# ---------------- 003 (Mojo, transliterated)
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


# ---------------- 004 (GT)


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
