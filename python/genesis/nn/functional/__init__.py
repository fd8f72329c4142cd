"""The operations of layers as functions; a file for each family.

All operators of the package can be reached here too (``F.exp``), as earlier programs expect.
"""

from typing import TYPE_CHECKING, Any

from genesis import _overridable
from genesis._missing import MissingName
from genesis.nn.functional import (
    activation,
    affine,
    attention,
    classification,
    conv,
    distance,
    dropouts,
    fractional,
    linear_loss,
    lookup,
    loss,
    margin,
    native,
    normalization,
    padding,
    pooling,
    shuffle,
    upsampling,
    vision,
)
from genesis.nn.functional.activation import *  # noqa: F403
from genesis.nn.functional.affine import *  # noqa: F403
from genesis.nn.functional.attention import *  # noqa: F403
from genesis.nn.functional.classification import *  # noqa: F403
from genesis.nn.functional.conv import *  # noqa: F403
from genesis.nn.functional.distance import *  # noqa: F403
from genesis.nn.functional.dropouts import *  # noqa: F403
from genesis.nn.functional.fractional import *  # noqa: F403
from genesis.nn.functional.linear_loss import *  # noqa: F403
from genesis.nn.functional.lookup import *  # noqa: F403
from genesis.nn.functional.loss import *  # noqa: F403
from genesis.nn.functional.margin import *  # noqa: F403
from genesis.nn.functional.native import *  # noqa: F403
from genesis.nn.functional.normalization import *  # noqa: F403
from genesis.nn.functional.padding import *  # noqa: F403
from genesis.nn.functional.pooling import *  # noqa: F403
from genesis.nn.functional.shuffle import *  # noqa: F403
from genesis.nn.functional.upsampling import *  # noqa: F403
from genesis.nn.functional.vision import *  # noqa: F403

__all__: list[str] = [
    *activation.__all__,
    *affine.__all__,
    *attention.__all__,
    *classification.__all__,
    *conv.__all__,
    *distance.__all__,
    *dropouts.__all__,
    *fractional.__all__,
    *linear_loss.__all__,
    *lookup.__all__,
    *loss.__all__,
    *margin.__all__,
    *native.__all__,
    *normalization.__all__,
    *padding.__all__,
    *pooling.__all__,
    *shuffle.__all__,
    *upsampling.__all__,
    *vision.__all__,
]

if not TYPE_CHECKING:

    def __getattr__(name: str) -> Any:
        import importlib

        from genesis import _C, _tensor

        tensors = importlib.import_module("genesis.nn.functional.tensors")
        if name in tensors.NAMES:
            value = getattr(tensors, name)
        elif name[0] == "_" or name in _tensor.NOT_PUBLIC or not hasattr(_C, name):
            raise MissingName(__name__, name)
        else:
            value = getattr(_C, name)
        globals()[name] = value
        return value


_FAMILIES = (
    activation,
    affine,
    attention,
    classification,
    conv,
    distance,
    dropouts,
    fractional,
    linear_loss,
    lookup,
    loss,
    margin,
    native,
    normalization,
    padding,
    pooling,
    shuffle,
    upsampling,
    vision,
)
for _family in _FAMILIES:
    globals().update({_name: getattr(_family, _name) for _name in _family.__all__})

_overridable.make_overridable(__all__, globals(), *_FAMILIES, name_errors=True)
