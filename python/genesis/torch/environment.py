"""The package ``torch`` that `genesis torch enable` writes into an environment."""

from __future__ import annotations

import os
import shutil
import sysconfig
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from genesis.torch import TORCH_VERSION
from genesis.torch.finder import SITE

__all__ = ["Refusal", "Status", "disable", "enable", "status"]

# Wheels cannot contain a *.dist-info of another package, so its files are in an *.egg-info.
_STORED = SITE / "torch.egg-info"
_DATA = f"torch-{TORCH_VERSION}.dist-info"


class Refusal(Exception):
    """Why nothing was changed."""


@dataclass(frozen=True)
class Status:
    """What ``torch`` is in this environment: "genesis", "pytorch" or "none"."""

    kind: str
    version: str | None
    folder: str | None

    @property
    def text(self) -> str:
        """One line for the user."""
        if self.kind == "genesis":
            return f"torch is Genesis (shown as {self.version}) in {self.folder}"
        if self.kind == "pytorch":
            return f"torch is PyTorch {self.version} in {self.folder}; Genesis stays out of its way"
        return "there is no torch in this environment; `genesis torch enable` makes Genesis be it"


def _site_packages() -> Path:
    return Path(sysconfig.get_path("purelib"))


def status() -> Status:
    """What ``import torch`` finds in a new process of this environment."""
    for found in metadata.distributions(name="torch"):
        folder = str(found.locate_file(""))
        if Path(folder).resolve() == SITE.resolve():
            continue  # put on the path by this process, for itself
        kind = "genesis" if _is_ours(Path(folder)) else "pytorch"
        return Status(kind, found.version, folder)
    folder = str(_site_packages())
    if (_site_packages() / "torch").exists():  # a package without metadata
        return Status("pytorch", None, folder)
    return Status("none", None, None)


def _is_ours(folder: Path) -> bool:
    try:
        return (folder / _DATA / "INSTALLER").read_text(encoding="utf-8").strip() == "genesis"
    except OSError:
        return False


def enable() -> None:
    """Write the package. Enabling twice is the same as once."""
    now = status()
    if now.kind == "pytorch":
        raise Refusal(
            f"PyTorch {now.version or ''} is installed in {now.folder}; use another environment, "
            "uninstall it, or run single programs with `genesis run-torch`"
        )
    folder = _site_packages()
    if not os.access(folder, os.W_OK):
        raise Refusal(f"{folder} cannot be written; use a virtual environment")
    for source, name in ((SITE / "torch", "torch"), (_STORED, _DATA)):
        shutil.copytree(
            source, folder / name, dirs_exist_ok=True,
            ignore=shutil.ignore_patterns("__pycache__"),
        )  # fmt: skip
    (folder / _DATA / "PKG-INFO").replace(folder / _DATA / "METADATA")


def disable() -> None:
    """Remove the package. Where it is not, nothing happens."""
    now = status()
    if now.kind == "pytorch":
        raise Refusal(f"torch in {now.folder} is PyTorch {now.version or ''}, not Genesis")
    if now.kind == "genesis":
        assert now.folder is not None
        for name in ("torch", _DATA):
            shutil.rmtree(Path(now.folder) / name)
