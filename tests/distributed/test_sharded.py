"""Optimizers, models and tensors that are divided among ranks."""

import pytest

from tests.distributed.job import needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_divided_optimizers_and_models_train_like_plain_ones(ranks):
    passes(ranks, "sharded", timeout=120)


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_distributed_tensors_and_layers_compute_like_plain_ones(ranks):
    passes(ranks, "tensors", timeout=120)
