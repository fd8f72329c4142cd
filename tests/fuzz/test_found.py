"""What fuzzing found, each as a test of its own."""

import io
import resource
import signal

import genesis
import numpy as np
import pytest
from genesis.nn import functional as F
from genesis.serialization import FileFormatError


@pytest.mark.parametrize(
    "made",
    [lambda x: x.sort(0)[0], lambda x: x.topk(2, 0)[0], lambda x: x.msort()],
    ids=["sort", "topk", "msort"],
)
def test_a_write_to_a_view_of_what_sort_returned_keeps_the_other_gradients(made):
    x = genesis.tensor([[2.0], [3.0]], requires_grad=True)
    y = made(x * 1)
    part = y.reshape(-1)[:1]
    part.pow_(2)
    (part.sum() + y.sum()).backward()
    first = 0 if y[0] == 4 else 1  # topk has the largest first
    assert x.grad[first] == 4 * x[first] and x.grad[1 - first] == 1


@pytest.mark.parametrize("dim", [0, 1, 2])
def test_repeat_interleave_has_memory_of_its_own(dim):
    x = genesis.ones(2, 1, 3)
    y = x.repeat_interleave(2 if x.shape[dim] == 1 else 1, dim)
    y.mul_(3)
    assert (y == 3).all() and (x == 1).all()


def test_what_has_its_shape_already_is_returned_itself():
    x, y = genesis.ones(3), genesis.ones(2, 3)
    assert x.flatten() is x
    assert y.flatten(1, 1) is y
    assert genesis.broadcast_tensors(x, y)[1] is y


def test_a_leaf_made_of_a_view_cannot_be_transposed_in_place():
    leaf = genesis.zeros(4, 3)[:2].requires_grad_()
    with pytest.raises(RuntimeError, match="swapaxes_.*leaf"):
        leaf.swapaxes_(0, 1)
    assert leaf.shape == (2, 3)


def test_instance_norm_that_raises_leaves_the_running_statistics():
    mean, var = genesis.zeros(3), genesis.ones(3)
    with pytest.raises(ValueError, match="weight"):
        F.instance_norm(genesis.ones(2, 3, 4), mean, var, genesis.ones(1, 3))
    assert (mean == 0).all() and (var == 1).all()


def test_orthogonal_that_raises_leaves_the_tensor():
    x = genesis.zeros(3, 3, dtype=genesis.int64)
    with pytest.raises((TypeError, RuntimeError)):
        genesis.nn.init.orthogonal_(x, gain="2")
    assert (x == 0).all()


@pytest.mark.parametrize("limit", [100, 5000, 9433, 12000])
def test_an_array_that_finds_no_room_is_an_error(tmp_path, limit):
    """NumPy drops the error of the last part when it writes to a real file itself."""
    path = tmp_path / "x.npy"
    genesis.save(genesis.zeros(3), path)
    before, most = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (limit, most))
    try:
        with pytest.raises(OSError, match="large"):
            genesis.save(genesis.arange(3000.0), path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (before, most))
        signal.signal(signal.SIGXFSZ, handler)
    assert genesis.load(path).shape == (3,)


@pytest.mark.parametrize(
    "header", ["{'descr': '<V0', 'fortran_order': False, 'shape': (3, 4), }", "{'descr': '<f4', 'fortran_order': False, 'shape': (True, 4), }"]
)  # fmt: skip
def test_headers_of_arrays_that_make_no_sense(header):
    text = header.ljust(117) + "\n"
    data = b"\x93NUMPY\x01\x00" + len(text).to_bytes(2, "little") + text.encode() + bytes(48)
    with pytest.raises(FileFormatError, match="load: .*header"):
        genesis.load(io.BytesIO(data))


def test_the_state_of_an_optimizer_is_a_dict():
    optimizer = genesis.optim.SGD([genesis.ones(1, requires_grad=True)], lr=0.1)
    with pytest.raises(TypeError, match="load_state_dict: expected a dict.*NoneType"):
        optimizer.load_state_dict(None)


@pytest.mark.skipif(hasattr(genesis._C, "_canary_address"), reason="this build has no pools")
def test_borrowed_memory_is_given_back_when_there_is_none_for_the_tensor():
    array = np.ones(5)
    for n in range(2):
        genesis._C._fail_allocations(n, n + 1)
        try:
            with pytest.raises(MemoryError):
                genesis.from_numpy(array)
        finally:
            genesis._C._fail_allocations(-1, -1)
    array.resize(6, refcheck=False)  # nobody holds its buffer: this would raise BufferError
    assert array.shape == (6,)


@pytest.mark.parametrize("index", [[], [0], [0, 0]])
def test_index_fill_of_a_number(index):
    x = genesis.tensor(5.0)
    places = genesis.tensor(index, dtype=genesis.int64)
    expected = 2.0 if index else 5.0
    assert x.index_fill(0, places, 2.0) == expected
    assert x.index_fill_(-1, places, 2.0) == expected and x.shape == ()


def test_gradients_of_nothing_raise():
    x = genesis.ones(2, requires_grad=True)
    for call in (genesis.autograd.grad, genesis.autograd.backward):
        with pytest.raises(TypeError, match="NoneType"):
            call([None], [x])
    with pytest.raises(ValueError, match="inputs is empty"):
        genesis.autograd.grad(x.sum(), ())


@pytest.mark.parametrize("op", ["logaddexp", "logaddexp2", "lerp", "atan2"])
def test_gradients_beside_bools(op):
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    mask = genesis.tensor([True, False])
    rest = (genesis.tensor([False, True]),) if op == "lerp" else ()
    (y,) = genesis.autograd.grad(getattr(genesis, op)(x, mask, *rest).sum(), x)
    numbers = [t.float() for t in (mask, *rest)]
    (expected,) = genesis.autograd.grad(getattr(genesis, op)(x, *numbers).sum(), x)
    assert genesis.equal(y, expected)


def test_gradients_at_the_end_of_the_range():
    x = genesis.ones(2, requires_grad=True)
    genesis.xlogy(x, 1e300).sum().backward()
    assert x.grad.isinf().all()
    with pytest.raises(ValueError, match="polygamma: n must be from 0"):
        genesis.polygamma(2**63 - 1, x)
    wide = genesis.ones(2, 1, requires_grad=True)
    wide.tile((2**40, 2**40, 0)).sum().backward()
    assert (wide.grad == 0).all()


def test_the_determinant_of_infinities_has_a_gradient():
    x = genesis.stack([genesis.eye(2), genesis.full((2, 2), float("inf"))]).requires_grad_()
    genesis.linalg.det(x).sum().backward()
    assert x.grad[0].tolist() == [[1, 0], [0, 1]] and x.grad[1].isnan().all()


def test_threshold_has_one_result():
    x = genesis.ones(3)
    with pytest.raises(ValueError, match="threshold"):
        genesis.threshold(x, 2.0, 5.0, inplace=True, out=genesis.ones(2))
    assert (x == 1).all()


def test_the_area_of_nothing():
    assert genesis.trapezoid(genesis.ones(0)) == 0
    assert genesis.cumulative_trapezoid(genesis.ones(0)).shape == (0,)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: x.kthvalue(1).values,
        lambda x: x.quantile(0.5),
        lambda x: genesis.ones(2, 3) @ x,
        lambda x: x.take(genesis.tensor([1, 0])),
        lambda x: x.roll(1),
        lambda x: x.median(),
    ],
    ids=["kthvalue", "quantile", "mv", "take", "roll", "median"],
)
def test_results_that_are_no_views(made):
    x = genesis.tensor([3.0, 1.0, 2.0], requires_grad=True)
    y = made(x)
    assert y._base is None and not y._is_view()
    y *= 2
    y.sum().backward()
    assert x.grad is not None
    y = made(x).detach_()
    assert not y.requires_grad


def test_equal_elements_share_the_gradient_of_the_median():
    x = genesis.tensor([1.0, 2.0, 2.0, 3.0, 2.0], requires_grad=True)
    x.median().backward()
    np.testing.assert_allclose(x.grad.numpy(), [0, 1 / 3, 1 / 3, 0, 1 / 3], rtol=1e-6)
    empty = genesis.ones(0, requires_grad=True)
    assert empty.median().isnan() and empty.median().requires_grad


@pytest.mark.parametrize("n", [2**63, 2**70, -(2**64)])
def test_comparisons_with_huge_integers(n):
    x = genesis.tensor([-(2**63), 0, 2**63 - 1])
    for name, op in (
        ("eq", "=="),
        ("ne", "!="),
        ("lt", "<"),
        ("le", "<="),
        ("gt", ">"),
        ("ge", ">="),
    ):
        expected = [eval(f"value {op} n", {"value": v, "n": n}) for v in x.tolist()]
        for result in (getattr(genesis, name)(x, n), getattr(x, name)(n), eval(f"x {op} n")):
            assert result.tolist() == expected
    assert (x / n).isfinite().all() and genesis.ones(2).fill_(n).tolist() == [float(n)] * 2


def test_a_leaf_cannot_be_assigned_to_itself():
    x = genesis.ones(3, requires_grad=True)
    for key in (..., slice(2)):
        with pytest.raises(RuntimeError, match="leaf"):
            x[key] = x[key]
    y = genesis.ones(1, 3).expand(2, 3)
    assert y.copy_(y) is y
    y[y < 5] *= 2
    assert (y == 2).all()


@pytest.mark.parametrize("state", [[], 3, {0: []}])
def test_a_state_of_another_structure(state):
    optimizer = genesis.optim.Adam([genesis.nn.Parameter(genesis.ones(2))])
    good = optimizer.state_dict()
    for bad in (
        {**good, "state": state},
        {**good, "param_groups": 3},
        {**good, "param_groups": [3]},
    ):
        with pytest.raises(TypeError, match="load_state_dict"):
            optimizer.load_state_dict(bad)
    optimizer.load_state_dict(good)


@pytest.mark.parametrize(
    "made",
    [
        lambda x: F.cross_entropy(x, genesis.tensor([0, 1])),
        lambda x: F.l1_loss(x, genesis.zeros(2, 3)),
        lambda x: F.rms_norm(x, (3,)),
        lambda x: F.scaled_dot_product_attention(x, x, x),
    ],
    ids=["cross_entropy", "l1_loss", "rms_norm", "attention"],
)
@pytest.mark.parametrize("part", [slice(None), (slice(None), slice(0, 3)), 0])
def test_what_was_saved_may_be_changed(made, part):
    """Also through a view, of a view, in a second backward pass, and by a second derivative."""
    values = genesis.arange(12.0).reshape(2, 6).sin()
    x = values.clone().requires_grad_()
    expected = genesis.autograd.grad(made(x[:, ::2]).sum(), x)[0]
    twice = genesis.autograd.grad(made(x[:, ::2]).pow(2).sum(), x, create_graph=True)[0]
    second = genesis.autograd.grad(twice.pow(2).sum(), x)[0]
    y = x * 1
    z = made(y[:, ::2])
    squares = made(y[:, ::2]).pow(2).sum()
    with genesis.no_grad():
        y[part] = 100.0
        y.mul_(0)
    for _ in range(2):
        (got,) = genesis.autograd.grad(z.sum(), x, retain_graph=True)
        np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-6, atol=1e-7)
    (first,) = genesis.autograd.grad(squares, x, create_graph=True)
    (got,) = genesis.autograd.grad(first.pow(2).sum(), x)
    np.testing.assert_allclose(got.numpy(), second.numpy(), rtol=1e-4, atol=1e-5)


def test_what_was_saved_is_copied_once_and_given_back():
    before = genesis.memory.allocated()
    x = genesis.ones(1000, 10, requires_grad=True)
    y = x * 1
    loss = F.cross_entropy(y, genesis.zeros(1000, dtype=genesis.int64))
    with genesis.no_grad():
        y.zero_()
        held = genesis.memory.allocated()
        y.zero_()
        assert genesis.memory.allocated() == held
    loss.backward()
    del x, y, loss
    assert genesis.memory.allocated() <= before


def test_an_empty_part_has_its_place():
    x = genesis.arange(6.0).reshape(3, 2)
    assert x[2:2].storage_offset() == 4
    assert genesis.as_strided(x[2:2], (2,), (1,)).tolist() == [4, 5]


@pytest.mark.parametrize("loss", [F.mse_loss, F.l1_loss, F.smooth_l1_loss, F.huber_loss])
def test_second_derivatives_of_losses_of_bools(loss):
    x = genesis.tensor([0.25, 2.0], requires_grad=True)
    for pair in ((genesis.tensor([True, False]), x), (x, genesis.tensor([True, False]))):
        (first,) = genesis.autograd.grad(loss(*pair).pow(2), x, create_graph=True)
        genesis.autograd.grad(first.sum(), x)


def test_histogram_has_a_number_of_bins():
    counts, edges = genesis.histogram(genesis.ones(3))
    assert counts.shape == (100,) and counts.sum() == 3 and edges.shape == (101,)
    assert genesis.ones(4, dtype=genesis.bfloat16).histogram().hist.sum() == 4


def test_tolerances_with_more_dimensions_than_the_matrices():
    x = genesis.ones(3, 2, dtype=genesis.float64) + genesis.eye(3, 2, dtype=genesis.float64)
    x.requires_grad_()
    y = genesis.linalg.pinv(x, atol=genesis.tensor([0.0, 1e3]))
    assert y.shape == (2, 2, 3) and y[1].abs().sum() == 0
    (got,) = genesis.autograd.grad(y.sum(), x)
    (expected,) = genesis.autograd.grad(genesis.linalg.pinv(x).sum(), x)
    np.testing.assert_allclose(got.numpy(), expected.numpy(), rtol=1e-10)
    y = genesis.linalg.pinv(x, atol=genesis.ones(0))
    assert y.shape == (0, 2, 3)
    y.sum().backward()
    assert not x.grad.any()


METHODS = [n for n, m in vars(genesis.Tensor).items() if n[0] != "_" and callable(m)]
ALIKE_FOR_ALL = {"free", "is_distributed", "is_shared", "share_memory_", "sparse_dim", "to_dense"}


@pytest.mark.parametrize("name", sorted(set(METHODS) - ALIKE_FOR_ALL))
def test_a_method_of_something_else_than_a_tensor(name):
    with pytest.raises((TypeError, RuntimeError, ValueError)) as caught:
        getattr(genesis.Tensor, name)("text")
    assert name.strip("_") in str(caught.value)


def test_errors_of_functions_written_in_python():
    x = genesis.ones(2)
    for name, wrong in {
        "map_": lambda: x.map_(3.0, max),
        "apply_": lambda: x.apply_(3),
        "sparse_mask": lambda: x.sparse_mask(x),
        "to_sparse": lambda: x.to_sparse(dense_dim=x),
        "smm": lambda: x.smm(),
        "resize_as": lambda: x.resize_as(3),
        "get_amp_dtype": lambda: genesis.amp.get_amp_dtype(genesis.bfloat16),
        "skip_init": lambda: genesis.nn.utils.skip_init(()),
        "grad": lambda: genesis.autograd.grad(x.sum(), x, allow_unused=x),
        "grad: grad_outputs": lambda: genesis.autograd.grad(x, x, "ab", is_grads_batched=True),
        "assert_close": lambda: genesis.testing.assert_close(x, x, rtol=0.5, atol=x),
    }.items():
        with pytest.raises((TypeError, ValueError), match=name):
            wrong()


def test_the_gradient_of_lerp_keeps_the_precision_of_a_number():
    x = genesis.zeros(1, dtype=genesis.float64, requires_grad=True)
    (got,) = genesis.autograd.grad(genesis.lerp(x, x.detach() + 1, 0.3), x)
    assert abs(got.item() - 0.7) < 1e-15


def test_the_gradient_of_median_goes_to_the_median():
    x = genesis.tensor([1.0, 2.0, 3.0], requires_grad=True)
    (got,) = genesis.autograd.grad(x.median(), x, genesis.tensor(float("nan")))
    assert got.isnan().tolist() == [False, True, False]


def test_a_first_step_without_memory_for_its_states_makes_none():
    def train():
        layer = genesis.nn.Linear(3, 2)
        genesis.nn.init.ones_(layer.weight)
        optimizer = genesis.optim.SGD(layer.parameters(), lr=0.1, momentum=0.9, dampening=0.5)
        layer(genesis.ones(1, 3)).sum().backward()
        return layer, optimizer

    layer, optimizer = train()
    optimizer.step()
    expected = layer.weight.tolist()
    failures = 0
    for n in range(12):
        layer, optimizer = train()
        genesis._C._fail_allocations(n, n + 1)
        try:
            optimizer.step()
        except MemoryError:
            failures += 1
            assert not any(optimizer.state[p] for p in layer.parameters())
            genesis._C._fail_allocations(-1, -1)
            optimizer.step()  # still the first one, without dampening
        finally:
            genesis._C._fail_allocations(-1, -1)
        assert layer.weight.tolist() == expected
    assert failures > 0


def test_a_change_of_shape_in_place_leaves_kept_values_usable():
    x = genesis.tensor([[0.5, 2.0]], requires_grad=True)
    logits = x * 1
    loss = genesis.nn.functional.cross_entropy(logits, genesis.tensor([0]))
    logits.transpose_(0, 1)
    logits.mul_(3)
    loss.backward()
    expected = genesis.softmax(genesis.tensor([0.5, 2.0]), 0) - genesis.tensor([1.0, 0.0])
    assert genesis.allclose(x.grad[0], expected)


def test_the_sum_of_magnitudes_may_be_written():
    x = genesis.tensor([3.0, -4.0], requires_grad=True)
    y = x.norm(1)
    y.pow_(2)
    y.backward()
    assert x.grad.tolist() == [14.0, -14.0]


def test_diagonals_far_outside_a_matrix():
    x = genesis.ones(2, 2)
    for far in (2**63 - 1, -(2**63)):
        with pytest.raises(genesis.ShapeError, match="memory can hold"):
            genesis.diag(genesis.ones(2), far)
        assert x.diagonal(far).numel() == 0
        assert x.tril(far).sum() + x.triu(far).sum() == 4


def test_sizes_of_integer_windows_and_classes_do_not_overflow():
    x = genesis.ones(1, 1, 5, 6, dtype=genesis.int64)
    w = genesis.ones(1, 1, 3, 3, dtype=genesis.int64)
    with pytest.raises(genesis.ShapeError, match="conv"):
        genesis.conv2d(x, w, padding=2**40 + 3)
    assert genesis.conv2d(x, w[..., :1, :1], dilation=2**62).equal(x)
    with pytest.raises(genesis.ShapeError, match="one_hot"):
        genesis.nn.functional.one_hot(genesis.tensor([2**63 - 1]))
