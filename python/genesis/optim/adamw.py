"""AdamW in a module of its own."""

from genesis.optim.adam import AdamW

__all__ = ["AdamW"]
