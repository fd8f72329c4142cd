"""einops takes tensors: its backend for them, made when both packages are there.

einops finds backends among the subclasses of a class of its own, so one must be defined once einops
is imported, before or after genesis. `genesis._tensor` waits for it, and then reads this file.
"""

from __future__ import annotations

import importlib.util
import sys
from types import ModuleType
from typing import Any


def define(backends: Any) -> None:
    from genesis import _C
    from genesis._C import Tensor

    class GenesisBackend(backends.AbstractBackend):  # type: ignore[misc]
        framework_name = "genesis"

        def is_appropriate_type(self, tensor: object) -> bool:
            return isinstance(tensor, Tensor)

        def from_numpy(self, x: Any) -> Tensor:
            made = _C.from_numpy(x)
            return made.requires_grad_() if made.is_floating_point() else made

        def to_numpy(self, x: Tensor) -> Any:
            return x.detach().numpy()

        def arange(self, start: int, stop: int) -> Tensor:
            return _C.arange(start, stop, dtype=_C.int64)

        def shape(self, x: Tensor) -> tuple[int, ...]:
            return tuple(x.shape)

        def reshape(self, x: Tensor, shape: Any) -> Tensor:
            return x.reshape(tuple(shape))

        def transpose(self, x: Tensor, axes: Any) -> Tensor:
            return x.permute(*axes)

        def reduce(self, x: Tensor, operation: str, axes: Any) -> Tensor:
            names = {"max": "amax", "min": "amin"}
            for axis in sorted(axes, reverse=True):
                x = getattr(_C, names.get(operation, operation))(x, axis)
            return x

        def stack_on_zeroth_dimension(self, tensors: Any) -> Tensor:
            return _C.stack(list(tensors))

        def add_axis(self, x: Tensor, new_position: int) -> Tensor:
            return x.unsqueeze(new_position)

        def add_axes(self, x: Tensor, n_axes: int, pos2len: dict[int, int]) -> Tensor:
            repeats = [-1] * n_axes
            for position, length in pos2len.items():
                x = x.unsqueeze(position)
                repeats[position] = length
            return x.expand(*repeats)

        def tile(self, x: Tensor, repeats: Any) -> Tensor:
            return x.repeat(*repeats)

        def concat(self, tensors: Any, axis: int) -> Tensor:
            return _C.cat(list(tensors), axis)

        def is_float_type(self, x: Tensor) -> bool:
            return x.is_floating_point()

        def einsum(self, pattern: str, *x: Tensor) -> Tensor:
            return _C.einsum(pattern, *x)

    backends.GenesisBackend = GenesisBackend  # a class only keeps weak references to its subclasses


class _Loader:
    """Does what the real loader does, and then defines the backend."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def exec_module(self, module: ModuleType) -> None:
        self._real.exec_module(module)
        define(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


def found(finder: Any, name: str) -> Any:
    """The spec of einops' module, as the other finders find it, with the backend behind it."""
    place = sys.meta_path.index(finder)
    del sys.meta_path[place]
    try:
        spec = importlib.util.find_spec(name)
    finally:
        sys.meta_path.insert(place, finder)
    if spec is not None and spec.loader is not None:
        spec.loader = _Loader(spec.loader)  # type: ignore[assignment]
    return spec
