"""Decoder-only language models: dense (Qwen, Llama) and with a mixture of experts.

They read the configuration and the weights of Hugging Face's directories:

>>> config = genesis.models.transformers.TransformerConfig(
...     vocab_size=50, hidden_size=16, intermediate_size=32, num_hidden_layers=1,
...     num_attention_heads=2)
>>> model = genesis.models.transformers.QwenForCausalLM(config)
>>> model.generate(genesis.tensor([[1, 2]]), max_new_tokens=3).shape
genesis.Size([1, 5])
"""

from genesis.models.transformers.components import (
    RotaryEmbedding,
    apply_rotary_pos_emb,
    find_multiple,
    rotate_half,
)
from genesis.models.transformers.config import (
    MoEConfig,
    TransformerConfig,
    get_moe_config,
    get_transformer_config,
)
from genesis.models.transformers.dense import (
    Attention,
    FeedForward,
    QwenForCausalLM,
    QwenModel,
    TransformerBlock,
)
from genesis.models.transformers.moe import (
    DenseFFN,
    MoEAttention,
    MoEDecoderLayer,
    MoEExpert,
    MoEForCausalLM,
    MoEGate,
    MoELayer,
    MoEModel,
    MoEPreTrainedModel,
    MoETransformerBlock,
)

__all__ = [
    "Attention",
    "DenseFFN",
    "FeedForward",
    "MoEAttention",
    "MoEConfig",
    "MoEDecoderLayer",
    "MoEExpert",
    "MoEForCausalLM",
    "MoEGate",
    "MoELayer",
    "MoEModel",
    "MoEPreTrainedModel",
    "MoETransformerBlock",
    "QwenForCausalLM",
    "QwenModel",
    "RotaryEmbedding",
    "TransformerBlock",
    "TransformerConfig",
    "apply_rotary_pos_emb",
    "find_multiple",
    "get_moe_config",
    "get_transformer_config",
    "rotate_half",
]
