"""Modules, optimizers and utilities of the original Genesis."""

import genesis
import numpy as np
import pytest
from genesis import nn


def values(x):
    return x.detach().numpy()


def close(x, y, atol=1e-5):
    np.testing.assert_allclose(
        *(values(v) if isinstance(v, genesis.Tensor) else v for v in (x, y)), atol=atol
    )


# ---- Module and Parameter -------------------------------------------------------------------


def test_parameter():
    from genesis.nn.modules.module import Parameter

    p = Parameter(np.ones((2, 2)), requires_grad=True)
    assert p.requires_grad and p.dtype == genesis.float32 and isinstance(p.to("cpu"), Parameter)
    assert not Parameter(np.arange(3), requires_grad=False).requires_grad
    with pytest.raises(TypeError, match="use x.float"):
        Parameter(np.arange(3))
    with pytest.raises(TypeError, match="must be a Tensor, got list"):
        Parameter([1.0])


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(2, 3)
        self.register_buffer("count", genesis.zeros(1), persistent=True)
        self.register_buffer("nothing", None)

    def forward(self, x):
        return self.layer(x) + self.count


def test_module():
    from genesis.nn.modules.module import Module

    net = Net()
    assert isinstance(net, Module) and net.nothing is None and "nothing" not in net.state_dict()
    assert len(list(net.parameters())) == 2 and net.num_parameters() == 9
    assert [n for n, _ in net.named_parameters(prefix="net", recurse=True)] == [
        "net.layer.weight", "net.layer.bias",
    ]  # fmt: skip
    assert list(net.named_parameters(recurse=False)) == []
    assert [n for n, _ in net.named_buffers(prefix="", recurse=True)] == ["count"]
    assert len(list(net.buffers())) == 1 and len(net.vars()) == 3
    assert [n for n, _ in net.named_modules(memo=None, prefix="net")] == ["net", "net.layer"]
    assert len(list(net.modules())) == 2
    state = {}
    assert net.state_dict(state, "net.") is state and "net.layer.weight" in state
    other = Net()
    other.load_state_dict(net.state_dict(), strict=True)
    x = genesis.ones(1, 2)
    close(other(x), net(x))
    assert not net.eval().training and net.train(mode=True).training and net.to("cpu") is net
    with pytest.raises(RuntimeError, match="not available"):
        net.cuda("cuda")
    with pytest.raises(NotImplementedError):
        nn.Module()(1)


def test_modules_take_arrays():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU())
    for dtype in ("float64", "float32"):
        close(net(np.ones((5, 2), dtype)), net(genesis.ones(5, 2)))
    assert net.double()(np.ones((5, 2))).dtype == genesis.float64
    conv = nn.Conv2d(1, 2, 3)
    close(conv(np.ones((1, 1, 4, 4))), conv(genesis.ones(1, 1, 4, 4)))
    assert nn.Embedding(4, 2)(np.array([1, 2])).shape == (2, 2)
    close(
        nn.LayerNorm(3)(np.arange(6.0).reshape(2, 3)),
        nn.LayerNorm(3)(genesis.arange(6.0).reshape(2, 3)),
    )
    with pytest.raises(TypeError, match=r"array.astype\('float32'\)"):
        nn.Linear(2, 3)(genesis.ones(5, 2).double())


# ---- layers -----------------------------------------------------------------------------------


def test_linear_flatten_embedding_dropout():
    from genesis.nn.modules import dropout, linear, rearrange, sparse

    layer = linear.Linear(2, 3, bias=True, device=None, dtype="float32")
    x = genesis.randn(4, 2)
    close(layer(x), values(x) @ values(layer.weight).T + values(layer.bias))
    assert rearrange.Flatten is nn.Flatten and nn.Flatten()(genesis.ones(2, 3, 4)).shape == (2, 12)
    table = sparse.Embedding(10, 4)
    close(table(genesis.tensor([[1, 2]])), values(table.weight)[[[1, 2]]])
    close(dropout.Dropout(p=0.5).eval()(x), x)


def test_losses():
    from genesis.nn.modules.loss import (
        BCELoss,
        BCEWithLogitsLoss,
        CrossEntropyLoss,
        L1Loss,
        MSELoss,
        SoftmaxLoss,
    )

    logits, y = genesis.randn(4, 3), genesis.tensor([0, 2, 1, 1])
    expected = CrossEntropyLoss(weight=None, ignore_index=-100, reduction="mean")(logits, y)
    close(SoftmaxLoss()(logits, y), expected)
    a, b = genesis.rand(3), genesis.rand(3)
    close(MSELoss(reduction="sum")(a, b), ((a - b) ** 2).sum())
    close(L1Loss(reduction="mean")(a, b), (a - b).abs().mean())
    close(
        BCELoss(weight=None, reduction="mean")(a, b),
        -(b * a.log() + (1 - b) * (1 - a).log()).mean(),
    )
    close(
        BCEWithLogitsLoss(weight=None, reduction="mean", pos_weight=None)(a, b),
        BCELoss()(a.sigmoid(), b),
    )


def test_norms():
    from genesis.nn.modules.normalization import FusedLayerNorm, LayerNorm, RMSNorm

    x = genesis.randn(6, 4)
    mean, std = x.mean(-1, keepdim=True), x.std(-1, keepdim=True, unbiased=False)
    for norm in (
        LayerNorm(dim=4, eps=1e-5, device=None, dtype="float32"), LayerNorm(4), FusedLayerNorm(4),
        FusedLayerNorm(dim=4, eps=1e-6),
    ):  # fmt: skip
        close(norm(x), (x - mean) / std, atol=1e-3)
    assert (
        RMSNorm(dim=4).eps == 1e-6
        and RMSNorm(4).eps is None
        and RMSNorm(dim=4, eps=1e-3).eps == 1e-3
    )
    close(RMSNorm(dim=4)(x), x / (x.square().mean(-1, keepdim=True) + 1e-6).sqrt())
    batch = nn.BatchNorm1d(dim=4, eps=1e-5, momentum=0.1, device=None, dtype="float32")
    close(batch(x), (x - x.mean(0)) / x.std(0, unbiased=False), atol=1e-3)
    with pytest.raises(TypeError, match="two names of one argument"):
        nn.LayerNorm(normalized_shape=4, dim=4)


def test_activations_and_containers():
    from genesis.nn.modules.activation import Residual, SiLU, Softmax
    from genesis.nn.modules.container import ModuleList, Sequential

    x = genesis.randn(2, 3)
    close(nn.ReLU()(x), x.clamp(min=0))
    close(Softmax(dim=-1)(x), x.softmax(-1))
    close(SiLU()(x), x * x.sigmoid())
    linear = nn.Linear(3, 3)
    residual = Residual(linear)
    close(residual(x), x + linear(x))
    assert len(list(residual.parameters())) == 2
    close(Sequential(linear, nn.ReLU())(x), linear(x).relu())
    modules = ModuleList(modules=[linear])
    modules.append(nn.ReLU()), modules.extend([nn.Linear(3, 1)])
    assert len(modules) == 3 and modules[2].out_features == 1
    assert next(n for n, _ in modules.named_parameters(prefix="m", recurse=True)) == "m.0.weight"


@pytest.mark.parametrize("heads", [1, 4])
def test_attention_of_one_argument(heads):
    torch = pytest.importorskip("torch")
    x = np.random.default_rng(0).standard_normal((2, 5, 8)).astype(np.float32)
    theirs = torch.nn.MultiheadAttention(8, heads, bias=False, batch_first=True)
    mask = torch.triu(torch.full((5, 5), -torch.inf), 1)
    expected, weights = theirs(*3 * [torch.tensor(x)], attn_mask=mask, average_attn_weights=False)
    for layer in (
        nn.MultiheadAttention(8, heads),
        nn.MultiheadAttention(dim=8, heads=heads, device=None, dtype="float32"),
        nn.FusedMultiheadAttention(dim=8, heads=heads),
    ):
        layer.w_qkv = nn.Parameter(theirs.in_proj_weight.detach().T.numpy())
        layer.w_out = nn.Parameter(theirs.out_proj.weight.detach().T.numpy())
        assert layer.w_qkv.shape == (8, 24) and layer.w_out.shape == (8, 8)
        ours, attention = layer(genesis.tensor(x))
        close(ours, expected.detach().numpy())
        if attention is not None:
            close(attention, weights.detach().numpy())
    assert len(list(nn.MultiheadAttention(dim=8, heads=2).parameters())) == 2
    assert nn.MultiheadAttention().embed_dim == 64
    with pytest.raises(TypeError, match="missing"):
        nn.MultiheadAttention(8, 2)(genesis.tensor(x), value=genesis.tensor(x))


def test_swiglu_and_fused_functions():
    from genesis.nn.attention import fused_attention, scaled_dot_product_attention
    from genesis.nn.layer_norm import fused_layer_norm
    from genesis.nn.modules.transformer import FeedFowardSwiGLU

    layer = FeedFowardSwiGLU(dim=4, hidden_dim=6).eval()
    x = genesis.randn(3, 4)
    close(layer(x), layer.down(layer.gate(x) * layer.gate(x).sigmoid() * layer.up(x)))
    q, k, v = (genesis.randn(1, 2, 5, 4) for _ in range(3))
    causal = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
    close(fused_attention(q, k, v), causal)
    close(nn.functional.fused_attention(q, k, v), causal)
    close(scaled_dot_product_attention(q, k, v), causal)
    close(
        scaled_dot_product_attention(q, k, v, is_causal=False),
        nn.functional.scaled_dot_product_attention(q, k, v),
    )
    w, b = genesis.randn(4), genesis.randn(4)
    close(fused_layer_norm(x, w, b, eps=1e-6), nn.functional.layer_norm(x, (4,), w, b, 1e-6))


def test_rotary_tables():
    rope = nn.RotaryEmbedding(8, 32)
    rates = 10000.0 ** -(np.arange(0, 8, 2) / 8)
    angles = np.outer(np.arange(32), np.concatenate([rates, rates]))
    close(rope.cos_cached, np.cos(angles)[None, None])
    close(rope.sin_cached, np.sin(angles)[None, None])
    x = genesis.ones(2, 3, 4, 5)
    cos, sin = rope(x)
    assert cos.shape == sin.shape == (1, 1, 32, 8)
    cos, sin = nn.RotaryEmbedding(8, max_position_embeddings=32, base=100)(x, seq_len=3)
    close(
        sin,
        np.sin(np.outer(np.arange(3), np.tile(100.0 ** -(np.arange(0, 8, 2) / 8), 2)))[None, None],
    )
    assert nn.RotaryEmbedding(8).cos_cached.shape == (1, 1, 2048, 8)
    with pytest.raises(ValueError, match="need dim"):
        nn.RotaryEmbedding().cos_cached


def test_dropout2d_of_a_matrix_warns():
    with pytest.warns(UserWarning, match="2-D input"):
        y = nn.functional.dropout2d(genesis.ones(2, 400), p=0.5)
    assert set(y.unique().tolist()) == {0, 2}
    with pytest.warns(UserWarning, match="2-D input"):
        nn.functional.dropout3d(genesis.ones(2, 4))
    with pytest.raises(ValueError, match="dropout2d"):
        nn.functional.dropout2d(genesis.ones(4))


# ---- optim, utils -----------------------------------------------------------------------------


def test_optimizers():
    from genesis.optim.adamw import AdamW
    from genesis.optim.optimizer import SGD, Adam, Optimizer

    p = nn.Parameter(genesis.ones(2))

    class Halve(Optimizer):
        def __init__(self, params):
            super().__init__(params)

        def step(self, closure=None):
            with genesis.no_grad():
                for q in self.params:
                    q.mul_(0.5)

    optimizer = Halve([p])
    optimizer.step()
    assert p.tolist() == [0.5, 0.5]
    p.sum().backward()
    optimizer.reset_grad()
    assert p.grad is None
    optimizer.load_state_dict(optimizer.state_dict())
    for made in (
        SGD([p], lr=0.01, momentum=0.9, weight_decay=0.1),
        Adam([p], lr=0.01, beta1=0.8, beta2=0.99, eps=1e-8, weight_decay=0.0),
        AdamW([p], lr=0.001, beta1=0.9, beta2=0.999, eps=1e-8, weight_decay=0.01, fused=True),
    ):
        p.sum().backward()
        before = p.tolist()
        made.step()
        made.zero_grad()
        assert p.tolist() != before and p.grad is None
    assert Adam([p], beta1=0.8).param_groups[0]["betas"] == (0.8, 0.999)
    with pytest.raises(TypeError, match="beta1"):
        Adam([p], beta1=0.8, betas=(0.9, 0.99))


def test_schedules(capsys):
    from genesis.optim.lr_scheduler import LambdaLR, get_cosine_schedule_with_warmup

    optimizer = genesis.optim.SGD([nn.Parameter(genesis.ones(1))], lr=1.0)
    schedule = LambdaLR(optimizer, lambda step: 1 / (1 + step), last_epoch=-1, verbose=True)
    optimizer.step(), schedule.step()
    assert schedule.get_last_lr() == [0.5] and "learning rates [0.5]" in capsys.readouterr().out
    assert "verbose" not in schedule.state_dict()
    schedule.load_state_dict(schedule.state_dict())
    optimizer = genesis.optim.SGD([nn.Parameter(genesis.ones(1))], lr=2.0)
    schedule = get_cosine_schedule_with_warmup(optimizer, num_warmup_steps=2, num_training_steps=6)
    seen = []
    for _ in range(7):
        seen += schedule.get_last_lr()
        optimizer.step(), schedule.step()
    expected = [0, 1, *(1 + np.cos(np.pi * np.arange(5) / 4))]
    np.testing.assert_allclose(seen, expected, atol=1e-12)


def test_data():
    from genesis.utils.data import DataLoader, Dataset, IterableDataset

    class Squares(Dataset):
        def __len__(self):
            return 5

        def __getitem__(self, i):
            return i * i

    class Stream(IterableDataset):
        def __iter__(self):
            return iter(range(3))

    batches = list(DataLoader(Squares(), batch_size=2, shuffle=False))
    assert [b.tolist() for b in batches] == [[0, 1], [4, 9], [16]]
    assert sorted(x.item() for x in DataLoader(Squares(), shuffle=True)) == [0, 1, 4, 9, 16]
    assert [x.item() for x in DataLoader(Stream())] == [0, 1, 2]


def test_profile(capsys):
    from genesis.utils.profile import print_profile_data, profile, profile_data, profile_method

    @profile
    def double(x):
        return 2 * x

    @profile
    class Thing:
        def method(self):
            return 3

    assert double(2) == 4 and double(3) == 6 and Thing().method() == 3
    assert profile_method(len.__call__)("abc") == 3 if hasattr(len.__call__, "__module__") else True
    print_profile_data()
    text = capsys.readouterr().out
    assert "double: 2 calls" in text and "Thing.method: 1 calls" in text
    with pytest.raises(TypeError, match="profile"):
        profile(3)
    profile_data.clear()  # so that nothing is printed when the tests end


def test_distributed():
    distributed = pytest.importorskip("genesis.distributed")
    from genesis.distributed.parallel import DistributedDataParallel
    from genesis.distributed.process_group import (
        barrier,
        destroy_process_group,
        get_local_rank,
        get_rank,
        get_world_size,
        init_process_group,
        is_initialized,
    )

    assert distributed and not is_initialized()
    init_process_group(backend="gloo", world_size=1, rank=0)
    try:
        assert is_initialized() and get_rank() == 0 and get_world_size() == 1
        assert get_local_rank() == 0
        barrier()
        model = DistributedDataParallel(nn.Linear(2, 3))
        assert model(genesis.ones(1, 2)).shape == (1, 3)
    finally:
        destroy_process_group()


def test_homes_of_classes():
    """Where the original's modules have them."""
    from genesis import nn
    from genesis.nn.modules.activation import ReLU
    from genesis.nn.modules.linear import Flatten
    from genesis.nn.modules.normalization import BatchNorm1d
    from genesis.nn.modules.sparse import RotaryEmbedding

    assert (Flatten, BatchNorm1d, ReLU) == (nn.Flatten, nn.BatchNorm1d, nn.ReLU)
    assert RotaryEmbedding is nn.RotaryEmbedding
    assert Flatten()(genesis.ones(2, 3, 4)).shape == (2, 12)


def test_names_of_arguments():
    import genesis.nn.functional as F
    from genesis.device import Device, device, set_default_device
    from genesis.random import get_rng_state, set_rng_state

    assert F.pow(a=genesis.tensor(3.0), b=2) == 9
    assert F.one_hot(indices=genesis.tensor([1]), num_classes=2).tolist() == [[0, 1]]
    set_rng_state(state=get_rng_state())
    assert device(device_input="cpu") == Device(device_str="cpu") == genesis.device("cpu")
    set_default_device(device_str="cpu")
    assert not hasattr(genesis.ones(1), "__cuda_array_interface__")
