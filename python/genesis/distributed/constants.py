"""Limits of time."""

from genesis.distributed._world import default_pg_timeout

__all__ = ["default_pg_timeout"]
