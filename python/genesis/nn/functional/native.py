"""Functions that the native module has under the same name."""

from genesis._C import (
    dropout,
    elu,
    embedding,
    gelu,
    leaky_relu,
    linear,
    log_softmax,
    one_hot,
    relu,
    relu_,
    sigmoid,
    silu,
    softmax,
    softmin,
    softplus,
    tanh,
)

__all__ = [
    "dropout",
    "elu",
    "embedding",
    "gelu",
    "leaky_relu",
    "linear",
    "log_softmax",
    "one_hot",
    "relu",
    "relu_",
    "sigmoid",
    "silu",
    "softmax",
    "softmin",
    "softplus",
    "tanh",
]
