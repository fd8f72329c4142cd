"""Forward mode: tensors that carry a tangent, and functions of them that carry its image.

>>> import genesis.autograd.forward_ad as fwAD
>>> with fwAD.dual_level():
...     x = fwAD.make_dual(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 0.0]))
...     fwAD.unpack_dual(x**2).tangent
tensor([2., 0.])

The tangent of a result is computed when :func:`unpack_dual` asks for it, from the graph of
what was computed inside the level: operations inside the level are recorded, also where
gradients were off outside.
"""

from __future__ import annotations

import threading
from typing import Any, NamedTuple

from genesis import _C
from genesis._C import Tensor

__all__ = [
    "UnpackedDualTensor",
    "dual_level",
    "enter_dual_level",
    "exit_dual_level",
    "make_dual",
    "unpack_dual",
]


class UnpackedDualTensor(NamedTuple):
    """What :func:`unpack_dual` returns; the tangent is None where there is none."""

    primal: Tensor
    tangent: Tensor | None


class _Dual:
    def __init__(self) -> None:
        from genesis.func._forward import recording_jvp
        from genesis.func._level import Level

        self.level = Level("make_dual")
        self.tangents: list[Tensor] = []
        self.primals: list[Tensor] = []
        self.modes: list[Any] = [_C.inference_mode(False), _C.enable_grad(), recording_jvp()]
        for mode in self.modes:
            mode.__enter__()

    def close(self) -> None:
        for mode in reversed(self.modes):
            mode.__exit__(None, None, None)


class _State(threading.local):
    def __init__(self) -> None:
        self.levels: list[_Dual] = []


_state = _State()


def enter_dual_level() -> int:
    """Enter a level of forward mode and return its number; see :class:`dual_level`."""
    if _state.levels:
        raise RuntimeError(
            "forward_ad: a dual level is entered already, and they do not nest; use "
            "genesis.func.jvp, which does"
        )
    _state.levels.append(_Dual())
    return len(_state.levels) - 1


def exit_dual_level(*, level: int | None = None) -> None:
    """Leave the level; tangents of tensors made in it are gone."""
    number = len(_state.levels) - 1 if level is None else level
    if number != len(_state.levels) - 1 or number < 0:
        raise RuntimeError(
            f"forward_ad: level {level} is not the innermost dual level; "
            f"{len(_state.levels)} are entered"
        )
    _state.levels.pop().close()


class dual_level:
    """A block in which tensors may carry tangents."""

    def __enter__(self) -> int:
        return enter_dual_level()

    def __exit__(self, *exception: object) -> None:
        exit_dual_level()


def _current(name: str, level: int | None) -> _Dual:
    if not _state.levels:
        raise RuntimeError(f"{name}: works inside `with forward_ad.dual_level():` only")
    number = len(_state.levels) - 1 if level is None else level
    if not 0 <= number < len(_state.levels):
        raise RuntimeError(f"{name}: there is no dual level {level}")
    return _state.levels[number]


def make_dual(tensor: Tensor, tangent: Tensor, *, level: int | None = None) -> Tensor:
    """``tensor`` with a tangent, which the operations inside the level carry on.

    ``tangent`` has the shape and the dtype of ``tensor``.
    """
    dual = _current("make_dual", level)
    if not isinstance(tensor, Tensor) or not isinstance(tangent, Tensor):
        raise TypeError(
            f"make_dual: expected two tensors, got {type(tensor).__name__} and "
            f"{type(tangent).__name__}"
        )
    if not tensor.is_floating_point() and not tensor.is_complex():
        raise ValueError(
            f"make_dual: a tensor of {tensor.dtype} has no tangent; use a floating one"
        )
    if tensor.shape != tangent.shape or tensor.dtype != tangent.dtype:
        raise ValueError(
            f"make_dual: the tangent must have the shape and dtype of the tensor, "
            f"{tuple(tensor.shape)} and {tensor.dtype}, got {tuple(tangent.shape)} and "
            f"{tangent.dtype}"
        )
    made = dual.level.add(tensor)
    dual.tangents.append(tangent)
    dual.primals.append(tensor)
    return made


def unpack_dual(tensor: Tensor, *, level: int | None = None) -> UnpackedDualTensor:
    """The tensor without its tangent, and the tangent."""
    if level is None and not _state.levels:
        return UnpackedDualTensor(tensor, None)
    dual = _current("unpack_dual", level)
    for own, primal, tangent in zip(dual.level.inputs, dual.primals, dual.tangents, strict=True):
        if own is tensor:
            return UnpackedDualTensor(primal, tangent)
    if not tensor.requires_grad or not dual.tangents:
        return UnpackedDualTensor(tensor, None)
    from genesis.func._forward import Pushforward

    push = Pushforward(dual.level, [tensor])
    if len(push.independent()) == len(dual.tangents):
        return UnpackedDualTensor(dual.level.leave(tensor), None)
    outside = dual.level.seen_outside(tensor, *dual.tangents)
    (product,) = push(dict(enumerate(dual.tangents)), outside)
    return UnpackedDualTensor(dual.level.leave(tensor), dual.level.leave(product))
