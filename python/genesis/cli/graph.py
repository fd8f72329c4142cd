"""`genesis graph`: the computation graph of a function or a model of the user's."""

from __future__ import annotations

import importlib
import importlib.util
import re
import sys
from pathlib import Path
from typing import Any

import genesis
from genesis import debug, nn
from genesis._console import Console
from genesis.cli.arguments import Failure, Parser, nearest

_FORMATS = {"text": ".txt", "svg": ".svg", "dot": ".dot", "mermaid": ".mmd", "html": ".html"}


def main(arguments: list[str]) -> int:
    """Run something and draw the recorded graph."""
    parser = Parser(
        "genesis graph",
        "Draw the computation graph of a function or model. It runs once and is not trained.",
        "genesis graph model.py:loss\n"
        "genesis graph mypackage.model:Net --input 1x3x32x32 -o net.svg\n\n"
        "The function is called with the inputs and returns a tensor; a module class is first\n"
        "instantiated without arguments.",
    )
    add = parser.add_argument
    add("target", metavar="MODULE:FUNCTION", help="a module or a file, and a name in it")
    add("--input", action="append", default=[], metavar="SHAPE",
        help="a random input such as 32x10, or 32x10:int64 for zeros; may be repeated")  # fmt: skip
    add(
        "-o",
        "--out",
        type=Path,
        metavar="FILE",
        help="output file; its suffix selects the format (default: text)",
    )
    add("--format", choices=list(_FORMATS), help="if the suffix does not select it")
    add(
        "--full", action="store_true", help="do not fold repeated parts, however large the graph is"
    )
    options = parser.parse_args(arguments)
    target = _find(options.target)
    inputs = [_input(text) for text in options.input]
    if isinstance(target, type) and issubclass(target, nn.Module):
        target = _run(options.target, target)
    drawn = _run(options.target, debug.graph, target, *inputs, fold=not options.full)
    kind = options.format or _kind(options.out)
    text = (
        str(drawn)
        if kind == "text"
        else getattr(drawn, "_repr_html_" if kind == "html" else kind)()
    )
    if options.out is None:
        print(text)
    else:
        options.out.write_text(text + "\n", encoding="utf-8")
        Console().line(f"{options.out}: {len(drawn.vertices)} vertices, {len(drawn.links)} links")
    return 0


def _kind(out: Path | None) -> str:
    if out is None:
        return "text"
    for name, ending in _FORMATS.items():
        if out.suffix == ending:
            return name
    raise Failure(
        f"genesis graph: {out}: the name must end in {', '.join(_FORMATS.values())}; "
        "or give --format"
    )


def _find(target: str) -> Any:
    """What MODULE:FUNCTION names; modules are looked for here first, as python does."""
    place, _, name = target.rpartition(":")
    if not place or not name:
        raise Failure(
            f"genesis graph: expected MODULE:FUNCTION or FILE.py:FUNCTION, got {target!r}"
        )
    sys.path.insert(0, "")
    if place.endswith(".py"):
        if not Path(place).exists():
            raise Failure(f"genesis graph: {place}: there is no such file")
        spec = importlib.util.spec_from_file_location(Path(place).stem, place)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        sys.modules.setdefault(spec.name, module)
        _run(target, spec.loader.exec_module, module)
    else:
        if importlib.util.find_spec(place.split(".")[0]) is None:
            raise Failure(
                f"genesis graph: there is no module {place!r} here or in the installation"
            )
        module = _run(target, importlib.import_module, place)
    found: Any = module
    for part in name.split("."):
        if not hasattr(found, part):
            hint = nearest(part, [n for n in dir(found) if not n.startswith("_")])
            raise Failure(f"genesis graph: {place} has no {part!r}{hint}")
        found = getattr(found, part)
    return found


def _input(text: str) -> genesis.Tensor:
    match = re.fullmatch(r"(\d+(?:x\d+)*)(?::(\w+))?", text)
    dtype = getattr(genesis, (match[2] or "float32"), None) if match else None
    if match is None or not isinstance(dtype, genesis.dtype):
        raise Failure(
            f"genesis graph: --input: expected a shape such as 32x10 or 8x16:int64, got {text!r}"
        )
    shape = [int(n) for n in match[1].split("x")]
    if dtype.is_floating_point:
        return genesis.randn(shape, dtype=dtype, requires_grad=True)
    return genesis.zeros(shape, dtype=dtype)


def _run(name: str, function: Any, *arguments: Any, **options: Any) -> Any:
    """Runs user code; errors in it are reported in one line."""
    try:
        return function(*arguments, **options)
    except Exception as error:
        message = f"genesis graph: {name}: {type(error).__name__}: {error}"
        if isinstance(error, TypeError) and "missing" in str(error) and function is debug.graph:
            message += "; give it inputs, such as --input 32x10"
        raise Failure(message) from error
