"""The canaries of a sanitizer build (tools/sanitize): mistakes that must be caught."""

import os
import subprocess
import sys

import genesis
import pytest

sanitized = hasattr(genesis._C, "_canary_address")


@pytest.mark.skipif(not sanitized, reason="not a sanitizer build")
@pytest.mark.parametrize(
    ("code", "report"),
    [
        ("_C._canary_address(genesis.zeros(7))", "AddressSanitizer: heap-buffer-overflow"),
        ("_C._canary_undefined(1)", "runtime error: signed integer overflow"),
    ],
)
def test_a_deliberate_mistake_is_caught(code: str, report: str) -> None:
    assert_caught(code, report)


@pytest.mark.skipif(not hasattr(genesis._C, "_canary_thread"), reason="not a build for threads")
def test_a_deliberate_race_is_caught() -> None:
    assert_caught("_C._canary_thread()", "ThreadSanitizer: data race")


def assert_caught(code: str, report: str) -> None:
    run = subprocess.run(
        [sys.executable, "-c", f"import genesis; from genesis import _C; {code}"],
        capture_output=True,
        text=True,
        env=os.environ
        | {
            k: os.environ.get(k, "") + ":log_path=stderr"
            for k in ("ASAN_OPTIONS", "UBSAN_OPTIONS", "TSAN_OPTIONS")
        },
    )
    assert run.returncode != 0
    assert report in run.stderr
