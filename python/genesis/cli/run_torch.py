"""`genesis run-torch`: a script written for PyTorch, run with Genesis."""

from __future__ import annotations

import argparse
import os
import runpy
import sys

from genesis.cli.arguments import Failure, Parser


def main(arguments: list[str]) -> int:
    """Run a script or a module in this process, with ``torch`` meaning Genesis."""
    parser = Parser(
        "genesis run-torch",
        "Run a program written for PyTorch, unchanged: `torch` and its submodules are Genesis,\n"
        "in it and in the processes it starts.",
        "genesis run-torch train.py --epochs 3\ngenesis run-torch -m pytest tests",
    )
    add = parser.add_argument
    add("--report", action="store_true",
        help="print at exit which names of torch were missing and where")  # fmt: skip
    add("-m", dest="module", action="store_true", help="the program is the name of a module")
    add("program", help="a script, or with -m a module")
    add("arguments", nargs=argparse.REMAINDER, help="arguments of the program")
    options = parser.parse_args(arguments)
    if not options.module and not os.path.exists(options.program):
        raise Failure(
            f"genesis run-torch: {options.program}: no such file; options for genesis come first, "
            "see `genesis run-torch --help`"
        )

    import genesis.torch
    from genesis.torch import missing

    try:
        genesis.torch.install()
    except RuntimeError as error:
        raise Failure(f"genesis run-torch: {error}") from None
    if options.report:
        missing.start_report()
    sys.argv = [options.program, *options.arguments]
    if options.module:
        sys.path.insert(0, os.getcwd())
        runpy.run_module(options.program, run_name="__main__", alter_sys=True)
    else:
        sys.path.insert(0, os.path.dirname(os.path.abspath(options.program)))
        runpy.run_path(options.program, run_name="__main__")
    return 0
