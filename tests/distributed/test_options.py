"""Options of PyTorch that choose what there is one of here: fine if they name it, else an error."""

import os
import re
import sys

import genesis
import genesis.distributed as dist
import pytest
from genesis.distributed import _mpiexec, _threads
from genesis.nn.parallel import DistributedDataParallel

from tests.distributed.job import JOBS, command, needs_mpi, run


@pytest.fixture
def world():
    dist.init_process_group()
    yield
    dist.destroy_process_group()


@pytest.mark.parametrize(
    "options",
    [
        {"init_method": "env://"},
        {"init_method": "tcp://localhost:29500", "rank": 0, "world_size": 1},
        {"init_method": "file:///tmp/meeting", "rank": 0, "world_size": 1},
        {"device_id": genesis.device("cpu")},
        {"device_id": "cpu:0", "pg_options": None, "store": None},
    ],
)
def test_options_that_agree(options):
    dist.init_process_group(**options)
    assert dist.get_world_size() == 1
    dist.destroy_process_group()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"init_method": "tcp://localhost:29500"}, "needs rank= and world_size="),
        ({"init_method": "tcp://localhost:1", "rank": 1, "world_size": 2}, "rank=1"),
        ({"init_method": "pigeon://x"}, "no address"),
        ({"init_method": "tcp://"}, "no address"),
        ({"store": object(), "rank": 0, "world_size": 1}, "no store"),
        ({"pg_options": object()}, "pg_options"),
        ({"device_id": genesis.device("cuda", 0)}, "device_id"),
        ({"device_id": 0}, "device_id"),
        ({"timeout": 0}, "timeout"),
    ],
)
def test_options_that_do_not(options, message):
    with pytest.raises(ValueError, match=message):
        dist.init_process_group(**options)
    assert not dist.is_initialized()


def test_devices_of_models_and_groups(world):
    layer = genesis.nn.Linear(2, 1)
    DistributedDataParallel(layer, device_ids=[genesis.device("cpu")], output_device="cpu")
    dist.barrier(device_ids=["cpu"])
    dist.monitored_barrier()
    for options in ({"device_ids": [0]}, {"output_device": "cuda:1"}, {"dim": 1}):
        with pytest.raises(ValueError, match=next(iter(options))):
            DistributedDataParallel(layer, **options)
    with pytest.raises(ValueError, match="device_ids"):
        dist.barrier(device_ids=[3])
    for options in ({"pg_options": {}}, {"device_id": 1}, {"timeout": -1}):
        with pytest.raises(ValueError, match=f"new_group: .*{next(iter(options))}"):
            dist.new_group([0], **options)


@needs_mpi
def test_the_timeout_of_a_group():
    outcome = run(2, "failing", "group", "600", timeout=60)
    assert outcome.code != 0 and "timeout of 1.5 s" in outcome.out + outcome.err


@needs_mpi
def test_monitored_barrier_names_the_missing():
    outcome = run(3, "failing", "monitored", timeout=60)
    assert outcome.code == 0, outcome
    assert "rank 1 did not come within 1 s" in "".join(outcome.lines(0))
    assert "rank 0 did not let this rank pass" in "".join(outcome.lines(2))
    assert all("passed" in "".join(outcome.lines(r)) for r in range(3))


@needs_mpi
@pytest.mark.skipif(not hasattr(os, "sched_getaffinity"), reason="no affinity on this system")
@pytest.mark.parametrize("choice", [None, "3"])
def test_ranks_under_plain_mpiexec_share_the_processors(choice):
    words = _mpiexec.find().command(2, [sys.executable, str(JOBS / "threads.py")])
    outcome = command(*words, **({} if choice is None else {"GENESIS_NUM_THREADS": choice}))
    cores = len(os.sched_getaffinity(0))
    expected = choice or str(max(1, cores // 2))
    found = re.findall(r"threads: (\d+) then (\d+)", outcome.out)
    assert outcome.code == 0 and found == 2 * [(choice or str(cores), expected)], outcome


def test_processors_that_some_ranks_share():
    assert _threads.share([0, 1, 2], [[0, 1, 2]] * 3) == 1
    assert _threads.share(range(12), [range(12)] * 6) == 2  # no error of rounding
    assert _threads.share([0, 1, 2], [[0, 1, 2], [2, 3]]) == 2
    assert _threads.share([0], [[0], [0], [0]]) == 0  # init_process_group() uses one thread then
