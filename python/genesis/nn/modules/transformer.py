"""Layers and stacks of the Transformer (Vaswani et al., 2017)."""

from __future__ import annotations

import copy
import math
from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn import functional as F
from genesis.nn import init
from genesis.nn.modules.attention import FusedMultiheadAttention as FusedMultiheadAttention
from genesis.nn.modules.attention import MultiheadAttention
from genesis.nn.modules.container import ModuleList
from genesis.nn.modules.dropout import Dropout
from genesis.nn.modules.linear import Linear
from genesis.nn.modules.module import Module
from genesis.nn.modules.normalization import LayerNorm

__all__ = [
    "FeedFowardSwiGLU",
    "Transformer",
    "TransformerDecoder",
    "TransformerDecoderLayer",
    "TransformerEncoder",
    "TransformerEncoderLayer",
]

Activation = Callable[[Tensor], Tensor]


def _activation(activation: str | Activation) -> Activation:
    if not isinstance(activation, str):
        return activation
    named: dict[str, Activation] = {"relu": F.relu, "gelu": F.gelu}
    if activation not in named:
        raise RuntimeError(
            f"Transformer: activation must be 'relu', 'gelu' or a function, got {activation!r}"
        )
    return named[activation]


def _causal_mask(size: int, dtype: _C.dtype | None = None, device: Any = None) -> Tensor:
    return _C.full((size, size), -math.inf, dtype=dtype, device=device).triu_(1)


def _is_causal(mask: Tensor | None, said: bool | None) -> bool:
    """Whether `mask` is the causal one: as declared, or else by comparison."""
    if said is not None:
        return said
    if mask is None or mask.ndim != 2 or mask.shape[0] != mask.shape[1]:
        return False
    if mask.is_meta:
        return False
    if mask.dtype == _C.bool:
        return bool((mask == _C.ones(mask.shape, dtype=_C.bool).triu_(1)).all())
    return bool((mask == _causal_mask(mask.shape[0], mask.dtype)).all())


def _copies(layer: Module, count: int) -> ModuleList:
    most = 1 << 16  # far more than any model has; copying even more would seem to hang
    if not isinstance(count, int) or not 0 <= count <= most:
        raise ValueError(f"num_layers must be an int from 0 to {most}, got {count!r}")
    return ModuleList([copy.deepcopy(layer) for _ in range(count)])


class _Layer(Module):
    """What both kinds of layers share: attention, two linear layers, and how they are joined."""

    activation: Activation

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int,
        dropout: float,
        activation: str | Activation,
        layer_norm_eps: float,
        batch_first: bool,
        norm_first: bool,
        bias: bool,
        device: Any,
        dtype: _C.dtype | None,
        cross: bool,
    ) -> None:
        super().__init__()
        like: dict[str, Any] = {"device": device, "dtype": dtype}

        def attention() -> MultiheadAttention:
            made: MultiheadAttention = MultiheadAttention(
                d_model, nhead, dropout=dropout, bias=bias, batch_first=batch_first, **like
            )
            return made

        self.self_attn = attention()
        if cross:
            self.multihead_attn = attention()
        self.linear1 = Linear(d_model, dim_feedforward, bias=bias, **like)
        self.dropout = Dropout(dropout)
        self.linear2 = Linear(dim_feedforward, d_model, bias=bias, **like)
        self.norm_first = norm_first
        blocks = 3 if cross else 2
        for k in range(1, blocks + 1):
            norm = LayerNorm(d_model, eps=layer_norm_eps, bias=bias, **like)
            self.add_module(f"norm{k}", norm)
        for k in range(1, blocks + 1):
            self.add_module(f"dropout{k}", Dropout(dropout))
        self.activation = _activation(activation)

    def _joined(self, x: Tensor, k: int, block: Callable[[Tensor], Tensor]) -> Tensor:
        """x plus a block of it, normalised before or after."""
        norm, dropout = getattr(self, f"norm{k}"), getattr(self, f"dropout{k}")
        y: Tensor = x + dropout(block(norm(x))) if self.norm_first else norm(x + dropout(block(x)))
        return y

    def _feed_forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.linear2(self.dropout(self.activation(self.linear1(x))))
        return y


class TransformerEncoderLayer(_Layer):
    """Self-attention, then two linear layers; each added to its input and normalised.

    Normalised after the sum, or before the block with ``norm_first``. Masks as in
    :class:`MultiheadAttention`.

    >>> layer = TransformerEncoderLayer(d_model=8, nhead=2, batch_first=True)
    >>> layer(genesis.ones(3, 5, 8)).shape
    genesis.Size([3, 5, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype, cross=False,
        )  # fmt: skip

    def forward(
        self,
        src: Tensor,
        src_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            y: Tensor = self.self_attn(
                x, x, x, src_key_padding_mask, False, src_mask, is_causal=is_causal
            )[0]
            return y

        return self._joined(self._joined(src, 1, attend), 2, self._feed_forward)


class TransformerDecoderLayer(_Layer):
    """Self-attention, attention to the encoder's output, then two linear layers.

    Each is added to its input and normalised, as in :class:`TransformerEncoderLayer`.

    >>> layer = TransformerDecoderLayer(d_model=8, nhead=2)
    >>> layer(genesis.ones(4, 3, 8), genesis.ones(5, 3, 8)).shape
    genesis.Size([4, 3, 8])
    """

    def __init__(
        self,
        d_model: int,
        nhead: int,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__(
            d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps, batch_first,
            norm_first, bias, device, dtype, cross=True,
        )  # fmt: skip

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool = False,
        memory_is_causal: bool = False,
    ) -> Tensor:
        def attend(x: Tensor) -> Tensor:
            y: Tensor = self.self_attn(
                x, x, x, tgt_key_padding_mask, False, tgt_mask, is_causal=tgt_is_causal
            )[0]
            return y

        def look_up(x: Tensor) -> Tensor:
            y: Tensor = self.multihead_attn(
                x, memory, memory, memory_key_padding_mask, False, memory_mask,
                is_causal=memory_is_causal,
            )[0]  # fmt: skip
            return y

        x = self._joined(self._joined(tgt, 1, attend), 2, look_up)
        return self._joined(x, 3, self._feed_forward)


class TransformerEncoder(Module):
    """``num_layers`` copies of a layer one after another, and a norm at the end if given.

    ``enable_nested_tensor`` and ``mask_check`` choose a representation of padded batches that there
    is only one of here; they change nothing.

    >>> encoder = TransformerEncoder(TransformerEncoderLayer(8, 2), num_layers=2)
    >>> encoder(genesis.ones(5, 3, 8)).shape
    genesis.Size([5, 3, 8])
    """

    def __init__(
        self,
        encoder_layer: TransformerEncoderLayer,
        num_layers: int,
        norm: Module | None = None,
        enable_nested_tensor: bool = True,
        mask_check: bool = True,
    ) -> None:
        super().__init__()
        self.layers = _copies(encoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        src: Tensor,
        mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        is_causal: bool | None = None,
    ) -> Tensor:
        causal = _is_causal(mask, is_causal)
        for layer in self.layers:
            src = layer(src, mask, src_key_padding_mask, is_causal=causal)
        return src if self.norm is None else self.norm(src)


class TransformerDecoder(Module):
    """``num_layers`` copies of a layer one after another, and a norm at the end if given.

    >>> decoder = TransformerDecoder(TransformerDecoderLayer(8, 2), num_layers=2)
    >>> decoder(genesis.ones(4, 3, 8), genesis.ones(5, 3, 8)).shape
    genesis.Size([4, 3, 8])
    """

    def __init__(
        self, decoder_layer: TransformerDecoderLayer, num_layers: int, norm: Module | None = None
    ) -> None:
        super().__init__()
        self.layers = _copies(decoder_layer, num_layers)
        self.num_layers = num_layers
        self.norm = norm

    def forward(
        self,
        tgt: Tensor,
        memory: Tensor,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        causal = _is_causal(tgt_mask, tgt_is_causal)
        for layer in self.layers:
            tgt = layer(
                tgt, memory, tgt_mask, memory_mask, tgt_key_padding_mask,
                memory_key_padding_mask, causal, memory_is_causal,
            )  # fmt: skip
        return tgt if self.norm is None else self.norm(tgt)


class Transformer(Module):
    """An encoder and a decoder, as for translation.

    >>> model = Transformer(8, 2, 1, 1, dim_feedforward=16)
    >>> model(genesis.ones(5, 3, 8), genesis.ones(4, 3, 8)).shape
    genesis.Size([4, 3, 8])
    """

    encoder: Module
    decoder: Module

    def __init__(
        self,
        d_model: int = 512,
        nhead: int = 8,
        num_encoder_layers: int = 6,
        num_decoder_layers: int = 6,
        dim_feedforward: int = 2048,
        dropout: float = 0.1,
        activation: str | Activation = F.relu,
        custom_encoder: Module | None = None,
        custom_decoder: Module | None = None,
        layer_norm_eps: float = 1e-5,
        batch_first: bool = False,
        norm_first: bool = False,
        bias: bool = True,
        device: Any = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        shared = (d_model, nhead, dim_feedforward, dropout, activation, layer_norm_eps,
                  batch_first, norm_first, bias, device, dtype)  # fmt: skip

        def norm() -> LayerNorm:
            made: LayerNorm = LayerNorm(
                d_model, eps=layer_norm_eps, bias=bias, device=device, dtype=dtype
            )
            return made

        if custom_encoder is not None:
            self.encoder = custom_encoder
        else:
            encoder_layer = TransformerEncoderLayer(*shared)
            self.encoder = TransformerEncoder(encoder_layer, num_encoder_layers, norm())
        if custom_decoder is not None:
            self.decoder = custom_decoder
        else:
            decoder_layer = TransformerDecoderLayer(*shared)
            self.decoder = TransformerDecoder(decoder_layer, num_decoder_layers, norm())
        self._reset_parameters()
        self.d_model = d_model
        self.nhead = nhead
        self.batch_first = batch_first

    def forward(
        self,
        src: Tensor,
        tgt: Tensor,
        src_mask: Tensor | None = None,
        tgt_mask: Tensor | None = None,
        memory_mask: Tensor | None = None,
        src_key_padding_mask: Tensor | None = None,
        tgt_key_padding_mask: Tensor | None = None,
        memory_key_padding_mask: Tensor | None = None,
        src_is_causal: bool | None = None,
        tgt_is_causal: bool | None = None,
        memory_is_causal: bool = False,
    ) -> Tensor:
        batch = 0 if self.batch_first else 1
        if src.ndim != tgt.ndim or src.shape[-1] != self.d_model or tgt.shape[-1] != self.d_model:
            raise RuntimeError(
                f"Transformer: src and tgt must both end in d_model={self.d_model} features, got "
                f"shapes {tuple(src.shape)} and {tuple(tgt.shape)}"
            )
        if src.ndim == 3 and src.shape[batch] != tgt.shape[batch]:
            raise RuntimeError(
                f"Transformer: src and tgt must have one batch size, got shapes {tuple(src.shape)} "
                f"and {tuple(tgt.shape)}"
            )
        memory = self.encoder(
            src, mask=src_mask, src_key_padding_mask=src_key_padding_mask, is_causal=src_is_causal
        )
        out: Tensor = self.decoder(
            tgt,
            memory,
            tgt_mask=tgt_mask,
            memory_mask=memory_mask,
            tgt_key_padding_mask=tgt_key_padding_mask,
            memory_key_padding_mask=memory_key_padding_mask,
            tgt_is_causal=tgt_is_causal,
            memory_is_causal=memory_is_causal,
        )
        return out

    @staticmethod
    def generate_square_subsequent_mask(
        sz: int, device: Any = None, dtype: _C.dtype | None = None
    ) -> Tensor:
        """The causal mask: -inf where a key is after the query, otherwise 0.

        >>> Transformer.generate_square_subsequent_mask(2)
        tensor([[0., -inf],
                [0., 0.]])
        """
        return _causal_mask(sz, dtype, device)

    def _reset_parameters(self) -> None:
        for parameter in self.parameters():
            if parameter.ndim > 1:
                init.xavier_uniform_(parameter)


class FeedFowardSwiGLU(Module):
    """``down(silu(gate(x)) * up(x))`` and dropout (Shazeer, 2020), under the name that it has in
    earlier programs.

    >>> FeedFowardSwiGLU(4, 8)(genesis.ones(2, 4)).shape
    genesis.Size([2, 4])
    """

    def __init__(self, dim: int, hidden_dim: int) -> None:
        super().__init__()
        self.gate = Linear(dim, hidden_dim, bias=False)
        self.down = Linear(hidden_dim, dim, bias=False)
        self.up = Linear(dim, hidden_dim, bias=False)
        self.dropout = Dropout(0.1)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.dropout(self.down(F.silu(self.gate(x)) * self.up(x)))
        return y
