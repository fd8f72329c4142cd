"""Training on several hosts. Usage: hosts.py train | cut FILE | speed"""

import os
import socket
import sys
import time

import genesis
import genesis.distributed as dist
import models
from genesis.nn.parallel import DistributedDataParallel as DDP

mode = sys.argv[1]
dist.init_process_group(timeout=4 if mode == "cut" else 60)
rank, size = dist.get_rank(), dist.get_world_size()
addresses = os.popen("ip -o -4 addr show eth0").read().split()
found = [None] * size
dist.all_gather_object(found, addresses[3])
assert len(set(found)) == size, found  # every rank has a host of its own
assert socket.gethostname()

if mode == "train":
    model, batch = models.make("mlp")
    ddp = DDP(model, shards=4)
    update = genesis.optim.AdamW(ddp.parameters(), lr=0.01)
    for step in range(20):
        n = 16 // size
        x, y = (t[rank * n : (rank + 1) * n] for t in batch(step))
        update.zero_grad()
        for inputs, targets in ddp.split(x, y):
            models.loss_of(ddp(inputs), targets).backward()
        update.step()
    print(models.digest(model))
elif mode == "cut":
    x = genesis.ones(100_000)
    for step in range(1_000_000):
        dist.all_reduce(x, dist.ReduceOp.AVG)
        if step == 3 and rank == 0:
            open(sys.argv[2], "w").close()  # from now on the link may go
elif mode == "speed":
    x = genesis.ones(1 << 20)
    dist.all_reduce(x)
    dist.barrier()
    began = time.perf_counter()
    dist.all_reduce(x)
    print("seconds", time.perf_counter() - began)
print("ok")
