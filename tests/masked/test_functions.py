"""Functions of ``genesis.masked``: values, dtypes, gradients and errors of PyTorch."""

import warnings

import genesis
import numpy as np
import pytest

torch = pytest.importorskip("torch")
pytest.importorskip("torch.masked")

from tests.torch.compare import assert_same, assert_same_gradients, to_genesis  # noqa: E402

RNG = np.random.default_rng(0)
X = RNG.normal(size=(3, 4))
MASK = RNG.random((3, 4)) > 0.4
MASK[1] = False
MASKS = [
    None,
    MASK,
    MASK[0],
    MASK[:, :1],
    np.array(True),
    np.ones((2, 3, 4), bool),
    np.ones(5, bool),
]
REDUCTIONS = [
    "sum",
    "prod",
    "mean",
    "amax",
    "amin",
    "argmax",
    "argmin",
    "norm",
    "var",
    "std",
    "logsumexp",
]
LINES = ["median", "cumsum", "cumprod", "softmax", "log_softmax", "softmin"]


def compare(name, array, *args, mask=None, **kwargs):
    """The same result and gradient, or an error of the same kind."""
    theirs = torch.tensor(array, requires_grad=array.dtype.kind == "f")
    ours = to_genesis(theirs)

    def call(module, x):
        options = {k: getattr(module, v) if k == "dtype" else v for k, v in kwargs.items()}
        if mask is not None:
            options["mask"] = module.tensor(mask)
        return getattr(module.masked, name)(x, *args, **options)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            expected = call(torch, theirs)
        except Exception as error:
            kind = RuntimeError if isinstance(error, NotImplementedError) else type(error)
            with pytest.raises(kind):
                call(genesis, ours)
            return
    found = call(genesis, ours)
    assert_same(found, expected)
    if expected.requires_grad and expected.isfinite().all():
        assert_same_gradients(found, [ours], expected, [theirs])


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", REDUCTIONS)
def test_reductions(name, mask):
    before = (2.0,) if name == "norm" else ()
    for dim in [None, 0, 1, -1, (0, 1), ()]:
        if name in ("argmax", "argmin") and isinstance(dim, tuple):
            continue
        for keepdim in (False, True):
            compare(name, X, *before, dim, keepdim=keepdim, mask=mask)


@pytest.mark.parametrize("name", [n for n in REDUCTIONS if not n.startswith("arg")])
def test_dimensions_that_are_wrong(name):
    before = (2.0,) if name == "norm" else ()
    for dim in [2, -3, (0, 2), (0, 0)]:
        compare(name, X, *before, dim, mask=MASK)


@pytest.mark.parametrize("mask", MASKS, ids=str)
@pytest.mark.parametrize("name", LINES)
def test_functions_along_a_dimension(name, mask):
    for dim in [0, 1, -1, None, (1, 0)]:
        compare(name, X, dim, mask=mask)


@pytest.mark.parametrize("name", LINES)
def test_a_dimension_that_is_wrong(name):
    for dim in [2, -3]:
        compare(name, X, dim, mask=MASK)


@pytest.mark.parametrize("dtype", ["float32", "int64", "uint8"])
@pytest.mark.parametrize("name", ["sum", "prod", "mean", "amax", "amin", "argmax", "var", "cumsum"])
def test_dtypes(name, dtype):
    for mask in (None, MASK):
        compare(name, (X * 3 + 5).astype(dtype), 1, mask=mask)
        compare(name, (X * 3 + 5).astype(dtype), 1, mask=mask, dtype="float64")


def test_the_error_of_a_mask_names_the_function_and_the_shapes():
    with pytest.raises(RuntimeError, match=r"masked.sum: mask of shape \(5,\).*\(3, 4\)"):
        genesis.masked.sum(genesis.ones(3, 4), mask=genesis.ones(5, dtype=genesis.bool))
