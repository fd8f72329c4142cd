"""Four hosts, made of network namespaces: training over sockets, a link cut, less bandwidth."""

import os
import subprocess
import sys
import time

import pytest

from tests.distributed.cluster import SOCKETS, Cluster
from tests.distributed.job import JOBS, needs_mpi, passes
from tests.distributed.test_failures import none_left

pytestmark = needs_mpi


@pytest.fixture
def cluster(tmp_path):
    with Cluster(tmp_path) as made:
        yield made


def test_four_hosts_train_to_the_bits_of_one(cluster, tmp_path):
    outcome = passes(4, "hosts", "train", options=cluster.options(), cwd=tmp_path, **SOCKETS)
    one = passes(4, "hosts_reference")
    assert outcome.lines(0)[0] == one.lines(0)[0]
    assert [name for name in os.listdir(tmp_path) if name.startswith(".genesis")] == []


def test_a_cut_link_ends_the_job_with_a_clear_error(cluster, tmp_path):
    ready = tmp_path / "ready"
    words = [
        sys.executable,
        "-m",
        "genesis.run",
        "-n",
        "4",
        *cluster.options(),
        str(JOBS / "hosts.py"),
        "cut",
        str(ready),
    ]
    job = subprocess.Popen(
        words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=tmp_path,
        start_new_session=True,
        env={**os.environ, **SOCKETS},
    )
    try:
        for _ in range(300):
            if ready.exists() or job.poll() is not None:
                break
            time.sleep(0.1)
        cluster.cut(2)
        out, err = job.communicate(timeout=60)
    finally:
        if job.poll() is None:
            os.killpg(job.pid, 9)
            job.communicate()
    assert job.returncode not in (0, None), (out, err)
    assert "all_reduce" in err and "the job failed" in err, err
    assert "ok" not in out
    assert none_left(str(ready))


def test_less_bandwidth_takes_more_time(cluster, tmp_path):
    def seconds():
        outcome = passes(4, "hosts", "speed", options=cluster.options(), cwd=tmp_path, **SOCKETS)
        return float(outcome.lines(0)[0].split()[1])

    cluster.limit("200mbit")
    # 4 MB: each host sends and receives three quarters of it twice, which takes 0.25 s at least.
    assert seconds() > 0.2
