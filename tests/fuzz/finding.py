"""What a case found, and the random numbers that it was made from."""

from __future__ import annotations

import json
import random
from dataclasses import asdict, dataclass
from typing import Any


@dataclass
class Finding:
    kind: str  # crash, hang, leak, changed input, ...: what the summary counts by
    where: str  # the operation or the step; findings of one kind and place are one defect
    text: str  # what happened
    code: str = ""  # what was run, as a person would write it
    target: str = ""
    seed: int = 0
    case: int = -1

    def to_json(self) -> str:
        return json.dumps(asdict(self))

    @staticmethod
    def from_json(line: str) -> Finding:
        return Finding(**json.loads(line))

    @property
    def group(self) -> tuple[str, str, str]:
        return self.target, self.kind, self.where

    def command(self) -> str:
        if self.case < 0:
            return "genesis.load(io.BytesIO(bytes.fromhex('...'))) of the bytes above"
        return f"tools/soak --only {self.target} --seed {self.seed} --case {self.case}"

    def report(self) -> str:
        lines = [f"{self.target}: {self.kind}: {self.where}"]
        lines += [f"    {line}" for line in self.text.strip().splitlines()]
        lines += [f"    > {line}" for line in self.code.strip().splitlines()]
        return "\n".join([*lines, f"    {self.command()}"])


def rng_of(target: str, seed: int, case: int) -> random.Random:
    return random.Random(f"{target}/{seed}/{case}")


def one_line(error: BaseException, length: int = 300) -> str:
    text: Any = f"{type(error).__name__}: {error}"
    return " ".join(text.split())[:length]
