"""Every collective operation, for every dtype, contiguous or not, now or later."""

import itertools
import pickle

import genesis
import genesis.distributed as dist
import numpy as np
from genesis.distributed import ReduceOp

dist.init_process_group("mpi", timeout=60)
rank, size = dist.get_rank(), dist.get_world_size()
FLOATS = (genesis.float16, genesis.bfloat16, genesis.float32, genesis.float64)
INTEGERS = (genesis.uint8, genesis.int8, genesis.int16, genesis.int32, genesis.int64)
COMPLEX = (genesis.complex64, genesis.complex128)
DTYPES = (*FLOATS, *INTEGERS, genesis.bool, *COMPLEX)


def value(of, shape, dtype):
    """What a rank contributes: small whole numbers, exact in every dtype."""
    count = int(np.prod(shape))
    x = genesis.arange(count, dtype=genesis.int64).reshape(shape) % 5 + of + 1
    if dtype in COMPLEX:
        return genesis.complex(x.double(), 2.0 - x.double()).to(dtype)
    return (x % 2 == 1) if dtype == genesis.bool else x.to(dtype)


def spread(x):
    """The same values with gaps between the elements."""
    wide = genesis.zeros((*x.shape, 2), dtype=x.dtype)
    wide[..., 0] = x
    return wide[..., 0]


def check(got, expected, *what):
    assert got.dtype == expected.dtype, (what, got.dtype, expected.dtype)
    assert genesis.equal(got, expected), (rank, what, got, expected)


def reduced(shape, dtype, op):
    parts = [value(r, shape, dtype) for r in range(size)]
    total = parts[0].clone()
    for p in parts[1:]:
        if dtype == genesis.bool:
            total = total | p if op in (ReduceOp.SUM, ReduceOp.MAX) else total & p
        else:
            total = {
                ReduceOp.SUM: lambda a, b: a + b, ReduceOp.AVG: lambda a, b: a + b,
                ReduceOp.PRODUCT: lambda a, b: a * b, ReduceOp.MIN: genesis.minimum,
                ReduceOp.MAX: genesis.maximum,
            }[op](total, p)  # fmt: skip
    return total / size if op == ReduceOp.AVG else total


def refused(call, words):
    """The error of a call, which every rank makes and no rank sends anything for."""
    try:
        call()
    except TypeError as error:
        assert words in str(error), error
    else:
        raise AssertionError(f"not refused: {words}")


for dtype in (genesis.uint16, genesis.uint32, genesis.uint64, genesis.float8_e4m3fn):
    x = value(rank, (2, 5), genesis.float32).to(dtype)
    dist.broadcast(x, size - 1)
    check(x.float(), value(size - 1, (2, 5), genesis.float32), "broadcast", dtype)
    refused(lambda x=x: dist.all_reduce(x), "storing numbers only")
z = value(rank, (3,), genesis.complex64)
refused(lambda: dist.all_reduce(z, ReduceOp.MAX), "not defined for complex numbers")


def finish(work, later):
    assert (work is not None) == later
    if later:
        work.wait()
        assert work.is_completed() and work.is_success()


shapes = ((), (3,), (2, 5), (0,), (700, 60))
for dtype, shape, strided, later in itertools.product(DTYPES, shapes, (False, True), (False, True)):
    if strided and not shape:
        continue
    if shape == (700, 60) and dtype not in (genesis.float32, genesis.bfloat16, genesis.int64):
        continue
    lay = spread if strided else (lambda x: x)
    mine = value(rank, shape, dtype)
    ops = [ReduceOp.SUM, ReduceOp.PRODUCT]
    if dtype not in COMPLEX:
        ops += [ReduceOp.MIN, ReduceOp.MAX]
    if dtype in (*FLOATS, *COMPLEX):
        ops.append(ReduceOp.AVG)
    for op in ops:
        x = lay(mine.clone())
        finish(dist.all_reduce(x, op, async_op=later), later)
        check(x, reduced(shape, dtype, op), "all_reduce", op, dtype, shape)
    x = lay(mine.clone())
    finish(dist.reduce(x, size - 1, async_op=later), later)
    check(x, reduced(shape, dtype, ReduceOp.SUM) if rank == size - 1 else mine, "reduce")
    x = lay(mine.clone())
    finish(dist.broadcast(x, size - 1, async_op=later), later)
    check(x, value(size - 1, shape, dtype), "broadcast")
    outputs = [lay(genesis.zeros_like(mine)) for _ in range(size)]
    finish(dist.all_gather(outputs, lay(mine), async_op=later), later)
    for r, output in enumerate(outputs):
        check(output, value(r, shape, dtype), "all_gather")
    together = lay(genesis.zeros((size, *shape), dtype=dtype))
    finish(dist.all_gather_into_tensor(together, lay(mine), async_op=later), later)
    check(together, genesis.stack([value(r, shape, dtype) for r in range(size)]), "into_tensor")
    x = lay(genesis.zeros_like(mine))
    finish(dist.reduce_scatter(x, [lay(mine)] * size, async_op=later), later)
    check(x, reduced(shape, dtype, ReduceOp.SUM), "reduce_scatter")
    x = lay(genesis.zeros_like(mine))
    finish(dist.reduce_scatter_tensor(x, genesis.stack([mine] * size), async_op=later), later)
    check(x, reduced(shape, dtype, ReduceOp.SUM), "reduce_scatter_tensor")
    outputs = [lay(genesis.zeros_like(mine)) for _ in range(size)]
    finish(
        dist.all_to_all(
            outputs, [lay(value(rank + r, shape, dtype)) for r in range(size)], async_op=later
        ),
        later,
    )
    for r, output in enumerate(outputs):
        check(output, value(rank + r, shape, dtype), "all_to_all")
    outputs = [lay(genesis.zeros_like(mine)) for _ in range(size)] if rank == 0 else None
    finish(dist.gather(lay(mine), outputs, 0, async_op=later), later)
    for r, output in enumerate(outputs or []):
        check(output, value(r, shape, dtype), "gather")
    x = lay(genesis.zeros_like(mine))
    parts = [lay(value(r, shape, dtype)) for r in range(size)] if rank == 0 else None
    finish(dist.scatter(x, parts, 0, async_op=later), later)
    check(x, mine, "scatter")
    if size > 1:
        x = lay(genesis.zeros_like(mine))
        right, left = (rank + 1) % size, (rank - 1) % size
        works = dist.batch_isend_irecv(
            [dist.P2POp(dist.isend, lay(mine), right), dist.P2POp(dist.irecv, x, left)]
        )
        for work in works:
            work.wait()
        check(x, value(left, shape, dtype), "isend, irecv")
        if rank == 0:
            dist.send(lay(mine), 1, tag=3)
        elif rank == 1:
            x = lay(genesis.zeros_like(mine))
            assert dist.recv(x, None if later else 0, tag=3) == 0
            check(x, value(0, shape, dtype), "send, recv")

# A gradient-tracking tensor, and the count of in-place writes.
w = genesis.nn.Parameter(value(rank, (3,), genesis.float32))
dist.broadcast(w, 0)
check(w.detach(), value(0, (3,), genesis.float32), "parameter")

# Uneven parts.
rows = [r + 1 for r in range(size)]
x = genesis.full((sum(rows), 2), float(rank))
y = genesis.zeros((rows[rank] * size, 2))
dist.all_to_all_single(y, x, [rows[rank]] * size, rows)
check(
    y,
    genesis.arange(size, dtype=genesis.float32)
    .repeat_interleave(rows[rank])
    .unsqueeze(1)
    .expand(-1, 2)
    .contiguous(),
    "single",
)

# Many operations under way at once complete in any order of waiting.
tensors = [genesis.full((1000 + i,), float(rank + i)) for i in range(8)]
works = [dist.all_reduce(t, async_op=True) for t in tensors]
gathered = genesis.zeros(size, 4)
works.append(dist.all_gather_into_tensor(gathered, genesis.full((4,), float(rank)), async_op=True))
for i in reversed(range(len(works))):
    works[i].wait()
for i, t in enumerate(tensors):
    check(t, genesis.full((1000 + i,), float(sum(range(size)) + i * size)), "at once")
check(
    gathered,
    genesis.arange(size, dtype=genesis.float32).unsqueeze(1).expand(-1, 4).contiguous(),
    "at once",
)

# Objects.
found = [None] * size
dist.all_gather_object(found, {"rank": rank, "x": "a" * rank * 100})
assert [f["rank"] for f in found] == list(range(size)) and len(found[-1]["x"]) == 100 * (size - 1)
objects = [rank, "text", None] if rank == size - 1 else [None] * 3
dist.broadcast_object_list(objects, size - 1)
assert objects == [size - 1, "text", None]
got = [None]
dist.scatter_object_list(got, [r * r for r in range(size)] if rank == 0 else None, 0)
assert got == [rank * rank]
listed = [None] * size if rank == 0 else None
dist.gather_object(pickle.dumps(rank), listed, 0)
assert rank or [pickle.loads(x) for x in listed] == list(range(size))

# Groups.
even = dist.new_group(list(range(0, size, 2)))
if rank % 2 == 0:
    assert dist.get_world_size(even) == (size + 1) // 2 and dist.get_rank(even) == rank // 2
    x = genesis.full((3,), float(rank))
    dist.all_reduce(x, group=even)
    check(x, genesis.full((3,), float(sum(range(0, size, 2)))), "group")
    x = genesis.full((3,), float(rank))
    dist.broadcast(x, dist.get_global_rank(even, dist.get_world_size(even) - 1), group=even)
    check(x, genesis.full((3,), float((size - 1) // 2 * 2)), "group")
else:
    assert dist.get_rank(even) == -1 and dist.all_reduce(genesis.ones(1), group=even) is None

# A group that only its members make, after groups that others do not know of.
if rank == 0:
    dist.new_group([0], use_local_synchronization=True)
if size > 1 and rank in (0, size - 1):
    ends = dist.new_group([0, size - 1], use_local_synchronization=True, timeout=60)
    x = genesis.ones(2)
    dist.all_reduce(x, group=ends)
    check(x, genesis.full((2,), 2.0), "local group")

dist.barrier()
dist.barrier(async_op=True, device_ids=[genesis.device("cpu")]).wait()
dist.monitored_barrier(timeout=60)
dist.destroy_process_group()
assert not dist.is_initialized()
print("ok")
