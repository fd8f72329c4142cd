"""Signals of workers, which ``genesis.data`` handles itself."""

from typing import Any


def _set_worker_signal_handlers(*args: Any) -> None: ...


def _set_worker_pids(*args: Any) -> None: ...


def _remove_worker_pids(*args: Any) -> None: ...


def _error_if_any_worker_fails() -> None: ...


def _set_SIGCHLD_handler() -> None: ...
