"""All rows. A new family is a new file beside this one; nobody edits a central list.

GENESIS_TEST_OPS=softplus,relu leaves the rows of these operators only (`tools/test`).
"""

import importlib
import os
import pkgutil

from tests.ops.op import Op

OPS: list[Op] = []
for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    OPS += importlib.import_module(f"{__name__}.{_module}").OPS

if _wanted := os.environ.get("GENESIS_TEST_OPS"):
    _names = set(_wanted.split(","))
    _unknown = _names - {name for op in OPS for name in (op.name, op.name.rpartition(".")[2])}
    if _unknown:
        raise SystemExit(f"no row in tests/ops/table is named {', '.join(sorted(_unknown))}")
    OPS = [op for op in OPS if {op.name, op.name.rpartition(".")[2]} & _names]
