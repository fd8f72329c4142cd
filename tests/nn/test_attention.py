"""Attention: blocks, masks and dropout; MultiheadAttention and Transformer against PyTorch."""

import warnings

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn import functional as F

from tests.ops.table.attention import attention


def tensor(a, dtype=genesis.float64, **kwargs):
    return genesis.tensor(a, dtype=dtype, **kwargs)


def naive_gradients(q, k, v, dout, seen):
    scale = q.shape[-1] ** -0.5
    scores = np.where(seen, q @ k.swapaxes(-2, -1) * scale, -np.inf)
    w = np.exp(scores - scores.max(-1, keepdims=True))
    w /= w.sum(-1, keepdims=True)
    dw = dout @ v.swapaxes(-2, -1)
    ds = w * (dw - (w * dw).sum(-1, keepdims=True)) * scale
    return ds @ k, ds.swapaxes(-2, -1) @ q, w.swapaxes(-2, -1) @ dout


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    "heads, n, m, d, e",
    [
        (2, 64, 64, 32, 32),
        (1, 37, 65, 8, 24),
        (3, 200, 129, 17, 33),
        (9, 75, 75, 64, 64),
        (1, 300, 300, 5, 1),
        (5, 1, 513, 64, 64),
        (2, 4, 130, 17, 33),
        (1, 3, 2, 5, 1),
    ],
)
def test_several_blocks(heads, n, m, d, e, causal, rng):
    q, k, v, dout = (rng.normal(size=(1, heads, *s)) for s in ((n, d), (m, d), (m, e), (n, e)))
    seen = np.tri(n, m, dtype=bool) if causal else np.ones((n, m), bool)
    for dtype, tolerance in ((genesis.float64, 1e-9), (genesis.float32, 2e-4)):
        leaves = [tensor(a, dtype, requires_grad=True) for a in (q, k, v)]
        out = F.scaled_dot_product_attention(*leaves, is_causal=causal)
        np.testing.assert_allclose(
            out.detach().numpy(),
            attention(q, k, v, is_causal=causal),
            rtol=tolerance,
            atol=tolerance,
        )
        grads = genesis.autograd.grad(out, leaves, tensor(dout, dtype))
        for g, wanted in zip(grads, naive_gradients(q, k, v, dout, seen), strict=True):
            np.testing.assert_allclose(g.numpy(), wanted, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("n", [2, 70])
@pytest.mark.parametrize("kind", ["bool", "added", "rows", "strided"])
def test_masks_over_several_blocks(kind, n, rng):
    q, k, v = (rng.normal(size=(2, 2, s, 8)) for s in (n, 150, 150))
    mask = {
        "bool": rng.random((n, 150)) > 0.5,
        "added": np.where(
            rng.random((2, 1, n, 150)) > 0.5, rng.normal(size=(2, 1, n, 150)), -np.inf
        ),
        "rows": rng.random((2, 1, 1, 150)) > 0.9,
        "strided": rng.random((n, 300)) > 0.5,
    }[kind]
    given = genesis.tensor(mask) if mask.dtype == bool else tensor(mask)
    if kind == "strided":
        given, mask = given[:, ::2], mask[:, ::2]
    leaves = [tensor(a, requires_grad=True) for a in (q, k, v)]
    out = F.scaled_dot_product_attention(*leaves, given)
    np.testing.assert_allclose(
        out.detach().numpy(), attention(q, k, v, mask), rtol=1e-9, atol=1e-12
    )
    first = genesis.autograd.grad(out.square().sum(), leaves)
    out = F.scaled_dot_product_attention(*leaves, given)
    open_form = genesis.autograd.grad(out.square().sum(), leaves, create_graph=True)
    for a, b in zip(first, open_form, strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-11)


@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float16], ids=str)
@pytest.mark.parametrize("n", [1, 5])
def test_heads_side_by_side_in_memory(n, dtype, rng):
    """Rows of a head lie 1024 bytes apart, which is a stride that larger products copy away."""
    q, k, v = (genesis.tensor(rng.normal(size=(1, s, 8, 32))).to(dtype) for s in (n, 90, 90))
    out = F.scaled_dot_product_attention(*(x.transpose(1, 2) for x in (q, k, v)))
    wide = [x.transpose(1, 2).double().numpy() for x in (q, k, v)]
    np.testing.assert_allclose(out.double().numpy(), attention(*wide), rtol=2e-3, atol=2e-3)


def test_query_without_keys_gets_zero_and_no_gradient(rng):
    leaves = [tensor(rng.normal(size=(3, 4)), requires_grad=True) for _ in range(3)]
    seen = genesis.tensor([[True, False, True], [False, False, False], [True, True, True]])
    out = F.scaled_dot_product_attention(*leaves, seen)
    assert not out[1].any()
    out.sum().backward()
    assert not leaves[0].grad[1].any() and all(leaf.grad.isfinite().all() for leaf in leaves)


def test_dropout_is_repeated_in_the_backward_pass(rng):
    leaves = tuple(tensor(rng.normal(size=(2, s, 3)), requires_grad=True) for s in (5, 6, 6))

    def run(q, k, v):
        genesis.manual_seed(11)
        return F.scaled_dot_product_attention(q, k, v, dropout_p=0.4)

    assert gradcheck(run, leaves, order=2)
    first, second = run(*leaves), F.scaled_dot_product_attention(*leaves, dropout_p=0.4)
    assert not np.array_equal(first.detach().numpy(), second.detach().numpy())


def test_dropout_keeps_the_mean():
    genesis.manual_seed(2)
    x, ones = genesis.zeros(8, 200, 4), genesis.ones(8, 200, 4)
    out = F.scaled_dot_product_attention(x, x, ones, dropout_p=0.25)
    assert abs(out.mean().item() - 1) < 5e-3
    assert abs(out.std().item() - (0.25 / 0.75 / 200) ** 0.5) < 5e-3
    assert not F.scaled_dot_product_attention(x, x, ones, dropout_p=1.0).any()


def test_gradient_of_the_mask(rng):
    leaves = tuple(
        tensor(rng.normal(size=s), requires_grad=True)
        for s in ((2, 3, 2), (2, 4, 2), (2, 4, 2), (3, 4))
    )
    assert gradcheck(F.scaled_dot_product_attention, leaves, order=2)


def test_any_number_of_threads_gives_the_same_bits(rng, num_threads):
    for heads, kv_heads in ((1, 1), (12, 4)):
        arrays = [
            rng.normal(size=(1, h, 200, 40)).astype(np.float32) for h in (heads, kv_heads, kv_heads)
        ]
        results = []
        for threads in (1, 2, 7):
            genesis.set_num_threads(threads)
            genesis.manual_seed(0)
            leaves = [genesis.tensor(a, requires_grad=True) for a in arrays]
            out = F.scaled_dot_product_attention(
                *leaves, dropout_p=0.1, is_causal=True, enable_gqa=True
            )
            grads = genesis.autograd.grad(out.square().sum(), leaves)
            results.append([t.detach().numpy() for t in (out, *grads)])
        for other in results[1:]:
            assert all(np.array_equal(a, b) for a, b in zip(results[0], other, strict=True))


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_computes_in_float32(dtype, rng):
    half = getattr(genesis, dtype)
    leaves = [tensor(rng.normal(size=(2, 40, 8)), half, requires_grad=True) for _ in range(3)]
    wide = [leaf.detach().float().requires_grad_() for leaf in leaves]
    out, wanted = (F.scaled_dot_product_attention(*x, is_causal=True) for x in (leaves, wide))
    np.testing.assert_array_equal(
        out.float().detach().numpy(), wanted.to(half).float().detach().numpy()
    )
    grads, exact = (
        genesis.autograd.grad(y.float().sum(), x) for y, x in ((out, leaves), (wanted, wide))
    )
    for a, b in zip(grads, exact, strict=True):
        np.testing.assert_allclose(a.float().numpy(), b.numpy(), rtol=0.02, atol=0.02)


def test_heads_split_and_joined_by_transposes_need_no_copies(rng):
    qkv = tensor(rng.normal(size=(2, 5, 24)), requires_grad=True)
    q, k, v = (x.unflatten(-1, (2, 4)).transpose(1, 2) for x in qkv.chunk(3, -1))
    out = F.scaled_dot_product_attention(q, k, v)
    assert out.transpose(1, 2).is_contiguous()
    np.testing.assert_allclose(
        out.detach().numpy(), attention(*(x.detach().numpy() for x in (q, k, v))), rtol=1e-9
    )
    assert gradcheck(
        lambda *x: F.scaled_dot_product_attention(*x),
        (q.detach().requires_grad_(), k.detach().requires_grad_(), v.detach().requires_grad_()),
    )


MHA = [
    {}, {"bias": False}, {"batch_first": True}, {"add_bias_kv": True}, {"add_zero_attn": True},
    {"kdim": 3, "vdim": 5}, {"add_bias_kv": True, "add_zero_attn": True, "kdim": 8, "vdim": 6},
]  # fmt: skip


def pair(name, *args, **kwargs):
    """The same module here and in PyTorch, with the same weights, checked both ways."""
    torch = pytest.importorskip("torch")
    ours = getattr(nn, name)(*args, dtype=genesis.float64, **kwargs)
    theirs = getattr(torch.nn, name)(*args, dtype=torch.float64, **kwargs)
    assert repr(ours) == repr(theirs)
    assert {k: tuple(v.shape) for k, v in ours.state_dict().items()} == {
        k: tuple(v.shape) for k, v in theirs.state_dict().items()
    }
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in ours.state_dict().items()})
    ours.load_state_dict({k: tensor(v.numpy()) for k, v in theirs.state_dict().items()})
    return torch, ours, theirs


def compare(torch, ours, theirs, inputs, **masks):
    """Outputs and all gradients of the sum of squares of the first output."""
    a = [tensor(x, requires_grad=True) for x in inputs]
    b = [torch.tensor(x, requires_grad=True) for x in inputs]
    mine = {k: genesis.tensor(v) if isinstance(v, np.ndarray) else v for k, v in masks.items()}
    other = {k: torch.tensor(v) if isinstance(v, np.ndarray) else v for k, v in masks.items()}
    out, wanted = ours(*a, **mine), theirs(*b, **other)
    out, wanted = (x if isinstance(x, tuple) else (x,) for x in (out, wanted))
    for p, q in zip(out, wanted, strict=True):
        assert (p is None) == (q is None)
        if p is not None:
            np.testing.assert_allclose(
                p.detach().numpy(), q.detach().numpy(), rtol=1e-8, atol=1e-11
            )
    out[0].square().sum().backward()
    wanted[0].square().sum().backward()
    for p, q in zip((*a, *ours.parameters()), (*b, *theirs.parameters()), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-7, atol=1e-9)


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("options", MHA, ids=str)
def test_multihead_attention_same_as_torch(options, need_weights, rng):
    torch, ours, theirs = pair("MultiheadAttention", 8, 2, **options)
    sizes = (8, options.get("kdim", 8), options.get("vdim", 8))
    inputs = [rng.normal(size=(n, 3, s)) for n, s in zip((4, 5, 5), sizes, strict=True)]
    if options.get("batch_first"):
        inputs = [x.swapaxes(0, 1) for x in inputs]
    padding = np.zeros((3, 5), bool)
    padding[1, 3:] = True
    per_head = rng.random((6, 4, 5)) > 0.8
    per_head[:, :, 0] = False
    for masks in (
        {},
        {"key_padding_mask": padding},
        {"attn_mask": ~np.tri(4, 5, dtype=bool)},
        {"attn_mask": per_head, "key_padding_mask": padding, "average_attn_weights": False},
    ):
        ours.zero_grad()
        theirs.zero_grad()
        compare(torch, ours, theirs, inputs, need_weights=need_weights, **masks)


def test_multihead_attention_of_one_tensor_and_without_a_batch(rng):
    torch, ours, theirs = pair("MultiheadAttention", 6, 3)
    for shape in ((4, 2, 6), (4, 6)):
        x = rng.normal(size=shape)
        a, b = tensor(x), torch.tensor(x)
        for (p, w), (q, u) in [
            (ours(a, a, a), theirs(b, b, b)),
            (ours(a[:2], a, a), theirs(b[:2], b, b)),
        ]:
            np.testing.assert_allclose(p.detach().numpy(), q.detach().numpy(), rtol=1e-8)
            np.testing.assert_allclose(w.detach().numpy(), u.detach().numpy(), rtol=1e-8)


def test_multihead_attention_causal_hint(rng):
    layer = nn.MultiheadAttention(8, 2, dtype=genesis.float64)
    x = tensor(rng.normal(size=(5, 3, 8)))
    mask = nn.Transformer.generate_square_subsequent_mask(5, dtype=genesis.float64)
    a, b = (
        layer(x, x, x, attn_mask=mask, need_weights=False, is_causal=c)[0] for c in (False, True)
    )
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9)
    with pytest.raises(RuntimeError, match="hint about attn_mask, which is missing"):
        layer(x, x, x, is_causal=True)
    with pytest.raises(ValueError, match="attn_mask has shape"):
        layer(x, x, x, attn_mask=mask[:3])
    with pytest.raises(ValueError, match="key_padding_mask has shape"):
        layer(x, x, x, key_padding_mask=genesis.zeros(5, 3, dtype=genesis.bool))
    with pytest.raises(ValueError, match="multiple of num_heads"):
        nn.MultiheadAttention(8, 3)


LAYERS = [
    {}, {"norm_first": True}, {"activation": "gelu", "batch_first": True}, {"bias": False},
]  # fmt: skip


@pytest.mark.parametrize("options", LAYERS, ids=str)
def test_transformer_layers_same_as_torch(options, rng):
    src, tgt = rng.normal(size=(5, 5, 8)), rng.normal(size=(5, 5, 8))
    padding = np.zeros((5, 5), bool)
    padding[0, 3:] = True
    causal = ~np.tri(5, dtype=bool)
    found = pair("TransformerEncoderLayer", 8, 2, 12, dropout=0.0, **options)
    compare(*found, [src], src_mask=causal, src_key_padding_mask=padding)
    found = pair("TransformerDecoderLayer", 8, 2, 12, dropout=0.0, **options)
    compare(*found, [tgt, src], tgt_mask=causal, memory_key_padding_mask=padding)


@pytest.mark.parametrize("batch_first", [False, True])
def test_transformer_same_as_torch(batch_first, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's, of nested tensors
        found = pair("Transformer", 8, 2, 2, 2, 12, dropout=0.0, batch_first=batch_first)
        src, tgt = rng.normal(size=(4, 4, 8)), rng.normal(size=(4, 4, 8))
        causal = np.where(np.tri(4, dtype=bool), 0, -np.inf)
        compare(*found, [src, tgt], tgt_mask=causal)


def test_transformer_learns_to_copy():
    genesis.manual_seed(0)
    model = nn.TransformerEncoder(
        nn.TransformerEncoderLayer(16, 2, 32, dropout=0.0, batch_first=True), 1
    )
    embed, head = nn.Parameter(genesis.randn(6, 16)), nn.Linear(16, 6)
    params = [embed, *model.parameters(), *head.parameters()]
    ids = genesis.randint(0, 6, (16, 5))
    first = last = None
    for _ in range(40):
        loss = F.cross_entropy(head(model(embed[ids])).flatten(0, 1), ids.flatten())
        first, last = first or loss.item(), loss.item()
        grads = genesis.autograd.grad(loss, params)
        with genesis.no_grad():
            for p, g in zip(params, grads, strict=True):
                p -= 0.1 * g
    assert last < 0.2 * first


def test_rotary_products_depend_on_distance_only(rng):
    for options in ({}, {"interleaved": True}, {"dim": 4, "base": 100.0}):
        rotary = nn.RotaryEmbedding(**options)
        x = tensor(np.broadcast_to(rng.normal(size=8), (2, 9, 8)))
        scores = (rotary(x) @ rotary(x).mT)[0].numpy()
        for k in range(-8, 9):
            np.testing.assert_allclose(np.diagonal(scores, k), np.diagonal(scores, k)[0], rtol=1e-9)
        later = rotary(x[:, :3], offset=6).numpy()
        np.testing.assert_allclose(later, rotary(x).numpy()[:, 6:], rtol=1e-12)
        given = rotary(x, positions=genesis.arange(9)).numpy()
        np.testing.assert_allclose(given, rotary(x).numpy(), rtol=1e-12)
    assert list(rotary.state_dict()) == []
    assert gradcheck(rotary, tensor(rng.normal(size=(3, 6)), requires_grad=True), order=2)
    with pytest.raises(ValueError, match="odd number of features"):
        nn.RotaryEmbedding()(genesis.ones(3, 5))
    with pytest.raises(ValueError, match="positive and even, got 3"):
        nn.RotaryEmbedding(3)
