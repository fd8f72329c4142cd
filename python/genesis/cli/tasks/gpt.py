"""A small GPT learns to write, one character after the other."""

from __future__ import annotations

import argparse
from html import escape
from pathlib import Path

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.cli.arguments import Failure, Parser, number
from genesis.cli.task import Rounds, Settings, Task, warmup_cosine
from genesis.report import Figure

CONTEXT, WIDTH, HEADS, LAYERS, NEAR = 64, 128, 4, 3, 5
BATCH, ROUNDS = 32, 50


class Block(nn.Module):
    """Attention to what came before, then a small network for each place."""

    def __init__(self) -> None:
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH)
        self.attend = nn.Linear(WIDTH, 3 * WIDTH)
        self.mix = nn.Linear(WIDTH, WIDTH)
        self.think = nn.Sequential(
            nn.Linear(WIDTH, 4 * WIDTH), nn.GELU(), nn.Linear(4 * WIDTH, WIDTH)
        )

    def forward(self, x: Tensor) -> Tensor:
        n, length, _ = x.shape
        heads = self.attend(self.norm1(x)).reshape(n, length, 3, HEADS, WIDTH // HEADS)
        query, key, value = heads.permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.mix(seen.transpose(1, 2).reshape(n, length, WIDTH))
        found: Tensor = x + self.think(self.norm2(x))
        return found


class GPT(nn.Module):
    """Scores for the next character at each place of a text.

    >>> tuple(GPT(characters=30)(genesis.zeros(2, 10, dtype=genesis.int64)).shape)
    (2, 10, 30)
    """

    def __init__(self, characters: int) -> None:
        super().__init__()
        self.character = nn.Embedding(characters, WIDTH)
        self.place = nn.Embedding(CONTEXT, WIDTH)
        self.near = nn.Conv1d(WIDTH, WIDTH, NEAR)  # letters make words: a short cut to the last few
        self.blocks = nn.Sequential(*(Block() for _ in range(LAYERS)))
        self.norm = nn.LayerNorm(WIDTH)
        self.head = nn.Linear(WIDTH, characters)
        nn.init.normal_(self.place.weight, std=0.1)

    def forward(self, text: Tensor) -> Tensor:
        x = self.character(text)
        near = self.near(F.pad(x.transpose(1, 2), (NEAR - 1, 0))).transpose(1, 2)
        x = x + near + self.place(genesis.arange(text.shape[1]))
        scores: Tensor = self.head(self.norm(self.blocks(x)))
        return scores


def read(path: str | None) -> str:
    """A text file, or what every Python brings along: the texts behind ``help("topics")``
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
            f"genesis train gpt: --text {path}: byte {error.start} is not of a text in UTF-8; "
            f"if it is one in another encoding: iconv -t utf-8 {Path(path).name} > text.txt"
        ) from None
    if len(text) < 20 * CONTEXT:
        raise Failure(f"genesis train gpt: --text {path}: {len(text)} characters are too few; "
                      f"there must be {20 * CONTEXT}")  # fmt: skip
    return text


class CharacterGPT(Task):
    summary = "A small GPT learns to write, one character after the other."
    epochs = 12
    goal = "test_loss"

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        text = read(settings.extra.get("text"))
        self.alphabet = sorted(set(text))
        number_of = {c: i for i, c in enumerate(self.alphabet)}
        codes = genesis.tensor([number_of[c] for c in text])
        cut = len(codes) * 9 // 10
        self.train, self.test = codes[:cut], codes[cut:]
        self.loader = Rounds(ROUNDS)
        self.model = GPT(len(self.alphabet))
        self.optimizer = optim.AdamW(self.model.parameters(), lr=3e-3, weight_decay=0.1)
        steps = settings.epochs * len(self.loader)
        self.schedule = optim.lr_scheduler.LambdaLR(self.optimizer, warmup_cosine(steps))

    @classmethod
    def add_arguments(cls, parser: Parser) -> None:
        parser.add_argument("--text", metavar="FILE", type=lambda f: str(Path(f).resolve()),
                            help="what to learn from (the texts of Python's help)")  # fmt: skip
        parser.add_argument("--sample", metavar="N", type=number(0), default=argparse.SUPPRESS,
                            help="how many characters to write at the end (500)")  # fmt: skip

    def score(self, text: Tensor, starts: Tensor) -> Tensor:
        """The loss over windows of a text: each character is foretold from those before."""
        windows = text[starts.unsqueeze(1) + genesis.arange(CONTEXT + 1)]
        scores = self.model(windows[:, :-1])
        return F.cross_entropy(scores.flatten(0, 1), windows[:, 1:].flatten())

    def loss(self, batch: int) -> tuple[Tensor, dict[str, float]]:
        starts = genesis.randint(0, len(self.train) - CONTEXT, (BATCH,))
        return self.score(self.train, starts), {}

    def samples(self, batch: int) -> int:
        return BATCH * CONTEXT

    @genesis.no_grad()
    def evaluate(self) -> dict[str, float]:
        starts = genesis.linspace(0, len(self.test) - CONTEXT - 1, 64).long()
        with self.precision():
            return {"test_loss": self.score(self.test, starts).item()}

    @genesis.no_grad()
    def write(self, count: int, temperature: float = 0.5) -> str:
        """A new text, drawn from what the model expects."""
        generator = genesis.Generator().manual_seed(self.settings.seed)
        text = genesis.tensor([self.alphabet.index("\n") if "\n" in self.alphabet else 0])
        for _ in range(count):
            scores = self.model(text[-CONTEXT:].unsqueeze(0))[0, -1]
            shares = F.softmax(scores.float() / temperature, 0)
            text = genesis.cat([text, genesis.multinomial(shares, 1, generator=generator)])
        return "".join(self.alphabet[i] for i in text[1:].tolist())

    def closing(self) -> str:
        count = self.settings.extra.get("sample", 500)
        return f"It writes:\n\n{self.write(count)}" if count else ""

    def figures(self) -> list[Figure]:
        return [
            Figure(title, f"<pre>{escape(self.write(600, t))}</pre>", f"At temperature {t}.")
            for title, t in (("What it writes, carefully", 0.5), ("What it writes, boldly", 0.8))
        ]


TASK = CharacterGPT
