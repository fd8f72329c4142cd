"""Self-attention with grouped heads and rotary positions, for all models here."""

from __future__ import annotations

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn
from genesis.models.transformers.components import (
    KeyValueCache,
    RotaryEmbedding,
    apply_rotary_pos_emb,
    attention_mask_for,
)
from genesis.models.transformers.config import TransformerConfig

KeyValue = tuple[Tensor, Tensor]


class SelfAttention(nn.Module):
    """Projections, rotary positions, attention of grouped heads, and the output projection.

    Parameters have the names that they have in Hugging Face's models: ``q_proj``, ``k_proj``,
    ``v_proj``, ``o_proj``, and ``q_norm``, ``k_norm`` where heads are normalised (Qwen 3).
    ``sliding_window`` is how many positions one sees, None for all before it.
    """

    def __init__(
        self, config: TransformerConfig, qkv_bias: bool, layer_idx: int | None = None
    ) -> None:
        super().__init__()
        self.hidden_size = config.hidden_size
        self.num_attention_heads = config.num_attention_heads
        self.num_key_value_heads = config.key_value_heads
        self.head_dim = config.width_of_head
        wide = self.num_attention_heads * self.head_dim
        narrow = self.num_key_value_heads * self.head_dim
        self.q_proj = nn.Linear(self.hidden_size, wide, bias=qkv_bias)
        self.k_proj = nn.Linear(self.hidden_size, narrow, bias=qkv_bias)
        self.v_proj = nn.Linear(self.hidden_size, narrow, bias=qkv_bias)
        self.o_proj = nn.Linear(wide, self.hidden_size, bias=config.attention_bias)
        self.q_norm = nn.RMSNorm(self.head_dim, config.norm_eps) if config.qk_norm else None
        self.k_norm = nn.RMSNorm(self.head_dim, config.norm_eps) if config.qk_norm else None
        self.rotary_emb = RotaryEmbedding(
            self.head_dim,
            max_position_embeddings=config.max_position_embeddings,
            base=config.rope_theta,
            rope_scaling=config.rope_scaling,
        )
        self.sliding_window = config.window_of(layer_idx or 0)
        self.kv_cache: KeyValueCache | None = None

    def _heads(self, projected: Tensor, norm: nn.RMSNorm | None) -> Tensor:
        """(batch, sequence, features) as (batch, heads, sequence, head_dim)."""
        split = projected.reshape(*projected.shape[:2], -1, self.head_dim)
        return (split if norm is None else norm(split)).transpose(1, 2)

    def attend(
        self,
        x: Tensor,
        mask: Tensor | None,
        position_ids: Tensor | None,
        past: KeyValue | None = None,
        cache_positions: Tensor | None = None,
    ) -> tuple[Tensor, KeyValue]:
        """The output, and the keys and values up to here.

        Those of earlier positions come from ``past``, or from ``kv_cache`` if it was set up.
        """
        batch, length, _ = x.shape
        before = 0 if past is None else past[0].shape[2]
        if position_ids is None:
            position_ids = genesis.arange(before, before + length).expand(batch, length)
        q = self._heads(self.q_proj(x), self.q_norm)
        k = self._heads(self.k_proj(x), self.k_norm)
        v = self._heads(self.v_proj(x), None)
        last = int(position_ids.max().item()) + 1
        cos, sin = self.rotary_emb(v, seq_len=max(last, length))
        q, k = apply_rotary_pos_emb(q, k, cos, sin, position_ids)
        if past is not None:
            k, v = genesis.cat((past[0], k), 2), genesis.cat((past[1], v), 2)
        elif self.kv_cache is not None:
            at = position_ids if cache_positions is None else cache_positions
            k, v = self.kv_cache.update(at.long(), k, v)
        mask, causal = attention_mask_for(mask, length, k.shape[2], self.sliding_window)
        mixed = F.scaled_dot_product_attention(
            q, k, v, attn_mask=mask, is_causal=causal, enable_gqa=True
        )
        return self.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1)), (k, v)
