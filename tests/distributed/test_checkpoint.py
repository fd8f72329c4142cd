"""Checkpoints that do not depend on the number of ranks, and runs that are killed."""

import os

import genesis
import pytest
from genesis.distributed import checkpoint

from tests.distributed.job import needs_mpi, passes, run

KILLS = int(os.environ.get("GENESIS_TEST_KILLS", "5"))


def result(outcome):
    return outcome.lines(0)[-2]


@needs_mpi
def test_a_run_saved_on_4_ranks_goes_on_with_the_same_bits_on_2_and_1(tmp_path):
    whole = result(passes(1, "resume", str(tmp_path / "whole"), "12"))
    passes(4, "resume", str(tmp_path / "a"), "5")
    assert len(os.listdir(tmp_path / "a")) == 2
    files = os.listdir(next((tmp_path / "a").glob("step-000000005*")))
    assert len([f for f in files if f.startswith("rank-")]) == 4
    assert result(passes(2, "resume", str(tmp_path / "a"), "8")) != whole
    assert result(passes(1, "resume", str(tmp_path / "a"), "12")) == whole


@needs_mpi
def test_a_lost_rank_restarts_the_run_with_fewer_ranks(tmp_path):
    whole = result(passes(2, "resume", str(tmp_path / "whole"), "8"))
    options = ("--max-restarts", "2", "--min-ranks", "2")
    outcome = run(4, "resume", str(tmp_path / "a"), "8", "at", "4", options=options)
    assert outcome.code == 0, outcome
    assert "starting again with 2 ranks" in outcome.err
    assert result(outcome) == whole
    assert {line[:3] for line in outcome.out.splitlines() if line.endswith("ok")} == {"[0]", "[1]"}


@needs_mpi
def test_random_kills_lose_nothing(tmp_path):
    """GENESIS_TEST_KILLS=100 makes it long."""
    steps = str(10 + 8 * KILLS)
    whole = result(passes(1, "resume", str(tmp_path / "whole"), steps))
    outcome = run(
        2, "resume", str(tmp_path / "a"), steps, "random", str(KILLS),
        options=("--max-restarts", str(KILLS + 5)), timeout=60 + 5 * KILLS,
    )  # fmt: skip
    assert outcome.code == 0, outcome
    assert outcome.err.count("the job failed") == KILLS, outcome
    assert result(outcome) == whole


def test_a_state_of_one_process_comes_back(tmp_path):
    state = {
        "weights": genesis.randn(300, 40), "scalar": genesis.tensor(2.0), "empty": genesis.zeros(0, 3),
        "half": genesis.ones(3, dtype=genesis.bfloat16), "nested": [1, "two", (3.0, None), {"x": genesis.arange(4)}],
    }  # fmt: skip
    checkpoint.save(state, tmp_path / "c")
    found = checkpoint.read(tmp_path / "c")
    for key in ("weights", "scalar", "empty", "half"):
        assert genesis.equal(found[key], state[key]) and found[key].dtype == state[key].dtype
    assert found["nested"][:3] == [1, "two", (3.0, None)]
    into = {"weights": genesis.zeros(300, 40), "nested": state["nested"]}
    checkpoint.load(into, tmp_path / "c")
    assert genesis.equal(into["weights"], state["weights"])
    with pytest.raises(FileExistsError, match="exists"):
        checkpoint.save(state, tmp_path / "c")
    with pytest.raises(ValueError, match=r"\(2,\).*\(300, 40\)"):
        checkpoint.load({"weights": genesis.zeros(2)}, tmp_path / "c")
    with pytest.raises(KeyError, match="other"):
        checkpoint.load({"other": genesis.zeros(2)}, tmp_path / "c")
    assert sorted(os.listdir(tmp_path)) == ["c"]


def test_a_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path):
    with pytest.raises(TypeError):
        checkpoint.save({"x": object()}, tmp_path / "c")
    assert os.listdir(tmp_path) == []


@needs_mpi
@pytest.mark.parametrize("kind", ["zero", "shard"])
def test_divided_states_go_on_on_fewer_ranks(tmp_path, kind):
    passes(1, "sharded_resume", str(tmp_path / "whole"), "6", kind)
    passes(4, "sharded_resume", str(tmp_path / "a"), "3", kind)
    passes(2, "sharded_resume", str(tmp_path / "a"), "5", kind)
    passes(1, "sharded_resume", str(tmp_path / "a"), "6", kind)
    ours, whole = (
        checkpoint.read(next((tmp_path / name).glob("step-000000006*"))) for name in ("a", "whole")
    )
    for key, value in whole["model"].items():
        assert genesis.equal(ours["model"][key], value), key
    for number, values in whole["optimizer"]["state"].items():
        for key, value in values.items():
            assert genesis.equal(ours["optimizer"]["state"][number][key], value), (number, key)
