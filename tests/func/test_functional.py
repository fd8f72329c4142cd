"""genesis.autograd.functional: graphs, strictness, errors; values are compared in test_torch."""

import genesis
import numpy as np
import pytest
from genesis.autograd import functional
from genesis.autograd.functional import hessian, hvp, jacobian, jvp, vhp, vjp

x = genesis.tensor([1.0, 2.0], dtype=genesis.float64)


def cubes(x):
    return (x**3).sum()


def squares(x):
    return x**2


def test_values():
    np.testing.assert_allclose(jacobian(squares, x).numpy(), np.diag([2.0, 4.0]))
    np.testing.assert_allclose(jacobian(squares, x, strategy="forward-mode").numpy(), np.diag([2.0, 4.0]))  # fmt: skip
    np.testing.assert_allclose(hessian(cubes, x).numpy(), np.diag([6.0, 12.0]))
    for product in (hvp, vhp):
        value, result = product(cubes, x, x)
        assert value.item() == 9.0
        np.testing.assert_allclose(result.numpy(), [6.0, 24.0])
    for product in (vjp, jvp):
        np.testing.assert_allclose(product(squares, x, x)[1].numpy(), [2.0, 8.0])
    assert jacobian(squares, (x,))[0].shape == (2, 2)
    assert hessian(cubes, (x,))[0][0].shape == (2, 2)


@pytest.mark.parametrize("create_graph", [False, True])
def test_results_are_detached_unless_asked_for(create_graph):
    w = x.clone().requires_grad_()
    results = [
        jacobian(squares, w, create_graph=create_graph),
        hessian(cubes, w, create_graph=create_graph),
        *vjp(squares, w, x, create_graph=create_graph),
        *jvp(squares, w, x, create_graph=create_graph),
        *hvp(cubes, w, x, create_graph=create_graph),
    ]
    assert [r.requires_grad for r in results] == [create_graph] * len(results)
    if create_graph:
        (g,) = genesis.autograd.grad(jacobian(squares, w, create_graph=True).sum(), w)
        np.testing.assert_allclose(g.numpy(), [2.0, 2.0])
        (g,) = genesis.autograd.grad(hvp(cubes, w, x, create_graph=True)[1].sum(), w)
        np.testing.assert_allclose(g.numpy(), [6.0, 12.0])
    assert w.grad is None


def test_strict_refuses_zeros():
    assert jacobian(lambda x: x.detach(), x).abs().sum() == 0
    with pytest.raises(RuntimeError, match="output 0 .*none of the inputs"):
        jacobian(lambda x: x.detach(), x, strict=True)
    with pytest.raises(RuntimeError, match="input 1"):
        vjp(lambda x, y: x.sum(), (x, x), strict=True)
    with pytest.raises(RuntimeError, match="gradient 0 .*independent"):
        hessian(lambda x: x.sum(), x, strict=True)
    with pytest.raises(RuntimeError, match="independent"):
        jacobian(lambda x: x * 2, x, strict=True, create_graph=True)
    assert not jacobian(squares, x, strict=True, create_graph=True).requires_grad


@pytest.mark.parametrize(
    ("call", "error", "text"),
    [
        (lambda: jacobian(squares, [x]), TypeError, "inputs must be a tensor or a tuple.*list"),
        (lambda: jacobian(lambda x: (x, 1.0), x), TypeError, "outputs .*float at index 1"),
        (lambda: jacobian(squares, x, strategy="both"), ValueError, "strategy"),
        (lambda: hessian(squares, x), ValueError, "one element"),
        (lambda: hvp(cubes, x), ValueError, "v can be left out"),
        (lambda: vjp(squares, x), ValueError, "v can be left out"),
        (lambda: vjp(squares, x, x[:1]), ValueError, r"\(1,\), expected \(2,\)"),
        (lambda: jvp(squares, x, (x, x)), ValueError, "v has 2 tensors"),
        (lambda: jacobian(squares, x.long()), TypeError, "floating"),
    ],
)
def test_errors(call, error, text):
    with pytest.raises(error, match=text):
        call()


def test_works_under_no_grad():
    with genesis.no_grad():
        np.testing.assert_allclose(functional.jacobian(squares, x).numpy(), np.diag([2.0, 4.0]))
