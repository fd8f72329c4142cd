"""Attention and rotary position embedding."""

from __future__ import annotations

import math

from genesis import _C
from genesis._C import Tensor, linear

__all__ = ["multi_head_attention_forward", "rotary_embedding", "scaled_dot_product_attention"]


def scaled_dot_product_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    """``softmax(scale * query @ key.mT + mask) @ value``, never storing the matrix of weights.

    A bool mask is true where a key takes part; any other is added to the scores. With
    ``is_causal``, query i sees keys 0..i. ``scale`` is ``1 / sqrt(dim)`` if not given. With
    ``enable_gqa``, each head (dimension -3) of key and value serves several heads of query. A query
    that sees no key at all gets 0.

    >>> q = genesis.zeros(2, 4)
    >>> v = genesis.tensor([[1.0, 3.0], [2.0, 5.0]])
    >>> scaled_dot_product_attention(q, q, v, is_causal=True)
    tensor([[1.0000, 3.0000],
            [1.5000, 4.0000]])
    """
    return _C._scaled_dot_product_attention(
        query, key, value, attn_mask, dropout_p, is_causal, scale, enable_gqa
    )


def rotary_embedding(input: Tensor, cos: Tensor, sin: Tensor, interleaved: bool = False) -> Tensor:
    """Turns pairs of elements of the last dimension by angles, so that products tell distances.

    ``cos`` and ``sin``, (..., pairs), broadcast with the other dimensions of ``input`` and have no
    gradient. Pair i is elements i and i + pairs, or 2i and 2i + 1 if ``interleaved``; elements
    behind the pairs stay. :class:`~genesis.nn.RotaryEmbedding` makes the angles from positions.

    >>> quarter = genesis.tensor([0.0]), genesis.tensor([1.0])
    >>> rotary_embedding(genesis.tensor([[1.0, 2.0, 3.0]]), *quarter)
    tensor([[-2.,  1.,  3.]])
    """
    return _C._rotary_embedding(input, cos, sin, interleaved)


def _added(name: str, mask: Tensor | None, dtype: _C.dtype) -> Tensor | None:
    """A mask that is added to scores: -inf where a bool mask is true."""
    if mask is None:
        return None
    if mask.dtype == _C.bool:
        return _C.zeros(mask.shape, dtype=dtype, device=mask.device).masked_fill(mask, -math.inf)
    if not mask.is_floating_point():
        raise TypeError(
            f"multi_head_attention_forward: {name} must be bool or floating, got {mask.dtype}"
        )
    return mask.to(dtype)


def _checked_mask(mask: Tensor | None, heads: int, shape: tuple[int, int, int]) -> Tensor | None:
    """(L, S) or (N * heads, L, S) as (1 or N, 1 or heads, L, S)."""
    if mask is None:
        return None
    batch, targets, sources = shape
    if tuple(mask.shape) == (targets, sources):
        return mask.reshape(1, 1, targets, sources)
    if tuple(mask.shape) == (batch * heads, targets, sources):
        return mask.reshape(batch, heads, targets, sources)
    raise _C.ShapeError(
        f"multi_head_attention_forward: attn_mask has shape {tuple(mask.shape)}, expected "
        f"{(targets, sources)} or {(batch * heads, targets, sources)}"
    )


def _widened(mask: Tensor | None, by: int) -> Tensor | None:
    """The mask with `by` more keys, which everybody may see."""
    if mask is None or by == 0:
        return mask
    return _C.cat((mask, mask.new_zeros((*mask.shape[:-1], by))), -1)


def _project(
    query: Tensor, key: Tensor, value: Tensor, weights: list[Tensor | None], bias: Tensor | None
) -> tuple[Tensor, ...]:
    """q, k and v, with one product for those that are computed from one tensor."""
    packed, *separate = weights
    size = query.shape[-1]
    if packed is None:
        biases = (None, None, None) if bias is None else bias.chunk(3)
        inputs = (query, key, value)
        return tuple(
            linear(x, w, b)
            for x, w, b in zip(inputs, separate, biases, strict=True)
            if w is not None
        )
    if key is value and query is key:
        return linear(query, packed, bias).chunk(3, -1)
    first, rest = packed.split((size, 2 * size))
    bias_first, bias_rest = (None, None) if bias is None else bias.split((size, 2 * size))
    q = linear(query, first, bias_first)
    if key is value:
        return (q, *linear(key, rest, bias_rest).chunk(2, -1))
    (k, v), (bias_k, bias_v) = (
        rest.chunk(2),
        (None, None) if bias_rest is None else bias_rest.chunk(2),
    )
    return q, linear(key, k, bias_k), linear(value, v, bias_v)


def multi_head_attention_forward(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: Tensor | None,
    in_proj_bias: Tensor | None,
    bias_k: Tensor | None,
    bias_v: Tensor | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: Tensor,
    out_proj_bias: Tensor | None,
    training: bool = True,
    key_padding_mask: Tensor | None = None,
    need_weights: bool = True,
    attn_mask: Tensor | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: Tensor | None = None,
    k_proj_weight: Tensor | None = None,
    v_proj_weight: Tensor | None = None,
    static_k: Tensor | None = None,
    static_v: Tensor | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
) -> tuple[Tensor, Tensor | None]:
    """Attention in several heads with projections before and after: see MultiheadAttention.

    query is (L, N, E), key and value are (S, N, ...); without a batch, (L, E) and (S, ...). Masks
    are true (or -inf) where a key may *not* be seen. ``is_causal`` is a hint that ``attn_mask`` is
    the causal mask. ``static_k`` and ``static_v``, (N * heads, S, head_dim), stand for the
    projected key and value.

    >>> x, eye = genesis.eye(2).unsqueeze(1), genesis.eye(2)
    >>> out, weights = multi_head_attention_forward(
    ...     x, x, x, 2, 1, genesis.cat((eye, eye, eye)), None, None, None, False, 0.0, eye, None
    ... )
    >>> weights
    tensor([[[0.6698, 0.3302],
             [0.3302, 0.6698]]])
    """
    if (query.ndim, key.ndim) not in ((2, 2), (3, 3)) or value.ndim != key.ndim:
        raise _C.ShapeError(
            "multi_head_attention_forward: query, key and value must all have 3 dimensions, or all "
            f"2 (no batch), got {query.ndim}, {key.ndim} and {value.ndim}"
        )
    batched = query.ndim == 3
    if not batched:
        same = query is key, key is value
        query = query.unsqueeze(1)
        key = query if same[0] else key.unsqueeze(1)
        value = key if same[1] else value.unsqueeze(1)
        if key_padding_mask is not None:
            key_padding_mask = key_padding_mask.unsqueeze(0)
    targets, batch, size = query.shape
    sources = key.shape[0]
    if size != embed_dim_to_check or size % num_heads != 0:
        raise _C.ShapeError(
            f"multi_head_attention_forward: query of shape {tuple(query.shape)} must have "
            f"{embed_dim_to_check} features, a multiple of num_heads={num_heads}"
        )
    if key.shape[:2] != value.shape[:2]:
        raise _C.ShapeError(
            f"multi_head_attention_forward: key {tuple(key.shape)} and value {tuple(value.shape)} "
            "must agree in their first two dimensions"
        )
    if is_causal and attn_mask is None:
        raise RuntimeError(
            "multi_head_attention_forward: is_causal is a hint about attn_mask, which is missing; "
            "pass Transformer.generate_square_subsequent_mask(length)"
        )
    causal = is_causal and key_padding_mask is None and not need_weights
    mask = _checked_mask(
        None if causal else _added("attn_mask", attn_mask, query.dtype),
        num_heads,
        (batch, targets, sources),
    )
    if key_padding_mask is not None:
        if tuple(key_padding_mask.shape) != (batch, sources):
            raise _C.ShapeError(
                "multi_head_attention_forward: key_padding_mask has shape "
                f"{tuple(key_padding_mask.shape)}, expected {(batch, sources)}"
            )
        padding = _added("key_padding_mask", key_padding_mask, query.dtype)
        assert padding is not None
        padding = padding.reshape(batch, 1, 1, sources)
        mask = padding if mask is None else mask + padding

    weights = [None, q_proj_weight, k_proj_weight, v_proj_weight]
    q, k, v = _project(
        query, key, value, weights if use_separate_proj_weight else [in_proj_weight], in_proj_bias
    )
    extra = 0
    if bias_k is not None and bias_v is not None:
        if static_k is not None or static_v is not None:
            raise ValueError("multi_head_attention_forward: no bias can be added to static k and v")
        k = _C.cat((k, bias_k.expand(1, batch, size)))
        v = _C.cat((v, bias_v.expand(1, batch, size)))
        extra += 1

    def heads(x: Tensor) -> Tensor:
        return x.unflatten(-1, (num_heads, -1)).permute(1, 2, 0, 3)

    q, k, v = heads(q), heads(k), heads(v)
    if static_k is not None:
        k = static_k.unflatten(0, (batch, num_heads))
    if static_v is not None:
        v = static_v.unflatten(0, (batch, num_heads))
    if add_zero_attn:
        k = _C.cat((k, k.new_zeros((batch, num_heads, 1, k.shape[-1]))), 2)
        v = _C.cat((v, v.new_zeros((batch, num_heads, 1, v.shape[-1]))), 2)
        extra += 1
    if extra and causal:
        causal = False
        mask = _checked_mask(
            _added("attn_mask", attn_mask, query.dtype), num_heads, (batch, targets, sources)
        )
    mask = _widened(mask, extra)
    dropout_p = dropout_p if training else 0.0

    shown: Tensor | None = None
    if need_weights:
        scores = (q * math.sqrt(1 / q.shape[-1])) @ k.mT
        shown = _C.softmax(scores if mask is None else scores + mask, -1)
        if dropout_p > 0:
            shown = _C.dropout(shown, dropout_p)
        out = shown @ v
        if average_attn_weights:
            shown = shown.mean(1)
        if not batched:
            shown = shown.squeeze(0)
    else:
        out = _C._scaled_dot_product_attention(q, k, v, mask, dropout_p, causal)
    out = linear(out.permute(2, 0, 1, 3).flatten(2), out_proj_weight, out_proj_bias)
    return out if batched else out.squeeze(1), shown
