"""Defects that are known and not fixed yet: reported, but no failure. Best empty."""

from __future__ import annotations

import re

from tests.fuzz.finding import Finding

# target, kind, where and text, each a regular expression; and what it is
KNOWN: list[tuple[str, str, str, str, str]] = [
    ("calls", "hang", r"mvlgamma|tri[lu]_indices|conv_transpose|interpolate|upsample|vander|combinations|tensor_split", "", "the size of the result is checked too late"),
    ("calls", "crash", r"conv|pool|unfold|fold", "SIG(SEGV|FPE|ABRT)", "sizes near 2**63 overflow"),
    ("calls", "crash", "", "bad_alloc", "std::bad_alloc in a function that may not throw"),
    ("calls", "internal message", "", "bad_alloc|max_size", "std::bad_alloc without words"),
    ("calls", "changed, then raised", "", "became", "an empty out= is resized before the dtype is checked"),
    ("calls", "error of the fuzzer", "array is too big", "", "more elements than can be counted"),
    ("programs", "raises", "^backward$", "saved for its gradient was changed in place", "more is saved than is needed"),
    ("programs", "raises", "False", "", "x[False] = v counts as a write"),
    ("programs", "raises", "einsum", "have dtypes", "einsum of mixed dtypes"),
    ("programs", "raises", "", "share one memory location", "writes to overlapping memory"),
    ("programs", "raises", "", "does not require grad|was not used|no attribute 'mul_'", "views taken before their base required grad"),
    ("programs", "requires_grad|gradient|gradient None", "", "", "views taken before their base required grad"),
    ("files", "other error", "load_state_dict", "has no attribute", "a state of the wrong structure"),
    ("files", "other error", "TypeError", "unhashable", "a list where a name should be"),
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
