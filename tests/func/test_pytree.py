"""Trees are put together as they were taken apart."""

from collections import OrderedDict, namedtuple

import genesis
import pytest
from genesis._pytree import tree_flatten, tree_leaves, tree_map, tree_paths, tree_unflatten

Pair = namedtuple("Pair", "left right")


@pytest.mark.parametrize(
    "tree",
    [1, None, (), [], {}, (1,), [1, [2, ()]], {"b": 1, "a": {"c": (2, 3)}}, Pair(1, [Pair(2, 3)]), OrderedDict(z=1, a=2)],
)  # fmt: skip
def test_round_trip(tree):
    leaves, spec = tree_flatten(tree)
    again = tree_unflatten(leaves, spec)
    assert again == tree
    assert type(again) is type(tree)
    assert spec.num_leaves == len(leaves) == len(tree_paths(spec))
    assert tree_flatten(again)[1] == spec


def test_named_results_stay_named():
    result = genesis.tensor([[1.0, 2.0]]).max(dim=1)
    again = tree_map(lambda t: t * 2, result)
    assert type(again) is type(result)
    assert again.values.item() == 4


def test_map_of_several_and_errors():
    assert tree_map(lambda a, b: a + b, [1, (2,)], [10, (20,)]) == [11, (22,)]
    assert tree_leaves({"a": [1, None]}) == [1, None]
    with pytest.raises(ValueError, match="different shapes"):
        tree_map(lambda a, b: a, [1], (1,))
    with pytest.raises(ValueError, match="2 leaves"):
        tree_unflatten([1, 2], tree_flatten([1])[1])
    assert repr(tree_flatten({"a": (1, [2])})[1]) == "{'a': (*, [*])}"
