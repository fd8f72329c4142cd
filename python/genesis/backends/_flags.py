"""A block in which flags of a backend have other values."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from typing import Any


@contextlib.contextmanager
def changed(module: str, **values: Any) -> Iterator[None]:
    """Set attributes of a module for a block; None leaves one alone."""
    place = sys.modules[module].__dict__
    before = {name: place[name] for name in values}
    place.update({name: value for name, value in values.items() if value is not None})
    try:
        yield
    finally:
        place.update(before)
