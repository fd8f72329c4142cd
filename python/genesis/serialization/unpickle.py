"""A machine for pickles that cannot do harm: it builds plain values; nothing is imported or called.

A pickle is a program for a stack machine, whose GLOBAL and REDUCE name and call any function. Here
a GLOBAL is only a name, and the one table of names that mean something (`torch_file.py` passes it)
maps to functions of our own. Python's unpickler with a guarded find_class would come close, but it
trusts lengths and memo numbers in the file, and calls methods of what it builds.
"""

from __future__ import annotations

import struct
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NoReturn

from genesis._C import dtype
from genesis.serialization.errors import FileFormatError
from genesis.serialization.pickled_objects import fill, make, program_class


@dataclass(frozen=True)
class Name:
    """A global of the file: "collections.OrderedDict" and so on; never looked up."""

    text: str


@dataclass
class ForeignObject:
    """An object of an unknown class, as data; `load(weights_only=False)` gives it.

    >>> ForeignObject("mymodel.Net", (), state={"width": 3}).state["width"]
    3
    """

    kind: str
    args: tuple[Any, ...]
    state: Any = None
    items: list[Any] = field(default_factory=list)


class Machine:
    """Runs one pickle of ``data``, from ``start``; `end` is where it stopped.

    ``calls`` are the names that may be called, with our functions; ``values`` those that stand for
    a value. ``persistent`` resolves references to storages. With ``foreign``, unknown names give
    `ForeignObject`s, else an error that names them.
    """

    def __init__(
        self,
        data: bytes,
        calls: dict[str, Callable[..., Any]],
        values: dict[str, Any],
        persistent: Callable[[Any], Any],
        foreign: bool = False,
        start: int = 0,
    ) -> None:
        self.data = data
        self.calls = calls
        self.values = values
        self.persistent = persistent
        self.foreign = foreign
        self.end = start
        self.stack: list[Any] = []
        self.marks: list[int] = []
        self.memo: dict[int, Any] = {}

    def fail(self, text: str) -> NoReturn:
        raise FileFormatError(f"the pickle in it is damaged, or not of PyTorch: {text}")

    # ---- reading --------------------------------------------------------------------------------

    def take(self, count: int) -> bytes:
        if count < 0 or self.end + count > len(self.data):
            self.fail(f"it ends inside a value of {count} bytes")
        piece = self.data[self.end : self.end + count]
        self.end += count
        return piece

    def number(self, size: int, signed: bool = False) -> int:
        return int.from_bytes(self.take(size), "little", signed=signed)

    def line(self) -> str:
        end = self.data.find(b"\n", self.end)
        if end < 0:
            self.fail("a line has no end")
        text = self.text(self.take(end - self.end))
        self.end += 1
        return text

    def text(self, data: bytes) -> str:
        try:
            return data.decode("utf-8", "surrogatepass")
        except UnicodeDecodeError:
            self.fail(f"{data[:20]!r} is not text")

    def string(self, data: bytes) -> str:
        """A string of Python 2, which may be text or bytes."""
        return self.text(data)

    # ---- the stack ------------------------------------------------------------------------------

    def pop(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            self.fail("it takes a value from an empty stack")
        return self.stack.pop()

    def top(self) -> Any:
        if len(self.stack) <= (self.marks[-1] if self.marks else 0):
            self.fail("it looks at an empty stack")
        return self.stack[-1]

    def since_mark(self) -> list[Any]:
        if not self.marks:
            self.fail("a mark is missing")
        mark = self.marks.pop()
        found = self.stack[mark:]
        del self.stack[mark:]
        return found

    def last(self, count: int) -> tuple[Any, ...]:
        found = [self.pop() for _ in range(count)]
        return tuple(reversed(found))

    # ---- building -------------------------------------------------------------------------------

    def key(self, x: Any) -> Any:
        """Keys are plain: the hash of nested tuples could take forever, or all of the C stack."""
        plain = (str, int, float, bool, bytes, type(None), dtype)
        if isinstance(x, plain) or (isinstance(x, tuple) and all(isinstance(v, plain) for v in x)):
            return x
        self.fail(f"a {type(x).__name__} is used as a key")

    def set_items(self, target: Any, flat: list[Any] | tuple[Any, ...]) -> None:
        if len(flat) % 2:
            self.fail("a key has no value")
        pairs = zip(flat[::2], flat[1::2], strict=True)
        if isinstance(target, ForeignObject):
            target.items.extend(pairs)
        elif isinstance(target, dict):
            for key, value in pairs:
                target[self.key(key)] = value
        else:
            self.fail(f"items are set in a {type(target).__name__}")

    def append(self, target: Any, values: list[Any]) -> None:
        if isinstance(target, ForeignObject):
            target.items.extend(values)
        elif isinstance(target, list):
            target.extend(values)
        else:
            self.fail(f"elements are appended to a {type(target).__name__}")

    def add(self, target: Any, values: list[Any]) -> None:
        if not isinstance(target, set):
            self.fail(f"elements are added to a {type(target).__name__}")
        target.update(self.key(v) for v in values)

    def named(self, module: Any, name: Any) -> Any:
        if not isinstance(module, str) or not isinstance(name, str):
            self.fail("a global has no name")
        text = f"{module}.{name}"
        if text in self.values:
            return self.values[text]
        if text not in self.calls and not self.foreign and program_class(text) is None:
            self.unknown(text)
        return Name(text)

    def unknown(self, text: str) -> NoReturn:
        raise FileFormatError(
            f"it holds an object of {text}, which is neither a tensor nor a plain value, and "
            "Genesis runs no code of files. Save the model's state_dict() instead; import the "
            "module of a dataclass or an enum first; or load it with weights_only=False, which "
            "gives such objects as data (ForeignObject)"
        )

    def call(self, function: Any, args: Any) -> Any:
        if not isinstance(function, Name) or not isinstance(args, tuple):
            self.fail(f"a {type(function).__name__} is called")
        if function.text in self.calls:
            try:
                return self.calls[function.text](*args)
            except FileFormatError:
                raise
            except (TypeError, ValueError, AttributeError, OverflowError, IndexError) as error:
                self.fail(f"{function.text} has wrong arguments: {error}")
        known = program_class(function.text)
        if known is not None:
            return make(known, args)
        if not self.foreign:
            self.unknown(function.text)
        return ForeignObject(function.text, args)

    def build(self, target: Any, state: Any) -> None:
        if isinstance(target, ForeignObject):
            target.state = state
        elif isinstance(target, OrderedDict) and isinstance(state, dict):
            if "_metadata" in state:  # versions of the modules, which load_state_dict reads
                target._metadata = state["_metadata"]  # type: ignore[attr-defined]
        elif (
            not fill(target, state)
            and state is not None
            and not (isinstance(state, dict) and not state)
        ):
            self.fail(f"a {type(target).__name__} gets a state")

    # ---- the program ----------------------------------------------------------------------------

    def run(self) -> Any:
        while True:
            code = self.take(1)
            if code == b".":
                result = self.pop()
                if self.marks or self.stack:
                    self.fail("values are left over")
                return result
            step = _STEPS.get(code)
            if step is None:
                self.fail(f"its code {code!r} is not one that PyTorch writes")
            step(self)


def _drop(_: Any) -> None:
    """The end of a step whose value is discarded."""


def _protocol(number: int) -> None:
    if number > 5:
        raise FileFormatError(f"the pickle in it is of protocol {number}; known are up to 5")


def _push(make: Callable[[Machine], Any]) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.stack.append(make(m))

    return step


def _to_top(change: Callable[[Machine, Any, Any], None], take: Callable[[Machine], Any]) -> Any:
    """A step that pops values from the stack and changes the one below."""

    def step(m: Machine) -> None:
        values = take(m)
        change(m, m.top(), values)

    return step


def _decimal(m: Machine) -> Any:
    text = m.line()
    if text in ("00", "01"):
        return text == "01"
    try:
        return int(text.removesuffix("L"))
    except ValueError:
        m.fail(f"{text[:20]!r} is not a number")


def _float_line(m: Machine) -> float:
    text = m.line()
    try:
        return float(text)
    except ValueError:
        m.fail(f"{text[:20]!r} is not a number")


def _get(m: Machine, index: int) -> Any:
    if index not in m.memo:
        m.fail(f"it refers to value {index}, which it did not define")
    return m.memo[index]


def _put(index: Callable[[Machine], int]) -> Callable[[Machine], None]:
    def step(m: Machine) -> None:
        m.memo[index(m)] = m.top()

    return step


def _dict(m: Machine) -> dict[Any, Any]:
    found: dict[Any, Any] = {}
    m.set_items(found, m.since_mark())
    return found


def _frozenset(m: Machine) -> frozenset[Any]:
    return frozenset(m.key(v) for v in m.since_mark())


def _stack_global(m: Machine) -> Any:
    module, name = m.last(2)
    return m.named(module, name)


def _call(m: Machine) -> Any:
    function, args = m.last(2)
    return m.call(function, args)


def _new_with_keywords(m: Machine) -> Any:
    function, args, keywords = m.last(3)
    if keywords:
        m.fail("an object is made with keywords")
    return m.call(function, args)


_STEPS: dict[bytes, Callable[[Machine], None]] = {
    b"\x80": lambda m: _protocol(m.number(1)),
    b"\x95": lambda m: _drop(m.take(8)),
    b"(": lambda m: m.marks.append(len(m.stack)),
    b"0": lambda m: _drop(m.since_mark() if m.marks and m.marks[-1] == len(m.stack) else m.pop()),
    b"1": lambda m: _drop(m.since_mark()),
    b"2": _push(lambda m: m.top()),
    b"N": _push(lambda m: None),
    b"\x88": _push(lambda m: True),
    b"\x89": _push(lambda m: False),
    b"I": _push(_decimal),
    b"L": _push(_decimal),
    b"J": _push(lambda m: m.number(4, signed=True)),
    b"K": _push(lambda m: m.number(1)),
    b"M": _push(lambda m: m.number(2)),
    b"\x8a": _push(lambda m: m.number(m.number(1), signed=True)),
    b"\x8b": _push(lambda m: m.number(m.number(4), signed=True)),
    b"F": _push(_float_line),
    b"G": _push(lambda m: struct.unpack(">d", m.take(8))[0]),
    b"X": _push(lambda m: m.text(m.take(m.number(4)))),
    b"\x8c": _push(lambda m: m.text(m.take(m.number(1)))),
    b"\x8d": _push(lambda m: m.text(m.take(m.number(8)))),
    b"T": _push(lambda m: m.string(m.take(m.number(4)))),
    b"U": _push(lambda m: m.string(m.take(m.number(1)))),
    b"B": _push(lambda m: m.take(m.number(4))),
    b"C": _push(lambda m: m.take(m.number(1))),
    b"\x8e": _push(lambda m: m.take(m.number(8))),
    b"\x96": _push(lambda m: bytearray(m.take(m.number(8)))),
    b")": _push(lambda m: ()),
    b"t": _push(lambda m: tuple(m.since_mark())),
    b"\x85": _push(lambda m: m.last(1)),
    b"\x86": _push(lambda m: m.last(2)),
    b"\x87": _push(lambda m: m.last(3)),
    b"]": _push(lambda m: []),
    b"l": _push(lambda m: m.since_mark()),
    b"a": _to_top(Machine.append, lambda m: [m.pop()]),
    b"e": _to_top(Machine.append, Machine.since_mark),
    b"}": _push(lambda m: {}),
    b"d": _push(_dict),
    b"s": _to_top(Machine.set_items, lambda m: m.last(2)),
    b"u": _to_top(Machine.set_items, Machine.since_mark),
    b"\x8f": _push(lambda m: set()),
    b"\x90": _to_top(Machine.add, Machine.since_mark),
    b"\x91": _push(_frozenset),
    b"c": _push(lambda m: m.named(m.line(), m.line())),
    b"\x93": _push(_stack_global),
    b"R": _push(_call),
    b"\x81": _push(_call),
    b"\x92": _push(_new_with_keywords),
    b"b": _to_top(Machine.build, Machine.pop),
    b"Q": _push(lambda m: m.persistent(m.pop())),
    b"h": _push(lambda m: _get(m, m.number(1))),
    b"j": _push(lambda m: _get(m, m.number(4))),
    b"q": _put(lambda m: m.number(1)),
    b"r": _put(lambda m: m.number(4)),
    b"\x94": _put(lambda m: len(m.memo)),
}
