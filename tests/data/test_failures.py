"""Workers that raise, die or hang: a clear error, soon, and nothing left behind."""

import gc
import os
import pickle
import re
import signal
import subprocess
import sys
import time

import pytest
from genesis.data import DataLoader

from tests.data.examples import Fails, Halves, Sealed, Slow, Unpicklable, fail_to_start
from tests.processes import processes


def children() -> set[int]:
    """Workers that this process started and has not seen the end of, zombies included."""
    found = processes()
    # Python keeps a tracker, and a server that forks workers (from 3.14 on by default). `ps` lists the processes.
    helpers = {
        pid
        for pid, (parent, command) in found.items()
        if parent == os.getpid() and re.search("resource_tracker|forkserver|ps -axo", command)
    }
    mine = {os.getpid(), *helpers}
    return {pid for pid, process in found.items() if process.parent in mine} - helpers


@pytest.fixture(autouse=True)
def no_process_is_left():
    before = children()
    yield
    gc.collect()
    assert children() <= before


@pytest.mark.parametrize("kind", ["process", "thread"])
@pytest.mark.parametrize(
    "how, error, text",
    [
        ("value", ValueError, "sample five is bad"),
        ("key", KeyError, "no such"),
        ("custom", RuntimeError, r"Custom: \(1, 2\)"),
        ("stop", RuntimeError, "StopIteration"),
    ],
)
def test_a_raising_worker_gives_its_own_traceback_and_goes_on(kind, how, error, text):
    batches = iter(DataLoader(Fails(how), 4, num_workers=2, worker_type=kind))
    assert next(batches).tolist() == [0, 1, 2, 3]
    with pytest.raises(error, match=text) as caught:
        next(batches)
    shown = str(caught.value)
    assert f"in DataLoader worker {kind} 1" in shown and "Original Traceback" in shown
    assert "\n" in shown and f"in {how}" in shown
    assert next(batches).tolist() == [8, 9, 10, 11]
    assert list(batches) == []


def test_an_exception_of_a_class_that_only_the_worker_has():
    with pytest.raises(RuntimeError, match="Hidden: inside"):
        list(DataLoader(Fails("local"), 4, num_workers=1))


def test_here_an_exception_is_simply_raised_and_the_next_batch_comes():
    batches = iter(DataLoader(Fails("value"), 4))
    next(batches)
    with pytest.raises(ValueError, match="^sample five is bad$"):
        next(batches)
    assert next(batches).tolist() == [8, 9, 10, 11]
    with pytest.raises(RuntimeError, match="StopIteration"):
        list(DataLoader(Fails("stop"), 4))


@pytest.mark.parametrize(
    "how, text",
    [
        ("exit", "exited with code 3"),
        ("leave", "exited with code 4"),
        ("kill", "killed by SIGKILL"),
    ],
)
@pytest.mark.parametrize(
    "workers, context", [(1, "fork"), (3, "fork"), (1, "spawn"), (1, "forkserver")]
)
def test_a_dying_worker_is_noticed_at_once(how, text, workers, context):
    batches = iter(DataLoader(Fails(how), 2, num_workers=workers, multiprocessing_context=context))
    start = time.monotonic()
    with pytest.raises(RuntimeError, match=rf"worker \d \(pid \d+\) (was )?{text}"):
        list(batches)
    assert time.monotonic() - start < (4 if context == "fork" else 10)
    with pytest.raises(RuntimeError, match="have ended"):
        next(batches)


def test_an_idle_worker_that_is_killed_is_replaced_in_the_next_pass():
    loader = DataLoader(list(range(6)), 2, num_workers=2, persistent_workers=True)
    list(loader)
    os.kill(loader._pool.processes[0].pid, signal.SIGKILL)
    with pytest.raises(RuntimeError, match="SIGKILL"):
        list(loader)
    assert [b.tolist() for b in loader] == [[0, 1], [2, 3], [4, 5]]


def test_sys_exit_in_a_thread_is_an_error():
    with pytest.raises(SystemExit, match="Original Traceback"):
        list(DataLoader(Fails("leave"), 4, num_workers=1, worker_type="thread"))


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_a_worker_that_cannot_start(kind):
    with pytest.raises(OSError, match="disk of this worker is gone"):
        list(
            DataLoader(
                Fails("value"), 4, num_workers=2, worker_init_fn=fail_to_start, worker_type=kind
            )
        )


def test_a_batch_that_cannot_be_pickled():
    with pytest.raises(Exception, match="pickle") as caught:
        list(DataLoader(Unpicklable(), None, num_workers=1))
    assert "DataLoader worker process 0" in str(caught.value)


def test_a_batch_that_cannot_be_unpickled():
    batches = iter(DataLoader(Sealed(), None, num_workers=1))
    with pytest.raises(RuntimeError, match=r"cannot be unpickled.*no number"):
        next(batches)
    with pytest.raises(RuntimeError, match="have ended"):
        next(batches)


def test_a_worker_that_dies_while_it_sends():
    with pytest.raises(RuntimeError, match="exited with code 7"):
        list(DataLoader(Halves(), None, num_workers=2))


def test_a_dataset_that_cannot_be_pickled_with_spawn():
    data = [lambda: 1]
    with pytest.raises(pickle.PicklingError, match="pass multiprocessing_context='fork'"):
        list(DataLoader(data, None, num_workers=1, multiprocessing_context="spawn"))


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_timeout(kind):
    loader = DataLoader(
        Slow([0, 2, 0, 0, 0, 0]), None, num_workers=1, timeout=1.0, worker_type=kind
    )
    batches = iter(loader)
    next(batches)
    with pytest.raises(RuntimeError, match="timed out after 1.0 seconds"):
        next(batches)


def test_breaking_out_of_a_loop_ends_the_workers():
    before = children()
    for _ in DataLoader(list(range(100)), 2, num_workers=3):
        assert len(children() - before) == 3
        break
    assert children() == before


def test_dropping_a_loader_with_persistent_workers_ends_them():
    before = children()
    loader = DataLoader(list(range(10)), 2, num_workers=2, persistent_workers=True)
    list(loader)
    assert len(children() - before) == 2
    del loader
    assert children() == before


SCRIPT = """
import sys, time
from genesis.data import DataLoader
from tests.data.examples import Slow
batches = iter(DataLoader(Slow([0.01] * 5 + [2]), None, num_workers=2))
print(*(p.pid for p in batches.pool.processes), flush=True)
{then}
"""


def run(then: str) -> tuple[subprocess.Popen, list[int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", SCRIPT.format(then=then)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    return process, [int(pid) for pid in process.stdout.readline().split()]


def all_end(pids: list[int], seconds: float) -> bool:
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if not processes().keys() & set(pids):
            return True
        time.sleep(0.05)
    return False


def test_ctrl_c_ends_everything_with_one_traceback():
    process, workers = run("print('ready', flush=True); list(batches)")
    process.stdout.readline()
    time.sleep(0.3)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0 and errors.count("KeyboardInterrupt") == 1
    assert all_end(workers, 10)


def test_workers_do_not_outlive_a_killed_parent():
    process, workers = run("next(batches); time.sleep(60)")
    time.sleep(0.2)
    process.kill()
    process.communicate()
    assert all_end(workers, 10)  # one finishes its batch first, and finds nobody to give it to


STUCK = """
import sys, time
from genesis.data import DataLoader
from tests.data.examples import Slow
batches = iter(DataLoader(Slow([0.01, 0.01, 1000, 1000, 1000, 1000]), None, num_workers=2))
print(*(p.pid for p in batches.pool.processes), flush=True)
next(batches)
next(batches)
print('stuck', flush=True)
{then}
"""


def stuck(then: str) -> tuple[subprocess.Popen, list[int]]:
    process = subprocess.Popen(
        [sys.executable, "-c", STUCK.format(then=then)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        start_new_session=True,
    )  # fmt: skip
    workers = [int(pid) for pid in process.stdout.readline().split()]
    process.stdout.readline()
    time.sleep(0.2)
    return process, workers


def test_stuck_workers_do_not_outlive_a_killed_parent():
    process, workers = stuck("time.sleep(60)")
    process.kill()
    process.communicate()
    assert all_end(workers, 20)


@pytest.mark.parametrize("then", ["next(batches)", "time.sleep(60)"])
def test_ctrl_c_does_not_wait_for_stuck_workers(then, monkeypatch):
    # With a patience of a minute, waiting for the workers would be seen.
    impatient = "import genesis.data.pool as pool; pool.PATIENCE = 60.0\n" + then
    process, workers = stuck(impatient)
    os.killpg(process.pid, signal.SIGINT)
    _, errors = process.communicate(timeout=20)
    assert process.returncode != 0 and errors.count("KeyboardInterrupt") == 1, errors
    assert all_end(workers, 10)


@pytest.mark.parametrize("how", ["value", "timeout"])
def test_a_traceback_that_is_kept_does_not_keep_the_workers(how):
    before = children()
    kept = None
    data = Fails("value") if how == "value" else Slow([0.01] * 3 + [1.5] * 3)
    try:
        for _ in DataLoader(data, 1, num_workers=2, timeout=0.2 if how == "timeout" else 0):
            pass
    except (ValueError, RuntimeError) as error:
        kept = error
    assert kept is not None and kept.__traceback__ is not None
    assert children() == before


def test_the_end_of_the_program_ends_the_workers():
    process, workers = run("next(batches)")
    _, errors = process.communicate(timeout=20)
    assert process.returncode == 0 and errors == ""
    assert all_end(workers, 10)


def test_workers_end_with_their_iterator_after_an_error():
    """At once, and not when the cycle collector runs."""

    def use():
        batches = iter(DataLoader(Fails("value"), num_workers=2))
        try:
            list(batches)
        except Exception as error:
            return str(error)

    gc.collect()
    before = children()
    gc.disable()
    try:
        assert "Caught" in use()
        assert children() <= before
    finally:
        gc.enable()
