"""`genesis info`."""

from __future__ import annotations

from genesis._console import Console
from genesis._environment import describe
from genesis.cli.arguments import Parser


def main(arguments: list[str]) -> int:
    """Say what runs here."""
    parser = Parser("genesis info", "Show the version, processor, threads and memory.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    console = Console(options.json)
    groups = describe()
    for i, (title, entries) in enumerate(groups.items()):
        if i:
            console.line()
        console.line(title, "bold cyan")
        width = max(map(len, entries))
        for name, value in entries.items():
            console.line(f"  {name:{width}}  {value}")
    console.data(groups)
    return 0
