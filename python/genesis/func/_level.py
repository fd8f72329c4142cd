"""One differentiation inside another: the basis of every transform of this package.

A transform calls its function with stand-ins for the inputs. Where an input is already part of a
graph (a parameter, or the stand-in of a transform further out), its stand-in is a view of it: the
gradient with respect to the stand-in counts only uses inside this call, while the result still
leads back to the input. Elsewhere the stand-in is a new leaf, and a result that depends on nothing
but such leaves is returned detached. So nested transforms cannot take each other's perturbations
for their own, and nothing is recorded that nobody outside could ask for.
"""

from __future__ import annotations

import sys
import weakref
from collections.abc import Callable, Sequence
from typing import Any

from genesis import _C, autograd
from genesis._C import Tensor
from genesis._pytree import TreeSpec, tree_flatten, tree_map, tree_paths, tree_unflatten

Argnums = int | tuple[int, ...]

# Leaves of levels that are over, still part of a result because it depends on something else too.
_finished: weakref.WeakValueDictionary[int, Tensor] = weakref.WeakValueDictionary()


class Level:
    """The inputs of one transform, flat, and their substitutes."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.inputs: list[Tensor] = []
        self.spec = TreeSpec(None)
        self._own: list[Tensor] = []
        self._tracked = _C.is_grad_enabled()

    def enter(self, tree: Any) -> Any:
        """``tree`` with a stand-in for each of its tensors."""
        leaves, self.spec = tree_flatten(tree)
        mapping = _C._levels()
        with _C.inference_mode(False):
            self.inputs += [self._stand_in(x, i, mapping) for i, x in enumerate(leaves)]
        return tree_unflatten(self.inputs, self.spec)

    def add(self, x: Tensor) -> Tensor:
        """A stand-in for one more input."""
        with _C.inference_mode(False):
            self.inputs.append(self._stand_in(x, 0, _C._levels()))
        return self.inputs[-1]

    def _stand_in(self, x: Any, i: int, mapping: Sequence[Any]) -> Any:
        if isinstance(x, (float, complex)):
            x = _C.tensor(x)
        if not isinstance(x, Tensor) or not (x.is_floating_point() or x.is_complex()):
            got = f"a tensor of {x.dtype}" if isinstance(x, Tensor) else type(x).__name__
            where = tree_paths(self.spec)[i]
            raise _C.DTypeError(
                f"{self.name}: the inputs to differentiate must be floating or complex tensors, "
                f"got {got}{' at ' + where if where else ''}; choose others with argnums, or "
                "convert it"
            )
        # On the tensor behind a batched one: a call on that itself costs a batching rule.
        if mapping:
            plain, mapping = _batching().expanded(x, mapping)
        else:
            plain = _C._physical(x)
        made = plain.view_as(plain) if self._tracked else plain  # a tape records even the view
        if not (self._tracked and made.requires_grad):
            made = (plain.clone() if plain.is_inference() else plain.detach()).requires_grad_()
            self._own.append(made)
        for vmap in mapping:
            made = _C._batched(made, vmap)
        return made

    def dummy(self, like: Tensor) -> Tensor:
        """Zeros that belong to this level, to be differentiated with respect to."""
        with _C.inference_mode(False):
            zeros = _C.zeros_like(like).requires_grad_()
        self._own.append(_C._physical(zeros))
        return zeros

    def run(self, function: Callable[..., Any], args: Any, kwargs: dict[str, Any]) -> Any:
        with _C.inference_mode(False), _C.enable_grad():
            return function(*args, **kwargs)

    def seen_outside(self, *tensors: Tensor) -> bool:
        """Whether a result computed from these may be differentiated outside."""
        if not (_C.is_grad_enabled() and self._tracked):
            return False
        own = [*self._own, *_finished.values()] if _finished else self._own
        return _C._depends_on_other_leaves([_C._physical(t) for t in tensors], own)

    def leave(self, tree: Any) -> Any:
        """``tree`` without the graph that only this level could use."""
        if tree is None:
            return None

        def cut(x: Any) -> Any:
            if not isinstance(x, Tensor) or not _C._physical(x).requires_grad:
                return x
            if not self.seen_outside(x):
                return x.detach()
            _finished.update((id(own), own) for own in self._own)
            return x

        return tree_map(cut, tree)


def vmap_used() -> bool:
    """Whether a function was ever run under vmap; before that, no tensor is batched."""
    return "genesis.func._batching" in sys.modules


def _batching() -> Any:
    return sys.modules["genesis.func._batching"]


def further_levels(tensors: Sequence[Tensor], inputs: Sequence[Tensor]) -> list[Any]:
    """The vmaps that map over one of ``tensors``, but over none of ``inputs``, outermost first.

    Empty if a vmap that maps over an input is further in than one of them.
    """
    known = [v for x in inputs for v in _C._levels_of(x)]
    found = {v.depth: v for x in tensors for v in _C._levels_of(x) if v not in known}
    if not found or any(v.depth > min(found) for v in known):
        return []
    return [found[depth] for depth in sorted(found)]


def gradients(
    outputs: Sequence[Tensor],
    inputs: Sequence[Tensor],
    seeds: Sequence[Tensor] | None,
    *,
    create_graph: bool,
    retain_graph: bool | None = None,
) -> list[Tensor | None]:
    """``autograd.grad``, with None where no output depends on an input."""
    live = [i for i, out in enumerate(outputs) if _C._physical(out).requires_grad]
    if not live or not inputs:
        return [None] * len(inputs)
    if len(live) < len(outputs):
        outputs = [outputs[i] for i in live]
        seeds = None if seeds is None else [seeds[i] for i in live]
    with _C.inference_mode(False):
        return list(autograd._grad(outputs, inputs, seeds, retain_graph, create_graph, True))


def or_zeros(grads: Sequence[Tensor | None], like: Sequence[Tensor]) -> list[Tensor]:
    return [_C.zeros_like(x.detach()) if g is None else g for g, x in zip(grads, like, strict=True)]


def select(name: str, args: tuple[Any, ...], argnums: Argnums) -> tuple[Any, tuple[int, ...]]:
    """The arguments that ``argnums`` names, and their places."""
    places = (argnums,) if isinstance(argnums, int) else tuple(argnums)
    if not places:
        raise _C.ShapeError(f"{name}: argnums is empty; pass the position of at least one argument")
    for place in places:
        if not isinstance(place, int):
            raise TypeError(f"{name}: argnums must be an int or a tuple of ints, got {argnums!r}")
        if not -len(args) <= place < len(args):
            raise _C.ShapeError(
                f"{name}: argnums={argnums} but the function got {len(args)} positional arguments; "
                "an argument to differentiate cannot be passed by keyword"
            )
    places = tuple(place % len(args) for place in places)
    if len(set(places)) != len(places):
        raise _C.ShapeError(f"{name}: argnums={argnums} contains an argument twice")
    chosen = args[places[0]] if isinstance(argnums, int) else tuple(args[i] for i in places)
    return chosen, places


def replaced(
    args: tuple[Any, ...], places: tuple[int, ...], values: Any, argnums: Argnums
) -> tuple[Any, ...]:
    """``args`` with ``values`` at ``places``."""
    result = list(args)
    values = (values,) if isinstance(argnums, int) else values
    for place, value in zip(places, values, strict=True):
        result[place] = value
    return tuple(result)


def split_aux(name: str, result: Any, has_aux: bool) -> tuple[Any, Any]:
    if not has_aux:
        return result, None
    if not (isinstance(result, tuple) and len(result) == 2):
        raise TypeError(
            f"{name}: with has_aux=True the function must return a tuple (output, aux), got "
            f"{_described(result)}"
        )
    return result


def scalar(name: str, result: Any) -> Tensor:
    if not isinstance(result, Tensor) or result.ndim != 0:
        raise _C.ShapeError(
            f"{name}: the function must return a scalar (0-d) tensor, got "
            f"{_described(result)}; reduce it, e.g. with .sum(), or use vjp or jacrev"
        )
    return result


def tensors(name: str, tree: Any) -> tuple[list[Tensor], TreeSpec]:
    """The outputs of a function, flat; they must be floating tensors."""
    leaves, spec = tree_flatten(tree)
    for x, where in zip(leaves, tree_paths(spec), strict=True):
        if not isinstance(x, Tensor) or not (x.is_floating_point() or x.is_complex()):
            raise _C.DTypeError(
                f"{name}: the function must return floating tensors, got {_described(x)}"
                f"{' at ' + where if where else ''}; return other values as aux, with "
                "has_aux=True"
            )
    return leaves, spec


def matching(name: str, what: str, tree: Any, like: Sequence[Tensor], spec: TreeSpec) -> Any:
    """The leaves of ``tree``, which must have the structure and the shapes of ``like``."""
    leaves, shape = tree_flatten(tree)
    if shape != spec:
        raise _C.ShapeError(f"{name}: {what} have the structure {shape}, expected {spec}")
    for x, y, where in zip(leaves, like, tree_paths(spec), strict=True):
        if not isinstance(x, Tensor) or tuple(x.shape) != tuple(y.shape):
            raise _C.ShapeError(
                f"{name}: {what}{where} must be a tensor of shape {tuple(y.shape)}, got "
                f"{_described(x)}"
            )
    return [x if x.dtype == y.dtype else x.to(y.dtype) for x, y in zip(leaves, like, strict=True)]


def _described(x: Any) -> str:
    if isinstance(x, Tensor):
        return f"a tensor of {x.dtype} and shape {tuple(x.shape)}"
    return type(x).__name__
