"""The one kind of error that a bad file gives."""

from __future__ import annotations

from pickle import UnpicklingError


class FileFormatError(RuntimeError, ValueError, UnpicklingError):
    """A file that is damaged, or not of a kind that Genesis reads. The text says what was found.

    >>> import io
    >>> try:
    ...     genesis.load(io.BytesIO(b"<!DOCTYPE html>"))
    ... except FileFormatError as error:
    ...     print("web page" in str(error))
    True
    """
