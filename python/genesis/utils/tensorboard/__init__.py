"""Log files for TensorBoard, written by the package tensorboardX (``pip install
"genesis-autograd[tensorboard]"``)."""

from __future__ import annotations

import functools
import importlib
from typing import Any

from genesis import _pytree
from genesis._C import Tensor

__all__ = ["FileWriter", "SummaryWriter"]


def _tensorboardX(name: str) -> Any:
    try:
        tensorboardX = importlib.import_module("tensorboardX")
    except ImportError:
        raise ImportError(
            f"utils.tensorboard.{name} needs the package tensorboardX, which is not installed: "
            'pip install tensorboardX (or pip install "genesis-autograd[tensorboard]")'
        ) from None
    return getattr(tensorboardX, name)


def _array(value: Any) -> Any:
    """Tensors as arrays of a dtype that NumPy has; other values unchanged."""
    if not isinstance(value, Tensor):
        return value
    value = value.detach()
    if value.is_floating_point() and value.element_size() < 4:
        value = value.float()
    return value.cpu().numpy()


class SummaryWriter:
    """Writes scalars, images, histograms, text and other data for TensorBoard into a folder.

    It has the methods and arguments of ``torch.utils.tensorboard.SummaryWriter``, and accepts
    tensors in place of arrays. ``log_dir`` is ``runs/DATE_HOST`` by default.

    >>> with SummaryWriter("logs") as writer:  # doctest: +SKIP
    ...     writer.add_scalar("loss", genesis.tensor(0.5), global_step=1)
    ...     writer.add_histogram("weights", model.weight, 1)
    """

    def __init__(self, log_dir: Any = None, comment: str = "", **options: Any) -> None:
        log_dir = None if log_dir is None else str(log_dir)
        self._writer = _tensorboardX("SummaryWriter")(log_dir, comment=comment, **options)

    @property
    def log_dir(self) -> str:
        """The folder that contains the files."""
        return str(self._writer.logdir)

    def get_logdir(self) -> str:
        """The folder that contains the files."""
        return self.log_dir

    def add_graph(self, model: Any, *args: Any, **kwargs: Any) -> None:
        """Raises an error: graphs require PyTorch's tracer."""
        raise RuntimeError(
            "SummaryWriter.add_graph: not supported, as it requires PyTorch's tracer; use "
            "genesis.debug.graph(lambda: loss, names=model).save('graph.svg')"
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(f"'SummaryWriter' object has no attribute {name!r}")
        value = getattr(self._writer, name)
        if not name.startswith("add_"):
            return value

        @functools.wraps(value)
        def add(*args: Any, **kwargs: Any) -> Any:
            args, kwargs = _pytree.tree_map(_array, (args, kwargs))
            return value(*args, **kwargs)

        return add

    def close(self) -> None:
        """Write the remaining data and close the files."""
        self._writer.close()

    def __enter__(self) -> SummaryWriter:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class FileWriter:
    """``tensorboardX.FileWriter``, which writes event files into a folder."""

    def __new__(cls, *args: Any, **kwargs: Any) -> Any:
        return _tensorboardX("FileWriter")(*args, **kwargs)
