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
    ("does not raise", "index_put_", "shape mismatch: value tensor of shape .1, ", ANY, "leading dimensions of size 1 are dropped, as in an assignment"),
    ("does not raise", "detach_", "Can't detach views", ANY, "outside any graph there is nothing to detach from"),
    ("does not raise", "backward", "moved into the graph interior", ANY, "a leaf that was detached and written is in the graph like any tensor"),
    ("gradient", r"\.requires_grad_\(", ANY, ANY, "PyTorch loses the history of views of a view that was made a leaf, when their base is written"),
    ("does not raise", ANY, "detached in-place", ANY, "what was saved is kept"),
    ("does not raise", ANY, "INTERNAL ASSERT", ANY, "an error of PyTorch"),
    ("does not raise", "backward", "does not require grad", ANY, "backward() outside any graph warns"),
    ("does not raise", "^backward$", "can't be cast to the desired output type|(Negation|Subtraction), the `-` operator, (on|with) a bool", ANY, "an integer or bool operand has no gradient here, and PyTorch fails to compute it"),
    ("raises", ANY, "share one memory location", r"\.(unfold|as_strided)\(|expand\(|autograd\.grad\(", "refused where PyTorch's result depends on the order of writes"),
    ("raises", "backward|autograd.grad", "saved for its gradient was changed in place", r"\.data\b", "writes through .data are noticed"),
    ("gradient", ANY, ANY, r"\.data\b", "PyTorch does not notice writes through .data"),
    ("raises", r"\.mT", "at least 2 dimensions", ANY, "deprecated in PyTorch: it returns the tensor as it is"),
    ("raises", "tensordot", "bool has no products", ANY, "PyTorch has such products for some shapes only"),
    ("raises", r"\.retain_grad\(", "does not require grad", r"dtype=L\.(u?int|bool)", "in PyTorch an integer tensor requires grad once such a value was assigned to it"),
    ("raises", ANY, "a leaf tensor that requires grad|a leaf Variable", r"\.unique\(", "the values of unique() require no grad, so requires_grad_() makes a leaf of them"),
    ("requires_grad", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
    ("requires_grad", "autograd.grad.*create_graph", ANY, r"\[.*\] = |\.(fill|zero|copy)_\(", "the gradient of what was overwritten is zero in both"),
    ("requires_grad", ANY, ANY, r"(_pool1d|repeat_interleave|interpolate|autograd\.grad)\((.|\n)*requires_grad_\(", "PyTorch's result is a view there"),
    ("gradient None", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
]  # fmt: skip
TIES = r"\.(quantile|kthvalue|sort|msort|topk|mode|max|min)\("
SIGNED_ZEROS = "copysign|atan2|signbit|reciprocal| / "
# What follows from another order of elements in memory: whether reshape() and its like copy.
LAYOUT = [
    ("shared memory", ANY, ANY),
    ("does not raise", r"\.(view|as_strided)\(", "view size is not compatible"),
    ("raises", r"\.(view|as_strided)\(", ANY),
    ("value", "as_strided", ANY),
    ("dtype or shape", ANY, ANY),
]


def explanation(found: Disagreement, steps: list[str]) -> str:
    if found.rounding:
        return "a function with whole values of values that differ in rounding"
    if found.same_total and any(re.search(TIES, step) for step in steps):
        return "of equal elements, another one has the gradient"
    if found.zero_signs and found.kind == "value" and re.search(SIGNED_ZEROS, found.step):
        return "a zero has the other sign, as PyTorch's own vector and scalar code may give it"
    for kind, step, text in LAYOUT:
        if (
            found.other_strides
            and kind == found.kind
            and re.search(step, found.step)
            and re.search(text, found.text)
        ):
            return "results may have other strides"
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
