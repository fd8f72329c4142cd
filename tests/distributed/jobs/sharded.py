"""Optimizers and models that are divided among the ranks, against plain ones."""

import genesis
import genesis.distributed as dist
import models
from genesis.distributed.fsdp import fully_shard
from genesis.distributed.optim import ZeroRedundancyOptimizer
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()


def part(x):
    n = x.shape[0] // size
    return x[rank * n : (rank + 1) * n]


def run(model, update, batch, steps, begin=0):
    for step in range(begin, begin + steps):
        x, y = map(part, batch(step))
        update.zero_grad()
        models.loss_of(model(x), y).backward()
        update.step()


def same(a, b):
    assert set(a) == set(b)
    for key in a:
        assert genesis.equal(a[key], b[key]), key


KINDS = (("SGD", {"lr": 0.05, "momentum": 0.9}), ("AdamW", {"lr": 0.01}))
for name in ("mlp", "gpt", "cnn"):
    for kind, options in KINDS:
        model, batch = models.make(name)
        plain = DDP(model)
        update = getattr(genesis.optim, kind)(model.parameters(), **options)
        run(plain, update, batch, 3)
        expected = model.state_dict()

        # The state of the optimizer in parts.
        other, _ = models.make(name)
        zero = ZeroRedundancyOptimizer(other.parameters(), getattr(genesis.optim, kind), **options)
        ddp = DDP(other)
        run(ddp, zero, batch, 2)
        zero.consolidate_state_dict(to=0)
        if rank == 0:
            assert len(zero.state_dict()["state"]) == len(list(other.parameters()))
        share = sum(
            t.numel() for s in zero.local_state_dict().values() for t in s.values() if t.ndim
        )
        whole = sum(t.numel() for s in update.state.values() for t in s.values() if t.ndim)
        if name == "gpt":
            assert share < whole / size * 1.3, (share, whole)
        run(ddp, zero, batch, 1, begin=2)
        same(other.state_dict(), expected)

        # Everything in parts.
        for free in (True, False):
            third, _ = models.make(name)
            if name == "gpt":
                for block in third.blocks:
                    fully_shard(block, reshard_after_forward=free)
            fully_shard(third, reshard_after_forward=free)
            adam = getattr(genesis.optim, kind)(third.parameters(), **options)
            run(third, adam, batch, 3)
            held = sum(p.numel() for p in third.parameters())
            total = sum(t.numel() for t in expected.values())
            assert held <= total / size * 1.4 + 200, (held, total)
            full = {n: p._shard_spec.full(p.detach()) for n, p in third.named_parameters()}
            same(full, expected)
            with genesis.no_grad():
                x, y = batch(9)
                genesis.testing.assert_close(third(x), model(x), rtol=0, atol=0)
print("ok")
