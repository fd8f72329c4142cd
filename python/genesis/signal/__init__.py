"""Signal processing: window functions (``genesis.signal.windows``)."""

from genesis.signal import windows as windows

__all__ = ["windows"]
