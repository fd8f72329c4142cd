"""Convolutions and their transposes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = [
    "Conv1d",
    "Conv2d",
    "Conv3d",
    "ConvTranspose1d",
    "ConvTranspose2d",
    "ConvTranspose3d",
]

Numbers = int | Sequence[int]
_PADDING_MODES = ("zeros", "reflect", "replicate", "circular")


def _tuple(layer: str, argument: str, numbers: Numbers, spatial: int) -> tuple[int, ...]:
    if isinstance(numbers, int):
        return (numbers,) * spatial
    if len(numbers) == 1:
        return (*numbers,) * spatial
    if len(numbers) != spatial:
        raise ValueError(f"{layer}: {argument} must be one number or {spatial}, got {numbers}")
    return tuple(numbers)


class _Conv(Module):
    """What all six have in common."""

    _spatial: int
    _transposed = False
    weight: Parameter
    bias: Parameter | None

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers,
        padding: str | Numbers,
        dilation: Numbers,
        output_padding: Numbers,
        groups: int,
        bias: bool,
        padding_mode: str,
        device: Any,
        dtype: _C.dtype | None,
    ) -> None:
        super().__init__()
        name, spatial = type(self).__name__, self._spatial
        if groups <= 0:
            raise ValueError(f"{name}: groups must be positive, got {groups}")
        for which, channels in (("in", in_channels), ("out", out_channels)):
            if channels % groups:
                raise ValueError(
                    f"{name}: {which}_channels={channels} must be divisible by groups={groups}"
                )
        if padding_mode not in (_PADDING_MODES[:1] if self._transposed else _PADDING_MODES):
            allowed = "'zeros'" if self._transposed else ", ".join(map(repr, _PADDING_MODES))
            raise ValueError(f"{name}: padding_mode must be {allowed}; got {padding_mode!r}")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.kernel_size = _tuple(name, "kernel_size", kernel_size, spatial)
        self.stride = _tuple(name, "stride", stride, spatial)
        self.padding: str | tuple[int, ...]
        if isinstance(padding, str):
            if padding not in ("same", "valid"):
                raise ValueError(
                    f"{name}: padding must be 'same', 'valid' or numbers, got {padding!r}"
                )
            if padding == "same" and any(step != 1 for step in self.stride):
                raise ValueError(f"{name}: padding='same' needs stride 1, got {self.stride}")
            self.padding = padding
        else:
            self.padding = _tuple(name, "padding", padding, spatial)
        self.dilation = _tuple(name, "dilation", dilation, spatial)
        self.transposed = self._transposed
        self.output_padding = _tuple(name, "output_padding", output_padding, spatial)
        self.groups = groups
        self.padding_mode = padding_mode
        outer, inner = out_channels, in_channels // groups
        if self._transposed:
            outer, inner = in_channels, out_channels // groups
        shape = (outer, inner, *self.kernel_size)
        self.weight = Parameter(_C.empty(shape, dtype=dtype, device=device))
        self.register_parameter(
            "bias", Parameter(_C.empty(out_channels, dtype=dtype, device=device)) if bias else None
        )
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize weight and bias, uniform in plus or minus 1 / sqrt(inputs of one output)."""
        init.kaiming_uniform_(self.weight, a=math.sqrt(5))
        if self.bias is not None:
            fan_in = math.prod(self.weight.shape[1:])
            if fan_in:
                bound = 1 / math.sqrt(fan_in)
                init.uniform_(self.bias, -bound, bound)

    def _continued(self, input: Tensor) -> Tensor:
        """`input` padded according to padding_mode."""
        if self.padding == "valid":
            return input
        amounts: list[int] = []  # from the last dimension on
        for d in reversed(range(self._spatial)):
            if isinstance(self.padding, str):
                total = (self.kernel_size[d] - 1) * self.dilation[d]
                amounts += [total // 2, total - total // 2]
            else:
                amounts += [self.padding[d], self.padding[d]]
        return F.pad(input, amounts, self.padding_mode)

    def extra_repr(self) -> str:
        parts = [
            f"{self.in_channels}, {self.out_channels}",
            f"kernel_size={self.kernel_size}, stride={self.stride}",
        ]
        if self.padding != (0,) * self._spatial:
            parts.append(f"padding={self.padding}")
        if self.dilation != (1,) * self._spatial:
            parts.append(f"dilation={self.dilation}")
        if self.output_padding != (0,) * self._spatial:
            parts.append(f"output_padding={self.output_padding}")
        if self.groups != 1:
            parts.append(f"groups={self.groups}")
        if self.bias is None:
            parts.append("bias=False")
        if self.padding_mode != "zeros":
            parts.append(f"padding_mode={self.padding_mode}")
        return ", ".join(parts)


class _Forward(_Conv):
    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: str | Numbers = 0,
        dilation: Numbers = 1,
        groups: int = 1,
        bias: bool = True,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, 0, groups, bias,
            padding_mode, device, dtype,
        )  # fmt: skip

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        """The convolution with this weight and bias; subclasses call it with their own."""
        raise NotImplementedError

    def forward(self, input: Tensor) -> Tensor:
        return self._conv_forward(input, self.weight, self.bias)


class Conv1d(_Forward):
    r"""Correlates (batch, channels, length) with a learned kernel for each output channel.

    ``padding`` may be numbers, ``"same"`` or ``"valid"``; ``padding_mode`` says what is there:
    zeros, reflect, replicate or circular. With ``groups``, channels only see their own group's.
    Weight and bias begin uniform in :math:`\pm 1/\sqrt{\text{inputs of one output}}`.

    >>> Conv1d(16, 33, 3, stride=2)(genesis.ones(20, 16, 50)).shape
    genesis.Size([20, 33, 24])
    """

    _spatial = 1

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: str | tuple[int, ...] = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._continued(input), (0,)
        return F.conv1d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv2d(_Forward):
    """Correlates (batch, channels, height, width) with a learned kernel for each output channel.

    The arguments are those of :class:`Conv1d`, with one number or two.

    >>> Conv2d(16, 33, (3, 5), stride=(2, 1), padding=(4, 2))(genesis.ones(2, 16, 50, 100)).shape
    genesis.Size([2, 33, 28, 100])
    """

    _spatial = 2

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: str | tuple[int, ...] = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._continued(input), (0, 0)
        return F.conv2d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class Conv3d(_Forward):
    """Correlates (batch, channels, depth, height, width) with a kernel for each output channel.

    The arguments are those of :class:`Conv1d`, with one number or three.

    >>> Conv3d(4, 6, 3, stride=2)(genesis.ones(2, 4, 10, 11, 12)).shape
    genesis.Size([2, 6, 4, 5, 5])
    """

    _spatial = 3

    def _conv_forward(self, input: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        padding: str | tuple[int, ...] = self.padding
        if self.padding_mode != "zeros":
            input, padding = self._continued(input), (0, 0, 0)
        return F.conv3d(input, weight, bias, self.stride, padding, self.dilation, self.groups)


class _Transposed(_Conv):
    _transposed = True
    padding: tuple[int, ...]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Numbers,
        stride: Numbers = 1,
        padding: Numbers = 0,
        output_padding: Numbers = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Numbers = 1,
        padding_mode: str = "zeros",
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        if isinstance(padding, str):
            raise TypeError(
                f"{type(self).__name__}: padding must be numbers, got {padding!r}; "
                "'same' and 'valid' are for convolutions that are not transposed"
            )
        super().__init__(
            in_channels, out_channels, kernel_size, stride, padding, dilation, output_padding,
            groups, bias, padding_mode, device, dtype,
        )  # fmt: skip

    def _output_padding(self, input: Tensor, output_size: Sequence[int] | None) -> tuple[int, ...]:
        """What is missing to a result of size `output_size`."""
        if output_size is None:
            return self.output_padding
        spatial, name = self._spatial, type(self).__name__
        if len(output_size) not in (spatial, input.dim()):
            raise ValueError(
                f"{name}: output_size must have {spatial} numbers, or {input.dim()} as a shape, "
                f"got {tuple(output_size)}"
            )
        sizes = input.shape[-spatial:]
        missing = []
        for d, wanted in enumerate(output_size[-spatial:]):
            least = (sizes[d] - 1) * self.stride[d] - 2 * self.padding[d]
            least += self.dilation[d] * (self.kernel_size[d] - 1) + 1
            if not least <= wanted < least + self.stride[d]:
                raise ValueError(
                    f"{name}: input of shape {tuple(input.shape)} gives size {least} to "
                    f"{least + self.stride[d] - 1} in spatial dimension {d}, but output_size is "
                    f"{tuple(output_size)}"
                )
            missing.append(wanted - least)
        return tuple(missing)


class ConvTranspose1d(_Transposed):
    """The transpose of :class:`Conv1d` in its input: it takes (batch, channels, length) back.

    Weight is (in_channels, out_channels / groups, kernel_size). ``output_padding``, or
    ``output_size`` of the call, chooses among the lengths that a strided convolution maps to one.

    >>> layer = ConvTranspose1d(16, 4, 3, stride=2, padding=1)
    >>> layer(genesis.ones(2, 16, 10), output_size=(20,)).shape
    genesis.Size([2, 4, 20])
    """

    _spatial = 1

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose1d(
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


class ConvTranspose2d(_Transposed):
    """The transpose of :class:`Conv2d` in its input; see :class:`ConvTranspose1d`.

    >>> ConvTranspose2d(16, 4, 3, stride=2, padding=1)(genesis.ones(2, 16, 10, 12)).shape
    genesis.Size([2, 4, 19, 23])
    """

    _spatial = 2

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose2d(
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


class ConvTranspose3d(_Transposed):
    """The transpose of :class:`Conv3d` in its input; see :class:`ConvTranspose1d`.

    >>> ConvTranspose3d(4, 2, 3, stride=2)(genesis.ones(2, 4, 3, 4, 5)).shape
    genesis.Size([2, 2, 7, 9, 11])
    """

    _spatial = 3

    def forward(self, input: Tensor, output_size: Sequence[int] | None = None) -> Tensor:
        return F.conv_transpose3d(
            input, self.weight, self.bias, self.stride, self.padding,
            self._output_padding(input, output_size), self.groups, self.dilation,
        )  # fmt: skip


# PyTorch's names, for packages that subclass them or ask for an instance.
_ConvNd = _Conv
_ConvTransposeNd = _Transposed
