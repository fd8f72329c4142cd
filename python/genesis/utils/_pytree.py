"""Nested containers of values, as PyTorch's ``torch.utils._pytree`` has them.

A container is a type with a registered way to take it apart and to put it together: tuples, lists,
dicts, named tuples, OrderedDict, defaultdict and deque, and what ``register_pytree_node`` adds.
Everything else is a leaf.
"""

from __future__ import annotations

import functools
from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

__all__ = [
    "GetAttrKey",
    "KeyEntry",
    "LeafSpec",
    "MappingKey",
    "PyTree",
    "SequenceKey",
    "TreeSpec",
    "keystr",
    "register_constant",
    "register_dataclass",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
    "treespec_dumps",
    "treespec_pprint",
]

PyTree = Any
Context = Any
T = TypeVar("T")
FlattenFunc = Callable[[Any], tuple[Iterable[Any], Any]]
UnflattenFunc = Callable[[Iterable[Any], Any], Any]


@dataclass(frozen=True)
class SequenceKey:
    """A place in a sequence."""

    idx: int

    def __str__(self) -> str:
        return f"[{self.idx!r}]"

    def get(self, sequence: Any) -> Any:
        return sequence[self.idx]


@dataclass(frozen=True)
class MappingKey:
    """A place in a mapping."""

    key: Any

    def __str__(self) -> str:
        return f"[{self.key!r}]"

    def get(self, mapping: Any) -> Any:
        return mapping[self.key]


@dataclass(frozen=True)
class GetAttrKey:
    """An attribute."""

    name: str

    def __str__(self) -> str:
        return f".{self.name}"

    def get(self, obj: Any) -> Any:
        return getattr(obj, self.name)


KeyEntry = SequenceKey | MappingKey | GetAttrKey


class NodeDef(NamedTuple):
    """How a type of container is flattened and unflattened."""

    type: type[Any]
    flatten_fn: FlattenFunc
    unflatten_fn: UnflattenFunc
    flatten_with_keys_fn: Callable[[Any], tuple[list[tuple[Any, Any]], Any]] | None


SUPPORTED_NODES: dict[type[Any], NodeDef] = {}
SERIALIZED_TYPES: dict[type[Any], str] = {}
BUILTIN_TYPES = frozenset({tuple, list, dict, namedtuple, OrderedDict, defaultdict, deque})


def register_pytree_node(
    cls: type[Any],
    flatten_fn: FlattenFunc,
    unflatten_fn: UnflattenFunc,
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
    namespace: str | None = None,
) -> None:
    """Make a class a container.

    ``flatten_fn(x)`` returns its children and a context, ``unflatten_fn(children, context)`` the
    object again. ``flatten_with_keys_fn`` returns pairs of key and child in place of the children.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"register_pytree_node: {cls} is registered already")
    SUPPORTED_NODES[cls] = NodeDef(cls, flatten_fn, unflatten_fn, flatten_with_keys_fn)
    if serialized_type_name is not None:
        SERIALIZED_TYPES[cls] = serialized_type_name


_register_pytree_node = _private_register_pytree_node = register_pytree_node


def _deregister_pytree_node(cls: type[Any]) -> None:
    SUPPORTED_NODES.pop(cls, None)
    SERIALIZED_TYPES.pop(cls, None)


def register_constant(cls: type[Any]) -> None:
    """Make the objects of a class containers of nothing, which are compared by value."""
    register_pytree_node(cls, lambda x: ((), x), lambda _, x: x)


def register_dataclass(
    cls: type[Any],
    *,
    field_names: list[str] | None = None,
    drop_field_names: list[str] | None = None,
    serialized_type_name: str | None = None,
) -> None:
    """Make a dataclass a container of its fields."""
    import dataclasses

    dropped = drop_field_names or []
    names = field_names or [f.name for f in dataclasses.fields(cls) if f.name not in dropped]

    def flatten(x: Any) -> tuple[list[Any], Any]:
        return [getattr(x, name) for name in names], names

    register_pytree_node(
        cls,
        flatten,
        lambda children, context: cls(**dict(zip(context, children, strict=True))),
        serialized_type_name=serialized_type_name,
        flatten_with_keys_fn=lambda x: ([(GetAttrKey(n), getattr(x, n)) for n in names], names),
    )


def _indexed(x: Iterable[Any]) -> list[tuple[Any, Any]]:
    return [(SequenceKey(i), item) for i, item in enumerate(x)]


def _keyed(x: Mapping[Any, Any]) -> list[tuple[Any, Any]]:
    return [(MappingKey(k), v) for k, v in x.items()]


def _dict_of(kind: Any, children: Iterable[Any], keys: Any) -> Any:
    return kind(zip(keys, children, strict=True))


register_pytree_node(
    tuple, lambda x: (list(x), None), lambda c, _: tuple(c),
    flatten_with_keys_fn=lambda x: (_indexed(x), None),
)  # fmt: skip
register_pytree_node(
    list, lambda x: (x, None), lambda c, _: list(c),
    flatten_with_keys_fn=lambda x: (_indexed(x), None),
)  # fmt: skip
register_pytree_node(
    dict, lambda x: (list(x.values()), list(x)), functools.partial(_dict_of, dict),
    flatten_with_keys_fn=lambda x: (_keyed(x), list(x)),
)  # fmt: skip
register_pytree_node(
    OrderedDict, lambda x: (list(x.values()), list(x)), functools.partial(_dict_of, OrderedDict),
    flatten_with_keys_fn=lambda x: (_keyed(x), list(x)),
)  # fmt: skip
register_pytree_node(
    defaultdict,
    lambda x: (list(x.values()), (x.default_factory, list(x))),
    lambda c, context: defaultdict(context[0], zip(context[1], c, strict=True)),
    flatten_with_keys_fn=lambda x: (_keyed(x), (x.default_factory, list(x))),
)
register_pytree_node(
    deque, lambda x: (list(x), x.maxlen), lambda c, maxlen: deque(c, maxlen=maxlen),
    flatten_with_keys_fn=lambda x: (_indexed(x), x.maxlen),
)  # fmt: skip
# Named tuples, whatever their class: found by `_node_type`; the context is the class.
register_pytree_node(
    namedtuple,  # type: ignore[arg-type]
    lambda x: (list(x), type(x)),
    lambda c, cls: cls._make(c),
    flatten_with_keys_fn=lambda x: (
        [(GetAttrKey(name), getattr(x, name)) for name in x._fields], type(x),
    ),
)  # fmt: skip


def _plain(kind: type[Any]) -> tuple[FlattenFunc, UnflattenFunc]:
    return SUPPORTED_NODES[kind].flatten_fn, SUPPORTED_NODES[kind].unflatten_fn


# Under PyTorch's names, for packages whose containers are like these.
_tuple_flatten, _tuple_unflatten = _plain(tuple)
_list_flatten, _list_unflatten = _plain(list)
_dict_flatten, _dict_unflatten = _plain(dict)
_odict_flatten, _odict_unflatten = _plain(OrderedDict)
_tuple_flatten_with_keys = SUPPORTED_NODES[tuple].flatten_with_keys_fn
_list_flatten_with_keys = SUPPORTED_NODES[list].flatten_with_keys_fn
_dict_flatten_with_keys = SUPPORTED_NODES[dict].flatten_with_keys_fn
_ordereddict_flatten_with_keys = SUPPORTED_NODES[OrderedDict].flatten_with_keys_fn
_namedtuple_flatten_with_keys = SUPPORTED_NODES[namedtuple].flatten_with_keys_fn  # type: ignore[index]
_ordereddict_flatten, _ordereddict_unflatten = _odict_flatten, _odict_unflatten
_namedtuple_flatten, _namedtuple_unflatten = _plain(namedtuple)  # type: ignore[arg-type]


def is_namedtuple(obj: Any) -> bool:
    """Whether this is a named tuple, or the class of one."""
    return is_namedtuple_class(obj if isinstance(obj, type) else type(obj))


def is_namedtuple_class(cls: type) -> bool:
    """Whether this is a class of named tuples."""
    return issubclass(cls, tuple) and isinstance(getattr(cls, "_fields", None), tuple)


def is_structseq_class(cls: type) -> bool:
    """Whether this is the class of a result with names, such as that of ``max(dim=)``."""
    return issubclass(cls, tuple) and hasattr(cls, "n_sequence_fields")


def is_structseq(obj: Any) -> bool:
    """Whether this is a result with names, or the class of one."""
    return is_structseq_class(obj if isinstance(obj, type) else type(obj))


def _node_type(tree: Any) -> Any:
    kind = type(tree)
    if kind in SUPPORTED_NODES:
        return kind
    if is_namedtuple_class(kind):
        return namedtuple
    return kind


_get_node_type = _node_type


def tree_is_leaf(tree: Any, is_leaf: Callable[[Any], bool] | None = None) -> bool:
    """Whether this is a leaf: not a container, or one for which ``is_leaf`` is true."""
    return (is_leaf is not None and is_leaf(tree)) or _node_type(tree) not in SUPPORTED_NODES


_is_leaf = tree_is_leaf


@dataclass(frozen=True)
class TreeSpec:
    """The shape of a tree: the type of the container, its context and the specs of its children."""

    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_nodes: int = field(init=False)
    num_leaves: int = field(init=False)
    num_children: int = field(init=False)

    def __post_init__(self) -> None:
        children = self.children_specs
        put = functools.partial(object.__setattr__, self)
        put("num_nodes", 1 + sum(child.num_nodes for child in children))
        put("num_leaves", 1 if self.type is None else sum(c.num_leaves for c in children))
        put("num_children", 0 if self.type is None else len(children))

    def is_leaf(self) -> bool:
        """Whether this is the spec of one leaf."""
        return self.type is None

    def children(self) -> list[TreeSpec]:
        """The specs of the children."""
        return list(self.children_specs)

    def child(self, index: int) -> TreeSpec:
        """The spec of one child."""
        return self.children_specs[index]

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves."""
        leaves = list(leaves)
        if len(leaves) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten: expected {self.num_leaves} leaves, got {len(leaves)}"
            )
        return self._build(iter(leaves))

    def _build(self, leaves: Iterator[Any]) -> Any:
        if self.type is None:
            return next(leaves)
        children = [child._build(leaves) for child in self.children_specs]
        return SUPPORTED_NODES[self.type].unflatten_fn(children, self.context)

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The subtrees of ``tree`` at the places of this spec's leaves."""
        found: list[Any] = []
        self._collect(tree, found)
        return found

    def _collect(self, tree: Any, found: list[Any]) -> None:
        if self.type is None:
            found.append(tree)
            return
        kind = _node_type(tree)
        both_dicts = self.type in _DICTS and kind in _DICTS
        if kind is not self.type and not both_dicts:
            raise ValueError(f"expected a node of type {self.type}, got {type(tree)}")
        children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
        children = list(children)
        if len(children) != len(self.children_specs):
            raise ValueError(f"expected {len(self.children_specs)} children, got {len(children)}")
        if both_dicts:
            keys = self.context[1] if self.type is defaultdict else self.context
            if set(keys) != set(tree):
                raise ValueError(f"expected the keys {list(keys)}, got {list(tree)}")
            children = [tree[key] for key in keys]
        elif context != self.context:
            raise ValueError(f"expected {self.type} with {self.context}, got {context}")
        for spec, child in zip(self.children_specs, children, strict=True):
            spec._collect(child, found)

    def __repr__(self) -> str:
        if self.type is None:
            return "*"
        inside = ", ".join(map(repr, self.children_specs))
        return f"TreeSpec({self.type.__name__}, {self.context}, [{inside}])"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TreeSpec):
            return NotImplemented
        return (
            self.type is other.type
            and self.context == other.context
            and self.children_specs == other.children_specs
        )

    def __hash__(self) -> int:
        context = self.context
        plain = tuple(context) if isinstance(context, list) else None
        return hash((self.type, plain, tuple(self.children_specs)))


_DICTS = (dict, OrderedDict, defaultdict)


class LeafSpec(TreeSpec):
    """The spec of one leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])


_LEAF = TreeSpec(None, None, [])


def treespec_leaf() -> TreeSpec:
    """The spec of one leaf."""
    return _LEAF


def treespec_tuple(iterable: Iterable[TreeSpec] = ()) -> TreeSpec:
    """The spec of a tuple of trees."""
    return TreeSpec(tuple, None, list(iterable))


Leaf = Callable[[Any], bool] | None


def _flatten(tree: Any, leaves: list[Any], is_leaf: Leaf) -> TreeSpec:
    kind = _node_type(tree)
    if kind not in SUPPORTED_NODES or (is_leaf is not None and is_leaf(tree)):
        leaves.append(tree)
        return _LEAF
    children, context = SUPPORTED_NODES[kind].flatten_fn(tree)
    return TreeSpec(kind, context, [_flatten(child, leaves, is_leaf) for child in children])


def tree_flatten(tree: Any, is_leaf: Leaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves of a tree, in order, and its spec.

    >>> from genesis.utils._pytree import tree_flatten, tree_unflatten
    >>> leaves, spec = tree_flatten({"a": 1, "b": [2, 3]})
    >>> leaves
    [1, 2, 3]
    >>> tree_unflatten([x * 10 for x in leaves], spec)
    {'a': 10, 'b': [20, 30]}
    """
    leaves: list[Any] = []
    return leaves, _flatten(tree, leaves, is_leaf)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> Any:
    """The tree of this spec with these leaves."""
    if not isinstance(treespec, TreeSpec):
        raise TypeError(f"tree_unflatten: expected a TreeSpec, got {type(treespec).__name__}")
    return treespec.unflatten(leaves)


def tree_iter(tree: Any, is_leaf: Leaf = None) -> Iterator[Any]:
    """The leaves of a tree, one by one."""
    yield from tree_flatten(tree, is_leaf)[0]


def tree_leaves(tree: Any, is_leaf: Leaf = None) -> list[Any]:
    """The leaves of a tree, in order."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: Any, is_leaf: Leaf = None) -> TreeSpec:
    """The spec of a tree."""
    return tree_flatten(tree, is_leaf)[1]


def tree_map(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Leaf = None) -> Any:
    """``func`` of each leaf, together with what is at its place in ``rests``.

    >>> from genesis.utils._pytree import tree_map
    >>> tree_map(lambda x, y: x + y, {"a": 1, "b": [2]}, {"a": 10, "b": [20]})
    {'a': 11, 'b': [22]}
    """
    leaves, spec = tree_flatten(tree, is_leaf)
    columns = [leaves, *(spec.flatten_up_to(rest) for rest in rests)]
    return spec.unflatten(map(func, *columns))


def tree_map_(func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Leaf = None) -> Any:
    """Call ``func`` with each leaf and return the tree unchanged."""
    leaves, spec = tree_flatten(tree, is_leaf)
    deque(map(func, leaves, *(spec.flatten_up_to(rest) for rest in rests)), maxlen=0)
    return tree


def _chosen(types: Any) -> Callable[[Any], bool]:
    if isinstance(types, (type, tuple)) or hasattr(types, "__args__"):
        return lambda x: isinstance(x, types)
    if callable(types):
        return lambda x: bool(types(x))
    raise TypeError(f"expected a type, a tuple of types or a function, got {types!r}")


def map_only(types: Any, /) -> Callable[[Callable[[Any], Any]], Callable[[Any], Any]]:
    """A decorator: the function is called for values of these types, others stay."""
    chosen = _chosen(types)

    def decorate(func: Callable[[Any], Any]) -> Callable[[Any], Any]:
        return lambda x: func(x) if chosen(x) else x

    return decorate


def tree_map_only(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Leaf = None) -> Any:
    """``func`` of each leaf of these types; other leaves stay.

    >>> from genesis.utils._pytree import tree_map_only
    >>> tree_map_only(int, lambda x: x + 1, [1, "a"])
    [2, 'a']
    """
    return tree_map(map_only(types)(func), tree, is_leaf=is_leaf)


def tree_map_only_(types: Any, func: Callable[[Any], Any], tree: Any, is_leaf: Leaf = None) -> Any:
    """Call ``func`` with each leaf of these types and return the tree unchanged."""
    return tree_map_(map_only(types)(func), tree, is_leaf=is_leaf)


def tree_all(pred: Callable[[Any], bool], tree: Any, is_leaf: Leaf = None) -> bool:
    """Whether ``pred`` holds for all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: Any, is_leaf: Leaf = None) -> bool:
    """Whether ``pred`` holds for some leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(types: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Leaf = None) -> bool:
    """Whether ``pred`` holds for all leaves of these types."""
    chosen = _chosen(types)
    return all(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


def tree_any_only(types: Any, pred: Callable[[Any], bool], tree: Any, is_leaf: Leaf = None) -> bool:
    """Whether ``pred`` holds for some leaf of these types."""
    chosen = _chosen(types)
    return any(pred(x) for x in tree_leaves(tree, is_leaf) if chosen(x))


# ---- with paths ---------------------------------------------------------------------------------


def tree_leaves_with_path(tree: Any, is_leaf: Leaf = None) -> list[tuple[tuple[Any, ...], Any]]:
    """The leaves of a tree, each with the keys that lead to it."""
    found: list[tuple[tuple[Any, ...], Any]] = []
    _with_path((), tree, is_leaf, found)
    return found


def _with_path(path: tuple[Any, ...], tree: Any, is_leaf: Leaf, found: list[Any]) -> None:
    if tree_is_leaf(tree, is_leaf):
        found.append((path, tree))
        return
    node = SUPPORTED_NODES[_node_type(tree)]
    if node.flatten_with_keys_fn is None:
        raise ValueError(f"no flatten_with_keys_fn is registered for {type(tree)}")
    for key, child in node.flatten_with_keys_fn(tree)[0]:
        _with_path((*path, key), child, is_leaf, found)


def tree_flatten_with_path(
    tree: Any, is_leaf: Leaf = None
) -> tuple[list[tuple[tuple[Any, ...], Any]], TreeSpec]:
    """The leaves with their paths, and the spec."""
    return tree_leaves_with_path(tree, is_leaf), tree_structure(tree, is_leaf)


def tree_map_with_path(
    func: Callable[..., Any], tree: Any, *rests: Any, is_leaf: Leaf = None
) -> Any:
    """``func(path, leaf, ...)`` of each leaf."""
    leaves, spec = tree_flatten_with_path(tree, is_leaf)
    columns = [spec.flatten_up_to(rest) for rest in rests]
    return spec.unflatten(
        func(path, leaf, *others) for (path, leaf), *others in zip(leaves, *columns, strict=True)
    )


def keystr(kp: Iterable[Any]) -> str:
    """A path as a text.

    >>> from genesis.utils import _pytree
    >>> _pytree.keystr(_pytree.tree_leaves_with_path({"a": [1]})[0][0])
    "['a'][0]"
    """
    return "".join(map(str, kp))


def key_get(obj: Any, kp: Iterable[Any]) -> Any:
    """What a path leads to."""
    for key in kp:
        obj = key.get(obj)
    return obj


# ---- specs as text ------------------------------------------------------------------------------


def treespec_pprint(treespec: TreeSpec) -> str:
    """A spec in the form of the tree, with ``*`` for leaves."""

    class Star:
        def __repr__(self) -> str:
            return "*"

    return repr(treespec.unflatten(Star() for _ in range(treespec.num_leaves)))


def treespec_dumps(treespec: TreeSpec, protocol: int | None = None) -> str:
    """A spec as JSON; the contexts must be lists, strings or numbers."""
    import json

    def plain(spec: TreeSpec) -> Any:
        if spec.is_leaf():
            return {"type": None, "context": None, "children_spec": []}
        name = SERIALIZED_TYPES.get(spec.type) or f"{spec.type.__module__}.{spec.type.__name__}"
        return {
            "type": name,
            "context": json.dumps(spec.context),
            "children_spec": [plain(child) for child in spec.children_specs],
        }

    return json.dumps([1, plain(treespec)])


def treespec_loads(serialized: str) -> TreeSpec:
    """The spec that ``treespec_dumps`` wrote."""
    import json

    names = {f"{t.__module__}.{t.__name__}": t for t in SUPPORTED_NODES}
    names.update({name: t for t, name in SERIALIZED_TYPES.items()})

    def build(data: Any) -> TreeSpec:
        if data["type"] is None:
            return _LEAF
        if data["type"] not in names:
            raise ValueError(f"treespec_loads: the type {data['type']!r} is not registered")
        children = [build(child) for child in data["children_spec"]]
        return TreeSpec(names[data["type"]], json.loads(data["context"]), children)

    return build(json.loads(serialized)[1])
