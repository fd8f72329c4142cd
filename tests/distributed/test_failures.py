"""When a rank fails, all end within seconds, say why, and leave no process."""

import os
import re
import signal
import subprocess
import sys
import time

import genesis
import pytest

from tests.distributed.job import JOBS, command, needs_mpi, run
from tests.processes import processes

pytestmark = needs_mpi
WAITING = "in operation 4, all_reduce(sum) of float32 (2, 3)"


def marked(mark: str) -> list[int]:
    """Processes with this text in their command lines; one that has ended has none."""
    return [pid for pid, p in processes().items() if mark in p.command and pid != os.getpid()]


def none_left(mark: str) -> bool:
    for _ in range(50):
        if not marked(mark):
            return True
        time.sleep(0.1)
    return False


@pytest.mark.parametrize(
    ("how", "ranks", "texts"),
    [
        ("raise", 2, ["ValueError: the reason", "rank 1: failed: ValueError: the reason"]),
        ("raise", 4, ["ValueError: the reason", "rank 1: failed: ValueError: the reason"]),
        ("kill", 2, ["rank 1: not waiting; its last operation was 3"]),
        ("exit", 2, ["rank 1: failed: exit status 7"]),
    ],
)
def test_a_rank_that_fails_ends_all_of_them(how, ranks, texts):
    mark = f"mark-{os.getpid()}-{how}-{ranks}"
    outcome = run(ranks, "failing", how, "60", mark, timeout=30)
    assert outcome.code not in (0, None), outcome
    assert "ok" not in outcome.out
    for text in texts:
        assert text in outcome.err, outcome
    for rank in set(range(ranks)) - {1}:
        assert f"rank {rank}: waiting for" in outcome.err, outcome
    assert outcome.err.count(WAITING) >= ranks - 1, outcome
    assert none_left(mark)


@pytest.mark.parametrize("how", ["stop", "sleep"])
def test_a_rank_that_does_not_respond_ends_all_of_them_after_the_timeout(how):
    mark = f"mark-{os.getpid()}-{how}"
    began = time.monotonic()
    outcome = run(2, "failing", how, "1.5", mark, timeout=40)
    assert time.monotonic() - began < 30
    assert outcome.code not in (0, None), outcome
    assert "rank 0: timeout of 1.5 s: waiting for" in outcome.err and WAITING in outcome.err
    assert "rank 1: not waiting; its last operation was 3" in outcome.err, outcome
    assert none_left(mark)


def test_an_exception_also_ends_a_job_under_plain_mpiexec():
    from genesis.distributed import _mpiexec

    words = _mpiexec.find().command(2, [sys.executable, str(JOBS / "failing.py"), "raise"])
    outcome = command(*words, timeout=30)
    text = re.sub(r"\[\d\] ?", "", outcome.err)  # mpiexec may put the rank inside a line
    assert outcome.code not in (0, None) and "ValueError: the reason" in text, outcome


def test_plain_mpiexec_runs_the_same_script():
    from genesis.distributed import _mpiexec

    words = _mpiexec.find().command(2, [sys.executable, str(JOBS / "failing.py"), "not"])
    outcome = command(*words, timeout=30)
    assert outcome.code == 0 and outcome.out.count("ok") == 2, outcome


def test_a_script_that_fails_before_it_starts_mpi_ends_the_job(tmp_path):
    script = tmp_path / "early.py"
    script.write_text(
        "import os, genesis.distributed as dist\n"
        "if os.environ['RANK'] == '1': raise ValueError('early')\n"
        "dist.init_process_group(); dist.barrier()\n"
    )
    words = (sys.executable, "-m", "genesis.run", "-n", "2", str(script))
    outcome = command(*words, timeout=30)
    assert outcome.code not in (0, None) and "ValueError: early" in outcome.err, outcome


@pytest.mark.parametrize("by", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_ending_the_launcher_ends_the_ranks(by):
    mark = f"mark-{os.getpid()}-launcher-{by}"
    words = [
        sys.executable,
        "-m",
        "genesis.run",
        "-n",
        "2",
        str(JOBS / "failing.py"),
        "sleep",
        "60",
        mark,
    ]
    launcher = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for _ in range(100):
        if len(marked(mark)) >= 4:  # launcher, mpiexec and two ranks
            break
        time.sleep(0.1)
    launcher.send_signal(by)
    assert launcher.wait(timeout=20) != 0
    assert none_left(mark)


SLOW_TO_END = """
import pathlib, signal, sys, time
def save(number, frame):
    time.sleep(float(sys.argv[1]))
    print("saved", flush=True)
    sys.exit(3)
signal.signal(signal.SIGTERM, save)
pathlib.Path(sys.argv[2]).touch()
time.sleep(60)
"""


@pytest.mark.parametrize(("seconds", "signals"), [(7, 1), (60, 2)])
def test_ranks_have_time_to_save_after_a_signal_but_not_after_two(seconds, signals, tmp_path):
    script, begun = tmp_path / "slow.py", tmp_path / "begun"
    script.write_text(SLOW_TO_END)
    words = [sys.executable, "-m", "genesis.run", "-n", "1", script, str(seconds), begun]
    launcher = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    while not begun.exists():
        assert launcher.poll() is None, launcher.communicate()
        time.sleep(0.02)
    for _ in range(signals):
        launcher.send_signal(signal.SIGTERM)
        time.sleep(1)
    out, _ = launcher.communicate(timeout=25)
    assert launcher.returncode == 128 + signal.SIGTERM
    assert ("saved" in out) == (signals == 1)


def test_wrong_commands_say_what_to_do(tmp_path):
    outcome = command(sys.executable, "-m", "genesis.run", "-n", "2", "no-such.py")
    assert outcome.code == 2 and "no-such.py: no such file" in outcome.err
    outcome = command(sys.executable, "-m", "genesis.run", "-n", "none", "x.py")
    assert outcome.code == 2 and "expected a whole number" in outcome.err
    script = tmp_path / "s.py"
    script.write_text("")
    words = ("-n", "2", "--min-ranks", "3", str(script))
    outcome = command(sys.executable, "-m", "genesis.run", *words)
    assert outcome.code == 2 and "--min-ranks" in outcome.err


def test_importing_genesis_does_not_import_mpi4py():
    code = (
        "import sys, genesis, genesis.distributed as d; d.init_process_group();"
        "genesis.nn.parallel.DistributedDataParallel(genesis.nn.Linear(1, 1));"
        "print('mpi4py' in sys.modules)"
    )
    outcome = command(sys.executable, "-c", code)
    assert outcome.out == "False\n", outcome


def test_environment_of_launchers():
    from genesis.distributed._environment import position

    slurm = {
        "SLURM_PROCID": "3",
        "SLURM_STEP_NUM_TASKS": "8",
        "SLURM_LOCALID": "1",
        "SLURM_STEP_TASKS_PER_NODE": "4(x2)",
    }
    found = position(slurm)
    assert (found.rank, found.size, found.local_rank, found.local_size) == (3, 8, 1, 4)
    assert not position({}).launched
    outcome = command(
        sys.executable,
        "-c",
        "import genesis.distributed as d; d.init_process_group()",
        WORLD_SIZE="4",
    )
    assert outcome.code == 1 and "genesis run" in outcome.err


def test_backends_of_existing_scripts(capsys):
    import genesis.distributed as dist

    dist.init_process_group("nccl", init_method="env://")
    dist.destroy_process_group()
    dist.init_process_group(backend="nccl", world_size=1, rank=0)
    assert dist.get_backend() == "nccl"
    dist.destroy_process_group()
    assert capsys.readouterr().err.count("'nccl' is MPI here") == 1
    with pytest.raises(ValueError, match="no backend 'smoke'"):
        dist.init_process_group("smoke")
    with pytest.raises(ValueError, match="world_size=3"):
        dist.init_process_group(world_size=3)
    with pytest.raises(RuntimeError, match="init_process_group"):
        dist.all_reduce(genesis.ones(1))


def test_the_original_names():
    import genesis.distributed as dist
    from genesis.distributed.parallel import DistributedDataParallel
    from genesis.distributed.process_group import get_local_rank, init_process_group, is_initialized

    init_process_group("mpi")
    assert is_initialized() and get_local_rank() == 0
    inner = genesis.nn.Linear(2, 1)
    model = DistributedDataParallel(inner)
    assert list(model.state_dict()) == ["weight", "bias"] and model.model is inner
    model.load_state_dict(model.state_dict())
    assert [n for n, _ in model.named_parameters()] == ["weight", "bias"]
    model.zero_grad()
    model.train().eval().cpu()
    dist.barrier()
    dist.destroy_process_group()
