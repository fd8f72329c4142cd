"""The operations that layers are made of, as functions."""

from genesis._C import (
    dropout,
    elu,
    gelu,
    leaky_relu,
    linear,
    relu,
    relu_,
    sigmoid,
    silu,
    softplus,
    tanh,
)

__all__ = [
    "dropout",
    "elu",
    "gelu",
    "leaky_relu",
    "linear",
    "relu",
    "relu_",
    "sigmoid",
    "silu",
    "softplus",
    "tanh",
]
