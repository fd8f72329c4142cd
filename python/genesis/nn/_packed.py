"""Sequences of different lengths: padded to one length, or packed step by step.

A packed sequence holds the rows of step 0 of all sequences, then those of step 1 of all that are
longer than 1, and so on: nothing is computed on padding.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from genesis import _C
from genesis._C import Tensor
from genesis._missing import explain
from genesis._named_errors import name_errors

__all__ = [
    "PackedSequence",
    "invert_permutation",
    "pack_padded_sequence",
    "pack_sequence",
    "pad_packed_sequence",
    "pad_sequence",
    "unpack_sequence",
    "unpad_sequence",
]


class _Packed(NamedTuple):
    data: Tensor
    batch_sizes: Tensor
    sorted_indices: Tensor | None
    unsorted_indices: Tensor | None


class PackedSequence(_Packed):
    """The rows of all sequences, step by step, and how many each step has.

    Made by :func:`pack_padded_sequence` and :func:`pack_sequence`. ``sorted_indices`` put the
    sequences into the order of falling length, ``unsorted_indices`` back.

    >>> pack_sequence([genesis.tensor([1, 2, 3]), genesis.tensor([4, 5])])
    PackedSequence(data=tensor([1, 4, 2, 5, 3]), batch_sizes=tensor([2, 2, 1]), \
sorted_indices=None, unsorted_indices=None)
    """

    __module__ = "genesis.nn.utils.rnn"

    def __new__(
        cls,
        data: Tensor,
        batch_sizes: Tensor | None = None,
        sorted_indices: Tensor | None = None,
        unsorted_indices: Tensor | None = None,
    ) -> PackedSequence:
        if batch_sizes is None:
            raise _C.ShapeError("PackedSequence: batch_sizes, the rows of each step, are missing")
        if unsorted_indices is None:
            unsorted_indices = invert_permutation(sorted_indices)
        return super().__new__(cls, data, batch_sizes, sorted_indices, unsorted_indices)

    def _with_data(self, data: Tensor) -> PackedSequence:
        if data is self.data:
            return self
        return type(self)(data, self.batch_sizes, self.sorted_indices, self.unsorted_indices)

    def to(self, *args: Any, **kwargs: Any) -> PackedSequence:
        """With ``data.to(...)`` as the data."""
        return self._with_data(self.data.to(*args, **kwargs))

    def double(self) -> PackedSequence:
        return self.to(_C.float64)

    def float(self) -> PackedSequence:
        return self.to(_C.float32)

    def half(self) -> PackedSequence:
        return self.to(_C.float16)

    def long(self) -> PackedSequence:
        return self.to(_C.int64)

    def int(self) -> PackedSequence:
        return self.to(_C.int32)

    def short(self) -> PackedSequence:
        return self.to(_C.int16)

    def char(self) -> PackedSequence:
        return self.to(_C.int8)

    def byte(self) -> PackedSequence:
        return self.to(_C.uint8)

    def cpu(self) -> PackedSequence:
        return self

    def pin_memory(self) -> PackedSequence:
        """Itself: there is no other device to copy to."""
        return self

    @property
    def is_cuda(self) -> bool:
        return False

    def is_pinned(self) -> bool:
        return False


def invert_permutation(permutation: Tensor | None) -> Tensor | None:
    """The permutation that undoes this one.

    >>> invert_permutation(genesis.tensor([2, 0, 1]))
    tensor([1, 2, 0])
    """
    return None if permutation is None else permutation.argsort()


def _lengths(name: str, lengths: Tensor | Sequence[int]) -> list[int]:
    values = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    if not values or min(values) <= 0:
        raise _C.ShapeError(f"{name}: every length must be above 0, got {values}")
    return [int(n) for n in values]


def _present(lengths: Iterable[int], steps: int) -> Tensor:
    """(steps, batch): whether a sequence still runs at a step."""
    return _C.arange(steps).unsqueeze(1) < _C.tensor(list(lengths))


def pack_padded_sequence(
    input: Tensor,
    lengths: Tensor | Sequence[int],
    batch_first: bool = False,
    enforce_sorted: bool = True,
) -> PackedSequence:
    """Packs (steps, batch, ...), or (batch, steps, ...) with ``batch_first``.

    With ``enforce_sorted``, lengths must not grow; else sequences are sorted by length here.

    >>> padded = genesis.tensor([[1, 2, 0], [3, 0, 0], [4, 5, 6]])
    >>> packed = pack_padded_sequence(padded, [2, 1, 3], batch_first=True, enforce_sorted=False)
    >>> packed.data, packed.batch_sizes
    (tensor([4, 1, 3, 5, 2, 6]), tensor([3, 2, 1]))
    """
    name = "pack_padded_sequence"
    sizes = _lengths(name, lengths)
    x = input.transpose(0, 1) if batch_first else input
    if x.ndim < 2 or len(sizes) != x.shape[1]:
        raise _C.ShapeError(
            f"{name}: {len(sizes)} lengths for input of shape {tuple(input.shape)}, whose batch is "
            f"dimension {0 if batch_first else 1}"
        )
    order = None
    if not enforce_sorted:
        order = _C.tensor(sorted(range(len(sizes)), key=lambda i: -sizes[i]))
        sizes = [sizes[i] for i in order.tolist()]
        x = x.index_select(1, order)
    elif any(a < b for a, b in itertools.pairwise(sizes)):
        raise RuntimeError(
            f"{name}: lengths must not grow, got {sizes}; pass enforce_sorted=False to sort here"
        )
    steps = sizes[0]
    if steps > x.shape[0]:
        raise _C.ShapeError(
            f"{name}: a length of {steps} exceeds the {x.shape[0]} steps of the input"
        )
    present = _present(sizes, steps)
    rows = _C.arange(steps * len(sizes)).reshape(steps, len(sizes))[present]
    data = x.narrow(0, 0, steps).flatten(0, 1).index_select(0, rows)
    return PackedSequence(data, present.sum(1), order)


def pad_packed_sequence(
    sequence: PackedSequence,
    batch_first: bool = False,
    padding_value: float = 0.0,
    total_length: int | None = None,
) -> tuple[Tensor, Tensor]:
    """The inverse of :func:`pack_padded_sequence`: the padded sequences and their lengths.

    >>> packed = pack_sequence([genesis.tensor([1, 2, 3]), genesis.tensor([4, 5])])
    >>> pad_packed_sequence(packed, batch_first=True)
    (tensor([[1, 2, 3],
            [4, 5, 0]]), tensor([3, 2]))
    """
    sizes = sequence.batch_sizes.tolist()
    steps, batch = len(sizes), sizes[0]
    if total_length is not None and total_length < steps:
        raise _C.ShapeError(
            f"pad_packed_sequence: total_length={total_length} is below the longest sequence, "
            f"which has {steps} steps"
        )
    length = steps if total_length is None else total_length
    present = _C.zeros(length, batch, dtype=_C.bool)
    present[:steps] = _C.arange(batch) < sequence.batch_sizes.unsqueeze(1)
    data = sequence.data
    rows = _C.full((length, batch), data.shape[0])  # the row behind the last is padding
    rows[present] = _C.arange(data.shape[0])
    padding = data.new_full((1, *data.shape[1:]), padding_value)
    padded = _C.cat((data, padding)).index_select(0, rows.flatten()).unflatten(0, (length, batch))
    lengths = present.sum(0)
    if sequence.unsorted_indices is not None:
        padded = padded.index_select(1, sequence.unsorted_indices)
        lengths = lengths[sequence.unsorted_indices]
    return padded.transpose(0, 1) if batch_first else padded, lengths


def pad_sequence(
    sequences: Tensor | Sequence[Tensor],
    batch_first: bool = False,
    padding_value: float = 0.0,
    padding_side: str = "right",
) -> Tensor:
    """Stacks sequences (steps, ...) of different lengths, padded to the longest.

    >>> pad_sequence([genesis.tensor([1, 2]), genesis.tensor([3])], batch_first=True)
    tensor([[1, 2],
            [3, 0]])
    """
    if padding_side not in ("left", "right"):
        raise _C.ShapeError(
            f"pad_sequence: padding_side must be 'left' or 'right', got {padding_side!r}"
        )
    parts = list(sequences.unbind(0)) if isinstance(sequences, Tensor) else list(sequences)
    if not parts:
        raise _C.ShapeError("pad_sequence: expected at least one sequence")
    longest = max(x.shape[0] for x in parts)

    def padded(x: Tensor) -> Tensor:
        missing = longest - x.shape[0]
        if missing == 0:
            return x
        space = x.new_full((missing, *x.shape[1:]), padding_value)
        return _C.cat((x, space) if padding_side == "right" else (space, x))

    return _C.stack([padded(x) for x in parts], 0 if batch_first else 1)


def unpad_sequence(
    padded_sequences: Tensor, lengths: Tensor | Sequence[int], batch_first: bool = False
) -> list[Tensor]:
    """The sequences of a padded batch, each at its own length.

    >>> unpad_sequence(genesis.tensor([[1, 2], [3, 0]]), [2, 1], batch_first=True)
    [tensor([1, 2]), tensor([3])]
    """
    x = padded_sequences if batch_first else padded_sequences.transpose(0, 1)
    sizes = lengths.tolist() if isinstance(lengths, Tensor) else list(lengths)
    if len(sizes) != x.shape[0]:
        raise _C.ShapeError(
            f"unpad_sequence: {len(sizes)} lengths for {x.shape[0]} sequences in a batch of shape "
            f"{tuple(padded_sequences.shape)}"
        )
    return [row[: int(n)] for row, n in zip(x.unbind(0), sizes, strict=True)]


def pack_sequence(sequences: Sequence[Tensor], enforce_sorted: bool = True) -> PackedSequence:
    """Packs sequences (steps, ...) of different lengths.

    >>> pack_sequence([genesis.tensor([1, 2]), genesis.tensor([3])]).data
    tensor([1, 3, 2])
    """
    lengths = [x.shape[0] for x in sequences]
    return pack_padded_sequence(pad_sequence(sequences), lengths, enforce_sorted=enforce_sorted)


def unpack_sequence(packed_sequences: PackedSequence) -> list[Tensor]:
    """The inverse of :func:`pack_sequence`.

    >>> unpack_sequence(pack_sequence([genesis.tensor([1, 2]), genesis.tensor([3])]))
    [tensor([1, 2]), tensor([3])]
    """
    padded, lengths = pad_packed_sequence(packed_sequences, batch_first=True)
    return unpad_sequence(padded, lengths, batch_first=True)


explain(globals())
name_errors(__all__, globals())
