"""The page of ``debug.steps``: the graph, and a panel for each step; plain HTML, CSS and a few
lines of script."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from genesis import _notebook
from genesis._C import Tensor
from genesis.debug._model import Model
from genesis.debug._svg import svg

if TYPE_CHECKING:
    from genesis.debug._steps import Step

LARGEST = 120  # vertices of a graph that is drawn

_CSS = """
:root{color-scheme:light dark;--paper:#fff;--ink:#1c2430;--soft:#5a6472;--edge:#d8dce2;
--now:#e0592a}
@media (prefers-color-scheme:dark){:root{--paper:#12161c;--ink:#e6eaf0;--soft:#9aa5b4;
--edge:#343b46;--now:#ff9668}}
body{margin:0;padding:12px;background:var(--paper);color:var(--ink);
font:15px/1.45 system-ui,sans-serif}
header{position:sticky;top:0;background:var(--paper);display:flex;gap:10px;align-items:center;
padding:6px 0 10px;flex-wrap:wrap;z-index:1}
button{font:inherit;padding:5px 14px;border:1px solid var(--edge);border-radius:8px;
background:transparent;color:inherit;cursor:pointer}
button:disabled{opacity:.4;cursor:default}
main{display:grid;gap:18px;grid-template-columns:minmax(0,1fr) minmax(0,1fr)}
@media (max-width:760px){main{grid-template-columns:minmax(0,1fr)}}
main.alone{grid-template-columns:minmax(0,1fr)}
.graph{overflow:auto;max-height:85vh}
.graph svg{max-width:100%;height:auto;display:block;margin:auto}
.vertex{opacity:.35}.vertex.done{opacity:1}.vertex.now rect{stroke:var(--now);stroke-width:3.5}
h2{font-size:1.05rem;margin:0 0 8px}h3{font-size:.85rem;color:var(--soft);margin:14px 0 4px}
table{border-collapse:collapse;font:13px ui-monospace,monospace}
td{border:1px solid var(--edge);padding:2px 7px}pre{margin:0;font:13px ui-monospace,monospace}
.panel{overflow-x:auto}.soft{color:var(--soft)}
"""

_SCRIPT = """
const panels=[...document.querySelectorAll('.panel')];
const boxes=[...document.querySelectorAll('.vertex')];
const back=document.getElementById('back'),next=document.getElementById('next');
const keys=JSON.parse(document.getElementById('keys').textContent);let at=0;
function show(i){at=Math.max(0,Math.min(panels.length-1,i));
panels.forEach((p,k)=>p.hidden=k!==at);
document.getElementById('count').textContent='step '+(at+1)+' of '+panels.length;
back.disabled=at===0;next.disabled=at===panels.length-1;
const done=new Set(keys.slice(0,at+1).flat());
boxes.forEach(b=>{const k=Number(b.dataset.key);b.classList.toggle('done',done.has(k));
b.classList.toggle('now',k===keys[at][0])});
const now=document.querySelector('.vertex.now');if(now)now.scrollIntoView({block:'nearest'});}
back.onclick=()=>show(at-1);next.onclick=()=>show(at+1);
addEventListener('keydown',e=>{if(e.key==='ArrowRight')show(at+1);if(e.key==='ArrowLeft')show(at-1)});
show(0);
"""


def page(steps: Sequence[Step], model: Model, keys: Sequence[int]) -> str:
    """The page as text."""
    drawn = svg(model, "backward") if len(model.vertices) <= LARGEST else ""
    # The vertices that have their gradient after each step: the node, and the leaves below it.
    leaves = {v.label: v.key for v in model.vertices.values() if v.kind in ("leaf", "parameter")}
    outputs = [v.key for v in model.vertices.values() if v.kind == "output"]
    done = [
        [key, *outputs, *(leaves[t] for t in step.targets if t in leaves)]
        for step, key in zip(steps, keys, strict=True)
    ]
    graph = f'<div class="graph">{drawn}</div>' if drawn else ""
    return f"""<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Steps of backward</title><style>{_CSS}</style></head><body>
<header><button id="back">&#8592; back</button><button id="next">forward &#8594;</button>
<span id="count" class="soft"></span></header>
<main{"" if drawn else ' class="alone"'}>{graph}<div>{"".join(map(_panel, steps))}</div></main>
<script type="application/json" id="keys">{done}</script><script>{_SCRIPT}</script>
</body></html>
"""


def _panel(step: Step) -> str:
    parts = [f"<h2>{step.index}. {escape(step.label)}</h2>"]
    if step.place:
        parts.append(f'<div class="soft">{escape(step.place)}</div>')
    for i, grad in enumerate(step.incoming):
        which = f" {i}" if len(step.incoming) > 1 else ""
        parts.append(_value(f"gradient of its result{which}", grad))
    for name, value in step.values.items():
        parts.append(_value(f"{name} of the forward pass", value))
    for target, grad in zip(step.targets, step.outgoing, strict=True):
        parts.append(_value(f"passes on to {target}", grad))
    for name, value in step.so_far.items():
        parts.append(_value(f"{name}.grad so far", value))
    return f'<div class="panel">{"".join(parts)}</div>'


def _value(title: str, value: Tensor | None) -> str:
    shown = "<div>none</div>" if value is None else _notebook.tensor_html(value.detach())
    return f"<h3>{escape(title)}</h3>{shown}"
