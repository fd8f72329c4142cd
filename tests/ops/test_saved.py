"""What an operator keeps for its gradient: which tensors may be changed in place between the call and backward.

A change that PyTorch allows must be allowed here, and a change that is allowed must not change the gradient."""

import warnings

import genesis
import numpy as np
import pytest

from tests.ops.op import Op, Sample, listed, tensor
from tests.ops.test_torch import COMPARABLE, _to_torch, _torch_function

torch = pytest.importorskip("torch")


# Made of other operators, which save the inputs; PyTorch saves the result.
COMPOSED = {"polar"}


class _Library:
    """One of the two libraries, called the same way."""

    def __init__(self, name: str):
        self.ours = name == "genesis"
        self.lib = genesis if self.ours else torch

    def tensor(self, array, requires_grad=False):
        made = tensor(array) if self.ours else torch.tensor(array)
        # clone(): a leaf may not be changed in place
        return made.requires_grad_().clone() if requires_grad else made

    def call(self, op: Op, sample: Sample, leaves):
        if self.ours:
            args, kwargs = op.with_leaves(sample, leaves)
            return op(*args, **kwargs)
        args, kwargs = op.with_leaves(sample, leaves, other=torch.tensor)
        args, kwargs = tuple(map(_to_torch, args)), {k: _to_torch(v) for k, v in kwargs.items()}
        function = _torch_function(op)
        return listed((op.wrap(function) if op.wrap else function)(*args, **kwargs))

    def gradients(self, op: Op, sample: Sample, wanted: tuple[int, ...], changed):
        """The gradients of leaves `wanted` after tensor `changed` was written, or None if that raises."""
        arrays = [a.astype(op.precise[0]) for a in op.leaves(sample)]
        leaves = [self.tensor(a, i in wanted) for i, a in enumerate(arrays)]
        outputs = self.call(op, sample, leaves)
        roots = [y for y in outputs if getattr(y, "requires_grad", False)]
        if changed is not None:
            kind, place = changed
            target = leaves[place] if kind == "input" else outputs[place]
            with self.lib.no_grad():
                target.add_(1)
        try:
            seeds = [self.lib.ones_like(y) for y in roots]
            return self.lib.autograd.grad(
                roots, [leaves[i] for i in wanted], seeds, allow_unused=True
            )
        except RuntimeError as e:
            if "in place" not in str(e) and "inplace" not in str(e):
                raise
            return None


def _same(gradients, expected) -> bool:
    return all(
        np.allclose(a.numpy(), b.numpy(), rtol=1e-7, atol=1e-9, equal_nan=True)
        for a, b in zip(gradients, expected, strict=True)
        if a is not None and b is not None
    )


def disagreements(op: Op, sample: Sample):
    """(what was changed, who required grad, what happened) where the libraries differ."""
    count = len(op.leaves(sample))
    ours, theirs = _Library("genesis"), _Library("torch")
    groups = {(i,) for i in range(count)} | {tuple(range(count))}
    for wanted in sorted(groups):
        expected = ours.gradients(op, sample, wanted, None)
        leaves = [ours.tensor(a.astype(op.precise[0])) for a in op.leaves(sample)]
        outputs = ours.call(op, sample, leaves)
        targets = [("input", i) for i in range(count)]
        targets += [
            ("output", i)
            for i, y in enumerate(outputs)
            if isinstance(y, genesis.Tensor)
            and y.is_floating_point()
            and y._base is None
            and not any(y is x for x in leaves)
        ]
        for changed in targets:
            mine = ours.gradients(op, sample, wanted, changed)
            if mine is not None:
                if not _same(mine, expected):
                    yield changed, wanted, "wrong gradient"
                continue
            other = theirs.gradients(op, sample, wanted, changed)
            if other is not None and _same(other, expected):  # PyTorch misses some changes
                yield changed, wanted, "raises"


DIFFERENTIABLE = [op for op in COMPARABLE if op.grad and not op.mutates and op.id not in COMPOSED]


@pytest.mark.parametrize("op", [pytest.param(op, id=op.id) for op in DIFFERENTIABLE])
def test_only_what_the_gradient_needs_is_kept(op: Op):
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in op.all_samples()[:1]:
            if not op.leaves(sample):
                continue
            found += disagreements(op, sample)
    assert not found
