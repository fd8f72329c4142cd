"""DTensor against whole tensors, and divided layers against whole ones."""

import copy
import itertools

import genesis
import genesis.distributed as dist
import models
from genesis import nn
from genesis.distributed.tensor import (
    Partial,
    Replicate,
    Shard,
    distribute_tensor,
    init_device_mesh,
)
from genesis.distributed.tensor.parallel import (
    ColwiseParallel,
    PrepareModuleInput,
    PrepareModuleOutput,
    RowwiseParallel,
    SequenceParallel,
    parallelize_module,
)

dist.init_process_group(timeout=60)
size, rank = dist.get_world_size(), dist.get_rank()
mesh = init_device_mesh("cpu", (size,), mesh_dim_names=("tp",))
meshes = [mesh]
if size == 4:
    meshes.append(init_device_mesh("cpu", (2, 2), mesh_dim_names=("dp", "tp")))


def close(a, b, tolerance=1e-5):
    genesis.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def layouts(mesh):
    one = (Replicate(), Shard(0), Shard(1))
    for combined in itertools.product(one, repeat=mesh.ndim):
        dims = [p.dim for p in combined if isinstance(p, Shard)]
        if len(set(dims)) == len(dims):
            yield combined


genesis.manual_seed(0)
A, B, C = genesis.randn(8, 6), genesis.randn(6, 5), genesis.randn(5)
for mesh_ in meshes:
    for pa, pb in itertools.product(layouts(mesh_), repeat=2):
        whole = [t.clone().requires_grad_() for t in (A, B, C)]
        parts = [
            distribute_tensor(whole[0].detach().requires_grad_(), mesh_, pa),
            distribute_tensor(whole[1].detach().requires_grad_(), mesh_, pb),
            distribute_tensor(
                whole[2].detach().requires_grad_(), mesh_, [Replicate()] * mesh_.ndim
            ),
        ]

        def compute(a, b, c):
            y = (a @ b + c).tanh()
            z = y * y - y / 2 + (-y).exp()
            return (
                (z.mean(1) * 3 + z.sum(1)).sum()
                + (y.t() * 2).sum(0).mean()
                + y.softmax(1).log().sum()
            )

        expected, got = compute(*whole), compute(*parts)
        close(got.full_tensor(), expected, 1e-4)
        expected.backward()
        got.backward()
        for w, p in zip(whole, parts, strict=True):
            close(p.grad.full_tensor(), w.grad, 1e-4)
    for first, second in itertools.product(layouts(mesh_), repeat=2):
        x = distribute_tensor(A, mesh_, first)
        assert genesis.equal(x.redistribute(placements=second).full_tensor(), A)
if size > 1:
    x = distribute_tensor(genesis.ones(4, 4), mesh, [Shard(1)]).sum(1)
    assert x.placements == (Partial(),) and x.full_tensor().tolist() == [4.0] * 4

# A transformer with divided attention and feed-forward layers.
width = 16


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(width, width) for _ in range(3))
        self.o = nn.Linear(width, width)

    def forward(self, x):
        b, t, _ = x.shape
        q, k, v = (layer(x).view(b, t, -1, 4).transpose(1, 2) for layer in (self.q, self.k, self.v))
        y = nn.functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.o(y.transpose(1, 2).reshape(b, t, -1))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(nn.functional.gelu(self.up(self.norm2(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.letters = nn.Embedding(12, width)
        self.blocks = nn.ModuleList([Block() for _ in range(2)])
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 12)

    def forward(self, text):
        x = self.letters(text)
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


genesis.manual_seed(4)
plain = Model()
column, row = ColwiseParallel, RowwiseParallel
basic = {
    "letters": row(), "blocks.*.attention.q": column(), "blocks.*.attention.k": column(),
    "blocks.*.attention.v": column(), "blocks.*.attention.o": row(), "blocks.*.up": column(),
    "blocks.*.down": row(), "head": column(output_layouts=Replicate()),
}  # fmt: skip
sequence = {
    "letters": row(output_layouts=Shard(1)), "blocks.*.norm1": SequenceParallel(), "blocks.*.norm2": SequenceParallel(),
    "blocks.*.attention": PrepareModuleInput(input_layouts=Shard(1), desired_input_layouts=Replicate()),
    "blocks.*.attention.q": column(), "blocks.*.attention.k": column(), "blocks.*.attention.v": column(),
    "blocks.*.attention.o": row(output_layouts=Shard(1)),
    "blocks.*.up": column(input_layouts=Shard(1)), "blocks.*.down": row(output_layouts=Shard(1)),
    "norm": SequenceParallel(), "head": column(input_layouts=Shard(1)),
}  # fmt: skip
text = genesis.randint(0, 12, (3, 8))
for plan in (basic, sequence):
    model = copy.deepcopy(plain)
    if rank:  # rank 0 decides
        for p in (*model.blocks[0].up.parameters(), *model.blocks[1].attention.o.parameters()):
            p.data.zero_()
    parallelize_module(model, mesh, plan)
    if plan is sequence:
        parallelize_module(
            model.head,
            mesh,
            PrepareModuleOutput(output_layouts=Shard(-1), desired_output_layouts=Replicate()),
        )
    reference = copy.deepcopy(plain)
    updates = [genesis.optim.SGD(m.parameters(), lr=0.1) for m in (model, reference)]
    for _ in range(3):
        losses = []
        for m, update in zip((model, reference), updates, strict=True):
            update.zero_grad()
            loss = models.loss_of(m(text)[:, :-1], text[:, 1:])
            loss.backward()
            update.step()
            losses.append(loss.detach())
        close(*losses)
    named = dict(model.named_parameters())
    if size > 1:
        assert named["blocks.0.up.weight"].shape == (4 * width // size, width)
    for name, p in reference.named_parameters():
        spec = getattr(named[name], "_shard_spec", None)
        local = named[name].detach()
        close(local if spec is None else spec.full(local), p.detach(), 1e-4)
print("ok")
