"""Attention with a score and a mask written as functions of positions."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import genesis
from genesis._C import Tensor
from genesis._missing import explain

__all__ = [
    "AuxOutput",
    "AuxRequest",
    "BlockMask",
    "and_masks",
    "create_block_mask",
    "create_mask",
    "flex_attention",
    "noop_mask",
    "or_masks",
]

MaskMod = Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]
ScoreMod = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], Tensor]
_mask_mod_signature, _score_mod_signature = MaskMod, ScoreMod
_DEFAULT_SPARSE_BLOCK_SIZE = 128


class AuxRequest(NamedTuple):
    """What else ``flex_attention`` is to return."""

    lse: bool = False
    max_scores: bool = False


class AuxOutput(NamedTuple):
    """What else ``flex_attention`` returned."""

    lse: Tensor | None = None
    max_scores: Tensor | None = None


def noop_mask(batch: Tensor, head: Tensor, token_q: Tensor, token_kv: Tensor) -> Tensor:
    """A mask that lets everything through."""
    return genesis.ones((), dtype=genesis.bool)


def and_masks(*mask_mods: MaskMod) -> MaskMod:
    """What all masks let through."""

    def both(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result & mask(b, h, q, kv)
        return result

    return both


def or_masks(*mask_mods: MaskMod) -> MaskMod:
    """What some mask lets through."""

    def either(b: Tensor, h: Tensor, q: Tensor, kv: Tensor) -> Tensor:
        result = ~noop_mask(b, h, q, kv)
        for mask in mask_mods:
            result = result | mask(b, h, q, kv)
        return result

    return either


def _positions(b: int, h: int, q: int, kv: int) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Indices that broadcast to (b, h, q, kv)."""
    return (
        genesis.arange(b).view(b, 1, 1, 1),
        genesis.arange(h).view(1, h, 1, 1),
        genesis.arange(q).view(1, 1, q, 1),
        genesis.arange(kv).view(1, 1, 1, kv),
    )


def create_mask(
    mod_fn: Callable[..., Tensor], B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = "cpu",
) -> Tensor:  # fmt: skip
    """The full mask, (B, H, Q_LEN, KV_LEN) of bools.

    The function is called once, with tensors of all positions that broadcast.
    """
    shape = (B or 1, H or 1, Q_LEN, KV_LEN)
    return mod_fn(*_positions(*shape)).expand(shape)


class BlockMask:
    """A mask for ``flex_attention``. It is stored in full; blocks are counted for ``sparsity``."""

    def __init__(self, mask: Tensor, mask_mod: MaskMod, block: tuple[int, int]) -> None:
        self._mask = mask
        self.mask_mod = mask_mod
        self.BLOCK_SIZE = block
        self.shape = tuple(mask.shape)
        self.seq_lengths = (mask.shape[-2], mask.shape[-1])

    def to_dense(self) -> Tensor:
        """1 for blocks of which some element is let through, else 0."""
        b, h, q, kv = self._mask.shape
        bq, bkv = self.BLOCK_SIZE
        rows, columns = -(-q // bq), -(-kv // bkv)
        padded = genesis.zeros(b, h, rows * bq, columns * bkv, dtype=genesis.bool)
        padded[:, :, :q, :kv] = self._mask
        return padded.view(b, h, rows, bq, columns, bkv).any(5).any(3).int()

    def sparsity(self) -> float:
        """Percent of the blocks that are not computed with."""
        dense = self.to_dense()
        return 100.0 * (1 - float(dense.sum()) / dense.numel())

    def to(self, device: Any) -> BlockMask:
        """This mask; there is one device."""
        genesis.empty(0, device=device)
        return self


def create_block_mask(
    mask_mod: MaskMod, B: int | None, H: int | None, Q_LEN: int, KV_LEN: int,
    device: Any = "cpu", BLOCK_SIZE: int | tuple[int, int] = _DEFAULT_SPARSE_BLOCK_SIZE,
    _compile: bool = False, **kwargs: Any,
) -> BlockMask:  # fmt: skip
    """The mask that a function of positions describes."""
    block = (BLOCK_SIZE, BLOCK_SIZE) if isinstance(BLOCK_SIZE, int) else BLOCK_SIZE
    return BlockMask(create_mask(mask_mod, B, H, Q_LEN, KV_LEN, device), mask_mod, block)


def flex_attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    score_mod: ScoreMod | None = None,
    block_mask: BlockMask | None = None,
    scale: float | None = None,
    enable_gqa: bool = False,
    return_lse: bool = False,
    kernel_options: dict[str, Any] | None = None,
    *,
    return_aux: AuxRequest | None = None,
) -> Any:
    """Attention of (batch, heads, length, features) whose scores a function may change.

    ``score_mod(score, batch, head, query, key)`` is called once, with tensors that broadcast.
    """
    if enable_gqa:
        groups = query.shape[1] // key.shape[1]
        key, value = key.repeat_interleave(groups, 1), value.repeat_interleave(groups, 1)
    elif query.shape[1] != key.shape[1]:
        raise ValueError(
            f"flex_attention: query has {query.shape[1]} heads, key has {key.shape[1]}; pass "
            "enable_gqa=True to share key and value heads"
        )
    factor = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    scores = (query @ key.transpose(-2, -1)) * factor
    if score_mod is not None:
        b, h, q, kv = scores.shape
        scores = score_mod(scores, *_positions(b, h, q, kv)).expand(b, h, q, kv)
    if block_mask is not None:
        mask = block_mask._mask[..., : scores.shape[-2], : scores.shape[-1]]
        scores = scores.masked_fill(~mask, -math.inf)
    # Rows without a key give zeros, not NaN.
    top = scores.detach().amax(-1, keepdim=True)
    shift = genesis.where(top.isfinite(), top, genesis.zeros_like(top))
    weights = (scores - shift).exp()
    total = weights.sum(-1, keepdim=True)
    out = (weights / total.clamp_min(genesis.finfo(total.dtype).tiny)) @ value
    if return_aux is not None:
        lse = (total.log() + shift).squeeze(-1) if return_aux.lse else None
        return out, AuxOutput(lse, top.squeeze(-1) if return_aux.max_scores else None)
    if return_lse:
        return out, (total.log() + shift).squeeze(-1)
    return out


explain(globals())
