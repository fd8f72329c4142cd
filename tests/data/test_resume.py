"""The state of a loader: another one goes on with the very next batch."""

import io
import itertools
import random

import genesis
import pytest
from genesis.data import DataLoader, DistributedSampler, RandomSampler, Sampler
from genesis.utils import random_state

from tests.data.examples import Noisy, Stream, mixup


class Shuffled(Sampler):
    """A sampler of the user that draws from Python's generator, as it goes."""

    def __iter__(self):
        left = list(range(23))
        while left:
            yield left.pop(random.randrange(len(left)))

    def __len__(self):
        return 23


def explicit(**options):
    return DataLoader(
        Noisy(), 4, shuffle=True, generator=genesis.Generator().manual_seed(5), **options
    )


def default(**options):
    return DataLoader(Noisy(), 4, shuffle=True, collate_fn=mixup, **options)


def with_replacement(**options):
    sampler = RandomSampler(range(23), True, 19, genesis.Generator().manual_seed(3))
    return DataLoader(Noisy(), 4, sampler=sampler, **options)


def users(**options):
    return DataLoader(Noisy(), 4, sampler=Shuffled(), **options)


def stream(**options):
    return DataLoader(Stream(), 3, **options)


def distributed(**options):
    return DataLoader(Noisy(), 3, sampler=DistributedSampler(range(23), 2, 1), **options)


def after(state):
    """The state as it comes back from a file."""
    file = io.BytesIO()
    genesis.save(state, file)
    file.seek(0)
    return genesis.load(file)


def run(make, options, stop_at):
    """Three passes, one of them interrupted: batches, and what a training would draw between them."""
    random_state.seed(11)
    loader = make(**options)
    seen = []
    for epoch in range(3):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(epoch)
        for batch in loader:
            seen.append((batch.tolist(), genesis.rand(()).item(), random.random()))
            if len(seen) == stop_at:
                state = after({"loader": loader.state_dict(), "random": random_state.capture()})
                return seen, epoch, state
    return seen, 3, None


def go_on(make, options, state, epoch):
    random_state.seed(99)  # a new process stands anywhere
    loader = make(**options)
    genesis.rand(7)
    loader.load_state_dict(state["loader"])
    random_state.restore(state["random"])
    seen = []
    for e in range(epoch, 3):
        if isinstance(loader.sampler, DistributedSampler):
            loader.sampler.set_epoch(e)
        seen += [(batch.tolist(), genesis.rand(()).item(), random.random()) for batch in loader]
    return seen


@pytest.mark.parametrize("make", [default, explicit, with_replacement, users, stream, distributed])
@pytest.mark.parametrize(
    "options", [{}, {"num_workers": 2}, {"num_workers": 2, "persistent_workers": True}], ids=str
)
def test_going_on_gives_what_would_have_come(make, options):
    whole, _, _ = run(make, options, None)
    third = len(whole) // 3
    for stop_at in (3, third + 2) if options else (1, 3, third, third + 2):
        head, epoch, state = run(make, options, stop_at)
        tail = go_on(make, options, state, epoch)
        assert head + tail == whole, stop_at


def test_going_on_with_another_number_of_workers():
    whole, _, _ = run(default, {}, None)
    head, epoch, state = run(default, {"num_workers": 2}, 4)
    assert head + go_on(default, {}, state, epoch) == whole


def test_a_state_before_between_and_after_passes():
    loader = explicit()
    fresh = loader.state_dict()
    first = [b.tolist() for b in loader]
    between = loader.state_dict()
    second = [b.tolist() for b in loader]
    for state, expected in ((fresh, first), (between, second)):
        other = DataLoader(Noisy(), 4, shuffle=True, generator=genesis.Generator().manual_seed(0))
        other.load_state_dict(after(state))
        assert [b.tolist() for b in other] == expected


def test_a_state_before_the_first_batch():
    genesis.manual_seed(2)
    loader = default()
    batches = iter(loader)
    state = after({"loader": loader.state_dict(), "random": random_state.capture()})
    expected = [b.tolist() for b in batches]
    other = default()
    other.load_state_dict(state["loader"])
    random_state.restore(state["random"])
    assert [b.tolist() for b in other] == expected


def test_after_a_break_the_rest_comes():
    loader = DataLoader(list(range(10)), 2)
    assert [b.tolist() for b in itertools.islice(loader, 2)] == [[0, 1], [2, 3]]
    state = loader.state_dict()
    loader.load_state_dict(state)
    assert loader.state_dict() == state
    assert [b.tolist() for b in loader] == [[4, 5], [6, 7], [8, 9]]
    assert len(list(loader)) == 5


def test_batches_that_came_out_of_order_do_not_come_again():
    loader = DataLoader(list(range(12)), 1, num_workers=2, in_order=False, worker_type="thread")
    head = [next(batches).item() for batches in [iter(loader)] for _ in range(5)]
    other = DataLoader(list(range(12)), 1, num_workers=2, in_order=False, worker_type="thread")
    other.load_state_dict(after(loader.state_dict()))
    assert sorted(head + [b.item() for b in other]) == list(range(12))


def test_a_batch_that_failed_is_tried_again():
    from tests.data.examples import Fails

    for workers in (0, 2):
        loader = DataLoader(Fails("value"), 4, num_workers=workers)
        batches = iter(loader)
        next(batches)
        with pytest.raises(ValueError):
            next(batches)
        other = DataLoader(list(range(12)), 4)
        other.load_state_dict(loader.state_dict())
        assert [b.tolist() for b in other] == [[4, 5, 6, 7], [8, 9, 10, 11]]


def test_states_of_other_loaders_are_refused():
    with pytest.raises(ValueError, match="not a state of a DataLoader"):
        DataLoader([1]).load_state_dict({"epoch": 3})
    loader = explicit()
    next(iter(loader))
    other = DataLoader(Noisy(), 4, shuffle=True)
    other.load_state_dict(loader.state_dict())
    with pytest.raises(ValueError, match="had a generator"):
        iter(other)
