"""The same transforms of the same functions, in PyTorch."""

import genesis
import numpy as np
import pytest
from genesis._pytree import tree_leaves

torch = pytest.importorskip("torch")
func = pytest.importorskip("torch.func")

PARAMS = {"w": np.array([[0.3, -0.2], [0.1, 0.5], [-0.7, 0.2]]), "b": np.array([0.1, -0.3])}
X = np.array([[1.0, -2.0, 0.5], [0.3, 0.7, -1.1]])


def network(p, x):
    return ((x @ p["w"] + p["b"]).tanh() ** 2).sum(-1)


def loss(p, x):
    return network(p, x).exp().sum()


def aux(p, x):
    return loss(p, x), {"hidden": x @ p["w"]}


def pushed(lib, p, x):
    ones = {k: v * 0 + 1 for k, v in p.items()}
    return lib.jvp(lambda p: network(p, x), (p,), (ones,))


CASES = {
    "grad": lambda lib: lib.grad(loss),
    "grad of both": lambda lib: lib.grad(loss, argnums=(0, 1)),
    "grad with aux": lambda lib: lib.grad(aux, has_aux=True),
    "grad_and_value": lambda lib: lib.grad_and_value(aux, argnums=1, has_aux=True),
    "jacrev": lambda lib: lib.jacrev(network, argnums=(0, 1)),
    "jacfwd": lambda lib: lib.jacfwd(network, argnums=(0, 1)),
    "hessian": lambda lib: lib.hessian(loss),
    "jacfwd of jacrev": lambda lib: lib.jacfwd(lib.jacrev(network), argnums=1),
    "vjp": lambda lib: lambda p, x: lib.vjp(network, p, x)[1](x[:, 0]),
    "jvp": lambda lib: lambda p, x: pushed(lib, p, x),
    "linearize": lambda lib: lambda p, x: lib.linearize(network, p, x)[1](p, x),
    "grad of jvp": lambda lib: lib.grad(lambda p, x: pushed(lib, p, x)[1].sum()),
    "jacrev of vjp": lambda lib: lib.jacrev(
        lambda x, p: lib.vjp(loss, p, x)[1](x.sum()), argnums=0
    ),
    "third": lambda lib: lib.grad(lambda x, p: (lib.hessian(loss, argnums=1)(p, x) ** 2).sum()),
}


@pytest.mark.filterwarnings("ignore:Attempted to insert a get_attr Node:UserWarning")
@pytest.mark.parametrize("name", CASES)
def test_func(name):
    def run(module, lib):
        p = {k: module.tensor(v, dtype=module.float64) for k, v in PARAMS.items()}
        x = module.tensor(X, dtype=module.float64)
        args = (x, p) if name in ("jacrev of vjp", "third") else (p, x)
        return CASES[name](lib)(*args)

    ours, theirs = run(genesis, genesis.func), run(torch, func)
    leaves = torch.utils._pytree.tree_leaves(theirs)
    assert len(tree_leaves(ours)) == len(leaves)
    for a, b in zip(tree_leaves(ours), leaves, strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-10, atol=1e-12)


def exponential(x):
    return x.exp().sum(-1)


def mixed(x, y):
    return 2 * x.sum(0) + 3 * (y * y), (x.exp() @ y)


def cubic(x, y):
    return (x**3).sum() * (y**2).sum() + (x.sum(0) * y).sum()


FUNCTIONAL = {
    "jacobian": (lambda f, *a, **k: f.jacobian(exponential, a[0], **k), {}),
    "jacobian forward": (lambda f, *a, **k: f.jacobian(mixed, a, **k), {"strategy": "forward-mode", "vectorize": True}),
    "jacobian of several": (lambda f, *a, **k: f.jacobian(mixed, a, **k), {"vectorize": True}),
    "jacobian with graph": (lambda f, *a, **k: f.jacobian(mixed, a, **k), {"create_graph": True}),
    "hessian": (lambda f, *a, **k: f.hessian(cubic, a, **k), {}),
    "hessian forward": (lambda f, *a, **k: f.hessian(cubic, a, **k), {"outer_jacobian_strategy": "forward-mode", "vectorize": True}),
    "hessian strict": (lambda f, *a, **k: f.hessian(cubic, a, **k), {"strict": True}),
    "vjp": (lambda f, *a, **k: f.vjp(mixed, a, (a[1], a[0][:, 0]), **k), {}),
    "vjp of a number": (lambda f, *a, **k: f.vjp(cubic, a, **k), {"strict": True}),
    "jvp": (lambda f, *a, **k: f.jvp(mixed, a, a, **k), {}),
    "jvp with graph": (lambda f, *a, **k: f.jvp(exponential, a[0], a[0], **k), {"create_graph": True}),
    "hvp": (lambda f, *a, **k: f.hvp(cubic, a, a, **k), {}),
    "vhp": (lambda f, *a, **k: f.vhp(cubic, a, a, **k), {"create_graph": True}),
    "hvp of one": (lambda f, *a, **k: f.hvp(lambda x: (x**3).sum(), a[0], a[0], **k), {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FUNCTIONAL)
def test_functional(name):
    call, options = FUNCTIONAL[name]

    def run(module):
        x = module.tensor(X, dtype=module.float64)
        y = module.tensor([0.5, -1.5, 2.0], dtype=module.float64)
        return call(module.autograd.functional, x, y, **options)

    def flat(t):
        return [t] if hasattr(t, "numpy") else [leaf for item in t for leaf in flat(item)]

    def form(t):
        return "*" if hasattr(t, "numpy") else tuple(form(item) for item in t)

    ours, theirs = run(genesis), run(torch)
    assert form(ours) == form(theirs)
    for a, b in zip(flat(ours), flat(theirs), strict=True):
        assert tuple(a.shape) == tuple(b.shape)
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-10, atol=1e-12)
