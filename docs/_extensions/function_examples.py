"""Examples for functions whose docstrings have none: code, which is run to show what it prints.

`code_of` finds the code of a function: what is written in `example_code.py`, or a template by
the kind and signature of an operator. A test runs all of them.
"""

from __future__ import annotations

import ast
import contextlib
import fnmatch
import functools
import io
from typing import Any

import genesis
from example_code import CODE, INPUTS, UNDESCRIBED

# Results of one kind of operators, for inputs of which the template makes sense.
UNARY = ("pointwise", "activation")


@functools.cache
def operators() -> dict[str, dict[str, Any]]:
    return {op["name"]: op for op in genesis._C.op_info() if op["function"]}


def code_of(module: str, name: str) -> str | None:
    """The code of the example of a function; None if there is none."""
    if name in CODE:
        return CODE[name]
    if undescribed(name):
        return None
    op = operators().get(name) or operators().get(f"_{name}")
    return None if op is None else _template(op, f"{module}.{name}", name)


def undescribed(name: str) -> bool:
    """Whether a name is one that PyTorch's documentation leaves out."""
    return any(fnmatch.fnmatchcase(name, pattern) for pattern in UNDESCRIBED.split())


def _template(op: dict[str, Any], full: str, name: str) -> str | None:
    needed = [p for p in op["params"] if p["default"] is None and not p["variadic"]]
    types = [p["type"] for p in needed]
    called = full.replace("genesis.nn.functional.", "F.")
    called = called.replace("genesis.linalg_", "genesis.linalg.")
    called = called.replace("genesis.special_", "genesis.special.")
    if name.startswith("linalg_"):
        rest = ", genesis.ones(2, 1)" if len(types) == 2 else ""
        return f"a = genesis.tensor([[4.0, 1.0], [1.0, 3.0]])\n{called}(a{rest})"
    x = INPUTS.get(name.rstrip("_"), "[-1.0, 0.5, 2.0]")
    start = f"x = genesis.tensor({x})\n"
    if op["kind"] == "reduction" and types == ["Tensor"]:
        start = "x = genesis.tensor([[1.0, 2.0], [3.0, 4.0]])\n"
        dim = any(p["name"] == "dim" for p in op["params"])
        return f"{start}{called}(x)" + (f"\n{called}(x, dim=0)" if dim else "")
    if types in (["Tensor"], ["Operand"]):
        return f"{start}{called}(x)"
    if types == ["Tensor", "Scalar"] or types == ["Tensor", "float"]:
        return f"{start}{called}(x, 2)"
    if len(types) == 2 and all(t in ("Tensor", "Operand") for t in types):
        if name.startswith(("bitwise", "gcd", "lcm")):
            return f"x, y = genesis.tensor([12, 7]), genesis.tensor([10, 2])\n{called}(x, y)"
        return (
            "x, y = genesis.tensor([1.0, 2.0, 3.0]), genesis.tensor([3.0, 2.0, 0.5])\n"
            f"{called}(x, y)"
        )
    return None


def names() -> dict[str, Any]:
    """What the code of an example may use."""
    import numpy

    return {
        "genesis": genesis,
        "nn": genesis.nn,
        "F": genesis.nn.functional,
        "np": numpy,
        "__name__": "__main__",
    }


def run(code: str) -> list[str]:
    """The lines of a session: prompts, and what each statement prints."""
    genesis.manual_seed(0)
    world = names()
    lines: list[str] = []
    for node in ast.parse(code).body:
        source = ast.get_source_segment(code, node) or ""
        first, *rest = source.splitlines()
        lines += [f">>> {first}", *(f"... {line}" for line in rest)]
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            exec(compile(ast.Interactive([node]), "<example>", "single"), world)
        lines += out.getvalue().splitlines()
    return lines
