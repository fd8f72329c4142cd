"""What the machine itself can do: multiply-adds from registers, and copies of many sizes.

python benchmarks/limits.py
"""

from __future__ import annotations

import ctypes
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass, field

# The empty asm keeps every sum in its register: without it compilers fold the loop or spill it.
SOURCE = r"""
#include <cstring>
#if defined(__AVX512F__)
#define BYTES 64
#define SUMS 24
#define KEEP "+v"
#elif defined(__aarch64__)
#define BYTES 16
#define SUMS 24
#define KEEP "+w"
#else
#if defined(__AVX__)
#define BYTES 32
#else
#define BYTES 16
#endif
#define SUMS 12
#define KEEP "+x"
#endif
typedef float Vec __attribute__((vector_size(BYTES)));

extern "C" double multiply_adds(long steps) {
  Vec sum[SUMS] = {}, x = Vec{} + 0.5f, y = Vec{} + 0.25f;
  asm volatile("" : KEEP(x), KEEP(y));
  for (long i = 0; i < steps; ++i) {
#pragma GCC unroll 24
    for (int j = 0; j < SUMS; ++j) {
      sum[j] = x * y + sum[j];
      asm volatile("" : KEEP(sum[j]));
    }
  }
  return double(steps) * SUMS * (BYTES / 4) * 2;
}

extern "C" void copies(char* to, const char* from, long bytes, long times) {
  for (long i = 0; i < times; ++i) {
    std::memcpy(to, from, bytes);
    asm volatile("" ::: "memory");
  }
}
"""
SMALLEST, LARGEST = 1 << 12, 1 << 28  # bytes read and written by a copy


def fastest(run: Callable[[], object], rounds: int) -> float:
    """Seconds of the best of some rounds, on this thread's own clock."""
    least = float("inf")
    for _ in range(rounds):
        begin = time.thread_time()
        run()
        least = min(least, time.thread_time() - begin)
    return least


@dataclass
class Machine:
    """Limits of one core, times the number of threads."""

    library: ctypes.CDLL
    threads: int
    flops: float
    copies: dict[int, float] = field(default_factory=dict)  # bytes moved: bytes per second

    def bandwidth(self, size: float) -> float:
        """Bytes per second of a copy that reads and writes `size` bytes, found where it fits."""
        moved = SMALLEST
        while moved < min(size, LARGEST):
            moved *= 2
        if moved not in self.copies:
            source, target = (ctypes.create_string_buffer(moved // 2) for _ in range(2))
            times = max(1, (1 << 22) // moved)
            arguments = (target, source, ctypes.c_long(moved // 2), ctypes.c_long(times))
            seconds = fastest(lambda: self.library.copies(*arguments), 10)
            self.copies[moved] = self.threads * moved * times / seconds
        return self.copies[moved]

    def seconds(self, flops: float, size: float) -> float:
        """The least time for that much arithmetic and memory."""
        return max(flops / self.flops, size / self.bandwidth(size) if size else 0.0)

    def __str__(self) -> str:
        copies = ", ".join(
            f"{rate / 1e9:.0f} at {size / 1e6:.3g} MB" for size, rate in sorted(self.copies.items())
        )
        text = f"limit: {self.flops / 1e9:.0f} GFLOPS"
        return text + (f"; copies, GB/s: {copies}" if copies else "")


def measure(threads: int) -> Machine | None:
    """None where there is no compiler."""
    compiler = os.environ.get("CXX") or shutil.which("c++") or shutil.which("g++")
    if compiler is None:
        print("no C++ compiler: the machine's limits are not measured")
        return None
    with tempfile.TemporaryDirectory() as folder:
        source, binary = pathlib.Path(folder, "limits.cpp"), pathlib.Path(folder, "limits.so")
        source.write_text(SOURCE)
        options = ["-O3", "-march=native", "-ffp-contract=fast", "-shared", "-fPIC"]
        subprocess.run([compiler, *options, str(source), "-o", str(binary)], check=True)
        library = ctypes.CDLL(str(binary))
    library.multiply_adds.restype = ctypes.c_double
    steps = ctypes.c_long(200_000)
    done = library.multiply_adds(steps)
    seconds = fastest(lambda: library.multiply_adds(steps), 200)
    return Machine(library, threads, threads * done / seconds)


if __name__ == "__main__":
    machine = measure(1)
    if machine:
        for power in range(12, 29, 2):
            machine.bandwidth(1 << power)
        print(machine)
