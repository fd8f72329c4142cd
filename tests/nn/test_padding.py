"""Padding layers, next to PyTorch's."""

import genesis
import pytest
from genesis import nn

from tests.nn.against_torch import compare

SHAPES = {1: [(2, 3, 5), (3, 5)], 2: [(2, 3, 4, 5), (3, 4, 5)], 3: [(2, 1, 4, 5, 4), (1, 4, 5, 4)]}
PADS = {1: [2, (1, 3)], 2: [2, (1, 3, 0, 2)], 3: [1, (1, 3, 0, 2, 3, 1)]}


@pytest.mark.parametrize("dims", [1, 2, 3])
@pytest.mark.parametrize("kind", ["Zero", "Reflection", "Replication", "Circular"])
def test_as_in_torch(kind, dims, rng):
    for shape in SHAPES[dims]:
        for pad in PADS[dims]:
            compare(lambda nn: getattr(nn, f"{kind}Pad{dims}d")(pad), rng.normal(size=shape))  # noqa: B023


@pytest.mark.parametrize("pad", [(-1, 1), (1, -1), (-2, 2), (2, -2), (-1, -1)])
@pytest.mark.parametrize("kind", ["Reflection", "Replication", "Circular"])
def test_what_is_cut_off_is_not_padded_with(kind, pad, rng):
    x = rng.normal(size=(2, 3, 5))
    compare(lambda nn: getattr(nn, f"{kind}Pad1d")(pad), x)
    compare(lambda nn: getattr(nn, f"{kind}Pad2d")((*pad, *pad[::-1])), rng.normal(size=(2, 5, 6)))


@pytest.mark.parametrize("dims", [1, 2, 3])
def test_constant(dims, rng):
    for shape in SHAPES[dims]:
        for pad in [*PADS[dims], (-1, 2) * dims]:
            compare(lambda nn: getattr(nn, f"ConstantPad{dims}d")(pad, 3.5), rng.normal(size=shape))  # noqa: B023


def test_arguments_are_checked():
    with pytest.raises(ValueError, match="must be an int or 4 of them"):
        nn.ZeroPad2d((1, 2))
    with pytest.raises(ValueError, match="at most 2 elements on a side of dimension 1"):
        nn.ReflectionPad1d(3)(genesis.ones(1, 3))
    with pytest.raises(ValueError, match="takes 2, 4 or 6 paddings"):
        nn.ReplicationPad2d(1)(genesis.ones(2, 2))


def test_integers_and_empty_tensors_are_padded():
    assert nn.functional.pad(genesis.ones(2, dtype=genesis.int64), (1, 0), value=7).tolist() == [
        7,
        1,
        1,
    ]
    assert nn.ReflectionPad1d(1)(genesis.ones(0, 2, 3)).shape == (0, 2, 5)
    assert nn.ConstantPad1d(1, 2.0)(genesis.ones(2, 0)).tolist() == [[2, 2], [2, 2]]
