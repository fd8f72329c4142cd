"""Libraries to link with, so that the result runs with an older glibc than the one that is here.

python tools/glibc.py 2.28 FOLDER

glibc keeps the old versions of its functions for old programs, but a linker takes the newest. The
libraries written here have the names of libc and libm and no code, and each function only in the
newest version that the older glibc has. Functions that it has not at all are not there, so a link
that needs one fails; csrc/glibc.cpp has those that the C++ library asks for. CXX is the compiler.
"""

from __future__ import annotations

import os
import pathlib
import re
import subprocess
import sys

COMPILER = os.environ.get("CXX", "c++")


def run(*command: str | pathlib.Path) -> str:
    return subprocess.run(
        [str(c) for c in command], capture_output=True, text=True, check=True
    ).stdout


def number(version: str) -> tuple[int, ...]:
    return tuple(map(int, re.findall(r"\d+", version)))


def symbols(library: str, newest: tuple[int, ...]) -> dict[str, tuple[str, bool]]:
    """The version of each name, and whether it is a function."""
    chosen: dict[str, tuple[str, bool]] = {}
    for line in run(os.environ.get("NM", "nm"), "-D", "--defined-only", library).splitlines():
        match = re.fullmatch(r"\w+ (\w) (\w+)@@?GLIBC_([\d.]+)", line)
        if match is None:
            continue
        kind, name, version = match.groups()
        if number(version) <= newest and number(version) > number(chosen.get(name, ("0",))[0]):
            chosen[name] = version, kind in "TtWwi"
    return chosen


def write(
    folder: pathlib.Path, name: str, soname: str, chosen: dict[str, tuple[str, bool]]
) -> None:
    nodes: dict[str, list[str]] = {}
    lines = [".section .text\n"]
    for symbol, (version, function) in sorted(chosen.items()):
        nodes.setdefault(version, []).append(symbol)
        kind = "%function" if function else "%object"
        lines.append(f".globl {symbol}\n.type {symbol}, {kind}\n{symbol}: .quad 0\n")
        lines.append(f".size {symbol}, 8\n")
    script, source = folder / f"{name}.map", folder / f"{name}.s"
    script.write_text(
        "".join(f"GLIBC_{v} {{ {'; '.join(nodes[v])}; }};\n" for v in sorted(nodes, key=number))
    )
    lines.append('.section .note.GNU-stack,"",%progbits\n')
    source.write_text("".join(lines))
    options = [f"-Wl,--version-script={script}"] if nodes else []
    run(
        COMPILER,
        *("-shared", "-nostdlib", f"-Wl,-soname,{soname}", *options),
        *(source, "-o", folder / soname),
    )
    source.unlink()
    script.unlink()


def main() -> None:
    newest, folder = number(sys.argv[1]), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    for name in ("libc", "libm"):
        path = run(COMPILER, f"-print-file-name={name}.so.6").strip()
        write(folder, name, f"{name}.so.6", symbols(path, newest))
    for name, soname in (("libpthread", "libpthread.so.0"), ("libdl", "libdl.so.2")):
        write(folder, name, soname, {})  # their functions are in libc now, but not in the older one
        (folder / f"{name}.so").write_text(f"GROUP ( {folder / soname} )\n")
    (folder / "libm.so").write_text(f"GROUP ( {folder / 'libm.so.6'} )\n")
    rest = run(COMPILER, "-print-file-name=libc_nonshared.a").strip()
    loaders = ("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")  # __tls_get_addr is there
    found = [run(COMPILER, f"-print-file-name={loader}").strip() for loader in loaders]
    loader = next(path for path in found if os.path.isabs(path))
    script = f"GROUP ( {folder / 'libc.so.6'} {rest} AS_NEEDED ( {loader} ) )\n"
    (folder / "libc.so").write_text(script)


if __name__ == "__main__":
    main()
