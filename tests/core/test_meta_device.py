"""The meta device: tensors and modules with shapes but without memory."""

import copy
import pickle
import threading
import warnings

import genesis
import pytest
from genesis import nn


def test_no_memory_is_allocated():
    x = genesis.empty(1 << 20, 1 << 20, 1 << 10, device="meta")  # a petabyte
    y = (x @ genesis.ones(1 << 10, 7, device="meta")).relu()
    assert tuple(y.shape) == (1 << 20, 1 << 20, 7)
    assert y.is_meta and y.device == genesis.device("meta") and not y.is_cpu


def test_factories_and_default_device():
    for make in (
        lambda **k: genesis.zeros(2, 3, **k),
        lambda **k: genesis.ones((2, 3), **k),
        lambda **k: genesis.full((2, 3), 1.5, **k),
        lambda **k: genesis.randn(2, 3, **k),
        lambda **k: genesis.rand(2, 3, **k),
        lambda **k: genesis.arange(6.0, **k),
        lambda **k: genesis.linspace(0, 1, 4, **k),
        lambda **k: genesis.eye(3, **k),
        lambda **k: genesis.tensor([[1.0, 2.0]], **k),
        lambda **k: genesis.as_tensor([1, 2], **k),
        lambda **k: genesis.randint(0, 5, (2,), **k),
        lambda **k: genesis.randperm(5, **k),
        lambda **k: genesis.empty_strided((2, 3), (1, 2), **k),
        lambda **k: genesis.tril_indices(3, 3, **k),
    ):
        here = make()
        named = make(device="meta")
        with genesis.device("meta"):
            inside = make()
            with genesis.device("cpu"):
                assert not make().is_meta
            assert not make(device="cpu").is_meta
        assert not make().is_meta
        for t in (named, inside):
            assert t.is_meta
            assert (t.shape, t.dtype, t.stride()) == (here.shape, here.dtype, here.stride())


def test_set_default_device_is_of_a_thread():
    genesis.set_default_device("meta")
    try:
        assert genesis.get_default_device() == genesis.device("meta")
        assert genesis.ones(2).is_meta
        found = []
        thread = threading.Thread(target=lambda: found.append(genesis.ones(2).is_meta))
        thread.start()
        thread.join()
        assert found == [False]
        assert not genesis.ones(2, device="cpu").is_meta
    finally:
        genesis.set_default_device(None)
    assert not genesis.ones(2).is_meta


def test_like_follows_its_tensor():
    x = genesis.ones(2, 3, device="meta")
    assert genesis.zeros_like(x).is_meta
    assert x.new_zeros(4).is_meta
    assert not genesis.empty_like(x, device="cpu").is_meta
    assert genesis.zeros_like(genesis.ones(2), device="meta").is_meta


def test_what_needs_values_raises():
    x = genesis.ones(2, device="meta")
    one = genesis.ones((), device="meta")
    for read in (
        one.item, lambda: bool(one), lambda: float(one), lambda: int(one), x.tolist,
        x.nonzero, lambda: genesis.unique(x), lambda: x[x > 0], lambda: x.cpu(),
        lambda: x.to("cpu"), lambda: genesis.ones(2).copy_(x), lambda: genesis.equal(x, x),
        lambda: genesis.allclose(x, x), lambda: 1.0 in x, lambda: memoryview(x),
        lambda: genesis.masked_select(x, x > 0),
    ):  # fmt: skip
        with pytest.raises(NotImplementedError, match="meta"):
            read()
    with pytest.raises(TypeError, match="meta"):
        x.numpy()
    with pytest.raises(NotImplementedError, match="copy"):
        genesis.ones(2)[0:1] = x[0:1]


def test_devices_do_not_mix():
    x, y = genesis.ones(2, 2, device="meta"), genesis.ones(2, 2)
    for call in (
        lambda: x + y, lambda: y * x, lambda: x @ y, lambda: genesis.cat([x, y]),
        lambda: nn.functional.linear(y, x), lambda: x.add_(y), lambda: genesis.where(x > 0, x, y),
    ):  # fmt: skip
        with pytest.raises(RuntimeError, match="same device.*cpu and meta"):
            call()
    assert (x + genesis.tensor(2.0)).is_meta  # a number goes with tensors of any device
    assert (x * 2).is_meta
    assert x.copy_(y) is x
    x[0] = genesis.ones(2)
    assert x[genesis.tensor([0, 1, 1])].shape == (3, 2)
    with pytest.raises((RuntimeError, IndexError)):
        y[genesis.tensor([0, 1], device="meta")]


def test_printing():
    x = genesis.ones(2, 3, device="meta")
    assert repr(x) == "tensor(..., device='meta', size=(2, 3))"
    assert repr(x.long()) == "tensor(..., device='meta', size=(2, 3), dtype=genesis.int64)"
    assert "requires_grad=True" in repr(x.requires_grad_())
    assert "device='meta'" in repr(nn.Parameter(genesis.ones(1, device="meta")))


def test_views_share_their_storage():
    x = genesis.ones(4, 6, device="meta")
    y = x[1:, ::2].t()
    assert (y.shape, y.stride(), y.storage_offset()) == ((3, 3), (2, 6), 6)
    assert y._base is x
    version = x._version
    y.mul_(2)
    assert x._version == version + 1
    assert x.data_ptr() == 0
    assert x.untyped_storage().nbytes() == 96


def test_backward_and_optimizers():
    for make in (
        lambda p: genesis.optim.SGD(p, lr=0.1, momentum=0.9),
        lambda p: genesis.optim.Adam(p),
        lambda p: genesis.optim.AdamW(p),
        lambda p: genesis.optim.RMSprop(p),
        lambda p: genesis.optim.Adagrad(p),
    ):
        net = nn.Sequential(nn.Linear(3, 4), nn.LayerNorm(4), nn.GELU(), nn.Linear(4, 2)).to("meta")
        optimizer = make(net.parameters())
        for _ in range(2):
            loss = nn.functional.cross_entropy(
                net(genesis.ones(5, 3, device="meta")),
                genesis.ones(5, dtype=genesis.int64, device="meta"),
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        for p in net.parameters():
            assert p.is_meta and p.grad.is_meta and p.grad.shape == p.shape


def test_gradient_to_the_cpu_raises():
    x = genesis.ones(2, requires_grad=True)
    with pytest.raises(NotImplementedError, match="meta"):
        x.to("meta").sum().backward()


MODULES = [
    lambda **k: nn.Linear(3, 4, **k),
    lambda **k: nn.Bilinear(3, 4, 5, **k),
    lambda **k: nn.Conv2d(3, 4, 3, **k),
    lambda **k: nn.ConvTranspose1d(3, 4, 3, **k),
    lambda **k: nn.BatchNorm2d(4, **k),
    lambda **k: nn.InstanceNorm2d(4, affine=True, track_running_stats=True, **k),
    lambda **k: nn.LayerNorm(4, **k),
    lambda **k: nn.RMSNorm(4, **k),
    lambda **k: nn.GroupNorm(2, 4, **k),
    lambda **k: nn.Embedding(5, 4, padding_idx=0, **k),
    lambda **k: nn.EmbeddingBag(5, 4, **k),
    lambda **k: nn.LSTM(3, 4, 2, bidirectional=True, **k),
    lambda **k: nn.GRUCell(3, 4, **k),
    lambda **k: nn.MultiheadAttention(4, 2, **k),
    lambda **k: nn.TransformerEncoderLayer(4, 2, 8, **k),
    lambda **k: nn.TransformerDecoderLayer(4, 2, 8, **k),
    lambda **k: nn.Transformer(4, 2, 1, 1, 8, **k),
    lambda **k: nn.PReLU(**k),
]


@pytest.mark.parametrize("make", MODULES)
def test_modules(make):
    here = make()
    named = make(device="meta")
    with genesis.device("meta"):
        inside = make()
    moved = copy.deepcopy(here).to("meta")
    twin = copy.deepcopy(named)
    state = here.state_dict()
    for net in (named, inside, moved, twin):
        assert list(net.state_dict()) == list(state)
        for name, t in net.state_dict().items():
            assert t.is_meta and t.shape == state[name].shape and t.dtype == state[name].dtype
    with pytest.raises(NotImplementedError, match="to_empty"):
        named.to("cpu")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(UserWarning, match="assign=True"):
            inside.load_state_dict(state)
    inside.load_state_dict(state, assign=True)
    filled = named.to_empty(device="cpu")
    filled.load_state_dict(state)
    for net in (inside, filled):
        for name, t in net.state_dict().items():
            assert not t.is_meta and genesis.equal(t, state[name])


def test_init_does_nothing():
    w = genesis.empty(4, 5, device="meta")
    init = nn.init
    for fill in (
        init.uniform_, init.normal_, init.zeros_, init.ones_, init.xavier_uniform_,
        init.xavier_normal_, init.kaiming_uniform_, init.kaiming_normal_, init.trunc_normal_,
        init.orthogonal_, init.eye_, lambda t: init.constant_(t, 2.0),
        lambda t: init.sparse_(t, 0.5), lambda t: init.dirac_(t.reshape(4, 5, 1)),
    ):  # fmt: skip
        assert fill(w).is_meta


def test_pickle_and_deepcopy():
    x = genesis.ones(2, 3, device="meta", dtype=genesis.float64).t().requires_grad_()
    for protocol in (2, 4, 5):
        y = pickle.loads(pickle.dumps(x.detach().requires_grad_(), protocol))
        assert y.is_meta and y.requires_grad
        assert (y.shape, y.stride(), y.dtype) == (x.shape, x.stride(), x.dtype)
    p = pickle.loads(pickle.dumps(nn.Parameter(genesis.ones(2, device="meta"))))
    assert isinstance(p, nn.Parameter) and p.is_meta
    assert copy.deepcopy(nn.Linear(2, 2, device="meta")).weight.is_meta


def test_saving_raises(tmp_path):
    net = nn.Linear(2, 2, device="meta")
    with pytest.raises(NotImplementedError, match="meta"):
        genesis.save(net.state_dict(), tmp_path / "x.safetensors")
    with pytest.raises(NotImplementedError, match="meta"):
        genesis.save(net.state_dict(), tmp_path / "x.pt")
    assert not list(tmp_path.iterdir())


def test_data_can_be_set_across_devices():
    p = nn.Parameter(genesis.ones(2, device="meta"))
    p.data = genesis.zeros(2)
    assert not p.is_meta and p.tolist() == [0.0, 0.0]


def test_function_and_hooks_compute_on_the_cpu():
    class Double(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            assert not genesis.ones(2).is_meta
            assert (genesis.ones(2) + 1).tolist() == [2.0, 2.0]
            return g * 2

    x = genesis.ones(3, device="meta", requires_grad=True)
    x.register_hook(lambda g: (seen.append((genesis.ones(2) * 3).tolist()), g)[1])
    seen = []
    Double.apply(x).sum().backward()
    assert x.grad.is_meta and seen == [[3.0, 3.0]]
