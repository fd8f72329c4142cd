"""Checks that each folder of csrc includes only the layers below it."""

import pathlib
import re
import sys

ALLOWED = {
    "core": set(),
    "kernels": {"core"},
    "autograd": {"core"},
    "plan": {"core", "kernels"},
    "ops": {"core", "kernels", "autograd"},
    "engine": {"core", "autograd", "ops"},
    "bindings": {"core", "autograd", "plan", "ops", "engine"},
}
OUTSIDE = {"Python.h": {"bindings"}, "cblas.h": {"kernels"}}


def violations(root: pathlib.Path) -> list[str]:
    bad = []
    for path in sorted((root / "csrc").rglob("*.[hc]*")):
        here = path.relative_to(root).parts[1]
        for include in re.findall(r'#include ["<]([\w/.]+)[">]', path.read_text()):
            there = include.split("/")[0]
            if there in ALLOWED and there != here and there not in ALLOWED[here]:
                bad.append(f"{path.relative_to(root)}: {here}/ may not include {there}/")
            if there in OUTSIDE and here not in OUTSIDE[there]:
                bad.append(f"{path.relative_to(root)}: {here}/ may not include {include}")
    return bad


if __name__ == "__main__":
    sys.exit("\n".join(violations(pathlib.Path(__file__).parents[1])) or 0)
