"""Feed-forward layers: dense ones, and mixtures of experts."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn

__all__ = ["DenseFFN", "MoEExpert", "MoEGate", "MoELayer"]


def _activation(name: str) -> nn.Module:
    known: dict[str, Callable[[], nn.Module]] = {
        "silu": nn.SiLU,
        "swish": nn.SiLU,
        "gelu": nn.GELU,
        "gelu_pytorch_tanh": lambda: nn.GELU(approximate="tanh"),
        "relu": nn.ReLU,
    }
    if name not in known:
        raise ValueError(f"hidden_act must be one of {', '.join(known)}, got {name!r}")
    return known[name]()


class DenseFFN(nn.Module):
    """``down_proj(act(gate_proj(x)) * up_proj(x))``.

    >>> DenseFFN(4, 8)(genesis.ones(2, 4)).shape
    genesis.Size([2, 4])
    """

    def __init__(
        self,
        hidden_size: int,
        intermediate_size: int,
        hidden_act: str = "silu",
        bias: bool = False,
    ) -> None:
        super().__init__()
        self.gate_proj = nn.Linear(hidden_size, intermediate_size, bias=bias)
        self.up_proj = nn.Linear(hidden_size, intermediate_size, bias=bias)
        self.down_proj = nn.Linear(intermediate_size, hidden_size, bias=bias)
        self.act_fn = _activation(hidden_act)

    def forward(self, x: Tensor) -> Tensor:
        y: Tensor = self.down_proj(self.act_fn(self.gate_proj(x)) * self.up_proj(x))
        return y


class MoEExpert(DenseFFN):
    """One expert: a `DenseFFN` with SiLU.

    >>> MoEExpert(4, 8)(genesis.ones(2, 4)).shape
    genesis.Size([2, 4])
    """

    def __init__(self, hidden_size: int, intermediate_size: int, bias: bool = False) -> None:
        super().__init__(hidden_size, intermediate_size, bias=bias)
        self.hidden_size = hidden_size
        self.intermediate_size = intermediate_size

    @property
    def silu(self) -> nn.Module:
        """The activation."""
        return self.act_fn


class MoEGate(nn.Module):
    """Chooses ``top_k`` experts for each token, and how much each counts.

    Gives their numbers and weights, both (tokens, top_k), and, while training, a loss that is
    smallest when all experts have the same load: by sequence if ``seq_aux``, else over all tokens.
    With ``norm_topk_prob`` the weights of a token add up to 1.

    >>> experts, weights, loss = MoEGate(hidden_size=8, num_experts=4, top_k=2)(
    ...     genesis.ones(2, 3, 8))
    >>> experts.shape, weights.shape, loss.shape
    (genesis.Size([6, 2]), genesis.Size([6, 2]), genesis.Size([]))
    """

    def __init__(
        self,
        hidden_size: int,
        num_experts: int,
        top_k: int,
        aux_loss_alpha: float = 0.01,
        seq_aux: bool = True,
        norm_topk_prob: bool = True,
        scoring_func: str = "softmax",
        z_loss_alpha: float = 0.0,
    ) -> None:
        super().__init__()
        if not 1 <= top_k <= num_experts:
            raise ValueError(
                f"MoEGate: top_k must be between 1 and num_experts ({num_experts}), got {top_k}"
            )
        if scoring_func not in ("softmax", "sigmoid"):
            raise ValueError(
                f"MoEGate: scoring_func must be 'softmax' or 'sigmoid', got {scoring_func!r}"
            )
        self.hidden_size = hidden_size
        self.num_experts = num_experts
        self.top_k = top_k
        self.aux_loss_alpha = aux_loss_alpha
        self.z_loss_alpha = z_loss_alpha
        self.seq_aux = seq_aux
        self.norm_topk_prob = norm_topk_prob
        self.scoring_func = scoring_func
        self.weight = nn.Parameter(genesis.randn(num_experts, hidden_size) * 0.02)

    def forward(self, hidden_states: Tensor) -> tuple[Tensor, Tensor, Tensor | None]:
        batch, _, width = hidden_states.shape
        logits = F.linear(hidden_states.reshape(-1, width), self.weight).float()
        scores = logits.softmax(-1) if self.scoring_func == "softmax" else logits.sigmoid()
        topk_weights, topk_indices = scores.topk(self.top_k, dim=-1)
        if self.norm_topk_prob and self.top_k > 1:
            topk_weights = topk_weights / (topk_weights.sum(-1, keepdim=True) + 1e-20)
        loss = self._balance(logits, scores, topk_indices, batch) if self.training else None
        return topk_indices, topk_weights.to(hidden_states.dtype), loss

    def _balance(
        self, logits: Tensor, scores: Tensor, topk_indices: Tensor, batch: int
    ) -> Tensor | None:
        """How uneven the load is, and how large the scores are, times their coefficients."""
        loss = None
        if self.aux_loss_alpha > 0:
            groups = batch if self.seq_aux else 1
            chosen = F.one_hot(topk_indices.reshape(groups, -1), self.num_experts)
            load = chosen.to(scores.dtype).mean(1) * self.num_experts
            share = scores.reshape(groups, -1, self.num_experts).mean(1)
            loss = (load * share).sum(-1).mean() * self.aux_loss_alpha
        if self.z_loss_alpha > 0:
            size = logits.logsumexp(-1).square().mean() * self.z_loss_alpha
            loss = size if loss is None else loss + size
        return loss


class _WithLoss(genesis.Function):
    """Return x; in backward, a loss without other references gets the gradient 1."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, loss: Tensor) -> Tensor:
        ctx.save_for_backward(loss)
        return x.clone()

    @staticmethod
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor, Tensor]:
        (loss,) = ctx.saved_tensors
        return grad, genesis.ones_like(loss)


class MoELayer(nn.Module):
    """The sum of the outputs of a token's experts, weighted by a `MoEGate`.

    Shared experts, one `MoEExpert` of ``num_shared_experts`` times the width unless
    ``shared_intermediate_size`` is given, see all tokens; ``shared_expert_gate`` scales them by a
    number between 0 and 1 for each token. While training, the loss of the gate joins the gradient.

    >>> layer = MoELayer(hidden_size=8, num_experts=4, top_k=2, intermediate_size=16)
    >>> layer(genesis.ones(2, 3, 8)).shape
    genesis.Size([2, 3, 8])
    """

    def __init__(
        self,
        hidden_size: int,
        num_experts: int,
        top_k: int,
        intermediate_size: int,
        num_shared_experts: int | None = None,
        shared_intermediate_size: int | None = None,
        aux_loss_alpha: float = 0.01,
        seq_aux: bool = True,
        norm_topk_prob: bool = True,
        expert_bias: bool = False,
        scoring_func: str = "softmax",
        z_loss_alpha: float = 0.0,
        shared_expert_gate: bool = False,
    ) -> None:
        super().__init__()
        self.hidden_size = hidden_size
        self.num_experts = num_experts
        self.top_k = top_k
        self.num_shared_experts = num_shared_experts
        self.gate = MoEGate(
            hidden_size,
            num_experts,
            top_k,
            aux_loss_alpha,
            seq_aux,
            norm_topk_prob,
            scoring_func,
            z_loss_alpha,
        )
        self.experts = nn.ModuleList(
            MoEExpert(hidden_size, intermediate_size, expert_bias) for _ in range(num_experts)
        )
        self.shared_experts: MoEExpert | None = None
        self.shared_expert_gate: nn.Linear | None = None
        if num_shared_experts:
            width = shared_intermediate_size or intermediate_size * num_shared_experts
            self.shared_experts = MoEExpert(hidden_size, width, expert_bias)
            if shared_expert_gate:
                self.shared_expert_gate = nn.Linear(hidden_size, 1, bias=False)

    def forward(self, hidden_states: Tensor) -> Tensor:
        tokens = hidden_states.reshape(-1, self.hidden_size)
        indices, weights, loss = self.gate(hidden_states)
        out = genesis.zeros_like(tokens)
        for number, expert in enumerate(self.experts):
            row, place = (indices == number).nonzero(as_tuple=True)
            if row.numel() > 0:
                part = expert(tokens[row]) * weights[row, place].unsqueeze(-1)
                out = out.index_add(0, row, part)
        if loss is not None:
            out = _WithLoss.apply(out, loss)
        if self.shared_experts is not None:
            shared = self.shared_experts(tokens)
            if self.shared_expert_gate is not None:
                shared = shared * self.shared_expert_gate(tokens).sigmoid()
            out = out + shared
        return out.reshape(hidden_states.shape)
