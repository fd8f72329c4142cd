"""What `python -m torch.utils.collect_env` prints."""

from __future__ import annotations

import platform

__all__ = ["get_pretty_env_info", "main"]


def get_pretty_env_info() -> str:
    """Versions and the system, one line each."""
    import numpy as np

    import genesis
    from genesis.torch import TORCH_VERSION

    return (
        f"PyTorch version: {TORCH_VERSION} (Genesis {genesis.__version__})\n"
        f"OS: {platform.platform()}\nPython version: {platform.python_version()}\n"
        f"NumPy version: {np.__version__}\nIs CUDA available: False"
    )


def main() -> None:
    """Print it."""
    print(get_pretty_env_info())


if __name__ == "__main__":
    main()
