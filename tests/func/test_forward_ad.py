"""autograd.forward_ad, and Functions with a jvp."""

import genesis
import genesis.autograd.forward_ad as fwAD
import pytest
from genesis.func import jacfwd, jvp, linearize, vmap


def close(a, b):
    genesis.testing.assert_close(a, b)


def test_dual_tensors():
    x, t = genesis.randn(3), genesis.randn(3)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        assert fwAD.unpack_dual(dual) == (x, t) or fwAD.unpack_dual(dual).tangent is t
        primal, tangent = fwAD.unpack_dual(dual.sin() * 2)
        close(primal, x.sin() * 2)
        close(tangent, 2 * x.cos() * t)
        assert fwAD.unpack_dual(x.sin()).tangent is None
        other = fwAD.make_dual(x, x)
        close(fwAD.unpack_dual(dual * other).tangent, x * t + x * x)
        assert not primal.requires_grad
        assert not tangent.requires_grad
    assert fwAD.unpack_dual(x).tangent is None


def test_works_where_gradients_are_off():
    x = genesis.randn(3)
    with genesis.no_grad(), fwAD.dual_level():
        dual = fwAD.make_dual(x, genesis.ones(3))
        close(fwAD.unpack_dual(dual**2).tangent, 2 * x)


def test_is_differentiable_backward():
    x = genesis.randn(3, dtype=genesis.float64, requires_grad=True)
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, genesis.ones(3, dtype=genesis.float64))
        tangent = fwAD.unpack_dual(dual**3).tangent
    tangent.sum().backward()
    close(x.grad, 6 * x.detach())


def test_modules_with_dual_parameters():
    layer = genesis.nn.Linear(3, 2)
    x = genesis.randn(4, 3)
    tangents = {name: genesis.randn(*p.shape) for name, p in layer.named_parameters()}
    with fwAD.dual_level():
        params = {n: fwAD.make_dual(p, tangents[n]) for n, p in layer.named_parameters()}
        out = genesis.func.functional_call(layer, params, x)
        got = fwAD.unpack_dual(out).tangent
    close(got, x @ tangents["weight"].T + tangents["bias"])


def test_levels_and_errors():
    x = genesis.ones(2)
    with pytest.raises(RuntimeError, match="dual_level"):
        fwAD.make_dual(x, x)
    number = fwAD.enter_dual_level()
    with pytest.raises(RuntimeError, match="do not nest"):
        fwAD.enter_dual_level()
    with pytest.raises(ValueError, match="shape"):
        fwAD.make_dual(x, genesis.ones(3))
    with pytest.raises(ValueError, match="no tangent"):
        fwAD.make_dual(x.long(), x.long())
    with pytest.raises(TypeError, match="two tensors"):
        fwAD.make_dual(x, 1.0)
    fwAD.exit_dual_level(level=number)
    with pytest.raises(RuntimeError, match="innermost"):
        fwAD.exit_dual_level()


class Exp(genesis.autograd.Function):
    used: list = []  # noqa: RUF012

    @staticmethod
    def forward(ctx, x, scale):
        y = x.exp() * scale
        ctx.save_for_backward(x)
        ctx.save_for_forward(y)
        return y

    @staticmethod
    def backward(ctx, g):
        Exp.used.append("backward")
        (x,) = ctx.saved_tensors
        return g * x.exp(), None

    @staticmethod
    def jvp(ctx, t, _):
        Exp.used.append("jvp")
        (y,) = ctx.saved_tensors
        return t * y


class OnlyJvp(genesis.autograd.Function):
    @staticmethod
    def forward(x, y):
        return x * y, x + y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_forward(*inputs)

    @staticmethod
    def jvp(ctx, tx, ty):
        x, y = ctx.saved_tensors
        return tx * y + x * ty, tx + ty


def test_function_with_jvp():
    x, t = genesis.randn(3), genesis.randn(3)
    Exp.used.clear()
    value, product = jvp(lambda a: Exp.apply(a, 1.0), (x,), (t,))
    close(value, x.exp())
    close(product, x.exp() * t)
    assert Exp.used == ["jvp"]
    with fwAD.dual_level():
        dual = fwAD.make_dual(x, t)
        close(fwAD.unpack_dual(Exp.apply(dual, 1.0)).tangent, x.exp() * t)
    assert "backward" not in Exp.used
    x.requires_grad_()
    Exp.apply(x, 1.0).sum().backward()
    assert Exp.used[-1] == "backward"


def test_function_with_jvp_alone():
    x, y = genesis.randn(3), genesis.randn(3)
    (a, b), (ta, tb) = jvp(OnlyJvp.apply, (x, y), (y, x))
    close(ta, y * y + x * x)
    close(tb, x + y)
    close((a, b), (x * y, x + y))
    x.requires_grad_()
    OnlyJvp.apply(x, y)[0].sum().backward()
    close(x.grad, y)


def test_linearize_and_jacfwd_under_vmap():
    x = genesis.randn(4, 3)

    def f(a):
        return a.sin() * a.sum()

    got = vmap(jacfwd(f))(x)
    for i in range(4):
        value, push = linearize(f, x[i])
        close(value, f(x[i]))
        close(genesis.stack([push(e) for e in genesis.eye(3)], 1), got[i])
