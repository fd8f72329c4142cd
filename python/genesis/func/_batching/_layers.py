"""Rules of layers: convolutions, pools, norms, attention, recurrent layers."""

from __future__ import annotations

from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.func._batching._tensor import Call, batch_of, is_at, looped, rule


def folded(value: Tensor) -> Tensor:
    """The batch and the dimension after it as one."""
    return value.reshape(value.shape[0] * value.shape[1], *value.shape[2:])


def unfolded(value: Tensor, size: int) -> Tensor:
    return value.reshape(size, value.shape[0] // size if size else 0, *value.shape[1:])


@rule("conv1d", "conv2d", "conv3d", "conv_transpose1d", "conv_transpose2d", "conv_transpose3d")
def conv(call: Call) -> Any:
    bound = call.bind()
    x, weight, bias = bound.pop("input"), bound.pop("weight"), bound.pop("bias", None)
    level, n = call.level, int(call.op.name[-2])
    lines = x.ndim == n + 2  # it has a dimension of samples
    if is_at(bias, level) and not (is_at(weight, level)):
        out = call.op.func(x, weight, None, **bound)
        return out + bias.reshape(-1, *(1,) * n)
    if not is_at(weight, level):
        if not lines:
            return call.result(call.op.func(x._value, weight, bias, **bound))
        return call.result(
            unfolded(call.op.func(folded(x._value), weight, bias, **bound), level.size)
        )
    groups = bound.pop("groups", 1)
    value = batch_of(x, level)
    if not lines:
        value = value.unsqueeze(1)
    samples = value.movedim(0, 1)  # samples, batch, channels
    n_samples, _, channels = samples.shape[:3]
    samples = samples.reshape(n_samples, level.size * channels, *samples.shape[3:])
    line = None if bias is None else batch_of(bias, level).reshape(-1)
    out = call.op.func(samples, folded(weight._value), line, groups=groups * level.size, **bound)
    each = out.shape[1] // level.size
    out = out.reshape(n_samples, level.size, each, *out.shape[2:]).movedim(1, 0)
    return call.result(out if lines else out.squeeze(1))


def _pooled(call: Call, n: int) -> Any:
    """Operators on (samples, channels, ...) with ``n`` dimensions after these."""
    tensors = [a for a in call.args if isinstance(a, Tensor)]
    lines = tensors[0].ndim == n + 2
    args = [
        (folded(batch_of(a, call.level)) if lines else batch_of(a, call.level))
        if isinstance(a, Tensor)
        else a
        for a in call.args
    ]
    result = call.op.func(*args, **call.kwargs)
    if lines:
        size = call.level.size
        result = (
            unfolded(result, size)
            if isinstance(result, Tensor)
            else tuple(unfolded(r, size) for r in result)
        )
    return call.result(result)


@rule("max_pool1d", "max_pool2d", "max_pool3d", "avg_pool1d", "_avg_pool2d", "_avg_pool3d")
def pool(call: Call) -> Any:
    return _pooled(call, int(call.op.name[-2]))


@rule("_adaptive_avg_pool", "_adaptive_max_pool")
def adaptive(call: Call) -> Any:
    return _pooled(call, len(call.bind()["output_size"]))


@rule("_max_unpool")
def unpool(call: Call) -> Any:
    return _pooled(call, len(call.bind()["output_size"]))


@rule("_unfold_windows", "_fold_windows")
def windows(call: Call) -> Any:
    if call.op.name == "_fold_windows":
        return _pooled(call, 1)
    kernel = call.bind()["kernel_size"]
    return _pooled(call, 2 if isinstance(kernel, int) else len(kernel))


@rule("_resample")
def resample(call: Call) -> Any:
    x = call.args[0]
    out = call.op.func(folded(x._value), *call.args[1:], **call.kwargs)
    return call.result(unfolded(out, call.level.size))


def _affine(out: Tensor, weight: Any, bias: Any) -> Tensor:
    if weight is not None:
        out = out * weight
    return out if bias is None else out + bias


@rule("layer_norm", "rms_norm")
def layer_norm(call: Call) -> Any:
    bound = call.bind()
    x, weight, bias = bound.pop("input"), bound.pop("weight", None), bound.pop("bias", None)
    shape, level = bound.pop("normalized_shape"), call.level
    plain = is_at(x, level) and not is_at(weight, level) and not is_at(bias, level)
    if plain:
        parts = (
            {"weight": weight} if call.op.name == "rms_norm" else {"weight": weight, "bias": bias}
        )
        return call.result(call.op.func(x._value, shape, **parts, **bound))
    return _affine(call.op.func(x, shape, **bound), weight, bias)


@rule("group_norm")
def group_norm(call: Call) -> Any:
    bound = call.bind()
    x, weight, bias = bound.pop("input"), bound.pop("weight", None), bound.pop("bias", None)
    level = call.level
    if is_at(x, level) and not is_at(weight, level) and not is_at(bias, level):
        out = _C.group_norm(
            folded(x._value), bound["num_groups"], weight, bias, bound.get("eps", 1e-5)
        )
        return call.result(unfolded(out, level.size))
    out = _C.group_norm(x, bound["num_groups"], None, None, bound.get("eps", 1e-5))
    shape = (-1, *(1,) * (x.ndim - 2))
    return _affine(
        out,
        None if weight is None else weight.reshape(shape),
        None if bias is None else bias.reshape(shape),
    )


@rule("_batch_norm")
def batch_norm(call: Call) -> Any:
    bound = call.bind()
    x = bound.pop("input")
    level = call.level
    mean, var = bound.pop("running_mean", None), bound.pop("running_var", None)
    weight, bias = bound.pop("weight", None), bound.pop("bias", None)
    training = bound.get("training", False)
    if training and mean is not None and not is_at(mean, level):
        raise RuntimeError(
            "vmap: batch_norm in training mode would update running_mean and running_var, which "
            "vmap does not map over, once for each element of the batch; use eval(), "
            "track_running_stats=False, or genesis.func.replace_all_batch_norm_modules_"
        )
    value = batch_of(x, level).movedim(0, 1)
    shape = value.shape
    merged = value.reshape(shape[0], shape[1] * shape[2], *shape[3:])

    def line(t: Any) -> Any:
        return None if t is None else batch_of(t, level).reshape(-1)

    stats = [line(mean), line(var)]
    out = _C._batch_norm(merged, stats[0], stats[1], line(weight), line(bias), **bound)
    if training and mean is not None:
        for own, new in zip((mean, var), stats, strict=True):
            own._value.copy_(new.reshape(own._value.shape))
    return call.result(out.reshape(shape).movedim(1, 0))


@rule("_scaled_dot_product_attention")
def attention(call: Call) -> Any:
    bound = call.bind()
    level = call.level
    query, key, value = (bound.pop(n) for n in ("query", "key", "value"))
    mask = bound.pop("attn_mask", None)
    rank = max(query.ndim, key.ndim, value.ndim, mask.ndim if mask is not None else 0)
    if bound.get("dropout_p", 0.0) > 0.0:
        from genesis.func._batching._random import draw

        return draw(call)

    def raised(x: Any) -> Any:
        if x is None:
            return None
        v = batch_of(x, level)
        return v.reshape(level.size, *(1,) * (rank - x.ndim), *x.shape)

    out = call.op.func(raised(query), raised(key), raised(value), raised(mask), **bound)
    return call.result(out)


@rule("_recurrent_layer")
def recurrent(call: Call) -> Any:
    bound = call.bind()
    mode, x = bound["mode"], bound["input"]
    level = call.level
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh", "weight_hr")
    weights = [bound.get(n) for n in names]
    if bound.get("batch_sizes") is not None or x.ndim != 3:
        return looped(call)
    h, c = bound.get("h0"), bound.get("c0")
    if not any(is_at(w, level) for w in weights):
        value = batch_of(x, level).movedim(0, 1)
        merged = value.reshape(value.shape[0], -1, value.shape[-1])

        def state(t: Any) -> Any:
            return None if t is None else folded(batch_of(t, level))

        parts = dict(zip(names, weights, strict=True))
        outs = call.op.func(
            mode, merged, None, state(h), state(c), **parts, reverse=bound.get("reverse", False)
        )
        steps = outs[0].reshape(outs[0].shape[0], level.size, -1, outs[0].shape[-1]).movedim(1, 0)
        states = [o if o is None else unfolded(o, level.size) for o in outs[1:]]
        return call.result([steps, *states])
    return _unrolled(mode, x, h, c, weights, bound.get("reverse", False))


def _unrolled(mode: str, x: Tensor, h: Any, c: Any, weights: list[Any], reverse: bool) -> list[Any]:
    """A recurrent layer, step by step: each element of a batch has its own weights."""
    w_ih, w_hh, b_ih, b_hh, w_hr = weights
    hidden = w_hh.shape[1]
    if h is None:
        h = x.new_zeros(x.shape[1], hidden)
    if c is None and mode == "LSTM":
        c = x.new_zeros(x.shape[1], w_hh.shape[0] // 4)
    inputs = _C.linear(x, w_ih, b_ih)
    order = range(x.shape[0])
    outs: list[Tensor] = []
    for t in reversed(order) if reverse else order:
        recurrent_part = _C.linear(h, w_hh, b_hh)
        if mode == "LSTM":
            i, f, g, o = (inputs[t] + recurrent_part).chunk(4, -1)
            c = f.sigmoid() * c + i.sigmoid() * g.tanh()
            h = o.sigmoid() * c.tanh()
            if w_hr is not None:
                h = _C.linear(h, w_hr)
        elif mode == "GRU":
            xr, xz, xn = inputs[t].chunk(3, -1)
            hr, hz, hn = recurrent_part.chunk(3, -1)
            z = (xz + hz).sigmoid()
            n = (xn + (xr + hr).sigmoid() * hn).tanh()
            h = (1 - z) * n + z * h
        else:
            pre = inputs[t] + recurrent_part
            h = pre.tanh() if "tanh" in mode.lower() else pre.relu()
        outs.append(h)
    if reverse:
        outs.reverse()
    return [_C.stack(outs), h, c]
