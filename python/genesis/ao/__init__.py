"""Quantization: Genesis computes with floating numbers."""

from genesis.ao import quantization

__all__ = ["quantization"]
