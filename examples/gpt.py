"""A small GPT learns to write like Python's own documentation, one character at a time.

The text comes with every Python. Everything a GPT has is here: embeddings of characters and places,
blocks of causal attention and a feed-forward network with residuals around them, and sampling.

python examples/gpt.py [--smoke] [--steps 1500] [--picture gpt.svg]
"""

import argparse
import html
import pathlib
import pydoc_data.topics
import textwrap
import time

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim

CONTEXT = 64


class Block(nn.Module):
    def __init__(self, width: int, heads: int) -> None:
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x: Tensor) -> Tensor:
        batch, time, width = x.shape
        split = (batch, time, 3, self.heads, width // self.heads)
        q, k, v = self.qkv(self.norm1(x)).reshape(split).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)  # (batch, heads, time, ...)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, time, width))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, characters: int, width: int = 96, depth: int = 3, heads: int = 4) -> None:
        super().__init__()
        self.token, self.position = nn.Embedding(characters, width), nn.Embedding(CONTEXT, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, characters)

    def forward(self, text: Tensor) -> Tensor:
        """Scores of the next character at each position, (batch, time, characters)."""
        x = self.token(text) + self.position(genesis.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))

    @genesis.no_grad()
    def write(self, text: Tensor, length: int, temperature: float = 0.8) -> Tensor:
        """`text`, (1, time), continued."""
        for _ in range(length):
            scores = self(text[:, -CONTEXT:])[:, -1] / temperature
            text = genesis.cat([text, genesis.multinomial(scores.softmax(dim=-1), 1)], dim=1)
        return text


def draw(losses: list[float], sample: str) -> str:
    """The loss of each step, and what the network wrote in the end."""
    top = max(losses)
    line = " ".join(
        f"{40 + 240 * i / len(losses):.1f},{300 - 260 * loss / top:.1f}"
        for i, loss in enumerate(losses)
    )
    rows = [row for line in sample.splitlines() for row in textwrap.wrap(line, 60)][:16]
    words = "".join(
        f'<text x="310" y="{44 + 16 * i}" xml:space="preserve">{html.escape(row)}</text>'
        for i, row in enumerate(rows)
    )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 760 330" width="760" height="330" '
        'font-size="13" font-family="system-ui, sans-serif" fill="#444">',
        '<rect width="760" height="330" fill="#fff"/><path d="M40 300h240" stroke="#bbb"/>',
        f'<polyline points="{line}" fill="none" stroke="#b4443c"/>',
        f'<text x="130" y="30">loss {losses[0]:.2f} to {losses[-1]:.2f}</text>',
        f'<g font-family="monospace" font-size="12">{words}</g>',
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="a few steps only")
    parser.add_argument("--steps", type=int, default=1500)
    parser.add_argument("--picture", type=pathlib.Path, default="gpt.svg")
    args = parser.parse_args()
    steps = 8 if args.smoke else args.steps

    genesis.manual_seed(0)
    text = "\n".join(pydoc_data.topics.topics.values())[:300_000]
    alphabet = sorted(set(text))
    number = {character: i for i, character in enumerate(alphabet)}
    data = genesis.tensor([number[character] for character in text])

    model = GPT(len(alphabet))
    optimizer = optim.AdamW(model.parameters(), lr=2e-3, weight_decay=0.1)
    schedule = optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    print(f"{len(text)} characters, {sum(p.numel() for p in model.parameters())} parameters")
    losses, start = [], time.perf_counter()
    for step in range(1, steps + 1):
        at = genesis.randint(len(data) - CONTEXT - 1, (16, 1)) + genesis.arange(CONTEXT + 1)
        piece = data[at]
        loss = F.cross_entropy(model(piece[:, :-1]).flatten(0, 1), piece[:, 1:].flatten())
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        schedule.step()
        losses.append(loss.item())
        if step % max(1, steps // 10) == 0:
            speed = step * 16 * CONTEXT / (time.perf_counter() - start)
            print(f"step {step:5d}  loss {loss:.3f}  {speed:,.0f} characters/s", flush=True)

    prompt = genesis.tensor([[number[character] for character in "The "]])
    sample = "".join(
        alphabet[i] for i in model.write(prompt, 20 if args.smoke else 500)[0].tolist()
    )
    print(sample)
    args.picture.write_text(draw(losses, sample))


if __name__ == "__main__":
    main()
