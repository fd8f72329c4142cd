"""What a tensor is: construction, properties, identity, protocols, and the border to NumPy."""

import copy
import gc
import operator
import pickle
import weakref

import genesis
import numpy as np
import pytest

DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
NUMPY_DTYPES = [name for name in DTYPES if name != "bfloat16"]


# --- construction


@pytest.mark.parametrize(
    ("data", "dtype"),
    [
        (42, "int64"),
        (3.14, "float32"),
        (True, "bool"),
        ([1, 2, 3], "int64"),
        ([1.0, 2.0], "float32"),
        ([1, 2.0], "float32"),
        ([True, False], "bool"),
        ([True, 2], "int64"),
        ([[1, 2], [3, 4]], "int64"),
        ((1.0, 2.0), "float32"),
        ([], "float32"),
        ([[], []], "float32"),
        (np.array([1, 2]), "int64"),
        (np.array([1.0, 2.0]), "float32"),
        (np.array(1.0), "float32"),
        (np.array([1], np.int32), "int32"),
        (np.array([1], np.int16), "int16"),
        (np.array([1], np.int8), "int8"),
        (np.array([1], np.uint8), "uint8"),
        (np.array([1], np.float16), "float16"),
        (np.array([1], np.float32), "float32"),
        (np.array([True]), "bool"),
        (np.int32(7), "int32"),
        (np.float32(7), "float32"),
        (np.float64(7), "float32"),
    ],
    ids=repr,
)
def test_the_dtype_is_inferred(data, dtype):
    t = genesis.tensor(data)
    assert t.dtype == getattr(genesis, dtype)
    assert t.shape == np.shape(data)
    np.testing.assert_array_equal(t.numpy(), np.asarray(data).astype(dtype))


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_explicit_dtype_wins(dtype):
    wanted = getattr(genesis, dtype)
    assert genesis.tensor([0, 1], dtype=wanted).dtype == wanted
    assert genesis.tensor(np.zeros(2), dtype=wanted).dtype == wanted
    assert genesis.from_numpy(np.zeros(2), dtype=wanted).dtype == wanted


def test_tensor_takes_its_arguments_by_the_names_of_the_spec():
    t = genesis.Tensor([[1.0, 2.0], [3.0, 4.0]], device=None, dtype=None, requires_grad=True)
    assert t.shape == (2, 2)
    assert t.requires_grad
    assert t.is_leaf
    assert genesis.Tensor(np.zeros((2, 3), np.float32)).shape == (2, 3)


def test_ragged_lists_are_refused():
    with pytest.raises(ValueError, match=r"(?i)length|shape|size"):
        genesis.tensor([[1, 2], [3]])


def test_what_is_not_a_number_is_refused():
    for data in ("text", ["text"], [None], {1: 2}, object()):
        with pytest.raises((TypeError, ValueError, RuntimeError)):
            genesis.tensor(data)


def test_a_list_of_tensors_becomes_a_tensor():
    t = genesis.tensor([genesis.tensor(1.0), genesis.tensor(2.0)])
    assert t.tolist() == [1.0, 2.0]


def test_tensor_copies_and_from_numpy_does_not():
    array = np.zeros(3, np.float32)
    copied, shared = genesis.tensor(array), genesis.from_numpy(array)
    array[0] = 5
    assert copied.tolist() == [0, 0, 0]
    assert shared.tolist() == [5, 0, 0]


def test_a_tensor_of_a_tensor_is_a_copy_outside_the_graph():
    x = genesis.ones(2, requires_grad=True)
    y = genesis.tensor(x * 2)
    assert not y.requires_grad
    y.add_(1)
    assert x.tolist() == [1, 1]


def test_creation_functions_agree_on_arguments():
    assert genesis.zeros(2, 3).shape == genesis.zeros((2, 3)).shape == (2, 3)
    assert genesis.ones(2, dtype=genesis.int32).dtype == genesis.int32
    assert genesis.full((2,), 7).tolist() == [7, 7]
    assert genesis.arange(3).dtype == genesis.int64
    assert genesis.arange(3.0).dtype == genesis.float32
    assert genesis.zeros(2, requires_grad=True).requires_grad
    assert genesis.zeros_like(genesis.ones(2, 2, dtype=genesis.float64)).dtype == genesis.float64


# --- properties


def test_size_is_an_int_that_can_be_called():
    x = genesis.zeros(3, 4)
    assert x.size == 12
    assert isinstance(x.size, int)
    assert x.size + 1 == 13
    assert x.size() == (3, 4)
    assert x.size(0) == 3
    assert x.size(-1) == x.size(dim=1) == 4
    with pytest.raises(IndexError, match="dim"):
        x.size(2)


def test_shape_is_a_tuple_that_knows_its_number_of_elements():
    x = genesis.zeros(3, 4)
    assert x.shape == (3, 4)
    assert isinstance(x.shape, tuple)
    assert x.shape.numel() == x.numel() == 12
    assert x.shape[0] == 3
    assert x.shape[:1] == (3,)
    rows, columns = x.shape
    assert (rows, columns) == (3, 4)
    assert genesis.zeros(x.shape).shape == x.shape
    assert genesis.zeros(()).shape.numel() == 1


def test_strides_and_contiguity():
    x = genesis.zeros(3, 4)
    assert x.stride() == (4, 1)
    assert x.stride(0) == 4
    assert x.is_contiguous()
    assert x.contiguous() is x
    assert not x.t().is_contiguous()
    assert x.t().contiguous().is_contiguous()
    assert x.t().stride() == (1, 4)


def test_dimensions():
    assert genesis.zeros(()).ndim == 0
    assert genesis.zeros(2, 3).ndim == genesis.zeros(2, 3).dim() == 2
    assert genesis.zeros(2, 3).T.shape == (3, 2)


@pytest.mark.parametrize("name", DTYPES)
def test_dtypes_compare_with_their_names_and_with_numpy(name):
    dtype = getattr(genesis, name)
    x = genesis.zeros(2, dtype=dtype)
    assert x.dtype == dtype
    assert x.dtype == name
    assert str(x.dtype) == f"genesis.{name}"
    assert x.dtype != "complex32"
    assert len({dtype, x.dtype}) == 1
    if name in NUMPY_DTYPES:
        assert x.dtype == np.dtype(name)
        assert x.numpy().dtype == name
    assert x.is_floating_point() == ("float" in name)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("to", DTYPES)
def test_conversions_between_all_dtypes(dtype, to):
    x = genesis.tensor([0, 1, 1, 0, 1, 0, 0, 1, 1], dtype=getattr(genesis, dtype))
    y = x.to(getattr(genesis, to))
    assert y.dtype == getattr(genesis, to)
    assert y.tolist() == x.tolist()
    assert (y is x) == (dtype == to)


def test_conversion_methods():
    x = genesis.tensor([1.7, -1.7])
    assert x.double().dtype == genesis.float64
    assert x.float() is x
    assert x.half().dtype == genesis.float16
    assert x.bfloat16().dtype == genesis.bfloat16
    assert x.long().tolist() == x.int().tolist() == [1, -1]  # towards zero
    assert x.bool().tolist() == [True, True]


def test_the_default_dtype_can_be_changed():
    before = genesis.get_default_dtype()
    try:
        genesis.set_default_dtype(genesis.float64)
        assert genesis.get_default_dtype() == genesis.float64
        assert genesis.tensor(1.5).dtype == genesis.zeros(2).dtype == genesis.float64
        assert (genesis.tensor([1]) / 2).dtype == genesis.float64
        assert repr(genesis.tensor(1.5)) == "tensor(1.5000)"
        assert "float32" in repr(genesis.zeros(1, dtype=genesis.float32))
    finally:
        genesis.set_default_dtype(before)
    assert genesis.tensor(1.5).dtype == genesis.float32


def test_the_device_is_the_cpu():
    x = genesis.zeros(2)
    assert str(x.device).startswith("cpu")
    assert x.device == genesis.device("cpu")
    assert x.to("cpu") is x
    assert not genesis.cuda.is_available()
    with pytest.raises((RuntimeError, ValueError), match=r"(?i)cuda"):
        genesis.zeros(2, device="cuda")


def test_data_is_the_same_memory_outside_the_graph():
    x = genesis.ones(2, requires_grad=True)
    assert not x.data.requires_grad
    x.data.mul_(3)
    assert x.tolist() == [3, 3]
    x.data = genesis.tensor([5.0, 6.0])
    assert x.tolist() == [5, 6]
    assert x.requires_grad


def test_has_nan_and_has_inf():
    assert genesis.tensor([1.0, float("nan")]).has_nan()
    assert not genesis.tensor([1.0, float("inf")]).has_nan()
    assert genesis.tensor([1.0, -float("inf")]).has_inf()
    assert not genesis.tensor([1, 2]).has_nan()
    assert not genesis.zeros(0).has_inf()


# --- identity


def test_attributes_stay_with_the_tensor():
    x = genesis.ones(2, requires_grad=True)
    x.note = "kept"
    y = x * 2
    alive = weakref.ref(x)
    del x
    gc.collect()
    again = y.grad_fn.next_functions[0][0].variable  # the graph held it all the time
    assert again is alive()
    assert again.note == "kept"


def test_a_subclass_survives_the_graph():
    class Mine(genesis.Tensor):
        pass

    x = Mine([1.0, 2.0])
    assert type(x) is Mine
    assert isinstance(x, genesis.Tensor)
    x.requires_grad_()
    y = (x * 2).sum()
    y.backward()
    assert x.grad.tolist() == [2, 2]
    alive = weakref.ref(x)
    del x, y
    gc.collect()
    assert alive() is None


def test_weak_references_and_hashes():
    x = genesis.ones(2)
    assert weakref.ref(x)() is x
    assert hash(x) == hash(x)
    assert {x: 1}[x] == 1
    assert len({x, x, genesis.ones(2)}) == 2


# --- copies and pickles


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
def test_pickle_keeps_values_and_dtype(dtype, protocol):
    for x in (
        genesis.tensor([[1, 0], [1, 1]], dtype=getattr(genesis, dtype)),
        genesis.tensor(1, dtype=getattr(genesis, dtype)),
        genesis.zeros(0, 3, dtype=getattr(genesis, dtype)),
    ):
        y = pickle.loads(pickle.dumps(x, protocol))
        assert y.dtype == x.dtype
        assert y.shape == x.shape
        assert y.tolist() == x.tolist()


def test_pickle_keeps_requires_grad_and_takes_any_layout():
    x = genesis.arange(6.0).reshape(2, 3).requires_grad_()
    assert pickle.loads(pickle.dumps(x)).requires_grad
    t = x.detach().t()[::2]
    assert pickle.loads(pickle.dumps(t)).tolist() == t.tolist()


def test_pickle_of_a_small_view_is_small():
    view = genesis.zeros(100_000)[5:7]
    assert len(pickle.dumps(view)) < 2000


def test_copy_shares_memory_and_deepcopy_does_not():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    shallow, deep = copy.copy(x), copy.deepcopy(x)
    with genesis.no_grad():
        x.mul_(10)
    assert shallow.tolist() == [10, 20]
    assert deep.tolist() == [1, 2]
    assert deep.requires_grad
    assert deep.is_leaf


def test_deepcopy_copies_a_shared_tensor_once():
    x = genesis.ones(2)
    a, b = copy.deepcopy([x, x])
    assert a is b


def test_deepcopy_keeps_shared_memory_shared():
    base = genesis.arange(6.0)
    view, turned = base[2:4], base.view(2, 3).t()
    for order in ([base, view, turned], [turned, view, base]):
        copied = copy.deepcopy(order)
        assert [c.tolist() for c in copied] == [o.tolist() for o in order]
        assert [c.stride() for c in copied] == [o.stride() for o in order]
        whole = next(c for c in copied if c.shape == (6,))
        whole[2] = 9.0
        assert all((c == 9.0).any() for c in copied)
        assert not (base == 9.0).any()


def test_deepcopy_of_a_view_into_gaps_copies_its_values():
    x = genesis.arange(12.0).view(3, 4)[:, ::2]
    for y in (x, x[1:]):
        twin = copy.deepcopy(y)
        assert twin.tolist() == y.tolist()
        twin.zero_()
        assert x.sum().item() == 30.0


def test_deepcopy_takes_the_gradient_along():
    x = genesis.ones(2, requires_grad=True)
    x.sum().backward()
    y = copy.deepcopy(x)
    assert y.grad.tolist() == [1, 1]
    assert y.grad is not x.grad


def test_copies_and_pickles_of_a_parameter_are_parameters():
    p = genesis.nn.Parameter(genesis.ones(2))
    for q in (copy.copy(p), copy.deepcopy(p), pickle.loads(pickle.dumps(p))):
        assert type(q) is genesis.nn.Parameter
        assert q.requires_grad
        assert q.tolist() == [1, 1]


def test_deepcopy_inside_a_graph_is_refused():
    y = genesis.ones(2, requires_grad=True) * 2
    with pytest.raises(RuntimeError, match=r"detach|leaf|leaves"):
        copy.deepcopy(y)


# --- Python protocols


def test_item_and_tolist():
    assert genesis.tensor(2.5).item() == 2.5
    assert type(genesis.tensor(2).item()) is int
    assert type(genesis.tensor([True]).item()) is bool
    assert genesis.tensor([[7]]).item() == 7
    assert genesis.tensor(2.5).tolist() == 2.5
    assert genesis.arange(4).reshape(2, 2).t().tolist() == [[0, 2], [1, 3]]
    assert genesis.zeros(2, 0).tolist() == [[], []]
    with pytest.raises(RuntimeError, match=r"\(2,\)|2 elements"):
        genesis.ones(2).item()


def test_truth_is_that_of_one_element():
    assert genesis.tensor(1.0)
    assert not genesis.tensor([[0]])
    for ambiguous in (genesis.ones(2), genesis.zeros(0)):
        with pytest.raises(RuntimeError, match=r"ambiguous|elements"):
            bool(ambiguous)


def test_numbers():
    assert float(genesis.tensor([2.5])) == 2.5
    assert int(genesis.tensor(-2.7)) == -2
    assert operator.index(genesis.tensor(3)) == 3
    assert list(range(genesis.tensor(3))) == [0, 1, 2]
    assert [10, 20, 30][genesis.tensor(1)] == 20
    with pytest.raises(TypeError):
        operator.index(genesis.tensor(3.0))


def test_length_and_iteration():
    x = genesis.arange(6).reshape(3, 2)
    assert len(x) == 3
    assert [row.tolist() for row in x] == [[0, 1], [2, 3], [4, 5]]
    *_, last = x
    assert last.tolist() == [4, 5]
    for zero_dim in (len, iter):
        with pytest.raises(TypeError, match="0-d"):
            zero_dim(genesis.tensor(1))


def test_iteration_is_differentiable():
    x = genesis.ones(3, requires_grad=True)
    sum(value * i for i, value in enumerate(x)).backward()
    assert x.grad.tolist() == [0, 1, 2]


def test_format():
    assert f"{genesis.tensor(3.14159):.2f}" == "3.14"
    assert f"{genesis.tensor(7):04d}" == "0007"
    assert f"{genesis.ones(2, requires_grad=True).mean():.1f}" == "1.0"
    x = genesis.ones(2)
    assert f"{x}" == str(x) == repr(x) == "tensor([1., 1.])"
    with pytest.raises(TypeError):
        f"{x:.2f}"


def test_contains():
    x = genesis.tensor([[1.0, 2.0], [3.0, 4.0]])
    assert 3.0 in x
    assert 5 not in x
    assert genesis.tensor(4.0) in x


def test_comparisons_are_elementwise():
    x = genesis.tensor([1, 2, 3])
    assert (x == 2).tolist() == [False, True, False]
    assert (x != genesis.tensor([1, 0, 3])).tolist() == [False, True, False]
    assert (2 < x).tolist() == [False, False, True]  # noqa: SIM300
    assert (x >= 2.5).dtype == genesis.bool


def test_operators_refuse_what_they_do_not_know():
    with pytest.raises(TypeError):
        genesis.ones(2) + "text"
    with pytest.raises(TypeError):
        [] @ genesis.ones(2)


# --- NumPy


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_numpy_shares_memory_both_ways(dtype):
    array = np.ones((2, 3), dtype)
    t = genesis.from_numpy(array)
    back = t.numpy()
    assert back.dtype == dtype
    assert np.shares_memory(array, back)
    back[0, 0] = 0
    t[1, 2] = 0
    assert array.tolist() == [[0, 1, 1], [1, 1, 0]]


def test_numpy_sees_strides():
    array = np.arange(24.0).reshape(4, 6)
    t = genesis.from_numpy(array)[::2, 1:].t()
    np.testing.assert_array_equal(t.numpy(), array[::2, 1:].T)
    assert np.shares_memory(t.numpy(), array)
    np.testing.assert_array_equal(genesis.from_numpy(array[::2, 1:].T).numpy(), array[::2, 1:].T)


def test_the_array_keeps_the_memory_alive():
    array = genesis.arange(1000.0).numpy()
    gc.collect()
    genesis.ones(1000)
    assert array[999] == 999
    t = genesis.from_numpy(np.arange(1000.0))
    gc.collect()
    np.ones(1000)
    assert t[999].item() == 999


def test_numpy_of_a_tensor_in_a_graph_says_detach():
    x = genesis.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError, match="detach"):
        x.numpy()
    with pytest.raises(RuntimeError, match="detach"):
        np.asarray(x)
    assert x.detach().numpy().tolist() == [1, 1]


def test_asarray_shares_and_array_copies():
    t = genesis.zeros(3)
    np.asarray(t)[0] = 1
    np.array(t)[1] = 1
    assert t.tolist() == [1, 0, 0]
    assert np.asarray(t, dtype=np.float64).dtype == np.float64
    assert np.stack([t, t]).shape == (2, 3)


OPERATORS = [operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.lt]


@pytest.mark.parametrize("op", OPERATORS, ids=lambda op: op.__name__)
def test_an_array_on_either_side_gives_the_same_tensor(op):
    array, t = np.array([1.0, 2.0], np.float32), genesis.tensor([3.0, 4.0])
    for left, right in ((array, t), (t, array)):
        out = op(left, right)
        assert isinstance(out, genesis.Tensor)
        expected = op(np.asarray(left), np.asarray(right))
        np.testing.assert_allclose(out.numpy(), expected)
        assert out.numpy().dtype == expected.dtype


def test_an_array_on_the_left_does_not_drop_the_gradient():
    x = genesis.tensor([3.0, 4.0], requires_grad=True)
    out = np.array([1.0, 2.0], np.float32) * x
    out.sum().backward()
    assert x.grad.tolist() == [1, 2]
    (np.float32(3) * x).sum().backward()
    assert x.grad.tolist() == [4, 5]


def test_numpy_scalars_are_numbers():
    t = genesis.ones(2)
    for number in (np.float64(2), np.float32(2), np.int64(2), np.int8(2)):
        assert (t * number).tolist() == (number * t).tolist() == [2, 2]
        assert (t * number).dtype == (number * t).dtype == genesis.float32


def test_the_buffer_protocol_shows_the_memory():
    t = genesis.arange(6.0).reshape(2, 3)
    view = memoryview(t)
    assert view.shape == (2, 3)
    assert view.format == "f"
    assert view.tolist() == t.tolist()
    view[0, 0] = 9.0
    assert t[0, 0].item() == 9
    assert bytes(memoryview(genesis.tensor([1, 2], dtype=genesis.uint8))) == b"\x01\x02"


@pytest.mark.parametrize("dtype", NUMPY_DTYPES)
def test_dlpack_with_numpy(dtype):
    if dtype == "bool" and np.lib.NumpyVersion(np.__version__) < "1.25.0":
        pytest.skip("this NumPy's DLPack has no bool")
    t = genesis.tensor([[1, 0], [1, 1]], dtype=getattr(genesis, dtype))
    array = np.from_dlpack(t)
    assert array.dtype == dtype
    assert array.tolist() == t.tolist()
    assert np.shares_memory(array, t.numpy())
    back = genesis.from_dlpack(np.ones((2, 2), dtype))
    assert back.dtype == getattr(genesis, dtype)
    assert back.tolist() == np.ones((2, 2), dtype).tolist()


def test_dlpack_takes_views_and_nothing():
    t = genesis.arange(12.0).reshape(3, 4)
    np.testing.assert_array_equal(np.from_dlpack(t.t()[1::2]), t.t()[1::2].numpy())
    assert np.from_dlpack(genesis.zeros(0, 3)).shape == (0, 3)
    assert np.from_dlpack(genesis.tensor(2.0)).shape == ()


def test_dlpack_with_torch():
    torch = pytest.importorskip("torch")
    for name in DTYPES:
        ours = genesis.tensor([[1, 0], [1, 1]], dtype=getattr(genesis, name))
        theirs = torch.from_dlpack(ours)
        assert str(theirs.dtype) == f"torch.{name}"
        assert theirs.tolist() == ours.tolist()
        back = genesis.from_dlpack(theirs.clone())
        assert str(back.dtype).endswith(name)
        assert back.tolist() == ours.tolist()
    shared = genesis.zeros(3)
    torch.from_dlpack(shared)[1] = 5
    assert shared.tolist() == [0, 5, 0]
