"""The same bits on any number of ranks."""

from tests.distributed.job import needs_mpi, passes

pytestmark = needs_mpi


def test_training_ends_with_the_same_bits_on_1_2_and_4_ranks():
    found = {ranks: passes(ranks, "bitwise", "50", timeout=120) for ranks in (1, 2, 4)}
    expected = found[1].lines(0)
    assert len(set(expected)) == 9  # eight different models
    for ranks, outcome in found.items():
        for rank in range(ranks):
            assert outcome.lines(rank) == expected, (ranks, rank)
