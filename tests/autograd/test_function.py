"""Function: operations whose forward and backward are Python."""

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, gradcheck, gradgradcheck

from tests.autograd.functions import Exp, Mul, function
from tests.autograd.leaves import leaf, same


def test_genesis_and_autograd_show_the_same_class():
    assert genesis.Function is genesis.autograd.Function is genesis.autograd.function.Function


def test_a_function_is_a_node_of_the_graph():
    x = leaf(1.0, 2.0)
    y = Exp.apply(x)
    assert not y.is_leaf
    assert y.requires_grad
    assert repr(y.grad_fn) == "<ExpBackward>"
    assert y.grad_fn.name() == "ExpBackward"
    assert y.grad_fn is y.creator
    assert isinstance(y.grad_fn, genesis.autograd.Node)
    assert isinstance(y.grad_fn, genesis.autograd.Context)
    assert y.grad_fn.next_functions[0][0].variable is x
    y.sum().backward()
    same(x.grad, np.exp([1, 2]))


def test_gradients_of_first_and_second_order():
    x, y = leaf(0.3, -0.7, 1.1), leaf(0.5, 0.2, -0.4)
    assert gradcheck(Exp.apply, (x,), order=2)
    assert gradgradcheck(Mul.apply, (x, y))
    assert gradgradcheck(lambda x, y: Mul.apply(Exp.apply(x), Mul.apply(x, y)), (x, y))


def test_transforms_go_through_functions():
    x = genesis.tensor([0.3, -0.7], dtype=genesis.float64)

    def f(x):
        return Mul.apply(Exp.apply(x), x).sum()

    def plain(x):
        return (x.exp() * x).sum()

    for transform in (genesis.func.grad, genesis.func.hessian, genesis.func.jacrev):
        same(transform(f)(x), transform(plain)(x).numpy())
    ones = genesis.ones_like(x)
    same(genesis.func.jvp(f, (x,), (ones,))[1], genesis.func.jvp(plain, (x,), (ones,))[1].numpy())


def test_forward_runs_outside_the_graph_and_sees_the_arguments_themselves():
    seen = []

    def forward(ctx, x, factor, *, shift):
        seen.extend([genesis.is_grad_enabled(), x, factor, shift])
        return x * factor + shift

    x = leaf(1.0)
    y = function(forward, lambda ctx, g: (g * 2, None)).apply(x, 2, shift=3)
    assert seen[0] is False
    assert seen[1] is x
    assert seen[2:] == [2, 3]
    y.backward()
    same(x.grad, [2])


def test_nothing_is_recorded_without_need():
    calls = []
    f = function(lambda ctx, x: calls.append(ctx.needs_input_grad) or x * 2, None)
    assert f.apply(genesis.ones(2)).grad_fn is None
    with genesis.no_grad():
        assert not f.apply(leaf(1.0)).requires_grad
    assert calls == [(False,), (True,)]


def test_needs_input_grad_says_which_gradients_are_wanted():
    seen = []

    def backward(ctx, g):
        seen.append(ctx.needs_input_grad)
        return g, None, None, None

    f = function(lambda ctx, a, b, c, d: a * 1, backward)
    f.apply(leaf(1.0), genesis.ones(1), 3, [leaf(1.0)]).backward()
    assert seen == [(True, False, False, True)]


def test_a_fresh_leaf_returned_by_forward_becomes_a_result():
    f = function(
        lambda ctx, x: genesis.tensor(x.data * 2, requires_grad=True), lambda ctx, g: g * 2
    )
    x = leaf(1.0, 2.0)
    y = f.apply(x)
    assert not y.is_leaf
    y.sum().backward()
    same(x.grad, [2, 2])
    with pytest.warns(UserWarning, match="is no leaf"):
        assert y.grad is None


def test_a_graph_built_inside_forward_is_not_the_graph_of_the_result():
    def forward(ctx, x):
        with genesis.enable_grad():
            return x * 5

    x = leaf(1.0)
    function(forward, lambda ctx, g: g * 7).apply(x).backward()
    same(x.grad, [7])


def test_somebody_elses_tensor_stays_what_it_is():
    x, w = leaf(1.0), genesis.nn.Parameter(genesis.ones(1))
    h = leaf(2.0) * 3
    before = h.grad_fn
    f = function(lambda ctx, x: (w, h), lambda ctx, a, b: a * 5 + b * 7)
    a, b = f.apply(x)
    assert w.is_leaf
    assert h.grad_fn is before
    assert a.grad_fn is b.grad_fn is not before
    (a + b).backward()
    same(x.grad, [12])
    assert w.grad is None


def test_an_argument_returned_as_it_is_becomes_another_tensor():
    x = leaf(1.0, 2.0)
    y = function(lambda ctx, x: x, lambda ctx, g: g * 3).apply(x)
    assert y is not x
    assert x.is_leaf
    assert y.data_ptr() == x.data_ptr()
    y.sum().backward()
    same(x.grad, [3, 3])
    with pytest.raises(RuntimeError, match="Function.*clone"):
        y.mul_(2)


def test_a_view_of_an_argument_cannot_be_written_inside_the_graph():
    x = leaf(1.0, 2.0) * 1
    y = function(lambda ctx, x: x[:1], lambda ctx, g: genesis.cat([g, g])).apply(x)
    assert repr(y.grad_fn) == "<CustomBackward>"
    for view in (y, y[0]):
        with pytest.raises(RuntimeError, match="Function"):
            view.mul_(2)
    x.mul_(2)
    assert repr(y.grad_fn) == "<CustomBackward>"


def test_a_view_of_memory_of_its_own_can_be_written():
    x = leaf(1.0, 2.0)
    y = function(lambda ctx, x: (x * 2).reshape(2, 1), lambda ctx, g: 2 * g.reshape(2)).apply(x)
    y.mul_(3)
    y.sum().backward()
    same(x.grad, [6, 6])


# --- arguments


def test_lists_of_tensors_get_gradients_one_after_another_or_as_a_list():
    for backward in (
        lambda ctx, g: (g, 2 * g, 3 * g, None),
        lambda ctx, g: ([g, 2 * g], 3 * g, None),
    ):
        a, b, c = leaf(1.0), leaf(1.0), leaf(1.0)
        f = function(lambda ctx, pair, x, scale: pair[0] + pair[1] + x, backward)
        y = f.apply([a, b], c, 1.5)
        assert len(y.grad_fn.next_functions) == 4
        y.backward()
        assert [float(t.grad) for t in (a, b, c)] == [1, 2, 3]


def test_a_single_list_may_come_back_as_a_list():
    a, b = leaf(1.0), leaf(1.0)
    function(lambda ctx, pair: pair[0] + pair[1], lambda ctx, g: [g, 2 * g]).apply(
        (a, b)
    ).backward()
    assert [float(a.grad), float(b.grad)] == [1, 2]


def test_a_tensor_given_by_keyword_gets_its_gradient():
    x, w = leaf(2.0), leaf(3.0)
    f = function(
        lambda ctx, x, scale=1, weight=None: x * weight, lambda ctx, g: (g * 3, None, g * 2)
    )
    f.apply(x, weight=w).backward()
    same(x.grad, [3])
    same(w.grad, [2])


def test_a_keyword_only_tensor_that_requires_grad_is_refused():
    f = function(lambda ctx, x, *, weight: x * weight, lambda ctx, g: g, "Scale")
    with pytest.raises(TypeError, match=r"Scale.*'weight'.*keyword-only"):
        f.apply(leaf(1.0), weight=leaf(1.0))
    f.apply(leaf(1.0), weight=genesis.ones(1)).backward()


def test_setup_context_may_be_separate():
    class Scale(Function):
        @staticmethod
        def forward(x, factor, power=1):
            return factor * x**power

        @staticmethod
        def setup_context(ctx, inputs, output):
            x, ctx.factor, ctx.power = inputs
            ctx.save_for_backward(x, output)

        @staticmethod
        def backward(ctx, dy):
            x, _ = ctx.saved_tensors
            return dy * ctx.factor * ctx.power * x ** (ctx.power - 1), None, None

    x = leaf(2.0)
    assert gradgradcheck(lambda x: Scale.apply(x, 3.0, 3), (x,))
    y = Scale.apply(x, factor=4.0)
    assert y.grad_fn.power == 1
    y.backward()
    same(x.grad, [4])


def test_many_arguments_outputs_and_saved_tensors():
    n = 11

    def forward(ctx, first, *rest):
        ctx.save_for_backward(first, *rest)
        return tuple(t * (i + 1) for i, t in enumerate((first, *rest)))

    def backward(ctx, *grads):
        assert len(ctx.saved_tensors) == len(grads) == n
        return tuple(g * (i + 1) for i, g in enumerate(grads))

    xs = [leaf(float(i)) for i in range(n)]
    sum(function(forward, backward).apply(*xs)).backward()
    assert [float(x.grad) for x in xs] == [i + 1 for i in range(n)]
    ys = [leaf(1.0) for _ in range(n)]
    f = function(lambda ctx, ts: genesis.stack(ts), lambda ctx, g: list(g.unbind()))
    f.apply(ys).sum().backward()
    assert [float(y.grad) for y in ys] == [1.0] * n


def test_vjp_is_another_name_of_backward():
    class Double(Function):
        @staticmethod
        def forward(ctx, x):
            return 2 * x

        @staticmethod
        def vjp(ctx, g):
            return 2 * g

    x = leaf(1.0)
    Double.apply(x).backward()
    same(x.grad, [2])


# --- outputs


def test_several_outputs():
    seen = []

    def backward(ctx, *grads):
        seen.append(grads)
        return 2 * grads[0] + 3 * grads[1]

    f = function(lambda ctx, x: (2 * x, 3 * x, "note", None), backward)
    x = leaf(1.0, 2.0)
    _, b, note, nothing = f.apply(x)
    assert (note, nothing) == ("note", None)
    b.sum().backward()
    same(x.grad, [3, 3])
    first, second, *rest = seen[0]
    same(first, [0, 0])  # zeros where no gradient arrived
    same(second, [1, 1])
    assert rest == [None, None]


def test_gradients_that_did_not_arrive_can_be_none():
    seen = []

    def forward(ctx, x):
        ctx.set_materialize_grads(False)
        return 2 * x, 3 * x

    f = function(forward, lambda ctx, a, b: seen.append(a) or 3 * b)
    f.apply(leaf(1.0))[1].backward()
    assert seen == [None]


@pytest.mark.parametrize("name", ["out_idx", "output_idx", "idx"])
def test_backward_may_be_called_once_for_each_output(name):
    space, calls = {}, []
    exec(
        f"def backward(ctx, g, {name}=None):\n  calls.append({name})\n  return g * ({name} + 2)",
        {"calls": calls},
        space,
    )
    f = function(lambda ctx, x: (2 * x, 3 * x, 4 * x), space["backward"])
    x = leaf(1.0)
    a, _, c = f.apply(x)
    (a + c).backward()
    same(x.grad, [6])
    assert calls == [0, 2]


def test_a_class_may_change_its_backward():
    f = function(lambda ctx, x: (2 * x, 3 * x), lambda ctx, g, idx: g * (idx + 2))
    x = leaf(1.0)
    sum(f.apply(x)).backward()
    f.backward = staticmethod(lambda ctx, a, b: 10 * a + 10 * b)
    sum(f.apply(x)).backward()
    same(x.grad, [25])


def test_a_list_of_outputs_stays_a_list():
    out = function(lambda ctx, x: [x * 1, x * 2], lambda ctx, a, b: a + 2 * b).apply(leaf(1.0))
    assert isinstance(out, list)
    assert [type(t.grad_fn).__name__ for t in out] == ["Context", "Context"]


def test_a_named_tuple_of_outputs_stays_one():
    x = leaf(1.0, 3.0)
    out = function(lambda ctx, x: x.sort(), lambda ctx, values, _: values * 2).apply(x)
    out.values.sum().backward()
    same(x.grad, [2, 2])
    assert not out.indices.requires_grad


def test_the_same_tensor_twice_is_two_outputs():
    def forward(ctx, x):
        y = x * 2
        return y, y

    x = leaf(1.0)
    a, b = function(forward, lambda ctx, a, b: 5 * a + 7 * b).apply(x)
    (a + 10 * b).backward()
    same(x.grad, [75])


def test_outputs_without_gradient():
    def forward(ctx, x):
        values, order = x.sort()
        ranks = order.float()
        ctx.mark_non_differentiable(ranks)
        return values, order, ranks

    def backward(ctx, a, b, c):
        assert c is not None
        return a * 2

    x = leaf(3.0, 1.0)
    values, order, ranks = function(forward, backward).apply(x)
    assert values.requires_grad
    assert not order.requires_grad
    assert not ranks.requires_grad
    values.sum().backward()
    same(x.grad, [2, 2])


def test_a_dict_is_refused():
    with pytest.raises(TypeError, match="dict"):
        function(lambda ctx, x: {"y": x}, None).apply(leaf(1.0))
