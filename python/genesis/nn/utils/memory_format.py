"""The memory format of the weights of convolutions."""

from __future__ import annotations

from typing import TypeVar

from genesis import _C
from genesis.nn.modules.conv import Conv2d, Conv3d, ConvTranspose2d, ConvTranspose3d
from genesis.nn.modules.module import Module

__all__ = ["convert_conv2d_weight_memory_format", "convert_conv3d_weight_memory_format"]

M = TypeVar("M", bound=Module)


def _convert(module: Module, kinds: tuple[type[Module], ...], order: _C.memory_format) -> None:
    for layer in module.modules():
        if isinstance(layer, kinds):
            layer.weight.data = layer.weight.detach().clone(memory_format=order)


def convert_conv2d_weight_memory_format(module: M, memory_format: _C.memory_format) -> M:
    """Set the memory format of the weights of all ``Conv2d`` and ``ConvTranspose2d`` in a module.

    A convolution of a weight that is channels last gives images that are. Other parameters stay.

    >>> layer = genesis.nn.Conv2d(3, 4, 2)
    >>> layer = convert_conv2d_weight_memory_format(layer, genesis.channels_last)
    >>> layer.weight.is_contiguous(memory_format=genesis.channels_last)
    True
    """
    _convert(module, (Conv2d, ConvTranspose2d), memory_format)
    return module


def convert_conv3d_weight_memory_format(module: M, memory_format: _C.memory_format) -> M:
    """Set the memory format of the weights of all ``Conv3d`` and ``ConvTranspose3d`` in a module.

    >>> layer = genesis.nn.Conv3d(3, 4, 2)
    >>> layer = convert_conv3d_weight_memory_format(layer, genesis.channels_last_3d)
    >>> layer.weight.is_contiguous(memory_format=genesis.channels_last_3d)
    True
    """
    _convert(module, (Conv3d, ConvTranspose3d), memory_format)
    return module
