"""Random programs of views, writes in place and late requires_grad, compared with PyTorch.

A program is a list of steps drawn from a seed; it runs in both libraries. Values, requires_grad of every tensor, and
the gradients of the leaves must agree. `run(seed)` reproduces a failure."""

import math
import random
import warnings

import genesis
import numpy as np
import pytest

torch = pytest.importorskip("torch")

SHAPES = [(4,), (2, 3), (3, 2, 2)]


def _view(rng: random.Random, x):
    """A function that makes a view of a tensor like x, in either library."""
    shape = tuple(x.shape)
    choices = [
        lambda t: t.reshape(-1),
        lambda t: t.unsqueeze(0),
        lambda t: t.view(t.shape),
    ]
    if shape:
        d = rng.randrange(len(shape))
        n = shape[d]
        start, i = rng.randrange(n), rng.randrange(n)
        length = rng.randint(1, n - start)
        choices += [
            lambda t: t.narrow(d, start, length),
            lambda t: t.select(d, i),
            lambda t: t[..., ::2],
            lambda t: t[i % t.shape[0]],
        ]
    if len(shape) >= 2:
        a, b = rng.sample(range(len(shape)), 2)
        choices += [lambda t: t.transpose(a, b), lambda t: t.diagonal(0, a, b)]
    if 1 in shape:
        choices.append(lambda t: t.squeeze())
    return rng.choice(choices)


def _write(rng: random.Random, x, others):
    """A function that changes a tensor like x in place; it may read one of `others` (given by its number)."""
    c = rng.choice([0.5, 1.0, 2.0])
    # Not x's own memory: PyTorch reads it while it writes.
    fitting = [
        k
        for k, o in enumerate(others)
        if tuple(o.shape) in ((), tuple(x.shape))
        and o.untyped_storage().data_ptr() != x.untyped_storage().data_ptr()
    ]
    choices = [
        lambda ts, t: t.mul_(c),
        lambda ts, t: t.add_(c),
        lambda ts, t: t.zero_(),
        lambda ts, t: t.fill_(c),
        lambda ts, t: t.sin_(),
        lambda ts, t: t.clamp_(-c, c),
        lambda ts, t: t.__setitem__(Ellipsis, c),
    ]
    if fitting:
        k = rng.choice(fitting)
        choices += [
            lambda ts, t: t.add_(ts[k]),
            lambda ts, t: t.mul_(ts[k]),
            lambda ts, t: t.copy_(ts[k]),
            lambda ts, t: t.__setitem__(Ellipsis, ts[k]),
        ] * 2
    if x.ndim:
        i = rng.randrange(x.shape[0])
        choices.append(lambda ts, t: t.__setitem__(i, c))
    return rng.choice(choices)


def program(seed: int):
    """The steps: each a function of (library, tensors, losses), made by running them in PyTorch."""
    rng = random.Random(seed)
    tensors: list = []
    losses: list = []
    steps: list = []

    def step(f):
        f(torch, tensors, losses)
        steps.append(f)

    def leaf(requires_grad):
        shape = rng.choice(SHAPES)
        values = [rng.uniform(-1, 1) for _ in range(24)]
        n = math.prod(shape)
        step(
            lambda lib, ts, ls: ts.append(
                lib.tensor(values[:n], dtype=lib.float64)
                .reshape(shape)
                .clone()
                .requires_grad_(requires_grad)
            )
        )

    leaf(False)
    leaf(True)
    for _ in range(rng.randint(4, 14)):
        k = rng.randrange(len(tensors))
        kind = rng.choices(
            ["leaf", "view", "write", "untracked", "late", "use", "compute"],
            [1, 6, 6, 1, 1, 3, 2],
        )[0]
        try:
            if kind == "leaf":
                leaf(rng.random() < 0.6)
            elif kind == "view":
                view = _view(rng, tensors[k])
                step(lambda lib, ts, ls, k=k, view=view: ts.append(view(ts[k])))
            elif kind in ("write", "untracked"):
                write = _write(rng, tensors[k], tensors)
                if kind == "write":
                    step(lambda lib, ts, ls, k=k, write=write: write(ts, ts[k]))
                else:

                    def quietly(lib, ts, ls, k=k, write=write):
                        with lib.no_grad():
                            write(ts, ts[k])

                    step(quietly)
            elif kind == "late":
                # Of a view that is a leaf, PyTorch forgets the views once its memory is written.
                if tensors[k]._base is not None:
                    continue
                step(lambda lib, ts, ls, k=k: ts[k].requires_grad_())
            elif kind == "use":
                c = rng.uniform(0.5, 2)
                step(lambda lib, ts, ls, k=k, c=c: ls.append((ts[k] * c).sum()))
            else:
                step(lambda lib, ts, ls, k=k: ts.append(ts[k] * 2))
        except RuntimeError:
            continue  # PyTorch refuses: not part of the program
    return steps, tensors, losses


def _gradients(lib, tensors, losses):
    total = sum(loss for loss in losses)
    for t in tensors:
        total = total + (t * 3).sum()
    if not total.requires_grad:
        return None
    total.backward()
    return [t.grad for t in tensors]


def _same(a, b):
    return np.allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9, atol=1e-9)


def run(seed: int):
    """None, or what differs."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        steps, theirs, their_losses = program(seed)
        try:
            expected = _gradients(torch, theirs, their_losses)
        except RuntimeError:
            expected = "raises"
        ours: list = []
        our_losses: list = []
        for f in steps:
            f(genesis, ours, our_losses)
        for k, (a, b) in enumerate(zip(ours, theirs, strict=True)):
            if not _same(a, b):
                return f"value of tensor {k} is {a.tolist()}, not {b.tolist()}"
        flags = [t.requires_grad for t in ours]
        if flags != [t.requires_grad for t in theirs]:
            return f"requires_grad is {flags}, not {[t.requires_grad for t in theirs]}"
        if expected == "raises":  # y.mul_(y) keeps the old values here
            return None
        gradients = _gradients(genesis, ours, our_losses)
        if (gradients is None) != (expected is None):
            return "whether the sum requires grad"
        for k, (a, b) in enumerate(zip(gradients or [], expected or [], strict=True)):
            if (a is None) != (b is None):
                return f"gradient of tensor {k} is {a}, not {b}"
            if a is not None and not _same(a, b):
                return f"gradient of tensor {k} is {a.tolist()}, not {b.tolist()}"
        return None


@pytest.mark.parametrize("block", range(4))
def test_random_programs_agree_with_pytorch(block):
    found = {seed: d for seed in range(block * 100, block * 100 + 100) if (d := run(seed))}
    assert not found
