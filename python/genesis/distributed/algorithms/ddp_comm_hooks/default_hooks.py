"""Hooks for ``register_comm_hook``: the plain mean, or with half the bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from genesis import _C
from genesis._C import Tensor
from genesis.distributed._collectives import all_reduce
from genesis.distributed._reduce import ReduceOp
from genesis.distributed._work import Future

__all__ = [
    "allreduce_hook",
    "bf16_compress_hook",
    "bf16_compress_wrapper",
    "fp16_compress_hook",
    "fp16_compress_wrapper",
]


def _mean(group: Any, tensor: Tensor) -> Future:
    work = all_reduce(tensor, ReduceOp.AVG, group, async_op=True)
    assert work is not None
    return work.get_future().then(lambda future: future.value()[0])


def allreduce_hook(process_group: Any, bucket: Any) -> Future:
    """The mean over all ranks, which is also what happens without a hook."""
    return _mean(process_group, bucket.buffer())


def _compressed(dtype: _C.dtype, process_group: Any, bucket: Any) -> Future:
    buffer: Tensor = bucket.buffer()
    small: Tensor = buffer.to(dtype)

    def expand(future: Future) -> Tensor:
        buffer.copy_(future.value())
        return buffer

    return _mean(process_group, small).then(expand)


def fp16_compress_hook(process_group: Any, bucket: Any) -> Future:
    """The mean of the gradients rounded to float16, which halves the bytes of float32."""
    return _compressed(_C.float16, process_group, bucket)


def bf16_compress_hook(process_group: Any, bucket: Any) -> Future:
    """The mean of the gradients rounded to bfloat16: fewer digits than float16, no overflow."""
    return _compressed(_C.bfloat16, process_group, bucket)


def _wrapper(dtype: _C.dtype, hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    class Small:
        """The bucket, with its buffer in the small dtype."""

        def __init__(self, bucket: Any) -> None:
            self.bucket = bucket
            self.small: Tensor = bucket.buffer().to(dtype)

        def buffer(self) -> Tensor:
            return self.small

        def set_buffer(self, buffer: Tensor) -> None:
            self.small.copy_(buffer)

        def __getattr__(self, name: str) -> Any:
            return getattr(self.bucket, name)

    def wrapped(state: Any, bucket: Any) -> Future:
        def expand(future: Future) -> Tensor:
            value = future.value()
            value = value[0] if isinstance(value, (list, tuple)) else value
            buffer: Tensor = bucket.buffer()
            return buffer.copy_(value)

        result: Future = hook(state, Small(bucket)).then(expand)
        return result

    return wrapped


def fp16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Another hook that sees the gradients in float16."""
    return _wrapper(_C.float16, hook)


def bf16_compress_wrapper(hook: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Another hook that sees the gradients in bfloat16."""
    return _wrapper(_C.bfloat16, hook)
