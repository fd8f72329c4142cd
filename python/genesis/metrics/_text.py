"""Metrics of language models."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor, no_grad
from genesis.metrics._metric import Metric, ratio, tensor
from genesis.nn import functional as F


class Perplexity(Metric):
    """The exponential of the mean cross entropy per token.

    ``preds`` are unnormalised scores with the vocabulary in dimension ``dim``, the last one by
    default: (N, T, C) for a target (N, T). Tokens equal to ``ignore_index`` do not count.

    >>> perplexity = Perplexity()
    >>> perplexity.update(genesis.zeros(2, 3, 7), genesis.zeros(2, 3, dtype=genesis.int64))
    >>> round(perplexity.compute().item(), 4)
    7.0
    """

    total: Tensor
    count: Tensor

    def __init__(self, dim: int = -1, ignore_index: int | None = None) -> None:
        super().__init__()
        self.dim = dim
        self.ignore_index = ignore_index
        self.add_state("total", _C.tensor(0.0, dtype=_C.float64))
        self.add_state("count", _C.tensor(0))

    @no_grad()
    def update(self, preds: Any, target: Any) -> None:
        """Take scores and the tokens that they should foretell."""
        scores, true = tensor("Perplexity", "preds", preds), tensor("Perplexity", "target", target)
        scores = scores.movedim(self.dim, -1)
        if scores.shape[:-1] != true.shape or true.is_floating_point():
            raise ValueError(
                f"Perplexity: scores of shape {tuple(scores.shape)} (vocabulary last) do not fit "
                f"tokens of shape {tuple(true.shape)} and {true.dtype}; dim= says where the "
                "vocabulary is"
            )
        flat, tokens = scores.reshape(-1, scores.shape[-1]), true.long().flatten()
        if self.ignore_index is not None:
            keep = tokens != self.ignore_index
            flat, tokens = flat[keep], tokens[keep]
        if len(tokens):
            losses = F.cross_entropy(flat.float(), tokens, reduction="none")
            self.total = self.total + losses.double().sum()
            self.count = self.count + len(tokens)

    def compute(self) -> Tensor:
        return ratio(self.total, self.count).exp()
