"""Which dtype comes out when dtypes, 0-d tensors and Python numbers meet."""

import itertools

import genesis
import pytest

from tests.ops.op import FLOATS, INTS, dtype_name, promote

DTYPES = ["bool", *INTS, *FLOATS]
PAIRS = list(itertools.product(DTYPES, DTYPES))
SHAPES = [((2,), (2,)), ((2,), ()), ((), (2,)), ((), ())]
NUMBERS = [True, 2, 2.5]


def kind(dtype):
    return 2 if dtype in FLOATS else 1 if dtype in INTS else 0


def weakly(strong, weak):
    """A weak operand (a Python number, or a 0-d tensor beside a larger one) counts by kind only."""
    return promote(strong, weak) if kind(weak) > kind(strong) else strong


def expected(a, b, shape_a, shape_b):
    if bool(shape_a) == bool(shape_b):
        return promote(a, b)
    return weakly(a, b) if shape_a else weakly(b, a)


def of_number(number):
    return {bool: "bool", int: "int64", float: "float32"}[type(number)]


def ones(dtype, shape):
    return genesis.ones(shape, dtype=getattr(genesis, dtype))


@pytest.mark.parametrize("shapes", SHAPES, ids=str)
def test_two_tensors(shapes):
    for a, b in PAIRS:
        out = ones(a, shapes[0]) + ones(b, shapes[1])
        assert dtype_name(out) == expected(a, b, *shapes), (a, b)


@pytest.mark.parametrize("number", NUMBERS, ids=repr)
@pytest.mark.parametrize("shape", [(2,), ()], ids=str)
def test_a_tensor_and_a_number(number, shape):
    for dtype in DTYPES:
        wanted = weakly(dtype, of_number(number))
        assert dtype_name(ones(dtype, shape) * number) == wanted, dtype
        assert dtype_name(number * ones(dtype, shape)) == wanted, dtype


def test_division_of_integers_is_floating():
    for a, b in PAIRS:
        wanted = promote(a, b)
        wanted = wanted if wanted in FLOATS else "float32"
        assert dtype_name(ones(a, (2,)) / ones(b, (2,))) == wanted, (a, b)
    for dtype in ["bool", *INTS]:
        assert dtype_name(ones(dtype, (2,)) / 2) == "float32"
        assert dtype_name(2 / ones(dtype, (2,))) == "float32"


def test_comparisons_are_bool_and_compare_in_the_promoted_dtype():
    for a, b in PAIRS:
        out = ones(a, (2,)) < ones(b, (2,))
        assert dtype_name(out) == "bool"
        assert out.tolist() == [False, False]
    large = genesis.tensor([300], dtype=genesis.int32)
    small = genesis.tensor([44], dtype=genesis.uint8)  # 300 - 256
    assert (large == small).tolist() == [False]


def test_integers_wrap_around():
    assert (genesis.tensor([100], dtype=genesis.int8) + 100).tolist() == [-56]
    assert (genesis.tensor([200], dtype=genesis.uint8) * 2).tolist() == [144]


def test_inplace_keeps_the_dtype_of_the_tensor():
    for a, b in PAIRS:
        x = ones(a, (2,))
        if kind(b) > kind(a):
            with pytest.raises((TypeError, RuntimeError), match=f"{a}|{b}"):
                x += ones(b, (2,))
        else:
            x += ones(b, (2,))
            assert dtype_name(x) == a


def test_cat_promotes():
    for a, b in PAIRS:
        assert dtype_name(genesis.cat([ones(a, (2,)), ones(b, (1,))])) == promote(a, b)


def test_half_and_bfloat16_meet_in_float32():
    assert dtype_name(ones("float16", (2,)) * ones("bfloat16", (2,))) == "float32"
    assert dtype_name(ones("float16", (2,)) * ones("bfloat16", ())) == "float16"


def test_result_type_and_promote_types_say_the_same():
    for a, b in PAIRS:
        ours = genesis.promote_types(getattr(genesis, a), getattr(genesis, b))
        assert str(ours).rpartition(".")[2] == promote(a, b)
        for shapes in SHAPES:
            ours = genesis.result_type(ones(a, shapes[0]), ones(b, shapes[1]))
            assert str(ours).rpartition(".")[2] == expected(a, b, *shapes)


def test_the_rule_is_that_of_torch():
    torch = pytest.importorskip("torch")

    def theirs(dtype, shape):
        return torch.ones(shape, dtype=getattr(torch, dtype))

    for a, b in PAIRS:
        for shapes in SHAPES:
            result = torch.result_type(theirs(a, shapes[0]), theirs(b, shapes[1]))
            assert str(result) == f"torch.{expected(a, b, *shapes)}", (a, b, shapes)
    for dtype in DTYPES:
        for number in NUMBERS:
            result = torch.result_type(theirs(dtype, (2,)), number)
            assert str(result) == f"torch.{weakly(dtype, of_number(number))}"
