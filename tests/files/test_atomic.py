"""A process that is killed while it saves leaves the old file whole."""

import os
import signal
import subprocess
import sys
import time

import genesis
import pytest

SAVER = """
import sys, genesis
path = sys.argv[1]
step = 0
while True:
    step += 1
    genesis.save({"step": step, "x": genesis.full((500_000,), float(step))}, path)
    print(step, flush=True)
"""


def test_a_killed_save_leaves_a_whole_file(tmp_path):
    path = tmp_path / "state.safetensors"
    genesis.save({"step": 0, "x": genesis.zeros(500_000)}, path)
    for delay in (0.0, 0.003, 0.006, 0.009, 0.012):
        run = subprocess.Popen([sys.executable, "-c", SAVER, path], stdout=subprocess.PIPE)
        run.stdout.readline()
        time.sleep(delay)
        os.kill(run.pid, signal.SIGKILL)
        printed = run.communicate()[0].split()
        state = genesis.load(path)
        assert state["step"] >= int(printed[-1] if printed else 1)
        assert (state["x"] == state["step"]).all()


def test_a_kill_between_writing_and_renaming_leaves_the_old_file(tmp_path):
    path = tmp_path / "state.safetensors"
    genesis.save({"step": 1}, path)
    code = (
        "import os, signal, sys, genesis\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "genesis.save({'step': 2}, sys.argv[1])\n"
    )
    assert subprocess.run([sys.executable, "-c", code, path]).returncode == -signal.SIGKILL
    assert genesis.load(path) == {"step": 1}


def test_an_error_leaves_neither_a_new_file_nor_a_temporary_one(tmp_path, monkeypatch):
    path = tmp_path / "state.safetensors"
    genesis.save({"step": 1}, path)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        genesis.save({"step": 2}, path)
    monkeypatch.undo()
    assert genesis.load(path) == {"step": 1}
    assert os.listdir(tmp_path) == ["state.safetensors"]


def test_links_and_permissions_are_kept(tmp_path):
    real = tmp_path / "real.safetensors"
    genesis.save({"step": 1}, real)
    assert os.stat(real).st_mode & 0o777 == 0o666 & ~current_umask()
    os.chmod(real, 0o640)
    os.symlink(real, tmp_path / "link")
    genesis.save({"step": 2}, tmp_path / "link")
    assert os.path.islink(tmp_path / "link") and genesis.load(real) == {"step": 2}
    assert os.stat(real).st_mode & 0o777 == 0o640


def current_umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def leftovers(folder) -> list[str]:
    return [name for name in os.listdir(folder) if name.endswith(".tmp")]


def test_what_a_killed_save_left_is_removed_by_the_next(tmp_path):
    path = tmp_path / "state.safetensors"
    code = (
        "import os, signal, sys, genesis\n"
        "os.replace = lambda *_: os.kill(os.getpid(), signal.SIGKILL)\n"
        "genesis.save({'step': 2}, sys.argv[1])\n"
    )
    for _ in range(3):
        subprocess.run([sys.executable, "-c", code, path])
    (tmp_path / ".other.tmp").write_text("not ours")
    assert len(leftovers(tmp_path)) == 4
    genesis.save({"step": 3}, tmp_path / "another.safetensors")
    assert leftovers(tmp_path) == [".other.tmp"]


def test_a_file_that_somebody_writes_is_not_removed(tmp_path):
    from genesis.serialization.atomic import replacing

    with replacing(tmp_path / "slow") as file:
        file.write(b"slow")
        genesis.save({"step": 1}, tmp_path / "fast.safetensors")
        assert len(leftovers(tmp_path)) == 1
    assert (tmp_path / "slow").read_bytes() == b"slow" and leftovers(tmp_path) == []


def test_a_missing_folder_is_named_as_it_was_given(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for suffix in ("safetensors", "pt", "npy"):
        path = f"missing/state.{suffix}"
        with pytest.raises(FileNotFoundError, match="save: the folder does not exist") as caught:
            genesis.save(genesis.ones(2), path)
        assert caught.value.filename == path and ".tmp" not in str(caught.value)


def test_a_full_disk_names_the_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space") as caught:
        genesis.save({"step": 2}, tmp_path / "state.safetensors")
    assert caught.value.filename == str(tmp_path / "state.safetensors")


def test_long_names(tmp_path):
    path = tmp_path / ("x" * 240 + ".npy")
    genesis.save(genesis.ones(2), path)
    assert os.listdir(tmp_path) == [path.name]
