"""The functions _foreach_*: one operator for each tensor of a list."""

import genesis
import pytest


def lists(seed=0):
    genesis.manual_seed(seed)
    return [genesis.rand(2, 3) + 0.5, genesis.rand(4) + 0.5, genesis.rand(()) + 0.5]


def same(a, b):
    assert len(a) == len(b)
    assert all(genesis.equal(x, y) for x, y in zip(a, b, strict=True))


@pytest.mark.parametrize("name", ["sqrt", "exp", "neg", "abs", "reciprocal", "log", "sigmoid"])
def test_unary(name):
    xs = lists()
    expected = [getattr(genesis, name)(x) for x in xs]
    found = getattr(genesis, f"_foreach_{name}")(xs)
    assert isinstance(found, tuple)
    same(found, expected)
    same(getattr(genesis, f"_foreach_{name}_")(xs), xs)
    same(xs, expected)


@pytest.mark.parametrize("name", ["add", "sub", "mul", "div", "pow", "maximum", "clamp_min"])
@pytest.mark.parametrize("other", ["tensors", "number", "numbers", "tensor"])
def test_binary(name, other):
    xs = lists()
    given = {
        "tensors": lists(1),
        "number": 0.75,
        "numbers": [0.5, 1.0, 2.0],
        "tensor": genesis.tensor(0.75),
    }[other]
    each = given if isinstance(given, list) else [given] * 3
    operator = {"clamp_min": "maximum"}.get(name, name)
    function = getattr(genesis, operator)
    if operator == "maximum":
        each = [genesis.as_tensor(y) for y in each]
    expected = [function(x, y) for x, y in zip(xs, each, strict=True)]
    same(getattr(genesis, f"_foreach_{name}")(xs, given), expected)
    same(getattr(genesis, f"_foreach_{name}_")(xs, given), xs)
    same(xs, expected)


def test_alpha_and_scalar_base():
    xs, ys = lists(), lists(1)
    same(
        genesis._foreach_add(xs, ys, alpha=3),
        [genesis.add(x, y, alpha=3) for x, y in zip(xs, ys, strict=True)],
    )
    same(genesis._foreach_pow(2.0, xs), [2.0**x for x in xs])


@pytest.mark.parametrize("value", [2.0, [1.0, 2.0, 3.0], "tensor"])
def test_ternary(value):
    xs, ys, zs = lists(), lists(1), lists(2)
    given = genesis.tensor([1.0, 2.0, 3.0]) if value == "tensor" else value
    each = [1.0, 2.0, 3.0] if value == "tensor" or isinstance(value, list) else [value] * 3
    expected = [
        genesis.addcdiv(x, y, z, value=v) for x, y, z, v in zip(xs, ys, zs, each, strict=True)
    ]
    same(genesis._foreach_addcdiv(xs, ys, zs, given), expected)
    genesis._foreach_addcdiv_(xs, ys, zs, given)
    same(xs, expected)


def test_others():
    xs, ys = lists(), lists(1)
    same(genesis._foreach_norm(xs), [x.norm() for x in xs])
    same(genesis._foreach_norm(xs, 1), [x.norm(1) for x in xs])
    same(
        genesis._foreach_lerp(xs, ys, 0.25),
        [genesis.lerp(x, y, 0.25) for x, y in zip(xs, ys, strict=True)],
    )
    genesis._foreach_copy_(xs, ys)
    same(xs, ys)
    genesis._foreach_zero_(xs)
    assert all(not x.any() for x in xs)


def test_gradients():
    xs = [x.requires_grad_() for x in lists()]
    total = sum(y.sum() for y in genesis._foreach_mul(xs, 3.0))
    total.backward()
    assert all((x.grad == 3).all() for x in xs)


def test_mistakes():
    with pytest.raises(RuntimeError, match="same number of tensors, got 3 and 2"):
        genesis._foreach_add(lists(), lists()[:2])
    with pytest.raises(TypeError, match="Tensor"):
        genesis._foreach_sqrt([1.0])
    with pytest.raises(RuntimeError, match="_foreach_sqrt: the list of tensors is empty"):
        genesis._foreach_sqrt([])
