"""PyTorch's second names of functions of ``nn.functional`` and of recurrent layers.

Losses take ``reduction`` as a number here, and recurrent layers take their weights as a list.
"""

from __future__ import annotations

import builtins
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

from genesis import _C
from genesis._C import Tensor
from genesis._second_names import exported

__all__: list[str] = []
_public = exported(__all__)


def _functional() -> Any:
    from genesis.nn import functional

    return functional


if TYPE_CHECKING:  # names that loops below define

    def __getattr__(name: str) -> Any: ...


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
        if source == "dropout2d":  # entire channels, with any number of dimensions
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
