"""Large graphs made small: operations of one module, or of one chain, become one vertex."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from genesis.debug._model import Link, Model, Vertex, sort

_FIXED = ("leaf", "parameter", "output")


def _cycles(model: Model, group: dict[int, str]) -> set[str]:
    """The groups that would be on a cycle if each became one vertex."""
    names = [group.get(key, f"\0{key}") for key in model.vertices]
    of = dict(zip(model.vertices, names, strict=True))
    targets: dict[str, set[str]] = {name: set() for name in names}
    waiting = dict.fromkeys(names, 0)
    for link in model.links:
        a, b = of[link.source], of[link.target]
        if a != b and b not in targets[a]:
            targets[a].add(b)
            waiting[b] += 1
    # Peel from both ends: what remains is on a cycle, or between two of them.
    for _ in range(2):
        ready = [name for name, count in waiting.items() if count == 0]
        while ready:
            name = ready.pop()
            del waiting[name]
            for target in targets[name]:
                if target in waiting:
                    waiting[target] -= 1
                    if waiting[target] == 0:
                        ready.append(target)
        back: dict[str, set[str]] = {name: set() for name in waiting}
        for name in waiting:
            for target in targets[name]:
                if target in waiting:
                    back[target].add(name)
        waiting = {name: len(targets[name] & waiting.keys()) for name in waiting}
        targets = back
    return {name for name in waiting if not name.startswith("\0")}


def _take_leaves(model: Model, group: dict[int, str]) -> None:
    """A leaf that only one group uses belongs to it."""
    for key, targets in model.targets().items():
        if model.vertices[key].kind in ("leaf", "parameter") and targets:
            homes = {group.get(target) for target in targets}
            home = homes.pop() if len(homes) == 1 else None
            if home is not None and model.vertices[key].kind == "parameter":
                group[key] = home


def _merge(model: Model, group: dict[int, str]) -> Model:
    """One vertex for each group that has several."""
    members: dict[str, list[Vertex]] = {}
    for key, name in group.items():
        members.setdefault(name, []).append(model.vertices[key])
    members = {
        name: sorted(vs, key=lambda v: v.sequence) for name, vs in members.items() if len(vs) > 1
    }
    into = {v.key: vs[-1].key for vs in members.values() for v in vs}
    vertices: dict[int, Vertex] = {k: v for k, v in model.vertices.items() if k not in into}
    for name, vs in members.items():
        operations = [v for v in vs if v.kind not in _FIXED]
        last = vs[-1]
        chain = name.startswith("\1")
        ops = [op for v in operations for op in (v.ops or [v.label])]
        shared = _shared_module(operations) if chain else name
        vertices[last.key] = Vertex(
            last.key,
            _chain_label(ops, shared) if chain else name,
            "group",
            last.shape,
            last.dtype,
            vs[0].sequence,
            tuple(s for v in operations for s in v.saved),
            any(v.released for v in operations),
            shared if shared else last.module,
            operations[0].place if operations else None,
            ops,
            sum(prod(v.shape or ()) if v.kind == "parameter" else v.parameters for v in vs),
        )
    links: dict[tuple[int, int], Link] = {}
    for link in model.links:
        a, b = into.get(link.source, link.source), into.get(link.target, link.target)
        if a != b:
            links.setdefault((a, b), replace(link, source=a, target=b))
    return sort(Model(vertices, list(links.values())))


def _chain_label(ops: list[str], module: str) -> str:
    chain = " → ".join(ops) if len(ops) <= 3 else f"{ops[0]} → … → {ops[-1]}"
    return f"{module}: {chain}" if module else chain


def _shared_module(vertices: list[Vertex]) -> str:
    """The innermost module that all are in, if it is not the outermost of the model."""
    paths = [v.module.split(".") for v in vertices if v.module]
    if not paths or len(paths) < len(vertices):
        return ""
    first, last = min(paths), max(paths)
    same = 0
    while same < len(first) and first[same] == last[same]:
        same += 1
    return ".".join(first[:same]) if same > 1 else ""


def _adopt(model: Model) -> Model:
    """Operations whose module is not known, as those of ``a, b = x``, are in that of all others
    that they are connected with."""
    sources, targets = model.sources(), model.targets()
    vertices = dict(model.vertices)
    for key, v in model.vertices.items():
        if v.module is None and v.kind not in _FIXED:
            near = {vertices[k].module for k in (*sources[key], *targets[key])
                    if vertices[k].kind not in _FIXED}  # fmt: skip
            if len(near) == 1:
                vertices[key] = replace(v, module=near.pop())
    return Model(vertices, model.links)


def _by_module(model: Model, depth: int) -> Model:
    """Operations whose module has the same first ``depth`` names become one.

    Those of the outermost module itself stay: its name would represent everything.
    """
    group = {
        key: ".".join(v.module.split(".")[:depth])
        for key, v in model.vertices.items()
        if v.module is not None and "." in v.module and v.kind not in _FIXED
    }
    _take_leaves(model, group)
    while bad := _cycles(model, group):
        # What a module computes itself, between calls of others, is what closes most cycles.
        outermost = min(name.count(".") for name in bad)
        bad = {name for name in bad if name.count(".") == outermost}
        group = {key: name for key, name in group.items() if name not in bad}
    return _merge(model, group)


def _by_chain(model: Model) -> Model:
    """Operations that follow one another without a branch become one."""
    sources, targets = model.sources(), model.targets()
    group: dict[int, str] = {}

    def inner(key: int) -> list[int]:
        return [s for s in sources[key] if model.vertices[s].kind not in _FIXED]

    for key, vertex in model.vertices.items():  # sources come first
        if vertex.kind in _FIXED:
            continue
        before = inner(key)
        if len(before) == 1 and len(targets[before[0]]) == 1:
            group[key] = group[before[0]]
        else:
            group[key] = f"\1{key}"
    _take_leaves(model, group)
    while bad := _cycles(model, group):
        group = {key: name for key, name in group.items() if name not in bad}
    return _merge(model, group)


def _by_consumer(model: Model, limit: int) -> Model:
    """What only one other vertex uses joins it, into the smallest boxes first, until few are left.

    No cycle can arise from that.
    """
    while len(model.vertices) > limit:
        inner = {key for key, vertex in model.vertices.items() if vertex.kind not in _FIXED}
        only = {
            key: users[0]
            for key, users in model.targets().items()
            if len(set(users)) == 1 and inner >= {key, *users}
        }
        size = {key: len(model.vertices[key].ops) or 1 for key in model.vertices}
        small = sorted(only, key=lambda key: (size[key] + size[only[key]], key))
        chosen = set(small[: max(1, (len(model.vertices) - limit) // 8)])
        if not chosen:
            break
        group: dict[int, str] = {}
        for key in chosen:
            last = only[key]
            while last in chosen:
                last = only[last]
            group[key] = group[last] = f"\1{last}"
        _take_leaves(model, group)
        model = _merge(model, group)
    return model


def fold(model: Model, limit: int) -> Model:
    """The graph with at most ``limit`` vertices if folding can do that.

    Modules are folded from the innermost outwards, as few levels as it takes; where no modules are
    known, or that is not enough, chains of operations are folded, then whatever has one consumer.
    """
    if len(model.vertices) <= limit:
        return model
    model = _adopt(model)
    deepest = max((v.module.count(".") + 1 for v in model.vertices.values() if v.module), default=0)
    folded = model
    for depth in range(deepest, 1, -1):
        folded = _by_module(model, depth)
        if len(folded.vertices) <= limit:
            return folded
    return _by_consumer(_by_chain(folded), limit)
