"""DataLoader: what comes out, in which order, for every kind of worker."""

import gc
import itertools
import os
import random
import threading
import time

import genesis
import numpy as np
import pytest
from genesis.data import (
    BatchSampler,
    DataLoader,
    Subset,
    TensorDataset,
    default_collate,
    get_worker_info,
    random_split,
)

from tests.data.examples import Marked, Noisy, Slow, Stream, Where, identity, mark, mixup

KINDS = [
    pytest.param({}, id="here"),
    pytest.param({"num_workers": 1}, id="one"),
    pytest.param({"num_workers": 3, "prefetch_factor": 1}, id="three"),
    pytest.param({"num_workers": 2, "persistent_workers": True}, id="persistent"),
    pytest.param({"num_workers": 2, "worker_type": "thread"}, id="threads"),
    pytest.param(
        {"num_workers": 1, "multiprocessing_context": "spawn", "persistent_workers": True},
        id="spawn",
    ),
]
PROCESSES = [kind for kind in KINDS if kind.id != "threads"]


def batches(loader):
    return [b.tolist() if isinstance(b, genesis.Tensor) else b for b in loader]


@pytest.mark.parametrize("kind", KINDS)
def test_order_and_batches(kind):
    data = list(range(10))
    assert batches(DataLoader(data, 4, **kind)) == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
    assert batches(DataLoader(data, 4, drop_last=True, **kind)) == [[0, 1, 2, 3], [4, 5, 6, 7]]
    assert batches(DataLoader(data, None, sampler=[3, 1], **kind)) == [3, 1]
    own = BatchSampler([9, 8, 7], 2, False)
    assert batches(DataLoader(data, batch_sampler=own, collate_fn=identity, **kind)) == [
        [9, 8],
        [7],
    ]
    assert batches(DataLoader([], 4, **kind)) == []


@pytest.mark.parametrize("kind", PROCESSES)
def test_a_seed_gives_the_same_numbers_for_any_number_of_workers(kind):
    def run(**options):
        genesis.manual_seed(7)
        random.seed(7)
        np.random.seed(7)
        loader = DataLoader(Noisy(), 4, shuffle=True, collate_fn=mixup, **options)
        found = [batches(loader), batches(loader)]
        return found, genesis.rand(3).tolist(), random.random(), np.random.rand()

    plain, now = run(), run(**kind)
    assert plain == now
    first, second = plain[0]
    assert first != second
    values = [x for batch in first for row in batch for x in row]
    assert len(set(values)) > 3 * 23  # no draw is repeated from one batch to the next


@pytest.mark.parametrize("kind", PROCESSES)
def test_the_generator_of_the_loader_decides(kind):
    def run(seed):
        return batches(
            DataLoader(
                Noisy(), 4, shuffle=True, generator=genesis.Generator().manual_seed(seed), **kind
            )
        )

    genesis.manual_seed(1)
    before = genesis.get_rng_state().tolist()
    first = run(5)
    assert genesis.get_rng_state().tolist() == before
    genesis.manual_seed(2)
    assert run(5) == first != run(6)


@pytest.mark.parametrize("kind", KINDS)
def test_iterable_datasets(kind):
    loader = DataLoader(Stream(20), 3, **kind)
    for _ in range(2):
        seen = [int(row[0]) for batch in loader for row in batch]
        assert sorted(seen) == list(range(20))
    alone = DataLoader(Stream(5), None, **kind)
    assert sorted(int(x[0]) for x in alone) == list(range(5))
    dropped = [len(b) for b in DataLoader(Stream(20), 3, drop_last=True, **kind)]
    assert set(dropped) == {3}


def test_iterable_datasets_repeat_for_a_seed():
    for options in ({}, {"num_workers": 2}, {"num_workers": 3}):
        genesis.manual_seed(1)
        first = batches(DataLoader(Stream(20), 3, **options))
        genesis.manual_seed(1)
        assert batches(DataLoader(Stream(20), 3, **options)) == first


def test_plain_tensors_are_gathered_at_once_with_the_same_result():
    x, y = genesis.randn(11, 3), genesis.arange(11)
    data = TensorDataset(x, y)
    part, _ = random_split(data, [7, 4])
    for source in (data, part, Subset(part, [6, 2, 3, 0, 1])):
        fast = DataLoader(source, 3)
        slow = DataLoader(source, 3, collate_fn=lambda samples: default_collate(samples))
        for a, b in itertools.zip_longest(fast, slow):
            assert type(a) is type(b) is list
            assert all(genesis.equal(p, q) for p, q in zip(a, b, strict=True))
    with pytest.raises(IndexError):
        next(iter(DataLoader(data, 2, sampler=[11, 0])))


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_workers_know_what_they_are(kind):
    loader = DataLoader(Where(), None, num_workers=2, worker_type=kind)
    seen = list(loader)
    assert get_worker_info() is None
    assert [s[1] for s in seen] == [0, 1] * 4 and all(s[2] == 2 and s[4] == 8 for s in seen)
    assert len({s[3] for s in seen}) == 2 and len({s[0] for s in seen}) == (
        2 if kind == "process" else 1
    )
    if kind == "process":
        assert os.getpid() not in {s[0] for s in seen} and all(s[5] == 1 for s in seen)


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_worker_init_fn(kind):
    loader = DataLoader(Marked(), None, num_workers=1, worker_type=kind, worker_init_fn=mark)
    assert list(loader) == [100] * 4


def test_persistent_workers_stay():
    loader = DataLoader(Where(), None, num_workers=2, persistent_workers=True)
    first = {s[0] for s in loader}
    for sample in loader:
        assert sample[0] in first
        break  # the rest of a broken pass must not come up in the next
    assert [s[1] for s in loader] == [0, 1] * 4
    assert {s[0] for s in loader} == first
    old = iter(loader)
    iter(loader)
    with pytest.raises(RuntimeError, match="persistent_workers"):
        next(old)


def test_several_passes_at_once():
    for options in ({}, {"num_workers": 1}, {"num_workers": 1, "worker_type": "thread"}):
        loader = DataLoader(list(range(4)), None, **options)
        assert list(zip(loader, loader, strict=True)) == [(i, i) for i in range(4)]


@pytest.mark.parametrize("kind", ["process", "thread"])
def test_batches_out_of_order(kind):
    data = Slow([1.0, 0, 0, 0, 0, 0])
    loader = DataLoader(data, None, num_workers=2, in_order=False, worker_type=kind)
    seen = list(loader)
    assert sorted(seen) == list(range(6)) and seen[0] != 0


def test_large_and_strange_batches_arrive_whole():
    def sample(i):
        return {
            "large": genesis.full((300, 300), float(i)),
            "half": genesis.full((5,), i, dtype=genesis.bfloat16),
            "empty": genesis.zeros(0, 2),
            "array": np.full((70_000,), i, dtype=np.uint16),
            "text": "ü" * 200_000,
            "turned": genesis.arange(200.0).reshape(10, 20).t(),
            "grad": genesis.ones(2, requires_grad=True),
        }

    data = [sample(i) for i in range(6)]
    for found, expected in zip(DataLoader(data, None, num_workers=2), data, strict=True):
        assert found["text"] == expected["text"] and found["grad"].requires_grad
        assert (
            found["array"].tolist() == genesis.from_numpy(expected["array"].astype("i4")).tolist()
        )
        for key in ("large", "half", "empty", "turned"):
            assert (
                found[key].dtype == expected[key].dtype
                and found[key].tolist() == expected[key].tolist()
            )
        found["large"].add_(1)  # it can be written to


def test_more_batches_are_kept_than_there_are_descriptors():
    loader = DataLoader(
        [genesis.full((20_000,), float(i)) for i in range(300)], None, num_workers=1
    )
    kept = list(loader)
    assert all((x == i).all() for i, x in enumerate(kept))
    assert len(os.listdir("/dev/fd")) < 260
    del kept, loader
    gc.collect()
    assert len(os.listdir("/dev/fd")) < 60


def test_many_large_tasks_and_answers_do_not_block_each_other():
    text = "x" * 3000
    loader = DataLoader([text] * 4000, batch_sampler=[[i] * 500 for i in range(400)], collate_fn=identity,
                        num_workers=1, prefetch_factor=300)  # fmt: skip
    assert sum(len(batch) for batch in loader) == 200_000


def test_threads_run_while_others_wait():
    class Together:
        def __init__(self):
            self.all_here = threading.Barrier(6)

        def __len__(self):
            return 6

        def __getitem__(self, i):
            self.all_here.wait(timeout=60)
            return i

    assert sum(DataLoader(Together(), None, num_workers=6, worker_type="thread")) == 15
    deadline = time.monotonic() + 5
    while any(t.name.startswith("DataLoader") for t in threading.enumerate()):
        assert time.monotonic() < deadline
        time.sleep(0.01)


def test_lengths():
    assert len(DataLoader(range(10), 4)) == 3 and len(DataLoader(range(10), 4, drop_last=True)) == 2
    assert len(DataLoader(range(10), None)) == 10
    assert len(DataLoader(range(10), batch_sampler=[[1], [2, 3]])) == 2
    with pytest.raises(TypeError):
        len(DataLoader(Stream(3), 2))


def test_pin_memory_is_accepted():
    assert batches(DataLoader([1, 2], 2, pin_memory=True, pin_memory_device="cuda")) == [[1, 2]]


@pytest.mark.parametrize(
    "options, text",
    [
        ({"num_workers": -1}, "num_workers"),
        ({"timeout": -1}, "timeout"),
        ({"prefetch_factor": 2}, "prefetch_factor"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor"),
        ({"persistent_workers": True}, "persistent_workers"),
        ({"multiprocessing_context": "spawn"}, "num_workers"),
        ({"multiprocessing_context": "other", "num_workers": 1}, "spawn"),
        ({"worker_type": "fiber"}, "worker_type"),
        ({"shuffle": True, "sampler": [1]}, "exclude"),
        ({"batch_sampler": [[1]], "batch_size": 2}, "batch_sampler"),
        ({"batch_sampler": [[1]], "shuffle": True}, "batch_sampler"),
        ({"batch_size": None, "drop_last": True}, "drop_last"),
        ({"batch_size": 0}, "batch_size"),
    ],
)
def test_wrong_options_are_named(options, text):
    with pytest.raises(ValueError, match=text):
        DataLoader([1, 2], **options)


def test_an_iterable_dataset_takes_no_order():
    for options in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match="IterableDataset"):
            DataLoader(Stream(), **options)
    loader = DataLoader([1], 1)
    with pytest.raises(ValueError, match="batch_size cannot be changed"):
        loader.batch_size = 2
