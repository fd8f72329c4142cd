"""Private functions of ``torch.autograd.functional``."""

from __future__ import annotations

from typing import Any

import genesis
from genesis._C import Tensor


def _as_tuple(
    inp: Any, arg_name: str | None = None, fn_name: str | None = None
) -> tuple[bool, tuple[Any, ...]]:
    """Whether it is a tuple, and the tuple."""
    is_tuple = isinstance(inp, tuple)
    found = inp if is_tuple else (inp,)
    for i, x in enumerate(found):
        if not isinstance(x, Tensor):
            raise TypeError(f"{fn_name}: {arg_name}[{i}] must be a Tensor, got {type(x).__name__}")
    return is_tuple, found


def _tuple_postprocess(res: Any, to_unpack: Any) -> Any:
    """The elements alone where the argument was no tuple."""
    if isinstance(to_unpack, tuple):
        if not to_unpack[1]:
            res = tuple(x[0] for x in res)
        return res if to_unpack[0] else res[0]
    return res if to_unpack else res[0]


def _grad_postprocess(inputs: Any, create_graph: bool) -> Any:
    """Results outside of the graph, unless it is wanted."""
    if isinstance(inputs[0], Tensor):
        return inputs if create_graph else tuple(x.detach() for x in inputs)
    return tuple(_grad_postprocess(x, create_graph) for x in inputs)


def _grad_preprocess(inputs: Any, create_graph: bool, need_graph: bool) -> Any:
    """Inputs that gradients are taken with respect to."""
    made = []
    for x in inputs:
        new = x.view_as(x) if create_graph and x.requires_grad else x.detach().clone()
        made.append(new.requires_grad_(need_graph) if new.is_leaf else new)
    return tuple(made)


def _construct_standard_basis_for(tensors: Any, tensor_numels: Any) -> tuple[Tensor, ...]:
    """The rows of an identity matrix over all elements, cut into the tensors."""
    whole = genesis.eye(sum(tensor_numels), dtype=tensors[0].dtype)
    return tuple(whole.split(list(tensor_numels), dim=1))
