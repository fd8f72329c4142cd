"""Joins the objects of one instruction set into one, in which no name is shared by accident.

python tools/isa_object.py --isa avx2 --output kernels_avx2.o [--linker, --nm, --objcopy] OBJECTS

A kernel file also contains copies of inline functions that have nothing to do with an instruction
set, of std::vector for example. If another file has the same function, the linker keeps one of the
two, and a processor without AVX2 could meet the one compiled for AVX2. So every such function,
table of virtual functions and constant gets the suffix ".avx2". What keeps its name are variables
that all files share: the kernels that a header declares (csrc/kernels/kernel.h).
"""

from __future__ import annotations

import argparse
import pathlib
import subprocess
import sys

WEAK = "WVu"  # what nm calls functions and objects that several files may define
# Tables and types of classes, static variables of functions and the guards of these.
SPECIAL = ("_ZTV", "_ZTI", "_ZTS", "_ZTT", "_ZTC", "_ZZ", "_ZGV", "DW.ref.")


def definitions(nm: str, path: pathlib.Path) -> list[tuple[str, str]]:
    """Kind and name of each symbol; small letters are those that other files cannot see."""
    listing = subprocess.run(
        [nm, "--defined-only", "--format=posix", path],
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    return [(kind, name) for name, kind, *_ in (line.split() for line in listing.splitlines())]


def shared(kind: str, name: str) -> bool:
    return kind in "Vu" and not name.startswith(SPECIAL)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--isa", required=True)
    parser.add_argument("--output", type=pathlib.Path, required=True)
    parser.add_argument("--linker", default="ld")
    parser.add_argument("--nm", default="nm")
    parser.add_argument("--objcopy", default="objcopy")
    parser.add_argument("objects", nargs="+")
    options = parser.parse_args()

    # Without its groups: their names, too, make a linker drop what another file has.
    joined = options.output.with_suffix(".joined.o")
    subprocess.run(
        [options.linker, "-r", "--force-group-allocation", "-o", joined, *options.objects],
        check=True,
    )
    namespace = f"{len(options.isa)}{options.isa}"  # as names are mangled
    renames, common = set(), set()
    for kind, name in definitions(options.nm, joined):
        if kind in WEAK:
            if shared(kind, name):
                common.add(f"{name}\n")
            else:
                renames.add(f"{name} {name}.{options.isa}\n")
        elif namespace in name:
            continue
        elif (
            kind == "t"
        ):  # a copy that the compiler made for itself; named for tests/core/test_symbols.py
            renames.add(f"{name} {name}.{options.isa}\n")
        elif kind.isupper():
            sys.exit(f"{name} is defined for {options.isa}, but not in the namespace of that name")
    tables = []
    for option, lines in (("--redefine-syms", renames), ("--weaken-symbols", common)):
        table = options.output.with_suffix(option.replace("-", "."))
        table.write_text("".join(sorted(lines)))
        tables.append(f"{option}={table}")
    subprocess.run([options.objcopy, *tables, joined, options.output], check=True)
    joined.unlink()


if __name__ == "__main__":
    main()
