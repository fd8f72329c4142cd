"""Matrix products, decompositions, solvers."""

import operator

import numpy as np

from tests.ops.op import Op, Sample


def _pairs(*shapes: tuple[tuple[int, ...], tuple[int, ...]]):
    return lambda rng: [Sample(rng.normal(size=a), rng.normal(size=b)) for a, b in shapes]


def _added(*shapes: tuple[tuple[int, ...], ...]):
    return lambda rng: [
        Sample(*(rng.normal(size=shape) for shape in three), **scale)
        for three in shapes
        for scale in ({}, {"beta": 0.5, "alpha": -2.0}, {"beta": 0})
    ]


def _add(product):
    return lambda c, a, b, beta=1, alpha=1: beta * c + alpha * product(a, b)


def _whole(*shapes):
    """Integers are not multiplied by fractions."""
    operands = tuple(np.ones(shape, np.int64) for shape in shapes)
    return [(operands, {name: 0.5}, TypeError, "must be integers") for name in ("alpha", "beta")]


OPS: list[Op] = [
    Op("matmul", np.matmul, dtypes="number", operator=operator.matmul,
       samples=_pairs(((2, 3), (3, 4)), ((3,), (3,)), ((2, 3), (3,)), ((3,), (3, 2)),
                      ((2, 2, 3), (3, 2)), ((2, 1, 2, 3), (3, 3, 2)), ((0, 3), (3, 2)),
                      ((2, 0), (0, 3))),
       raises=[((np.ones((2, 3)), np.ones((4, 5))), {}, ValueError, r"\(2, 3\).*\(4, 5\)"),
               ((np.ones(()), np.ones(2)), {}, ValueError, "matmul")], complex=True),
    Op("mm", np.matmul, dtypes="number",
       samples=_pairs(((2, 3), (3, 4)), ((1, 3), (3, 1)), ((0, 3), (3, 2)), ((2, 0), (0, 3))),
       raises=[((np.ones((2, 3)), np.ones(3)), {}, ValueError, "mat2 must have 2 dimensions")], complex=True),
    Op("bmm", np.matmul, dtypes="number",
       samples=_pairs(((2, 2, 3), (2, 3, 4)), ((0, 2, 3), (0, 3, 1)), ((3, 2, 0), (3, 0, 2))),
       raises=[((np.ones((2, 2, 3)), np.ones((3, 3, 2))), {}, ValueError, "batch sizes differ")], complex=True),
    Op("mv", np.matmul, dtypes="number", samples=_pairs(((2, 3), (3,)), ((0, 3), (3,)), ((2, 0), (0,))), complex=True),
    Op("dot", np.dot, dtypes="number", samples=_pairs(((4,), (4,)), ((0,), (0,)), ((300,), (300,))),
       raises=[((np.ones(2), np.ones(3)), {}, ValueError, "lengths differ: 2 and 3"),
               ((np.ones(2), np.arange(2)), {}, TypeError, "float64 and int64")], complex=True),
    Op("vdot", np.dot, dtypes="number", samples=_pairs(((4,), (4,)))),
    Op("outer", np.outer, dtypes="number", samples=_pairs(((3,), (2,)), ((0,), (2,))), complex=True),
    Op("ger", np.outer, dtypes="number", samples=_pairs(((3,), (2,)))),
    Op("inner", np.inner, dtypes="number",
       samples=_pairs(((3,), (3,)), ((2, 3), (4, 3)), ((2, 1, 3), (3,)), ((), (2,)), ((2, 0), (3, 0))), complex=True),
    Op("addmm", _add(np.matmul), inplace=True, samples=_added(((2, 4), (2, 3), (3, 4)), ((0, 2), (0, 3), (3, 2))),
       raises=[((np.ones(3), np.ones((2, 3)), np.ones((3, 4))), {}, ValueError, "broadcast")], complex=True),
    Op("addmm", _add(np.matmul), variant="broadcast", method=False,
       samples=_added(((4,), (2, 3), (3, 4)), ((), (2, 3), (3, 4)))),
    Op("addmv", _add(np.matmul), inplace=True, dtypes="number", raises=_whole((2,), (2, 3), (3,)),
       samples=_added(((2,), (2, 3), (3,)))),
    Op("addmv", _add(np.matmul), variant="broadcast", method=False, samples=_added(((), (2, 3), (3,)))),
    Op("addr", _add(np.outer), inplace=True, dtypes="all", raises=_whole((2, 3), (2,), (3,)),
       samples=_added(((2, 3), (2,), (3,)))),
    Op("baddbmm", _add(np.matmul), inplace=True, samples=_added(((2, 2, 2), (2, 2, 3), (2, 3, 2))), complex=True),
    Op("baddbmm", _add(np.matmul), variant="broadcast", method=False,
       samples=_added(((1, 2), (2, 2, 3), (2, 3, 2)))),
    Op("addbmm", _add(lambda a, b: np.matmul(a, b).sum(0)), inplace=True,
       samples=_added(((2, 2), (3, 2, 3), (3, 3, 2)))),
    Op("linear", lambda x, w, b=None: x @ w.T + (0 if b is None else b), method=False, dtypes="number",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)),
           Sample(rng.normal(size=(2, 2, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)),
           Sample(rng.normal(size=3), rng.normal(size=(4, 3)), rng.normal(size=4)),
           Sample(rng.normal(size=(0, 3)), rng.normal(size=(4, 3)), rng.normal(size=4)),
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(4, 3))),
           Sample(rng.normal(size=(2, 3)), rng.normal(size=3)),
       ],
       raises=[((np.ones((2, 8)), np.ones((4, 9))), {}, ValueError, r"takes 9 features.*\(2, 8\)"),
               ((np.ones((2, 3)), np.ones((4, 3)), np.ones(5)), {}, ValueError, "bias must have shape")], complex=True),
    Op("einsum", np.einsum, method=False,
       samples=lambda rng: [
           Sample(equation, *(rng.normal(size=shape) for shape in shapes))
           for equation, *shapes in [
               ("ij,jk->ik", (2, 3), (3, 4)), ("ij->ji", (2, 3)), ("ii->i", (3, 3)), ("ii", (3, 3)),
               ("ij->", (2, 3)), ("ij->j", (2, 3)), ("i,j->ij", (2,), (3,)), ("bij,bjk->bik", (2, 2, 3), (2, 3, 2)),
               ("...ij,...jk->...ik", (2, 1, 2, 3), (4, 3, 2)), ("bhqd,bhkd->bhqk", (1, 2, 2, 3), (1, 2, 3, 3)),
               ("ij,jk,kl->il", (2, 3), (3, 2), (2, 2)), ("ij,ij->ij", (2, 3), (2, 3)), ("iij,jk", (2, 2, 3), (3, 2)),
               ("ij , jk", (2, 0), (0, 3)), ("a...b->b...a", (2, 3, 4)), ("i,i", (4,), (4,)), (",ij->ij", (), (2, 2)),
           ]],
       raises=[(("ij,jk->ik", np.ones((2, 3))), {}, ValueError, "describes 2 operands, got 1"),
               (("ij->ik", np.ones((2, 3))), {}, ValueError, "'k' in the output"),
               (("ij,jk", np.ones((2, 3)), np.ones((4, 5))), {}, ValueError, "sizes 3 and 4"),
               (("i1", np.ones((2, 3))), {}, ValueError, "not a letter")], complex=True),
    Op("tensordot", lambda a, b, dims=2: np.tensordot(a, b, dims), method=False,
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=(3, 4, 2))),
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(3, 2)), dims=1),
           Sample(rng.normal(size=2), rng.normal(size=3), dims=0),
           Sample(rng.normal(size=(2, 3, 4)), rng.normal(size=(4, 5, 2)), dims=([0, 2], [2, 0])),
       ],
       raises=[((np.ones((2, 3)), np.ones((2, 3))), {"dims": 1}, ValueError, "differ")], complex=True),
    Op("tensordot", lambda a, b, dims: np.outer(a.sum(1), b.sum(1)), method=False,
       dtypes="number", variant="broadcast",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(4, 1)), dims=([1], [1])),
           Sample(rng.normal(size=(2, 1)), rng.normal(size=(4, 3)), dims=([1], [1])),
           Sample(rng.normal(size=(2, 1)), rng.normal(size=(4, 0)), dims=([1], [1])),
       ]),
    Op("kron", np.kron, dtypes="number", samples=_pairs(((2, 2), (2, 3)), ((2,), (3, 1)), ((), (2,))), complex=True),
    Op("trace", np.trace, dtypes="number", result="sum",
       samples=lambda rng: [Sample(rng.normal(size=s)) for s in ((3, 3), (2, 4), (0, 0))],
       raises=[((np.ones(3),), {}, ValueError, "must be a matrix")], complex=True),
    Op("cross", lambda a, b, dim=-1: np.cross(a, b, axis=dim), dtypes="number",
       samples=lambda rng: [
           Sample(rng.normal(size=(2, 3)), rng.normal(size=(2, 3)), dim=1),
           Sample(rng.normal(size=(3, 2)), rng.normal(size=(3, 2)), dim=0),
           Sample(rng.normal(size=(1, 3)), rng.normal(size=(4, 3)), dim=-1),
       ],
       raises=[((np.ones((2, 2)), np.ones((2, 2))), {}, ValueError, "size 3")], complex=True),
]  # fmt: skip
