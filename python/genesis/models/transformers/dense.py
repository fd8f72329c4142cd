"""Dense decoders: Qwen, and models with the same structure."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any

import genesis
from genesis import Tensor, nn
from genesis.models.transformers.attention import KeyValue, SelfAttention
from genesis.models.transformers.components import KeyValueCache, find_multiple
from genesis.models.transformers.config import TransformerConfig, get_transformer_config
from genesis.models.transformers.experts import DenseFFN
from genesis.models.transformers.generation import extend
from genesis.models.transformers.pretrained import load_weights, renamed

__all__ = ["Attention", "FeedForward", "QwenForCausalLM", "QwenModel", "TransformerBlock"]


class Attention(SelfAttention):
    """Attention with biases of queries, keys and values, unless the configuration says otherwise.

    >>> config = TransformerConfig(hidden_size=8, num_attention_heads=2)
    >>> Attention(config)(genesis.ones(1, 3, 8), genesis.arange(3).unsqueeze(0)).shape
    genesis.Size([1, 3, 8])
    """

    def __init__(self, config: TransformerConfig, layer_idx: int | None = None) -> None:
        super().__init__(config, True if config.qkv_bias is None else config.qkv_bias, layer_idx)

    def forward(
        self,
        x: Tensor,
        position_ids: Tensor | None = None,
        mask: Tensor | None = None,
        input_pos: Tensor | None = None,
    ) -> Tensor:
        return self.attend(x, mask, position_ids, cache_positions=input_pos)[0]


class FeedForward(DenseFFN):
    """``down_proj(act(gate_proj(x)) * up_proj(x))``, with the sizes of a configuration.

    >>> config = TransformerConfig(hidden_size=8, intermediate_size=16, num_attention_heads=2)
    >>> FeedForward(config)(genesis.ones(3, 8)).shape
    genesis.Size([3, 8])
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__(
            config.hidden_size, config.intermediate_size, config.hidden_act, config.mlp_bias
        )


class TransformerBlock(nn.Module):
    """Attention and a feed-forward layer, each after a norm and with a residual connection."""

    def __init__(self, config: TransformerConfig, layer_idx: int | None = None) -> None:
        super().__init__()
        self.self_attn = Attention(config, layer_idx)
        self.mlp = FeedForward(config)
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.norm_eps)

    def _rest(self, x: Tensor, attended: Tensor) -> Tensor:
        h = x + attended
        mixed: Tensor = self.mlp(self.post_attention_layernorm(h))
        return h + mixed

    def forward(
        self,
        x: Tensor,
        input_pos: Tensor | None,
        position_ids: Tensor | None,
        mask: Tensor | None = None,
    ) -> Tensor:
        attended = self.self_attn(self.input_layernorm(x), position_ids, mask, input_pos)
        return self._rest(x, attended)

    def step(self, x: Tensor, past: KeyValue | None) -> tuple[Tensor, KeyValue]:
        """One pass that continues ``past`` and returns it extended."""
        attended, present = self.self_attn.attend(self.input_layernorm(x), None, None, past)
        return self._rest(x, attended), present


class QwenModel(nn.Module):
    """Token embedding, blocks, a norm, and (with ``head``) scores of the next token.

    >>> config = TransformerConfig(50, 16, 32, num_hidden_layers=1, num_attention_heads=2)
    >>> QwenModel(config)(genesis.tensor([[1, 2, 3]])).shape
    genesis.Size([1, 3, 50])
    """

    def __init__(self, config: TransformerConfig, head: bool = True) -> None:
        super().__init__()
        self.config = config
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            TransformerBlock(config, i) for i in range(config.num_hidden_layers)
        )
        self.norm = nn.RMSNorm(config.hidden_size, config.norm_eps)
        self.lm_head = (
            nn.Linear(config.hidden_size, config.vocab_size, bias=False) if head else None
        )
        if self.lm_head is not None and config.tie_word_embeddings:
            self.lm_head.weight = self.embed_tokens.weight
        self.max_batch_size = self.max_seq_length = -1
        for module in self.modules():
            if isinstance(module, (nn.Linear, nn.Embedding)):
                nn.init.normal_(module.weight, std=config.initializer_range)
                if isinstance(module, nn.Linear) and module.bias is not None:
                    nn.init.zeros_(module.bias)

    def setup_caches(self, max_batch_size: int, max_seq_length: int) -> None:
        """Make room for keys and values: calls then add to them, at their ``position_ids``.

        Calls with a cache are for inference; no gradient flows through what was cached.
        """
        if self.max_seq_length >= max_seq_length and self.max_batch_size >= max_batch_size:
            return
        self.max_batch_size = max_batch_size
        self.max_seq_length = find_multiple(max_seq_length, 8)
        config = self.config
        for layer in self.layers:
            layer.self_attn.kv_cache = KeyValueCache(
                max_batch_size,
                config.key_value_heads,
                self.max_seq_length,
                config.width_of_head,
                dtype=self.embed_tokens.weight.dtype,
            )

    def forward(self, idx: Tensor, position_ids: Tensor | None = None) -> Tensor:
        x = self.embed_tokens(idx)
        for layer in self.layers:
            x = layer(x, position_ids, position_ids)
        out: Tensor = self.norm(x)
        if self.lm_head is not None:
            out = self.lm_head(out)
        return out

    @classmethod
    def from_name(cls, name: str) -> QwenModel:
        """A model of a preset (`get_transformer_config`), with random weights."""
        return cls(get_transformer_config(name))


class QwenForCausalLM(nn.Module):
    """A `QwenModel` and the scores of the next token, with the names of Hugging Face's models.

    >>> config = TransformerConfig(50, 16, 32, num_hidden_layers=1, num_attention_heads=2)
    >>> QwenForCausalLM(config)(genesis.tensor([[1, 2, 3]])).shape
    genesis.Size([1, 3, 50])
    """

    def __init__(self, config: TransformerConfig) -> None:
        super().__init__()
        self.config = config
        self.model = QwenModel(config, head=False)
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight
        else:
            nn.init.normal_(self.lm_head.weight, std=config.initializer_range)

    def forward(self, idx: Tensor, **kwargs: Any) -> Tensor:
        logits: Tensor = self.lm_head(self.model(idx, **kwargs))
        return logits

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take over weights; those of the head are those of the embedding if there are none."""
        weights = renamed(state_dict)
        if "lm_head.weight" not in weights and "model.embed_tokens.weight" in weights:
            weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
        return super().load_state_dict(weights, strict, assign)

    @classmethod
    def from_pretrained(cls, path: str | os.PathLike[str]) -> QwenForCausalLM:
        """The model of a directory with Hugging Face's config.json and safetensors."""
        model = cls(TransformerConfig.from_directory(path))
        load_weights(model, path)
        return model.eval()

    def generate(
        self,
        input_ids: Tensor,
        max_new_tokens: int = 100,
        temperature: float = 1.0,
        top_k: int | None = None,
        top_p: float | None = None,
        *,
        eos_token_id: int | None = None,
        generator: genesis.Generator | None = None,
    ) -> Tensor:
        """``input_ids``, (batch, sequence), with up to ``max_new_tokens`` drawn one after another.

        A ``temperature`` of 0 takes the best; ``top_k`` and ``top_p`` leave only the likeliest to
        draw from. A row ends at ``eos_token_id``. Keys and values are kept from token to token.
        """
        past: list[KeyValue | None] = [None] * len(self.model.layers)

        def step(new: Tensor) -> Tensor:
            x = self.model.embed_tokens(new)
            for i, layer in enumerate(self.model.layers):
                x, past[i] = layer.step(x, past[i])
            logits: Tensor = self.lm_head(self.model.norm(x[:, -1:]))
            return logits

        with genesis.no_grad():
            return extend(
                step, input_ids, max_new_tokens, temperature, top_k, top_p, eos_token_id, generator
            )
