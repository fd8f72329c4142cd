"""Configurations of models: sizes and options, presets, and what Hugging Face calls them."""

from __future__ import annotations

import dataclasses
import json
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from typing_extensions import Self

__all__ = ["MoEConfig", "TransformerConfig", "get_moe_config", "get_transformer_config"]

# Hugging Face's names of our fields.
_OTHER_NAMES = {
    "rms_norm_eps": "norm_eps",
    "n_layer": "num_hidden_layers",
    "rope_base": "rope_theta",
    "block_size": "max_position_embeddings",
    "num_experts": "num_local_experts",
    "n_routed_experts": "num_local_experts",
    "n_shared_experts": "num_shared_experts",
    "aux_loss_alpha": "router_aux_loss_coef",
    "top_k_experts": "num_experts_per_tok",
}


def _rope(given: dict[str, Any]) -> dict[str, Any]:
    """rope_theta and rope_scaling, which later files keep together in rope_parameters."""
    parameters = dict(given.get("rope_parameters") or {})
    found = {}
    if "rope_theta" in parameters:
        found["rope_theta"] = parameters.pop("rope_theta")
    if parameters.get("rope_type", "default") != "default":
        found["rope_scaling"] = parameters
    return found


def _windows(given: dict[str, Any], kind: str) -> dict[str, Any]:
    """The sliding window, and which layers have it."""
    window = given.get("sliding_window")
    if not window or not given.get("use_sliding_window", kind in ("", "mistral", "mixtral")):
        return {"sliding_window": None, "layer_types": None}
    if given.get("layer_types"):
        return {"sliding_window": window, "layer_types": list(given["layer_types"])}
    first, layers = given.get("max_window_layers", 28), range(given.get("num_hidden_layers", 32))
    if kind in ("qwen2", "qwen3"):
        slides = [i >= first for i in layers]
    elif kind == "qwen2_moe":
        slides = [i % 2 == 0 and i < first for i in layers]
    else:
        return {"sliding_window": window, "layer_types": None}
    kinds = ["sliding_attention" if here else "full_attention" for here in slides]
    return {"sliding_window": window, "layer_types": kinds}


def _by_model_type(given: dict[str, Any]) -> dict[str, Any]:
    """What a type of model implies and its file does not say."""
    kind = given.get("model_type", "")
    implied: dict[str, Any] = {}
    if kind in ("qwen2", "qwen2_moe"):
        implied["qkv_bias"] = given.get("qkv_bias", True)
    elif kind:
        implied["qkv_bias"] = bool(given.get("attention_bias", False))
    if kind in ("qwen3", "qwen3_moe"):
        implied["qk_norm"] = True
    if kind in ("qwen2_moe", "qwen3_moe"):
        step, plain = given.get("decoder_sparse_step", 1), given.get("mlp_only_layers") or []
        if step != 1 or plain:
            layers = range(given["num_hidden_layers"])
            implied["moe_layers"] = [i for i in layers if i not in plain and (i + 1) % step == 0]
    if kind == "qwen2_moe":
        implied["num_shared_experts"], implied["shared_expert_gate"] = 1, True
    if kind == "mixtral":
        implied["norm_topk_prob"] = True
    return implied


@dataclass
class TransformerConfig:
    """A dense decoder: Llama's, unless ``qkv_bias`` (Qwen 2) or ``qk_norm`` (Qwen 3) is set.

    ``num_key_value_heads`` is ``num_attention_heads`` unless given, ``head_dim`` is
    ``hidden_size / num_attention_heads``. ``qkv_bias`` of None leaves it to the model:
    `QwenForCausalLM` has such biases, models with experts have those of ``attention_bias``.
    With ``sliding_window`` a position sees that many, itself among them, in all layers or in those
    whose ``layer_types`` say "sliding_attention". ``rope_scaling`` is of type "linear", "llama3" or
    "yarn".

    >>> TransformerConfig(hidden_size=768, num_attention_heads=12).head_dim
    64
    """

    vocab_size: int = 32000
    hidden_size: int = 4096
    intermediate_size: int = 14336
    num_hidden_layers: int = 32
    num_attention_heads: int = 32
    num_key_value_heads: int | None = None
    head_dim: int | None = None
    max_position_embeddings: int = 4096
    rope_theta: float = 10000.0
    rope_scaling: dict[str, Any] | None = None
    norm_eps: float = 1e-6
    use_cache: bool = True
    tie_word_embeddings: bool = False
    attention_bias: bool = False
    mlp_bias: bool = False
    hidden_act: str = "silu"
    initializer_range: float = 0.02
    qkv_bias: bool | None = None
    qk_norm: bool = False
    sliding_window: int | None = None
    layer_types: list[str] | None = None

    def __post_init__(self) -> None:
        if self.num_key_value_heads is None:
            self.num_key_value_heads = self.num_attention_heads
        name = type(self).__name__
        if self.head_dim is None:
            if self.hidden_size % self.num_attention_heads != 0:
                raise ValueError(
                    f"{name}: hidden_size ({self.hidden_size}) must be a multiple of "
                    f"num_attention_heads ({self.num_attention_heads}), or head_dim must be given"
                )
            self.head_dim = self.hidden_size // self.num_attention_heads
        if self.num_attention_heads % self.num_key_value_heads != 0:
            raise ValueError(
                f"{name}: num_attention_heads ({self.num_attention_heads}) must be a multiple of "
                f"num_key_value_heads ({self.num_key_value_heads})"
            )

    def window_of(self, layer_idx: int) -> int | None:
        """How many positions one sees in a layer, itself among them; None for all before it."""
        if self.layer_types is not None and self.layer_types[layer_idx] != "sliding_attention":
            return None
        return self.sliding_window

    @property
    def n_layer(self) -> int:
        """Another name of ``num_hidden_layers``."""
        return self.num_hidden_layers

    @property
    def rope_base(self) -> float:
        """Another name of ``rope_theta``."""
        return self.rope_theta

    @property
    def key_value_heads(self) -> int:
        """``num_key_value_heads``, which is never None once the configuration is made."""
        assert self.num_key_value_heads is not None
        return self.num_key_value_heads

    @property
    def width_of_head(self) -> int:
        """``head_dim``, which is never None once the configuration is made."""
        assert self.head_dim is not None
        return self.head_dim

    @classmethod
    def from_dict(cls, config_dict: dict[str, Any]) -> Self:
        """From our names or from those of Hugging Face's config.json; others are left out.

        >>> TransformerConfig.from_dict({"model_type": "qwen3", "rms_norm_eps": 1e-5}).qk_norm
        True
        """
        known = {field.name for field in dataclasses.fields(cls)}
        found = {**_by_model_type(config_dict), **_rope(config_dict)}
        for key, value in config_dict.items():
            name = key if key in known else _OTHER_NAMES.get(key, key)
            if name in known and (value is not None or name not in found):
                found[name] = value
        found.update(_windows(config_dict, config_dict.get("model_type", "")))
        return cls(**{name: value for name, value in found.items() if name in known})

    @classmethod
    def from_directory(cls, path: str | os.PathLike[str]) -> Self:
        """From the config.json of a directory."""
        with open(os.path.join(os.fspath(path), "config.json"), encoding="utf-8") as file:
            return cls.from_dict(json.load(file))

    def to_dict(self) -> dict[str, Any]:
        """All fields by name.

        >>> TransformerConfig(vocab_size=10).to_dict()["vocab_size"]
        10
        """
        return dataclasses.asdict(self)


@dataclass
class MoEConfig(TransformerConfig):
    """A decoder with a mixture of experts.

    Each token goes to ``num_experts_per_tok`` of ``num_local_experts``, and to the shared experts,
    if there are some. Layers have experts as ``use_moe_in_all_layers``, or every
    ``moe_layer_interval`` from ``first_moe_layer`` on, or as listed in ``moe_layers``.

    >>> MoEConfig(num_local_experts=4).num_experts_per_tok
    2
    """

    num_experts_per_tok: int = 2
    num_local_experts: int = 8
    num_shared_experts: int | None = None
    moe_intermediate_size: int | None = None
    shared_expert_intermediate_size: int | None = None
    router_aux_loss_coef: float = 0.01
    router_z_loss_coef: float = 0.001
    scoring_func: str = "softmax"
    seq_aux: bool = True
    norm_topk_prob: bool = True
    expert_bias: bool = False
    use_moe_in_all_layers: bool = True
    moe_layer_interval: int = 1
    first_moe_layer: int = 0
    shared_expert_gate: bool = False
    moe_layers: list[int] | None = None

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.moe_intermediate_size is None:
            self.moe_intermediate_size = self.intermediate_size
        if self.num_experts_per_tok > self.num_local_experts:
            raise ValueError(
                f"MoEConfig: num_experts_per_tok ({self.num_experts_per_tok}) must not be more "
                f"than num_local_experts ({self.num_local_experts})"
            )
        if self.scoring_func not in ("softmax", "sigmoid"):
            raise ValueError(
                f"MoEConfig: scoring_func must be 'softmax' or 'sigmoid', got {self.scoring_func!r}"
            )

    def has_experts(self, layer: int) -> bool:
        """Whether a layer has experts.

        >>> MoEConfig(use_moe_in_all_layers=False, first_moe_layer=1).has_experts(0)
        False
        """
        if self.moe_layers is not None:
            return layer in self.moe_layers
        if self.use_moe_in_all_layers:
            return True
        behind = layer - self.first_moe_layer
        return behind >= 0 and behind % self.moe_layer_interval == 0


def _sizes(
    vocab: int, width: int, inner: int, layers: int, heads: int, **more: Any
) -> dict[str, Any]:
    return {
        "vocab_size": vocab,
        "hidden_size": width,
        "intermediate_size": inner,
        "num_hidden_layers": layers,
        "num_attention_heads": heads,
        **more,
    }


_DENSE: dict[str, dict[str, Any]] = {
    "llama-7b": _sizes(32000, 4096, 11008, 32, 32, qkv_bias=False),
    "llama-13b": _sizes(32000, 5120, 13824, 40, 40, qkv_bias=False),
    "qwen-0.5b": _sizes(
        151936, 896, 4864, 24, 14, num_key_value_heads=2, max_position_embeddings=32768,
        rope_theta=1e6, qkv_bias=True,
    ),
}  # fmt: skip
_EXPERTS: dict[str, dict[str, Any]] = {
    "moe-small": _sizes(
        32000, 768, 2048, 12, 12, num_local_experts=4, max_position_embeddings=2048
    ),
    "mixtral-8x7b": _sizes(
        32000, 4096, 14336, 32, 32, num_key_value_heads=8, num_local_experts=8,
        max_position_embeddings=32768, rope_theta=1e6,
    ),
    "deepseek-moe-16b": _sizes(
        102400, 2048, 10944, 28, 16, num_local_experts=64, num_experts_per_tok=6,
        num_shared_experts=2, moe_intermediate_size=1408, shared_expert_intermediate_size=2816,
    ),
}  # fmt: skip


def _preset(presets: dict[str, dict[str, Any]], name: str) -> dict[str, Any]:
    if name not in presets:
        raise ValueError(f"there is no preset {name!r}; there are {', '.join(sorted(presets))}")
    return presets[name]


def get_transformer_config(model_name: str) -> TransformerConfig:
    """The configuration of a known dense model.

    >>> get_transformer_config("qwen-0.5b").hidden_size
    896
    """
    return TransformerConfig(**_preset(_DENSE, model_name))


def get_moe_config(model_name: str) -> MoEConfig:
    """The configuration of a known model with experts.

    >>> get_moe_config("mixtral-8x7b").num_local_experts
    8
    """
    return MoEConfig(**_preset(_EXPERTS, model_name))
