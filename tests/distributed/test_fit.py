"""`genesis.fit` on several ranks."""

import pytest

from tests.distributed.job import needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_train_together_and_resume(ranks, tmp_path):
    outcome = passes(ranks, "fit", str(tmp_path), timeout=120)
    tables = [line for rank in range(ranks) for line in outcome.lines(rank) if "epoch" in line]
    assert len(tables) == 1  # rank 0 alone shows progress
