"""Small models that the jobs train."""

import genesis
from genesis import nn
from genesis.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        b, t, w = x.shape
        q, k, v = (
            p.view(b, t, self.heads, w // self.heads).transpose(1, 2)
            for p in self.qkv(self.norm1(x)).split(w, dim=2)
        )
        seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(seen.transpose(1, 2).reshape(b, t, w))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    def __init__(self, letters=20, width=32, heads=2, depth=2, length=8):
        super().__init__()
        self.letters, self.places = nn.Embedding(letters, width), nn.Embedding(length, width)
        self.blocks = nn.Sequential(*(Block(width, heads) for _ in range(depth)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, letters)

    def forward(self, text):
        x = self.letters(text) + self.places(genesis.arange(text.shape[1]))
        return self.head(self.norm(self.blocks(x)))


def mlp():
    return nn.Sequential(
        nn.Linear(12, 32), nn.Tanh(), nn.Linear(32, 32), nn.ReLU(), nn.Linear(32, 5)
    )


def noisy():
    return nn.Sequential(nn.Linear(12, 32), nn.ReLU(), nn.Dropout(0.3), nn.Linear(32, 5))


def cnn():
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.GroupNorm(4, 8), nn.ReLU(),
        nn.Conv2d(8, 8, 3, padding=1), nn.GroupNorm(2, 8), nn.ReLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5),
    )  # fmt: skip


def make(name):
    """A model, and a function that gives the global batch of a step: inputs and targets."""
    genesis.manual_seed(5)
    model = {"mlp": mlp, "gpt": GPT, "cnn": cnn, "noisy": noisy}[name]()

    def batch(step, count=16):
        g = genesis.Generator()
        g.manual_seed(1000 + step)
        if name == "gpt":
            text = genesis.randint(0, 20, (count, 9), generator=g)
            return text[:, :-1], text[:, 1:]
        shape = (count, 12) if name in ("mlp", "noisy") else (count, 3, 8, 8)
        return genesis.randn(*shape, generator=g), genesis.randint(0, 5, (count,), generator=g)

    return model, batch


def loss_of(output, target):
    return F.cross_entropy(output.reshape(-1, output.shape[-1]), target.reshape(-1))


def digest(model):
    """All bits of the parameters and buffers, in a short text."""
    import hashlib

    h = hashlib.sha256()
    for name, t in sorted(model.state_dict().items()):
        h.update(name.encode())
        h.update(t.detach().contiguous().reshape(-1).view(genesis.uint8).numpy().tobytes())
    return h.hexdigest()[:16]
