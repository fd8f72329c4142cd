"""Batch normalisation over the batches of all ranks."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.nn.modules.batchnorm import _BatchNorm
from genesis.nn.modules.module import Module

__all__ = ["SyncBatchNorm"]


class SyncBatchNorm(_BatchNorm):
    """Mean 0 and variance 1 of each channel over the batches of all ranks of a group, (N, C, ...).

    Without `genesis.distributed`, on one rank, and in evaluation it is a plain batch norm.

    >>> SyncBatchNorm(3)(genesis.ones(2, 3, 4)).shape
    genesis.Size([2, 3, 4])
    """

    def __init__(
        self,
        num_features: int,
        eps: float = 1e-5,
        momentum: float | None = 0.1,
        affine: bool = True,
        track_running_stats: bool = True,
        process_group: Any = None,
        device: Any = None,
        dtype: _C.dtype | None = None,
        *,
        bias: bool = True,
    ) -> None:
        super().__init__(
            num_features, eps, momentum, affine, track_running_stats, device, dtype, bias=bias
        )
        self.process_group = process_group

    def _check_input_dim(self, input: Tensor) -> None:
        if input.ndim < 2:
            raise ValueError(
                f"SyncBatchNorm: expected at least 2D input (got {input.ndim}D input), that is "
                f"(batch, channels, ...), got shape {tuple(input.shape)}; reshape it"
            )

    def forward(self, input: Tensor) -> Tensor:
        from genesis import distributed as dist

        own = self.training or (self.running_mean is None and self.running_var is None)
        shared = own and dist.is_initialized() and dist.get_world_size(self.process_group) > 1
        if not shared:
            return super().forward(input)
        self._check_input_dim(input)
        if input.shape[1] != self.num_features:
            raise ValueError(
                f"SyncBatchNorm: input of shape {tuple(input.shape)} has {input.shape[1]} "
                f"channels, expected num_features={self.num_features}"
            )
        from genesis.distributed.nn.functional import all_reduce

        group = self.process_group
        dims = [d for d in range(input.ndim) if d != 1]
        shape = [1, -1] + [1] * (input.ndim - 2)
        x = input.float() if input.dtype in (_C.float16, _C.bfloat16) else input
        mine = x.numel() // x.shape[1] if x.shape[1] else 0
        # The sum and the count of all ranks in one message, then the squares around the mean.
        sums = _C.cat([x.sum(dims), _C.full((1,), float(mine), dtype=x.dtype)])
        sums = all_reduce(sums, group=group)
        count = float(sums[-1].item())
        mean = sums[:-1] / count
        centred = x - mean.view(shape)
        var = all_reduce((centred * centred).sum(dims), group=group) / count
        y = centred * (var + self.eps).rsqrt().view(shape)
        if self.weight is not None:
            y = y * self.weight.view(shape)
        if self.bias is not None:
            y = y + self.bias.view(shape)
        if self.training and self.track_running_stats:
            self._follow(mean.detach(), var.detach(), count)
        return y.to(input.dtype)

    def _follow(self, mean: Tensor, var: Tensor, count: float) -> None:
        """Move the running statistics towards those of this batch."""
        momentum = self.momentum
        if self.num_batches_tracked is not None:
            self.num_batches_tracked.add_(1)
            if momentum is None:
                momentum = 1 / int(self.num_batches_tracked.item())
        weight = 0.0 if momentum is None else momentum
        unbiased = var * (count / max(count - 1, 1))
        for running, new in ((self.running_mean, mean), (self.running_var, unbiased)):
            if running is not None:
                running.mul_(1 - weight).add_(new.to(running.dtype), alpha=weight)

    @classmethod
    def convert_sync_batchnorm(cls, module: Module, process_group: Any = None) -> Module:
        """``module`` with every batch norm in it replaced by one over all ranks.

        >>> SyncBatchNorm.convert_sync_batchnorm(genesis.nn.BatchNorm2d(3))
        SyncBatchNorm(3, eps=1e-05, momentum=0.1, affine=True, bias=True, track_running_stats=True)
        """
        if isinstance(module, _BatchNorm) and not isinstance(module, cls):
            converted = cls(
                module.num_features,
                module.eps,
                module.momentum,
                module.affine,
                module.track_running_stats,
                process_group,
                bias=module.bias is not None,
            )
            for name, parameter in module._parameters.items():
                converted.register_parameter(name, parameter)
            for name, buffer in module._buffers.items():
                converted.register_buffer(name, buffer)
            converted.train(module.training)
            return converted
        for name, child in list(module.named_children()):
            replaced = cls.convert_sync_batchnorm(child, process_group)
            if replaced is not child:
                module.add_module(name, replaced)
        return module
