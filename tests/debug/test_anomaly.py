"""What goes wrong is found at once, and named: operation, line, module, and what its inputs were like."""

import threading

import genesis
import pytest
from genesis import nn
from genesis.autograd import (
    NonFiniteError,
    check_finite,
    detect_anomaly,
    is_anomaly_enabled,
    set_detect_anomaly,
)


def line_of(text):
    """The number of the line of this file that holds ``text`` and the mark ``# here``."""
    with open(__file__) as file:
        (number,) = [
            n for n, line in enumerate(file, 1) if text in line and line.rstrip().endswith("# here")
        ]
    return number


class Root(nn.Module):
    def forward(self, x):
        return x.sqrt()  # here


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.Sequential(nn.Identity(), Root())

    def forward(self, x):
        return self.blocks(x)


def test_the_first_nan_of_a_forward_pass_is_named():
    x = genesis.tensor([[1.0, -4.0], [9.0, 2.0]])
    with pytest.raises(NonFiniteError) as caught, check_finite():
        Net()(x) * 2
    error = caught.value
    assert (error.op, error.phase, error.module) == ("sqrt", "forward", "Net.blocks.1")
    assert (error.file, error.line) == (__file__, line_of("return x.sqrt()"))
    (s,) = error.inputs
    assert (s.min, s.max, s.mean, s.nan, s.posinf, s.neginf) == (-4.0, 9.0, 2.0, 0, 0, 0)
    text = str(error)
    for part in ("sqrt: NaN", f"{__file__}:{error.line} in forward", "return x.sqrt()", "in module Net.blocks.1",
                 "min -4, max 9, mean 2", "1 of 4 NaN", "float32 (2, 2)"):  # fmt: skip
        assert part in text, text


def test_infinity_is_found_too_and_can_be_allowed():
    scores, mask = genesis.zeros(3), genesis.tensor([True, False, False])
    with (
        pytest.raises(NonFiniteError, match="masked_fill: Inf.*\n.*(.|\n)*inf=False"),
        check_finite(),
    ):
        scores.masked_fill(mask, float("-inf"))
    with check_finite(inf=False):
        weights = scores.masked_fill(mask, float("-inf")).softmax(0)
        with pytest.raises(NonFiniteError, match="sub: NaN"):
            weights.log() - weights.log()
    with check_finite(nan=False), pytest.raises(NonFiniteError, match="div: Inf"):
        genesis.tensor([-1.0]).sqrt()
        genesis.ones(1) / 0


@pytest.mark.parametrize(
    "dtype", [genesis.float16, genesis.bfloat16, genesis.float32, genesis.float64]
)
def test_every_floating_dtype_is_checked_and_large_values_are_no_alarm(dtype):
    big = genesis.full((64,), genesis.finfo(dtype).max, dtype=dtype)
    with check_finite():
        big.clone()  # the sum overflows, no element does
        with pytest.raises(NonFiniteError):
            big * 2


def test_what_is_not_initialised_is_not_looked_at():
    with check_finite():
        for _ in range(5):
            genesis.full((32,), 1.0), genesis.empty(32), genesis.empty_like(genesis.ones(32))


def test_a_nan_from_before_is_said_to_be_in_the_input():
    x = genesis.tensor([float("nan"), 1.0])
    with check_finite(), pytest.raises(NonFiniteError, match="An input held it already"):
        x + 1


def test_an_operation_in_place_and_one_with_several_results():
    x = genesis.tensor([1.0, 2.0])
    with check_finite():
        with pytest.raises(
            NonFiniteError, match=r"div_: Inf(.|\n)*input 0 \(after the change in place\)"
        ):
            x /= 0.0
        with pytest.raises(NonFiniteError, match=r"cummax: Inf(.|\n)*result: (.|\n)*result: int64"):
            x.cummax(dim=0)
    x = genesis.ones(2, 2)
    with check_finite(), pytest.raises(NonFiniteError, match="index_put_: Inf"):
        x[0] = float("inf")


def test_the_first_infinite_gradient_is_named_with_the_line_of_its_operation():
    x = genesis.tensor([0.0, 4.0], requires_grad=True)
    with check_finite():
        y = x.pow(0.5)  # here
        with pytest.raises(NonFiniteError) as caught:
            y.sum().backward()
    error = caught.value
    assert (error.op, error.phase, error.line) == ("PowBackward", "backward", line_of("x.pow(0.5)"))
    assert "Function 'PowBackward' returned inf values in its 0th output" in str(error)
    assert "gradient of output 0: float32 (2,), all finite: min 1" in str(error)
    assert error.inputs[0].min == 0.0
    with check_finite(backward=False):
        x.pow(0.5).sum().backward()
    with check_finite(forward=False):
        genesis.tensor([-1.0]).sqrt()


def test_check_finite_decorates_nests_and_belongs_to_its_thread():
    @check_finite()
    def root(x):
        return x.sqrt()

    with pytest.raises(NonFiniteError):
        root(-genesis.ones(1))
    (-genesis.ones(1)).sqrt()
    with check_finite(inf=False):
        with check_finite(nan=False), pytest.raises(NonFiniteError):
            genesis.ones(1) / 0
        genesis.ones(1) / 0
    failed = []

    def work():
        try:
            (-genesis.ones(1)).sqrt()
        except NonFiniteError as error:  # pragma: no cover
            failed.append(error)

    with check_finite():
        thread = threading.Thread(target=work)
        thread.start()
        thread.join()
    assert not failed
    with pytest.raises(ValueError, match="nothing to check"):
        check_finite(nan=False, inf=False)


def test_anomaly_mode_stops_at_a_nan_gradient_and_nowhere_else():
    x = genesis.tensor([0.0], requires_grad=True)
    with detect_anomaly():
        y = x.sqrt() * 0  # here
        (-x - 1).sqrt()  # a NaN in the forward pass is not its business
        with pytest.raises(
            RuntimeError, match="Function 'SqrtBackward' returned nan values in its 0th output"
        ) as caught:
            y.sum().backward()
        assert f"{__file__}:{line_of('x.sqrt() * 0')}" in str(caught.value)
        (x**0.5).sum().backward()  # inf
    with detect_anomaly(check_nan=False):
        (x.sqrt() * 0).sum().backward()
    assert x.grad.has_nan()


def test_anomaly_mode_as_a_switch():
    assert not is_anomaly_enabled() and not genesis.is_anomaly_enabled()
    set_detect_anomaly(True)
    try:
        assert is_anomaly_enabled() and genesis.is_anomaly_check_nan_enabled()
        with set_detect_anomaly(False):
            assert not is_anomaly_enabled()
        assert is_anomaly_enabled()
    finally:
        set_detect_anomaly(False)
    assert not is_anomaly_enabled()


def test_a_second_backward_names_the_line_of_the_operation():
    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly():
        y = x.exp().sum()  # here
        y.backward()
        with pytest.raises(RuntimeError, match="retain_graph=True") as caught:
            y.backward()
    assert f"'exp' was recorded\n  at {__file__}:{line_of('x.exp().sum()')}" in str(caught.value)


def test_a_change_in_place_of_a_saved_tensor_names_both_lines():
    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly():
        y = x.sigmoid()  # here
        z = y.sum()
        y.mul_(2)  # here
        with pytest.raises(RuntimeError, match="changed in place by 'mul_'") as caught:
            z.backward()
    text = str(caught.value)
    assert f"'sigmoid' was recorded\n  at {__file__}:{line_of('x.sigmoid()')}" in text
    assert f"The change in place was\n  at {__file__}:{line_of('y.mul_(2)')}" in text


class Exp(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        (y,) = ctx.saved_tensors
        return g * y


class Wrong(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g / 0


def test_functions_of_the_user_are_treated_alike():
    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly():
        y = Exp.apply(x)  # here
        z = y.sum()
        z.backward()
        with pytest.raises(RuntimeError, match="retain_graph=True") as caught:
            z.backward()
    assert f"'Exp' was recorded\n  at {__file__}:{line_of('Exp.apply(x)')}" in str(caught.value)
    with (
        check_finite(),
        pytest.raises(NonFiniteError, match="div: Inf") as caught,
    ):  # inside backward
        Wrong.apply(x).sum().backward()
    assert caught.value.phase == "forward"
    with (
        check_finite(forward=False),
        pytest.raises(NonFiniteError, match="WrongBackward") as caught,
    ):
        Wrong.apply(x).sum().backward()
    assert (caught.value.op, caught.value.phase) == ("WrongBackward", "backward")


def test_an_error_of_the_user_in_a_backward_stays_his_own():
    class Broken(genesis.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return x * 2

        @staticmethod
        def backward(ctx, g):
            raise RuntimeError("mine")

    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly(), pytest.raises(RuntimeError, match="^mine$"):
        Broken.apply(x).sum().backward()


@pytest.mark.parametrize("change", [
    lambda y: y.__setitem__(0, 3.0), lambda y: genesis.exp(genesis.ones(2), out=y), lambda y: y.data.zero_(), lambda y: y.copy_(genesis.ones(2)),
])  # fmt: skip
def test_every_way_of_writing_is_found(change):
    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly():
        y = x.sigmoid()
        z = y.sum()
        with genesis.no_grad():
            change(y)
        if y._version:
            with pytest.raises(RuntimeError, match=f"The change in place was\n  at {__file__}"):
                z.backward()


def test_a_step_of_an_optimizer_between_forward_and_backward_is_found():
    w = nn.Parameter(genesis.ones(2))
    optimizer = genesis.optim.SGD([w], lr=0.1)
    with detect_anomaly():
        loss = (w * w).sum()
        loss.backward(retain_graph=True)
        optimizer.step()  # here
        with pytest.raises(RuntimeError, match="changed in place") as caught:
            loss.backward()
    assert f"The change in place was\n  at {__file__}:{line_of('optimizer.step()')}" in str(
        caught.value
    )


def test_without_anomaly_mode_errors_are_as_before():
    x = genesis.ones(2, requires_grad=True)
    y = x.exp().sum()
    y.backward()
    with pytest.raises(RuntimeError, match="retain_graph=True") as caught:
        y.backward()
    assert __file__ not in str(caught.value)
    with (
        detect_anomaly(),
        pytest.raises(RuntimeError, match="anomaly mode was off when it was recorded"),
    ):
        y.backward()


def test_second_derivatives_stand_at_the_line_of_their_operation():
    x = genesis.tensor([0.0], requires_grad=True)
    with detect_anomaly():
        y = x.pow(1.5)  # here
        (g,) = genesis.autograd.grad(y.sum(), x, create_graph=True)
        with pytest.raises(RuntimeError, match="returned nan") as caught:
            (g * 0).sum().backward()
    assert f"{__file__}:{line_of('x.pow(1.5)')}" in str(caught.value)


def test_modes_leave_nothing_behind():
    x = genesis.ones(2, requires_grad=True)
    with detect_anomaly():
        y = x.exp()
        module, frames = y.grad_fn.metadata["origin"]
        assert module is None and frames[0][0].co_filename == __file__
    y = x.exp()
    assert "origin" not in y.grad_fn.metadata
    from genesis.nn.modules._hooks import everywhere

    assert everywhere.scope is None


def test_the_engine_is_usable_after_a_stop():
    x = genesis.zeros(1, requires_grad=True)
    with check_finite(), pytest.raises(NonFiniteError):
        (x**0.5).sum().backward()
    x.grad = None
    (x * 3).sum().backward()
    assert x.grad.tolist() == [3.0]
