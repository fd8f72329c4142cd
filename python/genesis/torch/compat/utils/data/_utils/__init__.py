"""Private names of ``torch.utils.data``."""

from genesis.torch.compat._utils import ExceptionWrapper

__all__ = ["HAS_NUMPY", "ExceptionWrapper", "python_exit_status"]

HAS_NUMPY = True
python_exit_status = False
IS_WINDOWS = False
