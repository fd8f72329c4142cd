"""``vmap(vjp_fn)``: many cotangents in one backward pass."""

import genesis
from genesis.func import grad, jacrev, vjp, vmap


def f(x):
    return (genesis.arange(12).double().reshape(4, 3) @ x).sin()


def close(a, b):
    return genesis.allclose(a, b, rtol=1e-10, atol=1e-10)


X = genesis.tensor([0.1, -0.2, 0.3], dtype=genesis.float64)
EYE = genesis.eye(4, dtype=genesis.float64)


def test_all_rows_come_from_one_backward_pass():
    passes = []

    def counted(x):
        y = f(x)
        if y.requires_grad:
            y.register_hook(passes.append)
        return y

    _, vjp_fn = vjp(counted, X)
    (rows,) = vmap(vjp_fn)(EYE)
    assert close(rows, jacrev(f)(X)) and len(passes) == 1


def test_nested_batches_and_batches_of_inputs():
    _, vjp_fn = vjp(f, X)
    seeds = genesis.arange(24).double().reshape(2, 3, 4)
    (found,) = vmap(vmap(vjp_fn))(seeds)
    assert close(found, seeds @ jacrev(f)(X))
    xs = genesis.stack([X, 2 * X])
    each = vmap(lambda x: vmap(vjp(f, x)[1])(EYE)[0])(xs)
    assert close(each[1], jacrev(f)(xs[1]))


def test_derivatives_go_through_it():
    found = grad(lambda x: vmap(vjp(f, x)[1])(EYE)[0].pow(2).sum())(X)
    assert close(found, grad(lambda x: jacrev(f)(x).pow(2).sum())(X))


def test_values_may_be_read_and_random_numbers_are_those_of_the_first_run():
    def g(x):
        mask = genesis.rand(3, dtype=genesis.float64)
        return x * x * mask if x.sum().item() > 0 else x

    genesis.manual_seed(3)
    y, vjp_fn = vjp(g, X)
    before = genesis.get_rng_state()
    (rows,) = vmap(vjp_fn)(genesis.eye(3, dtype=genesis.float64))
    assert close(rows.diagonal(), 2 * y / X)
    assert genesis.equal(before, genesis.get_rng_state())


def test_pytrees_and_aux():
    def g(a, b):
        return {"p": a["x"] * b, "q": b.sum()}, "aux"

    a, b = {"x": X}, X + 1
    _, vjp_fn, aux = vjp(g, a, b, has_aux=True)
    seeds = {
        "p": genesis.eye(3, dtype=genesis.float64),
        "q": genesis.ones(3, dtype=genesis.float64),
    }
    da, db = vmap(vjp_fn)(seeds)
    assert aux == "aux" and close(da["x"], genesis.diag(b))
    assert close(db, genesis.diag(X) + 1)
