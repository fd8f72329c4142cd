"""The command ``genesis``; also ``python -m genesis``.

Each command is a module here with a function ``main(arguments)``, imported when it is called.
"""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Sequence

from genesis.cli.arguments import Failure, nearest

__all__ = ["main"]

COMMANDS = {
    "train": "train a model on bundled data and write a report",
    "generate": "generate text with a model that `genesis train gpt` trained",
    "run": "run a script on several ranks over MPI",
    "info": "show the version, processor, threads and memory",
    "doctor": "check the installation: gradients of many operations, files, threads",
    "bench": "time operations and training steps next to PyTorch, if it is installed",
    "graph": "draw the computation graph of a function or model",
    "convert": "convert weights between formats: .pt, .safetensors, .npz",
    "run-torch": "run a script or module written for PyTorch, unchanged",
    "torch": "make an environment import Genesis as torch: enable, disable, status, coverage",
}

_HELP = """\
usage: genesis COMMAND [options]

{commands}

Start with `genesis train digits`; `genesis COMMAND --help` describes each command.
`genesis --version` prints the version.
"""


def _listing() -> str:
    return "\n".join(f"  {name:10} {text}" for name, text in COMMANDS.items())


def _module(name: str) -> str:
    return f"genesis.cli.{name.replace('-', '_')}"


def main(arguments: Sequence[str] | None = None) -> int:
    """Runs a command line and returns its exit status.

    >>> main(["--version"])
    genesis ...
    0
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    if len(words) > 1 and words[0] == "help":
        words = [*words[1:], "--help"]
    if not words or words[0] in ("-h", "--help", "help"):
        print(_HELP.format(commands=_listing()), end="")
        return 0
    if words[0] in ("-V", "--version"):
        from genesis import __version__

        print(f"genesis {__version__}")
        return 0
    name = words[0]
    try:
        if name not in COMMANDS:
            raise Failure(
                f"genesis: there is no command {name!r}{nearest(name, COMMANDS)}\n{_listing()}"
            )
        status: int = importlib.import_module(_module(name)).main(words[1:])
        sys.stdout.flush()
        return status
    except Failure as failure:
        print(failure, file=sys.stderr)
        return failure.status
    except KeyboardInterrupt:
        print(f"genesis {name}: interrupted", file=sys.stderr)
        return 130
    except BrokenPipeError:  # `genesis info | head -1`
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 141
    except OSError as error:  # a folder that cannot be written, a disk that is full
        if error.filename is None:
            raise
        print(f"genesis {name}: {error.filename}: {error.strerror}", file=sys.stderr)
        return 1
