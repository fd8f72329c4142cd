"""A short part of what `tools/soak` does, with a fixed seed; and the fuzzers themselves."""

import gc
import os
import subprocess
import sys

import genesis
import pytest

from tests.fuzz.faults import SCENARIOS, Allocations, every
from tests.fuzz.known import known
from tests.fuzz.runner import ROOT, run
from tests.fuzz.targets import SHORT

SANITIZED = bool({"ASAN_OPTIONS", "TSAN_OPTIONS"} & set(os.environ))
pytestmark = pytest.mark.skipif(
    sys.platform != "linux", reason="fuzzers limit their memory and read /proc"
)
NEEDS_TORCH = {"programs", "compiled", "modules"}
SEED = 1


def unexpected(findings):
    return [f for f in findings if not known(f) and f.kind != "unnamed error"]


@pytest.mark.parametrize("name", SHORT)
def test_a_short_run_finds_nothing(name):
    if name in NEEDS_TORCH:
        pytest.importorskip("torch")
    if name == "new":
        from tests.fuzz.native_faults import compiler

        if SANITIZED or not compiler():
            pytest.skip("needs a compiler, and operator new for itself")
    result = run(name, seed=SEED, cases=SHORT[name], jobs=1)
    assert result.cases >= SHORT[name] * 0.9
    found = unexpected(result.findings)
    assert not found, "\n".join(f.report() for f in found)
    if name == "calls":
        raised, unnamed = result.counts.values()
        assert raised > 500
        assert unnamed <= MOST_UNNAMED * raised, f"{unnamed} of {raised} errors name no operation"


# The part of errors after random arguments that may name no operation.
MOST_UNNAMED = 0.001


@pytest.mark.parametrize("name", ["a step of an MLP", "a step of a convolutional network"])
def test_every_allocation_of_a_step_may_fail(name):
    if SANITIZED:
        pytest.skip("blocks are not from the pools")
    target = Allocations()
    target.counts, target.note = [0, 0], lambda text: None
    gc.collect()
    gc.freeze()  # collections look at what the step makes, not at all that the tests before have left
    try:
        cases = every(target.counting, name)
        found = [f for first, last in cases for f in target.fail(name, first, last)]
    finally:
        gc.unfreeze()
    failed, raised = target.counts
    assert failed > 50
    assert raised == failed  # nothing does without what it asked for
    assert not found, "\n".join(f.report() for f in found)
    assert name in SCENARIOS


# --- the fuzzers


@pytest.mark.parametrize(
    ("mistake", "kind", "text"),
    [
        (0, "crash", "SIGABRT"),
        (1, "hang", "more than 1.0 s"),
        (2, "crash", "SIGSEGV"),
        (3, "error of the fuzzer", "MemoryError"),
        (4, "error of the fuzzer", "nobody expects this"),
    ],
)
def test_a_deliberate_mistake_is_found(monkeypatch, mistake, kind, text):
    if SANITIZED:
        pytest.skip("sanitizers have reports of their own")
    monkeypatch.setenv("CANARY", str(mistake))
    result = run("canary", seed=SEED, cases=1, jobs=1, first=3)
    (found,) = result.findings
    assert found.kind == kind and text in found.text and found.case == 3
    assert found.command() == f"tools/soak --only canary --seed {SEED} --case 3"


def test_a_case_is_the_same_again(monkeypatch):
    monkeypatch.setenv("CANARY", "99")
    texts = [[f.text for f in run("canary", seed=seed, cases=4, jobs=jobs).findings] for seed, jobs in [(5, 1), (5, 2), (6, 1)]]  # fmt: skip
    assert len(texts[0]) == 4
    assert texts[0] == texts[1] != texts[2]
    alone = run("canary", seed=5, cases=1, jobs=1, first=2).findings
    assert alone[0].text == texts[0][2]


def test_disagreements_are_classified_and_made_short():
    pytest.importorskip("torch")
    from tests.fuzz.programs import compare, minimised, operation_of

    start = "w0 = L.tensor([1.0, 2.0], dtype=L.float64, requires_grad=True)"
    here = "('genesis' in L.__name__)"
    programs = {
        "value": f"v1 = w0.detach() + {here}",
        "dtype or shape": f"v1 = w0[: 1 + {here}]",
        "requires_grad": f"v1 = (w0 * 1).detach() if {here} else w0 * 1",
        "raises": f"v1 = w0.reshape(7 if {here} else 2)",
        "does not raise": f"v1 = w0.reshape(2 if {here} else 7)",
        "gradient": f"v1 = w0 * 1; w0.grad = L.ones(2, dtype=L.float64) * {here}",
        "shared memory": f"v1 = w0.detach() if {here} else w0.detach().clone()",
    }
    for kind, step in programs.items():
        steps = [start, "v5 = w0.sin()", step, "v6 = v5.exp()", "v7 = v6[:1]"]
        found = compare(steps)
        assert found is not None and found.kind == kind
        short = minimised(steps, kind, operation_of(found.step))
        assert short == [start, step], kind
    assert compare([start, "v1 = w0 * 2", "v1[0] = 3"]) is None


def test_the_command(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "tests.fuzz.soak", "--only", "files,writers", "--seed", "7", "--minutes", "0.05", "--jobs", "1"],
        cwd=ROOT, capture_output=True, text=True, timeout=200,
    )  # fmt: skip
    assert "seed 7" in run.stdout
    assert "writers" in run.stdout.splitlines()[-1]
    wrong = subprocess.run([sys.executable, "-m", "tests.fuzz.soak", "--only", "nothing"], cwd=ROOT, capture_output=True, text=True)  # fmt: skip
    assert wrong.returncode != 0 and "no target nothing" in wrong.stderr


def test_counting_is_off_afterwards():
    genesis._C._fail_allocations(0, 1)
    with pytest.raises(MemoryError, match="out of memory"):
        genesis.zeros(3)
    assert genesis.zeros(3).sum() == 0  # only one fails
    genesis._C._fail_allocations(-1, -1)
    assert genesis._C._fail_allocations(-1, -1) == 0


def test_libfuzzer():
    pytest.importorskip("atheris")
    from tests.fuzz import libfuzzer

    result = libfuzzer.run(SEED, 6)
    assert result.cases > 1000
    found = unexpected(result.findings)
    assert not found, "\n".join(f.report() for f in found)
