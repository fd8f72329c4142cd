"""Modules called with other parameters than their own."""

from genesis.func import functional_call

__all__ = ["functional_call"]
