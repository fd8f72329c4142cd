"""Layers and losses; a file for each family."""

from genesis.nn.modules import (
    activation,
    container,
    linear,
    module,
    parameter_container,
    piecewise,
)
from genesis.nn.modules.activation import *  # noqa: F403
from genesis.nn.modules.container import *  # noqa: F403
from genesis.nn.modules.linear import *  # noqa: F403
from genesis.nn.modules.module import *  # noqa: F403
from genesis.nn.modules.parameter_container import *  # noqa: F403
from genesis.nn.modules.piecewise import *  # noqa: F403

__all__: list[str] = [
    *activation.__all__,
    *container.__all__,
    *linear.__all__,
    *module.__all__,
    *parameter_container.__all__,
    *piecewise.__all__,
]
