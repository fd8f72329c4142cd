"""``torch._inductor``: the generator of code that is not there."""

from genesis.torch.compat._inductor import config

__all__ = ["config", "cudagraph_mark_step_begin", "list_mode_options"]


def cudagraph_mark_step_begin() -> None:
    """Nothing: a hint about graphs of a GPU."""


def list_mode_options(mode: str | None = None, dynamic: bool | None = None) -> dict[str, object]:
    """The settings that a mode of PyTorch's compiler means: none has a meaning here."""
    return {}
