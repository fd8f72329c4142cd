"""Blocks of mixed precision: what is cast, what is cached, what gradients are like."""

import gc
import pickle
import subprocess
import sys
import threading
import time
import types
import weakref

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.nn import functional as F

LOW, WIDE = (
    [op["name"] for op in genesis._C.op_info() if op["autocast"] == policy]
    for policy in ("low", "wide")
)


@pytest.fixture
def x():
    return genesis.tensor(np.random.default_rng(0).normal(size=(3, 4)))


@pytest.mark.parametrize("dtype", [genesis.bfloat16, genesis.float16])
def test_products_are_low_and_sums_are_wide(x, dtype):
    w = genesis.ones(4, 4)
    half = x.to(dtype)
    low = {
        "matmul": lambda: x @ w,
        "method": lambda: x.matmul(w),
        "mm": lambda: genesis.mm(x, w),
        "bmm": lambda: genesis.bmm(x[None], w[None]),
        "addmm": lambda: genesis.addmm(genesis.ones(4), x, w),
        "linear": lambda: F.linear(x, w, genesis.ones(4)),
        "einsum": lambda: genesis.einsum("ij,jk->ik", x, w),
        "conv2d": lambda: F.conv2d(x[None, None], genesis.ones(1, 1, 2, 2)),
        "conv_transpose1d": lambda: F.conv_transpose1d(x[None], genesis.ones(3, 1, 2)),
        "mv": lambda: x.mv(genesis.ones(4)),
    }
    wide = {
        "sum": lambda: half.sum(),
        "mean": lambda: half.mean(0),
        "softmax": lambda: half.softmax(1),
        "log_softmax": lambda: F.log_softmax(half, 1),
        "norm": lambda: half.norm(),
        "exp": lambda: half.exp(),
        "cumsum": lambda: half.cumsum(0),
        "layer_norm": lambda: F.layer_norm(half, (4,)),
        "mse_loss": lambda: F.mse_loss(half, half),
        "cross_entropy": lambda: F.cross_entropy(half, genesis.tensor([0, 1, 2])),
        "linalg": lambda: genesis.linalg.vector_norm(half),
    }
    as_is = {
        "relu": (lambda: half.relu(), dtype),
        "add": (lambda: half + half, dtype),
        "promoted": (lambda: half + x, genesis.float32),
        "cat": (lambda: genesis.cat([half, x]), genesis.float32),
        "float": (lambda: x * 2, genesis.float32),
    }
    with genesis.autocast(dtype=dtype):
        for name, call in low.items():
            assert call().dtype == dtype, name
        for name, call in wide.items():
            assert call().dtype == genesis.float32, name
        for name, (call, expected) in as_is.items():
            assert call().dtype == expected, name
    assert (x @ w).dtype == genesis.float32
    assert half.sum().dtype == dtype


@pytest.mark.parametrize(
    "model",
    [
        lambda: nn.LSTM(4, 5),
        lambda: nn.GRU(4, 5, bidirectional=True),
        lambda: nn.MultiheadAttention(4, 2),
        lambda: nn.TransformerEncoderLayer(4, 2, 8, dropout=0.0),
        lambda: nn.Sequential(nn.Conv1d(3, 6, 3, padding=1), nn.BatchNorm1d(6), nn.ReLU()),
        lambda: nn.Bilinear(4, 4, 3),
    ],
)
def test_layers_train_in_mixed_precision(model):
    genesis.manual_seed(0)
    model = model()
    x = genesis.randn(2, 3, 4)
    two = isinstance(model, nn.Bilinear)
    three = isinstance(model, nn.MultiheadAttention)
    args = (x, x) if two else (x, x, x) if three else (x,)
    results = []
    for enabled in (True, False):
        model.zero_grad()
        with genesis.autocast(enabled=enabled):
            out = model(*args)
            out = out[0] if isinstance(out, tuple) else out
            loss = (out.float() ** 2).sum()
        loss.backward()
        results.append((loss.item(), [p.grad.float().numpy().copy() for p in model.parameters()]))
        assert all(p.grad.dtype == genesis.float32 for p in model.parameters())
    np.testing.assert_allclose(results[0][0], results[1][0], rtol=0.05)
    for a, b in zip(results[0][1], results[1][1], strict=True):
        np.testing.assert_allclose(a, b, rtol=0.2, atol=0.1)


def test_every_name_of_the_table_is_an_operator():
    for name in [*LOW, *WIDE]:
        assert hasattr(genesis._C, name) or hasattr(genesis.Tensor, name), name


def test_doubles_and_integers_stay_as_they_are():
    with genesis.autocast():
        wide = genesis.ones(2, 2, dtype=genesis.float64)
        assert (wide @ wide).dtype == genesis.float64
        assert genesis.ones(2, 2, dtype=genesis.int64).sum().dtype == genesis.int64


def test_a_given_out_is_respected(x):
    out = genesis.zeros(3, 4)
    with genesis.autocast():
        genesis.exp(x, out=out)
    np.testing.assert_allclose(out.numpy(), np.exp(x.numpy()), rtol=1e-6)


def test_gradients_have_the_dtype_of_their_leaves(x):
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    with genesis.autocast():
        y = model(x)
        loss = F.mse_loss(y, genesis.zeros(3, 2))
    assert (y.dtype, loss.dtype) == (genesis.bfloat16, genesis.float32)
    loss.backward()
    mixed = [p.grad.clone() for p in model.parameters()]
    model.zero_grad()
    F.mse_loss(model(x), genesis.zeros(3, 2)).backward()
    for p, g in zip(model.parameters(), mixed, strict=True):
        assert g.dtype == genesis.float32
        np.testing.assert_allclose(g.numpy(), p.grad.numpy(), rtol=0.1, atol=0.02)


def test_values_are_those_of_pytorch(x):
    torch = pytest.importorskip("torch")
    w = np.random.default_rng(1).normal(size=(5, 4)).astype("float32")
    ours, theirs = genesis.tensor(w, requires_grad=True), torch.tensor(w, requires_grad=True)
    with genesis.autocast():
        y = F.linear(x, ours)
    with torch.autocast("cpu"):
        z = torch.nn.functional.linear(torch.tensor(x.numpy()), theirs)
    np.testing.assert_allclose(y.detach().float().numpy(), z.detach().float().numpy(), rtol=1e-2)
    y.sum().backward()
    z.sum().backward()
    np.testing.assert_allclose(ours.grad.numpy(), theirs.grad.numpy(), rtol=1e-2)


def casts(root):
    """Distinct nodes that cast, behind a tensor."""
    found, todo, seen = 0, [root.grad_fn], set()
    while todo:
        node = todo.pop()
        if node is None or node in seen:
            continue
        seen.add(node)
        found += "To" in str(node)
        todo += [n for n, _ in node.next_functions]
    return found


def test_a_parameter_is_cast_once_in_a_block(x):
    w = nn.Parameter(genesis.ones(4, 4))
    with genesis.autocast():
        y = x @ w @ w @ w
    assert casts(y) == 1
    with genesis.autocast(cache_enabled=False):
        y = x @ w @ w @ w
    assert casts(y) == 3


def test_a_parameter_that_changed_is_cast_again():
    w = nn.Parameter(genesis.ones(2, 2))
    eye = genesis.eye(2)
    with genesis.autocast():
        first = eye @ w
        with genesis.no_grad():
            w.mul_(2)
        second = eye @ w
    assert first.sum().item() == 4.0
    assert second.sum().item() == 8.0


def test_a_cast_made_without_gradients_is_not_used_with_them():
    w = nn.Parameter(genesis.ones(2, 2))
    eye = genesis.eye(2)
    with genesis.autocast():
        with genesis.no_grad():
            assert not (eye @ w).requires_grad
        y = eye @ w
        assert y.requires_grad
    y.sum().backward()
    assert w.grad is not None


def test_two_backward_passes_may_share_a_cast():
    w = nn.Parameter(genesis.ones(2, 2))
    eye = genesis.eye(2)
    with genesis.autocast():
        (eye @ w).sum().backward()
        (eye @ w).sum().backward()
    assert w.grad.tolist() == [[2.0, 2.0], [2.0, 2.0]]


def test_the_cache_can_be_cleared_and_ends_with_the_block(x):
    w = nn.Parameter(genesis.ones(4, 4))
    with genesis.autocast():
        first = x @ w
        with genesis.autocast():
            second = x @ w
        genesis.clear_autocast_cache()
        third = x @ w
    with genesis.autocast():
        fourth = x @ w
    assert casts(first + second) == 1
    assert casts(first + third) == 2
    assert casts(third + fourth) == 2


def test_blocks_nest_and_threads_have_their_own(x):
    w = genesis.ones(4, 4)
    seen = []
    with genesis.autocast():
        with genesis.autocast(enabled=False):
            assert (x @ w).dtype == genesis.float32
            assert not genesis.is_autocast_enabled()
        with genesis.autocast(dtype=genesis.float16):
            assert (x @ w).dtype == genesis.float16
            assert genesis.get_autocast_dtype() == genesis.float16
        assert (x @ w).dtype == genesis.bfloat16
        thread = threading.Thread(target=lambda: seen.append((x @ w).dtype))
        thread.start()
        thread.join()
    assert seen == [genesis.float32]
    assert not genesis.is_autocast_enabled()


def test_a_block_ends_when_it_raises(x):
    with pytest.raises(ZeroDivisionError), genesis.autocast():
        1 / 0
    assert not genesis.is_autocast_enabled()


def test_autocast_decorates(x):
    @genesis.autocast(dtype=genesis.float16)
    def product(a, b):
        """A product."""
        return a @ b

    assert product(x, genesis.ones(4, 4)).dtype == genesis.float16
    assert product.__doc__ == "A product."


def test_the_default_dtype_can_be_set(x):
    genesis.set_autocast_dtype("cpu", genesis.float16)
    try:
        with genesis.autocast():
            assert (x @ x.T).dtype == genesis.float16
    finally:
        genesis.set_autocast_dtype("cpu", genesis.bfloat16)
    genesis.set_autocast_cache_enabled(False)
    try:
        assert not genesis.is_autocast_cache_enabled()
    finally:
        genesis.set_autocast_cache_enabled(True)


class Seen(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x, others=()):
        Seen.dtypes = [x.dtype, *(o.dtype for o in others), (x @ x.T).dtype]
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2, None


def test_functions_get_float32(x):
    half = x.bfloat16().requires_grad_()
    with genesis.autocast():
        y = Seen.apply(half, [half.detach(), x])
    assert Seen.dtypes == [genesis.float32] * 4
    assert y.dtype == genesis.float32
    y.sum().backward()
    assert half.grad.dtype == genesis.bfloat16


@pytest.fixture
def flag():
    genesis.enable_autocast = True
    yield
    genesis.enable_autocast = False


def test_the_flag_casts_everywhere(x, flag):
    w = genesis.nn.Parameter(genesis.ones(2, x.shape[1]))
    assert genesis.is_autocast_enabled()
    y = x @ w.T
    assert y.dtype == genesis.bfloat16
    assert genesis.nn.functional.linear(x, w).dtype == genesis.bfloat16
    loss = genesis.nn.functional.mse_loss(y, genesis.zeros(*y.shape))
    assert loss.dtype == genesis.float32
    loss.backward()
    assert w.grad.dtype == genesis.float32
    assert (x.double() @ x.double().T).dtype == genesis.float64
    dtypes = []
    thread = threading.Thread(target=lambda: dtypes.append((x @ x.T).dtype))
    thread.start()
    thread.join()
    assert dtypes == [genesis.bfloat16]
    genesis.enable_autocast = False
    assert (x @ x.T).dtype == genesis.float32
    assert not genesis.is_autocast_enabled()


def test_blocks_overrule_the_flag(x, flag):
    with genesis.autocast(enabled=False):
        assert not genesis.is_autocast_enabled()
        assert (x @ x.T).dtype == genesis.float32
        with genesis.autocast(dtype=genesis.float16):
            assert (x @ x.T).dtype == genesis.float16
    assert (x @ x.T).dtype == genesis.bfloat16
    with genesis.autocast(dtype=genesis.float16):
        genesis.enable_autocast = False
        assert (x @ x.T).dtype == genesis.float16
    assert (x @ x.T).dtype == genesis.float32


def test_the_flag_is_seen_as_a_truth_value(x):
    assert genesis.enable_autocast is False
    for value, dtype in ((1, genesis.bfloat16), (0, genesis.float32), (None, genesis.float32)):
        genesis.enable_autocast = value
        assert (x @ x.T).dtype == dtype
    genesis.enable_autocast = False


def test_the_package_remains_an_ordinary_module():
    assert isinstance(genesis, types.ModuleType)
    if type(genesis) is not types.ModuleType:  # cloudpickle has its own way for plain modules
        assert pickle.loads(pickle.dumps(genesis)) is genesis
    with pytest.raises(AttributeError, match="no_such_name"):
        genesis.no_such_name
    genesis.another_name = 1
    assert vars(genesis)["another_name"] == 1
    del genesis.another_name
    assert not hasattr(genesis, "another_name")


def test_the_flag_gives_functions_float32(x, flag):
    seen = []

    class Product(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            seen.append(x.dtype)
            ctx.save_for_backward(x)
            return x @ x.T

        @staticmethod
        def backward(ctx, g):
            (x,) = ctx.saved_tensors
            dx = (g + g.T) @ x
            seen.append(dx.dtype)
            return dx

    genesis.enable_autocast = False
    Seen.apply(x.bfloat16())
    assert Seen.dtypes[0] == genesis.bfloat16
    genesis.enable_autocast = True
    Seen.apply(x.bfloat16())
    assert Seen.dtypes[0] == genesis.float32
    half = x.bfloat16().requires_grad_()
    y = Product.apply(half)
    assert y.dtype == genesis.float32
    y.sum().backward()
    assert seen == [genesis.float32, genesis.float32]
    assert half.grad.dtype == genesis.bfloat16
    assert (x @ x.T).dtype == genesis.bfloat16


def test_custom_fwd_casts_inside_blocks_only(x):
    class Half(genesis.autograd.Function):
        @staticmethod
        @genesis.amp.custom_fwd(cast_inputs=genesis.float16)
        def forward(ctx, x):
            return x * 1

        @staticmethod
        @genesis.amp.custom_bwd
        def backward(ctx, g):
            assert not genesis.is_autocast_enabled()
            return g

    assert Half.apply(x).dtype == genesis.float32
    leaf = x.clone().requires_grad_()
    with genesis.autocast():
        y = Half.apply(leaf)
        assert y.dtype == genesis.float16
        y.sum().backward()
    assert leaf.grad.dtype == genesis.float32


def test_what_autocast_cannot_do_warns():
    with pytest.warns(UserWarning, match="'cuda' is not available"), genesis.autocast("cuda"):
        assert not genesis.is_autocast_enabled()
    with (
        pytest.warns(UserWarning, match="got genesis.float64"),
        genesis.autocast(dtype=genesis.float64),
    ):
        assert not genesis.is_autocast_enabled()
    with pytest.raises(TypeError, match="device_type must be a str"):
        genesis.autocast(genesis.float16)
    with pytest.raises(ValueError, match="must be 'cpu'"):
        genesis.set_autocast_dtype("cuda", genesis.float16)
    with pytest.raises(TypeError, match="bfloat16 or float16"):
        genesis.set_autocast_dtype("cpu", genesis.float32)


def test_casting_is_turned_on_and_off_without_a_block():
    def product():
        return genesis.mm(genesis.ones(2, 2), genesis.ones(2, 2)).dtype

    genesis.set_autocast_enabled("cpu", True)
    assert product() == genesis.get_autocast_cpu_dtype()
    assert genesis.is_autocast_cpu_enabled()
    with genesis.autocast("cpu", enabled=False):
        assert product() == genesis.float32
    genesis.set_autocast_cpu_enabled(False)
    assert product() == genesis.float32
    with genesis.autocast("cpu"):
        assert product() == genesis.bfloat16
    assert product() == genesis.float32


def test_a_block_undoes_what_is_set_inside_it(monkeypatch):
    with genesis.autocast("cpu"):
        genesis.set_autocast_enabled("cpu", False)
        assert not genesis.is_autocast_enabled()
        with genesis.autocast("cpu"):
            assert genesis.is_autocast_enabled()
        assert not genesis.is_autocast_enabled()
    assert not genesis.is_autocast_enabled()
    monkeypatch.setattr(genesis, "enable_autocast", True)
    assert genesis.is_autocast_enabled()
    with genesis.autocast("cpu", enabled=False):
        genesis.set_autocast_enabled("cpu", True)
        assert genesis.is_autocast_enabled()
    genesis.set_autocast_enabled("cpu", False)
    assert not genesis.is_autocast_enabled()
    genesis.set_autocast_enabled("cpu", True)
    monkeypatch.setattr(genesis, "enable_autocast", False)
    assert not genesis.is_autocast_enabled()


def test_a_program_may_end_inside_a_block():
    # The threads may still be ending when the interpreter does.
    code = (
        "import threading, genesis\n"
        "def enter():\n"
        "    genesis.autocast('cpu').__enter__()\n"
        "    p = genesis.nn.Parameter(genesis.ones(4, 4))\n"
        "    genesis.mm(p, p)\n"
        "threads = [threading.Thread(target=enter) for _ in range(16)]\n"
        "for thread in threads:\n"
        "    thread.start()\n"
        "for thread in threads:\n"
        "    thread.join()\n"
        "enter()\n"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0


def test_casts_of_a_thread_that_ended_inside_a_block_are_freed():
    parameters = []

    def enter():
        genesis.autocast("cpu").__enter__()
        p = genesis.nn.Parameter(genesis.ones(4, 4))
        genesis.mm(p, p)
        parameters.append(weakref.ref(p))

    thread = threading.Thread(target=enter)
    thread.start()
    thread.join()
    for _ in range(1000):  # the thread ends a moment after join() returns
        with genesis.autocast("cpu"):
            pass
        gc.collect()
        if parameters[0]() is None:
            break
        time.sleep(0.01)
    assert parameters[0]() is None


def test_an_unknown_device_type_raises():
    with pytest.raises(RuntimeError, match="zzz"):
        genesis.autocast("zzz")
    with pytest.raises(RuntimeError, match="zzz"):
        genesis.amp.is_autocast_available("zzz")
