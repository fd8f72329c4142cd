"""Layers and losses; a file for each family."""

from typing import Any

from genesis.nn.modules import (
    activation,
    adaptive,
    attention,
    batchnorm,
    container,
    conv,
    distance,
    dropout,
    fold,
    fractional,
    linear,
    loss,
    margin,
    normalization,
    padding,
    parameter_container,
    piecewise,
    pooling,
    rearrange,
    rnn,
    rnn_cell,
    sparse,
    sync_batchnorm,
    transformer,
    upsampling,
)
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
from genesis.nn.modules.linear import *  # noqa: F403
from genesis.nn.modules.loss import *  # noqa: F403
from genesis.nn.modules.margin import *  # noqa: F403
from genesis.nn.modules.module import Module
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

__all__: list[str] = [
    "Module",
    *activation.__all__,
    *adaptive.__all__,
    *attention.__all__,
    *batchnorm.__all__,
    *container.__all__,
    *conv.__all__,
    *distance.__all__,
    *dropout.__all__,
    *fold.__all__,
    *fractional.__all__,
    *linear.__all__,
    *loss.__all__,
    *margin.__all__,
    *normalization.__all__,
    *padding.__all__,
    *parameter_container.__all__,
    *piecewise.__all__,
    *pooling.__all__,
    *rearrange.__all__,
    *rnn.__all__,
    *rnn_cell.__all__,
    *sparse.__all__,
    *sync_batchnorm.__all__,
    *transformer.__all__,
    *upsampling.__all__,
]


def __getattr__(name: str) -> Any:
    if not name.startswith("Lazy"):
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from genesis.nn.modules import lazy  # few models have them

    return getattr(lazy, name)


# Further homes of classes, in which programs for the original Genesis look for them.
for _home, _class in (
    (linear, rearrange.Flatten),
    (normalization, batchnorm.BatchNorm1d),
    (activation, piecewise.ReLU),
    (sparse, attention.RotaryEmbedding),
):
    setattr(_home, _class.__name__, _class)
