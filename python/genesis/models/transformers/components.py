"""What all models here share: rotary positions, masks, the key-value cache."""

from __future__ import annotations

import math
from typing import Any

import genesis
from genesis import Tensor, nn

__all__ = [
    "RotaryEmbedding",
    "apply_rotary_pos_emb",
    "find_multiple",
    "rotate_half",
]


def _yarn(
    rates: Tensor, scaling: dict[str, Any], dim: int, base: float, context: int
) -> tuple[Tensor, float]:
    """YaRN: slow angles as in 'linear', fast ones unchanged, a ramp between them."""
    factor = float(scaling["factor"])
    context = scaling.get("original_max_position_embeddings") or context

    def scale(weight: float) -> float:
        return 1.0 if factor <= 1 else 0.1 * weight * math.log(factor) + 1

    attention = scaling.get("attention_factor")
    if attention is None:
        weight, over_all = scaling.get("mscale"), scaling.get("mscale_all_dim")
        attention = scale(weight) / scale(over_all) if weight and over_all else scale(1.0)

    def place(turns: float) -> float:
        """The rate that makes this many rotations within the context of the training."""
        return dim * math.log(context / (turns * 2 * math.pi)) / (2 * math.log(base))

    low = place(scaling.get("beta_fast") or 32.0)
    high = place(scaling.get("beta_slow") or 1.0)
    if scaling.get("truncate", True):
        low, high = math.floor(low), math.ceil(high)
    low, high = max(low, 0), min(high, dim - 1)
    numbers = genesis.arange(dim // 2, dtype=genesis.float64)
    slow = ((numbers - low) / (high - low if high != low else 0.001)).clamp(0, 1)
    return slow * rates / factor + (1 - slow) * rates, float(attention)


def _scaled(
    rates: Tensor, scaling: dict[str, Any] | None, dim: int, base: float, context: int
) -> tuple[Tensor, float]:
    """Rates of the angles for contexts longer than those of the training, and what cosines and
    sines are multiplied by."""
    kind = "default" if scaling is None else scaling.get("rope_type", scaling.get("type"))
    if scaling is None or kind == "default":
        return rates, 1.0
    needed = {"linear": ["factor"], "yarn": ["factor"], "llama3": [
        "factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings",
    ]}  # fmt: skip
    missing = [name for name in needed.get(str(kind), []) if scaling.get(name) is None]
    if missing:
        raise ValueError(f"RotaryEmbedding: rope_scaling of type {kind!r} needs {missing}")
    if kind == "linear":
        return rates / float(scaling["factor"]), 1.0
    if kind == "yarn":
        return _yarn(rates, scaling, dim, base, context)
    if kind == "llama3":
        trained = float(scaling["original_max_position_embeddings"])
        low, high = float(scaling["low_freq_factor"]), float(scaling["high_freq_factor"])
        turns = trained * rates / (2 * math.pi)
        keep = ((turns - low) / (high - low)).clamp(0, 1)
        return keep * rates + (1 - keep) * rates / float(scaling["factor"]), 1.0
    raise ValueError(
        f"RotaryEmbedding: rope_scaling of type {kind!r} is not known; there are 'linear', "
        "'llama3' and 'yarn'"
    )


class RotaryEmbedding(nn.Module):
    """Cosines and sines of the angles that queries and keys are turned by.

    Tables for ``max_position_embeddings`` positions are kept, and made anew for longer sequences.

    >>> cos, sin = RotaryEmbedding(4)(genesis.ones(1, 1, 3, 4))
    >>> cos.shape
    genesis.Size([3, 4])
    """

    inv_freq: Tensor
    cos_cached: Tensor
    sin_cached: Tensor

    def __init__(
        self,
        dim: int,
        max_position_embeddings: int = 2048,
        base: float = 10000.0,
        device: Any = None,
        rope_scaling: dict[str, Any] | None = None,
    ) -> None:
        super().__init__()
        self.dim = dim
        self.max_position_embeddings = max_position_embeddings
        self.base = base
        rates = base ** -(genesis.arange(0, dim, 2, dtype=genesis.float64, device=device) / dim)
        rates, self.attention_scaling = _scaled(
            rates, rope_scaling, dim, base, max_position_embeddings
        )
        self.register_buffer("inv_freq", rates.float(), persistent=False)
        self._rates = rates  # in float64: a float32 angle of a thousand turns is off by 1e-4
        self._make_tables(max_position_embeddings)

    def _make_tables(self, length: int) -> None:
        self.max_seq_len_cached = length
        angles = genesis.arange(length, dtype=genesis.float64).unsqueeze(1) * self._rates
        angles = genesis.cat((angles, angles), -1)
        scale = self.attention_scaling
        self.register_buffer("cos_cached", (angles.cos() * scale).float(), persistent=False)
        self.register_buffer("sin_cached", (angles.sin() * scale).float(), persistent=False)

    def forward(self, x: Tensor, seq_len: int | None = None) -> tuple[Tensor, Tensor]:
        length = x.shape[-2] if seq_len is None else seq_len
        if length > self.max_seq_len_cached:
            self._make_tables(length)
        return self.cos_cached[:length].to(x.dtype), self.sin_cached[:length].to(x.dtype)


def rotate_half(x: Tensor) -> Tensor:
    """The second half of the features, negated, before the first half.

    >>> rotate_half(genesis.tensor([1.0, 2.0, 3.0, 4.0]))
    tensor([-3., -4.,  1.,  2.])
    """
    first, second = x.chunk(2, -1)
    return genesis.cat((-second, first), -1)


def apply_rotary_pos_emb(
    q: Tensor,
    k: Tensor,
    cos: Tensor,
    sin: Tensor,
    position_ids: Tensor | None = None,
    unsqueeze_dim: int = 1,
) -> tuple[Tensor, Tensor]:
    """Queries and keys turned by the angles of their positions.

    ``cos`` and ``sin`` hold a row for each position, of which ``position_ids``, (batch, sequence),
    picks; without it they are those of the sequence already. ``unsqueeze_dim`` is where the heads
    of ``q`` and ``k`` are.
    """
    if position_ids is not None:
        cos, sin = cos[position_ids.long()], sin[position_ids.long()]
    if cos.ndim == 3:
        cos, sin = cos.unsqueeze(unsqueeze_dim), sin.unsqueeze(unsqueeze_dim)
    elif unsqueeze_dim == 2:  # (sequence, dim) next to (batch, sequence, heads, dim)
        cos, sin = cos.unsqueeze(1), sin.unsqueeze(1)
    return q * cos + rotate_half(q) * sin, k * cos + rotate_half(k) * sin


def find_multiple(n: int, k: int) -> int:
    """The smallest multiple of ``k`` that is not below ``n``.

    >>> find_multiple(10, 8)
    16
    """
    return -(-n // k) * k


def attention_mask_for(
    mask: Tensor | None, queries: int, keys: int, window: int | None = None
) -> tuple[Tensor | None, bool]:
    """The mask for attention of the last ``queries`` of ``keys`` positions, and whether it is the
    plain causal one, which needs no tensor.

    ``mask`` is (batch, keys), 1 where there is a token, or whatever attention takes as it is. With
    a ``window`` a position sees itself and as many before it as make up the window.
    """
    window = None if window is None or window >= keys else window
    if mask is not None and mask.ndim != 2:
        return mask, False
    if mask is None and window is None and (queries == keys or queries == 1):
        return None, queries > 1
    seen = genesis.ones(queries, keys, dtype=genesis.bool).tril(keys - queries)
    if window is not None:
        seen = seen.triu(keys - queries - window + 1)
    if mask is not None:
        seen = seen & mask.bool()[:, None, None, :]
    return seen, False


class KeyValueCache:
    """Keys and values of the positions so far, in memory that is made once.

    >>> cache = KeyValueCache(1, 2, 8, 4)
    >>> k, v = cache.update(genesis.arange(3), genesis.ones(1, 2, 3, 4), genesis.ones(1, 2, 3, 4))
    >>> k.shape
    genesis.Size([1, 2, 3, 4])
    """

    def __init__(
        self, batch: int, heads: int, length: int, width: int, dtype: Any = genesis.float32
    ) -> None:
        self.keys = genesis.zeros(batch, heads, length, width, dtype=dtype)
        self.values = genesis.zeros(batch, heads, length, width, dtype=dtype)

    def update(self, positions: Tensor, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Write at ``positions``, consecutive numbers, and return all up to the last of them."""
        row = positions if positions.ndim == 1 else positions[0]
        first, count = int(row[0].item()), k.shape[2]
        end = first + count
        if end > self.keys.shape[2] or k.shape[0] > self.keys.shape[0]:
            raise ValueError(
                f"KeyValueCache: {k.shape[0]} sequences up to position {end} do not fit into a "
                f"cache of shape {tuple(self.keys.shape)}; call setup_caches() with larger sizes"
            )
        batch = k.shape[0]
        with genesis.no_grad():
            self.keys[:batch, :, first:end] = k.detach()
            self.values[:batch, :, first:end] = v.detach()
        return self.keys[:batch, :, :end], self.values[:batch, :, :end]
