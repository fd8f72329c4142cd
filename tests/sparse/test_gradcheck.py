"""as_sparse_gradcheck: derivatives of functions of sparse tensors."""

import genesis
import pytest
from genesis.autograd import gradcheck
from genesis.sparse import as_sparse_gradcheck

check = as_sparse_gradcheck(gradcheck)


def _sparse(layout):
    dense = genesis.tensor([[0.0, 1.5, 0.0], [2.0, 0.0, -1.0]], dtype=genesis.float64)
    return dense.to_sparse(layout=layout).requires_grad_()


@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("layout", [genesis.sparse_coo, genesis.sparse_csr])
def test_products_and_conversions(layout, masked):
    w = genesis.randn(3, 2, dtype=genesis.float64, requires_grad=True)
    assert check(lambda x, w: x @ w, (_sparse(layout), w), masked=masked)
    assert check(lambda x: x.to_dense() ** 2, (_sparse(layout),), masked=masked)
    assert check(lambda x: x.to_sparse(layout=genesis.sparse_coo), _sparse(layout), masked=masked)


def test_a_wrong_derivative_is_found():
    class Wrong(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            return g * 3

    with pytest.raises(genesis.autograd.GradcheckError):
        check(lambda x: Wrong.apply(x.to_dense()), (_sparse(genesis.sparse_coo),))
