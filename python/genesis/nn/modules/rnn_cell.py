"""One step of a recurrent layer."""

from __future__ import annotations

import math
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import init
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["GRUCell", "LSTMCell", "RNNCell", "RNNCellBase"]


class RNNCellBase(Module):
    """What the cells share: their weights.

    >>> RNNCellBase(3, 4, bias=True, num_chunks=2).weight_ih.shape
    genesis.Size([8, 3])
    """

    weight_ih: Parameter
    weight_hh: Parameter
    bias_ih: Parameter | None
    bias_hh: Parameter | None

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool,
        num_chunks: int,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.bias = bias
        columns = num_chunks * hidden_size

        def parameter(*shape: int) -> Parameter:
            return Parameter(_C.empty(shape, device=device, dtype=dtype))

        self.weight_ih = parameter(columns, input_size)
        self.weight_hh = parameter(columns, hidden_size)
        self.register_parameter("bias_ih", parameter(columns) if bias else None)
        self.register_parameter("bias_hh", parameter(columns) if bias else None)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize all weights, uniform in plus or minus 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size) if self.hidden_size > 0 else 0
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        if not self.bias:
            said += ", bias=False"
        nonlinearity = getattr(self, "nonlinearity", "tanh")
        return said if nonlinearity == "tanh" else f"{said}, nonlinearity={nonlinearity}"

    def _step(self, mode: str, input: Tensor, hx: tuple[Tensor, ...] | None) -> tuple[Tensor, ...]:
        name = type(self).__name__
        if input.ndim not in (1, 2):
            raise ValueError(
                f"{name}: input must have shape (batch, {self.input_size}) or "
                f"({self.input_size},), got {tuple(input.shape)}"
            )
        for state in hx or ():
            if state.ndim != input.ndim:
                raise ValueError(
                    f"{name}: the state has shape {tuple(state.shape)}, but input has shape "
                    f"{tuple(input.shape)}: either both have a batch or none"
                )
        states = hx or ()
        if input.ndim == 1:
            states = tuple(s.unsqueeze(0) for s in states)
        x = input.unsqueeze(0) if input.ndim == 2 else input.reshape(1, 1, -1)
        _, h, c = _C._recurrent_layer(
            mode,
            x,
            None,
            states[0] if states else None,
            states[1] if len(states) > 1 else None,
            self.weight_ih,
            self.weight_hh,
            self.bias_ih,
            self.bias_hh,
        )
        last = (h,) if c is None else (h, c)
        return last if input.ndim == 2 else tuple(s.squeeze(0) for s in last)


class RNNCell(RNNCellBase):
    """``tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)``, or relu for tanh.

    >>> RNNCell(3, 4)(genesis.ones(2, 3)).shape
    genesis.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        nonlinearity: str = "tanh",
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(
                f"RNNCell: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}"
            )
        super().__init__(input_size, hidden_size, bias, 1, device, dtype)
        self.nonlinearity = nonlinearity

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        mode = f"RNN_{self.nonlinearity.upper()}"
        return self._step(mode, input, None if hx is None else (hx,))[0]


class LSTMCell(RNNCellBase):
    """One step of an LSTM: from input and (h, c) to the new (h, c).

    >>> h, c = LSTMCell(3, 4)(genesis.ones(2, 3))
    >>> h.shape, c.shape
    (genesis.Size([2, 4]), genesis.Size([2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 4, device, dtype)

    def forward(
        self, input: Tensor, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, Tensor]:
        h, c = self._step("LSTM", input, hx)
        return h, c


class GRUCell(RNNCellBase):
    """One step of a GRU.

    >>> GRUCell(3, 4)(genesis.ones(2, 3), genesis.zeros(2, 4)).shape
    genesis.Size([2, 4])
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(input_size, hidden_size, bias, 3, device, dtype)

    def forward(self, input: Tensor, hx: Tensor | None = None) -> Tensor:
        return self._step("GRU", input, None if hx is None else (hx,))[0]
