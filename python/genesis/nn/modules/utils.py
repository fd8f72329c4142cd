"""Arguments that are one number or several."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import repeat
from typing import Any

__all__ = ["consume_prefix_in_state_dict_if_present"]


def _ntuple(n: int, name: str = "parse") -> Callable[[Any], Any]:
    def parse(x: Any) -> Any:
        return tuple(x) if isinstance(x, Iterable) else tuple(repeat(x, n))

    parse.__name__ = name
    return parse


_single = _ntuple(1, "_single")
_pair = _ntuple(2, "_pair")
_triple = _ntuple(3, "_triple")
_quadruple = _ntuple(4, "_quadruple")


def _reverse_repeat_tuple(t: Sequence[int], n: int) -> tuple[int, ...]:
    """Each item n times, the last one first: paddings of F.pad from those of a convolution."""
    return tuple(x for x in reversed(t) for _ in range(n))


def _list_with_default(out_size: list[int], defaults: list[int]) -> list[int]:
    if isinstance(out_size, int):
        return out_size
    if len(defaults) <= len(out_size):
        raise ValueError(f"expected more than {len(out_size)} dimensions, got {len(defaults)}")
    known = defaults[-len(out_size) :]
    return [d if v is None else v for v, d in zip(out_size, known, strict=True)]


def consume_prefix_in_state_dict_if_present(state_dict: dict[str, Any], prefix: str) -> None:
    """Remove a prefix of the names in a state dict, in place: "module." of DataParallel, say.

    >>> state = {"module.weight": 1}
    >>> genesis.nn.modules.utils.consume_prefix_in_state_dict_if_present(state, "module.")
    >>> state
    {'weight': 1}
    """
    for key in list(state_dict):
        if key.startswith(prefix):
            state_dict[key[len(prefix) :]] = state_dict.pop(key)
    metadata = getattr(state_dict, "_metadata", None)
    if metadata is not None:
        for key in list(metadata):
            if key and (key == prefix.rstrip(".") or key.startswith(prefix)):
                metadata[key[len(prefix) :]] = metadata.pop(key)
