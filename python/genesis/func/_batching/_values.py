"""Rules of what reads values, belongs to the graph, or shows a tensor."""

from __future__ import annotations

from typing import Any, NoReturn

from genesis._C import Tensor
from genesis.func._batching._tensor import (
    BatchedTensor,
    Call,
    caller,
    left,
    levels_of,
    physical,
    rewrap,
    rule,
    slices,
    sort_rule,
    wrap,
)

_ADVICE = {
    "__bool__": "Python's if, while, and, or need one answer for all elements; use genesis.where, "
    "logical_and() and logical_or()",
    "masked_select": "the number of elements differs; use genesis.where(mask, x, 0)",
    "__getitem__": "a mask selects a different number of elements; use genesis.where(mask, x, 0)",
    "nonzero": "the number of results differs; use genesis.where with three arguments",
    "backward": "use genesis.func.grad inside vmap, or call backward() outside it",
}


def refuse(name: str, why: str = "") -> NoReturn:
    """Raise for what has a different answer for each element of a batch."""
    why = why or _ADVICE.get(name, "keep it a tensor, or compute the value outside vmap")
    call = {"__bool__": "bool(tensor)", "__float__": "float(tensor)", "__int__": "int(tensor)"}
    raise RuntimeError(
        f"vmap: {call.get(name, name + '()')} at {caller()} reads values of a tensor that vmap "
        f"maps over, which differ from one element of the batch to the next; {why}"
    )


@sort_rule("never")
@rule("item", "tolist", "is_nonzero", "numpy", "data_ptr", "__array__", "__dlpack__")
@rule("__bool__", "__float__", "__int__", "__index__", "equal", "allclose", "has_nan", "has_inf")
@rule("nonzero", "argwhere", "unique", "unique_consecutive", "bincount", "__contains__")
def values(call: Call) -> Any:
    """All elements are equal where a transform repeats its input; elsewhere it is an error."""
    if not call.level.replicas:
        refuse(call.op.name)
    return call.op.func(
        *(slices(a, call.level, 0) for a in call.args),
        **{k: slices(v, call.level, 0) for k, v in call.kwargs.items()},
    )


@rule("_needs_grad")
def needs_grad(call: Call) -> Any:
    """Whether the entire batch takes part in the recording."""
    with left(call.level):
        return call.op.func(call.args[0]._value)


@rule("masked_select")
def masked_select(call: Call) -> Any:
    bound = call.bind()
    return bound["input"].expand(bound["mask"].shape)[bound["mask"]]


@rule("backward", "register_post_accumulate_grad_hook", "zero_grad")
def graph_only(call: Call) -> Any:
    refuse("backward" if call.op.name == "backward" else call.op.name)


@rule("register_hook")
def register_hook(call: Call) -> Any:
    x, hook = call.args[0], call.args[1] if len(call.args) > 1 else call.kwargs["hook"]
    where = levels_of(x)

    def batched(grad: Tensor) -> Any:
        result = hook(rewrap(grad, where))
        return physical(result) if isinstance(result, Tensor) else result

    return physical(x).register_hook(batched)


def _attribute(name: str) -> None:
    @rule(f"{name}.__get__")
    def get(call: Call) -> Any:
        return getattr(call.args[0]._value, name)


for _name in (
    "requires_grad", "is_leaf", "grad_fn", "creator", "inputs", "output_nr", "_version",
    "retains_grad",
):  # fmt: skip
    _attribute(_name)


@rule("is_inference", "is_conj", "is_neg")
def question(call: Call) -> Any:
    return call.op.func(call.args[0]._value)


@rule("is_contiguous")
def is_contiguous(call: Call) -> Any:
    if call.level.size == 0:
        return True
    return call.args[0]._value.select(0, 0).is_contiguous(*call.args[1:], **call.kwargs)


@rule("storage_offset")
def storage_offset(call: Call) -> Any:
    return call.args[0]._value.storage_offset()


@rule("stride.__get__", "strides.__get__")
def stride(call: Call) -> Any:
    value = call.args[0]._value
    return (
        value.select(0, 0).stride if call.level.size else value.new_zeros(call.args[0].shape).stride
    )


@rule("grad.__get__", "_base.__get__")
def grad(call: Call) -> Any:
    found = getattr(call.args[0]._value, call.op.name.split(".")[0])
    if found is None or call.op.name.startswith("_base"):
        return None
    return wrap(found, call.level)


@rule("data.__get__")
def data(call: Call) -> Any:
    return wrap(call.args[0]._value.data, call.level)


@rule("requires_grad.__set__", "grad.__set__", "data.__set__")
def assign(call: Call) -> Any:
    x, value = call.args
    name = call.op.name.split(".")[0]
    if name == "data":
        return x.copy_(value)
    given = value._value if type(value) is BatchedTensor else value
    setattr(x._value, name, given)
    return x


@rule("as_subclass")
def as_subclass(call: Call) -> Any:
    return call.args[0]


@rule("real.__get__", "imag.__get__")
def part(call: Call) -> Any:
    return wrap(getattr(call.args[0]._value, call.op.name.split(".")[0]), call.level)


@rule("__repr__", "__str__", "__format__")
def show(call: Call) -> Any:
    x = call.args[0]
    return (
        f"BatchedTensor(level={call.level.depth + 1}, size={call.level.size}, "
        f"shape={tuple(x.shape)}, value={x._value!r})"
    )


@rule("__iter__")
def iterate(call: Call) -> Any:
    x = call.args[0]
    if x.ndim == 0:
        raise TypeError("iteration over a 0-d tensor, which has no dimension")
    return iter(x.unbind(0))


@rule("__invert__")
def invert(call: Call) -> Any:
    return (
        call.args[0].logical_not()
        if "bool" in str(call.args[0].dtype)
        else call.args[0].bitwise_not()
    )


@rule("_standard_gamma_grad")
def gamma_grad(call: Call) -> Any:
    return wrap(
        call.op.func(*(a._value if type(a) is BatchedTensor else a for a in call.args)), call.level
    )
