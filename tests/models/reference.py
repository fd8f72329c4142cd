"""Small models of Hugging Face's `transformers` with random weights, and what they compute.

`python -m tests.models.reference` writes tests/models/data anew; it needs torch and transformers.
"""

from __future__ import annotations

import pathlib
import sys

import numpy as np

DATA = pathlib.Path(__file__).parent / "data"
SIZES = {
    "vocab_size": 17,
    "hidden_size": 8,
    "intermediate_size": 12,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 32,
}
EXPERTS = {"num_experts_per_tok": 2, "moe_intermediate_size": 8}
# name: (prefix of the classes, options)
CASES = {
    "qwen2": ("Qwen2", {}),
    "qwen2_tied": ("Qwen2", {"tie_word_embeddings": True, "num_hidden_layers": 1}),
    "qwen3": ("Qwen3", {"head_dim": 6}),
    "llama": (
        "Llama",
        {
            "rope_parameters": {
                "rope_type": "llama3",
                "rope_theta": 100.0,
                "factor": 4.0,
                "low_freq_factor": 1.0,
                "high_freq_factor": 4.0,
                "original_max_position_embeddings": 8,
            },
            "num_hidden_layers": 1,
        },
    ),
    "yarn": (
        "Qwen3",
        {
            "head_dim": 8,
            "rope_parameters": {
                "rope_type": "yarn",
                "rope_theta": 100.0,
                "factor": 4.0,
                "original_max_position_embeddings": 8,
            },
        },
    ),
    "qwen2_window": (
        "Qwen2",
        {"use_sliding_window": True, "sliding_window": 3, "max_window_layers": 1},
    ),
    "mistral_window": ("Mistral", {"sliding_window": 2, "head_dim": 2}),
    "qwen2_moe": (
        "Qwen2Moe",
        {
            **EXPERTS,
            "num_experts": 3,
            "shared_expert_intermediate_size": 12,
            "norm_topk_prob": False,
        },
    ),
    "qwen3_moe": (
        "Qwen3Moe",
        {
            **EXPERTS,
            "num_experts": 3,
            "head_dim": 4,
            "norm_topk_prob": True,
            "decoder_sparse_step": 2,
        },
    ),
    "mixtral": (
        "Mixtral",
        {"num_local_experts": 3, "num_experts_per_tok": 2, "num_hidden_layers": 1},
    ),
    "mixtral_window": (
        "Mixtral",
        {
            "num_local_experts": 3,
            "num_experts_per_tok": 2,
            "sliding_window": 3,
            "num_hidden_layers": 1,
        },
    ),
}


def build(name: str, seed: int):
    """The model of a case with random weights."""
    import torch
    import transformers

    kind, options = CASES[name]
    config = getattr(transformers, f"{kind}Config")(**{**SIZES, **options})
    torch.manual_seed(seed)
    model = getattr(transformers, f"{kind}ForCausalLM")(config).eval()
    with torch.no_grad():
        for key, p in model.named_parameters():
            p.copy_(0.3 * torch.randn_like(p) + ("norm" in key))
    return model


def expected(model, seed: int) -> dict[str, np.ndarray]:
    """Tokens, their scores, and the likeliest continuation."""
    import torch

    torch.manual_seed(seed)
    ids = torch.randint(0, SIZES["vocab_size"], (2, 6))
    with torch.no_grad():
        logits = model(ids).logits
        greedy = model.generate(
            ids, attention_mask=torch.ones_like(ids), max_new_tokens=4, do_sample=False,
            pad_token_id=0, eos_token_id=None,
        )  # fmt: skip
    return {"ids": ids.numpy(), "logits": logits.numpy(), "greedy": greedy.numpy()}


def write(name: str, folder: pathlib.Path, seed: int, **options: object) -> None:
    model = build(name, seed)
    model.save_pretrained(folder, **options)
    (folder / "generation_config.json").unlink(missing_ok=True)
    np.savez(folder / "expected.npz", **expected(model, seed + 1))


if __name__ == "__main__":
    for case in sys.argv[1:] or CASES:
        write(case, DATA / case, seed=0)
