"""The original Genesis names: ``DistributedDataParallel(model)`` that looks like the model."""

from __future__ import annotations

from typing import Any

from genesis.distributed._ddp import DistributedDataParallel as _DataParallel
from genesis.nn.modules.module import Module

__all__ = ["DDP", "DistributedDataParallel"]


class DistributedDataParallel(_DataParallel):
    """`genesis.nn.parallel.DistributedDataParallel` with the names of the wrapped model.

    ``state_dict``, ``load_state_dict`` and the walks over parameters, buffers and modules are those
    of the model, without the prefix "module.".
    """

    def __init__(
        self,
        model: Module,
        device_ids: Any = None,
        output_device: Any = None,
        broadcast_buffers: bool = True,
        find_unused_parameters: bool = False,
        gradient_as_bucket_view: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(
            model,
            device_ids,
            output_device,
            broadcast_buffers=broadcast_buffers,
            find_unused_parameters=find_unused_parameters,
            gradient_as_bucket_view=gradient_as_bucket_view,
            **options,
        )

    @property
    def model(self) -> Module:
        """The wrapped model."""
        return self.module

    def state_dict(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.state_dict(*args, **kwargs)

    def load_state_dict(self, state_dict: Any, strict: bool = True, assign: bool = False) -> Any:
        return self.module.load_state_dict(state_dict, strict, assign)

    def named_parameters(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.named_parameters(*args, **kwargs)

    def parameters(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.parameters(*args, **kwargs)

    def named_buffers(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.named_buffers(*args, **kwargs)

    def buffers(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.buffers(*args, **kwargs)

    def named_modules(self, *args: Any, **kwargs: Any) -> Any:
        return self.module.named_modules(*args, **kwargs)

    def modules(self, remove_duplicate: bool = True) -> Any:
        return self.module.modules(remove_duplicate)


DDP = DistributedDataParallel
