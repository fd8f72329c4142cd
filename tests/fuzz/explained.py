"""Disagreements with PyTorch that have a reason. Each entry: the kind, regular expressions for the
step, for the text and for the program, and the reason."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.fuzz.programs import Disagreement

ANY = ""
BACKWARD = r"^backward$|\.backward\(|autograd\.grad\("
VIEW_MADE_LEAF = r"(tensordot|avg_pool1d|max_pool1d|repeat_interleave|interpolate|autograd\.grad)\(.*\n(.|\n)*requires_grad_\("
WRITES = r"_\(|\] [-+*/]?= |^\w+ [-+*/]= |\n\w+ [-+*/]= "
RESHAPES = "(unsqueeze|squeeze|transpose|t|swapaxes|swapdims|as_strided)_"
EXPLAINED: list[tuple[str, str, str, str, str]] = [
    ("does not raise", r"abs|hypot|logaddexp|remainder|fmod|atan2|clamp|lerp|isclose|copysign|addc|logit|dist|_loss|norm|prod|@|tensordot|outer|cross_entropy|sign", r"not implemented for '(Bool|Int|Long)'", ANY, "more dtypes are supported"),
    ("does not raise", r"isclose\(", r"\w+ did not match \w+", ANY, "dtypes are promoted"),
    ("does not raise", r"lerp", r"expected dtype [\w ]+ for `(end|weight)`", ANY, "dtypes are promoted"),
    ("does not raise", r" @ |matmul|tensordot|outer|einsum|F\.linear|conv1d", r"expected (m1 and m2|both vectors|scalar type)|should be the same|to have the same dtype", ANY, "dtypes are promoted"),
    ("does not raise", r"index_add_|index_put_|scatter|\] [+*]?= ", r"same dtype|dtypes match|to have the same dtype|expected scalar type", ANY, "dtypes are promoted"),
    ("does not raise", BACKWARD, "derivative for '_unique2' is not implemented", r"\.unique\(", "the values of unique() require no grad"),
    ("does not raise", BACKWARD, "derivative for 'aten::searchsorted' is not implemented", r"searchsorted\(", "positions require no grad"),
    # The gradients of the next four are compared with differences of values (programs.wrong_slope).
    ("does not raise", BACKWARD, "has been modified by an inplace operation", WRITES, "less is saved for backward, so less can be spoilt"),
    ("does not raise", ANY, r"Output \d of (Split|Unbind)\w* is a view|returns multiple views", r"\.(split|chunk|unbind)\(", "views of split, chunk and unbind may be written"),
    ("does not raise", ANY, "A view was created in no_grad mode and (its base|is being modified)", r"no_grad|autograd\.grad\(", "views made in no_grad mode may be written"),
    ("does not raise", BACKWARD, "saved tensor that has been detached in-place", r"\.detach_\(", "what was saved is kept"),
    ("does not raise", ANY, "single memory location", r"expand\(|unfold\(|as_strided\(|broadcast_tensors\(|L\.autograd\.grad\(|diagonal\(", "what overlaps is copied first"),
    ("does not raise", r"(index_add_|index_put_)\(|\] = ", "some elements of the input tensor and the written-to tensor refer to a single memory location", ANY, "what overlaps is copied first"),
    ("does not raise", r"repeat_interleave\(2, (-1|0)\)", "Dimension out of range", ANY, "a 0-d tensor has dimensions 0 and -1 here too"),
    ("value", r"\.(floor|ceil|trunc|frac|int|long|bool)\(|//", ANY, r"(tanh|sigmoid|erf|softmax)_?\(", "a function that approaches 1 rounds to 1 or to the number below"),
    ("value", r"(searchsorted|bucketize)\(", ANY, r"\b(std|var|log\w*|sqrt|rsqrt|pow|acosh?|asin|atanh)_?\(", "NaN is the largest number of a sorted list, as in NumPy; PyTorch's search goes past the numbers before it"),
    ("value", r"sort\(|sorted|arg(min|max)\(|(min|max|median|mode|kthvalue|topk)\(", ANY, r"remainder\((\w+), \1\.abs\(\) \+ 1\)", "of negative numbers these remainders are 1 but for rounding, which decides their order"),
    ("value", r"sqrt\(", ANY, r"(normalize|norm)\((.|\n)*autograd\.grad\(", "the gradient of a normalised number is zero but for rounding, whose root is large"),
    ("value", r"[<>]|sign", ANY, r"(normalize|norm|cosine_similarity)\((.|\n)*autograd\.grad\(", "the gradient of a normalised number is zero but for rounding, which has either sign"),
    ("gradient", ANY, ANY, r"norm\(\)(.|\n)*cosine_similarity\(", "the gradient of a normalised number is zero but for rounding, and that of cosine_similarity() of zeros is 1e8"),
    ("gradient", ANY, ANY, r"trapezoid\((.|\n)*(normalize|cosine_similarity)\(", "PyTorch's trapezoid() of one element is x - x, and numbers of 1e12 do not cancel in its gradient"),
    ("does not raise", ANY, "does not require grad", r"\.unique\(|searchsorted\(", "PyTorch marks results that have no gradient"),
    ("raises", BACKWARD + r"|retain_grad", "does not require grad|was not used", r"\.unique\(", "the values of unique() require no grad"),
    ("does not raise", r"(min|max|median|mode)\(", "Expected reduction dim -?\\d to have non-zero size", ANY, "extremes of no lines are a tensor of no elements, as in NumPy"),
    ("does not raise", r"\.roll\(", "has no dimensions", ANY, "a 0-d tensor has dimensions 0 and -1"),
    ("does not raise", "index_put_", "shape mismatch: value tensor of shape .1, ", ANY, "leading dimensions of size 1 are dropped, as in an assignment"),
    ("does not raise", r"conv\w*\(", "Only zero batch or zero channel inputs", ANY, "an empty signal is padded like any other"),
    ("raises", r"as_strided\(", "reaches outside a storage", r"_loss\(", "PyTorch's mean loss is the first element of the memory of all losses"),
    ("does not raise", "detach_", "Can't detach views", ANY, "outside any graph there is nothing to detach from"),
    ("does not raise", "backward", "moved into the graph interior", ANY, "a leaf that was detached and written is in the graph like any tensor"),
    ("gradient", r"\.requires_grad_\(", ANY, r"\.requires_grad_\((.|\n)*(" + WRITES + ")", "PyTorch loses the history of views of a view that was made a leaf, when their base is written"),
    ("raises", BACKWARD, "saved for its gradient was changed in place", rf"\.detach_\((.|\n)*({WRITES})", "PyTorch derives the history of a written view again from its base, which was detached"),
    ("gradient against differences", ANY, ANY, r"where\(.*, 0\.5\)", "where() of bools and a number is float32, too coarse for differences"),
    ("gradient", ANY, ANY, rf"(\w_\(|\] = )(.|\n)*\.detach_\(|\.detach_\((.|\n)*({WRITES})", "PyTorch derives the history of a written view again from its base, which was detached"),
    ("gradient", ANY, "nan", r"logcumsumexp\(", "PyTorch's gradient of logcumsumexp drops NaN"),
    ("does not raise", "^backward$", r"isDifferentiableType\(grad.scalar_type\(\)\) INTERNAL ASSERT", r"dtype=L\.int|\.(int|long|bool)\(|arg(max|sort)|nonzero|isclose|[<>=!]= | [<>] |sort\(|searchsorted", "an error of PyTorch, with integers that require grad"),
    ("does not raise", ANY, "Autograd not support dtype: (Long|Int|Bool)", r"\] = |_\(", "an error of PyTorch, with integers that require grad"),
    ("does not raise", r"(\w+)\[.*\] = \1$", "leaf Variable that requires grad", ANY, "a tensor that is assigned to itself is not written"),
    ("gradient", ANY, ANY, r"(?m)(expand|unfold|as_strided)\((.|\n)*^(\w+)\[.*\] = \3$", "a tensor that is assigned to itself is not written; PyTorch adds up the gradients of elements that overlap"),
    ("does not raise", r"\w_\(| [-+*/]= ", "a leaf Variable that requires grad is being used", rf"(\.(reshape|view|flatten)\(|\w\[)(.|\n)*({WRITES})", "a view of a tensor that got a history later has one too"),
    ("does not raise", r"\.sum\(\)\.backward\(", "does not require grad", ANY, "backward() outside any graph warns"),
    ("does not raise", "^backward$", "can't be cast to the desired output type|(Negation|Subtraction), the `-` operator, (on|with) a bool", ANY, "an integer or bool operand has no gradient here, and PyTorch fails to compute it"),
    ("raises", ANY, "share one memory location", r"\.(unfold|as_strided)\(|expand\(|autograd\.grad\(", "refused where PyTorch's result depends on the order of writes"),
    ("raises", BACKWARD, "saved for its gradient was changed in place", r"\.data\b", "writes through .data are noticed"),
    ("gradient", ANY, ANY, rf"= \w+\.data\n(.|\n)*({WRITES})", "PyTorch does not notice writes through .data"),
    ("raises", BACKWARD, "saved for its gradient was changed in place", r"(\] = |\.(fill|zero|copy)_\()(.|\n)*autograd\.grad\(.*create_graph", "the gradient of what was overwritten is zero, and PyTorch's requires no grad"),
    ("raises", BACKWARD, f"was changed in place by '{RESHAPES}'", rf"\.{RESHAPES}\(", "a change of shape in place counts as a write, as in PyTorch, whose operators save other tensors"),
    ("gradient", ANY, ANY, rf"as_strided\((.|\n)*\.{RESHAPES}\(", "after a change of shape in place, as_strided() is derived from the base again, and has gradients outside the view it was taken of"),
    ("raises", BACKWARD, "'matmul' saved for its gradient was changed in place", r"\.(permute|transpose|movedim|swapaxes|swapdims|expand|mT|T)\b(.|\n)*( @ |matmul\()", "PyTorch saves a copy of an operand whose batch dimensions cannot be viewed as one"),
    ("raises", BACKWARD, "'matmul' saved for its gradient was changed in place", r"tensordot\(", "PyTorch's tensordot() copies its first operand where a dimension has size 1"),
    ("raises", r"\.mT", "at least 2 dimensions", ANY, "deprecated in PyTorch: it returns the tensor as it is"),
    ("raises", r"tensordot|matmul| @ ", "bool has no products", ANY, "PyTorch has such products for some shapes only"),
    ("raises", ANY, "a view of a leaf tensor that requires grad", VIEW_MADE_LEAF, "PyTorch's result is a view there"),
    ("raises", r"\.retain_grad\(", "does not require grad", r"dtype=L\.(u?int|bool)| [!=<>]=? ", "in PyTorch an integer or boolean tensor requires grad once such a value was assigned to it"),
    ("raises", ANY, "a leaf tensor that requires grad|a leaf Variable", r"\.unique\(", "the values of unique() require no grad, so requires_grad_() makes a leaf of them"),
    ("requires_grad", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
    ("requires_grad", ANY, ANY, r"\.(floor|ceil|round|trunc|sign|copysign)_?\((.|\n)*autograd\.grad\(.*create_graph", "the gradient of a step function is zero in both"),
    ("requires_grad", ANY, ANY, r"(\[.*\] = |\.(fill|zero|copy)_\()(.|\n)*autograd\.grad\(.*create_graph", "the gradient of what was overwritten is zero in both"),
    ("requires_grad", ANY, ANY, VIEW_MADE_LEAF, "PyTorch's result is a view there"),
    ("gradient None", ANY, ANY, r"\.unique\(", "the values of unique() require no grad"),
]  # fmt: skip
TIES = r"\.(quantile|kthvalue|sort|msort|topk|mode|max|min)\("
SIGNED_ZEROS = "copysign|atan2|signbit|reciprocal| / "
# What follows from another order of elements in memory: whether reshape() and its like copy.
LAYOUT = [
    ("shared memory", ANY, ANY),
    ("does not raise", r"\.(view|as_strided)\(", "view size is not compatible"),
    ("raises", r"\.(view|as_strided)\(", ANY),
    ("raises", BACKWARD, "saved for its gradient was changed in place"),
    ("dtype or shape", ANY, ANY),
]


def explanation(found: Disagreement, steps: list[str]) -> str:
    if found.rounding:
        return "a function with whole values of values that differ in rounding"
    if found.same_total and any(re.search(TIES, step) for step in steps):
        return "of equal elements, another one has the gradient"
    if found.zero_signs and found.kind == "value" and re.search(SIGNED_ZEROS, "\n".join(steps)):
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
    if found.other_strides and found.kind == "value" and "as_strided(" in program:
        return "results may have other strides"
    for kind, step, text, whole, reason in EXPLAINED:
        if (
            kind == found.kind
            and re.search(step, found.step)
            and re.search(text, found.text)
            and re.search(whole, program)
        ):
            return reason
    return ""
