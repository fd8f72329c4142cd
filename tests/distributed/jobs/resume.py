"""A run that can be killed at any time. Usage: resume.py DIRECTORY STEPS [MODE]

MODE "random K": in each of the first K starts, a random rank is killed after a random time.
MODE "at STEP": rank 1 is killed at that step of the first start. MODE "stop": only some steps.
"""

import os
import random
import signal
import sys
import threading
import time

import genesis
import genesis.distributed as dist
import models
from genesis.data import DataLoader, TensorDataset
from genesis.data.distributed import GlobalBatchSampler
from genesis.distributed.checkpoint import Checkpoint
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
directory, steps = sys.argv[1], int(sys.argv[2])
mode, number = (sys.argv[3], int(sys.argv[4])) if len(sys.argv) > 3 else ("", 0)
attempt = int(os.environ.get("GENESIS_RESTART_COUNT", 0))

if mode == "random" and attempt < number:
    draw = random.Random(attempt)
    victim, delay = draw.randrange(size), draw.uniform(0.0, 0.25)

    def kill():
        time.sleep(delay)
        os.kill(os.getpid(), signal.SIGKILL)

    if victim == rank:
        threading.Thread(target=kill, daemon=True).start()

model, _ = models.make("noisy")
genesis.manual_seed(1)
data = TensorDataset(genesis.randn(48, 12), genesis.randint(0, 5, (48,)))
sampler = GlobalBatchSampler(data, 16, seed=7)
loader = DataLoader(data, batch_sampler=sampler)
ddp = DDP(model, shards=4)
update = genesis.optim.AdamW(model.parameters(), lr=0.01)
scheduler = genesis.optim.lr_scheduler.StepLR(update, 5, 0.5)
checkpoint = Checkpoint(
    directory, keep=2, model=model, optimizer=update, scheduler=scheduler, loader=loader
)
found = checkpoint.restore() or {"step": 0, "epoch": 0, "losses": []}
step, losses = found["step"], found["losses"]
for epoch in range(found["epoch"], 1000):
    sampler.set_epoch(epoch)
    for x, y in loader:
        if step >= steps:
            break
        update.zero_grad()
        total = genesis.zeros(())
        for inputs, targets in ddp.split(x, y):
            loss = models.loss_of(ddp(inputs), targets)
            loss.backward()
            total += loss.detach()
        dist.all_reduce(total)
        update.step()
        scheduler.step()
        step += 1
        losses.append(round(total.item(), 3))
        checkpoint.save(step, epoch=epoch, losses=losses)
        if mode == "at" and step == number and attempt == 0 and rank == 1:
            os.kill(os.getpid(), signal.SIGKILL)
    if step >= steps:
        break
if mode == "random" and attempt < number:
    time.sleep(60)  # the kill of this start is still to come
assert len(losses) == steps
print(models.digest(model), step, len(losses))
print("ok")
