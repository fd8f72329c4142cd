"""Random arguments: tensors of every dtype, layout and place; numbers at the edges; plain nonsense.

Everything is made as a pair: the value, and the text that stands for it in a report.
"""

from __future__ import annotations

import math
import random
from typing import Any

import genesis
import numpy as np

from tests.fuzz.guard import Regions

Made = tuple[Any, str]
DTYPES = [
    "bool",
    "uint8",
    "int8",
    "int16",
    "int32",
    "int64",
    "float16",
    "bfloat16",
    "float32",
    "float64",
]
_NUMPY = {name: np.dtype(name) for name in DTYPES if name != "bfloat16"}
EDGES = [2**31, 2**32, 2**62, 2**63, 2**61, 2**40, 2**16, 2**64]
MEDIUM = [7, 10, 33, 64, 100, 257, 1000]
FLOATS = [0.0, -0.0, 1.0, -1.0, 0.5, 2.5, 1e-8, 1e8, 1e-45, 3.4e38, 1e300, math.inf, -math.inf, math.nan]  # fmt: skip


class Arguments:
    def __init__(self, rng: random.Random, regions: Regions) -> None:
        self.rng, self.regions = rng, regions
        self.tensors: list[genesis.Tensor] = []  # all that were made, to look at after the call
        self.shape = self._shape()  # most tensors of a call have it
        self.dtype = rng.choice([*DTYPES, "float32", "float32", "float64", "int64"])

    # --- numbers

    def integer(self) -> Made:
        rng = self.rng
        kind = rng.random()
        if kind < 0.6:
            value = rng.randint(-3, 6)
        elif kind < 0.75:
            value = rng.choice(MEDIUM)
        else:
            value = (rng.choice(EDGES) + rng.randint(-4, 4)) * rng.choice([1, 1, 1, -1])
        return value, repr(value)

    def number(self) -> Made:
        if self.rng.random() < 0.5:
            return self.integer()
        value = self.rng.choice([*FLOATS, self.rng.gauss(0, 2)])
        return value, f"float('{value}')"

    def integers(self) -> Made:
        made = [self.integer() for _ in range(self.rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 7]))]
        return self._sequence(made)

    def dims(self) -> Made:
        made = [(d, repr(d)) for d in self.rng.choices(range(-4, 5), k=self.rng.randint(1, 3))]
        return self._sequence(made) if self.rng.random() < 0.4 else made[0]

    def _sequence(self, made: list[Made]) -> Made:
        text = ", ".join(code for _, code in made)
        values = [value for value, _ in made]
        if self.rng.random() < 0.5:
            return values, f"[{text}]"
        return tuple(values), f"({text},)" if made else "()"

    # --- tensors

    def _shape(self) -> tuple[int, ...]:
        rng = self.rng
        rank = rng.choice([0, 1, 1, 2, 2, 2, 3, 3, 4, 4, 5])
        sizes = [0, 1, 2, 3, 3, 4, 5, 8] if rng.random() < 0.3 else [1, 2, 3, 3, 4, 5, 8]
        return tuple(rng.choice(sizes) for _ in range(rank))

    def _near(self, shape: tuple[int, ...]) -> tuple[int, ...]:
        """The shape, or one that broadcasts with it, or nearly does."""
        rng, sizes = self.rng, list(shape)
        kind = rng.random()
        if kind < 0.6:
            return shape
        if kind < 0.75 and sizes:
            sizes[rng.randrange(len(sizes))] = 1
        elif kind < 0.85:
            sizes = sizes[rng.randint(0, len(sizes)) :]
        elif kind < 0.93 and sizes:
            sizes[rng.randrange(len(sizes))] = rng.randint(0, 6)
        else:
            return self._shape()
        return tuple(sizes)

    def values(self, dtype: str, size: int) -> np.ndarray:
        rng = np.random.default_rng(self.rng.getrandbits(32))
        if dtype == "bool":
            return rng.integers(0, 2, size).astype(bool)
        style = self.rng.choice(["plain", "plain", "plain", "small", "zero", "extreme"])
        floating = dtype.startswith(("float", "bfloat"))
        if style == "zero":
            values = np.zeros(size)
        elif style == "small":
            values = rng.integers(-3 if dtype != "uint8" else 0, 4, size)
        elif style == "plain":
            values = rng.normal(0, 2, size) if floating else rng.integers(0, 9, size)
        elif floating:
            values = np.array(FLOATS)[rng.integers(0, len(FLOATS), size)]
        else:
            limits = np.iinfo(dtype)
            values = rng.choice(np.array([limits.min, limits.max, 0, 1], dtype), size)
        with np.errstate(all="ignore"):
            return np.asarray(values).astype(_NUMPY.get(dtype, np.float32))

    def tensor(
        self,
        shape: tuple[int, ...] | None = None,
        dtype: str | None = None,
        values: np.ndarray | None = None,
        grad: bool | None = None,
    ) -> Made:
        rng = self.rng
        dtype = dtype or (self.dtype if rng.random() < 0.8 else rng.choice(DTYPES))
        shape = self._near(self.shape) if shape is None else shape
        size = math.prod(shape)
        array = self.values(dtype, size) if values is None else values.reshape(-1)
        stored = np.dtype(np.int16) if dtype == "bfloat16" else _NUMPY[dtype]
        layout = rng.choice(["contiguous"] * 4 + ["transposed", "strided", "offset", "expanded"])
        at_end = rng.random() < 0.7
        if dtype == "bfloat16":
            array = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.int16)
        else:
            array = array.astype(stored)
        made = self._lay_out(array, stored, shape, layout, at_end)
        if dtype == "bfloat16":
            made = made.view(genesis.bfloat16)
        text = f"{dtype}{list(shape)}"
        notes = [layout] if layout != "contiguous" else []
        if grad is None:
            grad = rng.random() < 0.35
        if grad and dtype.startswith(("float", "bfloat")):
            made.requires_grad_()
            notes.append("grad")
            if rng.random() < 0.3:  # not a leaf, so that in-place operations are allowed
                made = made * 1 if rng.random() < 0.5 else made.view_as(made)
                notes.append("of the graph")
        self.tensors.append(made)
        return made, f"{text}<{' '.join(notes)}>" if notes else text

    def _lay_out(
        self, array: np.ndarray, dtype: np.dtype, shape: tuple[int, ...], layout: str, at_end: bool
    ) -> genesis.Tensor:
        def put(flat: np.ndarray) -> genesis.Tensor:
            place = self.regions.array(dtype, flat.size, at_end)
            place[:] = flat
            return genesis.from_numpy(place)

        rank = len(shape)
        if layout == "transposed" and rank > 1:
            order = list(range(rank))
            self.rng.shuffle(order)
            inverse = [order.index(i) for i in range(rank)]
            moved = np.ascontiguousarray(array.reshape(shape).transpose(order))
            return put(moved.reshape(-1)).reshape(moved.shape).permute(*inverse)
        if layout == "strided" and rank and array.size:
            wide = np.zeros((*shape[:-1], 2 * shape[-1]), dtype)
            wide[..., 1::2] = array.reshape(shape)
            return put(wide.reshape(-1)).reshape(wide.shape)[..., 1::2]
        if layout == "offset" and array.size:
            more = np.concatenate([np.ones(3, dtype), array])
            return put(more)[3:].reshape(shape)
        if layout == "expanded" and rank and shape[0] > 1:
            one = array.reshape(shape)[:1]
            return put(one.reshape(-1)).reshape(one.shape).expand(shape)
        return put(array).reshape(shape)

    def index(self) -> Made:
        """Whole numbers, most of them valid positions."""
        high = self.rng.choice([2, 3, 4, *self.shape[:2]])
        shape = self._near(self.shape) if self.rng.random() < 0.5 else (self.rng.randint(0, 5),)
        low = self.rng.choice([0, 0, 0, -high, -9])
        dtype = self.rng.choice(["int64", "int64", "int64", "int32", "uint8"])
        rng = np.random.default_rng(self.rng.getrandbits(32))
        return self.tensor(shape, dtype, rng.integers(low, max(high, 1), math.prod(shape)))

    def tensors_of(self) -> Made:
        return self._sequence([self.tensor() for _ in range(self.rng.choice([0, 1, 2, 2, 3]))])

    def tensor_or_number(self) -> Made:
        return self.tensor() if self.rng.random() < 0.6 else self.number()

    # --- the rest

    def flag(self) -> Made:
        value = self.rng.random() < 0.5
        return value, repr(value)

    def data_type(self) -> Made:
        name = self.rng.choice(DTYPES)
        return getattr(genesis, name), f"genesis.{name}"

    def word(self) -> Made:
        value = self.rng.choice(
            [
                "mean",
                "sum",
                "none",
                "max",
                "min",
                "amin",
                "amax",
                "prod",
                "reflect",
                "replicate",
                "constant",
                "circular",
                "nearest",
                "bilinear",
                "bicubic",
                "linear",
                "area",
                "tanh",
                "floor",
                "trunc",
                "ij",
                "xy",
                "same",
                "valid",
                "left",
                "right",
                "fro",
                "nuc",
                "reduced",
                "complete",
                "euclid",
            ]
            + ["ij,jk->ik", "...i,i->...", "ii->i", "", "é" * 3]
        )
        return value, repr(value)

    def nonsense(self) -> Made:
        value = self.rng.choice(
            [None, "text", b"bytes", 1j, [], (), {}, {"a": 1}, [[1, 2], [3]], object, slice(None), ...,
             True, np.float32(1.5), np.int64(2**62), np.array([1, 2]), np.array(["a"]), 2**63, -(2**63) - 1,
             2**200, math.nan, float, genesis.float32, range(3), [1.5, 2.5], ["a"], [None], {1, 2}, 10**400]
        )  # fmt: skip
        return value, repr(value)[:60]

    def anything(self) -> Made:
        return self.rng.choice(
            [self.integer, self.integers, self.number, self.tensor, self.index, self.flag, self.word,
             self.data_type, self.nonsense, self.tensors_of]
        )()  # fmt: skip
