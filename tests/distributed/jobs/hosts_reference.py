"""What hosts.py trains, on one host."""

import genesis
import genesis.distributed as dist
import models
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
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
print("ok")
