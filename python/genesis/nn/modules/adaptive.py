"""Softmax over many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from genesis import _C
from genesis._C import Tensor
from genesis.nn.modules.container import ModuleList, Sequential
from genesis.nn.modules.linear import Linear
from genesis.nn.modules.module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    output: Tensor  # the log-probability of each target
    loss: Tensor


class AdaptiveLogSoftmaxWithLoss(Module):
    """Log-softmax in two steps (Grave et al., 2017): frequent classes and clusters, then a cluster.

    Classes are numbered by falling frequency. ``cutoffs`` bound the clusters: classes below the
    first are in the head, beside one entry for each cluster; cluster i works in a space that is
    div_value ** i times smaller. Calling it with inputs (batch, features) and targets gives their
    log-probabilities and the mean loss.

    >>> layer = AdaptiveLogSoftmaxWithLoss(32, 100, cutoffs=[10, 40])
    >>> output, loss = layer(genesis.randn(5, 32), genesis.tensor([0, 9, 10, 50, 99]))
    >>> output.shape, layer.log_prob(genesis.randn(5, 32)).shape
    (genesis.Size([5]), genesis.Size([5, 100]))
    """

    head: Linear
    tail: ModuleList

    def __init__(
        self,
        in_features: int,
        n_classes: int,
        cutoffs: Sequence[int],
        div_value: float = 4.0,
        head_bias: bool = False,
        device: object = None,
        dtype: _C.dtype | None = None,
    ) -> None:
        super().__init__()
        cutoffs = list(cutoffs)
        in_order = cutoffs == sorted(set(cutoffs)) and all(isinstance(c, int) for c in cutoffs)
        if not cutoffs or not in_order or cutoffs[0] <= 0 or cutoffs[-1] > n_classes - 1:
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: cutoffs must be different rising ints between 1 and "
                f"n_classes - 1 = {n_classes - 1}, got {cutoffs}"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        self.head = Linear(in_features, self.head_size, bias=head_bias, device=device, dtype=dtype)
        self.tail = ModuleList()
        for i in range(self.n_clusters):
            hidden = int(in_features // (div_value ** (i + 1)))
            size = self.cutoffs[i + 1] - self.cutoffs[i]
            self.tail.append(
                Sequential(
                    Linear(in_features, hidden, bias=False, device=device, dtype=dtype),
                    Linear(hidden, size, bias=False, device=device, dtype=dtype),
                )
            )

    def reset_parameters(self) -> None:
        """Reinitialize all weights."""
        self.head.reset_parameters()
        for layer in self.tail.modules():
            if isinstance(layer, Linear):
                layer.reset_parameters()

    def forward(self, input_: Tensor, target_: Tensor) -> _ASMoutput:
        single = target_.ndim == 0
        if input_.ndim != target_.ndim + 1 or target_.ndim > 1:
            raise ValueError(
                "AdaptiveLogSoftmaxWithLoss: expected input (batch, features) and target (batch,), "
                f"got {tuple(input_.shape)} and {tuple(target_.shape)}"
            )
        x = input_.unsqueeze(0) if single else input_
        target = target_.reshape(-1)
        if x.shape[0] != target.shape[0]:
            raise ValueError(
                f"AdaptiveLogSoftmaxWithLoss: {x.shape[0]} inputs, but {target.shape[0]} targets"
            )
        if target.numel() and not 0 <= int(target.min()) <= int(target.max()) < self.n_classes:
            raise IndexError(
                f"AdaptiveLogSoftmaxWithLoss: targets from {int(target.min())} to "
                f"{int(target.max())} are out of range; valid: 0..{self.n_classes - 1}"
            )
        head = self.head(x).log_softmax(1)
        # The entry of the head that leads to each target: its own, or that of its cluster.
        entry = target.clamp(max=self.shortlist_size - 1)
        output = None
        for i, projection in enumerate(self.tail):
            inside = (target >= self.cutoffs[i]) & (target < self.cutoffs[i + 1])
            entry = _C.where(inside, _C.full_like(target, self.shortlist_size + i), entry)
            rows = inside.nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            logs = projection(x.index_select(0, rows)).log_softmax(1)
            index = (target.index_select(0, rows) - self.cutoffs[i]).unsqueeze(1)
            if output is None:
                output = _C.zeros(target.shape, dtype=head.dtype, device=head.device)
            output = output.index_add(0, rows, logs.gather(1, index).squeeze(1).to(head.dtype))
        found = head.gather(1, entry.unsqueeze(1)).squeeze(1)
        output = found if output is None else found + output
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def log_prob(self, input: Tensor) -> Tensor:
        """The log-probabilities of all classes."""
        head = self.head(input).log_softmax(1)
        parts = [head[:, : self.shortlist_size]]
        for i, projection in enumerate(self.tail):
            cluster = head[:, self.shortlist_size + i].unsqueeze(1)
            parts.append(projection(input).log_softmax(1) + cluster)
        return _C.cat(parts, 1)

    def predict(self, input: Tensor) -> Tensor:
        """The most probable class of each input."""
        return self.log_prob(input).argmax(1)
