"""`genesis.fit` on several ranks."""

import signal
import subprocess
import sys
import time

import pytest

from tests.distributed.job import JOBS, needs_mpi, passes

pytestmark = needs_mpi


@pytest.mark.parametrize("ranks", [2, 3])
def test_ranks_train_together_and_resume(ranks, tmp_path):
    outcome = passes(ranks, "fit", str(tmp_path), timeout=120)
    tables = [line for rank in range(ranks) for line in outcome.lines(rank) if "epoch" in line]
    assert len(tables) == 1  # rank 0 alone shows progress


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_job_that_is_stopped_is_saved_and_resumed(number, tmp_path):
    (tmp_path / "whole").mkdir()
    (tmp_path / "broken").mkdir()
    expected = passes(2, "fit_signal", str(tmp_path / "whole"), "0").lines(0)
    command = [sys.executable, "-m", "genesis.run", "-n", "2", str(JOBS / "fit_signal.py")]
    process = subprocess.Popen(
        [*command, str(tmp_path / "broken"), "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        while not (tmp_path / "broken" / "begun").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(number)
        _, err = process.communicate(timeout=60)
    finally:
        process.kill()
    assert process.returncode == 128 + number
    assert b"saved in" in err
    assert list((tmp_path / "broken" / "run").glob("step-*"))
    assert passes(2, "fit_signal", str(tmp_path / "broken"), "0").lines(0) == expected


def test_a_run_goes_on_with_another_number_of_ranks(tmp_path):
    (tmp_path / "broken").mkdir()
    command = [sys.executable, "-m", "genesis.run", "-n", "3", str(JOBS / "fit_signal.py")]
    process = subprocess.Popen(
        [*command, str(tmp_path / "broken"), "0.2"], stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    try:
        while not (tmp_path / "broken" / "begun").exists():
            assert process.poll() is None, process.communicate()
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        process.communicate(timeout=60)
    finally:
        process.kill()
    lines = passes(2, "fit_signal", str(tmp_path / "broken"), "0").lines(0)
    assert lines[0].startswith("4 ")
