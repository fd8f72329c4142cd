"""Settings of signals (`genesis.signals`) by name, from a YAML or JSON file or from Python.

They say how a cluster would share the tensors of a scope. Here there is one worker, on which every
tensor is whole: results are the same, and a scope whose settings change nothing warns once.
``backward_signal`` is the name of the scope's backward pass.
"""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from typing import Any

__all__ = [
    "Config",
    "ShardConfig",
    "SignalConfig",
    "get_config",
    "get_signal_config",
    "load_config",
    "register_config",
]


@dataclass
class ShardConfig:
    """The axis along which tensors are split, and the workers; or replicated on each of them."""

    axis: int = 0
    workers: list[int] | None = None
    replicated: bool = False


@dataclass
class SignalConfig:
    """The settings of one signal."""

    shard: ShardConfig | None = None
    backward_signal: str | None = None
    compile: bool = False


def _parse(name: str, given: Any) -> SignalConfig:
    if not isinstance(given, dict):
        raise ValueError(f"Config.load: {name!r} must be a mapping, got {given!r}")
    known = {"shard", "backward", "compile"}
    if set(given) - known:
        raise ValueError(
            f"Config.load: {name!r} has unknown settings {sorted(set(given) - known)}; there are "
            f"{sorted(known)}"
        )
    shard = given.get("shard")
    try:
        parsed = None if shard is None else ShardConfig(**shard)
    except TypeError:
        raise ValueError(
            f"Config.load: shard of {name!r} must have axis, workers, replicated; got {shard!r}"
        ) from None
    return SignalConfig(parsed, given.get("backward"), bool(given.get("compile", False)))


def _read(path: str) -> Any:
    with open(path, encoding="utf-8") as file:
        text = file.read()
    try:
        import yaml  # type: ignore[import-untyped]
    except ImportError:
        try:
            return json.loads(text or "null")
        except ValueError:
            raise ImportError(
                f"Config.load: {path} is not JSON, and YAML needs PyYAML; pip install pyyaml"
            ) from None
    return yaml.safe_load(text)


class Config:
    """Signals by name.

    >>> config = Config()
    >>> config.register_signal("layer1", SignalConfig(shard=ShardConfig(axis=1)))
    >>> config.get_signal("layer1").shard.axis
    1
    """

    def __init__(self) -> None:
        self.signals: dict[str, SignalConfig] = {}

    def load(self, config_file: str | os.PathLike[str]) -> None:
        """Add the signals of a file to those that there are."""
        path = os.fspath(config_file)
        if not os.path.exists(path):
            raise FileNotFoundError(f"Config.load: there is no file {path}")
        found = _read(path) or {}
        if not isinstance(found, dict):
            raise ValueError(f"Config.load: {path} must hold a mapping of signals")
        self.signals.update({name: _parse(name, given) for name, given in found.items()})

    def get_signal(self, name: str) -> SignalConfig | None:
        """The settings of a signal; None if it has none."""
        return self.signals.get(name)

    def has_signal(self, name: str) -> bool:
        """Whether a signal has settings."""
        return name in self.signals

    def load_from_env(self, env_var: str = "GT_CONFIG") -> None:
        """Load the file that an environment variable names, if it is set."""
        path = os.environ.get(env_var)
        if path:
            self.load(path)

    def register_signal(self, name: str, config: SignalConfig) -> None:
        """Set the settings of a signal."""
        self.signals[name] = config

    def clear(self) -> None:
        """Forget all settings."""
        self.signals.clear()


_config = Config()


def load_config(config_file: str | os.PathLike[str]) -> None:
    """`Config.load` of the program's configuration."""
    _config.load(config_file)


def get_config() -> Config:
    """The program's configuration."""
    return _config


def get_signal_config(name: str) -> SignalConfig | None:
    """The settings of a signal in the program's configuration."""
    return _config.get_signal(name)


def register_config(name: str, config: SignalConfig) -> None:
    """Set the settings of a signal in the program's configuration."""
    _config.register_signal(name, config)
