"""Disagreements with PyTorch that have a reason. Each entry: the kind, regular expressions for the
step, for the text and for the program, and the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.programs import Disagreement

ANY = ""
EXPLAINED: list[tuple[str, str, str, str, str]] = [
    ("does not raise", ANY, "not implemented for '", ANY, "more dtypes are supported"),
    ("does not raise", ANY, r"(did not match|expected dtype|should be the same|same dtype|dtype .* does not match|to have the same dtype|but found|must match)", ANY, "dtypes are promoted"),
    ("does not raise", ANY, "derivative for .* is not implemented", ANY, "not differentiable here, so the result does not require grad; or it is differentiable"),
    ("does not raise", ANY, "has been modified by an inplace operation", ANY, "less is saved for backward, so less can be spoilt"),
    ("does not raise", ANY, "output of a function that returns multiple views", ANY, "views of split, chunk and unbind may be written"),
    ("does not raise", ANY, "refer to a single memory location", ANY, "what overlaps is copied first"),
    ("does not raise", ANY, "single memory location", ANY, "what overlaps is copied first"),
    ("does not raise", "repeat_interleave", "Dimension out of range", ANY, "a 0-d tensor has dimension -1 here too"),
    ("does not raise", ANY, "does not require grad", r"\.(unique|searchsorted)\(", "PyTorch marks results that have no gradient"),
    ("raises", ANY, "does not require grad|was not used", r"\.unique\(", "the values of unique() require no grad"),
    ("does not raise", r"\.roll\(", "has no dimensions", ANY, "a 0-d tensor has dimensions 0 and -1"),
    ("does not raise", ANY, "detached in-place", ANY, "what was saved is kept"),
    ("does not raise", ANY, "INTERNAL ASSERT", ANY, "an error of PyTorch"),
    ("raises", ANY, "share one memory location", r"\.(unfold|as_strided)\(|expand\(", "refused where PyTorch's result depends on the order of writes"),
    ("value", "copysign|atan2|logaddexp", ANY, ANY, "the sign of a zero"),
    ("value", "remainder|fmod", ANY, ANY, "a jump where the quotient is whole"),
    ("value", "as_strided", ANY, ANY, "results may have other strides"),
    ("raises", r"\.mT", "at least 2 dimensions", ANY, "deprecated in PyTorch: it returns the tensor as it is"),
    ("requires_grad", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
    ("gradient None", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
]  # fmt: skip


def explanation(found: Disagreement, steps: list[str]) -> str:
    program = "\n".join(steps)
    for kind, step, text, whole, reason in EXPLAINED:
        if (
            kind == found.kind
            and re.search(step, found.step)
            and re.search(text, found.text)
            and re.search(whole, program)
        ):
            return reason
    return ""
