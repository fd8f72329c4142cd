"""parallelize_module: which part of a model is divided in which way."""

from __future__ import annotations

import fnmatch
from typing import Any

from genesis.distributed.device_mesh import DeviceMesh
from genesis.distributed.tensor.parallel._styles import ParallelStyle
from genesis.nn.modules.module import Module


def parallelize_module(
    module: Module,
    device_mesh: DeviceMesh,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None,
    *,
    src_data_rank: int | None = 0,
) -> Module:
    """Divide ``module`` in place, as a style or a plan of styles by name says, and return it.

    Names may have ``*`` in them. The values of the parameters are those of rank ``src_data_rank``
    of the mesh; with None every rank's own are taken to be the same.

    >>> from genesis.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel
    >>> mesh = genesis.distributed.init_device_mesh("cpu", (1,))
    >>> model = genesis.nn.Sequential(genesis.nn.Linear(4, 8), genesis.nn.Linear(8, 4))
    >>> parallelize_module(model, mesh, {"0": ColwiseParallel(), "1": RowwiseParallel()})(
    ...     genesis.ones(1, 4)
    ... ).shape
    genesis.Size([1, 4])
    >>> genesis.distributed.destroy_process_group()
    """
    if not isinstance(device_mesh, DeviceMesh) or device_mesh.ndim != 1:
        raise ValueError(
            f"parallelize_module: device_mesh must have one dimension, got {device_mesh}; take "
            'part of it, for example mesh["tp"]'
        )
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan._apply(module, device_mesh, src_data_rank)
        return module
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "parallelize_module: parallelize_plan must be a style or a dict of styles by name, "
            f"got {type(parallelize_plan).__name__}"
        )
    names: dict[str, Any] = dict(module.named_modules())
    for pattern, style in parallelize_plan.items():
        if not isinstance(style, ParallelStyle):
            raise TypeError(f"parallelize_module: {pattern!r} must map to a style, got {style!r}")
        depth = pattern.count(".")
        found = [n for n in names if n.count(".") == depth and fnmatch.fnmatchcase(n, pattern)]
        if not found:
            near = [n for n in names if n][:8]
            raise ValueError(
                f"parallelize_module: no submodule is called {pattern!r}; there are {near} ..."
            )
        for name in found:
            style._apply(names[name], device_mesh, src_data_rank)
    return module
