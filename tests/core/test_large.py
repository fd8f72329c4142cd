"""Outputs beyond the cache take loops of their own; they must hold what small ones hold."""

import genesis
import pytest

ROWS, COLUMNS = 301, 1003  # 1.2 MB of float32, whole vectors nowhere

OPERATIONS = {
    "exp": lambda x, row: x.exp(),
    "tanh": lambda x, row: x.tanh(),
    "add": lambda x, row: x + x.flip(0),
    "add row": lambda x, row: x + row,
    "add number": lambda x, row: x + 0.3,
    "less": lambda x, row: (x < row).float(),
    "lerp": lambda x, row: genesis.lerp(x, row, 0.3),
}


@pytest.mark.parametrize("name", OPERATIONS)
@pytest.mark.parametrize("threads", [1, 2])
def test_as_row_by_row(name, threads):
    genesis.manual_seed(0)
    x, row, f = genesis.randn(ROWS, COLUMNS), genesis.randn(COLUMNS), OPERATIONS[name]
    before = genesis.get_num_threads()
    genesis.set_num_threads(threads)
    try:
        large = f(x, row)
    finally:
        genesis.set_num_threads(before)
    small = [f(genesis.stack([a, b]), row)[0] for a, b in zip(x, x.flip(0), strict=True)]
    assert genesis.equal(large, genesis.stack(small))
