"""One pass over the data: which batches there are, which were delivered, and how to go on later."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from genesis._C import Generator
from genesis.data.sampler import (
    BatchSampler,
    DistributedSampler,
    RandomSampler,
    SequentialSampler,
    SubsetRandomSampler,
    WeightedRandomSampler,
    draw_seed,
)
from genesis.utils import random_state

if TYPE_CHECKING:
    from genesis.data.dataloader import DataLoader


class Epoch:
    """The tasks of a pass in order, and a record of the delivered ones.

    The order of a pass follows from the random state in which it began. To go on in the middle,
    that state is put back, the sampler runs again, and what was delivered is left out.
    """

    def __init__(self, loader: DataLoader[Any], state: dict[str, Any] | None = None) -> None:
        self.finished = False
        self.start: dict[str, Any]
        if state is None:
            self.start = {"process": random_state.capture(), "samplers": sampler_states(loader)}
            self.delivered, self.ahead = 0, set[int]()
            self._begin(loader)
            return
        self.start = state["start"]
        self.delivered, self.ahead = state["delivered"], set(state["ahead"])
        now = random_state.capture()
        random_state.restore(self.start["process"])
        set_sampler_states(loader, self.start["samplers"])
        try:
            self._begin(loader)
            if not loader.recipe.iterable:
                for _ in range(self.delivered):
                    next(self.tasks, None)
        finally:
            random_state.restore(now)

    def _begin(self, loader: DataLoader[Any]) -> None:
        self.seed = draw_seed(loader.generator)
        indices = loader._index_sampler_iter()
        first = list(itertools.islice(indices, 1))  # samplers may draw late: now is the time
        if not _draws_at_once(loader.batch_sampler or loader.sampler):
            indices = _apart(
                indices, random_state.derive(self.seed, *_words(self.start["process"]))
            )
        self.tasks: Iterator[tuple[int, Any]] = enumerate(itertools.chain(first, indices))

    def next_task(self) -> tuple[int, Any] | None:
        """The number of the next batch to be made, and the indices of its samples."""
        for number, indices in self.tasks:
            if number not in self.ahead:
                return number, indices
        return None

    def deliver(self, number: int) -> None:
        self.ahead.add(number)
        while self.delivered in self.ahead:
            self.ahead.remove(self.delivered)
            self.delivered += 1

    def state_dict(self) -> dict[str, Any]:
        return {
            "start": self.start,
            "delivered": self.delivered,
            "ahead": sorted(self.ahead),
        }


def _draws_at_once(sampler: Any) -> bool:
    """Whether a sampler draws from the default generators only when it starts."""
    while type(sampler) is BatchSampler:
        sampler = sampler.sampler
    kinds = (SequentialSampler, RandomSampler, SubsetRandomSampler, WeightedRandomSampler)
    return sampler is None or type(sampler) in (*kinds, DistributedSampler, list, tuple, range)


def _words(state: dict[str, Any]) -> list[int]:
    """A few numbers that identify the states of Python's and NumPy's generators."""
    words = [*state["python"][1][:2], state["python"][1][-1]]
    if "numpy" in state:
        words += [int(state["numpy"][1][0]), state["numpy"][2]]
    return words


def _apart(indices: Iterator[Any], seed: int) -> Iterator[Any]:
    """``indices`` of a sampler that may draw at any time, with its own random streams.

    Else its draws and those of training would mix, and the order could not be found again.
    """
    with random_state.seeded(seed):
        state = random_state.capture()
    while True:
        now = random_state.capture()
        random_state.restore(state)
        try:
            found = list(itertools.islice(indices, 1))
            state = random_state.capture()
        finally:
            random_state.restore(now)
        if not found:
            return
        yield found[0]


def _sources(loader: DataLoader[Any]) -> list[Any]:
    """Everything of a loader that may hold a generator or the number of an epoch."""
    found: list[Any] = [loader]
    for x in (loader.sampler, loader.batch_sampler):
        while x is not None and not any(x is y for y in found):
            found.append(x)
            x = getattr(x, "sampler", None)
    return found


def sampler_states(loader: DataLoader[Any]) -> list[dict[str, Any]]:
    states = []
    for source in _sources(loader):
        state: dict[str, Any] = {}
        if isinstance(getattr(source, "generator", None), Generator):
            state["generator"] = source.generator.get_state()
        if isinstance(getattr(source, "epoch", None), int):
            state["epoch"] = source.epoch
        states.append(state)
    return states


def set_sampler_states(loader: DataLoader[Any], states: list[dict[str, Any]]) -> None:
    sources = _sources(loader)
    if len(sources) != len(states):
        raise ValueError(
            "DataLoader.load_state_dict: the state is of a loader with other samplers; build it "
            "with the same arguments"
        )
    for source, state in zip(sources, states, strict=True):
        if "generator" in state:
            if not isinstance(getattr(source, "generator", None), Generator):
                raise ValueError(
                    f"DataLoader.load_state_dict: {type(source).__name__} had a generator when the "
                    "state was saved, and has none now; build the loader with the same arguments"
                )
            source.generator.set_state(state["generator"])
        if "epoch" in state:
            source.epoch = state["epoch"]
