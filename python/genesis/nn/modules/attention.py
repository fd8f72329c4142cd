"""Attention in several heads, and rotary position embedding."""

from __future__ import annotations

import functools
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules._aliases import also_called
from genesis.nn.modules.linear import Linear
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["FusedMultiheadAttention", "MultiheadAttention", "RotaryEmbedding"]


class NonDynamicallyQuantizableLinear(Linear):
    """The output projection of MultiheadAttention, under the name that PyTorch shows."""


def _alone_to_itself(forward: Any) -> Any:
    """Decorates the forward of attention: a call with one argument attends to itself."""

    @functools.wraps(forward)
    def call(self: MultiheadAttention, *args: Any, **kwargs: Any) -> Any:
        if len(args) == 1 and not kwargs.keys() & {"key", "value"}:
            return self._to_itself(*args, **kwargs)
        return forward(self, *args, **kwargs)

    return call


class MultiheadAttention(Module):
    """Attention of ``num_heads`` heads, each on its part of the projected features.

    Inputs are (sequence, batch, features), or (batch, sequence, features) with ``batch_first``, or
    without a batch. ``key_padding_mask``, (batch, sources), and ``attn_mask``, (targets, sources),
    or one for each batch and head, are true (or -inf) where a key may *not* be seen. The call gives
    the output and, with ``need_weights``, the weights, averaged over heads unless
    ``average_attn_weights=False``; without them it is faster and needs less memory.

    >>> layer = MultiheadAttention(embed_dim=8, num_heads=2, batch_first=True)
    >>> x = genesis.ones(3, 5, 8)
    >>> out, weights = layer(x, x, x)
    >>> out.shape, weights.shape
    (genesis.Size([3, 5, 8]), genesis.Size([3, 5, 5]))

    Earlier programs write ``MultiheadAttention(dim=8, heads=2)``, which has no bias, and call it
    with one argument, (batch, sequence, features): causal attention to itself, with the weights of
    each head. Its matrices are ``w_qkv`` and ``w_out``, the transposes of those here.

    >>> out, weights = MultiheadAttention(dim=8, heads=2)(x)
    >>> out.shape, weights.shape
    (genesis.Size([3, 5, 8]), genesis.Size([3, 2, 5, 5]))
    """

    in_proj_weight: Parameter | None
    q_proj_weight: Parameter | None
    k_proj_weight: Parameter | None
    v_proj_weight: Parameter | None
    in_proj_bias: Parameter | None
    bias_k: Parameter | None
    bias_v: Parameter | None

    @also_called(
        {"dim": "embed_dim", "heads": "num_heads"},
        embed_dim=64,
        num_heads=1,
        bias=False,
        batch_first=True,
    )
    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        add_bias_kv: bool = False,
        add_zero_attn: bool = False,
        kdim: int | None = None,
        vdim: int | None = None,
        batch_first: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        if embed_dim <= 0 or num_heads <= 0 or embed_dim % num_heads != 0:
            raise ValueError(
                "MultiheadAttention: embed_dim must be a positive multiple of num_heads, got "
                f"embed_dim={embed_dim} and num_heads={num_heads}"
            )
        self.embed_dim = embed_dim
        self.kdim = embed_dim if kdim is None else kdim
        self.vdim = embed_dim if vdim is None else vdim
        self._qkv_same_embed_dim = self.kdim == embed_dim and self.vdim == embed_dim
        self.num_heads = num_heads
        self.dropout = dropout
        self.batch_first = batch_first
        self.head_dim = embed_dim // num_heads

        def parameter(wanted: bool, *shape: int) -> Parameter | None:
            return Parameter(_C.empty(shape, device=device, dtype=dtype)) if wanted else None

        apart = not self._qkv_same_embed_dim
        self.register_parameter("q_proj_weight", parameter(apart, embed_dim, embed_dim))
        self.register_parameter("k_proj_weight", parameter(apart, embed_dim, self.kdim))
        self.register_parameter("v_proj_weight", parameter(apart, embed_dim, self.vdim))
        self.register_parameter("in_proj_weight", parameter(not apart, 3 * embed_dim, embed_dim))
        self.register_parameter("in_proj_bias", parameter(bias, 3 * embed_dim))
        self.out_proj = NonDynamicallyQuantizableLinear(
            embed_dim, embed_dim, bias=bias, device=device, dtype=dtype
        )
        self.register_parameter("bias_k", parameter(add_bias_kv, 1, 1, embed_dim))
        self.register_parameter("bias_v", parameter(add_bias_kv, 1, 1, embed_dim))
        self.add_zero_attn = add_zero_attn
        self._reset_parameters()

    def _reset_parameters(self) -> None:
        for weight in (
            self.in_proj_weight,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
        ):
            if weight is not None:
                init.xavier_uniform_(weight)
        if self.in_proj_bias is not None:
            init.zeros_(self.in_proj_bias)
            assert self.out_proj.bias is not None
            init.zeros_(self.out_proj.bias)
        for bias in (self.bias_k, self.bias_v):
            if bias is not None:
                init.xavier_normal_(bias)

    @property
    def w_qkv(self) -> Tensor:
        """The matrix that features are multiplied by to give queries, keys and values."""
        assert self.in_proj_weight is not None
        return self.in_proj_weight.t()

    @property
    def w_out(self) -> Tensor:
        """The matrix that the results of all heads are multiplied by."""
        return self.out_proj.weight.t()

    def __setattr__(self, name: str, value: Any) -> None:
        if name == "w_qkv":
            self.in_proj_weight = Parameter(value.detach().t().contiguous(), value.requires_grad)
        elif name == "w_out":
            self.out_proj.weight = Parameter(value.detach().t().contiguous(), value.requires_grad)
        else:
            super().__setattr__(name, value)

    def _to_itself(self, x: Tensor, need_weights: bool = True) -> tuple[Tensor, Tensor | None]:
        """Causal attention of (batch, sequence, features) to itself."""
        batch, length, width = x.shape
        assert self.in_proj_weight is not None
        projected = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        q, k, v = projected.reshape(batch, length, 3, self.num_heads, -1).permute(2, 0, 3, 1, 4)
        weights = None
        if need_weights:
            ahead = _C.ones(length, length, dtype=_C.bool, device=x.device).triu(1)
            scores = (q @ k.mT / self.head_dim**0.5).masked_fill(ahead, -float("inf"))
            weights = scores.softmax(-1)
            mixed = weights @ v
        else:
            mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out_proj(mixed.transpose(1, 2).reshape(batch, length, width)), weights

    @_alone_to_itself
    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        swapped = self.batch_first and query.ndim == 3
        if swapped:  # keeping in mind which of the three are one tensor
            same = key is query, value is key
            query = query.transpose(0, 1)
            key = query if same[0] else key.transpose(0, 1)
            value = key if same[1] else value.transpose(0, 1)
        out, weights = F.multi_head_attention_forward(
            query,
            key,
            value,
            self.embed_dim,
            self.num_heads,
            self.in_proj_weight,
            self.in_proj_bias,
            self.bias_k,
            self.bias_v,
            self.add_zero_attn,
            self.dropout,
            self.out_proj.weight,
            self.out_proj.bias,
            self.training,
            key_padding_mask,
            need_weights,
            attn_mask,
            not self._qkv_same_embed_dim,
            self.q_proj_weight,
            self.k_proj_weight,
            self.v_proj_weight,
            average_attn_weights=average_attn_weights,
            is_causal=is_causal,
        )
        return out.transpose(0, 1) if swapped else out, weights


class FusedMultiheadAttention(MultiheadAttention):
    """``MultiheadAttention(dim=, heads=)`` that never stores the weights and returns none.

    >>> out, weights = FusedMultiheadAttention(dim=8, heads=2)(genesis.ones(3, 5, 8))
    >>> out.shape, weights
    (genesis.Size([3, 5, 8]), None)
    """

    def __init__(
        self, dim: int = 64, heads: int = 1, device: Any = None, dtype: Any = None
    ) -> None:
        super().__init__(dim, heads, bias=False, batch_first=True, device=device, dtype=dtype)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor | None]:
        return self._to_itself(x, need_weights=False)


class RotaryEmbedding(Module):
    """Turns pairs of features by angles that grow with the position, pair i by base^(-2i / dim).

    The input is (..., positions, features), of which the first ``dim`` (all, if not given) are
    turned; ``positions``, whole or real numbers that broadcast with the dimensions before the last,
    default to 0, 1, 2, ... from ``offset`` on. Pairs are half of ``dim`` apart, or neighbours if
    ``interleaved``. Products of turned queries and keys depend on their distance only.

    >>> rotary = RotaryEmbedding(4)
    >>> q = rotary(genesis.ones(2, 8, 4))  # (heads, positions, features)
    >>> genesis.allclose(q[:, 3] @ q[0, 1], q[:, 6] @ q[0, 4])
    True

    Earlier programs want the angles instead: with ``max_position_embeddings``, or ``seq_len`` in
    the call, the result is a pair, cosines and sines of (1, 1, seq_len, dim). All positions are in
    ``cos_cached`` and ``sin_cached``.

    >>> cos, sin = RotaryEmbedding(4, max_position_embeddings=16)(q, seq_len=8)
    >>> cos.shape
    genesis.Size([1, 1, 8, 4])
    """

    def __init__(
        self,
        dim: int | None = None,
        max_position_embeddings: int | None = None,
        base: float = 10000.0,
        interleaved: bool = False,
    ) -> None:
        super().__init__()
        self.max_position_embeddings = max_position_embeddings
        if dim is not None and (dim <= 0 or dim % 2 != 0):
            raise ValueError(f"RotaryEmbedding: dim must be positive and even, got {dim}")
        self.dim = dim
        self.base = base
        self.interleaved = interleaved
        self._angles: tuple[int, int, _C.dtype, Tensor, Tensor] | None = None

    def _tables(self, x: Tensor, dim: int, first: int, count: int) -> tuple[Tensor, Tensor]:
        """cos and sin of the angles of `count` positions, kept from call to call."""
        wide = _C.float64 if x.dtype == _C.float64 else _C.float32
        kept = self._angles
        if kept is None or kept[:1] + kept[2:3] != (dim, wide) or kept[1] < first + count:
            positions = _C.arange(max(first + count, 2 * kept[1] if kept else 0))
            kept = dim, positions.shape[0], wide, *self._waves(positions, dim, wide)
            self._angles = kept
        return kept[3].narrow(0, first, count), kept[4].narrow(0, first, count)

    def _waves(self, positions: Tensor, dim: int, dtype: _C.dtype) -> tuple[Tensor, Tensor]:
        with _C.no_grad():  # in float64: a float32 angle of a thousand turns is off by 1e-4
            rates = self.base ** (_C.arange(0, dim, 2).to(_C.float64) / -dim)
            angles = positions.detach().to(_C.float64).unsqueeze(-1) * rates
            return angles.cos().to(dtype), angles.sin().to(dtype)

    def _cached(self, which: int) -> Tensor:
        if self.dim is None:
            raise ValueError("RotaryEmbedding: cos_cached and sin_cached need dim=")
        count = 2048 if self.max_position_embeddings is None else self.max_position_embeddings
        table = self._tables(_C.empty(0), self.dim, 0, count)[which]
        return _C.cat((table, table), -1).reshape(1, 1, count, self.dim)

    @property
    def cos_cached(self) -> Tensor:
        """Cosines of the angles of all positions, (1, 1, positions, dim)."""
        return self._cached(0)

    @property
    def sin_cached(self) -> Tensor:
        """Sines of the angles of all positions, (1, 1, positions, dim)."""
        return self._cached(1)

    def forward(
        self,
        input: Tensor,
        positions: Tensor | None = None,
        offset: int = 0,
        *,
        seq_len: int | None = None,
    ) -> Any:
        if seq_len is not None or self.max_position_embeddings is not None:
            return self.cos_cached[:, :, :seq_len], self.sin_cached[:, :, :seq_len]
        dim = input.shape[-1] if self.dim is None else self.dim
        if dim % 2 != 0:
            raise ValueError(
                f"RotaryEmbedding: input of shape {tuple(input.shape)} has an odd number of "
                "features; pass dim= to turn only an even number of them"
            )
        if positions is None:
            cos, sin = self._tables(input, dim, offset, input.shape[-2])
        else:
            wide = _C.float64 if input.dtype == _C.float64 else _C.float32
            cos, sin = self._waves(positions, dim, wide)
        return F.rotary_embedding(input, cos, sin, self.interleaved)

    def extra_repr(self) -> str:
        return f"dim={self.dim}, base={self.base}, interleaved={self.interleaved}"
