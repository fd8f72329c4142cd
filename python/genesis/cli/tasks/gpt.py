"""Train a small character-level GPT."""

from __future__ import annotations

import argparse
import json
from html import escape
from pathlib import Path
from typing import Any, ClassVar

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.arguments import Failure, Parser, number
from genesis.cli.task import Rounds, Settings, Task
from genesis.report import Figure
from genesis.training import warmup_cosine

HEADS, KERNEL = 4, 5
BATCH, ROUNDS = 32, 50
ALPHABET = "alphabet.json"  # the characters of a run, next to its weights


class Block(nn.Module):
    """Causal self-attention, then an MLP that is applied to each position."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, length, width = x.shape
        heads = self.qkv(self.norm1(x)).reshape(n, length, 3, HEADS, width // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(n, length, width))
        found: Tensor = x + self.mlp(self.norm2(x))
        return found


class GPT(nn.Module):
    """Scores for the next character at each position of a text.

    >>> tuple(GPT(characters=30)(genesis.zeros(2, 10, dtype=genesis.int64)).shape)
    (2, 10, 30)
    """

    def __init__(
        self, characters: int, blocks: int = 3, width: int = 128, context: int = 64
    ) -> None:
        super().__init__()
        self.context = context
        self.token_embedding = nn.Embedding(characters, width)
        self.position_embedding = nn.Embedding(context, width)
        self.conv = nn.Conv1d(width, width, KERNEL)  # combines the last few characters into words
        self.blocks = nn.Sequential(*(Block(width) for _ in range(blocks)))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, characters)
        nn.init.normal_(self.position_embedding.weight, std=0.1)

    def forward(self, text: Tensor) -> Tensor:
        x = self.token_embedding(text)
        local = self.conv(F.pad(x.transpose(1, 2), (KERNEL - 1, 0))).transpose(1, 2)
        x = x + local + self.position_embedding(genesis.arange(text.shape[1]))
        scores: Tensor = self.head(self.norm(self.blocks(x)))
        return scores

    @genesis.no_grad()
    def sample(
        self, text: Tensor, count: int, *, temperature: float = 1.0, top_k: int | None = None,
        generator: genesis.Generator | None = None,
    ) -> Tensor:  # fmt: skip
        """``text`` and ``count`` more characters, sampled from the predicted distribution.

        ``temperature`` 0 takes the most probable character each time; ``top_k`` samples from the k
        most probable characters only.
        """
        for _ in range(count):
            scores = self(text[-self.context :].unsqueeze(0))[0, -1].float()
            if top_k is not None and top_k < len(scores):
                least = scores.topk(top_k).values[-1]
                scores = scores.masked_fill(scores < least, float("-inf"))
            if temperature == 0:
                following = scores.argmax(0, keepdim=True)
            else:
                probabilities = F.softmax(scores / temperature, 0)
                following = genesis.multinomial(probabilities, 1, generator=generator)
            text = genesis.cat([text, following])
        return text


def read(path: str | None, least: int = 0) -> str:
    """A text file, or a text that is part of every Python: the texts behind ``help("topics")``
    without their tables.

    >>> len(read(None)) > 100_000
    True
    """
    if path is None:
        try:
            from pydoc_data.topics import topics
        except ImportError:
            raise Failure(
                "genesis train gpt: this Python has no pydoc_data; choose a text with --text FILE"
            ) from None
        lines = "\n".join(topics.values()).split("\n")
        return "\n".join(line for line in lines if not line.strip().startswith(("|", "+")))
    try:
        text = Path(path).read_text(encoding="utf-8")
    except OSError as error:
        raise Failure(f"genesis train gpt: --text {path}: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise Failure(
            f"genesis train gpt: --text {path}: byte {error.start} is not valid UTF-8; "
            f"convert the file: iconv -t utf-8 {Path(path).name} > text.txt"
        ) from None
    if len(text) < least:
        raise Failure(f"genesis train gpt: --text {path}: {len(text)} characters are too few; "
                      f"at least {least} are needed")  # fmt: skip
    return text


def first(alphabet: list[str]) -> int:
    """The character before a text: the end of a line, if the alphabet has it."""
    return alphabet.index("\n") if "\n" in alphabet else 0


class CharacterGPT(Task):
    summary = "A small GPT learns to generate text, one character at a time."
    epochs = 12
    goal = "test_loss"
    options: ClassVar[dict[str, Any]] = {
        "text": None, "sample": 500, "blocks": 3, "width": 128, "context": 64,
    }  # fmt: skip

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        options = {**self.options, **settings.extra}
        self.context: int = options["context"]
        if options["width"] % HEADS:
            raise Failure(
                f"genesis train gpt: --width {options['width']} must be a multiple of the {HEADS} "
                "heads of attention"
            )
        text = read(options["text"], least=20 * self.context)
        self.alphabet = sorted(set(text))
        number_of = {c: i for i, c in enumerate(self.alphabet)}
        codes = genesis.tensor([number_of[c] for c in text])
        cut = len(codes) * 9 // 10
        self.train, self.test = codes[:cut], codes[cut:]
        self.loader = Rounds(ROUNDS)
        self.model = GPT(len(self.alphabet), options["blocks"], options["width"], self.context)
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.1)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps))

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("--text", metavar="FILE", type=lambda f: str(Path(f).resolve()),
                            help="text to train on (the texts of Python's help)")  # fmt: skip
        parser.add_argument("--sample", metavar="N", type=number(0), default=argparse.SUPPRESS,
                            help="number of characters to generate at the end (500)")  # fmt: skip
        for name, text in (("blocks", "number of transformer blocks (3)"),
                           ("width", "size of the embeddings, a multiple of 4 (128)"),
                           ("context", "context length in characters (64)")):  # fmt: skip
            parser.add_argument(f"--{name}", metavar="N", type=number(1), help=text)

    def score(self, text: Tensor, starts: Tensor) -> Tensor:
        """The loss over windows of a text: each character is predicted from those before."""
        windows = text[starts.unsqueeze(1) + genesis.arange(self.context + 1)]
        scores = self.model(windows[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())

    def loss(self, batch: int) -> tuple[Tensor, dict[str, float]]:
        starts = genesis.randint(0, len(self.train) - self.context, (BATCH,))
        return self.score(self.train, starts), {}

    def samples(self, batch: int) -> int:
        return BATCH * self.context

    @genesis.no_grad()
    def evaluate(self) -> dict[str, float]:
        starts = genesis.linspace(0, len(self.test) - self.context - 1, 64).long()
        with self.precision():
            return {"test_loss": self.score(self.test, starts).item()}

    def write(self, count: int, temperature: float = 0.5) -> str:
        """A generated text that begins at the start of a line."""
        generator = genesis.Generator().manual_seed(self.settings.seed)
        text = genesis.tensor([first(self.alphabet)])
        text = self.model.sample(text, count, temperature=temperature, generator=generator)
        return "".join(self.alphabet[i] for i in text[1:].tolist())

    def files(self) -> dict[str, str]:
        return {ALPHABET: json.dumps(self.alphabet)}

    def closing(self) -> str:
        count = {**self.options, **self.settings.extra}["sample"]
        return f"Generated text:\n\n{self.write(count)}" if count else ""

    def figures(self) -> list[Figure]:
        return [
            Figure(title, f"<pre>{escape(self.write(600, t))}</pre>", f"At temperature {t}.")
            for title, t in (("Generated text", 0.5), ("Generated text, more random", 0.8))
        ]


TASK = CharacterGPT
