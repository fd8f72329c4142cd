"""Ops that move elements or relabel them: views first, then those that copy."""

import numpy as np

from tests.ops.op import Op, Sample


def _x(rng, *shape):
    return np.asarray(rng.normal(size=shape))


def _movedim(x, source, destination):
    return np.moveaxis(x, source, destination)


def _transpose(x, *dims, dim0=None, dim1=None):
    dims = dims[0] if len(dims) == 1 and isinstance(dims[0], tuple) else dims
    if dim0 is not None:
        dims = (dim0, dim1)
    if not dims:
        return np.swapaxes(x, -1, -2) if x.ndim > 1 else x
    return np.swapaxes(x, *dims) if len(dims) == 2 else np.transpose(x, dims)


def _unflatten(x, dim, sizes):
    dim = dim % x.ndim
    return x.reshape(x.shape[:dim] + tuple(sizes) + x.shape[dim + 1 :])


def _flatten(x, start_dim=0, end_dim=-1):
    if x.ndim == 0:
        return x.reshape(1)
    start, end = start_dim % x.ndim, end_dim % x.ndim
    return x.reshape(
        x.shape[:start] + (int(np.prod(x.shape[start : end + 1])),) + x.shape[end + 1 :]
    )


def _squeeze(x, dim=None):
    if dim is None:
        return np.squeeze(x)
    dims = {d % max(x.ndim, 1) for d in (dim if isinstance(dim, tuple) else (dim,))}
    return x.reshape([n for d, n in enumerate(x.shape) if not (d in dims and n == 1)])


def _diagonal(x, offset=0, dim1=0, dim2=1):
    return np.diagonal(x, offset, dim1, dim2)


def _unfold(x, dimension, size, step):
    if x.ndim == 0:
        return x.reshape(1)
    windows = np.lib.stride_tricks.sliding_window_view(x, size, dimension)
    return np.take(windows, range(0, x.shape[dimension] - size + 1, step), dimension)


def _as_strided(x, size, stride, storage_offset=0):
    flat = np.ascontiguousarray(x).reshape(-1)[storage_offset:]
    item = x.itemsize
    return np.lib.stride_tricks.as_strided(flat, size, [s * item for s in stride])


def _split(x, size, dim=0):
    n = x.shape[dim]
    if not isinstance(size, int):
        return np.split(x, np.cumsum(size)[:-1], dim)
    return np.split(x, range(size, n, size), dim) if n else [x]


def _chunk(x, chunks, dim=0):
    return _split(x, -(-x.shape[dim] // chunks), dim)


def _tensor_split(x, indices_or_sections, dim=0):
    if isinstance(indices_or_sections, tuple):
        indices_or_sections = list(indices_or_sections)
    return np.array_split(x, indices_or_sections, dim)


def _unbind(x, dim=0):
    return list(np.moveaxis(x, dim, 0))


def _narrow(x, dim, start, length):
    start = start % x.shape[dim] if start < 0 else start
    return np.take(x, range(start, start + length), dim)


def _slice(x, dim=0, start=None, end=None, step=1):
    return x[(slice(None),) * (dim % x.ndim) + (slice(start, end, step),)]


def _meshgrid(*xs, indexing="ij"):
    return np.meshgrid(*xs, indexing=indexing)


def _atleast_3d(x):
    return x[None, :, None] if x.ndim == 1 else np.atleast_3d(x)


def _block_diag(*xs):
    blocks = [np.atleast_2d(x) for x in xs]
    out = np.zeros(
        (sum(b.shape[0] for b in blocks), sum(b.shape[1] for b in blocks)), blocks[0].dtype
    )
    row = col = 0
    for b in blocks:
        out[row : row + b.shape[0], col : col + b.shape[1]] = b
        row, col = row + b.shape[0], col + b.shape[1]
    return out


def _cartesian_prod(*xs):
    if len(xs) == 1:
        return xs[0]
    return np.stack([g.reshape(-1) for g in np.meshgrid(*xs, indexing="ij")], -1)


def _tile(x, dims):
    return np.tile(x, dims)


def _repeat_interleave(x, repeats=None, dim=None, output_size=None):
    return np.repeat(np.arange(len(x)), x) if repeats is None else np.repeat(x, repeats, dim)


def _diag_embed(x, offset=0, dim1=-2, dim2=-1):
    n = x.shape[-1] + abs(offset)
    out = np.zeros((*x.shape[:-1], n, n), x.dtype)
    i = np.arange(x.shape[-1])
    out[..., i + max(-offset, 0), i + max(offset, 0)] = x
    ndim = out.ndim
    first, second = dim1 % ndim, dim2 % ndim
    rest = [d for d in range(ndim) if d not in (first, second)]
    order = np.empty(ndim, int)
    order[rest], order[first], order[second] = range(ndim - 2), ndim - 2, ndim - 1
    return out.transpose(order)


SQUEEZABLE = [(2, 1, 3, 1), (1, 1), (2, 3), (0, 1)]

RESHAPED = dict(view=True, layouts=False)  # changes its first argument, which is its result

OPS: list[Op] = [
    # --- views
    Op("reshape", np.reshape, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 6), (3, 4)),
           Sample(_x(rng, 2, 6), (-1,)),
           Sample(_x(rng), (1, 1)),
           Sample(_x(rng, 0, 3), (3, 0)),
           Sample(_x(rng, 1), ()),
       ],
       raises=[((np.ones((2, 3)), (4,)), {}, ValueError, r"\(2, 3\).*\(4,\)"),
               ((np.ones((2, 3)), (-1, -1)), {}, ValueError, "-1"),
               ((np.ones((2, 0)), (-1, 0)), {}, ValueError, r"\(2, 0\)"),
               ((np.ones((2, 3)), (-2, 3)), {}, ValueError, "negative")], complex=True),
    Op("reshape_as", lambda x, other: x.reshape(other.shape), view=True, dtypes="all", fixed=(1,),
       samples=lambda rng: [Sample(_x(rng, 2, 6), _x(rng, 3, 4))]),
    Op("view", lambda x, shape: np.reshape(x, shape), view=True, dtypes="all", layouts=False,
       samples=lambda rng: [
           Sample(_x(rng, 2, 6), (3, 4)),
           Sample(_x(rng, 2, 6), (2, -1, 3)),
           Sample(_x(rng), (1,)),
       ],
       raises=[((np.ones((2, 3)), (4, 2)), {}, ValueError, r"\(2, 3\).*\(4, 2\)"),
               ((np.ones((2, 3)), "no dtype"), {}, TypeError, "dtype")]),
    Op("view_as", lambda x, other: x.reshape(other.shape), view=True, layouts=False, fixed=(1,),
       samples=lambda rng: [Sample(_x(rng, 2, 6), _x(rng, 3, 4))]),
    Op("flatten", _flatten, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 3, 2)), Sample(_x(rng, 2, 3, 2), 1), Sample(_x(rng, 2, 3, 2), 0, 1),
           Sample(_x(rng, 2, 3, 2), start_dim=-2, end_dim=-1), Sample(_x(rng)), Sample(_x(rng, 0, 3)),
       ],
       raises=[((np.ones((2, 3)), 1, 0), {}, ValueError, "start_dim"),
               ((np.ones((2, 3)), 3), {}, IndexError, "dim")]),
    Op("unflatten", _unflatten, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 6), 1, (2, 3)), Sample(_x(rng, 6, 2), -2, (3, -1)),
           Sample(_x(rng, 0, 2), 0, (0, 4)),
       ],
       raises=[((np.ones((2, 3)), 1, (2, 2)), {}, ValueError, "3"),
               ((np.ones((2, 3)), 1, ()), {}, ValueError, "sizes")]),
    Op("ravel", np.ravel, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng)), Sample(_x(rng, 0, 3))]),
    Op("squeeze", _squeeze, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, *s)) for s in SQUEEZABLE] + [Sample(_x(rng))] + [
           Sample(_x(rng, 2, 1, 3, 1), 1), Sample(_x(rng, 2, 1, 3, 1), dim=-1),
           Sample(_x(rng, 2, 1, 3, 1), 0), Sample(_x(rng, 2, 1, 3, 1), (1, 3)),
           Sample(_x(rng, 2, 1, 3, 1), (0, -1)), Sample(_x(rng), 0),
       ],
       raises=[((np.ones((2, 3)), 2), {}, IndexError, "squeeze.*dim")]),
    Op("unsqueeze", np.expand_dims, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 3), 0), Sample(_x(rng, 2, 3), 2), Sample(_x(rng, 2, 3), -2),
           Sample(_x(rng), 0), Sample(_x(rng, 0, 2), -1),
       ],
       raises=[((np.ones((2, 3)), 3), {}, IndexError, "unsqueeze.*dim")]),
    Op("transpose", _transpose, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 0, 2), Sample(_x(rng, 2, 3), -1, 0),
                            Sample(_x(rng, 2, 3), dim0=0, dim1=1), Sample(_x(rng, 0, 3), 0, 1)],
       raises=[((np.ones((2, 3)), 0, 2), {}, IndexError, "transpose.*dim"),
               ((np.ones((2, 3)), 0, 1, 1), {}, ValueError, "dims")], complex=True),
    Op("transpose", _transpose, variant="spec", view=True, dtypes="all",
       unlike_torch="a tuple of dims, or none, is an extension",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4)), Sample(_x(rng, 2, 3, 4), (0, 1)),
                            Sample(_x(rng, 2, 3, 4), (2, 0, 1)), Sample(_x(rng, 3)),
                            Sample(_x(rng))]),
    Op("swapaxes", np.swapaxes, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 0, -1)]),
    Op("swapdims", np.swapaxes, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 1, 0)]),
    Op("t", np.transpose, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng, 3)), Sample(_x(rng))],
       raises=[((np.ones((2, 3, 4)),), {}, ValueError, r"\(2, 3, 4\)")]),
    # --- in place: the tensor itself gets the shape
    Op("squeeze_", _squeeze, dtypes="all", **RESHAPED,
       samples=lambda rng: [Sample(_x(rng, 2, 1, 3, 1)), Sample(_x(rng, 2, 1, 3, 1), -1), Sample(_x(rng, 2, 1), 0),
                            Sample(_x(rng, 1, 1, 2), (0, 1)), Sample(_x(rng))],
       raises=[((np.ones((2, 1)), 2), {}, IndexError, "squeeze.*dim")]),
    Op("unsqueeze_", np.expand_dims, dtypes="all", **RESHAPED,
       samples=lambda rng: [Sample(_x(rng, 2, 3), 0), Sample(_x(rng, 2, 3), -1), Sample(_x(rng), 0), Sample(_x(rng, 0, 2), 1)],
       raises=[((np.ones((2, 3)), 3), {}, IndexError, "unsqueeze.*dim")]),
    Op("transpose_", _transpose, dtypes="all", **RESHAPED,
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 0, 2), Sample(_x(rng, 2, 3), dim0=0, dim1=-1)],
       raises=[((np.ones((2, 3)), 0, 2), {}, IndexError, "transpose.*dim")]),
    Op("swapaxes_", np.swapaxes, dtypes="all", **RESHAPED, samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 0, -1)]),
    Op("swapdims_", np.swapaxes, dtypes="all", **RESHAPED, samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 1, 0)]),
    Op("t_", np.transpose, dtypes="all", **RESHAPED, samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng, 3))],
       raises=[((np.ones((2, 3, 4)),), {}, ValueError, r"\(2, 3, 4\)")]),
    Op("as_strided_", _as_strided, dtypes="all", **RESHAPED,
       samples=lambda rng: [Sample(_x(rng, 3, 4), (2, 2), (4, 1)), Sample(_x(rng, 3, 4), (3, 3), (1, 2), 1)],
       raises=[((np.ones(4), (3,), (2,)), {}, ValueError, "outside")]),
    Op("permute", np.transpose, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 4), (2, 0, 1)), Sample(_x(rng, 2, 3), (-1, 0)),
                            Sample(_x(rng, 0, 3), (1, 0))],
       raises=[((np.ones((2, 3)), (0, 0)), {}, ValueError, "twice"),
               ((np.ones((2, 3)), (0,)), {}, ValueError, r"\(2, 3\)"),
               ((np.ones((2, 3)), (0, 2)), {}, IndexError, "dim")]),
    *(Op(name, _movedim, view=True, dtypes="all",
         samples=lambda rng: [Sample(_x(rng, 2, 3, 4), 0, 2), Sample(_x(rng, 2, 3, 4), -1, 0),
                              Sample(_x(rng, 2, 3, 4), (0, 1), (1, 2))],
         raises=[((np.ones((2, 3)), (0, 1), (0,)), {}, ValueError, "movedim"),
                 ((np.ones((2, 3)), (0, 0), (0, 1)), {}, ValueError, "twice")])
      for name in ("movedim", "moveaxis")),
    Op("expand", np.broadcast_to, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 1), (2, 3)),
           Sample(_x(rng), (2, 2)),
           Sample(_x(rng, 1, 0), (3, 0)),
           Sample(_x(rng, 3), (2, 1, 3)),
       ],
       raises=[((np.ones((2, 3)), (2, 4)), {}, ValueError, r"\(2, 3\).*\(2, 4\)"),
               ((np.ones((2, 3)), (3,)), {}, ValueError, "fewer"),
               ((np.ones((3,)), (-1, 3)), {}, ValueError, "expand")], complex=True),
    Op("expand_as", lambda x, other: np.broadcast_to(x, other.shape), view=True, fixed=(1,),
       samples=lambda rng: [Sample(_x(rng, 2, 1), _x(rng, 2, 3))]),
    Op("broadcast_to", np.broadcast_to, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 1), (4, 2, 3)), Sample(_x(rng), (2,))]),
    Op("select", lambda x, dim, index: np.take(x, index, dim), view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3, 2), 1, 2), Sample(_x(rng, 2, 3), -1, -1),
                            Sample(_x(rng, 4), 0, 0)],
       raises=[((np.ones((2, 3)), 1, 3), {}, IndexError, "index 3.*dimension 1.*size 3"),
               ((np.ones((2, 3)), 2, 0), {}, IndexError, "dim"),
               ((np.ones(()), 0, 0), {}, IndexError, "0-d")]),
    Op("slice", _slice, view=True, dtypes="all", unlike_torch="not a method there",
       samples=lambda rng: [Sample(_x(rng, 5, 3), 0, 1, 4), Sample(_x(rng, 2, 5), -1, -4, None, 2),
                            Sample(_x(rng, 5), 0, 3, 1)],
       raises=[((np.ones(3), 0, 2, 0, -1), {}, ValueError, "flip")]),
    Op("narrow", _narrow, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 5, 3), 0, 1, 3), Sample(_x(rng, 2, 4), -1, -3, 2),
                            Sample(_x(rng, 4), 0, 4, 0)],
       raises=[((np.ones((2, 3)), 1, 1, 3), {}, ValueError, "size 3"),
               ((np.ones((2, 3)), 1, 4, 0), {}, IndexError, "start"),
               ((np.ones((2, 3)), 1, 0, -1), {}, ValueError, "-1")]),
    Op("diagonal", _diagonal, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 3, 4)), Sample(_x(rng, 3, 4), 1), Sample(_x(rng, 3, 4), -2),
           Sample(_x(rng, 2, 3, 2), offset=0, dim1=-1, dim2=0), Sample(_x(rng, 3, 4), 7),
           Sample(_x(rng, 0, 2)),
       ],
       raises=[((np.ones((2, 3)), 0, 1, 1), {}, ValueError, "dim"),
               ((np.ones(3),), {}, ValueError, r"\(3,\)")]),
    Op("Tensor.unfold", _unfold, method=False, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 7), 0, 3, 2), Sample(_x(rng, 2, 5), 1, 2, 1), Sample(_x(rng, 4, 2), 0, 4, 9),
           Sample(_x(rng), 0, 1, 1),
       ],
       raises=[((np.ones(3), 0, 4, 1), {}, ValueError, "window.*4"),
               ((np.ones(3), 0, 2, 0), {}, ValueError, "step")]),
    Op("as_strided", _as_strided, view=True, dtypes="all", layouts=False,
       samples=lambda rng: [
           Sample(_x(rng, 3, 4), (2, 2), (4, 1)), Sample(_x(rng, 3, 4), (3, 3), (1, 2), 1),
           Sample(_x(rng, 3, 4), (5,), (0,), 3), Sample(_x(rng, 6), (4, 3), (1, 1)),
       ],
       raises=[((np.ones(4), (3,), (2,)), {}, ValueError, "outside"),
               ((np.ones(4), (2,), (-1,)), {}, ValueError, "negative"),
               ((np.ones(4), (2, 2), (1,)), {}, ValueError, "strides"),
               ((np.ones(4), (2,), (1,), -1), {}, ValueError, "outside")]),
    # --- several views
    Op("split", _split, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 5, 2), 2), Sample(_x(rng, 2, 5), [1, 0, 4], 1), Sample(_x(rng, 3), 5),
           Sample(_x(rng, 0, 2), 3), Sample(_x(rng, 2, 4), 4, dim=-1),
       ],
       raises=[((np.ones(4), 0), {}, ValueError, "positive"),
               ((np.ones(4), [1, 2]), {}, ValueError, "3.*4"),
               ((np.ones(()), 1), {}, ValueError, "0-d")]),
    Op("split_with_sizes", _split, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 5, 2), [2, 3]), Sample(_x(rng, 2, 3), (3, 0), -1)],
       raises=[((np.ones(4), [5, -1]), {}, ValueError, "negative")]),
    Op("chunk", _chunk, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 7, 2), 3), Sample(_x(rng, 2, 5), 4, -1),
                            Sample(_x(rng, 2), 5)],
       raises=[((np.ones(4), 0), {}, ValueError, "positive")]),
    Op("tensor_split", _tensor_split, view=True, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 7, 2), 3), Sample(_x(rng, 2, 5), (1, 3), -1), Sample(_x(rng, 2), 4),
           Sample(_x(rng, 5), (-2, 9)), Sample(_x(rng, 5), (3, 1)), Sample(_x(rng, 5), np.array([1, 4])),
           Sample(_x(rng, 5), np.array(2)),
       ],
       raises=[((np.ones(4), 0), {}, ValueError, "positive"),
               ((np.ones(4), np.ones((1, 2), np.int64)), {}, ValueError, "1-d tensor of integers")]),
    Op("hsplit", np.hsplit, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 4), 2), Sample(_x(rng, 4), 2),
                            Sample(_x(rng, 2, 4), (1, 3))],
       raises=[((np.ones((2, 3)), 2), {}, ValueError, "size 3")]),
    Op("vsplit", np.vsplit, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 4, 2), 2), Sample(_x(rng, 4, 2), (1,))],
       raises=[((np.ones(4), 2), {}, ValueError, "2 dimensions")]),
    Op("dsplit", np.dsplit, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 1, 2, 4), 2)],
       raises=[((np.ones((2, 2)), 2), {}, ValueError, "3 dimensions")]),
    Op("unbind", _unbind, view=True, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 3, 2)), Sample(_x(rng, 2, 3), -1), Sample(_x(rng, 3)),
                            Sample(_x(rng, 2, 0))],
       raises=[((np.ones(()),), {}, ValueError, "0-d")]),
    # --- joining
    *(Op(name, lambda arrays, dim=0: np.concatenate([a for a in arrays if a.shape != (0,)], dim),
         dtypes="all", method=False,
         samples=lambda rng: [
             Sample([_x(rng, 2, 3), _x(rng, 1, 3)]),
             Sample([_x(rng, 2, 1), _x(rng, 2, 2)], dim=-1),
             Sample([_x(rng, 2, 0), _x(rng, 2, 2)], 1),
             Sample([_x(rng, 0), _x(rng, 2, 2)]),
             Sample((_x(rng, 3),)),
         ],
         raises=[(([np.ones((2, 3)), np.ones((2, 2))],), {}, ValueError, r"\(2, 2\).*\(2, 3\)"),
                 (([np.ones(())],), {}, ValueError, "0-d"),
                 (([],), {}, ValueError, "at least one"),
                 (([np.ones(2)], 1), {}, IndexError, "dim"),
                 (([np.ones(2), 3],), {}, TypeError, "element 1")])
      for name in ("cat", "concat", "concatenate")),
    Op("stack", lambda arrays, dim=0: np.stack(arrays, dim), dtypes="all", method=False,
       samples=lambda rng: [
           Sample([_x(rng, 2, 3), _x(rng, 2, 3)]), Sample([_x(rng, 2, 3), _x(rng, 2, 3)], dim=-1),
           Sample([_x(rng), _x(rng), _x(rng)]), Sample([_x(rng, 0, 2)], 1),
       ],
       raises=[(([np.ones(2), np.ones(3)],), {}, ValueError, r"\(3,\).*\(2,\)"),
               (([],), {}, ValueError, "at least one")], complex=True),
    Op("hstack", np.hstack, dtypes="all", method=False,
       samples=lambda rng: [Sample([_x(rng, 2), _x(rng, 3)]), Sample([_x(rng, 2, 1), _x(rng, 2, 3)]),
                            Sample([_x(rng), _x(rng)])]),
    *(Op(name, np.vstack, dtypes="all", method=False,
         samples=lambda rng: [Sample([_x(rng, 2), _x(rng, 2)]), Sample([_x(rng, 1, 2), _x(rng, 3, 2)])])
      for name in ("vstack", "row_stack")),
    Op("dstack", lambda arrays: np.concatenate([_atleast_3d(a) for a in arrays], 2), dtypes="all",
       method=False,
       samples=lambda rng: [Sample([_x(rng, 2), _x(rng, 2)]),
                            Sample([_x(rng, 2, 3), _x(rng, 2, 3)])]),
    Op("column_stack", np.column_stack, dtypes="all", method=False,
       samples=lambda rng: [Sample([_x(rng, 2), _x(rng, 2)]), Sample([_x(rng, 2), _x(rng, 2, 3)])]),
    Op("block_diag", _block_diag, dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng, 2, 3), _x(rng, 1, 2)), Sample(_x(rng, 2), _x(rng)),
                            Sample(_x(rng, 0, 2), _x(rng, 1, 1))],
       raises=[((np.ones((2, 2, 2)),), {}, ValueError, r"\(2, 2, 2\)")]),
    Op("cartesian_prod", _cartesian_prod, dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng, 2), _x(rng, 3)), Sample(_x(rng, 2), _x(rng, 1), _x(rng, 3)),
                            Sample(_x(rng, 0), _x(rng, 2))],
       raises=[((np.ones((2, 2)),), {}, ValueError, "vector")]),
    Op("meshgrid", _meshgrid, view="each", dtypes="all", method=False, layouts=False,
       samples=lambda rng: [
           Sample(_x(rng, 2), _x(rng, 3), _x(rng, 2), indexing="xy"),
           Sample(_x(rng, 2), _x(rng, 3), indexing="ij"), Sample(_x(rng, 2), _x(rng), indexing="ij"),
           Sample(_x(rng, 2), indexing="xy"),
       ],
       raises=[((np.ones(2), np.ones(2)), {"indexing": "ii"}, ValueError, "indexing"),
               ((np.ones((2, 2)),), {}, ValueError, "vector")]),
    Op("broadcast_tensors", np.broadcast_arrays, view="each", dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng, 2, 1), _x(rng, 3)), Sample(_x(rng), _x(rng, 1, 2))],
       raises=[((np.ones(2), np.ones(3)), {}, ValueError, r"\(2,\).*\(3,\)")]),
    Op("broadcast_shapes", lambda *shapes: np.broadcast_shapes(*shapes), grad=False, method=False,
       samples=lambda rng: [Sample((2, 1), (3,)), Sample((), (2, 0)), Sample(3, (2, 1))],
       raises=[(((2,), (3,)), {}, ValueError, r"\(2,\).*\(3,\)")]),
    Op("atleast_1d", np.atleast_1d, view=True, dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng)), Sample(_x(rng, 2)), Sample(_x(rng, 2, 3))]),
    Op("atleast_2d", np.atleast_2d, view=True, dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng)), Sample(_x(rng, 2)), Sample(_x(rng, 2, 3))]),
    Op("atleast_3d", _atleast_3d, view=True, dtypes="all", method=False,
       samples=lambda rng: [Sample(_x(rng)), Sample(_x(rng, 2)), Sample(_x(rng, 2, 3)),
                            Sample(_x(rng, 1, 2, 3, 1))]),
    # --- repeating
    Op("repeat", _tile, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3), (2, 2)), Sample(_x(rng, 3), (2, 1, 2)),
                            Sample(_x(rng), (3,)), Sample(_x(rng, 2), (0,)), Sample(_x(rng), ())],
       raises=[((np.ones((2, 3)), (2,)), {}, ValueError, "repeat"),
               ((np.ones(2), (-1,)), {}, ValueError, "negative")]),
    Op("tile", _tile, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3), (2,)), Sample(_x(rng, 3), (2, 2)),
                            Sample(_x(rng, 2, 1), (1, 3))]),
    Op("repeat_interleave", _repeat_interleave, dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 2, 3), 2), Sample(_x(rng, 2, 3), 3, dim=0), Sample(_x(rng, 2, 3), 2, -1),
           Sample(_x(rng, 2, 3), np.array([2, 0, 1]), 1), Sample(_x(rng, 4), np.array([1, 2, 0, 3])),
           Sample(_x(rng, 2, 3), np.array([2]), 1), Sample(_x(rng), 3),
           Sample(_x(rng, 2), np.array([1, 2]), 0, output_size=3),
       ],
       raises=[((np.ones(2), -1), {}, ValueError, "negative"),
               ((np.ones(2), np.array([1, 2, 3])), {}, ValueError, "repeats"),
               ((np.ones(2), np.array([1, -2])), {}, ValueError, "negative"),
               ((np.ones(2), 2), {"output_size": 3}, ValueError, "output_size")]),
    Op("repeat_interleave", _repeat_interleave, variant="positions", grad=False,
       samples=lambda rng: [Sample(np.array([2, 0, 1]))]),
    # --- reversing
    Op("flip", lambda x, dims: np.flip(x, dims), dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3), (0,)), Sample(_x(rng, 2, 3), (0, 1)),
                            Sample(_x(rng, 2, 3), (-1,)), Sample(_x(rng, 0, 2), (0,)),
                            Sample(_x(rng, 2, 3, 40), (2,)), Sample(_x(rng, 2), ())],
       raises=[((np.ones((2, 3)), (0, 0)), {}, ValueError, "twice"),
               ((np.ones((2, 3)), (2,)), {}, IndexError, "flip.*dim")], complex=True),
    Op("fliplr", np.fliplr, dtypes="all", samples=lambda rng: [Sample(_x(rng, 2, 3))],
       raises=[((np.ones(2),), {}, ValueError, r"\(2,\)")]),
    Op("flipud", np.flipud, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng, 3))],
       raises=[((np.ones(()),), {}, ValueError, "1 dimension")]),
    Op("roll", lambda x, shifts, dims=None: np.roll(x, shifts, dims), dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 4), 1), Sample(_x(rng, 2, 3), 2), Sample(_x(rng, 2, 3), -1, 1),
           Sample(_x(rng, 2, 3), (1, 7), (0, -1)), Sample(_x(rng, 0, 3), 1, 0), Sample(_x(rng), 1),
       ],
       raises=[((np.ones((2, 3)), (1, 2), 0), {}, ValueError, "shifts"),
               ((np.ones((2, 3)), 1, 2), {}, IndexError, "dim")], complex=True),
    Op("rot90", lambda x, k=1, dims=(0, 1): np.rot90(x, k, dims), dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng, 2, 3), 2), Sample(_x(rng, 2, 3), -1),
                            Sample(_x(rng, 2, 3, 2), 1, (1, 2)), Sample(_x(rng, 2, 3), 4)],
       raises=[((np.ones((2, 3)), 1, (0, 0)), {}, ValueError, "rot90"),
               ((np.ones(2),), {}, ValueError, r"\(2,\)")]),
    # --- diagonals and triangles
    Op("diag", lambda x, diagonal=0: np.diag(x, diagonal), dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 3)), Sample(_x(rng, 2), 1), Sample(_x(rng, 2), -2),
                            Sample(_x(rng, 3, 4)), Sample(_x(rng, 3, 4), -1)],
       raises=[((np.ones((2, 2, 2)),), {}, ValueError, r"\(2, 2, 2\)")], complex=True),
    Op("diag_embed", _diag_embed, dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 3)), Sample(_x(rng, 3), 1),
                            Sample(_x(rng, 2, 2), -1, 0, 2), Sample(_x(rng, 2, 0))],
       raises=[((np.ones(2), 0, 1, 1), {}, ValueError, "dim")]),
    Op("diagflat", lambda x, offset=0: np.diagflat(x, offset), dtypes="all",
       samples=lambda rng: [Sample(_x(rng, 2, 2)), Sample(_x(rng, 2), -1), Sample(_x(rng))]),
    *(Op(name, reference, dtypes="all", inplace=True,
         samples=lambda rng: [
             Sample(_x(rng, 3, 4)), Sample(_x(rng, 4, 3), 1), Sample(_x(rng, 2, 3, 3), diagonal=-1),
             Sample(_x(rng, 3, 2), -9), Sample(_x(rng, 3, 2), 9), Sample(_x(rng, 0, 2)),
         ],
         raises=[((np.ones(3),), {}, ValueError, r"\(3,\)")])
      for name, reference in (
          ("tril", lambda x, diagonal=0: np.tril(x, diagonal)),
          ("triu", lambda x, diagonal=0: np.triu(x, diagonal)),
      )),
    *(Op(name, reference, grad=False, method=False,
         samples=lambda rng: [Sample(3, 4), Sample(4, 3, 1), Sample(3, 3, -1), Sample(0, 2),
                              Sample(2, 3, offset=-5)],
         raises=[((-1, 2), {}, ValueError, "negative")])
      for name, reference in (
          ("tril_indices", lambda r, c, offset=0: np.array(np.tril_indices(r, offset, c))),
          ("triu_indices", lambda r, c, offset=0: np.array(np.triu_indices(r, offset, c))),
      )),
]  # fmt: skip
