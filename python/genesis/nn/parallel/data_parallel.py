"""A module on several devices: on a CPU, the module itself under another name."""

from __future__ import annotations

from typing import Any

from genesis.nn.modules.module import Module

__all__ = ["DataParallel", "data_parallel"]


class DataParallel(Module):
    """Calls ``module``; without devices to share the batch, as in PyTorch on a CPU.

    >>> model = genesis.nn.DataParallel(genesis.nn.Linear(2, 1))
    >>> list(model.state_dict())
    ['module.weight', 'module.bias']
    """

    def __init__(
        self,
        module: Module,
        device_ids: list[Any] | None = None,
        output_device: Any = None,
        dim: int = 0,
    ) -> None:
        super().__init__()
        if device_ids:
            raise RuntimeError(
                f"DataParallel: device_ids={device_ids}, but there are no devices beside the CPU; "
                "leave it out"
            )
        self.dim = dim
        self.module = module
        self.device_ids: list[Any] = []

    def forward(self, *inputs: Any, **kwargs: Any) -> Any:
        return self.module(*inputs, **kwargs)


def data_parallel(
    module: Module,
    inputs: Any,
    device_ids: list[Any] | None = None,
    output_device: Any = None,
    dim: int = 0,
    module_kwargs: dict[str, Any] | None = None,
) -> Any:
    """``module`` of the inputs, on the CPU."""
    arguments = inputs if isinstance(inputs, tuple) else (inputs,)
    return DataParallel(module, device_ids)(*arguments, **(module_kwargs or {}))
