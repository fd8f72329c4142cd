"""First values of parameters. Every function fills a tensor in place, outside the graph, and
returns it.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable
from functools import wraps

from genesis import _C, _overridable
from genesis._C import Generator, Tensor
from genesis._missing import explain

__all__ = [
    "calculate_gain",
    "constant",
    "constant_",
    "dirac",
    "dirac_",
    "eye",
    "eye_",
    "kaiming_normal",
    "kaiming_normal_",
    "kaiming_uniform",
    "kaiming_uniform_",
    "normal",
    "normal_",
    "ones_",
    "orthogonal",
    "orthogonal_",
    "sparse",
    "sparse_",
    "trunc_normal_",
    "uniform",
    "uniform_",
    "xavier_normal",
    "xavier_normal_",
    "xavier_uniform",
    "xavier_uniform_",
    "zeros_",
]

_LINEAR = {
    "linear", "conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d",
    "conv_transpose3d", "sigmoid",
}  # fmt: skip
_GAINS = {"tanh": 5 / 3, "relu": math.sqrt(2), "selu": 3 / 4}


def calculate_gain(nonlinearity: str, param: float | None = None) -> float:
    """By how much weights before a nonlinearity are to be larger, so that the variance stays.

    >>> calculate_gain("tanh")
    1.6666666666666667
    """
    if nonlinearity in _LINEAR:
        return 1.0
    if nonlinearity in _GAINS:
        return _GAINS[nonlinearity]
    if nonlinearity == "leaky_relu":
        slope = 0.01 if param is None else param
        if isinstance(slope, bool) or not isinstance(slope, (int, float)):
            raise ValueError(
                f"calculate_gain: the slope of leaky_relu must be a number, got {slope!r}"
            )
        return math.sqrt(2 / (1 + slope**2))
    known = sorted({*_LINEAR, *_GAINS, "leaky_relu"})
    raise ValueError(f"calculate_gain: unknown nonlinearity {nonlinearity!r}; known are {known}")


def uniform_(
    tensor: Tensor, a: float = 0.0, b: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Uniform numbers between a and b.

    >>> bool((uniform_(genesis.empty(100), -2.0, 3.0).abs() <= 3).all())
    True
    """
    with _C.no_grad():
        return tensor.uniform_(a, b, generator=generator)


def normal_(
    tensor: Tensor, mean: float = 0.0, std: float = 1.0, generator: Generator | None = None
) -> Tensor:
    """Normal numbers.

    >>> normal_(genesis.empty(2, 3), std=0.02).shape
    genesis.Size([2, 3])
    """
    with _C.no_grad():
        return tensor.normal_(mean, std, generator=generator)


def trunc_normal_(
    tensor: Tensor,
    mean: float = 0.0,
    std: float = 1.0,
    a: float = -2.0,
    b: float = 2.0,
    generator: Generator | None = None,
) -> Tensor:
    """Normal numbers, drawn again while they are outside [a, b].

    >>> float(trunc_normal_(genesis.empty(1000), a=-1.0, b=0.5).max()) <= 0.5
    True
    """

    def below(x: float) -> float:
        return (1 + math.erf((x - mean) / std / math.sqrt(2))) / 2

    if mean < a - 2 * std or mean > b + 2 * std:
        warnings.warn(
            f"trunc_normal_: mean {mean} is more than 2 std ({std}) outside [{a}, {b}]; the "
            "distribution of the values may be incorrect",
            stacklevel=2,
        )
    with _C.no_grad():
        # The inverse of the distribution function, of uniform numbers between its values there.
        tensor.uniform_(2 * below(a) - 1, 2 * below(b) - 1, generator=generator)
        return tensor.erfinv_().mul_(std * math.sqrt(2)).add_(mean).clamp_(a, b)


def constant_(tensor: Tensor, val: float) -> Tensor:
    """One value everywhere.

    >>> constant_(genesis.empty(2), 0.3)
    tensor([0.3000, 0.3000])
    """
    with _C.no_grad():
        return tensor.fill_(val)


def ones_(tensor: Tensor) -> Tensor:
    """Ones.

    >>> ones_(genesis.empty(2))
    tensor([1., 1.])
    """
    return constant_(tensor, 1.0)


def zeros_(tensor: Tensor) -> Tensor:
    """Zeros.

    >>> zeros_(genesis.empty(2))
    tensor([0., 0.])
    """
    return constant_(tensor, 0.0)


def eye_(tensor: Tensor) -> Tensor:
    """The identity, as far as it goes.

    >>> eye_(genesis.empty(2, 3)).tolist()
    [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
    """
    if tensor.ndim != 2:
        raise ValueError(f"eye_: only 2-d tensors are supported, got {tuple(tensor.shape)}")
    with _C.no_grad():
        tensor.zero_().diagonal().fill_(1)
    return tensor


def dirac_(tensor: Tensor, groups: int = 1) -> Tensor:
    """The weight of a convolution that returns its input, as far as there are channels.

    >>> dirac_(genesis.empty(2, 2, 3)).tolist()[0]
    [[0.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
    """
    if tensor.ndim not in (3, 4, 5):
        raise ValueError(
            f"dirac_: only 3-d, 4-d and 5-d tensors are supported, got {tuple(tensor.shape)}"
        )
    if tensor.shape[0] % groups:
        raise ValueError(f"dirac_: dimension 0, {tensor.shape[0]}, must be divisible by {groups}")
    outputs = tensor.shape[0] // groups
    middle = tuple(n // 2 for n in tensor.shape[2:])
    with _C.no_grad():
        tensor.zero_()
        for group in range(groups):
            for d in range(min(outputs, tensor.shape[1])):
                index = (group * outputs + d, d, *middle)
                tensor[index] = 1
    return tensor


def _calculate_fan_in_and_fan_out(tensor: Tensor) -> tuple[int, int]:
    if tensor.ndim < 2:
        raise ValueError(
            "fan in and fan out: a tensor of at least 2 dimensions is needed, got "
            f"{tuple(tensor.shape)}"
        )
    field = math.prod(tensor.shape[2:])
    return tensor.shape[1] * field, tensor.shape[0] * field


def _calculate_correct_fan(tensor: Tensor, mode: str) -> int:
    modes = ("fan_in", "fan_out")
    if mode.lower() not in modes:
        raise ValueError(f"kaiming: mode must be 'fan_in' or 'fan_out', got {mode!r}")
    return _calculate_fan_in_and_fan_out(tensor)[modes.index(mode.lower())]


def xavier_uniform_(
    tensor: Tensor, gain: float = 1.0, generator: Generator | None = None
) -> Tensor:
    r"""Glorot: uniform in :math:`\pm \text{gain} \sqrt{6 / (\text{fan in} + \text{fan out})}`.

    >>> float(xavier_uniform_(genesis.empty(3, 3)).abs().max()) <= 1.0
    True
    """
    bound = gain * math.sqrt(6 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return uniform_(tensor, -bound, bound, generator)


def xavier_normal_(tensor: Tensor, gain: float = 1.0, generator: Generator | None = None) -> Tensor:
    r"""Glorot: normal, of std :math:`\text{gain} \sqrt{2 / (\text{fan in} + \text{fan out})}`.

    >>> xavier_normal_(genesis.empty(3, 5), gain=calculate_gain("relu")).shape
    genesis.Size([3, 5])
    """
    std = gain * math.sqrt(2 / sum(_calculate_fan_in_and_fan_out(tensor)))
    return normal_(tensor, 0.0, std, generator)


def _kaiming_std(tensor: Tensor, a: float, mode: str, nonlinearity: str) -> float | None:
    """None if there is nothing to fill."""
    if 0 in tensor.shape:
        warnings.warn("Initializing zero-element tensors is a no-op", stacklevel=3)
        return None
    fan = _calculate_correct_fan(tensor, mode)
    return calculate_gain(nonlinearity, a) / math.sqrt(fan)


def kaiming_uniform_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    r"""He: uniform in :math:`\pm \text{gain} \sqrt{3 / \text{fan}}`; a is the slope of leaky_relu.

    >>> float(kaiming_uniform_(genesis.empty(3, 24)).abs().max()) <= 0.5
    True
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    if std is None:
        return tensor
    bound = math.sqrt(3.0) * std
    return uniform_(tensor, -bound, bound, generator)


def kaiming_normal_(
    tensor: Tensor,
    a: float = 0,
    mode: str = "fan_in",
    nonlinearity: str = "leaky_relu",
    generator: Generator | None = None,
) -> Tensor:
    r"""He: normal, of std :math:`\text{gain} / \sqrt{\text{fan}}`; a is the slope of leaky_relu.

    >>> kaiming_normal_(genesis.empty(3, 5), mode="fan_out", nonlinearity="relu").shape
    genesis.Size([3, 5])
    """
    std = _kaiming_std(tensor, a, mode, nonlinearity)
    return tensor if std is None else normal_(tensor, 0.0, std, generator)


def orthogonal_(tensor: Tensor, gain: float = 1, generator: Generator | None = None) -> Tensor:
    """A random matrix with orthonormal rows, or columns, whichever are fewer, times ``gain``.

    Dimensions after the first count as one.

    >>> q = orthogonal_(genesis.empty(3, 5, dtype=genesis.float64))
    >>> genesis.allclose(q @ q.T, genesis.eye(3, dtype=genesis.float64))
    True
    """
    if tensor.ndim < 2:
        raise ValueError(
            f"orthogonal_: a tensor of at least 2 dimensions is needed, got {tuple(tensor.shape)}"
        )
    if tensor.numel() == 0:
        return tensor
    if tensor.is_meta:
        return tensor
    rows = tensor.shape[0]
    columns = tensor.numel() // rows
    with _C.no_grad():
        wide = _C.float64 if tensor.dtype == _C.float64 else _C.float32
        drawn = _C.empty(rows, columns, dtype=wide).normal_(0, 1, generator=generator)
        q, r = _C.linalg_qr(drawn.T if rows < columns else drawn)
        q = q * r.diagonal().sign()  # makes the distribution uniform
        return tensor.copy_((q.T if rows < columns else q).reshape(tensor.shape) * gain)


def sparse_(
    tensor: Tensor, sparsity: float, std: float = 0.01, generator: Generator | None = None
) -> Tensor:
    """Normal numbers, of which a part ``sparsity`` in each column is zero.

    >>> int((sparse_(genesis.empty(10, 4), 0.3) == 0).sum())
    12
    """
    if tensor.ndim != 2:
        raise ValueError(f"sparse_: only 2-d tensors are supported, got {tuple(tensor.shape)}")
    rows, columns = tensor.shape
    zeros = math.ceil(sparsity * rows)
    with _C.no_grad():
        tensor.normal_(0, std, generator=generator)
        for column in range(columns):
            tensor[_C.randperm(rows, generator=generator)[:zeros], column] = 0
    return tensor


def _old_name(function: Callable[..., Tensor]) -> Callable[..., Tensor]:
    new, old = function.__name__, function.__name__.rstrip("_")

    @wraps(function)
    def deprecated(*args: object, **kwargs: object) -> Tensor:
        warnings.warn(
            f"nn.init.{old} is now deprecated in favor of nn.init.{new}.",
            FutureWarning,
            stacklevel=2,
        )
        return function(*args, **kwargs)

    deprecated.__name__ = deprecated.__qualname__ = old
    deprecated.__doc__ = f"The old name of ``{new}``."
    return deprecated


uniform = _old_name(uniform_)
normal = _old_name(normal_)
constant = _old_name(constant_)
eye = _old_name(eye_)
dirac = _old_name(dirac_)
xavier_uniform = _old_name(xavier_uniform_)
xavier_normal = _old_name(xavier_normal_)
kaiming_uniform = _old_name(kaiming_uniform_)
kaiming_normal = _old_name(kaiming_normal_)
orthogonal = _old_name(orthogonal_)
sparse = _old_name(sparse_)

_overridable.make_overridable(__all__, globals())

explain(globals())
