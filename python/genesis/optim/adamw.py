"""AdamW as a separate module."""

from genesis.optim.adam import AdamW

__all__ = ["AdamW"]
