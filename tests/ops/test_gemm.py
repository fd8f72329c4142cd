"""Matrix products against NumPy's in float64: layouts, odd and empty sizes, half types, threads.

Run as a module it goes over all of that for the instruction set that GENESIS_ISA names.
"""

import genesis
import numpy as np
import pytest

from tests.instruction_sets import NARROWER, run

pytestmark = pytest.mark.usefixtures("num_threads")

# Every way through the kernels: tiny, few rows, few columns, tiles with and without packing, several
# blocks of k, more than one span of columns, edges of tiles and vectors.
SIZES = [  # m, k, n
    (1, 1, 1), (2, 2, 2), (3, 3, 1), (1, 7, 5), (5, 1, 3), (7, 17, 9), (1, 700, 33), (33, 700, 1),
    (2, 601, 450), (3, 300, 900), (4, 1100, 257), (6, 129, 40), (31, 64, 65), (16, 128, 500),
    (500, 128, 16), (64, 64, 64), (97, 385, 130), (129, 769, 33), (24, 80, 1024), (200, 200, 200),
    (250, 40, 10), (130, 1201, 70), (260, 130, 290), (0, 3, 4), (3, 0, 4), (3, 4, 0),
]  # fmt: skip
LAYOUTS = ["rows", "columns", "strided", "offset", "broadcast"]
DTYPES = {"float32": 2.0**-24, "float64": 2.0**-53, "bfloat16": 2.0**-8, "float16": 2.0**-11}


def laid_out(values: np.ndarray, layout: str, dtype: str) -> genesis.Tensor:
    """A matrix of these values (of its first row, if broadcast) in some arrangement of memory."""
    to = getattr(genesis, dtype)
    m, n = values.shape
    if layout == "columns":
        return genesis.tensor(values.T.copy()).to(to).t()
    if layout == "strided":
        return genesis.tensor(np.repeat(np.repeat(values, 2, 0), 3, 1)).to(to)[::2, ::3]
    if layout == "offset":
        wide = np.zeros((m + 1, n + 5))
        wide[1:, 3 : n + 3] = values
        return genesis.tensor(wide).to(to)[1:, 3 : n + 3]
    if layout == "broadcast" and m > 0:
        return genesis.tensor(values[:1]).to(to).expand(m, n)
    return genesis.tensor(values).to(to)


def bound(x: np.ndarray, y: np.ndarray, dtype: str) -> np.ndarray:
    """Rounding of every step of a float32 sum (or a float64 one), and once of the result."""
    step = DTYPES["float64" if dtype == "float64" else "float32"]
    sizes = np.abs(x) @ np.abs(y)
    return (x.shape[1] + 4) * step * sizes + 1.01 * DTYPES[dtype] * np.abs(x @ y) + 1e-12


def check(
    sizes: tuple[int, int, int], layout: str, other: str, dtype: str, counts: tuple[int, ...]
) -> None:
    """Right, and bitwise the same for these numbers of threads."""
    m, k, n = sizes
    rng = np.random.default_rng(m + 10 * k + 100 * n)
    x = laid_out(rng.standard_normal((m, k)), layout, dtype)
    y = laid_out(rng.standard_normal((k, n)), other, dtype)
    left, right = x.double().numpy(), y.double().numpy()
    found = []
    for threads in counts:
        genesis.set_num_threads(threads)
        found.append((x @ y).double().numpy())
    where = f"{sizes} {layout} {other} {dtype}"
    assert len({z.tobytes() for z in found}) == 1, where
    error = np.abs(found[0] - left @ right)
    assert (error <= bound(left, right, dtype)).all(), (where, error.max(initial=0))


def layouts_of(index: int) -> list[tuple[str, str]]:
    """All pairs over the sizes, two of them for each."""
    pairs = [(a, b) for a in LAYOUTS for b in LAYOUTS]
    return [pairs[index % len(pairs)], pairs[(7 * index + 8) % len(pairs)]]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("index", range(len(SIZES)), ids=str)
def test_products_of_all_layouts_are_right_and_the_same_for_any_number_of_threads(index, dtype):
    for layout, other in layouts_of(index):
        check(SIZES[index], layout, other, dtype, (1, 2, 7))


def check_addend(sizes: tuple[int, int, int], dtype: str) -> None:
    """Addends of every layout, a vector for all rows and a column for all columns among them."""
    m, k, n = sizes
    rng = np.random.default_rng(0)
    addends = [laid_out(rng.standard_normal((m, n)), layout, dtype) for layout in LAYOUTS]
    addends += [addends[0][:1], addends[0][:, :1], addends[0][0], addends[2][0], addends[0][0, 0]]
    for layout in ("rows", "columns"):
        x, y = (laid_out(rng.standard_normal(s), layout, dtype) for s in ((m, k), (k, n)))
        left, right = x.double().numpy(), y.double().numpy()
        for c in addends:
            z = genesis.addmm(c, x, y, beta=-0.5, alpha=2.0).double().numpy()
            expected = 2 * (left @ right) - 0.5 * c.double().numpy()
            allowed = 2 * bound(left, right, dtype)
            allowed += 2 * DTYPES[dtype] * (np.abs(expected) + np.abs(c.double().numpy()))
            assert (np.abs(z - expected) <= allowed).all(), (sizes, dtype, layout, c.stride())


ADDED = [
    (3, 4, 5),
    (1, 600, 40),
    (40, 600, 1),
    (70, 500, 60),
    (3, 0, 4),
    (20, 400, 200),
    (300, 5, 9),
]


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", ADDED)
def test_an_addend_is_scaled_and_added_before_rounding(sizes, dtype):
    check_addend(sizes, dtype)


def check_stack(sizes: tuple[int, int, int, int], dtype: str, counts: tuple[int, ...]) -> None:
    """A stack of products, and one on top of another, with matrices of several layouts."""
    batch, m, k, n = sizes
    rng = np.random.default_rng(sum(sizes))
    to = getattr(genesis, dtype)

    def stacks(rows: int, cols: int) -> list[genesis.Tensor]:
        x = genesis.tensor(rng.standard_normal((batch, rows, cols))).to(to)
        turned = genesis.tensor(rng.standard_normal((batch, cols, rows))).to(to).mT
        apart = genesis.tensor(rng.standard_normal((batch, 2 * rows, 3 * cols))).to(to)
        return [x, turned, apart[:, ::2, ::3]]

    added = stacks(m, n)[0]
    for x in stacks(m, k):
        for y in stacks(k, n):
            found = []
            for threads in counts:
                genesis.set_num_threads(threads)
                found.append((x @ y).double().numpy())
            where = (sizes, dtype, x.stride(), y.stride())
            assert len({z.tobytes() for z in found}) == 1, where
            onto = genesis.baddbmm(added, x, y, beta=-0.5, alpha=2.0).double().numpy()
            for i, (left, right, c) in enumerate(
                zip(*(t.double().numpy() for t in (x, y, added)), strict=True)
            ):
                allowed = bound(left, right, dtype)
                assert (np.abs(found[0][i] - left @ right) <= allowed).all(), where
                expected = 2 * (left @ right) - 0.5 * c
                allowed = 2 * allowed + 2 * DTYPES[dtype] * (np.abs(expected) + np.abs(c))
                assert (np.abs(onto[i] - expected) <= allowed).all(), where


STACKS = [  # batch, m, k, n
    (300, 3, 3, 1), (700, 3, 3, 3), (5, 4, 4, 24), (7, 6, 5, 16), (9, 8, 32, 7), (6, 9, 33, 2), (4, 1, 9, 17),
    (5, 2, 2, 33), (3, 2, 0, 3), (9, 2, 40, 3), (5, 33, 17, 41), (3, 70, 130, 90),
]  # fmt: skip


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("sizes", STACKS)
def test_stacks_of_matrices_are_multiplied_one_by_one(sizes, dtype):
    check_stack(sizes, dtype, (1, 2, 7))


def test_half_precision_is_rounded_once():
    # 1 + 4096 terms of 2^-10: steps below the resolution of bfloat16 around 1, which add up to 4.
    x = genesis.full((3, 4097), 2.0**-5, dtype=genesis.bfloat16)
    x[:, 0] = 1.0
    assert (x @ x.t()).unique().tolist() == [5.0]


def test_special_values_go_through_half_products():
    x = genesis.tensor([[float("inf"), 1.0], [float("nan"), 1.0], [65504.0, 65504.0]] * 20)
    y = genesis.ones(2, 40)
    z = (x.half() @ y.half()).float().numpy()
    assert np.isposinf(z[0::3]).all() and np.isnan(z[1::3]).all() and np.isposinf(z[2::3]).all()


@pytest.mark.parametrize("isa", NARROWER)
def test_narrower_instruction_sets(isa):
    run(isa, "-m", "tests.ops.test_gemm")


@pytest.mark.parametrize("dtype", ["float32", "float64", "float16", "int64", "complex64"])
@pytest.mark.parametrize("rows", [1, 3])
@pytest.mark.parametrize("turned", [False, True])
def test_a_stack_that_meets_one_expanded_matrix(dtype, rows, turned):
    """Rows of all matrices of the stack are one product; values are those of separate ones."""
    rng = np.random.default_rng(0)
    kind = getattr(genesis, dtype)
    x = genesis.tensor(rng.integers(-3, 4, (2, 5, rows, 4))).to(kind)
    if turned:  # the dimension of the stack is the last one in memory
        x = x.permute(1, 2, 3, 0).contiguous().permute(3, 0, 1, 2)
    y = genesis.tensor(rng.integers(-3, 4, (4, 6))).to(kind)
    got = genesis.matmul(x, y.expand(2, 5, 4, 6))
    want = genesis.stack([genesis.stack([m @ y for m in part]) for part in x])
    assert got.shape == (2, 5, rows, 6)
    assert (got == want).all()
    if dtype == "float64":
        out = genesis.baddbmm(genesis.ones(5, rows, 6, dtype=kind), x[0], y.expand(5, 4, 6))
        assert (out == want[0] + 1).all()


if __name__ == "__main__":
    for i, some in enumerate(SIZES):
        for name in DTYPES:
            for first, second in layouts_of(i):
                check(some, first, second, name, (1, 2))
    for some in ADDED:
        for name in DTYPES:
            check_addend(some, name)
    for stack in STACKS:
        for name in DTYPES:
            check_stack(stack, name, (1, 2))


@pytest.mark.parametrize("dtype", [genesis.float32, genesis.float64])
@pytest.mark.parametrize("n", [784, 1500])
def test_large_batches_of_outer_products_are_products_of_elements(dtype, n):
    """Above 16 MB they are written around the cache."""
    x, y = genesis.randn(24, 130, dtype=dtype), genesis.randn(24, n + 3, dtype=dtype)[:, 1 : n + 1]
    expected = x.unsqueeze(2) * y.unsqueeze(1)
    assert expected.nbytes >= 9 << 20
    x, y, expected = (
        t.repeat(2, 1, 1) if t.ndim == 3 else t.repeat(2, 1) for t in (x, y, expected)
    )
    assert genesis.equal(genesis.bmm(x.unsqueeze(2), y.unsqueeze(1)), expected)
    assert genesis.equal(
        genesis.bmm(x.unsqueeze(2), y[:1].unsqueeze(1).expand(48, 1, n))[3],
        x[3].unsqueeze(1) * y[0],
    )
