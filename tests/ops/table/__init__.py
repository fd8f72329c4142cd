"""All rows. A new family is a new file beside this one; nobody edits a central list."""

import importlib
import pkgutil

from tests.ops.op import Op

OPS: list[Op] = []
for _module in sorted(m.name for m in pkgutil.iter_modules(__path__)):
    OPS += importlib.import_module(f"{__name__}.{_module}").OPS
