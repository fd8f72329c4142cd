"""The symbols of the built module: no code of one instruction set runs in place of another's."""

import functools
import pathlib
import platform
import re
import shutil
import subprocess

import genesis
import pytest

ROOT = pathlib.Path(__file__).parents[2]
ISAS = ("avx2", "avx512")


def _run(*command: object) -> str:
    return subprocess.run(
        list(map(str, command)), capture_output=True, text=True, check=True
    ).stdout


def _build_id(path: pathlib.Path) -> str | None:
    found = re.search(r"Build ID: (\w+)", _run("readelf", "-n", path))
    return found[1] if found else None


@functools.cache
def _module() -> pathlib.Path:
    """The imported module, as it was before an installation took its symbols."""
    if hasattr(genesis._C, "_canary_address") or hasattr(genesis._C, "_canary_thread"):
        pytest.skip("a sanitizer build, with functions of the sanitizer")
    if platform.machine() != "x86_64" or not all(map(shutil.which, ("readelf", "objdump"))):
        pytest.skip("one instruction set only, or no binutils")
    installed = pathlib.Path(genesis._C.__file__)
    cache = ROOT / "build/dev/CMakeCache.txt"
    if cache.exists() and re.search(r"^GENESIS_ISAS:STRING=.+", cache.read_text(), re.M):
        pytest.skip("built for some of the instruction sets only")
    for path in (*ROOT.glob(f"build/**/{installed.name}"), installed):
        if (
            ".symtab" in _run("readelf", "-S", path)
            and _build_id(path) == _build_id(installed) is not None
        ):
            return path
    pytest.skip("the build folder of the installed module is gone")


def test_wide_instructions_are_in_functions_named_for_their_instruction_set():
    """Otherwise a processor without AVX could meet one, depending on the order of the link."""
    wide, misplaced, name = re.compile(r"\s(v[a-z]\w+ |.*%[yz]mm)"), set(), ""
    named = dict.fromkeys(ISAS, 0)
    command = ["objdump", "-d", "--no-show-raw-insn", "--no-addresses", _module()]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as listing:
        for line in listing.stdout:
            if line.startswith("<"):
                name = line.strip()
            elif wide.match(line):
                isas = [isa for isa in ISAS if isa in name]
                for isa in isas:
                    named[isa] += 1
                if not isas:
                    misplaced.add(name)
    assert not misplaced
    assert min(named.values()) > 10_000  # the listing was understood


def test_kernels_share_variables_with_other_files_and_nothing_else():
    """Of what several files define, the linker keeps one; functions must be of the instruction set."""
    archive = _module().parent / "libgenesis_native.a"
    if not archive.exists():
        pytest.skip("linked with kernels of another build")
    symbols = (
        line.split() for line in _run("readelf", "--symbols", "--wide", archive).splitlines()
    )
    thread_local = {fields[7] for fields in symbols if len(fields) == 8 and fields[3] == "TLS"}
    member, seen = "", set()
    for line in _run("nm", "--defined-only", archive).splitlines():
        if line.endswith(".o:"):
            member = line
        isa = next((isa for isa in ISAS if member == f"kernels_{isa}.o:"), None)
        if isa and len(line.split()) == 3:
            _, kind, name = line.split()
            seen.add(isa)
            if kind in "WTV" or (kind == "u" and name.startswith("_ZT")):
                variable = kind == "V" and not name.startswith(("_ZT", "DW."))
                shared_variable = variable or name in thread_local  # which nm calls W
                assert isa in name or shared_variable, f"{name} ({kind}) of {member}"
    assert seen == set(ISAS)


def test_nothing_of_its_own_is_missing():
    """A function that is not there is a null pointer, met only by the first call."""
    missing = _run("nm", "-D", "--undefined-only", "--format=posix", _module()).split("\n")
    assert not [line for line in missing if "genesis" in line or any(isa in line for isa in ISAS)]
