"""An error of a call names the operation, whatever was passed."""

import inspect

import genesis
import genesis.nn.functional as F
import pytest

x = genesis.ones(2, 3)


class Odd:
    """Has no meaning anywhere."""


WRONG = [Odd(), "text", 2**70, -(2**70), 1.5, None, [[1], [2, 3]], b"bytes", {"a": 1}, 3]


def message(call) -> str | None:
    try:
        call()
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    return None


def names(text: str, op: str) -> bool:
    stem = op.strip("_")
    return (
        stem in text or stem.replace("linalg_", "linalg.").replace("special_", "special.") in text
    )


def native_functions() -> list[str]:
    ops = (op for op in genesis._C.op_info() if op["function"] and not op["tool"])
    return sorted({op["name"] for op in ops if op["name"][0] != "_"})  # others are called by ours


@pytest.mark.parametrize("op", native_functions())
def test_native_functions(op):
    f = getattr(genesis._C, op)
    for wrong in WRONG:
        for arguments in ((wrong,), (x, wrong), (x, x, wrong), (x, 1, wrong)):
            text = message(lambda: f(*arguments))  # noqa: B023
            assert text is None or names(text, op), text


@pytest.mark.parametrize(
    "op", [n for n in native_functions() if callable(getattr(genesis.Tensor, n, None))]
)
def test_methods(op):
    for wrong in WRONG:
        for arguments in ((wrong,), (wrong, wrong), (1, wrong)):
            text = message(lambda: getattr(x.clone(), op)(*arguments))  # noqa: B023
            assert text is None or names(text, op), text


def functional() -> list[str]:
    return sorted(n for n in F.__all__ if callable(getattr(F, n)))


@pytest.mark.parametrize("op", functional())
def test_functions_of_nn(op):
    f = getattr(F, op)
    for wrong in WRONG:
        for arguments in ((wrong,), (x, wrong), (x, x, wrong), (x, 1, wrong), (x[None], 2, wrong)):
            text = message(lambda: f(*arguments))  # noqa: B023
            assert text is None or names(text, op), text


@pytest.mark.parametrize("text", ["x + n", "n - x", "x * n", "x @ n", "x // n", "x ** n"])
def test_operators_with_ints_beyond_int64(text):
    shown = message(lambda: eval(text, {"x": genesis.ones(2, dtype=genesis.int64), "n": 2**70}))
    assert (shown is not None and ":" in shown and "int64" in shown) or "matmul" in str(shown)


def test_numbers_that_do_not_fit():
    for call in (
        lambda: genesis.full((2,), 300, dtype=genesis.uint8),
        lambda: genesis.full((2,), 1e39, dtype=genesis.float32),
        lambda: genesis.zeros(2, dtype=genesis.int8).fill_(1000),
        lambda: genesis.zeros(2**70),
        lambda: genesis.ones(2, dtype=genesis.int64).add_(2**70),
    ):
        with pytest.raises(genesis.RangeError, match=r"^\w+: .* does not fit into") as caught:
            call()
        assert not isinstance(caught.value, genesis.ShapeError)
        assert isinstance(caught.value, (OverflowError, ValueError, RuntimeError))


def test_errors_of_users_are_left_alone():
    def fail(_):
        raise ValueError("mine")

    y = genesis.ones(2, requires_grad=True)
    y.register_hook(fail)
    with pytest.raises(ValueError, match="^mine$"):
        y.sum().backward()

    class Index:
        def __index__(self):
            raise TypeError("mine")

    with pytest.raises(TypeError, match="^mine$"):
        genesis.zeros(Index())


def test_signatures_are_seen():
    assert "input" in str(inspect.signature(genesis._C.softplus))


@pytest.mark.parametrize(
    "call, kinds",
    [
        (lambda x: x.gather(1, genesis.tensor([[5]])), (IndexError, RuntimeError)),
        (
            lambda x: genesis.nn.functional.one_hot(genesis.tensor([3]), 2),
            (IndexError, RuntimeError),
        ),
        (lambda x: x[7], (IndexError, RuntimeError)),
        (lambda x: x.sum(5), (IndexError, RuntimeError)),
        (lambda x: genesis.nn.functional.pixel_shuffle(x, 2), (ValueError, RuntimeError)),
        (lambda x: genesis.nn.functional.cross_entropy(x, x[0]), (ValueError, RuntimeError)),
        (lambda x: genesis.nn.functional.grid_sample(x, x), (ValueError, RuntimeError)),
        (lambda x: genesis.func.grad(lambda x: x)(x), (ValueError, RuntimeError)),
    ],
)
def test_errors_are_of_both_kinds(call, kinds):
    for kind in kinds:
        with pytest.raises(kind):
            call(genesis.ones(2, 3))
