"""Attention and rotary position embedding."""

import numpy as np

from tests.ops.op import Op, Sample


def softmax(x):
    e = np.exp(x - x.max(-1, keepdims=True, initial=-np.inf))
    return e / e.sum(-1, keepdims=True)


def attention(
    q, k, v, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    if enable_gqa:
        k, v = (np.repeat(x, q.shape[-3] // x.shape[-3], -3) for x in (k, v))
    scores = q @ np.swapaxes(k, -2, -1) * (q.shape[-1] ** -0.5 if scale is None else scale)
    seen = np.ones(scores.shape, bool)
    if is_causal:
        seen = np.broadcast_to(np.tri(*scores.shape[-2:], dtype=bool), scores.shape)
    elif attn_mask is not None and attn_mask.dtype == bool:
        seen = np.broadcast_to(attn_mask, scores.shape)
    elif attn_mask is not None:
        scores = scores + attn_mask
        seen = np.broadcast_to(~np.isneginf(attn_mask), scores.shape)
    none = ~seen.any(-1, keepdims=True)  # such a query gets 0
    weights = softmax(np.where(seen | none, np.where(none, 0, scores), -np.inf))
    return np.where(none, 0, weights) @ v


def mha(q, k, v, size, heads, w, b, bias_k, bias_v, zero, p, w_out, b_out, training=True,
        key_padding_mask=None, need_weights=True, attn_mask=None, average_attn_weights=True):  # fmt: skip
    (n, batch, _), m = q.shape, k.shape[0]
    parts = zip((q, k, v), np.split(w, 3), np.split(b, 3), strict=True)
    q, k, v = (x @ wi.T + bi for x, wi, bi in parts)
    hidden = np.zeros((batch, heads, n, m), bool)
    if key_padding_mask is not None:
        hidden |= key_padding_mask[:, None, None]
    if attn_mask is not None:
        hidden |= attn_mask
    extra = (bias_k is not None) + zero
    hidden = np.concatenate((hidden, np.zeros((batch, heads, n, extra), bool)), -1)
    if bias_k is not None:
        k, v = (
            np.concatenate((x, np.tile(y, (1, batch, 1)))) for x, y in ((k, bias_k), (v, bias_v))
        )
    if zero:
        k, v = (np.concatenate((x, np.zeros((1, batch, size)))) for x in (k, v))
    q, k, v = (x.reshape(len(x), batch, heads, -1).transpose(1, 2, 0, 3) for x in (q, k, v))
    scores = q @ np.swapaxes(k, -2, -1) / np.sqrt(size // heads)
    weights = softmax(np.where(hidden, -np.inf, scores))
    out = (weights @ v).transpose(2, 0, 1, 3).reshape(n, batch, size) @ w_out.T + b_out
    return (out, weights.mean(1) if average_attn_weights else weights) if need_weights else out


def rotary(x, cos, sin, interleaved=False):
    pairs = cos.shape[-1]
    y = x.copy()
    first, second = (
        (slice(0, 2 * pairs, 2), slice(1, 2 * pairs, 2))
        if interleaved
        else (slice(0, pairs), slice(pairs, 2 * pairs))
    )
    y[..., first] = x[..., first] * cos - x[..., second] * sin
    y[..., second] = x[..., second] * cos + x[..., first] * sin
    return y


def _attention(rng):
    def three(q, k, v, *args, **kwargs):
        return Sample(*(rng.normal(size=s) for s in (q, k, v)), *args, **kwargs)

    seen = rng.random((2, 1, 4, 5)) > 0.4
    seen[1, 0, 2] = False  # a query without keys
    return [
        three((2, 2, 3, 4), (2, 2, 5, 4), (2, 2, 5, 3)),
        three((3, 2), (4, 2), (4, 1), scale=0.3),
        three((2, 4, 2), (2, 4, 2), (2, 4, 2), is_causal=True),
        three((2, 5, 2), (2, 3, 2), (2, 3, 2), is_causal=True),
        three((2, 3, 4, 2), (2, 3, 5, 2), (2, 3, 5, 2), seen),
        three((2, 2, 3, 2), (2, 2, 4, 2), (2, 2, 4, 2), rng.normal(size=(3, 4))),
        three((1, 4, 3, 2), (1, 2, 3, 2), (1, 2, 3, 2), enable_gqa=True, is_causal=True),
        three((2, 1, 3, 2), (1, 2, 3, 2), (2, 2, 3, 1)),  # broadcast
        three((1, 1, 2, 2, 2), (1, 1, 2, 3, 2), (1, 1, 2, 3, 2)),
        three((2, 0, 3), (2, 4, 3), (2, 4, 2)),
        three((2, 3, 3), (2, 0, 3), (2, 0, 2)),
    ]


def _heads(rng):
    def sample(n, m, bias=False, zero=False, **kwargs):
        size, extra = 4, [rng.normal(size=(1, 1, 4)) if bias else None for _ in range(2)]
        q, k, v = (rng.normal(size=(rows, 2, size)) for rows in (n, m, m))
        w, b = rng.normal(size=(12, size)), rng.normal(size=12)
        out = rng.normal(size=(4, 4)), rng.normal(size=4)
        return Sample(q, k, v, size, 2, w, b, *extra, zero, 0.0, *out, **kwargs)

    padding = np.array([[False, False, True], [False, False, False]])
    return [
        sample(2, 3),
        sample(2, 3, bias=True, zero=True, key_padding_mask=padding),
        sample(3, 3, attn_mask=~np.tri(3, dtype=bool), average_attn_weights=False),
    ]


def _angles(rng):
    made = []
    for shape, table in [
        ((2, 3, 6), (3, 3)),
        ((4,), (2,)),
        ((2, 2, 5), (2, 1, 2)),
        ((0, 3, 4), (3, 2)),
    ]:
        for interleaved in (False, True):
            angle = rng.uniform(-4, 4, table)
            made.append(Sample(rng.normal(size=shape), np.cos(angle), np.sin(angle), interleaved))
    return made


X = np.ones((2, 3))
OPS: list[Op] = [
    Op("nn.functional.scaled_dot_product_attention", attention, method=False, samples=_attention,
       rtol32=2e-5, called="scaled_dot_product_attention",
       raises=[((X, np.ones((2, 4)), X), {}, ValueError, "agree in the last dimension"),
               ((X, X, np.ones((3, 3))), {}, ValueError, "same number of rows"),
               ((X, X, X, np.ones((2, 2), bool)), {"is_causal": True}, ValueError, "exclude each other"),
               ((X, X, X, np.ones((3, 3), bool)), {}, ValueError, "do(es)? not broadcast"),
               ((X, X, X, np.ones((2, 2), int)), {}, TypeError, "must be bool or floating, got int64"),
               ((X, X, X), {"dropout_p": 1.5}, ValueError, "between 0 and 1"),
               ((X, X, X), {"enable_gqa": True}, ValueError, "needs a dimension of heads"),
               ((np.ones(3), X, X), {}, ValueError, "at least 2 dimensions")]),
    Op("nn.functional.multi_head_attention_forward", mha, method=False, samples=_heads, rtol32=2e-5,
       called="multi_head_attention_forward",
       raises=[((X, X[None], X, 3, 1, None, None, None, None, False, 0.0, X, None), {}, ValueError,
                "must all have 3 dimensions"),
               ((X, X, X, 3, 2, None, None, None, None, False, 0.0, X, None), {}, ValueError,
                "multiple of num_heads=2")]),
    Op("nn.functional.rotary_embedding", rotary, method=False, samples=_angles, fixed=(1, 2),
       called="rotary_embedding",
       raises=[((X, np.ones((2, 2)), np.ones((2, 2))), {}, ValueError, "turns 4 elements"),
               ((X, np.ones((2, 1)), np.ones((1, 1))), {}, ValueError, "one shape"),
               ((X, np.ones((3, 1)), np.ones((3, 1))), {}, ValueError, "do(es)? not broadcast")]),
]  # fmt: skip
