"""Memory shared with NumPy, with buffers and through DLPack: who sees it, who keeps it alive."""

import array
import gc
import threading
import warnings
import weakref

import genesis
import numpy as np
import pytest
from genesis import memory


class Producer:
    """Hands out one kind of DLPack capsule, like a library that speaks only that version."""

    def __init__(self, tensor, versioned):
        self.tensor, self.versioned = tensor, versioned

    def __dlpack_device__(self):
        return (1, 0)

    def __dlpack__(self, **kwargs):
        if not self.versioned and kwargs:
            raise TypeError("what is max_version?")
        return self.tensor.__dlpack__(**kwargs)


# --- NumPy


def test_from_numpy_says_when_it_cannot_share():
    for unshared in (
        np.arange(6)[::-1],
        np.ones(3, ">f4"),
        np.frombuffer(b"\0" * 9, np.uint8)[1:].view(np.float32),
    ):
        with pytest.raises(RuntimeError, match=r"genesis\.tensor"):
            genesis.from_numpy(unshared)
        np.testing.assert_array_equal(genesis.tensor(unshared).numpy(), unshared)
        np.testing.assert_array_equal(genesis.as_tensor(unshared).numpy(), unshared)
    for foreign in (np.array(["a"]), np.array([object()])):
        with pytest.raises(TypeError):
            genesis.tensor(foreign)
    assert genesis.tensor(np.array([2**63], np.uint64)).item() == 2**63


@pytest.mark.parametrize("name", ["complex64", "complex128", "uint16", "uint32", "uint64"])
def test_arrays_of_other_dtypes_are_shared(name):
    array = np.arange(6).reshape(2, 3).astype(name)
    shared = genesis.from_numpy(array)
    assert shared.dtype.name == name
    array[1, 2] = 7
    assert shared[1, 2].item() == 7
    assert shared.numpy().dtype == array.dtype
    np.testing.assert_array_equal(shared.T.contiguous().numpy(), array.T)
    np.testing.assert_array_equal(genesis.from_dlpack(array).numpy(), array)
    np.testing.assert_array_equal(np.from_dlpack(shared), array)


def test_read_only_memory_stays_as_it_is():
    frozen = np.ones(3, np.float32)
    frozen.flags.writeable = False
    t = genesis.from_numpy(frozen)
    with pytest.raises(RuntimeError, match="read-only"):
        t.add_(1)
    assert not t.numpy().flags.writeable
    if "max_version" in np.ndarray.__dlpack__.__doc__:  # DLPack 1.0 can express it
        assert not np.from_dlpack(t).flags.writeable
    with pytest.raises(BufferError, match="read-only"):
        t.__dlpack__()  # without a version there is no way to say so
    assert (t + 1).tolist() == [2, 2, 2]
    assert frozen.tolist() == [1, 1, 1]


def test_array_follows_the_protocol_of_numpy_2():
    t = genesis.zeros(3)
    assert np.shares_memory(t.__array__(copy=False), t.numpy())
    assert not np.shares_memory(t.__array__(copy=True), t.numpy())
    assert t.__array__(np.float64).dtype == np.float64
    assert np.array(t, dtype="float64", copy=True).dtype == np.float64
    with pytest.raises(ValueError, match="copy=False"):
        t.__array__(np.float64, copy=False)


def test_bfloat16_becomes_an_array_only_where_numpy_knows_it():
    t = genesis.tensor([1.5, -2.0], dtype=genesis.bfloat16)
    with pytest.raises(BufferError, match="no format"):
        memoryview(t)
    try:
        import ml_dtypes
    except ImportError:
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "numpy: NumPy has no bfloat16")  # said once
            for array in (t.numpy(), np.asarray(t)):
                assert array.dtype == np.float32 and array.tolist() == t.tolist()
    else:
        assert t.numpy().dtype == ml_dtypes.bfloat16
        assert genesis.from_numpy(t.numpy()).dtype == genesis.bfloat16
        assert t.numpy().astype(np.float32).tolist() == t.tolist()


def test_numpy_functions_do_not_swallow_a_graph():
    x = genesis.ones(2, requires_grad=True)
    assert np.exp(x).requires_grad and np.add(np.ones(2), x).requires_grad
    with pytest.raises(TypeError, match="no counterpart that keeps gradients"):
        np.histogram(x)


def test_as_tensor_and_asarray_share_where_they_can():
    a = np.zeros(3)
    assert np.shares_memory(genesis.as_tensor(a).numpy(), a)
    assert genesis.as_tensor(a).dtype == genesis.float64
    assert genesis.as_tensor(a, dtype=genesis.float32).dtype == genesis.float32
    x = genesis.ones(2, requires_grad=True)
    assert genesis.as_tensor(x) is x
    assert genesis.as_tensor(x, dtype=genesis.float64).requires_grad
    assert genesis.asarray(x).requires_grad is False
    assert genesis.asarray(x, requires_grad=True) is x
    assert not np.shares_memory(genesis.asarray(a, copy=True).numpy(), a)
    assert np.shares_memory(genesis.asarray(a, copy=False).numpy(), a)
    t = genesis.zeros(2)
    assert genesis.asarray(t, requires_grad=True).requires_grad
    assert not t.requires_grad
    with pytest.raises(ValueError, match="copy"):
        genesis.asarray(a, dtype=genesis.float32, copy=False)


# --- buffers


def test_tensors_are_made_of_buffers():
    assert genesis.tensor(array.array("d", [1, 2])).tolist() == [1, 2]
    assert genesis.tensor(memoryview(b"ab")).tolist() == [97, 98]
    raw = bytearray(np.arange(4, dtype=np.int32).tobytes())
    t = genesis.frombuffer(raw, dtype=genesis.int32)
    assert t.tolist() == [0, 1, 2, 3]
    t[0] = 7
    assert raw[0] == 7
    assert genesis.frombuffer(raw, dtype=genesis.int32, count=2, offset=4).tolist() == [1, 2]
    for wrong in (
        {"offset": 17},
        {"offset": -1},
        {"count": 5},
        {"offset": 1, "count": 1},
        {"offset": 2},
    ):
        with pytest.raises(ValueError):
            genesis.frombuffer(raw, dtype=genesis.int32, **wrong)


def test_a_buffer_outlives_the_tensor_it_came_from():
    x = genesis.arange(1000.0)
    view = memoryview(x)
    x.data = genesis.zeros(3)  # x has other memory now, the view must not notice
    del x
    gc.collect()
    trash = [genesis.full((1000,), 9.0) for _ in range(10)]
    assert view[999] == 999
    del trash


# --- DLPack


@pytest.mark.parametrize("versioned", [True, False])
def test_both_kinds_of_capsules_are_understood(versioned):
    t = genesis.arange(12.0).reshape(3, 4).t()[1::2]
    twin = genesis.from_dlpack(Producer(t, versioned))
    assert twin.tolist() == t.tolist()
    assert twin.stride() == t.stride()
    twin.zero_()
    assert t.tolist() == [[0, 0, 0], [0, 0, 0]]
    assert genesis.from_dlpack(Producer(t, versioned), copy=True).data_ptr() != t.data_ptr()


@pytest.mark.parametrize("versioned", [True, False])
def test_dlpack_memory_lives_as_long_as_its_last_user(versioned):
    before = memory.allocated()
    twin = genesis.from_dlpack(Producer(genesis.ones(100_000), versioned))
    gc.collect()
    assert twin[99_999].item() == 1
    del twin
    assert memory.allocated() == before
    unused = genesis.ones(100_000).__dlpack__(**({"max_version": (1, 0)} if versioned else {}))
    assert memory.allocated() > before
    del unused
    assert memory.allocated() == before


def test_memory_of_others_is_given_back():
    class Owner(np.ndarray):
        pass

    owned = np.ones(5).view(Owner)
    alive = weakref.ref(owned)
    t = genesis.from_dlpack(owned)
    del owned
    gc.collect()
    assert alive() is not None
    assert t.sum().item() == 5
    del t
    gc.collect()
    assert alive() is None


def test_a_capsule_is_used_once():
    capsule = genesis.ones(2).__dlpack__()
    genesis.from_dlpack(capsule)
    with pytest.raises(ValueError, match="used"):
        genesis.from_dlpack(capsule)


def test_dlpack_refuses_what_it_cannot_do():
    x = genesis.ones(2, requires_grad=True)
    with pytest.raises(BufferError, match="detach"):
        x.__dlpack__()
    t = genesis.ones(2)
    with pytest.raises(BufferError, match="stream"):
        t.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="device"):
        t.__dlpack__(dl_device=(2, 0))
    with pytest.raises(TypeError, match="__dlpack__"):
        genesis.from_dlpack([1.0])
    with pytest.raises(ValueError, match="strides"):
        genesis.from_dlpack(np.arange(4.0)[::-1])
    with pytest.raises((TypeError, BufferError)):  # NumPy refuses to export it from 2.3 on
        genesis.from_dlpack(np.ones(2, np.longdouble))
    assert t.__dlpack_device__() == (1, 0)
    assert t.__dlpack__(copy=True) is not None


def test_dlpack_with_torch_shares_views_and_half_types():
    torch = pytest.importorskip("torch")
    ours = genesis.arange(6.0).reshape(2, 3).t()
    theirs = torch.from_dlpack(ours)
    assert theirs.stride() == ours.stride()
    theirs[0, 1] = 50
    assert ours[0, 1].item() == 50
    back = genesis.from_dlpack(theirs)
    assert back.data_ptr() == ours.data_ptr()
    for name in ("bfloat16", "float16", "bool", "uint8"):
        mine = genesis.from_dlpack(torch.ones(3, dtype=getattr(torch, name)))
        assert str(mine.dtype) == f"genesis.{name}"


@pytest.mark.timeout(60)
def test_capsules_may_end_on_any_thread():
    before = memory.allocated()

    def work():
        for _ in range(200):
            np.from_dlpack(genesis.ones(1000)).sum()
            genesis.from_dlpack(np.ones(1000)).sum()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    gc.collect()
    assert memory.allocated() == before


# --- several Python threads


@pytest.mark.timeout(60)
def test_threads_draw_from_one_generator_without_repeating():
    genesis.manual_seed(0)
    drawn = []

    def work():
        drawn.extend(genesis.rand(4, dtype=genesis.float64).tolist()[0] for _ in range(200))

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(set(drawn)) == 800  # each draw took counters of its own
