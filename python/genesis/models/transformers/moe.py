"""Decoders with a mixture of experts: Mixtral's kind, Qwen's, DeepSeek's first."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from typing import Any

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn
from genesis.models.transformers.attention import KeyValue, SelfAttention
from genesis.models.transformers.config import MoEConfig, get_moe_config
from genesis.models.transformers.experts import DenseFFN, MoEExpert, MoEGate, MoELayer
from genesis.models.transformers.generation import extend
from genesis.models.transformers.pretrained import load_weights, renamed

__all__ = [
    "DenseFFN",
    "MoEAttention",
    "MoEDecoderLayer",
    "MoEExpert",
    "MoEForCausalLM",
    "MoEGate",
    "MoELayer",
    "MoEModel",
    "MoEPreTrainedModel",
    "MoETransformerBlock",
]

Past = list[KeyValue]


class MoEAttention(SelfAttention):
    """Causal attention. Gives the output and, with ``use_cache``, keys and values up to here.

    ``attention_mask`` is (batch, keys), 1 where there is a token, or (batch, 1, queries, keys),
    true where a key is seen, or added to the scores.
    """

    def __init__(self, config: MoEConfig, layer_idx: int | None = None) -> None:
        super().__init__(
            config,
            config.attention_bias if config.qkv_bias is None else config.qkv_bias,
            layer_idx,
        )
        self.config = config
        self.layer_idx = layer_idx

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_value: KeyValue | None = None,
        use_cache: bool = False,
    ) -> tuple[Tensor, KeyValue | None]:
        out, present = self.attend(hidden_states, attention_mask, position_ids, past_key_value)
        return out, present if use_cache else None


def _experts(config: MoEConfig) -> MoELayer:
    assert config.moe_intermediate_size is not None
    return MoELayer(
        config.hidden_size,
        config.num_local_experts,
        config.num_experts_per_tok,
        config.moe_intermediate_size,
        config.num_shared_experts,
        config.shared_expert_intermediate_size,
        config.router_aux_loss_coef,
        config.seq_aux,
        config.norm_topk_prob,
        config.expert_bias,
        config.scoring_func,
        config.router_z_loss_coef,
        config.shared_expert_gate,
    )


class MoEDecoderLayer(nn.Module):
    """Attention and experts (or a dense layer, as the configuration says), each after a norm and
    beside a residual connection."""

    def __init__(self, config: MoEConfig, layer_idx: int) -> None:
        super().__init__()
        self.config = config
        self.layer_idx = layer_idx
        self.self_attn = MoEAttention(config, layer_idx)
        self.is_moe_layer = config.has_experts(layer_idx)
        self.mlp: nn.Module = (
            _experts(config)
            if self.is_moe_layer
            else DenseFFN(
                config.hidden_size, config.intermediate_size, config.hidden_act, config.mlp_bias
            )
        )
        self.input_layernorm = nn.RMSNorm(config.hidden_size, config.norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(config.hidden_size, config.norm_eps)

    def forward(
        self,
        hidden_states: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_value: KeyValue | None = None,
        use_cache: bool = False,
    ) -> tuple[Tensor, KeyValue | None]:
        attended, present = self.self_attn(
            self.input_layernorm(hidden_states),
            attention_mask,
            position_ids,
            past_key_value,
            use_cache,
        )
        hidden_states = hidden_states + attended
        return hidden_states + self.mlp(self.post_attention_layernorm(hidden_states)), present


class MoETransformerBlock(nn.Module):
    """A layer with experts by itself, for any object with sizes as attributes.

    ``config`` has ``hidden_size``, ``num_attention_heads``, ``intermediate_size``, and may have
    ``num_experts``, ``top_k``, ``aux_loss_alpha`` and the other options of `MoELayer`.

    >>> class Sizes:
    ...     hidden_size, num_attention_heads, intermediate_size = 8, 2, 16
    >>> MoETransformerBlock(Sizes())(genesis.ones(1, 3, 8), None, None).shape
    genesis.Size([1, 3, 8])
    """

    def __init__(self, config: Any) -> None:
        super().__init__()
        names = {
            "num_local_experts": "num_experts",
            "num_experts_per_tok": "top_k",
            "router_aux_loss_coef": "aux_loss_alpha",
            "router_z_loss_coef": "router_z_loss_coef",
        }
        own = {
            field: getattr(config, names.get(field, field))
            for field in MoEConfig.__dataclass_fields__
            if getattr(config, names.get(field, field), None) is not None
        }
        full = config if isinstance(config, MoEConfig) else MoEConfig(**own)
        self.self_attn = MoEAttention(full)
        self.mlp = _experts(full)
        self.input_layernorm = nn.RMSNorm(full.hidden_size, full.norm_eps)
        self.post_attention_layernorm = nn.RMSNorm(full.hidden_size, full.norm_eps)

    def forward(
        self,
        x: Tensor,
        input_pos: Tensor | None,
        position_ids: Tensor | None,
        mask: Tensor | None = None,
    ) -> Tensor:
        if position_ids is not None and position_ids.ndim == 1:
            position_ids = position_ids.expand(x.shape[0], -1)
        attended, _ = self.self_attn.attend(
            self.input_layernorm(x), mask, position_ids, cache_positions=input_pos
        )
        h = x + attended
        mixed: Tensor = self.mlp(self.post_attention_layernorm(h))
        return h + mixed


class MoEPreTrainedModel(nn.Module):
    """What models with experts share: a configuration, and how their weights begin."""

    config_class = MoEConfig

    def __init__(self, config: MoEConfig) -> None:
        super().__init__()
        self.config = config

    def apply(self, fn: Callable[[nn.Module], Any]) -> Any:
        """Call ``fn`` with every module, those below first, and return the model."""
        return super().apply(fn)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding, MoEGate)):
            nn.init.normal_(module.weight, std=self.config.initializer_range)
            bias = getattr(module, "bias", None)
            if bias is not None:
                nn.init.zeros_(bias)


class MoEModel(MoEPreTrainedModel):
    """Token embedding, layers, and a norm. Gives the features, and keys and values by layer (None
    without ``use_cache``), to be passed as ``past_key_values`` with the tokens that follow."""

    def __init__(self, config: MoEConfig) -> None:
        super().__init__(config)
        self.vocab_size = config.vocab_size
        self.embed_tokens = nn.Embedding(config.vocab_size, config.hidden_size)
        self.layers = nn.ModuleList(
            MoEDecoderLayer(config, i) for i in range(config.num_hidden_layers)
        )
        self.norm = nn.RMSNorm(config.hidden_size, config.norm_eps)
        self.apply(self._init_weights)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Past | None = None,
        use_cache: bool | None = None,
    ) -> tuple[Tensor, Past | None]:
        cached = self.config.use_cache if use_cache is None else use_cache
        hidden_states = self.embed_tokens(input_ids)
        present: Past = []
        for i, layer in enumerate(self.layers):
            past = None if past_key_values is None else past_key_values[i]
            hidden_states, pair = layer(hidden_states, attention_mask, position_ids, past, cached)
            present.append(pair)
        return self.norm(hidden_states), present if cached else None


class MoEForCausalLM(MoEPreTrainedModel):
    """A `MoEModel` and the scores of the next token.

    The call gives the scores, or, with ``labels``, the mean loss of each token given those before
    it, and the scores.

    >>> config = MoEConfig(50, 16, 32, num_hidden_layers=1, num_attention_heads=2)
    >>> ids = genesis.tensor([[1, 2, 3]])
    >>> loss, logits = MoEForCausalLM(config)(ids, labels=ids)
    >>> loss.shape, logits.shape
    (genesis.Size([]), genesis.Size([1, 3, 50]))
    """

    def __init__(self, config: MoEConfig) -> None:
        super().__init__(config)
        self.model = MoEModel(config)
        self.vocab_size = config.vocab_size
        self.lm_head = nn.Linear(config.hidden_size, config.vocab_size, bias=False)
        if config.tie_word_embeddings:
            self.lm_head.weight = self.model.embed_tokens.weight
        else:
            self._init_weights(self.lm_head)

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor | None = None,
        position_ids: Tensor | None = None,
        past_key_values: Past | None = None,
        use_cache: bool | None = None,
        labels: Tensor | None = None,
    ) -> Any:
        hidden_states, _ = self.model(
            input_ids, attention_mask, position_ids, past_key_values, use_cache
        )
        logits = self.lm_head(hidden_states)
        if labels is None:
            return logits
        shifted = logits[:, :-1].reshape(-1, self.vocab_size)
        return F.cross_entropy(shifted.float(), labels[:, 1:].reshape(-1)), logits

    def load_state_dict(
        self, state_dict: Mapping[str, Any], strict: bool = True, assign: bool = False
    ) -> Any:
        """Take over weights, also under the names of Mixtral and with all experts in one tensor."""
        weights = renamed(state_dict)
        if "lm_head.weight" not in weights and self.config.tie_word_embeddings:
            weights["lm_head.weight"] = weights["model.embed_tokens.weight"]
        return super().load_state_dict(weights, strict, assign)

    @classmethod
    def from_pretrained(cls, config_or_path: MoEConfig | str | os.PathLike[str]) -> MoEForCausalLM:
        """From a configuration or the name of a preset, with random weights; or from a directory
        with Hugging Face's config.json and safetensors, with those."""
        if isinstance(config_or_path, MoEConfig):
            return cls(config_or_path)
        if isinstance(config_or_path, str) and not os.path.isdir(config_or_path):
            return cls(get_moe_config(config_or_path))
        model = cls(MoEConfig.from_directory(config_or_path))
        load_weights(model, config_or_path)
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
        The model is in evaluation mode meanwhile.
        """
        past: Past | None = None

        def step(new: Tensor) -> Tensor:
            nonlocal past
            hidden_states, past = self.model(new, past_key_values=past, use_cache=True)
            logits: Tensor = self.lm_head(hidden_states[:, -1:])
            return logits

        training = self.training
        self.eval()
        try:
            with genesis.no_grad():
                return extend(
                    step, input_ids, max_new_tokens, temperature, top_k, top_p, eos_token_id,
                    generator,
                )  # fmt: skip
        finally:
            self.train(training)
