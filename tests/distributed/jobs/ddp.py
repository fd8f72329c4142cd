"""DistributedDataParallel against one process with the whole batch."""

import copy

import genesis
import genesis.distributed as dist
import models
from genesis import nn
from genesis.distributed.algorithms.ddp_comm_hooks import default_hooks
from genesis.nn.parallel import DistributedDataParallel as DDP

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()


def part(x):
    n = x.shape[0] // size
    return x[rank * n : (rank + 1) * n]


def close(a, b, tolerance=1e-5):
    genesis.testing.assert_close(a, b, rtol=tolerance, atol=tolerance)


def reference(name, steps, optimizer):
    model, batch = models.make(name)
    update = optimizer(model.parameters())
    for step in range(steps):
        x, y = batch(step)
        update.zero_grad()
        models.loss_of(model(x), y).backward()
        update.step()
    return model


def train(name, steps, optimizer, accumulate=False, hook=None, **options):
    model, batch = models.make(name)
    if rank:  # rank 0 decides
        for p in model.parameters():
            p.data.add_(1.0)
    ddp = DDP(model, **options)
    if hook is not None:
        ddp.register_comm_hook(None, hook)
    update = optimizer(ddp.parameters())
    for step in range(steps):
        x, y = map(part, batch(step))
        update.zero_grad()
        if accumulate:
            half = x.shape[0] // 2
            with ddp.no_sync():
                (models.loss_of(ddp(x[:half]), y[:half]) / 2).backward()
            (models.loss_of(ddp(x[half:]), y[half:]) / 2).backward()
        else:
            models.loss_of(ddp(x), y).backward()
        update.step()
    return model


def sgd(params):
    return genesis.optim.SGD(params, lr=0.05, momentum=0.9)


variants = [
    {}, {"gradient_as_bucket_view": True}, {"bucket_cap_mb": 0.001}, {"find_unused_parameters": True},
    {"static_graph": True}, {"accumulate": True}, {"debug": True, "bucket_cap_mb": 0.01},
    {"gradient_as_bucket_view": True, "accumulate": True}, {"hook": default_hooks.allreduce_hook},
]  # fmt: skip
for name in ("mlp", "gpt", "cnn"):
    expected = reference(name, 4, sgd).state_dict()
    for options in variants if name == "mlp" else variants[:3]:
        got = train(name, 4, sgd, **options).state_dict()
        for key in expected:
            close(got[key], expected[key])
expected = reference("mlp", 4, sgd).state_dict()
for hook, tolerance in (
    (default_hooks.fp16_compress_hook, 3e-3),
    (default_hooks.bf16_compress_hook, 2e-2),
):
    for wrapped in (hook, default_hooks.fp16_compress_wrapper(default_hooks.allreduce_hook)):
        got = train("mlp", 4, sgd, hook=wrapped).state_dict()
        for key in expected:
            close(got[key], expected[key], tolerance)

# Gradients of no_sync are local until the next backward outside.
model = DDP(nn.Linear(2, 1, bias=False))
with model.no_sync():
    model(genesis.full((1, 2), float(rank))).sum().backward()
assert model.module.weight.grad.tolist() == [[rank, rank]]
model(genesis.full((1, 2), float(rank))).sum().backward()
mean = sum(range(size)) / size
assert model.module.weight.grad.tolist() == [[2 * mean, 2 * mean]]


class Branches(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.c = nn.Linear(2, 2), nn.Linear(2, 2), nn.Linear(2, 2)

    def forward(self, x, which):
        return {"a": self.a, "b": self.b}[which](x)


# A parameter that only some ranks use, and one that none uses.
model = DDP(Branches(), find_unused_parameters=True)
for _ in range(3):
    model.zero_grad()
    model(genesis.ones(1, 2), "a" if rank == 0 else "b").sum().backward()
    assert model.module.c.weight.grad is None
    close(model.module.a.weight.grad, genesis.full((2, 2), 1 / size))
    if size > 1:
        close(model.module.b.weight.grad, genesis.full((2, 2), 1 - 1 / size))
if size > 1:
    model = DDP(Branches())
    model(genesis.ones(1, 2), "a").sum().backward()
    try:
        model(genesis.ones(1, 2), "a")
    except RuntimeError as error:
        assert "b.weight" in str(error) and "find_unused_parameters" in str(error), error
    else:
        raise AssertionError("no error")
    try:
        DDP(nn.Linear(2, 3 if rank == size - 1 else 2))
    except RuntimeError as error:
        assert f"rank {size - 1} has" in str(error) and "(3, 2)" in str(error), error
    else:
        raise AssertionError("no error")

# Buffers follow rank 0.
model = DDP(nn.BatchNorm1d(2))
for _ in range(2):
    model(genesis.randn(4, 2) + rank).sum().backward()
model.eval()(genesis.ones(1, 2))
means = [genesis.zeros(2) for _ in range(size)]
dist.all_gather(means, model.module.running_mean)
assert all(genesis.equal(m, means[0]) for m in means)

# Batch norm over all ranks is the batch norm of the whole batch.
genesis.manual_seed(3)
plain = nn.Sequential(
    nn.Conv2d(2, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(16, 3)
)
sync = DDP(nn.SyncBatchNorm.convert_sync_batchnorm(copy.deepcopy(plain)))
assert isinstance(sync.module[1], nn.SyncBatchNorm)
for _ in range(3):
    x = genesis.randn(8, 2, 4, 4)
    for net, data in ((plain, x), (sync, part(x))):
        net.zero_grad()
        net(data).pow(2).mean().backward()
    for p, q in zip(plain.parameters(), sync.module.parameters(), strict=True):
        close(q.grad, p.grad, 1e-4)
close(sync.module[1].running_mean, plain[1].running_mean)
close(sync.module[1].running_var, plain[1].running_var)
assert sync.module[1].num_batches_tracked.item() == 3
close(sync.eval()(x), plain.eval()(x), 1e-4)

# Uneven inputs.
for by_world in (True, False):
    for options in ({}, {"find_unused_parameters": True}):
        model = DDP(nn.Linear(1, 1, bias=False), **options)
        model.module.weight.data.fill_(1.0)
        update = genesis.optim.SGD(model.parameters(), lr=0.5)
        with model.join(divide_by_initial_world_size=by_world):
            for _ in range(1 + rank):
                update.zero_grad()
                model(genesis.ones(1, 1)).sum().backward()
                update.step()
        expected = 1.0
        for step in range(size):
            active = size - step
            expected -= 0.5 * (active / size if by_world else 1.0)
        close(model.module.weight.detach(), genesis.full((1, 1), expected))
if size > 1:
    model = DDP(nn.Linear(1, 1))
    try:
        with model.join(throw_on_early_termination=True):
            for _ in range(1 + rank):
                model(genesis.ones(1, 1)).sum().backward()
    except RuntimeError as error:
        assert "exhausted" in str(error)
    else:
        raise AssertionError("no error")

# Gradients flow through collective operations.
from genesis.distributed.nn import functional as DF  # noqa: E402

for operation in (
    lambda t: DF.all_reduce(t), lambda t: DF.all_reduce(t, dist.ReduceOp.AVG), lambda t: DF.broadcast(t, size - 1),
    lambda t: genesis.cat(DF.all_gather(t)), lambda t: DF.reduce_scatter(t[0], [t[0] * (i + 1) for i in range(size)]),
    lambda t: genesis.cat(DF.all_to_all([t] * size, [t * (i + 1) for i in range(size)])),
    lambda t: DF.all_to_all_single(genesis.empty(2 * size, 2), t.repeat(size, 1)),
    lambda t: DF.reduce(t, 0) * (rank == 0), lambda t: DF.scatter([t * (i + 2) for i in range(size)], 0),
):  # fmt: skip
    # The loss is the sum over the ranks: check a directional derivative of it.
    g = genesis.Generator()
    g.manual_seed(rank)
    x = genesis.randn(2, 2, dtype=genesis.float64, generator=g).requires_grad_()
    direction = genesis.randn(2, 2, dtype=genesis.float64, generator=g)

    def total(t, operation=operation):
        return operation(t).sin().sum()

    total(x).backward()
    slope = (x.grad * direction).sum()
    dist.all_reduce(slope)
    eps = 1e-6
    with genesis.no_grad():
        difference = (total(x + eps * direction) - total(x - eps * direction)) / (2 * eps)
    dist.all_reduce(difference)
    close(slope, difference, 1e-6)

# The loader's part, and its state.
from genesis.data import DataLoader, DistributedSampler, TensorDataset  # noqa: E402

data = TensorDataset(genesis.arange(16 * size))
loader = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, seed=1))
batches = iter(loader)
seen = [next(batches)[0] for _ in range(3)]
state = loader.state_dict()
rest = list(batches)
other = DataLoader(data, batch_size=2, sampler=DistributedSampler(data, seed=1))
other.load_state_dict(state)
assert [b[0].tolist() for b in other] == [b[0].tolist() for b in rest]
everything = [None] * size
dist.all_gather_object(
    everything, [i for b in [*((s,) for s in seen), *rest] for i in b[0].tolist()]
)
assert sorted(i for one in everything for i in one) == list(range(16 * size))
print("ok")
