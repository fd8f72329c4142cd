"""Packages built on PyTorch, with Genesis as torch: `tools/ecosystem` makes the environment.

Without it (in a plain run of the tests) nothing here is collected: these cases need packages that
are no dependencies of Genesis, and an environment without PyTorch.
"""

import json
import os
from pathlib import Path

import pytest

if "GENESIS_ECOSYSTEM" not in os.environ:
    collect_ignore_glob = ["test_*.py", "more/test_*.py"]

_VALUES = Path(__file__).parent / "values"


class Check:
    """Compares numbers with those that PyTorch gave, which are stored next to the cases."""

    def __init__(self, case: str) -> None:
        self.file = _VALUES / f"{case}.json"

    def __call__(self, tolerance: float = 1e-4, **values: object) -> None:
        found = {name: _numbers(value) for name, value in values.items()}
        if os.environ["GENESIS_ECOSYSTEM"] == "record":
            _VALUES.mkdir(exist_ok=True)
            self.file.write_text(json.dumps(found, indent=1) + "\n")
            return
        stored = json.loads(self.file.read_text())
        assert stored.keys() == found.keys()
        for name, expected in stored.items():
            assert found[name] == pytest.approx(expected, rel=tolerance, abs=tolerance), name


def _numbers(value: object) -> list[float]:
    """At most 8 numbers that stand for a value: a tensor is known by some elements and its sum."""
    if hasattr(value, "detach"):
        flat = value.detach().double().reshape(-1)
        picked = flat[:: max(1, flat.numel() // 7)][:7]
        return [*(float(x) for x in picked), float(flat.sum())]
    if isinstance(value, (list, tuple)):
        return [float(x) for x in value]
    return [float(value)]


@pytest.fixture
def check(request: pytest.FixtureRequest) -> Check:
    return Check(f"{request.path.stem.removeprefix('test_')}.{request.node.name}")
