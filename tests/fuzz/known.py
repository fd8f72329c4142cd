"""Defects that are known and not fixed yet: reported, but no failure. Best empty."""

from __future__ import annotations

import re

from tests.fuzz.finding import Finding

# target, kind, where and text, each a regular expression; and what it is
KNOWN: list[tuple[str, str, str, str, str]] = []


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
