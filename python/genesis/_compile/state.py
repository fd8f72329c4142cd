"""What a call changes, saved and restored: to compare a plan with the function."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import genesis
from genesis import _C
from genesis._C import Tensor


def _bits(t: Tensor) -> tuple[Any, ...]:
    with genesis.no_grad():
        return t.dtype, tuple(t.shape), _C._to_bytes(t.detach())


def bits(value: Any) -> Any:
    """A value that is equal to another exactly if both are the same to the bit."""
    if isinstance(value, Tensor):
        return _bits(value)
    if isinstance(value, float):
        return value.hex()
    return value


def _all_owners(owners: Iterable[Any]) -> list[Any]:
    """Optimizers and schedulers, with the optimizers and schedulers that schedulers change."""
    from genesis.optim import Optimizer
    from genesis.optim.lr_scheduler import LRScheduler

    found: dict[int, Any] = {}
    todo = list(owners)
    while todo:
        owner = todo.pop()
        if id(owner) in found or not isinstance(owner, (Optimizer, LRScheduler)):
            continue
        found[id(owner)] = owner
        if isinstance(owner, LRScheduler):
            for value in vars(owner).values():
                todo += value if isinstance(value, (list, tuple)) else [value]
    return list(found.values())


class State:
    """Tensors, their gradients, optimizers, schedulers and the generator, as they are now."""

    def __init__(self, tensors: Iterable[Tensor], owners: Iterable[Any]) -> None:
        from genesis.optim import Optimizer

        self.generator = genesis.get_rng_state()
        self.owners: list[tuple[Any, dict[str, Any]]] = []
        found = {id(t): t for t in tensors}
        for owner in _all_owners(owners):
            if isinstance(owner, Optimizer):
                groups = [{k: v for k, v in g.items() if k != "params"} for g in owner.param_groups]
                state = {p: dict(values) for p, values in owner.state.items()}
                checks = (owner._stale_checks, owner._seen, owner._opt_called)
                self.owners.append((owner, {"groups": groups, "state": state, "checks": checks}))
                for p in owner.params:
                    found[id(p)] = p
                for values in owner.state.values():
                    found |= {id(v): v for v in values.values() if isinstance(v, Tensor)}
            else:
                copied = {k: list(v) if type(v) is list else v for k, v in vars(owner).items()}
                self.owners.append((owner, copied))
        self.tensors = list(found.values())
        with genesis.no_grad():
            self.values = [t.detach().clone() for t in self.tensors]
            self.grads = [t.grad if t.requires_grad and t.is_leaf else None for t in self.tensors]
            self.grad_values = [None if g is None else g.detach().clone() for g in self.grads]

    def restore(self) -> None:
        """Bring everything back."""
        from genesis.optim import Optimizer

        genesis.set_rng_state(self.generator)
        with genesis.no_grad():
            for t, value in zip(self.tensors, self.values, strict=True):
                if _bits(t) != _bits(value):
                    t.detach().copy_(value)
            for t, grad, kept in zip(self.tensors, self.grads, self.grad_values, strict=True):
                if t.requires_grad and t.is_leaf:
                    if grad is not None and kept is not None:
                        grad.detach().copy_(kept)
                    t.grad = grad
        for owner, saved in self.owners:
            if not isinstance(owner, Optimizer):
                vars(owner).clear()
                vars(owner).update(saved)
                continue
            for group, values in zip(owner.param_groups, saved["groups"], strict=True):
                group.update(values)
            for p in list(owner.state):
                if p not in saved["state"]:
                    del owner.state[p]
                else:
                    owner.state[p] = dict(saved["state"][p])
            owner._stale_checks, owner._seen, owner._opt_called = saved["checks"]

    def now(self) -> dict[str, Any]:
        """The bits of everything, by name."""
        from genesis.optim import Optimizer

        result: dict[str, Any] = {"generator": _bits(genesis.get_rng_state())}
        for i, t in enumerate(self.tensors):
            result[f"tensor {i} of shape {tuple(t.shape)}"] = _bits(t)
            if t.requires_grad and t.is_leaf:
                grad = None if t.grad is None else _bits(t.grad)
                result[f"gradient of tensor {i} of shape {tuple(t.shape)}"] = grad
        for i, (owner, _) in enumerate(self.owners):
            if not isinstance(owner, Optimizer):
                for key, value in vars(owner).items():
                    if type(value) in (int, float, list):
                        result[f"{key} of scheduler {i}"] = repr(value)
            if isinstance(owner, Optimizer):
                for j, group in enumerate(owner.param_groups):
                    for key, value in group.items():
                        if key != "params":
                            result[f"option {key} of group {j} of optimizer {i}"] = bits(value)
                for j, p in enumerate(owner.params):
                    for key, value in owner.state.get(p, {}).items():
                        result[f"state {key} of parameter {j} of optimizer {i}"] = bits(value)
        return result


def differences(a: dict[str, Any], b: dict[str, Any]) -> list[str]:
    """The names whose bits differ."""
    return [name for name in a.keys() | b.keys() if not _same(a.get(name), b.get(name))]


def _same(a: Any, b: Any) -> bool:
    """Whether bits are equal; every NaN is equal to every other, as its sign means nothing."""
    if a == b:
        return True
    if type(a) is not tuple or type(b) is not tuple or a[:2] != b[:2]:
        return False
    dtype = a[0]
    if not dtype.is_floating_point and not dtype.is_complex:
        return False
    return _without_nan_bits(a) == _without_nan_bits(b)


def _without_nan_bits(value: tuple[Any, ...]) -> bytes:
    t = genesis.frombuffer(bytearray(value[2]), dtype=value[0])
    if t.is_complex():
        t = genesis.view_as_real(t)
    return _C._to_bytes(t.masked_fill(t.isnan(), float("nan")))
