"""Recurrent layers."""

from __future__ import annotations

import math
import warnings
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import init
from genesis.nn._packed import PackedSequence
from genesis.nn.modules.module import Module
from genesis.nn.parameter import Parameter

__all__ = ["GRU", "LSTM", "RNN", "RNNBase"]

_GATES = {"LSTM": 4, "GRU": 3, "RNN_TANH": 1, "RNN_RELU": 1}
State = tuple[Tensor, ...]  # h, and c of an LSTM


class RNNBase(Module):
    """What RNN, LSTM and GRU share: weights of all layers and directions, and running through them.

    ``mode`` is RNN_TANH, RNN_RELU, LSTM or GRU; the rest as in :class:`LSTM`.

    >>> [name for name, _ in RNNBase("GRU", 3, 4).named_parameters()]
    ['weight_ih_l0', 'weight_hh_l0', 'bias_ih_l0', 'bias_hh_l0']
    """

    def __init__(
        self,
        mode: str,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        name = type(self).__name__
        if mode not in _GATES:
            raise ValueError(f"{name}: mode must be one of {', '.join(_GATES)}, got {mode!r}")
        if isinstance(dropout, bool) or not 0 <= dropout <= 1:
            raise ValueError(f"{name}: dropout must be a number between 0 and 1, got {dropout}")
        if hidden_size <= 0 or num_layers <= 0:
            raise ValueError(
                f"{name}: hidden_size and num_layers must be positive, got {hidden_size} and "
                f"{num_layers}"
            )
        if not 0 <= proj_size < hidden_size:
            raise ValueError(
                f"{name}: proj_size must be 0 or positive and below hidden_size={hidden_size}, "
                f"got {proj_size}"
            )
        if proj_size > 0 and mode != "LSTM":
            raise ValueError(f"{name}: only an LSTM has a projection, got proj_size={proj_size}")
        if dropout > 0 and num_layers == 1:
            warnings.warn(
                f"{name}: dropout is applied between layers, so dropout={dropout} does nothing "
                "with num_layers=1",
                stacklevel=2,
            )
        self.mode = mode
        self.input_size = input_size
        self.hidden_size = hidden_size
        self.num_layers = num_layers
        self.bias = bias
        self.batch_first = batch_first
        self.dropout = float(dropout)
        self.bidirectional = bidirectional
        self.proj_size = proj_size

        columns, outputs = _GATES[mode] * hidden_size, proj_size or hidden_size
        self._names: list[list[str]] = []  # of the weights of each layer and direction
        for layer in range(num_layers):
            inputs = outputs * (1 + bidirectional) if layer else input_size
            shapes: dict[str, tuple[int, ...]] = {
                "weight_ih": (columns, inputs),
                "weight_hh": (columns, outputs),
            }
            if bias:
                shapes |= {"bias_ih": (columns,), "bias_hh": (columns,)}
            if proj_size:
                shapes["weight_hr"] = (proj_size, hidden_size)
            for suffix in ("", "_reverse")[: 1 + bidirectional]:
                names = [f"{kind}_l{layer}{suffix}" for kind in shapes]
                for key, shape in zip(names, shapes.values(), strict=True):
                    made = Parameter(_C.empty(shape, device=device, dtype=dtype))
                    self.register_parameter(key, made)
                self._names.append(names)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialize all weights, uniform in plus or minus 1 / sqrt(hidden_size)."""
        bound = 1 / math.sqrt(self.hidden_size)
        for weight in self.parameters():
            init.uniform_(weight, -bound, bound)

    @property
    def all_weights(self) -> list[list[Parameter]]:
        """The weights of each layer and direction."""
        return [[getattr(self, name) for name in names] for names in self._names]

    @property
    def _flat_weights_names(self) -> list[str]:
        return [name for names in self._names for name in names]

    @property
    def _flat_weights(self) -> list[Parameter]:
        return [getattr(self, name) for name in self._flat_weights_names]

    def flatten_parameters(self) -> None:
        """Does nothing: weights are used in place. For compatibility with PyTorch."""

    def extra_repr(self) -> str:
        said = f"{self.input_size}, {self.hidden_size}"
        if self.proj_size:
            said += f", proj_size={self.proj_size}"
        for name, default in (
            ("num_layers", 1),
            ("bias", True),
            ("batch_first", False),
            ("dropout", 0.0),
            ("bidirectional", False),
        ):
            value = getattr(self, name)
            if value != default:
                said += f", {name}={value}"
        return said

    def _checked_state(self, hx: State, batch: int) -> None:
        count = self.num_layers * (1 + self.bidirectional)
        sizes = (self.proj_size or self.hidden_size, self.hidden_size)
        for name, state, size in zip(("hidden", "cell"), hx, sizes, strict=False):
            if tuple(state.shape) != (count, batch, size):
                raise RuntimeError(
                    f"{type(self).__name__}: the {name} state must have shape "
                    f"{(count, batch, size)}, got {tuple(state.shape)}"
                )

    def _run(self, x: Tensor, sizes: list[int] | None, hx: State | None) -> tuple[Tensor, State]:
        """Through all layers: the output and the last states, (layers * directions, batch, ...)."""
        directions = 1 + self.bidirectional
        last: list[list[Tensor]] = [[], []]
        for layer in range(self.num_layers):
            if layer and self.dropout and self.training:
                x = _C.dropout(x, self.dropout)
            outs = []
            for k in range(layer * directions, (layer + 1) * directions):
                ih, hh, *more = (getattr(self, name) for name in self._names[k])
                bias_ih, bias_hh = more[:2] if self.bias else (None, None)
                out, h, c = _C._recurrent_layer(
                    self.mode,
                    x,
                    sizes,
                    None if hx is None else hx[0][k],
                    None if hx is None or len(hx) == 1 else hx[1][k],
                    ih,
                    hh,
                    bias_ih,
                    bias_hh,
                    more[-1] if self.proj_size else None,
                    k % directions == 1,
                )
                outs.append(out)
                last[0].append(h)
                if c is not None:
                    last[1].append(c)
            x = outs[0] if directions == 1 else _C.cat(outs, -1)
        states = (s[0].unsqueeze(0) if len(s) == 1 else _C.stack(s) for s in last if s)
        return x, tuple(states)

    def _forward(
        self, input: Tensor | PackedSequence, hx: State | None
    ) -> tuple[Tensor | PackedSequence, State]:
        name = type(self).__name__
        if isinstance(input, PackedSequence):
            sizes = input.batch_sizes.tolist()
            if hx is not None:
                self._checked_state(hx, sizes[0])
                hx = _permuted(hx, input.sorted_indices)
            out, last = self._run(input.data, sizes, hx)
            packed = PackedSequence(
                out, input.batch_sizes, input.sorted_indices, input.unsorted_indices
            )
            return packed, _permuted(last, input.unsorted_indices)
        if input.ndim not in (2, 3):
            raise ValueError(
                f"{name}: input must have 3 dimensions, or 2 without a batch, got shape "
                f"{tuple(input.shape)}"
            )
        if input.shape[-1] != self.input_size:
            raise RuntimeError(
                f"{name}: input of shape {tuple(input.shape)} must have input_size="
                f"{self.input_size} features in its last dimension, not {input.shape[-1]}; make "
                f"the layer with input_size={input.shape[-1]}, or reshape"
            )
        batched = input.ndim == 3
        x = input.transpose(0, 1) if batched and self.batch_first else input
        if not batched:
            x = input.unsqueeze(1)
            hx = None if hx is None else tuple(s.unsqueeze(1) for s in hx)
        if hx is not None:
            self._checked_state(hx, x.shape[1])
        out, last = self._run(x, None, hx)
        if not batched:
            return out.squeeze(1), tuple(s.squeeze(1) for s in last)
        return out.transpose(0, 1) if self.batch_first else out, last


def _permuted(state: State, order: Tensor | None) -> State:
    return state if order is None else tuple(s.index_select(1, order) for s in state)


class RNN(RNNBase):
    """``h = tanh(x @ w_ih.T + b_ih + h @ w_hh.T + b_hh)`` over a sequence; or relu for tanh.

    Shapes, layers and directions as in :class:`LSTM`, with h alone as the state.

    >>> out, h = RNN(3, 4, nonlinearity="relu")(genesis.ones(5, 2, 3))
    >>> out.shape, h.shape
    (genesis.Size([5, 2, 4]), genesis.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        nonlinearity: str = "tanh",
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        if nonlinearity not in ("tanh", "relu"):
            raise ValueError(f"RNN: nonlinearity must be 'tanh' or 'relu', got {nonlinearity!r}")
        self.nonlinearity = nonlinearity
        super().__init__(
            f"RNN_{nonlinearity.upper()}", input_size, hidden_size, num_layers, bias,
            batch_first, dropout, bidirectional, 0, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        out, state = self._forward(input, None if hx is None else (hx,))
        return out, state[0]


class LSTM(RNNBase):
    """Long short-term memory over a sequence: gates control what a cell keeps, adds and outputs.

    The input is (steps, batch, input_size); (batch, steps, input_size) with ``batch_first``;
    (steps, input_size) without a batch; or a PackedSequence. ``hx`` is a pair of states, (layers *
    directions, batch, ...), zero if not given. The call returns the output of the last layer, both
    directions side by side, and the last states. With ``proj_size``, outputs are projected to that
    size. ``dropout`` is applied between layers while training.

    >>> lstm = LSTM(10, 20, num_layers=2, bidirectional=True)
    >>> out, (h, c) = lstm(genesis.ones(5, 3, 10))
    >>> out.shape, h.shape
    (genesis.Size([5, 3, 40]), genesis.Size([4, 3, 20]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        proj_size: int = 0,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(
            "LSTM", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, proj_size, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor | PackedSequence, tuple[Tensor, Tensor]]:
        out, (h, c) = self._forward(input, hx)
        return out, (h, c)


class GRU(RNNBase):
    """Gated recurrent unit over a sequence: one state, of which a gate keeps a part.

    Shapes, layers and directions as in :class:`LSTM`, with h alone as the state.

    >>> out, h = GRU(3, 4, batch_first=True)(genesis.ones(2, 5, 3))
    >>> out.shape, h.shape
    (genesis.Size([2, 5, 4]), genesis.Size([1, 2, 4]))
    """

    def __init__(
        self,
        input_size: int,
        hidden_size: int,
        num_layers: int = 1,
        bias: bool = True,
        batch_first: bool = False,
        dropout: float = 0.0,
        bidirectional: bool = False,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(
            "GRU", input_size, hidden_size, num_layers, bias, batch_first, dropout,
            bidirectional, 0, device, dtype,
        )  # fmt: skip

    def forward(
        self, input: Tensor | PackedSequence, hx: Tensor | None = None
    ) -> tuple[Tensor | PackedSequence, Tensor]:
        out, state = self._forward(input, None if hx is None else (hx,))
        return out, state[0]
