"""PyTorch's names in Genesis: the page of the reference, and the list of what is absent.

Both are made from ``genesis.torch.names`` when the documentation is built.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from docutils import nodes
from docutils.parsers.rst import Directive
from docutils.statemachine import StringList
from genesis.torch import names
from genesis.torch.notes import ABSENT

INTERNAL = ("Internal functions of PyTorch", "Other names")  # not worth a line in the guide
FEW = 10  # a subject of which less is absent is not worth one either
STATUS = ("same", "different", "absent")


def setup(app: Any) -> dict[str, bool]:
    app.add_directive("absent-from-pytorch", AbsentList)
    return {"parallel_read_safe": True}


class AbsentList(Directive):
    """What Genesis does not have, by subject, in Markdown."""

    def run(self) -> list[nodes.Node]:
        self.state.document.settings.env.note_reread()  # other names may exist next time
        node = nodes.Element()
        lines = absent_list()
        self.state.nested_parse(StringList(lines, "genesis.torch.notes"), self.content_offset, node)
        return list(node.children)


def absent_list() -> list[str]:
    absent: dict[str, list[str]] = {}
    for entry in names.table():
        if entry.status == "absent":
            rule = names.why_absent(entry.full)
            assert rule is not None
            absent.setdefault(rule.topic, []).append(entry.full)
    return [
        f"- **{rule.topic}**: {rule.why}; {rule.instead}."
        for rule in ABSENT
        if len(absent.get(rule.topic, ())) >= FEW and rule.topic not in INTERNAL
    ]


def page() -> str:
    """The page "PyTorch's names": totals, then each namespace."""
    entries = list(names.table())
    by_owner: dict[str, list[names.Entry]] = {}
    for entry in entries:
        by_owner.setdefault(entry.owner, []).append(entry)
    title = "PyTorch's names"
    text = f"{title}\n{'=' * len(title)}\n\n"
    text += (
        "Every public name of PyTorch 2.13 that has a meaning on a CPU: the same in Genesis, "
        "different, or absent. *Same* means that signatures and results are compared with "
        "PyTorch's by the tests. ``genesis torch coverage`` prints the totals.\n\n"
    )
    rows = [["Namespace", "Names", "Same", "Different", "Absent"]]
    for owner, found in by_owner.items():
        rows.append([f"``{owner}``", *map(str, counts(found))])
    rows.append(["All", *map(str, counts(entries))])
    text += table(rows)
    for owner, found in by_owner.items():
        text += f"\n{owner}\n{'-' * len(owner)}\n\n"
        for status in STATUS:
            text += section(status, [e for e in found if e.status == status])
    return text


def counts(entries: Iterable[names.Entry]) -> list[int]:
    found = [entry.status for entry in entries]
    return [len(found), *(found.count(status) for status in STATUS)]


def section(status: str, entries: list[names.Entry]) -> str:
    """Names of one status; those with the same note are listed together."""
    if not entries:
        return ""
    notes: dict[str, list[str]] = {}
    for entry in entries:
        notes.setdefault(entry.note, []).append(f"``{entry.name}``")
    text = f"**{status.capitalize()}** ({len(entries)})\n\n"
    for note, listed in notes.items():
        shown = ", ".join(listed)
        text += f"- {shown}: {escape(note)}.\n" if note else f"{shown}\n"
    return text + "\n"


def escape(text: str) -> str:
    return text.replace("*", "\\*").replace("_ ", "\\_ ")


def table(rows: list[list[str]]) -> str:
    text = ".. list-table::\n   :header-rows: 1\n\n"
    for row in rows:
        text += f"   * - {row[0]}\n" + "".join(f"     - {cell}\n" for cell in row[1:])
    return text
