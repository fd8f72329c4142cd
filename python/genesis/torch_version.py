"""A version that compares with strings and tuples."""

from __future__ import annotations

import re
from itertools import zip_longest
from typing import Any

__all__ = ["TorchVersion"]


class TorchVersion(str):
    """A version number: a string that compares as versions do.

    >>> TorchVersion("2.13.0+genesis") >= (2, 2)
    True
    >>> TorchVersion("2.13.0") < "2.9"
    False
    """

    __slots__ = ()

    def _against(self, other: Any) -> int:
        """-1, 0 or 1: older, the same or newer."""
        for mine, theirs in zip_longest(_parts(self), _parts(other), fillvalue=0):
            if mine != theirs:
                # A word marks what precedes a release: 2.0.0a1 is older than 2.0.0.
                if isinstance(mine, str) is not isinstance(theirs, str):
                    return -1 if isinstance(mine, str) else 1
                return -1 if mine < theirs else 1  # type: ignore[operator]
        return 0

    def __lt__(self, other: Any) -> bool:
        return self._against(other) < 0

    def __le__(self, other: Any) -> bool:
        return self._against(other) <= 0

    def __gt__(self, other: Any) -> bool:
        return self._against(other) > 0

    def __ge__(self, other: Any) -> bool:
        return self._against(other) >= 0

    def __eq__(self, other: object) -> bool:
        if isinstance(other, str):
            if str.__eq__(self, other):
                return True
            if "+" in other:
                return False
        elif not isinstance(other, (tuple, list)):
            return NotImplemented
        return self._against(other) == 0

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return str.__hash__(self)


def _parts(version: Any) -> list[int | str]:
    if isinstance(version, (tuple, list)):
        return [part if isinstance(part, int) else str(part) for part in version]
    plain = str(version).partition("+")[0]
    return [int(p) if p.isdigit() else p for p in re.findall(r"\d+|[a-z]+", plain)]
