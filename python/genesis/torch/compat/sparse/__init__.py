"""``torch.sparse.FloatTensor(indices, values, size)`` etc.: the older constructors."""

from __future__ import annotations

from typing import Any

import genesis
from genesis import _legacy
from genesis._C import Tensor

__all__: list[str] = []


class _SparseType(type):
    """Makes COO tensors of one dtype and recognises them."""

    dtype: Any

    def __instancecheck__(cls, x: object) -> bool:
        return isinstance(x, Tensor) and bool(x.is_sparse) and x.dtype == cls.dtype

    def __call__(cls, *args: Any, device: Any = None) -> Tensor:
        if len(args) > 1 and isinstance(args[0], Tensor):
            indices, values, *more = args
            return genesis.sparse_coo_tensor(indices, values, *more, dtype=cls.dtype, device=device)
        size = args[0] if len(args) == 1 and not isinstance(args[0], int) else args
        return genesis.sparse_coo_tensor(
            genesis.empty(len(size), 0, dtype=genesis.int64),
            genesis.empty(0, dtype=cls.dtype),
            tuple(size),
            device=device,
        )


for _name in _legacy.__all__:
    if _name.endswith("Tensor"):
        globals()[_name] = _SparseType(
            _name, (), {"__doc__": f"Sparse {_name}.", "dtype": getattr(genesis, _name).dtype}
        )
