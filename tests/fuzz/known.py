"""Defects that are known and not fixed yet: reported, but no failure. Best empty."""

from __future__ import annotations

import re

from tests.fuzz.finding import Finding

# target, kind, where and text, each a regular expression; and what it is
KNOWN: list[tuple[str, str, str, str, str]] = [
    ("programs", "raises", "^backward$", "saved for its gradient was changed in place", "more is saved than is needed"),
    ("programs", "raises", "", "share one memory location", "writes to overlapping memory"),
    ("programs", "raises", "detach_", "out of the graph of its base", "results of kthvalue and quantile are views"),
    ("programs", "does not raise", "^backward$", "can't be cast to the desired output type", "gradients of integer operands are not computed"),
    ("files", "other error", "load_state_dict", "has no attribute", "a state of the wrong structure"),
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
