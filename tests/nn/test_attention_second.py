"""Derivatives of attention's gradients: by blocks, so that no matrix of all pairs exists."""

import genesis
import numpy as np
import pytest
from genesis.autograd import grad, gradcheck, gradgradcheck
from genesis.nn import functional as F


def openly(q, k, v, mask=None, causal=False, factors=None):
    """Attention in plain operations, which store the weights."""
    share = q.shape[1] // k.shape[1]
    k, v = (x.repeat_interleave(share, 1) if share > 1 else x for x in (k, v))
    scores = q @ k.mT * q.shape[-1] ** -0.5
    if causal:
        seen = genesis.ones(scores.shape[-2:], dtype=genesis.bool).tril()
        scores = scores.masked_fill(~seen, -float("inf"))
    if mask is not None and mask.dtype == genesis.bool:
        scores = scores.masked_fill(~mask, -float("inf"))
    elif mask is not None:
        scores = scores + mask
    weights = scores.softmax(-1)
    return (weights if factors is None else weights * factors) @ v


def leaves(rng, shapes, dtype=genesis.float64):
    return [genesis.tensor(rng.normal(size=s), dtype=dtype, requires_grad=True) for s in shapes]


def second(function, inputs, dout, cotangents):
    """First gradients, and the gradients of their products with cotangents."""
    first = grad(function(*inputs), inputs, dout, create_graph=True)
    return first, grad(first, [*inputs, dout], cotangents)


def compare(rng, ours, theirs, shapes, out_shape, dtype=genesis.float64, tolerance=1e-9):
    inputs = leaves(rng, shapes, dtype)
    (dout,) = leaves(rng, [out_shape], dtype)
    cotangents = [genesis.tensor(rng.normal(size=s), dtype=dtype) for s in shapes]
    for mine, wanted in zip(
        second(ours, inputs, dout, cotangents),
        second(theirs, inputs, dout, cotangents),
        strict=True,
    ):
        for a, b in zip(mine, wanted, strict=True):
            np.testing.assert_allclose(
                a.detach().numpy(), b.detach().numpy(), rtol=tolerance, atol=tolerance
            )


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize(
    ("heads", "key_heads", "n", "m", "d", "e"),
    [(1, 1, 5, 7, 3, 2), (2, 2, 75, 150, 8, 5), (4, 2, 40, 40, 8, 16), (9, 3, 130, 65, 4, 1)],
)
def test_second_derivatives_equal_those_of_plain_operations(
    heads, key_heads, n, m, d, e, causal, rng
):
    shapes = [(2, heads, n, d), (2, key_heads, m, d), (2, key_heads, m, e)]

    def ours(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, is_causal=causal, enable_gqa=True)

    def theirs(q, k, v):
        return openly(q, k, v, causal=causal)

    compare(rng, ours, theirs, shapes, (2, heads, n, e))
    compare(rng, ours, theirs, shapes, (2, heads, n, e), genesis.float32, 2e-4)


@pytest.mark.parametrize(
    "shape", [(2, 3, 70, 140), (70, 140), (3, 1, 140), (2, 1, 70, 1), (1, 140), (1,), (70, 1)]
)
def test_masks_that_require_grad(shape, rng):
    compare(
        rng,
        F.scaled_dot_product_attention,
        openly,
        [(2, 3, 70, 4), (2, 3, 140, 4), (2, 3, 140, 6), shape],
        (2, 3, 70, 6),
    )


def test_masks_of_several_batch_dimensions(rng):
    def flat(q, k, v, mask):
        parts = (
            x.expand(2, 3, 2, *x.shape[-2:]).reshape(6, 2, *x.shape[-2:]) for x in (q, k, v, mask)
        )
        return openly(*parts).reshape(2, 3, 2, 5, 4)

    for shape in [(5, 6), (2, 1, 1, 5, 6), (2, 1, 6), (1, 3, 2, 5, 1)]:
        compare(
            rng,
            F.scaled_dot_product_attention,
            flat,
            [(2, 3, 2, 5, 3), (2, 3, 2, 6, 3), (2, 3, 2, 6, 4), shape],
            (2, 3, 2, 5, 4),
        )


def test_bool_masks_and_queries_without_keys(rng):
    mask = genesis.tensor(rng.random((50, 150)) < 0.5)
    shapes = [(1, 2, 50, 4), (1, 2, 150, 4), (1, 2, 150, 4)]

    def ours(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask)

    compare(rng, ours, lambda q, k, v: openly(q, k, v, mask), shapes, (1, 2, 50, 4))
    mask[3] = False
    inputs = leaves(rng, shapes)
    (dout,) = leaves(rng, [(1, 2, 50, 4)])
    cotangents = [genesis.ones(s, dtype=genesis.float64) for s in shapes]
    for gradients in second(ours, inputs, dout, cotangents):
        assert all(np.isfinite(g.detach().numpy()).all() for g in gradients)
    dq, *_, ddout = gradients
    assert not dq[0, :, 3].any() and not ddout[0, :, 3].any()


def test_dropout_is_the_same_in_all_passes(rng):
    shapes = [(1, 2, 40, 4), (1, 2, 140, 4), (1, 2, 140, 4), (40, 140)]

    def ours(q, k, v, mask):
        genesis.manual_seed(3)
        return F.scaled_dot_product_attention(q, k, v, attn_mask=mask, dropout_p=0.3)

    genesis.manual_seed(3)
    same = (
        genesis.zeros(1, 2, 40, 4),
        genesis.zeros(1, 2, 140, 4),
        genesis.eye(140).expand(1, 2, 140, 140),
    )
    factors = F.scaled_dot_product_attention(*(x.double() for x in same), dropout_p=0.3) * 140
    assert 0.2 < (factors == 0).double().mean().item() < 0.4

    def theirs(q, k, v, mask):
        return openly(q, k, v, mask, factors=factors)

    compare(rng, ours, theirs, shapes, (1, 2, 40, 4))


@pytest.mark.parametrize("options", [{}, {"is_causal": True}, {"enable_gqa": True}])
def test_finite_differences(options, rng):
    key_heads = 1 if options.get("enable_gqa") else 2
    inputs = leaves(rng, [(1, 2, 4, 3), (1, key_heads, 5, 3), (1, key_heads, 5, 2)])

    def f(q, k, v):
        return F.scaled_dot_product_attention(q, k, v, **options)

    assert gradcheck(f, inputs)
    assert gradgradcheck(f, inputs)

    def third(q, k, v):  # the gradient of a gradient, whose gradients are checked
        (dq,) = grad(f(q, k, v).square().sum(), q, create_graph=True)
        return grad(dq.square().sum(), (q, k, v), create_graph=True)

    assert gradcheck(third, inputs)


def test_finite_differences_of_a_mask(rng):
    inputs = leaves(rng, [(1, 2, 4, 3), (1, 2, 5, 3), (1, 2, 5, 2), (2, 1, 5)])
    assert gradgradcheck(F.scaled_dot_product_attention, inputs)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision(dtype, rng):
    low = getattr(genesis, dtype)
    inputs = [x.detach().to(low).requires_grad_() for x in leaves(rng, [(1, 2, 40, 8)] * 3)]
    dout = genesis.tensor(rng.normal(size=(1, 2, 40, 8))).to(low).requires_grad_()
    cotangents = [genesis.tensor(rng.normal(size=(1, 2, 40, 8))).to(low) for _ in range(3)]
    mine = second(F.scaled_dot_product_attention, inputs, dout, cotangents)[1]
    exact = [x.detach().double().requires_grad_() for x in (*inputs, dout)]
    wanted = second(openly, exact[:3], exact[3], [c.double() for c in cotangents])[1]
    for a, b in zip(mine, wanted, strict=True):
        assert a.dtype == low
        scale = b.abs().max().item()
        np.testing.assert_allclose(a.double().numpy(), b.numpy(), atol=2e-2 * scale)


def test_any_number_of_threads_gives_the_same_bits(rng, num_threads):
    shapes = [(1, 2, 130, 8), (1, 2, 300, 8), (1, 2, 300, 8), (130, 300)]
    inputs = leaves(rng, shapes, genesis.float32)
    (dout,) = leaves(rng, [(1, 2, 130, 8)], genesis.float32)
    cotangents = [genesis.tensor(rng.normal(size=s), dtype=genesis.float32) for s in shapes]
    results = []
    for threads in (1, 2, 7):
        genesis.set_num_threads(threads)
        first, more = second(F.scaled_dot_product_attention, inputs, dout, cotangents)
        results.append([g.detach().numpy().tobytes() for g in (*first, *more)])
    assert results[0] == results[1] == results[2]


@pytest.mark.parametrize("order", [1, 2])
@pytest.mark.parametrize("masked", [False, True])
def test_memory_grows_with_the_length_not_its_square(order, masked, rng):
    def peak(length):
        inputs = leaves(rng, [(1, 2, length, 8)] * 3, genesis.float32)
        if masked:
            inputs.append(genesis.zeros(length, requires_grad=True))
        before = genesis.memory.allocated()
        genesis.memory.reset_peak()
        out = F.scaled_dot_product_attention(*inputs)
        first = grad(out.sum(), inputs, create_graph=order == 2)
        if order == 2:
            grad(sum(g.square().sum() for g in first), inputs)
        return genesis.memory.peak() - before

    short, long = peak(1024), peak(2048)
    assert long < 2.2 * short
    assert long < 2048 * 2048 * 4  # one matrix of one head


def test_same_as_torch(rng):
    torch = pytest.importorskip("torch")
    arrays = [rng.normal(size=s) for s in [(2, 2, 50, 4), (2, 2, 60, 4), (2, 2, 60, 4), (50, 60)]]
    results = []
    for module in (genesis, torch):
        q, k, v, mask = (module.tensor(a, dtype=module.float64, requires_grad=True) for a in arrays)
        attention = module.nn.functional.scaled_dot_product_attention
        if module is torch:
            with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.MATH):
                out = attention(q, k, v, attn_mask=mask)
        else:
            out = attention(q, k, v, attn_mask=mask)
        first = module.autograd.grad(out.square().sum(), (q, k, v, mask), create_graph=True)
        more = module.autograd.grad(sum((g**3).sum() for g in first), (q, k, v, mask))
        results.append([g.detach().numpy() for g in (*first, *more)])
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
