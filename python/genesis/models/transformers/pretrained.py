"""Weights of a directory as Hugging Face writes it: safetensors, in one file or in several."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping
from typing import Any

import genesis
from genesis import Tensor, nn
from genesis.serialization import load_file

# Names of models whose parts are called otherwise: Mixtral's, and Qwen's shared expert.
_RENAMED = [
    (re.compile(pattern), name)
    for pattern, name in (
        (r"\.block_sparse_moe\.", ".mlp."),
        (r"(\.experts\.\d+)\.w1\.", r"\1.gate_proj."),
        (r"(\.experts\.\d+)\.w3\.", r"\1.up_proj."),
        (r"(\.experts\.\d+)\.w2\.", r"\1.down_proj."),
        (r"\.shared_expert\.", ".shared_experts."),
        (r"^model\.lm_head\.", "lm_head."),
    )
]


def read_weights(path: str | os.PathLike[str]) -> dict[str, Tensor]:
    """All tensors of ``model.safetensors``, or of the files that its index lists."""
    folder = os.fspath(path)
    index = os.path.join(folder, "model.safetensors.index.json")
    if os.path.exists(index):
        with open(index, encoding="utf-8") as file:
            files = sorted(set(json.load(file)["weight_map"].values()))
    else:
        files = ["model.safetensors"]
    weights: dict[str, Tensor] = {}
    for name in files:
        if os.path.basename(name) != name:
            raise ValueError(f"from_pretrained: {index} names {name!r}, outside its directory")
        weights.update(load_file(os.path.join(folder, name)))
    return weights


def _separate_experts(name: str, x: Tensor) -> dict[str, Tensor]:
    """The matrices of each expert, where a file stacks those of all experts."""
    found = re.fullmatch(r"(.*\.experts)\.(gate_up_proj|down_proj)(?:\.weight)?", name)
    if found is None or x.ndim != 3:
        return {name: x}
    prefix, kind = found.groups()
    parts: dict[str, Tensor] = {}
    for i, matrix in enumerate(x.unbind(0)):
        if kind == "down_proj":
            parts[f"{prefix}.{i}.down_proj.weight"] = matrix
        else:
            gate, up = matrix.chunk(2, 0)
            parts[f"{prefix}.{i}.gate_proj.weight"] = gate
            parts[f"{prefix}.{i}.up_proj.weight"] = up
    return parts


def renamed(weights: Mapping[str, Any]) -> dict[str, Any]:
    """Weights under the names that the models here have."""
    found: dict[str, Any] = {}
    for name, value in weights.items():
        for pattern, replacement in _RENAMED:
            name = pattern.sub(replacement, name)
        if isinstance(value, Tensor):
            found.update(_separate_experts(name, value))
        else:
            found[name] = value
    return {k: v for k, v in found.items() if not k.endswith("rotary_emb.inv_freq")}


def load_weights(model: nn.Module, path: str | os.PathLike[str]) -> None:
    """Put the weights of a directory into a model."""
    with genesis.no_grad():
        model.load_state_dict(read_weights(path))
