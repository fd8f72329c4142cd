"""Trains a model in shards and prints all bits of it: they must not depend on the ranks."""

import sys

import genesis
import genesis.distributed as dist
import models
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
steps = int(sys.argv[1])
for name in ("mlp", "gpt", "cnn", "noisy"):
    for kind in ("SGD", "AdamW"):
        model, batch = models.make(name)
        ddp = DDP(model, shards=4, bucket_cap_mb=0.02)
        update = getattr(genesis.optim, kind)(ddp.parameters(), lr=0.01)
        for step in range(steps):
            n = 16 // size
            x, y = (t[rank * n : (rank + 1) * n] for t in batch(step))
            update.zero_grad()
            for inputs, targets in ddp.split(x, y):
                models.loss_of(ddp(inputs), targets).backward()
            update.step()
        print(name, kind, models.digest(model))
print("ok")
