"""What assert_close lets pass, and what it says about the rest."""

import genesis
import numpy as np
import pytest
from genesis.testing import assert_close

nan, inf = float("nan"), float("inf")


def t(*values, dtype=None):
    return genesis.tensor(list(values), dtype=dtype)


@pytest.mark.parametrize(
    ("actual", "expected", "options"),
    [
        (t(1.0, 2.0), t(1.0, 2.000001), {}),
        (t(1.0, inf, -inf), t(1.0, inf, -inf), {}),
        (t(nan, 1.0), t(nan, 1.0), {"equal_nan": True}),
        (t(1, 2), t(1, 2), {}),
        (t(True), t(True), {}),
        (t(1.0), t(2.0), {"rtol": 1, "atol": 0}),
        (t(1, 2), t(1.0, 2.0), {"check_dtype": False}),
        (t(1.0, 2.0, dtype=genesis.bfloat16), t(1.0, 2.01), {"check_dtype": False}),
        (genesis.zeros(2, 0), genesis.zeros(2, 0), {}),
        (genesis.zeros(2, 3), genesis.zeros(3, 2).T, {}),
        (t(1.0).requires_grad_(), t(1.0), {}),
        (1, 1, {}),
        (1, 1.0, {"check_dtype": False}),
        (1.0, 1.0 + 1e-8, {}),
        (1 + 2j, 1 + 2j, {}),
        (None, None, {}),
        ([t(1.0), {"a": (2, None)}], (t(1.0), {"a": [2, None]}), {}),
        (np.array([1.0]), np.array([1.0]), {}),
        (genesis.nn.Parameter(t(1.0)), t(1.0), {}),
        (2**62 + 1, 2**62 + 1, {}),
    ],
)
def test_close(actual, expected, options):
    assert_close(actual, expected, **options)


@pytest.mark.parametrize(
    ("actual", "expected", "options", "text"),
    [
        (
            t(1.0, 2.0, 3.0),
            t(1.0, 2.0, 4.0),
            {},
            "Tensors are not close!\n\nMismatched elements: 1 / 3 (33.3%)\n"
            "Greatest absolute difference: 1.0 at index (2,) (up to 1e-05 allowed)\n"
            "Greatest relative difference: 0.25 at index (2,) (up to 1.3e-06 allowed)",
        ),
        (
            t(1, 2, 3),
            t(1, 2, 4),
            {},
            "Tensors are not equal!\n\nMismatched elements: 1 / 3 (33.3%)\n"
            "Greatest absolute difference: 1 at index (2,)\n"
            "Greatest relative difference: 0.25 at index (2,)",
        ),
        (t(0.0, 1.0), t(0.5, 0.0), {}, "difference: inf at index (1,)"),
        (t(3.0, 10.0), t(1.0, 7.0), {}, "difference: 3.0 at index (1,) (up to 1e-05 allowed)\nGreatest relative difference: 2.0 at index (0,)"),
        (t(nan, 5.0), t(nan, 1.0), {}, "absolute difference: nan at index (0,)"),
        (t(1.0, inf), t(1.0, 2.0), {}, "absolute difference: inf at index (1,)"),
        (t(inf), t(-inf), {"rtol": 1, "atol": 1}, "1 / 1"),
        (t(1.0), t(inf), {"rtol": 1, "atol": 1}, "1 / 1"),
        (t(2**62 + 1), t(2**62), {}, "absolute difference: 1 at"),
        (t(1.0, 1.0), t(1.0, 1.0 + 1e-4, dtype=genesis.float64), {"check_dtype": False}, "(up to 1.3e-06 allowed)"),
        (genesis.tensor(1.0), genesis.tensor(2.0), {}, "Scalars are not close!\n\nExpected 2.0 but got 1.0.\nAbsolute difference: 1.0 (up to 1e-05 allowed)"),
        (1, 2, {}, "Scalars are not equal!\n\nExpected 2 but got 1.\nAbsolute difference: 1\nRelative difference: 0.5"),
        (1, 1.0, {}, "types do not match"),
        (True, False, {}, "Booleans mismatch: True is not False"),
        (None, 1, {}, "None mismatch"),
        (t(1.0, 2.0), t(1.0), {}, "'shape' do not match: (2,) != (1,)."),
        (t(1.0), t(1), {}, "'dtype' do not match: genesis.float32 != genesis.int64"),
        (genesis.zeros(2, 3), genesis.zeros(3, 2).T, {"check_stride": True}, "'stride()' do not match: (3, 1) != (1, 2)."),
        ([1, {"a": t(2.0)}], [1, {"a": t(3.0)}], {}, "The failure occurred for item [1]['a']"),
        ([1], [1, 2], {}, "lengths of the sequences do not match: 1 != 2"),
        ({"a": 1}, {"b": 1}, {}, "Missing keys in the actual mapping: ['b']\nAdditional keys in the actual mapping: ['a']"),
        (t(1.0), t(2.0), {"msg": "mine"}, "mine"),
        (t(1.0), t(2.0), {"msg": lambda text: "before " + text}, "before Tensors"),
        (np.array([1.0, 2.0]), np.array([1.0, 3.0]), {}, "1 / 2"),
    ],
)  # fmt: skip
def test_not_close(actual, expected, options, text):
    with pytest.raises(AssertionError) as caught:
        assert_close(actual, expected, **options)
    assert text in str(caught.value)


@pytest.mark.parametrize(
    ("dtype", "rtol", "atol"),
    [("float16", 1e-3, 1e-5), ("bfloat16", 1.6e-2, 1e-5), ("float32", 1.3e-6, 1e-5), ("float64", 1e-7, 1e-7)],
)  # fmt: skip
def test_default_tolerances(dtype, rtol, atol):
    def check(factor):
        expected = genesis.tensor([100.0], dtype=genesis.float64)
        actual = expected + factor * (atol + rtol * 100)
        narrow = genesis.tensor([1.0], dtype=getattr(genesis, dtype))
        options = {"check_dtype": False}
        # the wider tolerance of the two dtypes counts, so values can be finer than the dtype
        assert_close([narrow, actual], [narrow, expected], rtol=rtol, atol=atol, **options)

    check(0.99)
    with pytest.raises(AssertionError, match="up to"):
        check(1.01)
    one = genesis.ones(1, dtype=getattr(genesis, dtype))
    with pytest.raises(AssertionError, match=rf"up to {rtol} allowed"):
        assert_close(one, one * 2)


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: assert_close(t(1.0), t(1.0), rtol=1), ValueError, "both rtol and atol"),
        (lambda: assert_close(t(1.0), t(1.0), rtol=-1, atol=0), ValueError, "negative"),
        (lambda: assert_close(t(1.0), 1.0), TypeError, "Tensor with float"),
        (lambda: assert_close([t(1.0)], [np.ones(1)]), TypeError, r"item \[0\]"),
        (lambda: assert_close("a", "a"), TypeError, "str"),
        (lambda: assert_close(genesis.nn.Parameter(t(1.0)), t(1.0), allow_subclasses=False), TypeError, "Parameter"),
    ],
)  # fmt: skip
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_agrees_with_torch(rng):
    torch = pytest.importorskip("torch")
    disagreements = []
    for _ in range(200):
        a = rng.standard_normal(4).astype(np.float32)
        b = a + (rng.random(4) * 10.0 ** rng.integers(-8, -3)).astype(np.float32)
        outcome = []
        for tensor, check in ((torch.from_numpy, torch.testing.assert_close), (genesis.from_numpy, assert_close)):  # fmt: skip
            try:
                check(tensor(a), tensor(b))
                outcome.append("close")
            except AssertionError as error:
                outcome.append(str(error).splitlines()[2])
        if outcome[0] != outcome[1]:
            disagreements.append(outcome)
    assert disagreements == []
