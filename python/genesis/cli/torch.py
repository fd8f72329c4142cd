"""`genesis torch`: Genesis under the name torch in an entire environment."""

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
        "`disable` removes it. Where PyTorch itself is installed, nothing is changed.\n"
        "`coverage` counts the names of PyTorch that Genesis has.",
        "genesis torch status",
    )
    parser.add_argument("action", choices=["enable", "disable", "status", "coverage"])
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    if options.action == "coverage":
        return _coverage(Console(options.json))
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


def _coverage(console: Console) -> int:
    """Totals of PyTorch's names, for each namespace and for all."""
    from collections import Counter

    from genesis.torch import names

    totals = {owner: Counter[str]() for owner in (*names.known(), "all")}
    for entry in names.table():
        totals[entry.owner][entry.status] += 1
        totals["all"][entry.status] += 1
    console.line(f"{'namespace':44}{'same':>7}{'different':>11}{'absent':>8}")
    for owner, count in totals.items():
        console.line(f"{owner:44}{count['same']:7}{count['different']:11}{count['absent']:8}")
    console.data({owner: dict(count) for owner, count in totals.items()})
    return 0
