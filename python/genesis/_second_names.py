"""PyTorch's second names: functions of ``torch`` that other functions of Genesis stand for.

PyTorch binds many operators under ``torch`` as well as in ``nn.functional`` or as methods,
sometimes with other parameters: losses take ``reduction`` as a number, copies of views end in
``_copy``, and recurrent layers take their weights as a list.
"""

from __future__ import annotations

import builtins
import math
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis._named_errors import explain

__all__: list[str] = []


def _public(function: Callable[..., Any]) -> Callable[..., Any]:
    __all__.append(function.__name__)
    made: Callable[..., Any] = _C._overridable(function, explain)
    return made


def _functional() -> Any:
    from genesis.nn import functional

    return functional


# ---- copies of views ---------------------------------------------------------------------------


def _copied(name: str, view: Callable[..., Any]) -> Callable[..., Any]:
    def copy(*args: Any, **kwargs: Any) -> Any:
        result = view(*args, **kwargs)
        return result.clone() if isinstance(result, Tensor) else tuple(x.clone() for x in result)

    copy.__name__ = copy.__qualname__ = f"{name}_copy"
    copy.__doc__ = f"A copy of what ``{name}`` gives a view of."
    return _public(copy)


_VIEWS: dict[str, Callable[..., Any]] = {
    "alias": lambda input: input,
    "as_strided": _C.as_strided,
    "detach": _C.detach,
    "diagonal": _C.diagonal,
    "expand": lambda input, size, *, implicit=False: input.expand(size),
    "narrow": _C.narrow,
    "permute": _C.permute,
    "select": _C.select,
    "slice": lambda input, *args, **kwargs: input.slice(*args, **kwargs),
    "split": _C.split,
    "split_with_sizes": lambda input, split_sizes, dim=0: input.split(split_sizes, dim),
    "squeeze": _C.squeeze,
    "t": _C.t,
    "transpose": _C.transpose,
    "unbind": _C.unbind,
    "unfold": lambda input, dimension, size, step: input.unfold(dimension, size, step),
    "unsqueeze": _C.unsqueeze,
    "view": lambda input, *args, **kwargs: input.view(*args, **kwargs),
    "indices": lambda input: input.indices(),
    "values": lambda input: input.values(),
    "crow_indices": lambda input: input.crow_indices(),
    "col_indices": lambda input: input.col_indices(),
    "ccol_indices": lambda input: input.ccol_indices(),
    "row_indices": lambda input: input.row_indices(),
}
globals().update({f"{name}_copy": _copied(name, view) for name, view in _VIEWS.items()})


# ---- methods as functions ----------------------------------------------------------------------


def _method(name: str) -> Callable[..., Any]:
    def call(input: Tensor, *args: Any, **kwargs: Any) -> Any:
        return getattr(input, name)(*args, **kwargs)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"The method ``Tensor.{name}`` as a function."
    return _public(call)


_METHODS = (
    "addmv_", "as_strided_", "detach_", "gcd_", "lcm_", "ldexp_", "xlogy_",
)  # fmt: skip
globals().update({name: _method(name) for name in _METHODS})


@_public
def is_signed(input: Tensor) -> bool:
    """Whether the dtype of the tensor can hold negative numbers."""
    return input.dtype.is_signed


@_public
def is_distributed(input: Tensor) -> bool:
    """Whether the tensor lies on several processes in PyTorch's old sense: no."""
    return False


@_public
def unsafe_chunk(input: Tensor, chunks: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as chunk()."""
    return _C.chunk(input, chunks, dim)


@_public
def unsafe_split(input: Tensor, split_size: int, dim: int = 0) -> tuple[Tensor, ...]:
    """The same as split()."""
    return _C.split(input, split_size, dim)


@_public
def unsafe_split_with_sizes(
    input: Tensor, split_sizes: Sequence[int], dim: int = 0
) -> tuple[Tensor, ...]:
    """The same as split() with a list of sizes."""
    return _C.split(input, split_sizes, dim)


# ---- norms and creation ------------------------------------------------------------------------


@_public
def frobenius_norm(
    input: Tensor, dim: Any = None, keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The root of the sum of squares, of all elements or along one or two dimensions."""
    return _C.linalg_vector_norm(input, 2, dim, keepdim, out=out)


@_public
def nuclear_norm(
    input: Tensor, dim: Any = (-2, -1), keepdim: bool = False, *, out: Tensor | None = None
) -> Tensor:
    """The sum of the singular values."""
    return _C.linalg_matrix_norm(input, "nuc", dim, keepdim, out=out)


@_public
def range(start: float = 0, end: Any = None, step: float = 1, **options: Any) -> Tensor:
    """Numbers from start to end, both included. Prefer arange().

    >>> genesis.range(1, 4)
    tensor([1., 2., 3., 4.])
    """
    if end is None:
        start, end = 0, start
    if step == 0 or (end - start) * step < 0:
        raise ValueError(f"range: step {step} does not lead from {start} to {end}")
    options.setdefault("dtype", _C.get_default_dtype())
    count = math.floor((end - start) / step) + 1
    numbers = _C.arange(count, dtype=_C.float64) * step + start
    return numbers.to(options.pop("dtype")).requires_grad_(options.pop("requires_grad", False))


@_public
def empty_permuted(size: Sequence[int], physical_layout: Sequence[int], **options: Any) -> Tensor:
    """New memory in which the dimensions lie in the order ``physical_layout``, outermost first."""
    if sorted(physical_layout) != [*builtins.range(len(size))]:
        raise ValueError(
            f"empty_permuted: physical_layout must name each of {len(size)} dimensions once, got "
            f"{tuple(physical_layout)}"
        )
    lying = _C.empty([size[d] for d in physical_layout], **options)
    order = [0] * len(size)
    for place, d in enumerate(physical_layout):
        order[d] = place
    return lying.permute(order)


@_public
def from_file(
    filename: str, shared: bool | None = None, size: int | None = 0, *, dtype: Any = None, **_: Any
) -> Tensor:
    """A tensor on the memory of a file; with ``shared``, writing to it writes to the file."""
    import numpy as np

    kind = np.dtype((dtype or _C.get_default_dtype()).name)
    if shared:
        with open(filename, "ab") as file:
            file.truncate(max(file.tell(), (size or 0) * kind.itemsize))
    data = np.memmap(filename, kind, "r+" if shared else "c", shape=(size or 0,))
    return _C.from_numpy(data)


@_public
def to_dlpack(tensor: Tensor) -> Any:
    """A DLPack capsule of the tensor's memory."""
    return tensor.__dlpack__()


@_public
def cond(
    pred: Any, true_fn: Callable[..., Any], false_fn: Callable[..., Any], operands: Any = ()
) -> Any:
    """``true_fn(*operands)`` or ``false_fn(*operands)``.

    >>> x = genesis.tensor(2.0)
    >>> genesis.cond(x > 1, lambda x: x + 1, lambda x: x - 1, (x,))
    tensor(3.)
    """
    return true_fn(*operands) if pred else false_fn(*operands)


@_public
def while_loop(
    cond_fn: Callable[..., Any], body_fn: Callable[..., Any], carried_inputs: Any
) -> Any:
    """Calls ``body_fn`` on what it returned last, as long as ``cond_fn`` of that is true."""
    values = tuple(carried_inputs)
    while cond_fn(*values):
        result = body_fn(*values)
        values = tuple(result) if isinstance(result, (tuple, list)) else (result,)
    return values


# ---- linear algebra ----------------------------------------------------------------------------


@_public
def lobpcg(
    A: Tensor,
    k: int | None = None,
    B: Tensor | None = None,
    X: Tensor | None = None,
    n: int | None = None,
    iK: Tensor | None = None,
    niter: int | None = None,
    tol: float | None = None,
    largest: bool | None = None,
    method: str | None = None,
    tracker: Any = None,
    ortho_iparams: Any = None,
    ortho_fparams: Any = None,
    ortho_bparams: Any = None,
) -> tuple[Tensor, Tensor]:
    """The k largest (or smallest) eigenvalues of a symmetric A, or of A x = e B x, and vectors.

    They come from a whole decomposition, so there is no iteration to direct: ``X`` only gives k.

    >>> values, vectors = genesis.lobpcg(genesis.diag(genesis.tensor([1.0, 5.0, 3.0])), k=2)
    >>> values
    tensor([5., 3.])
    """
    if tracker is not None:
        raise ValueError("lobpcg: there is no iteration, so tracker would not be called")
    count = k or n or (1 if X is None else X.shape[-1])
    matrix = A.to_dense()
    if not 1 <= count <= matrix.shape[-1]:
        raise ValueError(f"lobpcg: k must be in 1..{matrix.shape[-1]}, got {count}")
    if B is None:
        values, vectors = _C.linalg_eigh(matrix)
    else:
        factor = _C.linalg_cholesky(B.to_dense())
        half = _C.linalg_solve_triangular(factor, matrix, upper=False)
        inner = _C.linalg_solve_triangular(factor, half.mT, upper=False)
        values, turned = _C.linalg_eigh(inner)
        vectors = _C.linalg_solve_triangular(factor.mT, turned, upper=True)
    if largest is None or largest:
        return values[..., -count:].flip(-1), vectors[..., -count:].flip(-1)
    return values[..., :count], vectors[..., :count]


def _product(name: str) -> Callable[..., Any]:
    def multiply(*args: Any, **kwargs: Any) -> Any:
        from genesis.sparse import _functions

        return _functions.addmm(*args, **kwargs) if "addmm" in name else _functions.mm(*args)

    multiply.__name__ = multiply.__qualname__ = name
    multiply.__doc__ = "A product of sparse matrices. Use sparse.mm() or sparse.addmm()."
    return _public(multiply)


_PRODUCTS = ("dsmm", "hsmm", "hspmm", "saddmm", "smm", "spmm", "sspaddmm")
globals().update({name: _product(name) for name in _PRODUCTS})


# ---- functions of nn.functional ----------------------------------------------------------------

_REDUCTIONS = ("none", "mean", "sum")


def _loss(name: str, parameters: str) -> Callable[..., Any]:
    """A loss with its parameters in PyTorch's order, and the number of a reduction."""
    names = parameters.split()

    def loss(*args: Any, **kwargs: Any) -> Any:
        if len(args) > len(names):
            raise TypeError(f"{name}: takes at most {len(names)} arguments, got {len(args)}")
        given = {**dict(zip(names, args, strict=False)), **kwargs}
        reduction = given.get("reduction", 0)
        if isinstance(reduction, int):
            if not 0 <= reduction < 3:
                raise ValueError(f"{name}: reduction must be 0, 1 or 2, got {reduction}")
            given["reduction"] = _REDUCTIONS[reduction]
        return getattr(_functional(), name)(**given)

    loss.__name__ = loss.__qualname__ = name
    loss.__doc__ = f"``nn.functional.{name}`` with the number of a reduction: none (0), mean, sum."
    return _public(loss)


_LOSSES = {
    "binary_cross_entropy_with_logits": "input target weight pos_weight reduction",
    "cosine_embedding_loss": "input1 input2 target margin reduction",
    "hinge_embedding_loss": "input target margin reduction",
    "kl_div": "input target reduction",
    "margin_ranking_loss": "input1 input2 target margin reduction",
    "poisson_nll_loss": "input target log_input full eps reduction",
    "triplet_margin_loss": "anchor positive negative margin p eps swap reduction",
    "ctc_loss": "log_probs targets input_lengths target_lengths blank reduction zero_infinity",
}
globals().update({name: _loss(name, parameters) for name, parameters in _LOSSES.items()})


@_public
def adaptive_avg_pool1d(input: Tensor, output_size: Any) -> Tensor:
    """``nn.functional.adaptive_avg_pool1d``."""
    result: Tensor = _functional().adaptive_avg_pool1d(input, output_size)
    return result


@_public
def adaptive_max_pool1d(input: Tensor, output_size: Any) -> tuple[Tensor, Tensor]:
    """The maxima and where they are."""
    values, indices = _functional().adaptive_max_pool1d(input, output_size, return_indices=True)
    return values, indices


@_public
def max_pool1d_with_indices(
    input: Tensor,
    kernel_size: Any,
    stride: Any = None,
    padding: Any = 0,
    dilation: Any = 1,
    ceil_mode: bool = False,
) -> tuple[Tensor, Tensor]:
    """The maxima of windows and where they are."""
    values, indices = _functional().max_pool1d(
        input, kernel_size, stride or None, padding, dilation, ceil_mode, return_indices=True
    )
    return values, indices


@_public
def batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """``nn.functional.batch_norm`` with its parameters in another order."""
    result: Tensor = _functional().batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    return result


@_public
def instance_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    use_input_stats: bool,
    momentum: float,
    eps: float,
    cudnn_enabled: bool = False,
) -> Tensor:
    """``nn.functional.instance_norm`` with its parameters in another order."""
    result: Tensor = _functional().instance_norm(
        input, running_mean, running_var, weight, bias, use_input_stats, momentum, eps
    )
    return result


def _written(results: Any, out: Any) -> Any:
    """The results, copied to `out` where it is given."""
    if out is None:
        return results
    for target, result in zip(out, results, strict=True):
        target.resize_(tuple(result.shape)).copy_(result)
    return tuple(out)


def _statistics(x: Tensor, dims: list[int], eps: float) -> tuple[Tensor, Tensor]:
    mean = x.mean(dims, keepdim=True)
    return mean, (x.var(dims, correction=0, keepdim=True) + eps).rsqrt()


@_public
def native_layer_norm(
    input: Tensor,
    normalized_shape: Sequence[int],
    weight: Tensor | None,
    bias: Tensor | None,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """layer_norm(), the mean and 1 / standard deviation."""
    y = _functional().layer_norm(input, normalized_shape, weight, bias, eps)
    return y, *_statistics(input, [-1 - d for d in builtins.range(len(normalized_shape))], eps)


@_public
def native_group_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    N: int,
    C: int,
    HxW: int,
    group: int,
    eps: float,
) -> tuple[Tensor, Tensor, Tensor]:
    """group_norm(), and the mean and 1 / standard deviation of each group."""
    y = _functional().group_norm(input, group, weight, bias, eps)
    mean, deviation = _statistics(input.reshape(N, group, C // group * HxW), [2], eps)
    return y, mean.reshape(N, group), deviation.reshape(N, group)


@_public
def native_batch_norm(
    input: Tensor,
    weight: Tensor | None,
    bias: Tensor | None,
    running_mean: Tensor | None,
    running_var: Tensor | None,
    training: bool,
    momentum: float,
    eps: float,
    *,
    out: Sequence[Tensor] | None = None,
) -> tuple[Tensor, Tensor, Tensor]:
    """batch_norm(), and in training the mean and 1 / standard deviation of each channel."""
    dims = [d for d in builtins.range(input.ndim) if d != 1]
    none = _C.zeros(0, dtype=input.dtype)
    mean, deviation = _statistics(input, dims, eps) if training else (none, none)
    y = _functional().batch_norm(
        input, running_mean, running_var, weight, bias, training, momentum, eps
    )
    results: tuple[Tensor, Tensor, Tensor]
    results = _written((y, mean.reshape(-1), deviation.reshape(-1)), out)
    return results


@_public
def native_dropout(input: Tensor, p: float, train: bool | None) -> tuple[Tensor, Tensor]:
    """dropout() and which elements it kept."""
    if train is False or p == 0:
        return input.clone(), _C.ones_like(input, dtype=_C.bool)
    kept = _functional().dropout(_C.ones_like(input).detach(), p) > 0
    return input * kept / (1 - p) if p < 1 else input * 0, kept


@_public
def native_channel_shuffle(input: Tensor, groups: int) -> Tensor:
    """``nn.functional.channel_shuffle``."""
    result: Tensor = _functional().channel_shuffle(input, groups)
    return result


def _dropping(name: str, inplace: bool) -> Callable[..., Any]:
    plain = name.rstrip("_")
    source = {"feature_dropout": "dropout2d"}.get(plain, plain)

    def drop(input: Tensor, p: float, train: bool) -> Tensor:
        function = getattr(_functional(), source)
        if source == "dropout2d":  # whole channels, of any number of dimensions
            if not train or p == 0:
                result = input if inplace else input.clone()
            else:
                shape = (*input.shape[:2], *[1] * (input.ndim - 2))
                result = input * _functional().dropout(_C.ones(shape, dtype=input.dtype), p)
        else:
            result = function(input, p, train)
        return input.copy_(result) if inplace and result is not input else result

    drop.__name__ = drop.__qualname__ = name
    drop.__doc__ = f"``nn.functional.{source}``{', in place' if inplace else ''}."
    return _public(drop)


globals().update({
    name: _dropping(name, name.endswith("_"))
    for name in (
        "dropout_", "alpha_dropout_", "feature_alpha_dropout_", "feature_dropout",
        "feature_dropout_",
    )
})  # fmt: skip


@_public
def embedding_renorm_(input: Tensor, indices: Tensor, max_norm: float, norm_type: float) -> Tensor:
    """Scales the rows at ``indices`` down to a norm of ``max_norm``, in place."""
    from genesis.nn.functional.lookup import renormalize

    renormalize(input, indices, max_norm, norm_type)
    return input


@_public
def embedding_bag(
    weight: Tensor,
    indices: Tensor,
    offsets: Tensor | None = None,
    scale_grad_by_freq: bool = False,
    mode: int = 0,
    sparse: bool = False,
    per_sample_weights: Tensor | None = None,
    include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Bags of embeddings, the bag of each index, the sizes of bags, and (no) maximal indices."""
    y = _functional().embedding_bag(
        indices, weight, offsets, scale_grad_by_freq=scale_grad_by_freq, sparse=sparse,
        mode=("sum", "mean", "max")[mode], per_sample_weights=per_sample_weights,
        include_last_offset=include_last_offset, padding_idx=padding_idx,
    )  # fmt: skip
    if offsets is None:
        offsets = _C.arange(0, indices.numel(), max(indices.shape[-1], 1))
    starts = offsets[: y.shape[0]]
    ends = _C.cat([starts[1:], _C.tensor([indices.numel()])])
    sizes = ends - starts
    bags = _C.arange(y.shape[0]).repeat_interleave(sizes)
    return y, bags, sizes, _C.zeros(0, dtype=_C.int64)


@_public
def conv_tbc(input: Tensor, weight: Tensor, bias: Tensor, pad: int = 0) -> Tensor:
    """``nn.functional.conv_tbc``."""
    result: Tensor = _functional().conv_tbc(input, weight, bias, pad)
    return result


@_public
def convolution(
    input: Tensor,
    weight: Tensor,
    bias: Tensor | None,
    stride: Sequence[int],
    padding: Sequence[int],
    dilation: Sequence[int],
    transposed: bool,
    output_padding: Sequence[int],
    groups: int,
) -> Tensor:
    """A convolution of one to three dimensions, or its transpose."""
    n = weight.ndim - 2
    F = _functional()
    result: Tensor
    if transposed:
        result = getattr(F, f"conv_transpose{n}d")(
            input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    else:
        result = getattr(F, f"conv{n}d")(input, weight, bias, stride, padding, dilation, groups)
    return result


@_public
def grid_sampler(
    input: Tensor, grid: Tensor, interpolation_mode: int, padding_mode: int, align_corners: bool
) -> Tensor:
    """``nn.functional.grid_sample`` with numbers of its modes."""
    result: Tensor = _functional().grid_sample(
        input,
        grid,
        ("bilinear", "nearest", "bicubic")[interpolation_mode],
        ("zeros", "border", "reflection")[padding_mode],
        align_corners,
    )
    return result


for _name in ("grid_sampler_2d", "grid_sampler_3d"):
    globals()[_name] = grid_sampler
    __all__.append(_name)


@_public
def affine_grid_generator(theta: Tensor, size: Sequence[int], align_corners: bool) -> Tensor:
    """``nn.functional.affine_grid``."""
    result: Tensor = _functional().affine_grid(theta, list(size), align_corners)
    return result


# ---- recurrent layers --------------------------------------------------------------------------


def _layer(kind: str, nonlinearity: str | None = None) -> Callable[..., Any]:
    """A layer as a function of its input, states and the list of its weights."""
    name = kind.lower() if nonlinearity is None else f"rnn_{nonlinearity}"

    def run(input: Tensor, *args: Any) -> tuple[Tensor, ...]:
        from genesis import nn
        from genesis.func import functional_call

        packed = isinstance(args[1], (list, tuple)) and len(args) == 8 and args[1] is not args[0]
        packed = packed and isinstance(args[0], Tensor) and args[0].ndim == 1
        batch_first = False
        if packed:
            batch_sizes, hx, params, biases, layers, dropout, train, both = args
        else:
            hx, params, biases, layers, dropout, train, both, batch_first = args
        states = tuple(hx) if isinstance(hx, (list, tuple)) else (hx,)
        hidden = params[0].shape[0] // {"LSTM": 4, "GRU": 3, "RNN": 1}[kind]
        options: dict[str, Any] = {} if nonlinearity is None else {"nonlinearity": nonlinearity}
        if kind == "LSTM" and states[0].shape[-1] != hidden:
            options["proj_size"] = states[0].shape[-1]
        layer = getattr(nn, kind)(
            input.shape[-1], hidden, layers, bias=biases, batch_first=batch_first,
            dropout=dropout, bidirectional=both, dtype=input.dtype, **options,
        ).train(train)  # fmt: skip
        names = [n for n, _ in layer.named_parameters()]
        x = nn.utils.rnn.PackedSequence(input, batch_sizes) if packed else input
        state = states if kind == "LSTM" else states[0]
        out, last = functional_call(layer, dict(zip(names, params, strict=True)), (x, state))
        out = out.data if packed else out
        return (out, *last) if kind == "LSTM" else (out, last)

    run.__name__ = run.__qualname__ = name
    run.__doc__ = f"``nn.{kind}`` as a function of its input, states and the list of its weights."
    return _public(run)


lstm, gru = _layer("LSTM"), _layer("GRU")
rnn_tanh, rnn_relu = _layer("RNN", "tanh"), _layer("RNN", "relu")


def _gates(x: Tensor, h: Tensor, weights: Sequence[Any]) -> tuple[Tensor, Tensor]:
    w_ih, w_hh, b_ih, b_hh = weights
    return _C.linear(x, w_ih, b_ih), _C.linear(h, w_hh, b_hh)


@_public
def lstm_cell(
    input: Tensor,
    hx: Sequence[Tensor],
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """One step of an LSTM: the next h and c."""
    h, c = hx
    a, b = _gates(input, h, (w_ih, w_hh, b_ih, b_hh))
    i, f, g, o = (a + b).chunk(4, -1)
    c = f.sigmoid() * c + i.sigmoid() * g.tanh()
    return o.sigmoid() * c.tanh(), c


@_public
def gru_cell(
    input: Tensor,
    hx: Tensor,
    w_ih: Tensor,
    w_hh: Tensor,
    b_ih: Tensor | None = None,
    b_hh: Tensor | None = None,
) -> Tensor:
    """One step of a GRU: the next h."""
    a, b = _gates(input, hx, (w_ih, w_hh, b_ih, b_hh))
    (r1, z1, n1), (r2, z2, n2) = a.chunk(3, -1), b.chunk(3, -1)
    r, z = (r1 + r2).sigmoid(), (z1 + z2).sigmoid()
    n = (n1 + r * n2).tanh()
    return n + z * (hx - n)


def _rnn_cell(name: str) -> Callable[..., Any]:
    def cell(
        input: Tensor,
        hx: Tensor,
        w_ih: Tensor,
        w_hh: Tensor,
        b_ih: Tensor | None = None,
        b_hh: Tensor | None = None,
    ) -> Tensor:
        a, b = _gates(input, hx, (w_ih, w_hh, b_ih, b_hh))
        result: Tensor = getattr(a + b, name)()
        return result

    cell.__name__ = cell.__qualname__ = f"rnn_{name}_cell"
    cell.__doc__ = f"One step of a recurrent layer with {name}: the next h."
    return _public(cell)


rnn_tanh_cell, rnn_relu_cell = _rnn_cell("tanh"), _rnn_cell("relu")
