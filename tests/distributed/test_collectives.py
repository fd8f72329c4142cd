"""Collective operations on 1, 2 and 4 ranks."""

import sys

import pytest

from tests.distributed.job import JOBS, command, needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_every_collective_operation(ranks):
    passes(ranks, "collectives")


@pytest.mark.parametrize("ranks", [2, 4])
def test_ranks_that_do_not_agree_all_raise(ranks):
    passes(ranks, "mismatch")


def test_a_script_on_its_own_has_world_size_one():
    outcome = command(sys.executable, str(JOBS / "collectives.py"))
    assert outcome.code == 0 and outcome.out == "ok\n", outcome
