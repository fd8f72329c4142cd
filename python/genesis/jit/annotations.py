"""Types of annotations, as TorchScript names them."""

from typing import Any, Dict, Final, List, Optional, Tuple, Union  # noqa: UP035

from genesis._C import Tensor

BroadcastingList1 = BroadcastingList2 = BroadcastingList3 = List  # noqa: UP006

__all__ = [
    "Any",
    "BroadcastingList1",
    "BroadcastingList2",
    "BroadcastingList3",
    "Dict",
    "Final",
    "List",
    "Optional",
    "Tensor",
    "Tuple",
    "Union",
]
