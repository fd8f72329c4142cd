"""Feeding a network: a dataset of one's own, batches of sequences of different lengths, workers.

The task is to tell the waveform of a short recording. Recordings differ in length, so a collate
function pads each batch; a sampler that puts similar lengths together saves most of the padding.

python examples/data_loading.py [--smoke] [--picture data_loading.svg]
"""

import argparse
import math
import pathlib
from collections.abc import Iterator

import genesis
import genesis.nn.functional as F
from genesis import Tensor, nn, optim
from genesis.data import DataLoader, Dataset, Sampler, random_split
from genesis.nn.utils.rnn import pad_sequence

WAVES = ("sine", "square", "saw")
Sample = tuple[Tensor, int]
Batch = tuple[Tensor, Tensor, Tensor]


class Waves(Dataset[Sample]):
    """Recording i, generated on demand and the same for every access."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __len__(self) -> int:
        return self.n

    def __getitem__(self, i: int) -> Sample:
        random = genesis.Generator().manual_seed(i)
        length = int(genesis.randint(20, 100, (), generator=random))
        phase, speed = genesis.rand(2, generator=random).tolist()
        turn = (genesis.arange(length) * (0.3 + 0.4 * speed) / math.pi + phase) % 1
        kind = i % len(WAVES)
        wave = ((2 * math.pi * turn).sin(), (turn < 0.5) * 2.0 - 1, 2 * turn - 1)[kind]
        return wave + 0.2 * genesis.randn(length, generator=random), kind


def pad(samples: list[Sample]) -> Batch:
    """Recordings (batch, time) with zeros behind the shorter ones, their lengths, their kinds."""
    waves = [wave for wave, _ in samples]
    lengths = genesis.tensor([len(wave) for wave in waves])
    return pad_sequence(waves, batch_first=True), lengths, genesis.tensor([k for _, k in samples])


class SimilarLengths(Sampler[list[int]]):
    """Batches of samples of similar length, in random order."""

    def __init__(self, lengths: list[int], batch_size: int) -> None:
        order = sorted(range(len(lengths)), key=lengths.__getitem__)
        self.batches = [order[i : i + batch_size] for i in range(0, len(order), batch_size)]

    def __len__(self) -> int:
        return len(self.batches)

    def __iter__(self) -> Iterator[list[int]]:
        for i in genesis.randperm(len(self.batches)).tolist():
            yield self.batches[i]


class Listener(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv1d(1, 32, 9, padding=4)
        self.head = nn.Linear(32, len(WAVES))

    def forward(self, waves: Tensor, lengths: Tensor) -> Tensor:
        heard = self.conv(waves.unsqueeze(1)).relu()
        inside = genesis.arange(waves.shape[1]) < lengths.unsqueeze(1)  # not the padding
        return self.head((heard * inside.unsqueeze(1)).sum(dim=2) / lengths.unsqueeze(1))


def draw(plain: Batch, similar: Batch) -> str:
    """Two batches: what is heard in colour, what is padding in grey."""
    parts = []
    for top, title, (waves, lengths, _) in (
        (20, "as they come", plain),
        (190, "similar lengths", similar),
    ):
        parts.append(f'<text x="16" y="{top + 4}" fill="#444">{title}</text>')
        for row, length in enumerate(lengths.tolist()[:16]):
            y = top + 12 + 9 * row
            parts.append(
                f'<rect x="16" y="{y}" width="{5.6 * waves.shape[1]:.0f}" height="7" fill="#ddd"/>'
                f'<rect x="16" y="{y}" width="{5.6 * length:.0f}" height="7" fill="#2f6da3"/>'
            )
    return "\n".join([
        '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 600 360" width="600" height="360" '
        'font-family="system-ui, sans-serif" font-size="13">',
        '<rect width="600" height="360" fill="#fff"/>',
        *parts,
        "</svg>\n",
    ])  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--smoke", action="store_true", help="less of everything")
    parser.add_argument("--picture", type=pathlib.Path, default="data_loading.svg")
    args = parser.parse_args()

    genesis.manual_seed(0)
    train, test = random_split(Waves(300 if args.smoke else 3000), [0.8, 0.2])
    lengths = [len(wave) for wave, _ in train]
    sampler = SimilarLengths(lengths, batch_size=32)
    # Two processes make the next batches while this one computes.
    loader = DataLoader(
        train, batch_sampler=sampler, collate_fn=pad, num_workers=2, persistent_workers=True
    )
    tests = DataLoader(test, batch_size=100, collate_fn=pad)

    model = Listener()
    optimizer = optim.AdamW(model.parameters(), lr=5e-3)
    for epoch in range(2 if args.smoke else 8):
        for waves, length, kind in loader:
            loss = F.cross_entropy(model(waves, length), kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        with genesis.no_grad():
            right = sum(int((model(w, n).argmax(dim=1) == k).sum()) for w, n, k in tests)
        print(f"epoch {epoch + 1}  loss {loss:.3f}  accuracy on others {right / len(test):.3f}")

    plain = next(iter(DataLoader(train, batch_size=32, collate_fn=pad)))
    similar = pad([train[i] for i in sampler.batches[len(sampler) // 2]])
    args.picture.write_text(draw(plain, similar))


if __name__ == "__main__":
    main()
