"""Transforms composed in either order, on random chains of operators, against plain autograd."""

import random

import genesis
import numpy as np
import pytest
from genesis import autograd
from genesis.autograd import forward_ad
from genesis.func import grad, hessian, jacfwd, jacrev, jvp, linearize, vjp, vmap
from genesis.nn import functional as F

N = 4


def _t(values):
    return genesis.tensor(values, dtype=genesis.float64)


def _assigned(x):
    y = x.sin().clone()
    y[1] = x[0] * x[2]
    return y


def _matrix(x):
    return genesis.eye(N, dtype=x.dtype) * 3 + genesis.outer(x.sin(), x.cos())


# Each maps four numbers to four numbers, smoothly at random points.
PIECES = {
    "sin": lambda x: x.sin(),
    "tanh": lambda x: x.tanh(),
    "exp": lambda x: (x * 0.3).exp(),
    "square": lambda x: x * x,
    "gelu": F.gelu,
    "silu": F.silu,
    "softplus": F.softplus,
    "softmax": lambda x: x.softmax(-1),
    "log_softmax": lambda x: x.log_softmax(0),
    "cumsum": lambda x: x.cumsum(0),
    "cumprod": lambda x: x.cumprod(-1),
    "flip": lambda x: x.flip(0),
    "roll": lambda x: x.roll(1, 0),
    "center": lambda x: x - x.mean(),
    "norm": lambda x: x / (x.norm() + 1),
    "var": lambda x: x * x.var(),
    "logsumexp": lambda x: x - x.logsumexp(0),
    "outer": lambda x: (genesis.outer(x, x) @ x) * 0.3,
    "sort": lambda x: x.sort()[0] * x,
    "max": lambda x: x * x.max(),
    "where": lambda x: genesis.where(x > 0, x * x * x, 0.2 * x * x),
    "cat": lambda x: genesis.cat([x[2:], x[:2].sin()]),
    "stack": lambda x: genesis.stack([x, x.cos()]).prod(0),
    "gather": lambda x: x.gather(0, genesis.tensor([3, 1, 0, 0])) * x,
    "index": lambda x: x[genesis.tensor([0, 0, 2, 3])].sin(),
    "scatter": lambda x: genesis.zeros(N, dtype=x.dtype).scatter_add(
        0, genesis.tensor([1, 1, 3, 0]), x
    ) * x,
    "pad": lambda x: F.pad(x, (1, 0))[:-1] * x,
    "layer_norm": lambda x: F.layer_norm(x, (N,), eps=0.1),
    "solve": lambda x: genesis.linalg.solve(_matrix(x), x),
    "inv": lambda x: genesis.linalg.inv(_matrix(x)) @ x,
    "det": lambda x: x * genesis.linalg.det(_matrix(x)) * 0.03,
    "cholesky": lambda x: genesis.linalg.cholesky(
        genesis.eye(N, dtype=x.dtype) * 3 + genesis.outer(x, x)
    ) @ x * 0.3,
    "einsum": lambda x: genesis.einsum("i,j->i", x, x.sin()),
    "fft": lambda x: genesis.fft.ifft(genesis.fft.fft(x) * genesis.fft.fft(x.sin())).real,
    "complex": lambda x: genesis.complex(x, x.sin()).exp().real * 0.5,
    "conv": lambda x: F.conv1d(
        x.reshape(1, 1, N), genesis.ones(1, 1, 3, dtype=x.dtype) * 0.3, padding=1
    ).reshape(N) * x,
    "pool": lambda x: F.avg_pool1d(x.reshape(1, 1, N), 2).reshape(2).repeat(2) * x,
    "attention": lambda x: F.scaled_dot_product_attention(
        x.reshape(1, 2, 2), x.reshape(1, 2, 2).sin(), x.reshape(1, 2, 2)
    ).reshape(N),
    "lgamma": lambda x: (x * x + 1).lgamma(),
    "in place": lambda x: x.clone().mul_(2).add_(x.sin()),
    "setitem": _assigned,
    "mse": lambda x: F.mse_loss(x, x.sin()) * x,
    "bce": lambda x: F.binary_cross_entropy_with_logits(x, x.sigmoid() * 0.5) * x,
    "cross_entropy": lambda x: F.cross_entropy(x, genesis.tensor(2)) * x.sin(),
    "matrix_exp": lambda x: genesis.matrix_exp(x.reshape(2, 2) * 0.3).reshape(N),
    "cdist": lambda x: genesis.cdist(x.reshape(2, 2), x.reshape(2, 2).sin() + 3).reshape(N),
}  # fmt: skip


class Program:
    """A chain of pieces, and its derivatives by loops of plain autograd."""

    def __init__(self, names):
        self.pieces = [PIECES[name] for name in names]
        self.weights = genesis.arange(1, N + 1, dtype=genesis.float64) / N

    def vector(self, x):
        for piece in self.pieces:
            x = piece(x)
        return x

    def scalar(self, x):
        return (self.vector(x).tanh() * self.weights).sum()

    def gradient(self, x, create_graph=False):
        x = x if x.requires_grad else x.detach().requires_grad_()
        return autograd.grad(self.scalar(x), x, create_graph=create_graph)[0]

    def jacobian(self, x, create_graph=False):
        x = x if x.requires_grad else x.detach().requires_grad_()
        y = self.vector(x)
        return genesis.stack([_row(y[i], x, create_graph) for i in range(N)])

    def hessian(self, x):
        x = x.detach().requires_grad_()
        g = self.gradient(x, create_graph=True)
        return genesis.stack([_row(g[i], x, False) for i in range(N)])

    def second(self, x):
        x = x.detach().requires_grad_()
        rows = self.jacobian(x, create_graph=True).reshape(-1)
        return genesis.stack([_row(r, x, False) for r in rows]).reshape(N, N, N)


def _row(y, x, create_graph):
    if not y.requires_grad:
        return genesis.zeros_like(x)
    found = autograd.grad(y, x, retain_graph=True, create_graph=create_graph, allow_unused=True)[0]
    return genesis.zeros_like(x) if found is None else found


def _each(function, rows):
    return genesis.stack([function(row) for row in rows])


def _dual(p, x, t):
    with forward_ad.dual_level():
        return forward_ad.unpack_dual(p.vector(forward_ad.make_dual(x, t))).tangent


def _batched(p, x, rows):
    x = x.clone().requires_grad_()
    return autograd.grad(p.vector(x), x, rows, is_grads_batched=True)[0]


# What a composition computes at points X with tangents T, and the same by loops.
COMPOSITIONS = {
    "vmap grad": (lambda p, X, T: vmap(grad(p.scalar))(X), lambda p, X, T: _each(p.gradient, X)),
    "grad vmap": (
        lambda p, X, T: grad(lambda X: vmap(p.scalar)(X).sum())(X),
        lambda p, X, T: _each(p.gradient, X),
    ),
    "vmap vmap grad": (
        lambda p, X, T: vmap(vmap(grad(p.scalar)))(genesis.stack([X, T])),
        lambda p, X, T: genesis.stack([_each(p.gradient, X), _each(p.gradient, T)]),
    ),
    "vmap jacrev": (lambda p, X, T: vmap(jacrev(p.vector))(X), lambda p, X, T: _each(p.jacobian, X)),
    "vmap jacfwd": (lambda p, X, T: vmap(jacfwd(p.vector))(X), lambda p, X, T: _each(p.jacobian, X)),
    "jacrev vmap": (
        lambda p, X, T: jacrev(vmap(p.vector))(X).diagonal(dim1=0, dim2=2).permute(2, 0, 1),
        lambda p, X, T: _each(p.jacobian, X),
    ),
    "vmap hessian": (lambda p, X, T: vmap(hessian(p.scalar))(X), lambda p, X, T: _each(p.hessian, X)),
    "hessian vmap": (
        lambda p, X, T: hessian(lambda X: vmap(p.scalar)(X).sum())(X)
        .diagonal(dim1=0, dim2=2)
        .permute(2, 0, 1),
        lambda p, X, T: _each(p.hessian, X),
    ),
    "jvp vmap": (
        lambda p, X, T: jvp(vmap(p.vector), (X,), (T,))[1],
        lambda p, X, T: (_each(p.jacobian, X) @ T.unsqueeze(-1)).squeeze(-1),
    ),
    "vmap jvp": (
        lambda p, X, T: vmap(lambda x, t: jvp(p.vector, (x,), (t,))[1])(X, T),
        lambda p, X, T: (_each(p.jacobian, X) @ T.unsqueeze(-1)).squeeze(-1),
    ),
    "vmap vjp": (
        lambda p, X, T: vmap(lambda x, t: vjp(p.vector, x)[1](t)[0])(X, T),
        lambda p, X, T: (T.unsqueeze(1) @ _each(p.jacobian, X)).squeeze(1),
    ),
    "vmap linearize": (
        lambda p, X, T: vmap(lambda x, t: linearize(p.vector, x)[1](t))(X, T),
        lambda p, X, T: (_each(p.jacobian, X) @ T.unsqueeze(-1)).squeeze(-1),
    ),
    "jvp grad": (
        lambda p, X, T: jvp(grad(p.scalar), (X[0],), (T[0],))[1],
        lambda p, X, T: p.hessian(X[0]) @ T[0],
    ),
    "jacfwd jacrev": (lambda p, X, T: jacfwd(jacrev(p.vector))(X[0]), lambda p, X, T: p.second(X[0])),
    "jacrev jacfwd": (lambda p, X, T: jacrev(jacfwd(p.vector))(X[0]), lambda p, X, T: p.second(X[0])),
    "chunks": (
        lambda p, X, T: vmap(grad(p.scalar), in_dims=1, out_dims=1, chunk_size=2)(X.T),
        lambda p, X, T: _each(p.gradient, X).T,
    ),
    "dual": (lambda p, X, T: _dual(p, X[0], T[0]), lambda p, X, T: p.jacobian(X[0]) @ T[0]),
    "batched grads": (
        lambda p, X, T: _batched(p, X[0], T),
        lambda p, X, T: T @ p.jacobian(X[0]),
    ),
}  # fmt: skip


def _programs():
    rng = random.Random(0)
    single = [[name] for name in PIECES]
    chains = [rng.choices(list(PIECES), k=rng.randint(2, 3)) for _ in range(40)]
    return [pytest.param(names, id="-".join(names).replace(" ", "_")) for names in single + chains]


@pytest.mark.parametrize("names", _programs())
def test_compositions(names):
    rng = np.random.default_rng(len("".join(names)))
    program = Program(names)
    X, T = _t(rng.normal(size=(3, N))), _t(rng.normal(size=(3, N)))
    for name, (composed, loops) in COMPOSITIONS.items():
        got, want = composed(program, X, T), loops(program, X, T)
        assert not got.requires_grad
        np.testing.assert_allclose(
            got.numpy(), want.detach().numpy(), rtol=1e-7, atol=1e-8, err_msg=name
        )
