"""Function transforms inside compiled functions, and compiled themselves."""

from __future__ import annotations

from typing import Any

import genesis
import pytest
from genesis import func

from tests.compiler.test_compile import bits, plans


def loss(w: Any, x: Any) -> Any:
    return (genesis.tanh(x @ w) ** 2).sum()


def energy(v: Any) -> Any:
    return (genesis.sin(v) * v).sum()


TRANSFORMED = {
    "grad": (func.grad(loss), 2),
    "grad and value": (func.grad_and_value(loss), 2),
    "vmap of grad": (func.vmap(func.grad(loss), in_dims=(None, 0)), 2),
    "hessian": (func.hessian(loss), 2),
    "vmap of hessian": (func.vmap(func.hessian(energy)), 1),
    "jacrev": (func.jacrev(genesis.tanh), 1),
    "jacrev in chunks": (func.jacrev(genesis.tanh, chunk_size=3), 1),
    "jacfwd": (func.jacfwd(genesis.tanh), 1),
    "jvp": (lambda w, x: func.jvp(genesis.tanh, (w,), (w * 2,)), 2),
    "vjp": (lambda w, x: func.vjp(genesis.tanh, w)[1](w * 2), 2),
}


@pytest.mark.parametrize("name", TRANSFORMED)
def test_transforms_replay(name: str) -> None:
    function, arity = TRANSFORMED[name]
    compiled = genesis.compile(function, fullgraph=True)
    for _ in range(4):
        args = [genesis.randn(4, 4), genesis.randn(5, 4)][:arity]
        found, expected = compiled(*args), function(*args)
        leaves = zip(*map(genesis._pytree.tree_leaves, (found, expected)), strict=True)
        assert all(bits(a) == bits(b) for a, b in leaves)
    assert plans(compiled)[0].uses == 2


def test_random_numbers_of_a_transform() -> None:
    def noisy(x: Any) -> Any:
        return x * genesis.rand(3)

    transformed = func.jacrev(noisy)
    runs = []
    for f in (transformed, genesis.compile(transformed, fullgraph=True)):
        genesis.manual_seed(1)
        runs.append([bits(f(genesis.ones(3))) for _ in range(4)] + [bits(genesis.rand(2))])
    assert runs[0] == runs[1]
