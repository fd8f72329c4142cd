"""Names of ``torch.jit`` that ``genesis.jit`` does not have."""

__all__ = ["TracerWarning"]


class TracerWarning(Warning):
    """A trace may be wrong. Nothing is traced, so it is never given."""
