"""PyTorch's private places of functions that are elsewhere here."""

from genesis.utils.data._utils import collate, worker

__all__ = ["collate", "worker"]

MP_STATUS_CHECK_INTERVAL = 5.0
