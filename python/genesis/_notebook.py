"""What notebooks show in place of a repr: small pieces of HTML, escaped, without scripts or styles.

Imported at the first request of a notebook.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any

from genesis import _printing

if TYPE_CHECKING:
    from genesis._C import Tensor

_MOST = 12  # longer dimensions are cut to their ends
_CHILDREN = 40  # of a module; of more, the first and the last are shown
_OPEN = 2  # levels of a module that are unfolded at first
_SOFT = 'style="opacity:0.65"'


def table_html(rows: Sequence[Sequence[str]], left: int = 0, head: bool = True) -> str:
    """Rows of text as a table; the first may be titles, ``left`` columns are flush left.

    >>> table_html([["a<b"]])
    '<table><tr><th style="text-align:right">a&lt;b</th></tr></table>'
    """
    lines = []
    for i, row in enumerate(rows):
        tag = "th" if head and i == 0 else "td"
        cells = "".join(
            f'<{tag} style="text-align:{"left" if j < left else "right"}">{escape(cell)}</{tag}>'
            for j, cell in enumerate(row)
        )
        lines.append(f"<tr>{cells}</tr>")
    return f"<table>{''.join(lines)}</table>"


def tensor_html(t: Tensor) -> str:
    """A table of a vector or a matrix, the text of anything else; and what kind of tensor it is.

    >>> tensor_html(genesis.ones(2, 3)).count("<td")
    6
    """
    dtype = str(t.dtype).rpartition(".")[2]
    facts = [type(t).__name__, f"shape {tuple(t.shape)}", dtype]
    if t.grad_fn is not None:
        facts.append(f"grad_fn {t.grad_fn.name()}")
    elif t.requires_grad:
        facts.append("requires grad")
    line = f"<div {_SOFT}>{escape(' · '.join(facts))}</div>"
    if t.ndim not in (1, 2) or t.numel() == 0:
        return f"<div><pre>{escape(_printing.tensor_str(t.detach()))}</pre>{line}</div>"
    half = dtype in ("float16", "bfloat16")
    values = _printing._shown(t.detach(), 0, half, max(t.shape) > _MOST)
    style = _printing.style_of(t, values)

    def cells(row: Any) -> list[str]:
        return ["…" if v is ... else style.text(v).strip() for v in row]

    if t.ndim == 1:
        rows = [cells(values)]
    else:
        width = next(len(row) for row in values if row is not ...)
        rows = [["⋮"] * width if row is ... else cells(row) for row in values]
    return f"<div>{table_html(rows, head=False)}{line}</div>"


def module_html(module: Any) -> str:
    """The tree of a module, to unfold, with the number of parameters of each branch.

    >>> "Linear(in_features=2" in module_html(genesis.nn.Linear(2, 3))
    True
    """
    return f"<div>{_branch('', module, 0)}</div>"


def _branch(name: str, module: Any, depth: int) -> str:
    label = f"({name}): " if name else ""
    if module is None:
        return f"<div>{escape(label)}None</div>"
    own = sum(p.numel() for p in module.parameters())
    fixed = own - sum(p.numel() for p in module.parameters() if p.requires_grad)
    count = f"{own:,} parameter{'' if own == 1 else 's'}" if own else ""
    if fixed:
        count += f", {fixed:,} frozen"
    text = escape(f"{label}{module._get_name()}({module.extra_repr()})")
    title = text + (f" <span {_SOFT}>{count}</span>" if count else "")
    children = list(module._modules.items())
    if not children:
        return f"<div>{title}</div>"
    shown = [_branch(n, m, depth + 1) for n, m in children[:_CHILDREN]]
    if len(children) > _CHILDREN:
        name, module = children[-1]
        last = _branch(name, module, depth + 1)
        shown[-1:] = [f"<div {_SOFT}>… {len(children) - _CHILDREN} more</div>", last]
    unfolded = " open" if depth < _OPEN else ""
    inside = f'<div style="margin-left:1.5em">{"".join(shown)}</div>'
    return f"<details{unfolded}><summary>{title}</summary>{inside}</details>"
