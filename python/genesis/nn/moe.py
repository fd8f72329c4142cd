"""The parts of models with experts (`genesis.models.transformers`), under an earlier name."""

from genesis.models.transformers.moe import (
    MoEExpert,
    MoEGate,
    MoELayer,
    MoETransformerBlock,
)

__all__ = ["MoEExpert", "MoEGate", "MoELayer", "MoETransformerBlock"]
