"""`genesis convert`: weights from one format into another."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import genesis
from genesis import Tensor
from genesis._console import Console
from genesis._pytree import tree_flatten, tree_map
from genesis.cli.arguments import Failure, Parser

_ENDINGS = (".safetensors", ".pt", ".pth", ".npz", ".npy")


def main(arguments: list[str]) -> int:
    """Read one file, write another."""
    parser = Parser(
        "genesis convert",
        "Convert weights to another format. The source is recognised by content: PyTorch's files\n"
        "(.pt, .pth, .bin), safetensors, NumPy's .npy and .npz. Nothing in it is executed.",
        "genesis convert model.pt model.safetensors\n"
        "genesis convert checkpoint.pt weights.npz --part model --dtype float16",
    )
    add = parser.add_argument
    add("source", type=Path)
    add("target", type=Path, help=f"its suffix selects the format: {', '.join(_ENDINGS)}")
    add("--part", metavar="KEY", help="convert only the entry under this key, such as model or a.b")
    add("--dtype", choices=["float16", "bfloat16", "float32", "float64"],
        help="dtype of floating-point tensors (default: unchanged)")  # fmt: skip
    add("--force", action="store_true", help="overwrite an existing target")
    add("--json", action="store_true", help="print one JSON object")
    options = parser.parse_args(arguments)
    source, target = options.source, options.target
    if target.suffix.lower() not in _ENDINGS:
        raise Failure(f"genesis convert: {target}: the name must end in {', '.join(_ENDINGS)}")
    if target.exists() and not options.force:
        raise Failure(f"genesis convert: {target} is there already; --force replaces it")
    value = _part(_load(source), options.part, source)
    if options.dtype is not None:
        dtype = getattr(genesis, options.dtype)
        value = tree_map(lambda x: x.detach().to(dtype) if _floating(x) else x, value)
    tensors = [x for x in tree_flatten(value)[0] if isinstance(x, Tensor)]
    if target.suffix.lower() == ".npz":
        value = dict(_flat(value))
    try:
        genesis.save(value, target)
    except (TypeError, ValueError, OSError) as error:
        raise Failure(f"genesis convert: {target}: {error}") from None
    size = target.stat().st_size
    count = sum(t.numel() for t in tensors)
    console = Console(options.json)
    console.line(f"{target}: {len(tensors)} tensors, {count:,} numbers, {size:,} bytes")
    console.data({"target": str(target), "tensors": len(tensors), "numbers": count, "bytes": size})
    return 0


def _floating(x: object) -> bool:
    return isinstance(x, Tensor) and x.is_floating_point()


def _load(source: Path) -> Any:
    try:
        return genesis.load(source)
    except FileNotFoundError:
        raise Failure(f"genesis convert: {source}: there is no such file") from None
    except (genesis.serialization.FileFormatError, OSError) as error:
        raise Failure(f"genesis convert: {error}") from None


def _part(value: Any, key: str | None, source: Path) -> Any:
    """The value of a key: of the entire key first, then step by step at its dots."""
    rest = key
    while rest:
        if not isinstance(value, Mapping):
            raise Failure(
                f"genesis convert: --part {key}: {source} has a {type(value).__name__} there, "
                "not a dict of parts"
            )
        word = next((k for k in _heads(rest) if k in value), None)
        if word is None:
            there = ", ".join(map(str, list(value)[:12]))
            raise Failure(f"genesis convert: --part {key}: {source} has {there}")
        value, rest = value[word], rest[len(word) + 1 :]
    return value


def _heads(key: str) -> list[str]:
    words = key.split(".")
    return [".".join(words[:n]) for n in range(len(words), 0, -1)]


def _flat(value: Any, prefix: str = "") -> list[tuple[str, Any]]:
    """Tensors and numbers by their path: an .npz file has one level."""
    if isinstance(value, Mapping):
        items = [(str(k), v) for k, v in value.items()]
    elif isinstance(value, (list, tuple)):
        items = [(str(i), v) for i, v in enumerate(value)]
    elif isinstance(value, (Tensor, bool, int, float)):
        found = value if isinstance(value, Tensor) else genesis.tensor(value)
        return [(prefix or "tensor", found.detach())]
    else:
        raise Failure(
            f"genesis convert: {prefix or 'the file'} is a {type(value).__name__}, for which .npz "
            "has no place; write .safetensors, or choose weights alone with --part"
        )
    return [x for k, v in items for x in _flat(v, f"{prefix}.{k}" if prefix else k)]
