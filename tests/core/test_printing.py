"""Tensors print as in PyTorch, to the character."""

import math

import genesis
import numpy as np
import pytest
from genesis._printing import printoptions, set_printoptions

INF, NAN = math.inf, math.nan


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: genesis.tensor([2.0, 4.0, 6.0]), "tensor([2., 4., 6.])"),
        (lambda: genesis.tensor(2.0), "tensor(2.)"),
        (lambda: genesis.tensor(0.1), "tensor(0.1000)"),
        (lambda: genesis.tensor(7), "tensor(7)"),
        (lambda: genesis.tensor([True, False]), "tensor([ True, False])"),
        (lambda: genesis.tensor([1, -20, 300]), "tensor([  1, -20, 300])"),
        (lambda: genesis.tensor([1.5, -2.0]), "tensor([ 1.5000, -2.0000])"),
        (lambda: genesis.tensor([0.0, NAN, INF, -INF]), "tensor([0., nan, inf, -inf])"),
        (lambda: genesis.tensor([1.5, NAN, -INF]), "tensor([1.5000,    nan,   -inf])"),
        (lambda: genesis.tensor([1e-5, 1.0]), "tensor([1.0000e-05, 1.0000e+00])"),
        (lambda: genesis.tensor([1.0, 1001.0]), "tensor([1.0000e+00, 1.0010e+03])"),
        (lambda: genesis.tensor([1.0, 1000.0]), "tensor([   1., 1000.])"),
        (lambda: genesis.tensor([2e8]), "tensor([2.0000e+08])"),
        (lambda: genesis.tensor([-0.0]), "tensor([-0.])"),
        (lambda: genesis.zeros(0), "tensor([])"),
        (lambda: genesis.zeros(0, 3), "tensor([], size=(0, 3))"),
        (lambda: genesis.zeros(0, dtype=genesis.int64), "tensor([], dtype=genesis.int64)"),
        (
            lambda: genesis.zeros(2, 0, dtype=genesis.bool),
            "tensor([], size=(2, 0), dtype=genesis.bool)",
        ),
        (lambda: genesis.ones(2, dtype=genesis.float64), "tensor([1., 1.], dtype=genesis.float64)"),
        (
            lambda: genesis.ones(2, dtype=genesis.bfloat16),
            "tensor([1., 1.], dtype=genesis.bfloat16)",
        ),
        (lambda: genesis.ones(2, dtype=genesis.uint8), "tensor([1, 1], dtype=genesis.uint8)"),
        (lambda: genesis.ones(1, requires_grad=True), "tensor([1.], requires_grad=True)"),
        (lambda: genesis.ones(1, requires_grad=True) + 1, "tensor([2.], grad_fn=<AddBackward>)"),
        (lambda: genesis.tensor([[1.0, 2.0], [3.0, 4.0]]), "tensor([[1., 2.],\n        [3., 4.]])"),
        (
            lambda: genesis.arange(8).reshape(2, 2, 2),
            "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])",
        ),
        (
            lambda: genesis.arange(22.0),
            "tensor([ 0.,  1.,  2.,  3.,  4.,  5.,  6.,  7.,  8.,  9., 10., 11., 12., 13.,\n"
            "        14., 15., 16., 17., 18., 19., 20., 21.])",
        ),
        (lambda: genesis.arange(1001), "tensor([   0,    1,    2,  ...,  998,  999, 1000])"),
        (
            lambda: genesis.arange(1200).reshape(8, 150)[:, :7].repeat(30, 1),
            "tensor([[   0,    1,    2,  ...,    4,    5,    6],\n"
            "        [ 150,  151,  152,  ...,  154,  155,  156],\n"
            "        [ 300,  301,  302,  ...,  304,  305,  306],\n"
            "        ...,\n"
            "        [ 750,  751,  752,  ...,  754,  755,  756],\n"
            "        [ 900,  901,  902,  ...,  904,  905,  906],\n"
            "        [1050, 1051, 1052,  ..., 1054, 1055, 1056]])",
        ),
    ],
    ids=lambda value: value.splitlines()[0] if isinstance(value, str) else "",
)
def test_text(make, text):
    assert repr(make()) == str(make()) == text


def test_a_long_suffix_goes_to_a_line_of_its_own():
    x = genesis.full((9,), 0.12345, dtype=genesis.float64, requires_grad=True)
    assert repr(x) == (
        "tensor([0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235, 0.1235],\n"
        "       dtype=genesis.float64, requires_grad=True)"
    )


def test_a_parameter_says_that_it_is_one():
    p = genesis.nn.Parameter(genesis.ones(2))
    assert repr(p) == "Parameter containing:\ntensor([1., 1.], requires_grad=True)"


def test_a_subclass_shows_its_name():
    class Mine(genesis.Tensor):
        pass

    assert repr(Mine([1.0])) == "Mine([1.])"


def test_printing_records_nothing_and_changes_nothing():
    x = genesis.ones(3, requires_grad=True)
    version = x._version
    repr(x * 2)
    assert x._version == version
    assert x.is_leaf


def test_options():
    x = genesis.tensor([1.23456, 1000.0])
    with printoptions(precision=2):
        assert repr(x) == "tensor([   1.23, 1000.00])"
    with printoptions(sci_mode=True, precision=1):
        assert repr(x) == "tensor([1.2e+00, 1.0e+03])"
    with printoptions(threshold=3, edgeitems=1):
        assert repr(genesis.arange(10)) == "tensor([0,  ..., 9])"
    with printoptions(linewidth=20):
        assert repr(genesis.arange(5)) == "tensor([0, 1, 2, 3,\n        4])"
    with printoptions(profile="full"):
        assert "..." not in repr(genesis.arange(2000))
    assert repr(genesis.tensor([1.23456])) == "tensor([1.2346])"
    with pytest.raises(ValueError, match="profile"):
        set_printoptions(profile="loud")


def test_of_a_large_tensor_only_what_is_shown_is_read():
    x = genesis.ones(1).expand(10**6, 10**9)  # to read all of it would take weeks
    assert repr(x).count("...") == 7 and repr(x).count("1., 1., 1.,  ..., 1., 1., 1.") == 6


def _ours(text):
    return text.replace("torch.", "genesis.")


@pytest.mark.parametrize(
    "dtype", ["float32", "float64", "float16", "bfloat16", "int64", "uint8", "bool"]
)
def test_the_same_as_torch(dtype, rng):
    torch = pytest.importorskip("torch")
    shapes = [(), (1,), (7,), (40,), (0, 2), (3, 4), (2, 3, 25), (1100,), (30, 40), (2, 9, 8, 9)]
    for shape in shapes:
        for scale in (1.0, 100.0, 1e5, 1e-6):
            array = rng.normal(size=shape) * scale
            if not dtype.startswith(("float", "bfloat")):
                array = np.abs(np.rint(array)) % 100
            elif scale == 100.0:
                array = np.where(
                    rng.random(shape) < 0.2, rng.choice([0, NAN, INF, -INF], shape), array
                )
            theirs = torch.tensor(array).to(getattr(torch, dtype))
            ours = genesis.tensor(array, dtype=genesis.float64).to(getattr(genesis, dtype))
            # the name of the dtype is two letters longer, which may move it to the next line
            assert repr(ours).split() == _ours(repr(theirs)).split()
            if dtype in ("float32", "int64", "bool") and ours.numel():
                assert repr(ours) == _ours(repr(theirs))
