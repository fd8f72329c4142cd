"""Cross-entropy of scores that a linear layer makes, also without holding all of them."""

from __future__ import annotations

from math import prod

from genesis import _C
from genesis._C import Tensor
from genesis.nn.functional.classification import cross_entropy

__all__ = ["linear_cross_entropy"]


class LinearCrossEntropyOptions:
    """How ``linear_cross_entropy`` goes over its rows in parts.

    A part has ``batch_chunk_size`` rows, or as many as ``chunking_method`` says: "aspect_ratio"
    makes its scores about as large as the whole input, "aspect_ratio:N" N times smaller; "auto" is
    the second with N = 2. Half precision is computed in ``acc_dtype``, by default float32; the
    gradient of the weights is summed up in it too, but for ``acc_policy="compact"``. The backward
    pass makes the scores anew, any number of times: ``allow_retain_graph`` needs no asking.

    >>> LinearCrossEntropyOptions(batch_chunk_size=64).batch_chunk_size
    64
    """

    def __init__(
        self,
        allow_retain_graph: bool = False,
        batch_chunk_size: int | None = None,
        chunking_method: str | None = "auto",
        acc_policy: str = "auto",
        acc_dtype: _C.dtype | None = None,
    ) -> None:
        policies = ("auto", "accurate", "balanced", "compact")
        if acc_policy not in policies:
            raise ValueError(
                f"LinearCrossEntropyOptions: acc_policy must be one of {policies}, got "
                f"{acc_policy!r}"
            )
        if chunking_method not in (None, "auto"):
            name, _, factor = chunking_method.partition(":")
            if name != "aspect_ratio" or not (factor or "1").isdigit() or factor == "0":
                raise ValueError(
                    "LinearCrossEntropyOptions: chunking_method must be None, 'auto', "
                    f"'aspect_ratio' or 'aspect_ratio:N', got {chunking_method!r}"
                )
        if batch_chunk_size is not None and (
            not isinstance(batch_chunk_size, int) or batch_chunk_size < 1
        ):
            raise ValueError(
                "LinearCrossEntropyOptions: batch_chunk_size must be a positive int or None, got "
                f"{batch_chunk_size!r}"
            )
        if acc_dtype is not None and not acc_dtype.is_floating_point:
            raise ValueError(
                f"LinearCrossEntropyOptions: acc_dtype must be floating, got {acc_dtype}"
            )
        self.allow_retain_graph = allow_retain_graph
        self.batch_chunk_size = batch_chunk_size
        self.chunking_method = chunking_method
        self.acc_policy = acc_policy
        self.acc_dtype = acc_dtype

    def __repr__(self) -> str:
        return f"{type(self).__name__}({', '.join(f'{k}={v!r}' for k, v in vars(self).items())})"

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and vars(self) == vars(other)

    def __hash__(self) -> int:
        return hash(tuple(vars(self).values()))

    def rows(self, batch: int, features: int, classes: int) -> int:
        """How many rows a part has."""
        method = self.chunking_method
        if method == "auto":
            method = "aspect_ratio:2" if self.batch_chunk_size is None else None
        if method is None:
            return max(1, min(self.batch_chunk_size or batch, batch))
        wanted = -(-batch // max(1, -(-classes // max(1, features))))
        size = max(1, min((1 << max(0, wanted - 1).bit_length()) // int(method[13:] or 1), batch))
        if self.batch_chunk_size not in (None, size):
            raise ValueError(
                f"linear_cross_entropy: batch_chunk_size={self.batch_chunk_size} and "
                f"chunking_method={method!r}, which gives {size}, differ; pass one of them"
            )
        return size

    def dtype_for(self, dtype: _C.dtype) -> _C.dtype:
        """What to compute in."""
        if self.acc_dtype is not None:
            return self.acc_dtype
        half = dtype in (_C.float16, _C.bfloat16)
        return _C.float32 if half and self.acc_policy == "auto" else dtype


def linear_cross_entropy(
    input: Tensor,
    linear_weight: Tensor,
    target: Tensor,
    *,
    linear_bias: Tensor | None = None,
    weight: Tensor | None = None,
    reduction: str = "mean",
    ignore_index: int | None = None,
    label_smoothing: float = 0.0,
    options: LinearCrossEntropyOptions | None = None,
) -> Tensor:
    """``cross_entropy`` of ``linear(input, linear_weight, linear_bias)``.

    ``linear_weight`` is (classes, features), or (classes, d1, ..., features) for a loss at each
    place (d1, ...). With ``options`` the scores of all rows never exist at once.

    >>> x, w = genesis.eye(2), genesis.tensor([[2.0, 0.0], [0.0, 3.0]])
    >>> linear_cross_entropy(x, w, genesis.tensor([0, 1]))
    tensor(0.0878)
    """
    places = _check(input, linear_weight, linear_bias)
    classes, features = linear_weight.shape[0], input.shape[-1]
    scores_shape = (*input.shape[:-1], classes, *places)
    if tuple(target.shape) == scores_shape and ignore_index is not None:
        raise ValueError(
            "linear_cross_entropy: ignore_index is for class numbers, and target holds "
            "probabilities; leave it out"
        )
    ignore = -100 if ignore_index is None else ignore_index
    flat_weight = linear_weight.reshape(classes * prod(places), features)
    flat_bias = None if linear_bias is None else linear_bias.reshape(classes * prod(places))

    def losses(x: Tensor, w: Tensor, b: Tensor | None, y: Tensor, how: str) -> Tensor:
        scores = _C.linear(x, w, b).reshape((*x.shape[:-1], classes, *places))
        return cross_entropy(
            scores,
            y,
            None if weight is None else weight.to(scores.dtype),
            ignore_index=ignore,
            reduction=how,
            label_smoothing=label_smoothing,
        )

    if options is None:
        return losses(input, flat_weight, flat_bias, target, reduction)
    from genesis.autograd import checkpoint  # here: importing nn stays cheap

    dtype = options.dtype_for(input.dtype)
    if options.acc_policy != "compact":  # gradients of all parts are summed in that dtype
        flat_weight = flat_weight.to(dtype)
        flat_bias = None if flat_bias is None else flat_bias.to(dtype)

    def part(x: Tensor, w: Tensor, b: Tensor | None, y: Tensor) -> Tensor:
        return losses(x.to(dtype), w.to(dtype), None if b is None else b.to(dtype), y, "none")

    each: Tensor
    if input.ndim == 1:
        each = checkpoint(part, input, flat_weight, flat_bias, target, use_reentrant=False)
    else:
        size = options.rows(input.shape[0], features, classes * prod(places))
        each = _C.cat([
            checkpoint(
                part, input[i : i + size], flat_weight, flat_bias, target[i : i + size],
                use_reentrant=False,
            )
            for i in range(0, max(1, input.shape[0]), size)
        ])  # fmt: skip
    if reduction == "none":
        return each.to(input.dtype)
    if reduction == "sum":
        return each.sum().to(input.dtype)
    if reduction != "mean":
        raise ValueError(
            f"linear_cross_entropy: reduction must be 'none', 'mean' or 'sum', got {reduction!r}"
        )
    if target.is_floating_point():
        return each.mean().to(input.dtype)
    counts = target != ignore
    if weight is None:
        total = counts.sum()
    else:
        total = (weight[target.masked_fill(~counts, 0)] * counts).sum()
    return (each.sum() / total).to(input.dtype)


def _check(input: Tensor, weight: Tensor, bias: Tensor | None) -> tuple[int, ...]:
    """The dimensions between classes and features."""
    if input.ndim not in (1, 2) or weight.ndim < 2:
        raise _C.ShapeError(
            "linear_cross_entropy: input must have 1 or 2 dimensions and linear_weight at least 2, "
            f"got shapes {tuple(input.shape)} and {tuple(weight.shape)}"
        )
    if input.shape[-1] != weight.shape[-1]:
        raise _C.ShapeError(
            f"linear_cross_entropy: input of shape {tuple(input.shape)} and linear_weight of shape "
            f"{tuple(weight.shape)} must agree in the last dimension"
        )
    if bias is not None and bias.shape != weight.shape[:-1]:
        raise _C.ShapeError(
            f"linear_cross_entropy: linear_bias must have shape {tuple(weight.shape[:-1])}, got "
            f"{tuple(bias.shape)}"
        )
    places = tuple(weight.shape[1:-1])
    if places and input.ndim == 1:
        raise _C.ShapeError(
            f"linear_cross_entropy: linear_weight of shape {tuple(weight.shape)} needs a batch, "
            f"got input of shape {tuple(input.shape)}; use input.unsqueeze(0)"
        )
    return places
