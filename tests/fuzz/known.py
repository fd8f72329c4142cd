"""Defects that are known and not fixed yet: reported, but no failure. Best empty."""

from __future__ import annotations

import re

from tests.fuzz.finding import Finding

# target, kind, where and text, each a regular expression; and what it is
KNOWN: list[tuple[str, str, str, str, str]] = [
    ("modules", "training differs", "^(Rprop|Adamax|Adagrad|RMSprop|Adam|AdamW|NAdam|RAdam|Adadelta) ", "", "steps whose size does not depend on the gradient follow the sign of one that is zero but for rounding"),
    ("programs", "raises", "backward|autograd.grad", "was changed in place by '(unsqueeze|squeeze|transpose|t|swapaxes|swapdims|as_strided)_'", "a saved tensor whose shape is changed in place counts as written"),
    ("programs", "raises", "backward|autograd.grad", "'matmul' saved for its gradient was changed in place", "tensordot saves its operands themselves, PyTorch's a copy where dimensions have size 1"),
]  # fmt: skip


def known(finding: Finding) -> str:
    for target, kind, where, text, reason in KNOWN:
        if (
            re.fullmatch(target, finding.target)
            and re.fullmatch(kind, finding.kind)
            and re.search(where, finding.where)
            and re.search(text, finding.text)
        ):
            return reason
    return ""
