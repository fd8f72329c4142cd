"""Building blocks of models."""

import importlib
from typing import TYPE_CHECKING, Any

from genesis._missing import MissingName
from genesis.nn import functional, init, modules, parameter, utils
from genesis.nn.functional import binary_cross_entropy, mse_loss
from genesis.nn.functional import cross_entropy as cross_entropy_loss
from genesis.nn.modules import *  # noqa: F403
from genesis.nn.parameter import Buffer, Parameter
from genesis.optim.sgd import SGD

if TYPE_CHECKING:  # mypy follows a star import and its __all__ one level deep, not two
    from genesis.nn import attention, parallel
    from genesis.nn.modules.activation import *  # noqa: F403
    from genesis.nn.modules.adaptive import *  # noqa: F403
    from genesis.nn.modules.attention import *  # noqa: F403
    from genesis.nn.modules.batchnorm import *  # noqa: F403
    from genesis.nn.modules.container import *  # noqa: F403
    from genesis.nn.modules.conv import *  # noqa: F403
    from genesis.nn.modules.distance import *  # noqa: F403
    from genesis.nn.modules.dropout import *  # noqa: F403
    from genesis.nn.modules.fold import *  # noqa: F403
    from genesis.nn.modules.fractional import *  # noqa: F403
    from genesis.nn.modules.lazy import *  # noqa: F403
    from genesis.nn.modules.linear import *  # noqa: F403
    from genesis.nn.modules.loss import *  # noqa: F403
    from genesis.nn.modules.margin import *  # noqa: F403
    from genesis.nn.modules.normalization import *  # noqa: F403
    from genesis.nn.modules.padding import *  # noqa: F403
    from genesis.nn.modules.parameter_container import *  # noqa: F403
    from genesis.nn.modules.piecewise import *  # noqa: F403
    from genesis.nn.modules.pooling import *  # noqa: F403
    from genesis.nn.modules.rearrange import *  # noqa: F403
    from genesis.nn.modules.rnn import *  # noqa: F403
    from genesis.nn.modules.rnn_cell import *  # noqa: F403
    from genesis.nn.modules.sparse import *  # noqa: F403
    from genesis.nn.modules.sync_batchnorm import *  # noqa: F403
    from genesis.nn.modules.transformer import *  # noqa: F403
    from genesis.nn.modules.upsampling import *  # noqa: F403
    from genesis.nn.parallel import DataParallel
    from genesis.nn.uninitialized import UninitializedBuffer, UninitializedParameter

_KINDS = ("BatchNorm", "Conv", "ConvTranspose", "InstanceNorm")
_LATER = {"DataParallel": "parallel"}
_LAZY = ["LazyLinear", *(f"Lazy{kind}{n}d" for kind in _KINDS for n in (1, 2, 3))]

__all__: list[str] = [
    *modules.__all__,
    *_LAZY,
    "SGD",
    "Buffer",
    "DataParallel",
    "Parameter",
    "UninitializedBuffer",
    "UninitializedParameter",
    "attention",
    "binary_cross_entropy",
    "cross_entropy_loss",
    "functional",
    "init",
    "modules",
    "mse_loss",
    "parallel",
    "utils",
]

if TYPE_CHECKING:
    __all__ += modules.activation.__all__
    __all__ += modules.adaptive.__all__
    __all__ += modules.attention.__all__
    __all__ += modules.batchnorm.__all__
    __all__ += modules.container.__all__
    __all__ += modules.conv.__all__
    __all__ += modules.distance.__all__
    __all__ += modules.dropout.__all__
    __all__ += modules.fold.__all__
    __all__ += modules.fractional.__all__
    __all__ += modules.lazy.__all__
    __all__ += modules.linear.__all__
    __all__ += modules.loss.__all__
    __all__ += modules.margin.__all__
    __all__ += modules.normalization.__all__
    __all__ += modules.padding.__all__
    __all__ += modules.parameter_container.__all__
    __all__ += modules.piecewise.__all__
    __all__ += modules.pooling.__all__
    __all__ += modules.rearrange.__all__
    __all__ += modules.rnn.__all__
    __all__ += modules.rnn_cell.__all__
    __all__ += modules.sparse.__all__
    __all__ += modules.sync_batchnorm.__all__
    __all__ += modules.transformer.__all__
    __all__ += modules.upsampling.__all__


def __getattr__(name: str) -> Any:
    if name.startswith("Lazy"):
        return getattr(modules, name)
    if name in _LATER:
        return getattr(importlib.import_module(f"genesis.nn.{_LATER[name]}"), name)
    if name in ("attention", "parallel"):
        return importlib.import_module(f"genesis.nn.{name}")
    if name in ("UninitializedBuffer", "UninitializedParameter"):
        return getattr(parameter, name)
    raise MissingName(__name__, name)
