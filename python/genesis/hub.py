"""Models and weights by name: from folders and files that are here. Nothing is downloaded."""

from __future__ import annotations

import importlib
import importlib.util
import os
import sys
from pathlib import Path
from types import ModuleType
from typing import Any, NoReturn
from urllib.parse import unquote, urlparse

from genesis import serialization
from genesis._missing import MissingName

__all__ = [
    "download_url_to_file",
    "get_dir",
    "help",
    "list",
    "load",
    "load_state_dict_from_url",
    "set_dir",
]

_folder: str | None = None
READ_DATA_CHUNK = 128 * 1024
HASH_REGEX = __import__("re").compile(r"-([a-f0-9]*)\.")


def get_dir() -> str:
    """The folder of files that are here: set_dir(), or TORCH_HOME/hub, or ~/.cache/torch/hub."""
    if _folder is not None:
        return _folder
    cache = os.environ.get("XDG_CACHE_HOME", "~/.cache")
    home = os.environ.get("TORCH_HOME", os.path.join(cache, "torch"))
    return os.path.join(os.path.expanduser(home), "hub")


_get_torch_home = lambda: os.path.dirname(get_dir())  # noqa: E731


def set_dir(d: str | os.PathLike[str]) -> None:
    """Use another folder."""
    global _folder
    _folder = os.path.expanduser(d)


def _refuse(what: str, url: str, target: str) -> NoReturn:
    raise RuntimeError(
        f"{what}: Genesis does not download files, and {target} is not there; download {url} "
        "yourself (a browser, curl -LO) and put it at that place"
    )


def download_url_to_file(
    url: str, dst: str, hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Copy a file:// URL to ``dst``; for any other URL, raise with instructions."""
    parts = urlparse(url)
    if parts.scheme != "file":
        _refuse("download_url_to_file", url, dst)
    data = Path(unquote(parts.path)).read_bytes()
    if hash_prefix is not None:
        import hashlib

        found = hashlib.sha256(data).hexdigest()
        if not found.startswith(hash_prefix):
            raise RuntimeError(
                f"download_url_to_file: {url}: expected a hash that begins with {hash_prefix}, "
                f"got {found}"
            )
    Path(dst).write_bytes(data)


def load_state_dict_from_url(
    url: str,
    model_dir: str | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The state dict in the file that the URL names, which must be in ``model_dir`` already.

    ``model_dir`` is the folder ``checkpoints`` in ``get_dir()`` if it is not given.
    """
    folder = model_dir or os.path.join(get_dir(), "checkpoints")
    file = os.path.join(folder, file_name or os.path.basename(urlparse(url).path))
    if not os.path.exists(file):
        if urlparse(url).scheme != "file":
            _refuse("load_state_dict_from_url", url, file)
        file = unquote(urlparse(url).path)
    return serialization.load(file, map_location=map_location, weights_only=weights_only)


class _Progress:
    """A progress bar that shows nothing, where the package tqdm is not installed."""

    def __init__(self, iterable: Any = None, **kwargs: Any) -> None:
        self._iterable = iterable

    def __iter__(self) -> Any:
        return iter(self._iterable)

    def update(self, n: float = 1) -> None:
        """Nothing is shown."""

    def close(self) -> None:
        """Nothing is shown."""

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *exception: object) -> None: ...


def __getattr__(name: str) -> Any:
    if name != "tqdm":
        raise MissingName(__name__, name)
    try:
        return importlib.import_module("tqdm.auto").tqdm
    except ImportError:
        return _Progress


def _hubconf(what: str, repo_or_dir: str, source: str) -> ModuleType:
    if source != "local" and not os.path.isdir(repo_or_dir):
        raise RuntimeError(
            f"hub.{what}: Genesis does not download repositories; clone {repo_or_dir} yourself and "
            f'pass the folder with source="local"'
        )
    file = os.path.join(repo_or_dir, "hubconf.py")
    spec = importlib.util.spec_from_file_location("hubconf", file)
    if spec is None or spec.loader is None or not os.path.exists(file):
        raise FileNotFoundError(f"hub.{what}: {file}: no such file")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, repo_or_dir)
    try:
        spec.loader.exec_module(module)
    finally:
        sys.path.remove(repo_or_dir)
    return module


def _entry(what: str, module: ModuleType, model: str) -> Any:
    entry = getattr(module, model, None)
    if not callable(entry):
        raise RuntimeError(f"hub.{what}: there is no callable {model!r} in {module.__file__}")
    return entry


def load(repo_or_dir: str, model: str, *args: Any, source: str = "github", **kwargs: Any) -> Any:
    """What the function ``model`` of ``hubconf.py`` in a folder returns."""
    for option in ("trust_repo", "force_reload", "verbose", "skip_validation"):
        kwargs.pop(option, None)
    return _entry("load", _hubconf("load", repo_or_dir, source), model)(*args, **kwargs)


def help(repo_or_dir: str, model: str, source: str = "github", **kwargs: Any) -> str | None:
    """The docstring of the function ``model`` of ``hubconf.py``."""
    text: str | None = _entry("help", _hubconf("help", repo_or_dir, source), model).__doc__
    return text


def list(repo_or_dir: str, source: str = "github", **kwargs: Any) -> Any:
    """The names of the functions in ``hubconf.py``."""
    module = _hubconf("list", repo_or_dir, source)
    return [n for n, f in vars(module).items() if callable(f) and not n.startswith("_")]
