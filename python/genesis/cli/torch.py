"""`genesis torch`: Genesis under the name torch in a whole environment."""

from __future__ import annotations

from genesis._console import Console
from genesis.cli.arguments import Failure, Parser
from genesis.torch import environment


def main(arguments: list[str]) -> int:
    """Write or remove the package ``torch`` of this environment, or say what there is."""
    parser = Parser(
        "genesis torch",
        "Let python, pytest, console scripts and subprocesses of this environment use Genesis\n"
        "as `torch`: `enable` writes a small package `torch` with metadata into site-packages,\n"
        "`disable` removes it. Where PyTorch itself is installed, nothing is changed.",
        "genesis torch status",
    )
    parser.add_argument("action", choices=["enable", "disable", "status"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    try:
        if options.action == "enable":
            environment.enable()
        elif options.action == "disable":
            environment.disable()
    except environment.Refusal as refusal:
        raise Failure(f"genesis torch {options.action}: {refusal}", 1) from None
    state = environment.status()
    console = Console(options.json)
    console.line(state.text)
    console.data({"torch": state.kind, "version": state.version, "folder": state.folder})
    return 0
