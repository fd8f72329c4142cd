"""How many floating point operations an operation on tensors of given shapes takes.

A multiplication and an addition count as two. Products, convolutions and attention are exact;
contractions whose indices are not known here (einsum, tensordot) are estimated. Elementwise
operations count one for each element of the result, reductions one for each element of the input,
softmax and normalisations five; what only moves or shows memory counts nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import isqrt, prod

Shape = tuple[int, ...]
Shapes = Sequence[Shape]

# Views, copies, constants, indices, and questions.
_FREE_NAMES = """adjoint alias arange argwhere as_strided atleast_1d atleast_2d atleast_3d bernoulli
    bfloat16 block_diag bool broadcast_tensors broadcast_to byte cat chunk clone column_stack concat
    concatenate contiguous copy_ cpu detach diag diag_embed diagonal double dropout dsplit dstack
    embedding empty empty_like equal expand expand_as eye fill fill_ flatten flip fliplr flipud
    float full full_like gather half hsplit hstack index index_copy index_copy_ index_fill
    index_fill_ index_put index_put_ index_select int item linspace logspace long mT masked_fill
    masked_fill_ masked_scatter masked_scatter_ masked_select meshgrid moveaxis movedim
    multinomial narrow
    new_empty new_full new_ones new_tensor new_zeros nonzero normal ones ones_like one_hot pad
    permute pixel_shuffle pixel_unshuffle put put_ rand rand_like randint randint_like randn
    randn_like randperm ravel repeat repeat_interleave reshape reshape_as roll rot90 scatter
    scatter_ select short slice split squeeze squeeze_ stack swapaxes swapdims t t_ take
    take_along_dim tensor tensor_split tile to transpose transpose_ tril tril_indices triu
    triu_indices type type_as unbind unflatten unfold unsqueeze unsqueeze_ view view_as vsplit
    vstack where zero_ zeros zeros_like"""
_REDUCTION_NAMES = """all amax amin aminmax any argmax argmin bincount count_nonzero cummax
    cummin cumprod cumsum max mean median min mode nanmean nanmedian nansum prod sum trace"""
_FREE = frozenset(_FREE_NAMES.split())
_REDUCTIONS = frozenset(_REDUCTION_NAMES.split())
_FIVE = (
    "softmax", "logsumexp", "norm", "std", "var", "gelu", "cross_entropy", "renorm",
)  # fmt: skip


def _matmul(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * inputs[0][-1]


def _added_matmul(inputs: Shapes, outputs: Shapes) -> int:  # addmm(input, mat1, mat2)
    return 2 * prod(outputs[0]) * inputs[1][-1] + prod(outputs[0])


def _linear(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * inputs[1][-1] + (prod(outputs[0]) if len(inputs) > 2 else 0)


def _bilinear(inputs: Shapes, outputs: Shapes) -> int:
    return 2 * prod(outputs[0]) * (inputs[2][1] * inputs[2][2] + inputs[2][1])


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


_PRODUCTS: dict[str, Callable[[Shapes, Shapes], int]] = {
    "addbmm": _added_matmul,
    "addmm": _added_matmul,
    "addmv": _added_matmul,
    "baddbmm": _added_matmul,
    "bilinear": _bilinear,
    "bmm": _matmul,
    "einsum": _contraction,
    "tensordot": _contraction,
    "dot": lambda inputs, outputs: 2 * prod(inputs[0]),
    "inner": _matmul,
    "linear": _linear,
    "matmul": _matmul,
    "mm": _matmul,
    "mv": _matmul,
    "outer": lambda inputs, outputs: prod(outputs[0]),
    "vdot": lambda inputs, outputs: 2 * prod(inputs[0]),
}


def flops(name: str, inputs: Shapes, outputs: Shapes) -> int:
    """The operations of ``name`` on tensors of these shapes.

    >>> flops("matmul", [(2, 3), (3, 4)], [(2, 4)])
    48
    """
    name = name.strip("_")
    if not outputs or not inputs or name in _FREE:
        return 0
    if name in _PRODUCTS:
        return _PRODUCTS[name](inputs, outputs)
    if "attention" in name and len(inputs) >= 3:
        return _attention(inputs, outputs)
    if "conv" in name and len(inputs) >= 2:
        return (_transposed_convolution if "transpose" in name else _convolution)(inputs, outputs)
    if name in _REDUCTIONS:
        return prod(inputs[0])
    if any(part in name for part in _FIVE):
        return 5 * prod(inputs[0])
    if "pool" in name or "loss" in name:
        return prod(inputs[0])
    return sum(prod(shape) for shape in outputs)
