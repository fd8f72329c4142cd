"""Normalisation: mean 0 and variance 1 over some dimensions."""

from __future__ import annotations

import math

from genesis import _C
from genesis._C import Tensor, group_norm, layer_norm, rms_norm
from genesis._dtype_info import require_real

__all__ = [
    "batch_norm",
    "group_norm",
    "instance_norm",
    "layer_norm",
    "local_response_norm",
    "rms_norm",
]


def batch_norm(
    input: Tensor,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    training: bool = False,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel (dimension 1) over everything else, then weight and bias.

    When training, the statistics are those of ``input``, and the running ones move towards them by
    ``momentum``; else they are the running ones.

    >>> x = genesis.tensor([[1.0, 10.0], [3.0, 30.0]])
    >>> batch_norm(x, None, None, training=True)
    tensor([[-1.0000, -1.0000],
            [ 1.0000,  1.0000]])
    """
    return _C._batch_norm(input, running_mean, running_var, weight, bias, training, momentum, eps)


def instance_norm(
    input: Tensor,
    running_mean: Tensor | None = None,
    running_var: Tensor | None = None,
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    use_input_stats: bool = True,
    momentum: float = 0.1,
    eps: float = 1e-5,
) -> Tensor:
    """Normalises each channel of each sample by itself, then weight and bias.

    The running statistics, if given, move towards the batch's average; they are used in place of
    the input's own with ``use_input_stats=False``.

    >>> instance_norm(genesis.tensor([[[1.0, 3.0], [10.0, 30.0]]]))
    tensor([[[-1.0000,  1.0000],
             [-1.0000,  1.0000]]])
    """
    if not use_input_stats:
        if running_mean is None or running_var is None:
            raise ValueError(
                "instance_norm: running_mean and running_var are needed with use_input_stats=False"
            )
        return _C._batch_norm(input, running_mean, running_var, weight, bias, False, momentum, eps)
    if math.prod(input.shape[2:]) == 1:
        raise _C.ShapeError(
            "instance_norm: expected more than 1 element in each channel of each sample, "
            f"got input of shape {tuple(input.shape)}"
        )
    out = group_norm(input, input.shape[1], weight, bias, eps)
    if running_mean is not None or running_var is not None:  # once nothing else can fail
        dims = tuple(range(2, input.ndim))
        with _C.no_grad():
            var, mean = _C.var_mean(input, dims, correction=1)
            for running, seen in ((running_mean, mean), (running_var, var)):
                if running is not None:
                    running.mul_(1 - momentum).add_(seen.mean(0).to(running.dtype), alpha=momentum)
    return out


def local_response_norm(
    input: Tensor, size: int, alpha: float = 1e-4, beta: float = 0.75, k: float = 1.0
) -> Tensor:
    """Divides by ``(k + alpha * mean(x**2)) ** beta``, the mean over ``size`` channels around.

    Channels beyond the first and the last count as zeros.

    >>> local_response_norm(genesis.ones(1, 3, 2), size=3, alpha=3.0)[0, :, 0]
    tensor([0.4387, 0.3536, 0.4387])
    """
    require_real("local_response_norm", input)
    if input.ndim < 3:
        raise _C.ShapeError(
            "local_response_norm: input must have at least 3 dimensions (samples, channels, ...), "
            f"got shape {tuple(input.shape)}"
        )
    if size < 1:
        raise ValueError(f"local_response_norm: size must be at least 1, got {size}")
    if input.numel() == 0:
        return input.clone()
    squares = input * input
    before, after = (
        squares.new_zeros((input.shape[0], n, *input.shape[2:]))
        for n in (size // 2, (size - 1) // 2)
    )
    windows = _C.cat((before, squares, after), 1).unfold(1, size, 1)
    return input / (windows.mean(-1) * alpha + k).pow(beta)
