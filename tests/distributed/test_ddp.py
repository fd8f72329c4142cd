"""Data parallel training on 1, 2 and 4 ranks."""

import pytest

from tests.distributed.job import needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_data_parallel_training_is_training_on_the_whole_batch(ranks):
    passes(ranks, "ddp", timeout=120)
