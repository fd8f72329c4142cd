"""Choosing the next token, and the next after that."""

from __future__ import annotations

import math
from collections.abc import Callable

import genesis
from genesis import Tensor


def _filtered(logits: Tensor, top_k: int | None, top_p: float | None) -> Tensor:
    """-inf for all but the ``top_k`` best, and all behind the first that reach ``top_p``."""
    if top_k is not None:
        worst = logits.topk(min(top_k, logits.shape[-1]), dim=-1).values[:, -1:]
        logits = logits.masked_fill(logits < worst, -math.inf)
    if top_p is not None and top_p < 1:
        ordered, places = logits.sort(dim=-1, descending=True)
        shares = ordered.softmax(-1)
        behind = shares.cumsum(-1) - shares >= top_p  # the token that reaches top_p still counts
        logits = logits.masked_fill(behind.scatter(-1, places, behind), -math.inf)
    return logits


def sample(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    generator: genesis.Generator | None = None,
) -> Tensor:
    """A token for each row of scores, (batch, 1); the best one if ``temperature`` is 0.

    >>> sample(genesis.tensor([[0.0, 5.0]]), temperature=0)
    tensor([[1]])
    """
    if temperature < 0:
        raise ValueError(f"generate: temperature must not be negative, got {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"generate: top_k must be positive or None, got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"generate: top_p must be above 0 and at most 1, got {top_p}")
    if temperature == 0:
        return logits.argmax(-1, keepdim=True)
    shares = _filtered(logits.float() / temperature, top_k, top_p).softmax(-1)
    return genesis.multinomial(shares, 1, generator=generator)


def extend(
    step: Callable[[Tensor], Tensor],
    input_ids: Tensor,
    max_new_tokens: int,
    temperature: float,
    top_k: int | None,
    top_p: float | None,
    eos_token_id: int | None,
    generator: genesis.Generator | None,
) -> Tensor:
    """``input_ids`` with tokens added.

    ``step`` gets the tokens that it has not seen, first all and then one by one, and returns the
    scores of the next. A row that has ended is filled up with ``eos_token_id``.
    """
    if input_ids.ndim != 2 or input_ids.shape[1] < 1:
        raise ValueError(
            "generate: input_ids must be (batch, sequence) with at least one token, got shape "
            f"{tuple(input_ids.shape)}"
        )
    ids = new = input_ids
    ended = genesis.zeros(ids.shape[0], 1, dtype=genesis.bool)
    for _ in range(max_new_tokens):
        chosen = sample(step(new)[:, -1], temperature, top_k, top_p, generator).to(ids.dtype)
        if eos_token_id is not None:
            chosen = chosen.masked_fill(ended, eos_token_id)
            ended = ended | (chosen == eos_token_id)
        ids, new = genesis.cat((ids, chosen), 1), chosen
        if eos_token_id is not None and bool(ended.all()):
            break
    return ids
