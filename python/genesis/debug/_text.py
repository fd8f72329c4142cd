"""A graph as plain text, as DOT for Graphviz, and as Mermaid for Markdown."""

from __future__ import annotations

from genesis.debug._model import Model
from genesis.debug._svg import COLOURS, details, root_of, title
from genesis.debug._trace import dtype_name, shape_text
from genesis.profiler._averages import align, bytes_text


def plain(model: Model) -> str:
    """One line for each vertex, sources first."""
    modules = any(v.module for v in model.vertices.values())
    places = any(v.place for v in model.vertices.values())
    number = {key: i for i, key in enumerate(model.vertices)}
    sources = model.sources()
    rows = [["#", "operation", "output", "dtype", "from", "saved"]]
    rows[0] += ["module"] * modules + ["line"] * places
    for key, v in model.vertices.items():
        kept = "freed" if v.released else bytes_text(v.saved_bytes) if v.saved else ""
        row = [f"#{number[key]}", v.label, shape_text(v.shape), dtype_name(v.dtype)]
        row += [" ".join(f"#{number[s]}" for s in sources[key]), kept]
        rows.append(row + [v.module or ""] * modules + [v.place or ""] * places)
    return "\n".join(align(rows, left=len(rows[0])))


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'


def dot(model: Model, name: str) -> str:
    """The language of Graphviz."""
    root = root_of(model)
    number = {key: i for i, key in enumerate(model.vertices)}
    lines = [
        "digraph genesis {",
        f"  label={_quoted(name)};",
        '  graph [rankdir=TB, bgcolor="transparent", fontname="Helvetica"];',
        '  node [shape=box, style="filled,rounded", fontname="Helvetica", fontsize=11];',
        '  edge [fontname="Helvetica", fontsize=9, color="#7b8694", fontcolor="#7b8694"];',
    ]
    for key, v in model.vertices.items():
        fill, border = COLOURS[v.kind]
        label = _quoted("\n".join([title(v, root), *details(v, root)]))
        lines.append(f'  n{number[key]} [label={label}, fillcolor="{fill}", color="{border}"];')
    for link in model.links:
        ends = f"n{number[link.source]} -> n{number[link.target]}"
        lines.append(f"  {ends} [label={_quoted(shape_text(link.shape))}];")
    return "\n".join([*lines, "}"])


def _entities(text: str) -> str:
    for char, name in (("#", "#35;"), ('"', "#quot;"), ("<", "#lt;"), (">", "#gt;")):
        text = text.replace(char, name)
    return text


def mermaid(model: Model) -> str:
    """The language that GitHub and others draw in Markdown."""
    root = root_of(model)
    number = {key: i for i, key in enumerate(model.vertices)}
    lines = ["flowchart TD"]
    for key, v in model.vertices.items():
        label = "<br/>".join(map(_entities, [title(v, root), *details(v, root)]))
        opening, closing = ("([", "])") if v.kind in ("leaf", "parameter", "output") else ("[", "]")
        lines.append(f'  n{number[key]}{opening}"{label}"{closing}:::{v.kind}')
    for link in model.links:
        text = _entities(shape_text(link.shape))
        lines.append(f'  n{number[link.source]} -->|"{text}"| n{number[link.target]}')
    for kind in {v.kind: None for v in model.vertices.values()}:
        fill, border = COLOURS[kind]
        lines.append(f"  classDef {kind} fill:{fill},stroke:{border},color:#1f2328")
    return "\n".join(lines)
