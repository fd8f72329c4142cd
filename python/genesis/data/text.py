"""Tables and texts on disk: CSV files, lines, characters, tokens."""

from __future__ import annotations

import csv
import os
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.data.dataset import Dataset

__all__ = ["CSVDataset", "CharacterDataset", "TextLines", "TokenDataset"]


class CSVDataset(Dataset[Any]):
    """A table in a CSV file: features as float32 and, with ``target``, the values to predict.

    ``target`` is the name or the number of a column, and ``columns`` those of the features (all
    others by default). Without a ``header`` columns are numbered. Columns of words become numbers
    of their sorted words, listed in ``categories[column]``. A target of words or whole numbers is
    int64, of other numbers float32. Empty cells are ``missing``, or an error if that is None.
    ``features`` and ``targets`` are whole tensors.

    >>> _ = Path("iris.csv").write_text("length,kind\\n5.1,setosa\\n7.0,virginica\\n")
    >>> data = CSVDataset("iris.csv", target="kind")
    >>> data[1], data.categories["kind"]
    ((tensor([7.]), tensor(1)), ['setosa', 'virginica'])
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        target: str | int | None = None,
        columns: Sequence[str | int] | None = None,
        *,
        header: bool = True,
        delimiter: str = ",",
        missing: float | None = None,
        encoding: str = "utf-8",
    ) -> None:
        self.path = os.fspath(path)
        names, rows = self._read(header, delimiter, encoding)
        self.names = names
        self.categories: dict[str, list[str]] = {}
        goal = None if target is None else self._column(target)
        chosen = [self._column(c) for c in columns] if columns is not None else [
            i for i in range(len(names)) if i != goal
        ]  # fmt: skip
        if not chosen:
            raise ValueError(f"CSVDataset: {self.path} has no column besides the target")
        self.columns = [names[i] for i in chosen]
        values = [self._values(rows, i, missing)[0] for i in chosen]
        self.features = _C.stack([_C.tensor(v, dtype=_C.float32) for v in values], 1)
        self.targets: Tensor | None = None
        if goal is not None:
            found, whole = self._values(rows, goal, missing)
            self.targets = _C.tensor(found, dtype=_C.int64 if whole else _C.float32)

    def _read(self, header: bool, delimiter: str, encoding: str) -> tuple[list[str], Any]:
        with open(self.path, newline="", encoding=encoding) as file:
            rows = [row for row in _cells(file, delimiter) if row]
        names = [name.strip() for name in rows.pop(0)] if header and rows else []
        if not rows:
            raise ValueError(f"CSVDataset: {self.path} has no rows")
        names = names or [str(i) for i in range(len(rows[0]))]
        for i, row in enumerate(rows, 2 if header else 1):
            if len(row) != len(names):
                raise ValueError(
                    f"CSVDataset: {self.path}: row {i} has {len(row)} cells, expected "
                    f"{len(names)}; is delimiter={delimiter!r} right?"
                )
        return names, rows

    def _column(self, column: str | int) -> int:
        if isinstance(column, int) and -len(self.names) <= column < len(self.names):
            return column % len(self.names)
        if column in self.names:
            return self.names.index(str(column))
        raise ValueError(f"CSVDataset: {self.path} has no column {column!r}; it has {self.names}")

    def _values(self, rows: Any, i: int, missing: float | None) -> tuple[list[float], bool]:
        """The numbers of a column, and whether they are integers, and thus labels."""
        cells = [row[i].strip() for row in rows]
        if missing is None and "" in cells:
            raise ValueError(
                f"CSVDataset: {self.path}: row {cells.index('') + 1} of {self.names[i]!r} is "
                "empty; pass missing= a number for such cells"
            )
        try:
            numbers = [float(c) if c else float(missing or 0) for c in cells]
        except ValueError:
            words = sorted({c for c in cells if c})
            self.categories[self.names[i]] = words
            place = {word: float(k) for k, word in enumerate(words)}
            return [place[c] if c else float(missing or 0) for c in cells], True
        return numbers, all(c.lstrip("+-").isdigit() for c in cells if c)

    def __len__(self) -> int:
        return int(self.features.shape[0])

    def __getitem__(self, index: Any) -> Any:
        if self.targets is None:
            return self.features[index]
        return self.features[index], self.targets[index]


def _cells(file: Iterable[str], delimiter: str) -> Iterable[list[str]]:
    return csv.reader(file, delimiter=delimiter, skipinitialspace=True)


class TextLines(Dataset[str]):
    """The lines of text files, without their ends.

    >>> _ = Path("poem.txt").write_text("one\\ntwo\\n")
    >>> TextLines("poem.txt")[1]
    'two'
    """

    def __init__(
        self,
        paths: str | os.PathLike[str] | Iterable[str | os.PathLike[str]],
        transform: Callable[[str], Any] | None = None,
        *,
        encoding: str = "utf-8",
        skip_empty: bool = False,
    ) -> None:
        several = [paths] if isinstance(paths, (str, os.PathLike)) else list(paths)
        lines = [line for p in several for line in _text(p, encoding).splitlines()]
        self.lines = [line for line in lines if line.strip()] if skip_empty else lines
        self.transform = transform

    def __len__(self) -> int:
        return len(self.lines)

    def __getitem__(self, index: Any) -> Any:
        line = self.lines[index]
        return line if self.transform is None else self.transform(line)


def _text(path: str | os.PathLike[str], encoding: str = "utf-8") -> str:
    try:
        return Path(path).read_text(encoding=encoding)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{os.fspath(path)}: byte {error.start} is not {encoding} text; pass encoding="
        ) from None


class TokenDataset(Dataset[tuple[Tensor, Tensor]]):
    """Windows of a long sequence of tokens: ``context`` tokens, and the same moved on by one.

    ``tokens`` is a tensor or array of ids; the path of a ``.npy`` file, or of any other file that
    holds ids of ``dtype`` one after the other, which are then read from disk as needed. Windows
    begin every ``stride`` tokens, ``context`` by default.

    >>> inputs, targets = TokenDataset(genesis.arange(7), context=3)[1]
    >>> inputs, targets
    (tensor([3, 4, 5]), tensor([4, 5, 6]))
    """

    def __init__(
        self, tokens: Any, context: int, stride: int | None = None, *, dtype: str = "uint16"
    ) -> None:
        import numpy as np

        for name, value in (("context", context), ("stride", stride)):
            if value is not None and (type(value) is not int or value < 1):
                raise ValueError(f"TokenDataset: {name} must be a positive int, got {value!r}")
        if isinstance(tokens, (str, os.PathLike)):
            path = os.fspath(tokens)
            if path.endswith(".npy"):
                tokens = np.load(path, mmap_mode="r", allow_pickle=False)
            else:
                tokens = np.memmap(path, dtype=dtype, mode="r")
        elif not isinstance(tokens, Tensor):
            tokens = np.asarray(tokens)
        if tokens.ndim != 1 or len(tokens) <= context:
            raise ValueError(
                f"TokenDataset: expected a sequence of more than context={context} tokens, got "
                f"shape {tuple(tokens.shape)}"
            )
        self.tokens = tokens
        self.context = context
        self.stride = stride or context

    def __len__(self) -> int:
        return int((len(self.tokens) - self.context - 1) // self.stride + 1)

    def __getitem__(self, index: int) -> tuple[Tensor, Tensor]:
        import numpy as np

        if not -len(self) <= index < len(self):
            raise IndexError(f"TokenDataset: window {index} of {len(self)}")
        begin = index % len(self) * self.stride
        window = self.tokens[begin : begin + self.context + 1]
        if not isinstance(window, Tensor):
            window = _C.from_numpy(np.asarray(window).astype(np.int64))
        window = window.long()
        return window[:-1], window[1:]


class CharacterDataset(TokenDataset):
    """Windows of a text, character by character; ``alphabet`` lists the characters.

    ``text`` is the text itself; `from_file` reads it from a file.

    >>> data = CharacterDataset("hello world", context=4)
    >>> data.decode(data[0][1])
    'ello'
    """

    def __init__(
        self, text: str, context: int, stride: int | None = None,
        alphabet: Sequence[str] | None = None,
    ) -> None:  # fmt: skip
        self.alphabet = sorted(set(text)) if alphabet is None else list(alphabet)
        self._number = {c: i for i, c in enumerate(self.alphabet)}
        super().__init__(self.encode(text), context, stride)

    @classmethod
    def from_file(
        cls, path: str | os.PathLike[str], context: int, stride: int | None = None,
        encoding: str = "utf-8",
    ) -> CharacterDataset:  # fmt: skip
        """The windows of a text file."""
        return cls(_text(path, encoding), context, stride)

    def encode(self, text: str) -> Tensor:
        """The numbers of characters."""
        unknown = sorted(set(text) - self._number.keys())
        if unknown:
            raise ValueError(f"CharacterDataset: not in the alphabet: {''.join(unknown)!r}")
        return _C.tensor([self._number[c] for c in text], dtype=_C.int64)

    def decode(self, numbers: Any) -> str:
        """The characters of numbers."""
        found = numbers.tolist() if isinstance(numbers, Tensor) else numbers
        return "".join(self.alphabet[i] for i in found)
