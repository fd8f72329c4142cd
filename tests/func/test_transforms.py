"""genesis.func: values against closed forms, nesting, structure, and what is left behind."""

import collections
import gc
import weakref

import genesis
import numpy as np
import pytest
from genesis.func import (
    grad,
    grad_and_value,
    hessian,
    hvp,
    jacfwd,
    jacrev,
    jvp,
    linearize,
    value_and_grad,
    vjp,
)

X = [0.5, -1.0, 2.0]


def vec(*values, **kwargs):
    return genesis.tensor(list(values), dtype=genesis.float64, **kwargs)


def num(value, **kwargs):
    return genesis.tensor(value, dtype=genesis.float64, **kwargs)


def same(t, expected):
    assert not t.requires_grad
    np.testing.assert_allclose(t.numpy(), expected, rtol=1e-12, atol=1e-12)


def cubes(x):
    """Its Hessian is not diagonal: (sum x)^3 + sum x^3."""
    return x.sum() ** 3 + (x**3).sum()


def cubes_grad(x):
    return 3 * x.sum() ** 2 + 3 * x**2


def cubes_hessian(x):
    return 6 * x.sum() * np.ones((x.size, x.size)) + np.diag(6 * x)


def test_values_against_closed_forms():
    x, v = np.array(X), np.array([1.0, 2.0, -1.0])
    same(grad(cubes)(vec(*x)), cubes_grad(x))
    for pair, order in ((value_and_grad(cubes), 1), (grad_and_value(cubes), -1)):
        value, gradient = pair(vec(*x))[::order]
        same(value, x.sum() ** 3 + (x**3).sum())
        same(gradient, cubes_grad(x))
    for transform in (hessian(cubes), jacfwd(jacrev(cubes)), jacrev(jacfwd(cubes)), jacfwd(grad(cubes)), jacrev(grad(cubes)), jacfwd(jacfwd(cubes))):  # fmt: skip
        same(transform(vec(*x)), cubes_hessian(x))
    same(hvp(cubes, vec(*x), vec(*v)), cubes_hessian(x) @ v)
    same(jvp(grad(cubes), (vec(*x),), (vec(*v),))[1], cubes_hessian(x) @ v)
    y, product = jvp(genesis.sin, (vec(*x),), (vec(*v),))
    same(y, np.sin(x))
    same(product, np.cos(x) * v)
    y, pull = vjp(genesis.sin, vec(*x))
    same(y, np.sin(x))
    for _ in range(2):  # the graph stays for another call
        same(pull(vec(*v))[0], np.cos(x) * v)
    y, push = linearize(genesis.sin, vec(*x))
    for k in (1.0, 2.0):
        same(push(k * vec(*v)), k * np.cos(x) * v)


@pytest.mark.parametrize("transform", [grad, jacrev, jacfwd])
def test_any_depth(transform):
    f, x = genesis.sin, num(0.3)
    for expected in (np.cos, lambda x: -np.sin(x), lambda x: -np.cos(x), np.sin, np.cos):
        f = transform(f)
        same(f(x), expected(0.3))


@pytest.mark.parametrize("outer", [grad, jacfwd, jacrev])
@pytest.mark.parametrize("inner", [grad, jacfwd, jacrev])
def test_perturbations_are_not_confused(outer, inner):
    one = num(1.0)
    same(outer(lambda x: x * inner(lambda y: x + y)(one))(num(2.0)), 1.0)
    same(outer(lambda x: x * inner(lambda y: x * y)(one))(num(3.0)), 6.0)
    same(outer(lambda x: x * inner(lambda y: x * y * y)(x))(num(2.0)), 3 * 2 * 2.0**2)
    # the same variable, seen through two levels
    same(outer(lambda x: inner(lambda y: outer(lambda z: x * y * z * z)(y))(x))(num(2.0)), 8 * 2.0)


def test_an_outer_gradient_through_an_inner_product():
    def through_jvp(x):
        return jvp(lambda y: (y**3 * x).sum(), (x,), (x,))[1]  # 3 x^2 x x = 3 x^4

    same(grad(through_jvp)(num(2.0)), 12 * 2.0**3)
    same(jacfwd(through_jvp)(num(2.0)), 12 * 2.0**3)
    same(grad(lambda x: vjp(lambda y: y**3, x)[1](x * x)[0])(num(2.0)), 12 * 2.0**3)
    same(grad(lambda t: jvp(lambda y: y**3, (num(2.0),), (t,))[1])(num(5.0)), 12.0)
    same(grad(lambda c: vjp(lambda y: y**3, num(2.0))[1](c)[0])(num(5.0)), 12.0)
    x = np.array(X)
    same(grad(lambda x: hvp(cubes, x, x).sum())(vec(*x)), 18 * x.sum() * 2 + 12 * x)
    pushed = linearize(lambda x: x**3, num(2.0))[1]
    same(grad(pushed)(num(1.0)), 12.0)
    pulled = vjp(lambda x: x**3, num(2.0))[1]
    same(grad(lambda c: pulled(c)[0])(num(1.0)), 12.0)


def test_nests_of_inputs_and_outputs():
    Point = collections.namedtuple("Point", "x y")
    tree = {"a": num(2.0), "b": [num(3.0), (num(4.0),)], "p": Point(num(5.0), num(6.0))}

    def product(t):
        return t["a"] * t["b"][0] * t["b"][1][0] + t["p"].x * t["p"].y

    g = grad(product)(tree)
    assert isinstance(g["p"], Point)
    assert isinstance(g["b"][1], tuple)
    for got, expected in ((g["a"], 12), (g["b"][0], 8), (g["b"][1][0], 6), (g["p"].x, 6), (g["p"].y, 5)):  # fmt: skip
        same(got, expected)

    def outputs(t, scale):
        return {"s": t["v"] * scale, "n": [t["v"].sum()]}

    for jacobian in (jacrev, jacfwd):
        j = jacobian(outputs, argnums=(0, 1))({"v": vec(1.0, 2.0)}, num(3.0))
        assert list(j) == ["s", "n"]
        same(j["s"][0]["v"], 3 * np.eye(2))
        same(j["s"][1], [1.0, 2.0])
        same(j["n"][0][0]["v"], [1.0, 1.0])
        same(j["n"][0][1], 0.0)
    pull = vjp(outputs, {"v": vec(1.0, 2.0)}, num(3.0))[1]
    dt, dscale = pull({"s": vec(1.0, 1.0), "n": [num(1.0)]})
    same(dt["v"], [4.0, 4.0])
    same(dscale, 3.0)
    same(jvp(outputs, ({"v": vec(1.0, 2.0)}, num(3.0)), ({"v": vec(1.0, 0.0)}, num(1.0)))[1]["s"], [4.0, 2.0])  # fmt: skip
    same(hvp(lambda x, y: x * y * y, (num(2.0), num(3.0)), (num(1.0), num(0.0)))[1], 6.0)
    blocks = hessian(lambda x, y: (x * y).sum(), argnums=(0, 1))(vec(1.0, 2.0), vec(3.0, 4.0))
    same(blocks[0][0], np.zeros((2, 2)))
    same(blocks[0][1], np.eye(2))


def test_argnums_keywords_and_aux():
    def f(x, y, scale=1.0):
        return (x * y**2 * scale).sum(), {"seen": x + 1, "note": "text"}

    x, y = vec(1.0, 2.0), vec(3.0, 4.0)
    g, aux = grad(f, argnums=1, has_aux=True)(x, y, scale=2.0)
    same(g, 4 * x.numpy() * y.numpy())
    same(aux["seen"], [2.0, 3.0])
    assert aux["note"] == "text"
    gx, gy = grad(lambda *a: f(*a)[0], argnums=(0, -1))(x, y)
    same(gx, [9.0, 16.0])
    same(gy, [6.0, 16.0])
    gy, gx = grad(lambda *a: f(*a)[0], argnums=(1, 0))(x, y)
    same(gx, [9.0, 16.0])
    (value, aux), g = value_and_grad(f, has_aux=True)(x, y)
    g, (value, aux) = grad_and_value(f, has_aux=True)(x, y)
    same(value, 41.0)
    for jacobian in (jacrev, jacfwd):
        j, aux = jacobian(lambda x: (x**2, x), has_aux=True)(x)
        same(j, np.diag([2.0, 4.0]))
        same(aux, [1.0, 2.0])
    assert len(vjp(lambda x: (x, x), x, has_aux=True)) == 3
    assert len(jvp(lambda x: (x, x), (x,), (x,), has_aux=True)) == 3
    same(grad(lambda x: x * 3)(2.0), 3.0)  # a number stands for a tensor


def test_what_does_not_depend_has_zero_gradient():
    x, y = vec(1.0, 2.0), vec(3.0)
    same(grad(lambda x, y: y.sum(), argnums=0)(x, y), [0.0, 0.0])
    same(grad(lambda x: genesis.tensor(1.0))(x), [0.0, 0.0])
    same(jacrev(lambda x, y: y * 2)(x, y), np.zeros((1, 2)))
    same(jacfwd(lambda x, y: y * 2)(x, y), np.zeros((1, 2)))
    same(jvp(lambda x: y, (x,), (x,))[1], [0.0])
    with pytest.raises(RuntimeError, match="strict"):
        jvp(lambda x: y, (x,), (x,), strict=True)
    same(hvp(lambda x: x.sum(), x, x), [0.0, 0.0])
    same(hvp(lambda x: genesis.tensor(1.0), x, x), [0.0, 0.0])


@pytest.mark.parametrize("shape", [(), (0,), (2, 0), (3, 1, 2)])
@pytest.mark.parametrize("jacobian", [jacrev, jacfwd])
def test_jacobians_of_any_shape(jacobian, shape, rng):
    x = genesis.tensor(rng.standard_normal(shape), dtype=genesis.float64)
    same(
        jacobian(lambda x: x**2)(x), (np.eye(x.numel()) * 2 * x.numpy().ravel()).reshape(shape * 2)
    )
    assert jacobian(lambda x: x.sum().expand(2, 2))(x).shape == (2, 2, *shape)


def test_strided_inputs(rng):
    base = genesis.tensor(rng.standard_normal((3, 4)), dtype=genesis.float64)
    for x in (base.T, base[::2, 1:3], base[:, :1].expand(3, 4)):
        same(grad(lambda x: (x**2).sum())(x), 2 * x.numpy())
        tracked = x.clone().as_strided(x.shape, x.stride()) if x.is_contiguous() else x
        outer = grad(lambda x: grad(lambda y: (y**3).sum())(x).sum())(tracked)
        same(outer, 6 * tracked.numpy())


def test_results_lead_only_to_what_was_tracked_outside():
    x, w = vec(1.0, 2.0), vec(3.0, 4.0, requires_grad=True)
    g = grad(lambda x: (x**2 * w).sum())(x)  # 2 x w
    (gw,) = genesis.autograd.grad(g.sum(), w)
    same(gw, [2.0, 4.0])
    assert not grad(lambda x: (x**2 + w).sum())(x).requires_grad
    assert not jacrev(lambda x: x**2)(x).requires_grad
    assert not jvp(lambda x: x**2, (x,), (x,))[1].requires_grad
    g = grad(lambda v: (v**3).sum())(w)
    (gw,) = genesis.autograd.grad(g.sum(), w)
    same(gw, [18.0, 24.0])
    assert w.grad is None
    aux = grad(lambda x: ((x**2).sum(), (x, x * w)), has_aux=True)(x)[1]
    assert not aux[0].requires_grad
    aux[1].sum().backward()
    same(w.grad, [1.0, 2.0])


def test_no_gradient_is_accumulated():
    w = vec(1.0, 2.0, requires_grad=True)
    w.register_hook(lambda g: pytest.fail("a hook of the caller's tensor ran"))
    grad(cubes)(w)
    jacrev(genesis.sin)(w)
    jvp(genesis.sin, (w,), (w.detach(),))
    hvp(cubes, w, w.detach())
    assert w.grad is None
    assert w.is_leaf


def test_transforms_work_where_gradients_are_off():
    x, w = vec(1.0, 2.0), vec(3.0, 4.0, requires_grad=True)
    for mode in (genesis.no_grad, genesis.inference_mode):
        with mode():
            same(grad(lambda x: (x**2 * w).sum())(x), [6.0, 16.0])
            same(grad(lambda x: (x**2).sum())(x + 0), [2.0, 4.0])
            same(jacfwd(lambda x: x**2)(w), np.diag([6.0, 8.0]))
            same(vjp(lambda x: x**2, w)[0], [9.0, 16.0])
            same(jvp(lambda x: x**2, (x,), (x,))[1], [2.0, 8.0])
            same(hessian(cubes)(x), cubes_hessian(x.numpy()))

    def constant(x):
        with genesis.no_grad():
            c = x**2
        return (c * x).sum()

    same(grad(constant)(x), [1.0, 4.0])

    def inner_is_constant(x):
        with genesis.no_grad():
            c = grad(lambda y: (y**2).sum())(x)
        return (c * x).sum()

    same(grad(inner_is_constant)(x), [2.0, 4.0])


def test_transforms_on_a_tape():
    x, tape = vec(1.0, 2.0), genesis.autograd.Tape()
    with tape:
        y = grad(lambda x: (x**3).sum())(x).sum() + jvp(lambda x: x**3, (x,), (x,))[1].sum()
    same(tape.backward(y)[x], 6 * x.numpy() + 9 * x.numpy() ** 2)


def test_transforms_keep_names_and_call_once():
    calls = []

    def named(x):
        """Docs."""
        calls.append(1)
        return (x**2).sum()

    for transform in (grad, grad_and_value, value_and_grad, jacrev, jacfwd):
        assert transform(named).__name__ == "named"
        transform(named)(vec(1.0, 2.0, 3.0))
    assert len(calls) == 5


def test_nothing_is_kept_alive():
    x = vec(1.0, 2.0)
    seen = []

    def f(x):
        seen.append(weakref.ref(x))
        return (x.exp() * x).sum()

    gc.disable()
    try:
        grad(f)(x)
        hvp(f, x, x)
        jvp(f, (x,), (x,))
        grad(lambda x: grad(f)(x).sum())(x)
        vjp(f, x)[1](num(1.0))
        assert [r() for r in seen] == [None] * 5
    finally:
        gc.enable()


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda x: grad(lambda x: x)(x), ValueError, r"grad: .*float64 and shape \(2,\).*jacrev"),
        (lambda x: grad(lambda x: 1.0)(x), ValueError, "got float"),
        (lambda x: grad(lambda x: x.sum(), argnums=1)(x), ValueError, "argnums=1"),
        (lambda x: grad(lambda x: x.sum(), argnums=())(x), ValueError, "empty"),
        (lambda x: grad(lambda x, y: x.sum(), argnums=(0, -2))(x, x), ValueError, "twice"),
        (lambda x: grad(lambda x: x.sum(), argnums="x")(x), TypeError, "argnums"),
        (lambda x: grad(lambda x: x.sum(), has_aux=True)(x), TypeError, "has_aux"),
        (lambda x: grad(lambda t: t)({"a": [x, "b"]}), TypeError, r"got str at \['a'\]\[1\]"),
        (lambda x: grad(lambda t: t)(x.long()), TypeError, "int64"),
        (lambda x: jacrev(lambda x: x.long())(x), TypeError, "jacrev: .*int64"),
        (lambda x: jacrev(lambda x: x, chunk_size=0), ValueError, "chunk_size"),
        (lambda x: jacfwd(lambda x: x, randomness="no"), ValueError, "randomness"),
        (lambda x: jvp(lambda x: x, x, x), TypeError, "tuples"),
        (lambda x: jvp(lambda x: x, (x,), (x, x)), ValueError, "structure"),
        (lambda x: jvp(lambda x: x, (x,), (x[:1],)), ValueError, r"tangents\[0\].*\(2,\).*\(1,\)"),
        (lambda x: vjp(lambda x: (x, x), x)[1](x), ValueError, "cotangents"),
        (lambda x: vjp(lambda x: x, x)[1](x[:1]), ValueError, r"shape \(2,\), got .*\(1,\)"),
        (lambda x: hvp(lambda x: x, x, x), ValueError, "hvp"),
    ],
)
def test_errors_say_what_came(call, error, text):
    with pytest.raises(error, match=text):
        call(vec(1.0, 2.0))
