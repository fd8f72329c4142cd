"""A run with a divided model or optimizer. Usage: sharded_resume.py DIRECTORY STEPS KIND"""

import sys

import genesis
import genesis.distributed as dist
import models
from genesis.distributed.checkpoint import Checkpoint
from genesis.distributed.checkpoint.state_dict import (
    StateDictOptions,
    get_state_dict,
    set_state_dict,
)
from genesis.distributed.fsdp import fully_shard
from genesis.distributed.optim import ZeroRedundancyOptimizer
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
directory, steps, kind = sys.argv[1], int(sys.argv[2]), sys.argv[3]


def build():
    model, batch = models.make("gpt")
    if kind == "zero":
        wrapped = DDP(model)
        update = ZeroRedundancyOptimizer(model.parameters(), genesis.optim.AdamW, lr=0.01)
    else:
        for block in model.blocks:
            fully_shard(block)
        wrapped = fully_shard(model)
        update = genesis.optim.AdamW(model.parameters(), lr=0.01)
    return model, wrapped, update, batch


def step_of(wrapped, update, batch, step):
    # All ranks use the whole batch, so that the gradients do not depend on their number.
    x, y = batch(step, 8)
    update.zero_grad()
    models.loss_of(wrapped(x), y).backward()
    update.step()


model, wrapped, update, batch = build()
checkpoint = Checkpoint(directory, model=model, optimizer=update)
found = checkpoint.restore() or {"step": 0}
for step in range(found["step"], steps):
    step_of(wrapped, update, batch, step)
checkpoint.save(steps)

if kind == "shard":
    # Whole and divided states, within the job.
    for full in (True, False):
        options = StateDictOptions(full_state_dict=full)
        m, o = get_state_dict(model, update, options=options)
        other, other_wrapped, other_update, _ = build()
        set_state_dict(other, other_update, model_state_dict=m, optim_state_dict=o, options=options)
        if full:
            assert all(
                tuple(m[n].shape) == p._shard_spec.shape for n, p in model.named_parameters()
            )
            step_of(other_wrapped, other_update, batch, 99)
    step_of(wrapped, update, batch, 99)
    first = dict(model.named_parameters())
    # The last of the two was loaded but not trained.
    step_of(other_wrapped, other_update, batch, 99)
    for n, p in other.named_parameters():
        assert genesis.equal(p.detach(), first[n].detach()), n
print("ok")
