"""Command lines: options whose errors state what was expected, in one line."""

from __future__ import annotations

import argparse
import difflib
import inspect
import re
from collections.abc import Callable, Iterable
from typing import Any, NoReturn


class Failure(Exception):
    """What ends a command: a message for the user, and the exit status.

    >>> Failure("genesis convert: a.pt: no such file").status
    2
    """

    def __init__(self, message: str, status: int = 2) -> None:
        super().__init__(message)
        self.status = status


class Parser(argparse.ArgumentParser):
    """argparse whose errors are `Failure`s, with help that shows defaults.

    >>> parser = Parser("genesis convert", "Turn weights into another format.")
    >>> _ = parser.add_argument("--count", type=number(1), default=3, help="how many")
    >>> parser.parse_args(["--count", "none"])
    Traceback (most recent call last):
    ...
    genesis.cli.arguments.Failure: genesis convert: argument --count: ...
    """

    def __init__(self, prog: str, description: str, epilog: str = "", **options: Any) -> None:
        super().__init__(
            prog=prog,
            description=inspect.cleandoc(description),
            epilog=inspect.cleandoc(epilog),
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
            **options,
        )

    def error(self, message: str) -> NoReturn:
        wrong = re.match(r"unrecognized arguments: (-[^ =]+)", message)
        if wrong:
            message += nearest(wrong[1], self._option_string_actions)
        raise Failure(f"{self.prog}: {message}\n`{self.prog} --help` lists the options")


def nearest(word: str, known: Iterable[str]) -> str:
    """The end of a sentence that asks for the known word most like this one.

    >>> nearest("digit", ["digits", "moons"])
    '; did you mean digits?'
    """
    found = difflib.get_close_matches(word, list(known), 1)
    return f"; did you mean {found[0]}?" if found else ""


def number(least: int) -> Callable[[str], int]:
    """For ``type=``: an integer of at least ``least``.

    >>> number(1)("12")
    12
    """

    def parse(text: str) -> int:
        try:
            value = int(text)
        except ValueError:
            value = least - 1
        if value < least:
            raise argparse.ArgumentTypeError(f"expected a whole number from {least}, got {text!r}")
        return value

    return parse
