"""How operators are applied to tensors that :func:`genesis.func.vmap` maps over.

``_tensor`` says what a batched tensor is and finds the rule of a call: by the name of the operator,
or by its trait ``batch``. The other files hold the rules, by kind of operator. A rule gets a
:class:`Call` and computes with plain tensors whose first dimension is the mapped one.
"""

from genesis import _C
from genesis.func._batching import (  # noqa: F401
    _elementwise,
    _function,
    _index,
    _layers,
    _loss,
    _matrix,
    _random,
    _reduce,
    _shape,
    _values,
)
from genesis.func._batching._tensor import (
    BatchedTensor,
    Level,
    batch_of,
    entered,
    expand_to,
    expanded,
    handle,
    is_at,
    left,
    levels,
    levels_of,
    looped,
    operator_infos,
    physical,
    rewrap,
    rule_of,
)
from genesis.func._batching._tensor import loop as loop_rule

__all__ = [
    "BatchedTensor",
    "Level",
    "batch_of",
    "entered",
    "expand_to",
    "expanded",
    "handle",
    "is_at",
    "left",
    "levels",
    "levels_of",
    "loop_rule",
    "looped",
    "operator_infos",
    "physical",
    "rewrap",
    "rule_of",
]

_C._set_batching(BatchedTensor, handle, _values.refuse)
