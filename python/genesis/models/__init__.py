"""Models that are more than a layer, written with `genesis.nn` only."""

from genesis.models import transformers

__all__ = ["transformers"]
