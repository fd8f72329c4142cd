"""Functions of ``torch.mps`` that query a device that does not exist."""

from __future__ import annotations

from genesis.torch.compat._absent import absent_function

__all__ = ["current_allocated_memory", "driver_allocated_memory", "recommended_max_memory"]


def current_allocated_memory() -> int:
    """Bytes of memory of the device: 0."""
    return 0


driver_allocated_memory = recommended_max_memory = current_allocated_memory
get_rng_state, set_rng_state, set_per_process_memory_fraction = (
    absent_function(f"mps.{name}", "there is no MPS device; ask backends.mps.is_available() first")
    for name in ("get_rng_state", "set_rng_state", "set_per_process_memory_fraction")
)
