"""Muon: momentum made orthogonal, for the matrices of hidden layers."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from genesis import _C
from genesis.optim._options import options_from_signature
from genesis.optim.optimizer import Optimizer, ParamGroup


class Muon(Optimizer):
    """Steps along the nearest orthogonal matrix to the momentum (Jordan et al., 2024).

    For matrices only; give vectors and embeddings to AdamW. The orthogonal matrix is approached by
    ``ns_steps`` Newton-Schulz iterations in bfloat16, with the polynomial ``ns_coefficients``.
    ``adjust_lr_fn`` scales ``lr`` for a matrix (a, b): "original" by sqrt(max(1, a / b)),
    "match_rms_adamw" by 0.2 sqrt(max(a, b)), which lets AdamW's ``lr`` be used.

    >>> p = genesis.nn.Parameter(genesis.eye(3))
    >>> optimizer = Muon([p], lr=0.1, weight_decay=0.0)
    >>> (p * p).sum().backward()
    >>> optimizer.step()
    >>> bool(0.85 < p[0, 0].item() < 0.95)
    True
    """

    @options_from_signature()
    def __init__(
        self,
        params: Iterable[Any],
        lr: float = 1e-3,
        weight_decay: float = 0.1,
        momentum: float = 0.95,
        nesterov: bool = True,
        ns_coefficients: tuple[float, float, float] = (3.4445, -4.775, 2.0315),
        eps: float = 1e-7,
        ns_steps: int = 5,
        adjust_lr_fn: str | None = None,
    ) -> None: ...

    def check_options(self, group: ParamGroup) -> None:
        self._require_not_negative(group, "lr", "weight_decay", "momentum")
        kinds = (None, "original", "match_rms_adamw")
        self._require(
            group["adjust_lr_fn"] in kinds,
            f"adjust_lr_fn must be one of {kinds}",
            group["adjust_lr_fn"],
        )
        self._require(group["ns_steps"] < 100, "ns_steps must be below 100", group["ns_steps"])
        self._require(
            len(group["ns_coefficients"]) == 3,
            "ns_coefficients must be 3 numbers",
            group["ns_coefficients"],
        )
        for p in group["params"]:
            if p.ndim != 2:
                raise ValueError(
                    f"Muon: optimizes matrices only, got a parameter of shape {tuple(p.shape)}; "
                    "give it to AdamW"
                )

    def _update(self, group: ParamGroup) -> None:
        self._refuse_complex(group)
        _C._muon_step(group, self.state)
