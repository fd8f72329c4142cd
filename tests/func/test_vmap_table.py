"""Every row of the op table: ``vmap(f)`` equals ``f`` of the elements, stacked."""

import warnings

import genesis
import numpy as np
import pytest
from genesis.func import _batching, vmap
from genesis.func._batching import _shape, _tensor

from tests.ops.op import assert_close, function_of, sample_cases, tensor, to_numpy
from tests.ops.table import OPS

SIZE = 3
DIMS = [0, 1, -1, None]

# The number of their results, or the result itself, depends on values.
READS_VALUES = {
    "nonzero_static",
    "argwhere",
    "bincount",
    "equal",
    "allclose",
    "item",
    "masked_select",
    "nonzero",
    "tolist",
    "unique",
    "unique_consecutive",
    "is_nonzero",
    "has_nan",
    "has_inf",
    "numpy",
    "tensor",
    "new_tensor",
}
# Results are not initialised, or follow the memory of the input.
NOT_DEFINED = {"empty_like", "new_empty", "new_empty_strided", "resize_", "resize_as_"}
FOLLOWS_MEMORY = {
    "as_strided",
    "as_strided_",
    "as_strided_scatter",
    "view_as_complex",
    "view",
    "view_as",
}
# Masks, offsets and classes whose values decide on shapes.
INDICES_DECIDE = {
    "__getitem__", "embedding_bag", "index_put", "one_hot", "segment_reduce", "tensor_split",
}  # fmt: skip
# They write statistics that vmap does not map over.
WRITES_SHARED = {"nn.functional.batch_norm", "nn.functional.instance_norm"}  # fmt: skip


def _batch(op, array, i):
    """Element i of a batch made from an array: other values, in the domain of the op."""
    if op.random or op.precise[0] != "float64":
        return array
    low = np.min(array, initial=np.inf)
    return array * (1 + 0.03 * i if low > 0 else 1 - 0.06 * i)


def _cases():
    return [pytest.param(op, s, id=i) for op, s, i in sample_cases(OPS)]


def _place(dim, rank):
    """Where the mapped dimension goes in a batch of tensors of `rank` dimensions."""
    return min(dim, rank) if dim >= 0 else dim


def _gradients(outputs, leaves):
    live = [y for y in outputs if y.requires_grad]
    if not live:
        return [None] * len(leaves)
    seeds = [(y.detach() * 0 + 1) * 0.7 for y in live]
    return genesis.autograd.grad(live, leaves, seeds, allow_unused=True)


def _check(op, sample, dim):
    arrays = op.leaves(sample)
    if not arrays:
        pytest.skip("no tensor to map over")
    function = function_of(op, sample)
    mapped = [0] if dim is None else range(len(arrays))
    batches, in_dims = [], []
    for k, array in enumerate(arrays):
        if k in mapped:
            place = _place(0 if dim is None else dim, array.ndim)
            stack = np.stack([_batch(op, array, i) for i in range(SIZE)], place)
            batches.append(tensor(stack, op.precise[0], requires_grad=op.grad))
            in_dims.append(place)
        else:
            batches.append(tensor(array, op.precise[0], requires_grad=op.grad))
            in_dims.append(None)

    def element(i):
        return [
            b if d is None else b.select(d, i).clone()
            for b, d in zip(batches, in_dims, strict=True)
        ]

    each = [function(*element(i)) for i in range(SIZE)]
    if not each[0]:
        pytest.skip("no tensor comes out")
    expected = [genesis.stack([e[k] for e in each]) for k in range(len(each[0]))]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        actual = vmap(function, tuple(in_dims), randomness="same")(*batches)
    options = {"rtol": 1e-7, "atol": 1e-9}
    assert len(actual) == len(expected)
    for a, e in zip(actual, expected, strict=True):
        assert a.dtype == e.dtype
        assert_close(a, to_numpy(e), options["rtol"], f"{op.id} in_dims={in_dims}", options["atol"])
    if not op.grad:
        return
    found, wanted = _gradients(actual, batches), _gradients(expected, batches)
    for a, e in zip(found, wanted, strict=True):
        if e is not None or a is not None:
            zero = lambda t, other: genesis.zeros_like(other) if t is None else t  # noqa: E731
            assert_close(zero(a, e), to_numpy(zero(e, a)), 1e-6, f"gradient of {op.id}", 1e-8)


@pytest.mark.parametrize("dim", DIMS)
@pytest.mark.parametrize("op, sample", _cases())
def test_vmap_is_the_stack_of_the_elements(op, sample, dim):
    if "generator" in sample.kwargs:
        pytest.skip("the generator of the row goes on from call to call")
    if op.name in READS_VALUES | NOT_DEFINED or (op.name in FOLLOWS_MEMORY and dim in (1, -1)):
        pytest.skip("what it computes depends on values or on memory")
    if op.name in WRITES_SHARED:
        try:
            return _check(op, sample, dim)
        except RuntimeError as error:
            assert "does not map over" in str(error)
            return None
    _check(op, sample, dim)


def _with_others():
    """The cases with indices, masks or other arrays that are not differentiated."""
    found = []
    for op, sample, name in sample_cases(OPS):
        others = []
        op.with_leaves(sample, op.leaves(sample), other=others.append)
        if others and op.name not in READS_VALUES | NOT_DEFINED | FOLLOWS_MEMORY | WRITES_SHARED:
            found.append(pytest.param(op, sample, others, id=name))
    return found


@pytest.mark.parametrize("leaves_too", [False, True])
@pytest.mark.parametrize("op, sample, others", _with_others())
def test_indices_and_masks_are_mapped_over(op, sample, others, leaves_too):
    if "generator" in sample.kwargs:
        pytest.skip("the generator of the row goes on from call to call")
    form = next(iter(op.forms().values()))
    arrays = op.leaves(sample)

    def function(*tensors):
        remaining = iter(tensors[len(arrays) :])
        leaves = tensors[: len(arrays)]
        args, kwargs = op.with_leaves(sample, leaves, other=lambda _: next(remaining))
        if op.mutates:
            args = (args[0] * 1, *args[1:])
        outputs = op.run(form, args, kwargs)
        return tuple(out for out in outputs if isinstance(out, genesis.Tensor))

    plain = [tensor(a, op.precise[0]) for a in arrays]
    mapped = [genesis.stack([tensor(a)] * SIZE) for a in others]
    if leaves_too:
        plain = [
            genesis.stack([tensor(_batch(op, a, i), op.precise[0]) for i in range(SIZE)])
            for a in arrays
        ]
    elif op.mutates:
        pytest.skip("it would write into a tensor that is not mapped over")
    each = [
        function(*([x[i] for x in plain] if leaves_too else plain), *(m[i] for m in mapped))
        for i in range(SIZE)
    ]
    in_dims = (*[0 if leaves_too else None] * len(plain), *[0] * len(mapped))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        try:
            actual = vmap(function, in_dims, randomness="same")(*plain, *mapped)
        except RuntimeError as error:
            assert op.name in INDICES_DECIDE
            assert "reads values" in str(error)
            return
    for k, a in enumerate(actual):
        expected = genesis.stack([e[k] for e in each])
        assert a.dtype == expected.dtype
        assert_close(a, to_numpy(expected), 1e-7, op.id, 1e-9)


# Operators that are called once for each element of a batch. None of them belongs to a common layer.
LOOPED = {"histc", "histogram"}


def test_which_operators_are_called_in_a_loop():
    found = set()
    for name, info in _batching.operator_infos().items():
        if info["kind"] in ("tool", "unset", "create"):
            continue
        takes_tensors = any(
            kind in p["type"] for p in info["params"] for kind in ("Tensor", "Operand")
        )
        names_dims = any(p["name"] in _shape.DIMS for p in info["params"])
        rule = _batching.rule_of(name)
        if takes_tensors and (
            rule is _batching.loop_rule or (rule is _shape.dims and not names_dims)
        ):
            found.add(name)
    assert found == LOOPED


def test_the_loop_warns_once_and_names_the_operator(monkeypatch):
    monkeypatch.setattr(_tensor, "_warned", set())
    x = genesis.rand(3, 5)
    with pytest.warns(UserWarning, match="histc has no batching rule"):
        y = vmap(lambda a: genesis.histc(a, 4, 0.0, 1.0))(x)
    assert y.tolist() == [genesis.histc(a, 4, 0.0, 1.0).tolist() for a in x]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        vmap(lambda a: genesis.histc(a, 4, 0.0, 1.0))(x)
