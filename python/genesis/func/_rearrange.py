"""``rearrange``: transpose, split and join dimensions that have names."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from genesis import _C
from genesis._C import Tensor

__all__ = ["rearrange"]

_Groups = list[list[str]]
_ANY = "... "  # an ellipsis outside parentheses: as many groups as there are dimensions


def rearrange(tensor: Tensor | Sequence[Tensor], pattern: str, **axes_lengths: int) -> Tensor:
    """``tensor`` with its dimensions rearranged by ``pattern``, ``"names before -> names after"``.

    Names in parentheses form one dimension, which is split left of ``->`` and joined right of it.
    ``axes_lengths`` gives the sizes of names; one size in each pair of parentheses may be omitted.
    ``...`` stands for any number of dimensions and ``1`` for a dimension of size 1. A list of
    tensors of the same shape is stacked along a new first dimension.

    >>> images = genesis.zeros(2, 4, 6, 3)
    >>> rearrange(images, "b h w c -> b c h w").shape
    genesis.Size([2, 3, 4, 6])
    >>> rearrange(images, "b (h h2) w c -> b h (h2 w) c", h2=2).shape
    genesis.Size([2, 2, 12, 3])
    """
    x = tensor if isinstance(tensor, Tensor) else _C.stack(list(tensor))
    sides = pattern.split("->")
    if len(sides) != 2:
        raise ValueError(f"rearrange: the pattern {pattern!r} must have one '->'")
    before, after = (_parsed(side, pattern) for side in sides)
    before, after = _without_ellipsis(before, after, x, pattern)
    names = [name for group in before for name in group]
    later = [name for group in after for name in group]
    if sorted(names) != sorted(later):
        raise ValueError(
            f"rearrange: the names on both sides of {pattern!r} must be the same; only on one "
            f"side: {sorted(set(names) ^ set(later))}"
        )
    if unknown := [name for name in axes_lengths if name not in names]:
        raise ValueError(f"rearrange: {unknown} of axes_lengths do not occur in {pattern!r}")
    sizes: dict[str, int] = {}
    for group, size in zip(before, x.shape, strict=True):
        sizes.update(_split(group, int(size), axes_lengths, pattern, tuple(x.shape)))
    x = x.reshape([sizes[name] for name in names])
    x = x.permute([names.index(name) for name in later])
    return x.reshape([math.prod(sizes[name] for name in group) for group in after])


def _parsed(side: str, pattern: str) -> _Groups:
    """A group of names for each dimension; a dimension of size 1 has none."""
    groups: _Groups = []
    inside = False
    for token in re.findall(r"\.\.\.|[()]|[^\s().]+|\.", side):
        if token in "()" and inside == (token == "("):
            raise ValueError(f"rearrange: the parentheses of {pattern!r} do not match")
        if token == "(":
            groups.append([])
            inside = True
        elif token == ")":
            inside = False
        elif token == "1":
            if not inside:
                groups.append([])
        elif token == "..." or (token.isidentifier() and not token.startswith("_")):
            if inside:
                groups[-1].append(token)
            else:
                groups.append([_ANY if token == "..." else token])
        else:
            raise ValueError(f"rearrange: {token!r} in {pattern!r} is no name of a dimension")
    if inside:
        raise ValueError(f"rearrange: the parentheses of {pattern!r} do not match")
    flat = [name for group in groups for name in group]
    if twice := sorted({name for name in flat if flat.count(name) > 1}):
        raise ValueError(f"rearrange: {twice} occur more than once on one side of {pattern!r}")
    return groups


def _without_ellipsis(
    before: _Groups, after: _Groups, x: Tensor, pattern: str
) -> tuple[_Groups, _Groups]:
    """Both sides with names in place of the ellipsis."""
    has = [_ANY] in before
    if any("..." in group for group in before):
        raise ValueError(f"rearrange: the ellipsis left of '->' in {pattern!r} is in parentheses")
    count = x.ndim - len(before) + has
    if count < 0 or (count and not has):
        raise ValueError(
            f"rearrange: {pattern!r} takes {len(before) - has} dimensions, got a tensor of shape "
            f"{tuple(x.shape)}"
        )
    names = [f"_{i}" for i in range(count)]

    def replaced(groups: _Groups) -> _Groups:
        made: _Groups = []
        for group in groups:
            if group == [_ANY]:
                made += [[name] for name in names]
            else:
                made.append([n for g in group for n in (names if g == "..." else [g])])
        return made

    if any("..." in group or _ANY in group for group in after) and not has:
        raise ValueError(f"rearrange: the ellipsis in {pattern!r} is only right of '->'")
    return replaced(before), replaced(after)


def _split(
    group: list[str], size: int, known: dict[str, int], pattern: str, shape: tuple[int, ...]
) -> dict[str, int]:
    """The sizes of the names that share one dimension."""
    sizes = {name: known[name] for name in group if name in known}
    open_names = [name for name in group if name not in known]
    product = math.prod(sizes.values())
    if len(open_names) > 1:
        raise ValueError(
            f"rearrange: the sizes of {open_names} in {pattern!r} are unknown; pass all but one, "
            f"e.g. {open_names[0]}=2"
        )
    if open_names and product and size % product == 0:
        sizes[open_names[0]] = size // product
    elif open_names or product != size:
        raise ValueError(
            f"rearrange: a dimension of size {size} of a tensor of shape {shape} cannot be split "
            f"into ({' '.join(group)}) of {pattern!r} with sizes {sizes}"
        )
    return sizes
