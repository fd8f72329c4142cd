"""`genesis generate`: text from a model that `genesis train gpt` trained."""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

import genesis
from genesis._console import Console
from genesis.cli.arguments import Failure, Parser, number
from genesis.cli.tasks.gpt import ALPHABET, GPT, CharacterGPT, first


def _parser() -> Parser:
    parser = Parser(
        "genesis generate",
        "Write text with a model that `genesis train gpt` trained.",
        """
        examples:
          genesis generate runs/gpt "The object "
          genesis generate runs/gpt --length 1000 --temperature 0.5 --top-k 10 --seed 3
        """,
    )
    add = parser.add_argument
    add("run", type=Path, metavar="RUN", help="the folder of the run, such as runs/gpt")
    add("prompt", nargs="?", default="", help="the text to continue (the start of a line)")
    add(
        "--length",
        type=number(0),
        default=500,
        metavar="N",
        help="number of characters to generate (500)",
    )
    add("--temperature", type=_temperature, default=0.8, metavar="T",
        help="below 1 more probable text, 0 the most probable (0.8)")  # fmt: skip
    add("--top-k", type=number(1), default=None, metavar="K",
        help="sample from the K most probable characters (all)")  # fmt: skip
    add("--seed", type=number(0), default=0, metavar="N", help="seed of the random numbers (0)")
    add("--json", action="store_true", help="one JSON object, for programs")
    return parser


def _temperature(text: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise argparse.ArgumentTypeError(f"expected a number from 0, got {text!r}")
    return value


def main(arguments: list[str]) -> int:
    """Load a run and sample from it."""
    options = _parser().parse_args(arguments)
    model, alphabet = load(options.run)
    unknown = sorted(set(options.prompt) - set(alphabet))
    if unknown:
        raise Failure(
            f"genesis generate: the prompt has characters that the model never saw: "
            f"{''.join(unknown)!r}; it knows {''.join(alphabet)!r}"
        )
    codes = [alphabet.index(c) for c in options.prompt] or [first(alphabet)]
    text = model.sample(
        genesis.tensor(codes), options.length, temperature=options.temperature,
        top_k=options.top_k, generator=genesis.Generator().manual_seed(options.seed),
    )  # fmt: skip
    written = "".join(alphabet[i] for i in text[len(codes) :].tolist())
    console = Console(options.json)
    settings = {k: v for k, v in vars(options).items() if k not in ("run", "prompt", "json")}
    console.line(options.prompt + written)
    console.data({"run": str(options.run), **settings, "prompt": options.prompt, "text": written})
    return 0


def load(run: Path) -> tuple[GPT, list[str]]:
    """The model and the alphabet of a run."""
    settings = _read(run, "run.json", "there is no run in it; train one with genesis train gpt")
    if not isinstance(settings, dict) or settings.get("task") != "gpt":
        raise Failure(f"genesis generate: {run} holds no run of genesis train gpt")
    again = f"the run is not complete; go on with genesis train gpt --resume --out {run}"
    alphabet = _read(run, ALPHABET, again)
    if not (run / "model.safetensors").exists():
        raise Failure(f"genesis generate: {run}: {again}")
    options = {**CharacterGPT.options, **settings["extra"]}
    model = GPT(len(alphabet), options["blocks"], options["width"], options["context"])
    model.load_state_dict(genesis.load(run / "model.safetensors"))
    return model.eval(), alphabet


def _read(run: Path, name: str, missing: str) -> Any:
    try:
        return json.loads((run / name).read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise Failure(f"genesis generate: {run}: {missing}") from None
    except ValueError as error:
        raise Failure(f"genesis generate: {run / name} is damaged ({error})") from None
