"""What all metrics share: named states that can be reset, merged, saved and gathered."""

from __future__ import annotations

import copy
from typing import Any, TypeVar

from genesis import _C
from genesis._C import Tensor, no_grad

T = TypeVar("T", bound="Metric")
State = Tensor | list[Tensor]


class Metric:
    """Base class of metrics. A subclass calls `add_state` and defines ``update`` and ``compute``.

    Calling a metric updates it, and returns the value of that batch alone.

    >>> class Largest(Metric):
    ...     def __init__(self):
    ...         super().__init__()
    ...         self.add_state("value", genesis.tensor(0.0), merge="max")
    ...     def update(self, x):
    ...         self.value = genesis.maximum(self.value, x.max())
    ...     def compute(self):
    ...         return self.value
    >>> metric = Largest()
    >>> metric.update(genesis.tensor([1.0, 3.0]))
    >>> metric.update(genesis.tensor([2.0]))
    >>> metric.compute().item()
    3.0
    """

    def __init__(self) -> None:
        self._states: dict[str, tuple[State, str]] = {}

    def add_state(self, name: str, initial: State, merge: str = "sum") -> None:
        """Declare an attribute that holds results so far.

        ``initial`` is a tensor, or an empty list to which `update` appends tensors. ``merge`` says
        how two of them are joined: "sum", "max" or "min" of tensors, "cat" for lists.
        """
        if merge not in ("sum", "max", "min", "cat"):
            raise ValueError(
                f'Metric.add_state: merge must be "sum", "max", "min" or "cat", got {merge!r}'
            )
        if (merge == "cat") != isinstance(initial, list):
            raise ValueError(
                f'Metric.add_state: {name}: merge="cat" goes with a list, and only with one'
            )
        self._states[name] = (initial, merge)
        setattr(self, name, copy.copy(initial))

    def update(self, *args: Any, **kwargs: Any) -> None:
        """Take a batch into account."""
        raise NotImplementedError(f"{type(self).__name__} does not define update")

    def compute(self) -> Tensor:
        """The value over all batches since the last `reset`; nan if there were none."""
        raise NotImplementedError(f"{type(self).__name__} does not define compute")

    def reset(self) -> None:
        """Forget all batches."""
        for name, (initial, _) in self._states.items():
            setattr(self, name, copy.copy(initial))

    def merge(self: T, *others: T) -> T:
        """Add the data of other metrics of the same kind; returns this metric."""
        for other in others:
            if type(other) is not type(self):
                raise TypeError(
                    f"{type(self).__name__}.merge: expected a {type(self).__name__}, got "
                    f"{type(other).__name__}"
                )
            self._merge_states({name: getattr(other, name) for name in self._states})
        return self

    def _merge_states(self, other: dict[str, Any]) -> None:
        for name, (_, how) in self._states.items():
            mine, theirs = getattr(self, name), other[name]
            if how == "cat":
                joined: State = [*mine, *theirs]
            elif how == "sum":
                joined = _add(mine, theirs)
            else:
                joined = (_C.maximum if how == "max" else _C.minimum)(mine, theirs)
            setattr(self, name, joined)

    def sync(self: T, group: Any = None) -> T:
        """A metric over the data of all ranks of a distributed job; this one does not change.

        Every rank of the group has to call it, and every rank gets the same result. Without a
        distributed job it is a copy.
        """
        from genesis import distributed

        whole = copy.copy(self)
        if not distributed.is_initialized() or distributed.get_world_size(group) == 1:
            whole.load_state_dict(self.state_dict())
            return whole
        states: list[Any] = [None] * distributed.get_world_size(group)
        distributed.all_gather_object(states, self.state_dict(), group)
        whole.reset()
        for state in states:
            whole._merge_states(state)
        return whole

    def state_dict(self) -> dict[str, Any]:
        """The states, for checkpoints."""
        return {name: copy.copy(getattr(self, name)) for name in self._states}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go back to what `state_dict` returned."""
        if state.keys() != self._states.keys():
            raise ValueError(
                f"{type(self).__name__}.load_state_dict: expected the states "
                f"{sorted(self._states)}, got {sorted(state)}"
            )
        for name, value in state.items():
            setattr(self, name, copy.copy(value))

    def __call__(self, *args: Any, **kwargs: Any) -> Tensor:
        batch = copy.copy(self)
        batch.reset()
        batch.update(*args, **kwargs)
        self.merge(batch)
        return batch.compute()

    def __repr__(self) -> str:
        return f"{type(self).__name__}()"


def _add(a: Tensor, b: Tensor) -> Tensor:
    """A sum; counts of classes grow to the larger number of classes."""
    if a.shape == b.shape:
        return a + b
    size = [max(m, n) for m, n in zip(a.shape, b.shape, strict=True)]
    return grown(a, size) + grown(b, size)


def grown(counts: Tensor, size: list[int]) -> Tensor:
    """Counts with zeros for classes that were not seen yet."""
    if list(counts.shape) == size:
        return counts
    out = _C.zeros(size, dtype=counts.dtype)
    out[tuple(slice(n) for n in counts.shape)] = counts
    return out


def tensor(name: str, argument: str, value: Any) -> Tensor:
    """An argument as a tensor without a graph."""
    if isinstance(value, Tensor):
        return value.detach()
    try:
        return _C.as_tensor(value)
    except (TypeError, ValueError, RuntimeError) as error:
        raise TypeError(f"{name}: {argument} must be a tensor or an array: {error}") from None


def ratio(a: Tensor, b: Tensor) -> Tensor:
    """a / b in float64; nan where b is zero."""
    return a.double() / b.double()


class Mean(Metric):
    """The mean of values, each with a weight.

    >>> mean = Mean()
    >>> mean.update(2.0)
    >>> mean.update(4.0, weight=3)
    >>> mean.compute().item()
    3.5
    """

    total: Tensor
    weight: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.add_state("total", _C.tensor(0.0, dtype=_C.float64))
        self.add_state("weight", _C.tensor(0.0, dtype=_C.float64))

    @no_grad()
    def update(self, value: Any, weight: Any = 1.0) -> None:
        """Take a number or a tensor of numbers, with one weight or a tensor of weights."""
        values = tensor("Mean", "value", value).double()
        weights = tensor("Mean", "weight", weight).double().expand(values.shape)
        self.total = self.total + (values * weights).sum()
        self.weight = self.weight + weights.sum()

    def compute(self) -> Tensor:
        return ratio(self.total, self.weight)
