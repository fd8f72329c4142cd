"""How many floating point operations an operation on tensors of given shapes takes.

A multiplication and an addition count as two. Products, convolutions and attention are exact;
contractions whose indices are not known here (einsum, tensordot) are estimated. Elementwise
operations count one for each element of the result, reductions one for each element of the input,
softmax and normalisations five; what only moves or shows memory counts nothing. Which rule holds
for an operator is one of its traits (csrc/bindings/traits.h).
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from math import isqrt, prod

from genesis._C import op_info

Shape = tuple[int, ...]
Shapes = Sequence[Shape]


def _matmul(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * inputs[0][-1]


def _added_matmul(inputs: Shapes, outputs: Shapes) -> int:  # addmm(input, mat1, mat2)
    return 2 * prod(outputs[0]) * inputs[1][-1] + prod(outputs[0])


def _linear(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * inputs[1][-1] + (prod(outputs[0]) if len(inputs) > 2 else 0)


def _convolution(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * prod(inputs[1][1:]) + (prod(outputs[0]) if len(inputs) > 2 else 0)


def _transposed_convolution(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(inputs[0]) * prod(inputs[1][1:]) + (prod(outputs[0]) if len(inputs) > 2 else 0)


def _attention(inputs: Shapes, outputs: Shapes) -> int:
    query, key, value = inputs[:3]
    scores = prod(query[:-1]) * key[-2]
    return 2 * scores * (query[-1] + value[-1]) + 5 * scores


def _contraction(inputs: Shapes, outputs: Shapes) -> int:
    # Of (m, k) with (k, n) to (m, n), each size occurs twice in the three shapes.
    if len(inputs) != 2:
        return sum(map(prod, inputs))
    return 2 * isqrt(prod(inputs[0]) * prod(inputs[1]) * prod(outputs[0]))


_RULES: dict[str, Callable[[Shapes, Shapes], int]] = {
    "none": lambda inputs, outputs: 0,
    "output": lambda inputs, outputs: sum(map(prod, outputs)),
    "input": lambda inputs, outputs: prod(inputs[0]),
    "five_input": lambda inputs, outputs: 5 * prod(inputs[0]),
    "dot": lambda inputs, outputs: 2 * prod(inputs[0]),
    "matmul": _matmul,
    "add_matmul": _added_matmul,
    "linear": _linear,
    "conv": _convolution,
    "conv_transpose": _transposed_convolution,
    "attention": _attention,
    "contraction": _contraction,
}


@functools.cache
def _rules() -> dict[str, str]:
    """The rule of every operator; x[key], which is no function, is called index."""
    ops = {op["name"].strip("_"): op["flops"] for op in op_info() if not op["tool"]}
    return {"index": "none", **ops}


def flops(name: str, inputs: Shapes, outputs: Shapes) -> int:
    """The operations of ``name`` on tensors of these shapes.

    >>> flops("matmul", [(2, 3), (3, 4)], [(2, 4)])
    48
    """
    if not outputs or not inputs:
        return 0
    return _RULES[_rules().get(name.strip("_"), "output")](inputs, outputs)
