"""The processes of this machine, for tests that look for those left over."""

import os
import subprocess
from typing import NamedTuple


class Process(NamedTuple):
    parent: int
    command: str


def processes() -> dict[int, Process]:
    """By their number, zombies included."""
    if not os.path.isdir("/proc/self"):  # macOS
        listed = subprocess.run(
            ["ps", "-axo", "pid=,ppid=,command="], capture_output=True, text=True, check=True
        )
        rows = (line.split(None, 2) for line in listed.stdout.splitlines())
        return {int(pid): Process(int(parent), "".join(rest)) for pid, parent, *rest in rows}
    found = {}
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/stat") as file, open(f"/proc/{name}/cmdline", "rb") as command:
                parent = int(file.read().rpartition(")")[2].split()[1])
                text = command.read().replace(b"\0", b" ").decode(errors="replace")
        except (FileNotFoundError, ProcessLookupError):
            continue
        found[int(name)] = Process(parent, text)
    return found
