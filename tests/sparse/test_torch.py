"""Operations of sparse tensors: values, layouts, gradients and errors of PyTorch."""

import operator
import warnings

import genesis
import numpy as np
import pytest

torch = pytest.importorskip("torch")

MATRIX = np.array([[0, 1.0, 2], [3, 0, 0], [0, 4, 5]])
HYBRID = np.zeros((2, 3, 2))
HYBRID[0, 1] = [1, 2]
HYBRID[1, 2] = [6, 3]


def _sparse(module, array, kind):
    x = module.tensor(array, dtype=getattr(module, str(array.dtype)))
    if kind == "csr":
        return x.to_sparse_csr()
    x = x.to_sparse(2)
    if kind == "uncoalesced":
        index, values = x.indices(), x.values()
        index, values = module.cat([index.flip(1), index], 1), module.cat([values.flip(0), values])
        x = module.sparse_coo_tensor(index, values, tuple(x.shape))
    return x


def _dense(x):
    return x.to_dense() if "sparse" in str(x.layout) else x


def _run(module, function, array, kind):
    x = _sparse(module, array, kind).requires_grad_()
    y = function(module, x)
    if not isinstance(y, module.Tensor):
        return y, None
    flat = _dense(y)
    if flat.requires_grad:
        (flat * module.arange(flat.numel(), dtype=flat.dtype).reshape(flat.shape)).sum().backward()
    return y, x.grad


def compare(function, array=MATRIX, kind="coo", gradient=True):
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            expected, slope = _run(torch, function, array, kind)
    except Exception as error:
        with pytest.raises(type(error)):
            function(genesis, _sparse(genesis, array, kind))
        return
    found, our_slope = _run(genesis, function, array, kind)
    assert str(found.layout).rpartition(".")[2] == str(expected.layout).rpartition(".")[2]
    np.testing.assert_allclose(_dense(found).detach().numpy(), _dense(expected).detach().numpy())
    if gradient and slope is not None:
        stored = _dense(_sparse(torch, array, kind)).numpy() != 0
        ours, theirs = _dense(our_slope).numpy(), _dense(slope).numpy()
        np.testing.assert_allclose(ours, np.where(stored, theirs, 0))


@pytest.mark.parametrize("dim", [0, 1, -1, 2, -3])
@pytest.mark.parametrize(
    "function",
    [
        lambda m, x, d: m.sparse.sum(x, d),
        lambda m, x, d: x.transpose(0, d),
        lambda m, x, d: m.cat([x.detach(), x.detach()], d),
        lambda m, x, d: x.unsqueeze(d).detach(),
        lambda m, x, d: m.stack([x.detach(), x.detach()], d),
        lambda m, x, d: x.detach().select(d, 1),
        lambda m, x, d: m.index_select(x.detach(), d, m.tensor([2, 0, 2])),
        lambda m, x, d: x.detach().sum(d, keepdim=True),
    ],
    ids=["sum", "transpose", "cat", "unsqueeze", "stack", "select", "index_select", "keepdim"],
)
def test_dimensions(function, dim):
    compare(lambda m, x: function(m, x, dim))


@pytest.mark.parametrize("dim", [0, 1, 2, -3])  # the gradient of PyTorch is wrong for dim=-1
def test_softmax(dim):
    compare(lambda m, x: m.sparse.softmax(x, dim))
    compare(lambda m, x: m.sparse.softmax(x, dim), HYBRID)


@pytest.mark.parametrize("order", [(1, 0), (0, 1), (0, 0), (0, 2), (0,)])
def test_permute(order):
    compare(lambda m, x: x.permute(order))


@pytest.mark.parametrize("key", [0, -1, (0, 1), (2, -1), 3, (0, 3)])
def test_indexing_with_integers(key):
    compare(lambda m, x: x.detach()[key])
    compare(lambda m, x: x.detach()[key], kind="csr")


@pytest.mark.parametrize("shape", [(), (1,), (3,), (3, 3), (1, 3), (3, 1), (2,)])
def test_products_with_dense_tensors_broadcast(shape):
    def function(m, x):
        return x * m.arange(1, np.prod(shape) + 1, dtype=m.float64).reshape(shape)

    compare(function)


@pytest.mark.parametrize(
    "function",
    [
        lambda m, x: x.to_dense(),
        lambda m, x: x.coalesce(),
        lambda m, x: m.sparse.sum(x),
        lambda m, x: m.sparse.sum(x, 0),
        lambda m, x: x + x,
        lambda m, x: -x,
        lambda m, x: (2 * x).to_dense(),
        lambda m, x: m.sparse.mm(x, m.ones(3, 2, dtype=m.float64)),
    ],
)
def test_gradients_of_uncoalesced_tensors(function):
    compare(function, kind="uncoalesced")


@pytest.mark.parametrize("name", ["positive", "isnan", "signbit", "absolute", "arcsin", "conj"])
def test_functions_that_keep_zeros(name):
    compare(lambda m, x: getattr(m, name)(x.detach()))
    compare(lambda m, x: getattr(m, name)(x.detach()), kind="csr")


@pytest.mark.parametrize("name", ["abs_", "sin_", "neg_", "sqrt_"])
def test_functions_in_place(name):
    compare(lambda m, x: getattr(x.detach().clone(), name)())


@pytest.mark.parametrize("operation", [operator.imul, operator.itruediv])
def test_in_place_operations_raise_if_a_gradient_would_be_lost(operation):
    x = _sparse(genesis, MATRIX, "coo").requires_grad_()
    for y in (x, x * 2):
        with pytest.raises(RuntimeError, match="in place"):
            operation(y, 2)
        genesis.testing.assert_close(y.to_dense(), (y * 1).to_dense())


def test_complex_numbers():
    array = MATRIX * (1 + 2j)
    compare(lambda m, x: x.detach().H, array)
    compare(lambda m, x: x.detach().T, array)
    compare(lambda m, x: x.detach() * 1j)
    found = _sparse(genesis, array, "coo").real
    np.testing.assert_array_equal(found.to_dense().numpy(), MATRIX)


def test_a_size_alone_makes_zeros():
    x = genesis.sparse_coo_tensor((2, 3))
    assert x.shape == (2, 3)
    assert x._nnz() == 0


def test_numpy_raises_a_type_error():
    with pytest.raises(TypeError, match="to_dense"):
        genesis.eye(2).to_sparse().numpy()
