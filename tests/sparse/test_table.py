"""Every operator with a sparse argument: the result of the dense one, or an error that names to_dense()."""

import genesis
import numpy as np
import pytest

from tests.ops.op import Op, tensor
from tests.ops.table import OPS

LAYOUTS = {"coo": genesis.Tensor.to_sparse, "csr": genesis.Tensor.to_sparse_csr}


def _sample(op: Op):
    """One with a matrix, if there is any."""
    found = [s for s in op.all_samples() if op.leaves(s) and op.leaves(s)[0].ndim > 0]
    return next((s for s in found if op.leaves(s)[0].ndim == 2), found[0] if found else None)


def _cases():
    for op in OPS:
        sample = None if op.wrap else _sample(op)
        if sample is None:
            continue
        for place, array in enumerate(op.leaves(sample)[:2]):
            for layout in ("coo", "csr") if array.ndim == 2 else ("coo",) if array.ndim else ():
                yield pytest.param(op, sample, place, layout, id=f"{op.id}-{place}-{layout}")


@pytest.mark.parametrize(("op", "sample", "place", "layout"), list(_cases()))
def test_result_of_the_dense_one_or_an_error(op, sample, place, layout):
    leaves = [tensor(a) for a in op.leaves(sample)]
    args, kwargs = op.with_leaves(sample, leaves)
    sparse = list(leaves)
    sparse[place] = LAYOUTS[layout](leaves[place])
    sparse_args, sparse_kwargs = op.with_leaves(sample, sparse)
    try:
        found = op(*sparse_args, **sparse_kwargs)
    except (RuntimeError, TypeError, ValueError, BufferError) as error:
        assert "to_dense" in str(error)
        return
    for a, b in zip(found, op(*args, **kwargs), strict=True):
        if isinstance(b, genesis.Tensor):
            assert tuple(a.shape) == tuple(b.shape)
            assert a.dtype == b.dtype
            if op.ref is not None and not op.random:
                values = a.to_dense().detach().double().numpy()
                np.testing.assert_allclose(values, b.detach().double().numpy(), rtol=1e-6)
