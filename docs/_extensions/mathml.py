"""Formulas as MathML, which browsers draw themselves: pages need no script from elsewhere."""

from __future__ import annotations

import re
from typing import Any

from docutils import nodes
from docutils.utils.math.latex2mathml import tex2mathml


def setup(app: Any) -> dict[str, bool]:
    app.add_html_math_renderer("mathml", (inline, None), (block, None))
    return {"parallel_read_safe": True}


def mathml(formula: str, as_block: bool = False) -> str:
    """docutils takes what is in \\text as it stands, an escaped underscore too."""
    plain = re.sub(r"\\text\{[^{}]*\}", lambda text: text[0].replace(r"\_", "_"), formula)
    return str(tex2mathml(plain, as_block))


def inline(translator: Any, node: nodes.math) -> None:
    translator.body.append(mathml(node.astext()))
    raise nodes.SkipNode


def block(translator: Any, node: nodes.math_block) -> None:
    formula = mathml(node.astext(), as_block=True)
    translator.body.append(f'<div class="math">{formula}</div>\n')
    raise nodes.SkipNode
