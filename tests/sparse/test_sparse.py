"""Sparse tensors: construction, conversions, arithmetic, gradients, what they refuse."""

import copy
import pickle

import genesis
import numpy as np
import pytest
from genesis.autograd import gradcheck

INDEX = [[0, 1, 1, 2], [2, 0, 2, 1]]
V = [3.0, 4.0, 5.0, 6.0]
DENSE = np.array([[0, 0, 3], [4, 0, 5], [0, 6, 0]], float)


def _coo(**kwargs):
    return genesis.sparse_coo_tensor(INDEX, V, (3, 3), **kwargs)


def _csr(**kwargs):
    return genesis.sparse_csr_tensor([0, 1, 3, 4], [2, 0, 2, 1], V, (3, 3), **kwargs)


def _csc(**kwargs):
    return genesis.sparse_csc_tensor(
        [0, 1, 2, 4], [1, 2, 0, 1], [4.0, 6.0, 3.0, 5.0], (3, 3), **kwargs
    )


def _equal(x, expected):
    np.testing.assert_array_equal(x.detach().numpy(), expected)


@pytest.fixture(params=[_coo, _csr, _csc], ids=["coo", "csr", "csc"])
def make(request):
    return request.param


# --- construction and conversions


def test_parts():
    x = _coo()
    assert x.is_sparse and not x.is_sparse_csr and x.layout is genesis.sparse_coo
    assert tuple(x.shape) == (3, 3) and x.ndim == x.dim() == 2 and x.numel() == 9
    assert (x.sparse_dim(), x.dense_dim(), x._nnz()) == (2, 0, 4)
    assert x._indices().tolist() == INDEX and x._values().tolist() == V
    with pytest.raises(RuntimeError, match="coalesce"):
        x.indices()
    once = x.coalesce()
    assert once.is_coalesced() and once.indices().tolist() == INDEX and once.values().tolist() == V
    rows = _csr()
    assert rows.is_sparse_csr and rows.layout is genesis.sparse_csr and not rows.is_sparse
    assert rows.crow_indices().tolist() == [0, 1, 3, 4] and rows.col_indices().tolist() == [
        2,
        0,
        2,
        1,
    ]
    assert rows.values().tolist() == V
    cols = _csc()
    assert cols.ccol_indices().tolist() == [0, 1, 2, 4] and cols.row_indices().tolist() == [
        1,
        2,
        0,
        1,
    ]
    with pytest.raises(RuntimeError, match="sparse_csr"):
        x.crow_indices()


def test_to_dense(make):
    _equal(make().to_dense(), DENSE)
    assert make().to_dense().layout is genesis.strided
    assert make(dtype=genesis.float64).to_dense().dtype == genesis.float64


@pytest.mark.parametrize("name", ["sparse_coo", "sparse_csr", "sparse_csc"])
def test_layouts_convert(make, name):
    kind = getattr(genesis, name)
    x = make().to_sparse(layout=kind)
    assert x.layout is kind
    _equal(x.to_dense(), DENSE)
    _equal(getattr(make(), f"to_{name}")().to_dense(), DENSE)
    method = getattr(genesis.tensor(DENSE), f"to_{name}")()
    assert method.layout is kind
    _equal(method.to_dense(), DENSE)


def test_to_sparse_keeps_dense_dimensions():
    x = genesis.tensor([[[1.0, 2.0], [0.0, 0.0]], [[0.0, 3.0], [0.0, 0.0]]])
    s = x.to_sparse(2)
    assert (s.sparse_dim(), s.dense_dim(), s._nnz()) == (2, 1, 2)
    _equal(s.to_dense(), x.numpy())
    _equal(x.to_sparse().to_dense(), x.numpy())
    _equal(x.to_sparse(1).to_dense(), x.numpy())
    with pytest.raises(ValueError, match="sparse_dim"):
        x.to_sparse(4)


def test_values_at_one_index_add_up():
    x = genesis.sparse_coo_tensor([[1, 0, 1]], [1.0, 2.0, 3.0], (3,))
    assert not x.is_coalesced()
    assert x.to_dense().tolist() == [2.0, 4.0, 0.0]
    once = x.coalesce()
    assert once.indices().tolist() == [[0, 1]] and once.values().tolist() == [2.0, 4.0]


def test_empty():
    x = genesis.sparse_coo_tensor(
        genesis.zeros(2, 0, dtype=genesis.int64), genesis.zeros(0), (2, 3)
    )
    _equal(x.to_dense(), np.zeros((2, 3)))
    _equal(x @ genesis.ones(3, 2), np.zeros((2, 2)))
    _equal(genesis.zeros(0, 3).to_sparse().to_dense(), np.zeros((0, 3)))
    assert x.coalesce()._nnz() == 0


def test_size_is_inferred():
    assert tuple(genesis.sparse_coo_tensor([[0, 4]], [1.0, 2.0]).shape) == (5,)
    assert tuple(genesis.sparse_csr_tensor([0, 1], [3], [1.0]).shape) == (1, 4)


@pytest.mark.parametrize("call, error, text", [
    (lambda: genesis.sparse_coo_tensor([[0, 5]], [1.0, 2.0], (3,)), IndexError, "must be from 0 to 2"),
    (lambda: genesis.sparse_coo_tensor([[0, -1]], [1.0, 2.0], (3,)), IndexError, "must be from 0 to 2"),
    (lambda: genesis.sparse_coo_tensor([[0, 1]], [1.0], (3,)), ValueError, "same number of elements"),
    (lambda: genesis.sparse_coo_tensor([0, 1], [1.0, 2.0], (3,)), ValueError, "dimensions, elements"),
    (lambda: genesis.sparse_coo_tensor([[0.5]], [1.0], (3,)), TypeError, "must be integers"),
    (lambda: genesis.sparse_coo_tensor([[0]], [1.0], (3, 3)), ValueError, "does not match"),
    (lambda: genesis.sparse_csr_tensor([0, 2, 1], [0, 1], [1.0, 2.0], (2, 2)), ValueError, "must increase"),
    (lambda: genesis.sparse_csr_tensor([0, 1, 2], [0, 7], [1.0, 2.0], (2, 2)), IndexError, "must be from 0 to 1"),
    (lambda: genesis.sparse_csr_tensor([0, 2], [0, 1], [1.0, 2.0], (2, 2)), ValueError, "does not match"),
    (lambda: genesis.sparse_bsr_tensor([0, 1], [0], [[[1.0]]]), RuntimeError, "block layout"),
    (lambda: genesis.ones(2).indices(), RuntimeError, "expected a sparse tensor"),
])  # fmt: skip
def test_bad_arguments(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_text():
    assert repr(_coo()) == (
        "tensor(indices=tensor([[0, 1, 1, 2],\n"
        "                       [2, 0, 2, 1]]),\n"
        "       values=tensor([3., 4., 5., 6.]),\n"
        "       size=(3, 3), nnz=4, layout=genesis.sparse_coo)"
    )
    assert "crow_indices=tensor([0, 1, 3, 4])" in str(_csr())
    assert "requires_grad=True" in repr(_coo(requires_grad=True))


# --- operations


def test_products(make):
    other = np.arange(6.0).reshape(3, 2)
    d = genesis.tensor(other)
    x = make()
    for product in (x @ d, genesis.mm(x, d), x.mm(d), genesis.sparse.mm(x, d), x.matmul(d)):
        _equal(product, DENSE @ other)
    _equal(d.T @ x, other.T @ DENSE)
    _equal(x @ d[:, 0], DENSE @ other[:, 0])
    _equal(genesis.addmm(genesis.ones(3, 2), x, d, beta=2, alpha=0.5), 2 + DENSE @ other / 2)
    _equal(genesis.sparse.addmm(genesis.ones(3, 2), x, d), 1 + DENSE @ other)
    both = x @ make()
    assert both.layout is x.layout
    _equal(both.to_dense(), DENSE @ DENSE)


def test_arithmetic(make):
    x = make()
    _equal((x * 2).to_dense(), DENSE * 2)
    _equal((2 * x).to_dense(), DENSE * 2)
    _equal((x / 2).to_dense(), DENSE / 2)
    _equal((-x).to_dense(), -DENSE)
    _equal((x + make()).to_dense(), 2 * DENSE)
    _equal((x - make().t().t()).to_dense(), 0 * DENSE)
    _equal(x + genesis.ones(3, 3), DENSE + 1)
    _equal(genesis.ones(3, 3) + x, DENSE + 1)
    _equal(x - genesis.ones(3, 3), DENSE - 1)
    _equal(genesis.ones(3, 3) - x, 1 - DENSE)
    _equal(genesis.tensor(x, dtype=genesis.float64).to_dense(), DENSE.astype(np.float64))
    _equal(x.t().to_dense(), DENSE.T)
    _equal(x.T.to_dense(), DENSE.T)
    _equal(x.transpose(0, 1).to_dense(), DENSE.T)
    _equal((x * x).to_dense(), DENSE * DENSE)
    _equal((x * genesis.full((3, 3), 3.0)).to_dense(), DENSE * 3)
    _equal(x.abs().sqrt().to_dense(), np.sqrt(DENSE).astype(np.float32))
    assert x.norm().item() == pytest.approx(np.linalg.norm(DENSE))
    with pytest.raises(ValueError, match="broadcast"):
        x + genesis.ones(3)


def test_sums():
    x = _coo()
    assert genesis.sparse.sum(x).item() == x.sum().item() == 18.0
    _equal(genesis.sparse.sum(x, 0).to_dense(), DENSE.sum(0))
    _equal(genesis.sparse.sum(x, [1]).to_dense(), DENSE.sum(1))
    _equal(genesis.sparse.sum(x, (0, 1)), DENSE.sum())
    rows = genesis.tensor(np.arange(12.0).reshape(3, 2, 2)).to_sparse(1)
    _equal(genesis.sparse.sum(rows, 2).to_dense(), np.arange(12.0).reshape(3, 2, 2).sum(2))
    _equal(genesis.sparse.sum(rows, 0), np.arange(12.0).reshape(3, 2, 2).sum(0))


@pytest.mark.parametrize("dim", [0, 1])
def test_softmax_is_over_stored_elements(dim):
    x = _coo()
    masked = np.where(DENSE == 0, -np.inf, DENSE)
    expected = np.exp(masked) / np.exp(masked).sum(dim, keepdims=True)
    np.testing.assert_allclose(
        genesis.sparse.softmax(x, dim).to_dense().numpy(), expected, rtol=1e-6
    )
    logs = genesis.sparse.log_softmax(x, dim).values()
    softmax = genesis.sparse.softmax(x, dim).values()
    np.testing.assert_allclose(logs.numpy(), softmax.log().numpy(), atol=1e-6)


def test_cat():
    _equal(genesis.cat([_coo(), _coo()], 1).to_dense(), np.concatenate([DENSE, DENSE], 1))
    with pytest.raises(ValueError, match="equal shapes except in dim 1"):
        genesis.cat([_coo(), genesis.ones(2, 2).to_sparse()], 1)


def test_sampled_addmm_and_spdiags():
    x = _csr()
    a = genesis.tensor(np.arange(6.0).reshape(3, 2))
    _equal(genesis.sparse.sampled_addmm(x, a, a.T, beta=2.0).to_dense(),
           np.where(DENSE != 0, 2 * DENSE + (a @ a.T).numpy(), 0))  # fmt: skip
    made = genesis.sparse.spdiags(genesis.ones(2, 3), genesis.tensor([0, -1]), (3, 3))
    _equal(made.to_dense(), np.eye(3) + np.eye(3, k=-1))


@pytest.mark.parametrize("call", [
    lambda x: x.exp(), lambda x: x[0:2], lambda x: x.numpy(), lambda x: x.tolist(), lambda x: x.reshape(9),
    lambda x: x + 1, lambda x: genesis.nn.functional.relu6(x), lambda x: genesis.stack([x, x.to_dense()]),
    lambda x: x.max(), lambda x: x.item(), lambda x: genesis.cumsum(x, 0), lambda x: x > 0,
    lambda x: x.data_ptr(), lambda x: x.stride(), lambda x: np.asarray(x), lambda x: float(x),
    lambda x: bool(x), lambda x: list(x), lambda x: genesis.where(x.to_dense() > 0, x, x),
    lambda x: genesis.einsum("ij->ji", x), lambda x: x.view(9), lambda x: genesis.save(x, "/dev/null/x"),
    lambda x: genesis.linalg.inv(x), lambda x: x.fill_(1.0), lambda x: genesis.from_dlpack(x),
])  # fmt: skip
def test_everything_else_suggests_to_dense(call):
    with pytest.raises((RuntimeError, TypeError, ValueError, BufferError, OSError)) as error:
        call(_coo())
    assert "to_dense" in str(error.value) or isinstance(error.value, OSError)


# --- gradients


def test_gradients_of_values_and_of_the_dense_matrix(make):
    rng = np.random.default_rng(0)
    index = make().to_sparse(layout=genesis.sparse_coo)._indices()
    v = genesis.tensor(rng.normal(size=4), dtype=genesis.float64, requires_grad=True)
    d = genesis.tensor(rng.normal(size=(3, 2)), dtype=genesis.float64, requires_grad=True)

    def product(v, d):
        x = genesis.sparse_coo_tensor(index, v, (3, 3)).to_sparse(layout=make().layout)
        return x @ d

    assert gradcheck(product, (v, d), order=2)


@pytest.mark.parametrize("function", [
    lambda x: x.to_dense(), lambda x: (x * 3).to_dense(), lambda x: (x + x).to_dense(),
    lambda x: genesis.sparse.sum(x), lambda x: genesis.sparse.sum(x, 0).to_dense(), lambda x: x.t().to_dense(),
    lambda x: genesis.sparse.softmax(x, 1).to_dense(), lambda x: x.coalesce().values(), lambda x: (x @ x).to_dense(),
    lambda x: (x * x).to_dense(), lambda x: x.norm(),
])  # fmt: skip
def test_gradients_of_operations(function):
    v = genesis.tensor([1.0, 2.0, 3.0, 0.5], dtype=genesis.float64, requires_grad=True)
    index = genesis.tensor([[0, 1, 1, 0], [2, 0, 2, 2]])
    assert gradcheck(lambda v: function(genesis.sparse_coo_tensor(index, v, (3, 3))), v, order=2)


def test_gradient_of_to_sparse():
    x = genesis.tensor([[0.0, 2.0], [3.0, 0.0]], requires_grad=True)
    (x.to_sparse() * 5).to_dense().sum().backward()
    assert x.grad.tolist() == [[0.0, 5.0], [5.0, 0.0]]


def test_the_gradient_of_a_sparse_leaf_is_sparse_and_accumulates():
    x = _coo(requires_grad=True)
    assert x.is_leaf and x.requires_grad
    for repeat in (1, 2):
        (x @ genesis.full((3, 1), 2.0)).sum().backward()
        assert x.grad.is_sparse
        _equal(x.grad.to_dense(), np.where(DENSE != 0, 2.0 * repeat, 0))
    (grad,) = genesis.autograd.grad((x @ genesis.ones(3, 1)).sum(), x)
    assert grad.layout is genesis.sparse_coo


# --- embeddings and optimizers


def _losses(library, optimizer, sparse, steps=4, **options):
    library.manual_seed(0)
    table = library.nn.Embedding(5, 3, sparse=sparse)
    with library.no_grad():
        table.weight.copy_(
            library.tensor(np.arange(15.0).reshape(5, 3) / 10, dtype=library.float32)
        )
    optimizer = getattr(library.optim, optimizer)(table.parameters(), **options)
    for step in range(steps):
        index = library.tensor([[1, 3, 1], [step % 5, 0, 4]])
        optimizer.zero_grad(set_to_none=step % 2 == 0)
        (table(index) ** 2).sum().backward()
        assert table.weight.grad.is_sparse == sparse
        optimizer.step()
    return table.weight.detach().numpy()


OPTIMIZERS = [
    ("SGD", {"lr": 0.1}),
    ("SGD", {"lr": 0.1, "momentum": 0.9}),
    ("SGD", {"lr": 0.1, "momentum": 0.9, "nesterov": True}),
    ("SGD", {"lr": 0.1, "maximize": True}),
    ("Adagrad", {"lr": 0.1, "lr_decay": 0.1}),
    ("SparseAdam", {"lr": 0.1}),
]


@pytest.mark.filterwarnings("ignore")  # PyTorch's own
@pytest.mark.parametrize("name, options", OPTIMIZERS)
def test_optimizers_take_sparse_gradients(name, options):
    ours = _losses(genesis, name, True, **options)
    if name != "SparseAdam":
        np.testing.assert_allclose(
            ours, _losses(genesis, name, False, **options), rtol=1e-5, atol=1e-6
        )
    if "nesterov" not in options:  # there PyTorch adds a dense tensor to a sparse one
        torch = pytest.importorskip("torch")
        np.testing.assert_allclose(
            ours, _losses(torch, name, True, **options), rtol=1e-5, atol=1e-6
        )


def test_other_optimizers_refuse_sparse_gradients():
    table = genesis.nn.Embedding(3, 2, sparse=True)
    table(genesis.tensor([0])).sum().backward()
    with pytest.raises(RuntimeError, match="SparseAdam"):
        genesis.optim.Adam(table.parameters()).step()
    with pytest.raises(RuntimeError, match="weight_decay"):
        genesis.optim.SGD(table.parameters(), lr=0.1, weight_decay=0.1).step()
    table.weight.grad = genesis.zeros(3, 2)
    with pytest.raises(RuntimeError, match="does not support dense gradients"):
        genesis.optim.SparseAdam(table.parameters()).step()


def test_sparse_and_dense_gradients_of_one_table_add_up():
    table = genesis.nn.Embedding(3, 2, sparse=True)
    index = genesis.tensor([0, 2])
    (table(index).sum() + table(index).sum()).backward()
    assert table.weight.grad.is_sparse
    _equal(table.weight.grad.to_dense(), [[2, 2], [0, 0], [2, 2]])
    (table(index).sum() + table.weight.sum()).backward()
    assert not table.weight.grad.is_sparse
    _equal(table.weight.grad, [[4, 4], [1, 1], [4, 4]])


def test_padding_gets_no_gradient_and_frequency_scales():
    F = genesis.nn.functional
    w = genesis.ones(3, 2, requires_grad=True)
    F.embedding(genesis.tensor([0, 1, 1]), w, padding_idx=0, sparse=True).sum().backward()
    _equal(w.grad.to_dense(), [[0, 0], [2, 2], [0, 0]])
    w.grad = None
    F.embedding(genesis.tensor([0, 1, 1]), w, scale_grad_by_freq=True, sparse=True).sum().backward()
    _equal(w.grad.to_dense(), [[1, 1], [1, 1], [0, 0]])


@pytest.mark.parametrize("mode", ["sum", "mean"])
def test_embedding_bag(mode):
    grads = []
    for sparse in (False, True):
        bag = genesis.nn.EmbeddingBag(5, 2, mode=mode, sparse=sparse)
        with genesis.no_grad():
            bag.weight.copy_(genesis.arange(10.0).reshape(5, 2))
        out = bag(genesis.tensor([1, 2, 4, 1]), genesis.tensor([0, 3]))
        (out * out).sum().backward()
        grads.append(bag.weight.grad.to_dense().numpy())
        assert bag.weight.grad.is_sparse == sparse
    np.testing.assert_allclose(*grads)
    with pytest.raises(ValueError, match="mode"):
        genesis.nn.EmbeddingBag(5, 2, mode="max", sparse=True)(genesis.tensor([[1]]))


def test_gradients_are_clipped_and_unscaled():
    table = genesis.nn.Embedding(3, 2, sparse=True)
    table(genesis.tensor([0, 2])).sum().backward()
    total = genesis.nn.utils.clip_grad_norm_(table.parameters(), 1.0)
    assert total.item() == pytest.approx(2.0)
    np.testing.assert_allclose(table.weight.grad.to_dense().norm().item(), 1.0, rtol=1e-5)
    optimizer = genesis.optim.SGD(table.parameters(), lr=1.0)
    scaler = genesis.amp.GradScaler(init_scale=8.0)
    optimizer.zero_grad()
    scaler.scale(table(genesis.tensor([1])).sum()).backward()
    scaler.unscale_(optimizer)
    _equal(table.weight.grad.to_dense(), [[0, 0], [1, 1], [0, 0]])


def test_dense_tensors_take_sparse_ones():
    x = genesis.zeros(3, 3)
    x.copy_(_coo())
    _equal(x, DENSE)
    x += _coo()
    _equal(x, 2 * DENSE)


def test_modules_convert_their_sparse_buffers(make):
    module = genesis.nn.Linear(2, 2)
    module.register_buffer("adjacency", make())
    module.double()
    assert module.adjacency.dtype == genesis.float64 and module.adjacency.layout is make().layout
    _equal(module.adjacency.to_dense(), DENSE)


def test_a_parameter_is_dense():
    for kind in (genesis.nn.Parameter, genesis.nn.Buffer):
        with pytest.raises(TypeError, match="to_dense"):
            kind(_coo())


# --- files and copies


def test_copies_and_pickles(make, tmp_path):
    x = make(requires_grad=True)
    for twin in (copy.copy(x), copy.deepcopy(x), pickle.loads(pickle.dumps(x))):
        assert twin.layout is x.layout and twin.requires_grad
        _equal(twin.to_dense(), DENSE)
    assert x.clone().layout is x.layout
    assert x.detach().requires_grad is False


@pytest.mark.parametrize("name", ["model.safetensors", "model.pt"])
def test_a_module_with_a_sparse_buffer_can_be_saved(make, name, tmp_path):
    module = genesis.nn.Linear(2, 2)
    module.register_buffer("adjacency", make())
    if name.endswith("pt") and make is not _coo:
        with pytest.raises(TypeError, match="to_sparse_coo"):
            genesis.save(module.state_dict(), tmp_path / name)
        return
    genesis.save(module.state_dict(), tmp_path / name)
    state = genesis.load(tmp_path / name)
    assert state["adjacency"].layout is make().layout
    _equal(state["adjacency"].to_dense(), DENSE)
    other = genesis.nn.Linear(2, 2)
    other.register_buffer("adjacency", make() * 0)
    other.load_state_dict(state)
    _equal(other.adjacency.to_dense(), DENSE)


@pytest.mark.filterwarnings("ignore")
def test_files_are_exchanged_with_pytorch(tmp_path):
    torch = pytest.importorskip("torch")
    genesis.save({"x": _coo()}, tmp_path / "ours.pt")
    _equal(torch.load(tmp_path / "ours.pt")["x"].to_dense(), DENSE)
    dense = torch.tensor(DENSE)
    for made in (dense.to_sparse(), dense.to_sparse_csr(), dense.to_sparse_csc()):
        torch.save({"x": made}, tmp_path / "theirs.pt")
        read = genesis.load(tmp_path / "theirs.pt")["x"]
        assert str(read.layout).rpartition(".")[2] == str(made.layout).rpartition(".")[2]
        _equal(read.to_dense(), DENSE)
