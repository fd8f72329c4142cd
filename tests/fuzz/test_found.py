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
