"""Nested containers of values: flattened to a list of leaves, and put together again.

Dicts, lists, tuples and named tuples are containers; everything else, None included, is a leaf.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

__all__ = ["TreeSpec", "tree_flatten", "tree_leaves", "tree_map", "tree_paths", "tree_unflatten"]


class TreeSpec:
    """The structure of a tree: its kind of container, the keys of a dict, and its children.

    >>> tree_flatten({"a": 1, "b": (2, 3)})[1]
    {'a': *, 'b': (*, *)}
    """

    __slots__ = ("children", "keys", "kind", "num_leaves")

    def __init__(
        self,
        kind: type[Any] | None,  # None: a leaf
        keys: tuple[Any, ...] = (),
        children: tuple[TreeSpec, ...] = (),
        num_leaves: int = 1,
    ) -> None:
        self.kind = kind
        self.keys = keys
        self.children = children
        self.num_leaves = num_leaves

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.kind is other.kind and self.keys == other.keys and self.children == other.children
        )

    def __hash__(self) -> int:
        return hash((self.kind, self.keys, self.children))

    def __repr__(self) -> str:
        if self.kind is None:
            return "*"
        return repr(_build(self, iter(_Star() for _ in range(self.num_leaves))))


class _Star:
    def __repr__(self) -> str:
        return "*"


_LEAF = TreeSpec(None)


def tree_flatten(tree: Any) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and the shape that puts them together again.

    >>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([x * 10 for x in leaves], spec)
    {'a': 10, 'b': [20, 30]}
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves)


def tree_unflatten(leaves: Iterable[Any], spec: TreeSpec) -> Any:
    """The tree of shape ``spec`` with these leaves.

    >>> tree_unflatten([1, 2], tree_flatten((0, [0]))[1])
    (1, [2])
    """
    if type(leaves) is not list:
        leaves = list(leaves)
    if len(leaves) != spec.num_leaves:
        raise ValueError(
            f"tree_unflatten: {len(leaves)} leaves for {spec}, which has {spec.num_leaves}"
        )
    return _build(spec, iter(leaves))


def tree_leaves(tree: Any) -> list[Any]:
    """The leaves of a tree, in order.

    >>> tree_leaves([1, {"a": 2}])
    [1, 2]
    """
    return tree_flatten(tree)[0]


def tree_map(function: Callable[..., Any], tree: Any, *rest: Any) -> Any:
    """``function`` of each leaf, together with the leaves at its place in ``rest``.

    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree)
    others = []
    for other in rest:
        flat, shape = tree_flatten(other)
        if shape != spec:
            raise ValueError(f"tree_map: the trees have different shapes, {spec} and {shape}")
        others.append(flat)
    return _build(spec, iter([function(*group) for group in zip(leaves, *others, strict=True)]))


def tree_paths(spec: TreeSpec) -> list[str]:
    """How each leaf is reached from the root.

    >>> tree_paths(tree_flatten({"a": 1, "b": [2, 3]})[1])
    ["['a']", "['b'][0]", "['b'][1]"]
    """
    if spec.kind is None:
        return [""]
    keys = spec.keys if issubclass(spec.kind, dict) else range(len(spec.children))
    return [
        f"[{key!r}]{rest}"
        for key, child in zip(keys, spec.children, strict=True)
        for rest in tree_paths(child)
    ]


def _flatten(tree: Any, leaves: list[Any]) -> TreeSpec:
    kind = type(tree)
    if kind is dict or kind is OrderedDict:
        keys, children = tuple(tree), tree.values()
    elif kind is list or isinstance(tree, tuple):
        keys, children = (), tree
    else:
        leaves.append(tree)
        return _LEAF
    before = len(leaves)
    specs = []
    for child in children:
        if isinstance(child, (dict, list, tuple)):
            specs.append(_flatten(child, leaves))
        else:  # without a call: most children are leaves
            leaves.append(child)
            specs.append(_LEAF)
    return TreeSpec(kind, keys, tuple(specs), len(leaves) - before)


def _build(spec: TreeSpec, leaves: Iterator[Any]) -> Any:
    kind = spec.kind
    if kind is None:
        return next(leaves)
    values = [next(leaves) if child is _LEAF else _build(child, leaves) for child in spec.children]
    if kind is list:
        return values
    if kind is tuple:
        return tuple(values)
    if issubclass(kind, dict):
        return kind(zip(spec.keys, values, strict=True))
    if hasattr(kind, "_make"):  # a named tuple takes its fields one by one
        return kind._make(values)
    return kind(values)
