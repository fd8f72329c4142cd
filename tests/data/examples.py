"""Datasets of the tests, in a module so that spawned workers can import them."""

import os
import random
import signal
import struct
import sys
import time

import genesis
import numpy as np
from genesis.data import Dataset, IterableDataset, get_worker_info


class Noisy(Dataset):
    """Every sample draws from all three generators."""

    def __init__(self, n=23):
        self.n = n

    def __len__(self):
        return self.n

    def __getitem__(self, i):
        return genesis.tensor([i, genesis.rand(()).item(), random.random(), np.random.rand()])


class Stream(IterableDataset):
    """A stream with its own share for each worker, and random draws."""

    def __init__(self, n=20):
        self.n = n

    def __iter__(self):
        info = get_worker_info()
        start, step = (info.id, info.num_workers) if info else (0, 1)
        for i in range(start, self.n, step):
            yield genesis.tensor([i, genesis.rand(()).item(), random.random()])


class Custom(Exception):
    def __init__(self, a, b):
        super().__init__(a, b)


class Fails(Dataset):
    """Sample 5 goes wrong in the way that ``how`` says."""

    def __init__(self, how):
        self.how = how

    def __len__(self):
        return 12

    def __getitem__(self, i):
        if i == 5:
            getattr(self, self.how)()
        return i

    def value(self):
        raise ValueError("sample five is bad")

    def key(self):
        raise KeyError("no such\nkey")

    def custom(self):
        raise Custom(1, 2)

    def local(self):
        class Hidden(Exception):
            pass

        raise Hidden("inside")

    def stop(self):
        raise StopIteration

    def exit(self):
        os._exit(3)

    def leave(self):
        sys.exit(4)

    def kill(self):
        os.kill(os.getpid(), signal.SIGKILL)

    def hang(self):
        time.sleep(60)


class Where(Dataset):
    def __len__(self):
        return 8

    def __getitem__(self, i):
        info = get_worker_info()
        return (
            os.getpid(),
            info.id,
            info.num_workers,
            info.seed,
            len(info.dataset),
            genesis.get_num_threads(),
        )


class Slow(Dataset):
    def __init__(self, seconds):
        self.seconds = seconds

    def __len__(self):
        return 6

    def __getitem__(self, i):
        time.sleep(self.seconds[i])
        return i


class Unpicklable(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return lambda: i


class OneWay:
    """Can be pickled, but not unpickled."""

    def __reduce__(self):
        return int, ("no number",)


class Sealed(Dataset):
    def __len__(self):
        return 2

    def __getitem__(self, i):
        return OneWay()


class Halves(Dataset):
    """Dies in the middle of sending a batch."""

    def __len__(self):
        return 2

    def __getitem__(self, i):
        from genesis.data import transfer

        def send(connection, message, limit):
            os.write(connection.fileno(), struct.pack("!i", 1000) + b"half")
            os._exit(7)

        transfer.send = send
        return i


def mark(worker_id):
    get_worker_info().dataset.n = 100 + worker_id


def fail_to_start(worker_id):
    raise OSError("the disk of this worker is gone")


class Marked(Dataset):
    n = 0

    def __len__(self):
        return 4

    def __getitem__(self, i):
        return self.n


def identity(x):
    return x


def mixup(samples):
    x = genesis.stack(samples)
    return x * genesis.rand(())
