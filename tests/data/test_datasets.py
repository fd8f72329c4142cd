"""Datasets, splits, samplers and collation, against PyTorch's where they can be compared."""

from collections import OrderedDict, namedtuple
from types import MappingProxyType

import genesis
import numpy as np
import pytest
from genesis.data import (
    BatchSampler,
    ChainDataset,
    ConcatDataset,
    Dataset,
    DistributedSampler,
    IterableDataset,
    RandomSampler,
    Sampler,
    SequentialSampler,
    StackDataset,
    Subset,
    SubsetRandomSampler,
    TensorDataset,
    WeightedRandomSampler,
    default_collate,
    default_convert,
    random_split,
)


class Count(IterableDataset):
    def __init__(self, n):
        self.n = n

    def __iter__(self):
        return iter(range(self.n))

    def __len__(self):
        return self.n


def test_tensor_dataset():
    x, y = genesis.arange(6).reshape(3, 2), genesis.tensor([7, 8, 9])
    data = TensorDataset(x, y)
    assert len(data) == 3 and [t.tolist() for t in data[1]] == [[2, 3], 8]
    for wrong in ((x, y[:2]), (), (genesis.tensor(1),)):
        with pytest.raises(ValueError, match="TensorDataset"):
            TensorDataset(*wrong)


def test_datasets_side_by_side_and_one_after_the_other():
    assert StackDataset("ab", [1, 2])[1] == ("b", 2)
    assert StackDataset(x="ab", y=[1, 2]).__getitems__([1, 0]) == [
        {"x": "b", "y": 2},
        {"x": "a", "y": 1},
    ]
    both = ConcatDataset(["abc", [], "de"])
    assert len(both) == 5 and [both[i] for i in (0, 2, 3, 4, -1, -5)] == [
        "a",
        "c",
        "d",
        "e",
        "e",
        "a",
    ]
    with pytest.raises(IndexError, match="5"):
        both[5]
    assert (
        list(Count(2) + Count(3)) == [0, 1, 0, 1, 2]
        and len(ChainDataset([Count(2), Count(3)])) == 5
    )
    inner = Subset("abcdef", [5, 3, 1])
    assert Subset(inner, [2, 0]).__getitems__([0, 1]) == ["b", "f"] and len(inner) == 3
    for wrong, kind in (
        (lambda: StackDataset(), ValueError), (lambda: StackDataset("a", b="b"), ValueError),
        (lambda: StackDataset("a", "bc"), ValueError), (lambda: ConcatDataset([]), ValueError),
        (lambda: ConcatDataset([Count(2)]), TypeError), (lambda: list(ChainDataset(["ab"])), TypeError),
        (lambda: Dataset()[0], NotImplementedError), (lambda: iter(IterableDataset()), NotImplementedError),
        (lambda: iter(Sampler()), NotImplementedError),
    ):  # fmt: skip
        with pytest.raises(kind):
            wrong()


@pytest.mark.parametrize(
    "lengths", [[3, 7], [10], [0.3, 0.3, 0.4], [0.5, 0.25, 0.25], [1 / 3, 1 / 3, 1 / 3]]
)
def test_random_split(lengths):
    parts = random_split(range(10), lengths, genesis.Generator().manual_seed(1))
    again = random_split(range(10), lengths, genesis.Generator().manual_seed(1))
    assert [p.indices for p in parts] == [p.indices for p in again]
    assert sorted(x for p in parts for x in p) == list(range(10))
    torch = pytest.importorskip("torch")
    theirs = torch.utils.data.random_split(range(10), lengths)
    assert [len(p) for p in parts] == [len(p) for p in theirs]


def test_random_split_refuses_other_lengths():
    for lengths in ([3, 3], [0.5, 0.6], [-1, 11], [2.5, 7.5], [1.5, -0.5]):
        with pytest.raises(ValueError, match="random_split"):
            random_split(range(10), lengths)
    with pytest.warns(UserWarning, match="empty"):
        random_split(range(1), [0.5, 0.5])


def test_samplers():
    g = genesis.Generator().manual_seed(0)
    assert list(SequentialSampler("abc")) == [0, 1, 2]
    assert sorted(RandomSampler(range(9), generator=g)) == list(range(9))
    more = list(RandomSampler(range(3), num_samples=7, generator=g))
    assert len(more) == 7 and sorted(more[:3]) == [0, 1, 2] == sorted(more[3:6])
    drawn = list(RandomSampler(range(3), replacement=True, num_samples=1000, generator=g))
    assert len(drawn) == 1000 and min(np.bincount(drawn)) > 270
    assert sorted(SubsetRandomSampler([9, 4, 7], g)) == [4, 7, 9]
    weighted = WeightedRandomSampler([0.1, 0.0, 0.9], 1000, generator=g)
    counts = np.bincount(list(weighted), minlength=3)
    assert len(weighted) == 1000 and counts[1] == 0 and 850 < counts[2] < 950
    assert sorted(WeightedRandomSampler([1, 2, 3], 3, replacement=False)) == [0, 1, 2]
    assert list(BatchSampler(range(5), 2, True)) == [[0, 1], [2, 3]]
    assert [len(BatchSampler(range(5), 2, last)) for last in (True, False)] == [2, 3]
    assert list(RandomSampler([])) == []


def test_samplers_repeat_for_a_seed_and_differ_between_epochs():
    sampler = RandomSampler(range(50))
    genesis.manual_seed(3)
    first, second = list(sampler), list(sampler)
    genesis.manual_seed(3)
    assert list(sampler) == first != second


@pytest.mark.parametrize("n, replicas", [(10, 3), (9, 3), (2, 5), (7, 1)])
@pytest.mark.parametrize("drop_last", [False, True])
def test_distributed_sampler(n, replicas, drop_last):
    def shares(shuffle):
        samplers = [
            DistributedSampler(range(n), replicas, rank, shuffle, drop_last=drop_last)
            for rank in range(replicas)
        ]
        for sampler in samplers:
            sampler.set_epoch(2)
        assert len({len(s) for s in samplers}) == 1 and all(
            len(list(s)) == len(s) for s in samplers
        )
        return [list(s) for s in samplers]

    torch = pytest.importorskip("torch")
    for rank, share in enumerate(shares(False)):
        theirs = torch.utils.data.DistributedSampler(
            range(n), replicas, rank, False, drop_last=drop_last
        )
        assert share == list(theirs)
    if not drop_last:
        assert {i for share in shares(True) for i in share} == set(range(n))


def test_samplers_refuse_what_makes_no_sense():
    for wrong in (
        lambda: RandomSampler("ab", num_samples=0), lambda: BatchSampler("ab", 0, False),
        lambda: BatchSampler("ab", True, False), lambda: WeightedRandomSampler([1.0], 0),
        lambda: WeightedRandomSampler([[1.0]], 1), lambda: DistributedSampler("ab", 2, 2),
        lambda: DistributedSampler("ab"),
    ):  # fmt: skip
        with pytest.raises(ValueError):
            wrong()
    for wrong in (lambda: RandomSampler("ab", 1), lambda: BatchSampler("ab", 1, 0)):
        with pytest.raises(TypeError):
            wrong()


Point = namedtuple("Point", "x y")
SAMPLES = [
    [1, 2, 3],
    [1.5, 2.5],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [(1, 2.0), (3, 4.0)],
    [[1, "a"], [2, "b"]],
    [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
    [OrderedDict(a=1), OrderedDict(a=2)],
    [MappingProxyType({"a": 1}), MappingProxyType({"a": 2})],
    [Point(1, (2, "x")), Point(3, (4, "y"))],
    [np.ones(2), np.zeros(2)],
    [np.ones(2, "f4"), np.zeros(2, "f4")],
    [np.float64(1), np.float64(2)],
    [np.int32(1), np.int32(2)],
    [np.bool_(True), np.bool_(False)],
    [[[1, 2], [3, 4]], [[5, 6], [7, 8]]],
    [np.array(3), np.array(4)],
    [range(2), range(2)],
]


def compare(ours, theirs):
    if isinstance(ours, genesis.Tensor):
        assert str(ours.dtype).split(".")[1] == str(theirs.dtype).split(".")[1]
        assert ours.tolist() == theirs.tolist()
        return
    assert type(ours) is type(theirs)
    if hasattr(ours, "keys"):
        assert list(ours) == list(theirs)
        for key in ours:
            compare(ours[key], theirs[key])
    elif isinstance(ours, (list, tuple)):
        assert len(ours) == len(theirs)
        for a, b in zip(ours, theirs, strict=True):
            compare(a, b)
    else:
        assert ours == theirs


@pytest.mark.parametrize("samples", SAMPLES, ids=str)
def test_collate_as_pytorch_does(samples):
    torch = pytest.importorskip("torch")
    compare(default_collate(samples), torch.utils.data.default_collate(samples))
    for sample in samples:
        compare(default_convert(sample), torch.utils.data.default_convert(sample))


def test_collate_tensors_and_what_cannot_be_collated():
    x = [genesis.ones(2, 3), genesis.zeros(2, 3)]
    assert default_collate(x).shape == (2, 2, 3)
    for samples, kind, text in (
        ([genesis.ones(2), genesis.ones(3)], RuntimeError, "differ in shape.*pads"),
        ([[1, 2], [1]], RuntimeError, "differ in length"),
        ([None, None], TypeError, "NoneType"),
        ([np.array(["a"]), np.array(["b"])], TypeError, "dtype"),
        ([{1, 2}], TypeError, "set"),
    ):
        with pytest.raises(kind, match=text):
            default_collate(samples)


@pytest.mark.parametrize("name", ["dataloader", "dataset", "distributed", "sampler"])
def test_the_names_of_pytorch_are_the_same_modules(name):
    import importlib

    ours = importlib.import_module(f"genesis.data.{name}")
    assert importlib.import_module(f"genesis.utils.data.{name}") is ours
    assert getattr(genesis.utils.data, name) is ours
    assert genesis.utils.data.DataLoader is genesis.data.DataLoader
