# ruff: noqa: B023 (the lambdas are called at once)
"""Ranks that do not agree: every rank raises, and says which rank passed what."""

import genesis
import genesis.distributed as dist
from genesis.distributed import ReduceOp

dist.init_process_group(timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
last = rank == size - 1
ok = genesis.ones(4)


def refused(call, *texts):
    try:
        call()
    except (ValueError, RuntimeError, TypeError) as error:
        for text in texts:
            assert text in str(error), (rank, text, str(error))
    else:
        raise AssertionError(f"rank {rank}: no error")


other = f"rank {size - 1} called"
for later in (False, True):

    def run(work):
        if work is not None:
            work.wait()

    for n in (4, 70_000, 600_000):
        mine = genesis.ones(n + 1 if last else n)
        refused(
            lambda: run(dist.all_reduce(mine, async_op=later)),
            other,
            f"({n + 1},)",
            f"({n},)",
            "float32",
        )
    mine = genesis.ones(40_000 if last else 100_000)
    refused(lambda: run(dist.all_reduce(mine, async_op=later)), other, "(40000,)")
    refused(
        lambda: run(
            dist.barrier(async_op=later) if last else dist.all_reduce(mine, async_op=later)
        ),
        "barrier",
    )
    mine = genesis.ones(40_000 if last else 4)
    refused(lambda: run(dist.all_reduce(mine, async_op=later)), other, "(40000,)")
    mine = genesis.ones(4, dtype=genesis.float64 if last else genesis.float32)
    refused(lambda: run(dist.all_reduce(mine, async_op=later)), other, "float64", "float32")
    refused(
        lambda: run(dist.all_reduce(ok, ReduceOp.MAX if last else ReduceOp.SUM, async_op=later)),
        "max",
        "sum",
    )
    refused(
        lambda: run(dist.broadcast(ok, 0 if last else 1, async_op=later)), "broadcast", "rank 1"
    )
    refused(
        lambda: run(
            dist.all_gather([genesis.ones(len(mine)) for _ in range(size)], mine, async_op=later)
        ),
        "all_gather",
    )
    refused(
        lambda: run(
            dist.all_reduce(ok, async_op=later) if last else dist.broadcast(ok, 0, async_op=later)
        ),
        "all_reduce",
        "broadcast",
    )
    refused(
        lambda: run(dist.barrier(async_op=later) if last else dist.all_reduce(ok, async_op=later)),
        "barrier",
    )

# Wrong arguments on one rank alone.
refused(lambda: dist.all_reduce("text" if last else ok), "Tensor" if last else f"rank {size - 1}")
outputs = [genesis.ones(4 + last) for _ in range(size)]
refused(lambda: dist.all_gather(outputs, ok), "tensor_list" if last else f"rank {size - 1}")
counts = [1] * size
x, y = genesis.ones(size), genesis.ones(size)
if last:
    y, counts = genesis.ones(size + 1), [1] * (size - 1) + [2]
refused(lambda: dist.all_to_all_single(y, x, counts, None), "all_to_all", f"[{size - 1}]")

# A message of another shape.
if rank == 0:
    dist.send(genesis.ones(5), 1)
elif rank == 1:
    refused(lambda: dist.recv(genesis.ones(3), 0), "rank 0 called", "(5,)", "(3,)")

# After all this the group still works.
x = genesis.ones(3)
dist.all_reduce(x)
assert x.tolist() == [size] * 3
print("ok")
