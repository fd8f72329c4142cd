"""Reading and writing by index. More of it, on random indices, in tests/core/test_indexing.py."""

import numpy as np

from tests.ops.op import Op, Sample


def _x(rng, *shape):
    return np.asarray(rng.normal(size=shape))


def _ints(*values):
    return np.array(values)


def _index_put(x, indices, values, accumulate=False):
    out = x.copy()
    index = tuple(slice(None) if i is None else i for i in indices)
    if accumulate:
        np.add.at(out, index, values)
    else:
        out[index] = values
    return out


MASK = np.array([[True, False, True], [False, False, True]])

OPS: list[Op] = [
    Op("__getitem__", lambda x, index: x[index], view=True, variant="basic", dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 3, 4), 1), Sample(_x(rng, 3, 4), (-1, 2)), Sample(_x(rng, 3, 4), slice(1, 3)),
           Sample(_x(rng, 5, 4), (slice(None, None, 2), slice(1, None, 2))),
           Sample(_x(rng, 2, 3, 2), (..., 1)), Sample(_x(rng, 2, 3), (None, slice(None), None, 0)),
           Sample(_x(rng, 2, 3), ...), Sample(_x(rng, 2, 3), ()), Sample(_x(rng), ...),
           Sample(_x(rng, 2, 3), (slice(2, 1), 0)), Sample(_x(rng, 3, 4), _ints(1).reshape(())),
           Sample(_x(rng, 0, 3), (slice(None), 1)),
       ],
       raises=[((np.ones((2, 3)), 2), {}, IndexError, "index 2.*dimension 0.*size 2"),
               ((np.ones((2, 3)), (0, -4)), {}, IndexError, "index -4.*dimension 1.*size 3"),
               ((np.ones((2, 3)), (0, 0, 0)), {}, IndexError, "too many"),
               ((np.ones((2, 3)), (..., 0, ...)), {}, IndexError, "only one"),
               ((np.ones((2, 3)), slice(None, None, -1)), {}, ValueError, "flip"),
               ((np.ones((2, 3)), "a"), {}, IndexError, "str"),
               ((np.ones((2, 3)), 1.0), {}, IndexError, "float"),
               ((np.ones(()), 0), {}, IndexError, "0-d")]),
    Op("__getitem__", lambda x, index: x[index], variant="advanced", dtypes="all",
       samples=lambda rng: [
           Sample(_x(rng, 3, 4), _ints(2, 0, 2)),
           Sample(_x(rng, 3, 4), _ints([0, -1], [1, 1])),
           Sample(_x(rng, 3, 4), (_ints(2, 0), _ints(1, -1))),
           Sample(_x(rng, 3, 4), (_ints([0], [1]), _ints(1, 2, 3))),
           Sample(_x(rng, 3, 4), (slice(None), _ints(3, 3, 0))),
           Sample(_x(rng, 3, 2, 4), (slice(1, None), _ints(1, 0), _ints(0, 3))),
           Sample(_x(rng, 3, 2, 4), (_ints(1, 0), slice(None), _ints(0, 3))),
           Sample(_x(rng, 3, 2, 4), (0, _ints(1, 0))),
           Sample(_x(rng, 3, 2, 4), (_ints(1, 0), 1)),
           Sample(_x(rng, 3, 4), (_ints(1, 0), None, _ints(2, 0))),
           Sample(_x(rng, 3, 4), (..., _ints(1, 0))),
           Sample(_x(rng, 2, 3), MASK), Sample(_x(rng, 2, 3, 2), MASK),
           Sample(_x(rng, 4, 2, 3), (slice(None), MASK)),
           Sample(_x(rng, 2, 3), (MASK[:, 0], _ints(1))),
           Sample(_x(rng, 2, 3), (slice(None), MASK[0])),
           Sample(_x(rng, 2, 3), True), Sample(_x(rng, 2, 3), False),
           Sample(_x(rng, 2, 3), np.zeros((2, 3), bool)), Sample(_x(rng, 2, 3), [1, 0, 1]),
           Sample(_x(rng, 2, 3), [True, False]), Sample(_x(rng, 2, 3), np.zeros(0, np.int64)),
           Sample(_x(rng, 2, 0), _ints(1, 1)),
       ],
       raises=[((np.ones((2, 3)), _ints(0, 2)), {}, IndexError, "index 2.*dimension 0.*size 2"),
               ((np.ones((2, 3)), (slice(None), _ints(-4))), {}, IndexError, "index -4.*dimension 1"),
               ((np.ones((2, 3)), MASK[0]), {}, IndexError, "mask"),
               ((np.ones((2, 3)), (_ints(0, 1), _ints(0, 1, 2))), {}, IndexError, r"\(2,\).*\(3,\)"),
               ((np.ones((0, 3)), _ints(0)), {}, IndexError, "size 0")]),
    Op("index_put", _index_put, dtypes="all", fixed=(1,), inplace=True,
       samples=lambda rng: [
           Sample(_x(rng, 3, 4), (_ints(2, 0),), _x(rng, 2, 4)),
           Sample(_x(rng, 3, 4), (_ints(2, 0), _ints(1, 1)), _x(rng)),
           Sample(_x(rng, 2, 3), (MASK,), _x(rng, 3)),
           Sample(_x(rng, 2, 3, 2), (MASK,), _x(rng, 2)),
           Sample(_x(rng, 3), (_ints(2, 0, 2),), _x(rng, 3), accumulate=True),
           Sample(_x(rng, 3, 2), (_ints([2, 0], [2, 2]),), _x(rng, 2, 1), accumulate=True),
           Sample(_x(rng, 3), (np.zeros(0, np.int64),), _x(rng, 0)),
       ],
       raises=[((np.ones(3), (_ints(3),), np.ones(1)), {}, IndexError, "index 3"),
               ((np.ones(3), (_ints(1),), np.ones(2)), {}, ValueError, r"\(2,\)"),
               ((np.ones(3), np.ones(1), np.ones(2)), {}, TypeError, "indices"),
               ((np.ones(3), (), np.ones(2)), {}, IndexError, "at least one")]),
    Op("index_put", _index_put, variant="kept", dtypes="all", fixed=(1,), inplace=True,
       unlike_torch="only its method takes None",
       samples=lambda rng: [
           Sample(_x(rng, 3, 4), (None, _ints(2, 0)), _x(rng, 2)),
           Sample(_x(rng, 2, 3, 4), (_ints(1, 0), None, _ints(2, 0)), _x(rng, 2, 1)),
       ]),
    Op("nonzero", lambda x, as_tuple=False: np.nonzero(x) if as_tuple else np.argwhere(x), dtypes="all",
       grad=False, result="int64",
       samples=lambda rng: [
           Sample(np.round(_x(rng, 3, 4))), Sample(np.round(_x(rng, 3, 4)), as_tuple=True),
           Sample(np.array(2.0)), Sample(np.array(0.0)), Sample(_x(rng, 0, 2)),
       ]),
    Op("argwhere", np.argwhere, dtypes="all", grad=False, result="int64",
       samples=lambda rng: [Sample(np.round(_x(rng, 3, 4))), Sample(np.array(2.0))]),
]  # fmt: skip
