"""Function: operations whose forward and backward are Python."""

import gc
import weakref

import genesis
import numpy as np
import pytest
from genesis.autograd import Function, grad, gradcheck, gradgradcheck
from genesis.autograd.function import once_differentiable

from tests.autograd.leaves import leaf, same


class Exp(Function):
    @staticmethod
    def forward(ctx, x):
        y = x.exp()
        ctx.save_for_backward(y)
        return y

    @staticmethod
    def backward(ctx, dy):
        (y,) = ctx.saved_tensors
        return dy * y


class Mul(Function):
    @staticmethod
    def forward(ctx, x, y):
        ctx.save_for_backward(x, y)
        return x * y

    @staticmethod
    def backward(ctx, dz):
        x, y = ctx.saved_tensors
        return dz * y, dz * x


def function(forward, backward, name="Custom", **more):
    """A Function of two plain functions."""
    methods = {"forward": forward, "backward": backward, **more}
    return type(name, (Function,), {k: staticmethod(f) for k, f in methods.items()})


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


# --- saving


def test_saving_twice_adds():
    def forward(ctx, x, y):
        ctx.save_for_backward(x)
        ctx.save_for_backward(None, y)
        assert len(ctx.saved_tensors) == 3
        return x * y

    def backward(ctx, g):
        x, nothing, y = ctx.saved_tensors
        assert nothing is None
        return g * y, g * x

    assert gradgradcheck(function(forward, backward).apply, (leaf(2.0), leaf(3.0)))


def test_saved_inputs_are_the_tensors_themselves_and_saved_outputs_lead_back():
    x = leaf(1.0)
    z = Mul.apply(x, x)
    assert z.grad_fn.saved_tensors[0] is x
    y = Exp.apply(x)
    (saved,) = y.grad_fn.saved_tensors
    assert saved.grad_fn is y.grad_fn
    assert saved.data_ptr() == y.data_ptr()


def test_a_saved_tensor_changed_in_place_is_noticed():
    x = leaf(1.0) * 1
    y = Mul.apply(x, x)
    x.add_(1)
    with pytest.raises(RuntimeError, match=r"'Mul' saved.*changed in place by 'add_'"):
        y.backward()
    y = Exp.apply(leaf(1.0))
    y.detach().zero_()
    with pytest.raises(RuntimeError, match=r"'Exp' saved.*in place"):
        y.backward()


def test_saved_tensors_are_freed_by_backward():
    y = Exp.apply(leaf(1.0))
    y.backward(retain_graph=True)
    y.backward()
    with pytest.raises(RuntimeError, match="'Exp' has been freed"):
        y.backward()
    with pytest.raises(RuntimeError, match="freed"):
        y.grad_fn.saved_tensors


def test_only_tensors_can_be_saved_and_only_in_forward():
    f = function(lambda ctx, x: ctx.save_for_backward(x, 3), None, "Wrong")
    with pytest.raises(TypeError, match=r"Wrong: save_for_backward.*argument 1 is int"):
        f.apply(leaf(1.0))
    y = Exp.apply(leaf(1.0))
    with pytest.raises(RuntimeError, match="save_for_backward must be called in forward"):
        y.grad_fn.save_for_backward(y)


def test_attributes_of_the_context_are_free():
    def forward(ctx, x):
        ctx.inputs, ctx.metadata, ctx.variable, ctx.name_, ctx.op = 1, 2, 3, 4, 5
        return x * 2

    y = function(
        forward, lambda ctx, g: g * ctx.inputs * ctx.metadata * ctx.variable * ctx.op
    ).apply(x := leaf(1.0))
    assert y.grad_fn.inputs == 1
    y.backward()
    same(x.grad, [30])
    z = Exp.apply(x)
    assert z.grad_fn.inputs[0] is x
    assert z.grad_fn.metadata == {}


# --- in place


class Clamp(Function):
    @staticmethod
    def forward(ctx, x):
        ctx.save_for_backward(x > 0)
        ctx.mark_dirty(x)
        return x.clamp_(min=0)

    @staticmethod
    def backward(ctx, g):
        return g * ctx.saved_tensors[0]


def test_forward_may_change_an_argument_in_place():
    x = leaf(-1.0, 2.0)
    h = x * 3
    version = h._version
    y = Clamp.apply(h)
    assert y is h
    assert h._version > version
    assert repr(h.grad_fn) == "<ClampBackward>"
    (h * 5).sum().backward()
    same(x.grad, [0, 15])


def test_a_view_changed_in_place_changes_its_base():
    x = leaf(-1.0, 2.0, -3.0)
    h = x * 3
    Clamp.apply(h[1:])
    (h * genesis.tensor([1.0, 10.0, 100.0])).sum().backward()
    same(x.grad, [3, 30, 0])


def test_a_leaf_cannot_be_changed_in_place():
    for x in (leaf(1.0), genesis.nn.Parameter(genesis.ones(1))):
        with pytest.raises(RuntimeError, match="leaf"):
            Clamp.apply(x)
        with genesis.no_grad():
            Clamp.apply(x)
        assert x.is_leaf


def test_what_is_dirty_must_be_an_argument_and_be_returned():
    def forget(ctx, x):
        ctx.mark_dirty(x)
        return x.mul_(2) * 1

    def stranger(ctx, x):
        y = x * 2
        ctx.mark_dirty(y)
        return y

    with pytest.raises(
        RuntimeError, match="Forget: an argument that was given to mark_dirty must be returned"
    ):
        function(forget, None, "Forget").apply(leaf(1.0) * 1)
    with pytest.raises(RuntimeError, match="Stranger: mark_dirty was given"):
        function(stranger, None, "Stranger").apply(leaf(1.0) * 1)


# --- what backward returns


@pytest.mark.parametrize(
    "result, count", [(lambda g: (g, g, g), 3), (lambda g: (g,), 1), (lambda g: g, 1)]
)
def test_the_wrong_number_of_gradients_is_an_error(result, count):
    f = function(lambda ctx, x, y: x * y, lambda ctx, g: result(g), "Wrong")
    with pytest.raises(
        RuntimeError, match=rf"WrongBackward.*number of gradients \(expected 2, got {count}\)"
    ):
        f.apply(leaf(1.0), leaf(1.0)).backward()


def test_none_may_be_left_out_or_added():
    x = leaf(1.0)
    for backward in (
        lambda ctx, g: g,
        lambda ctx, g: (g, None),
        lambda ctx, g: (g, None, None, None),
    ):
        function(lambda ctx, x, note: x * 1, backward).apply(x, "note").backward()
    same(x.grad, [3])


def test_no_gradient_at_all():
    x = leaf(1.0)
    function(lambda ctx, x: x * 1, lambda ctx, g: None).apply(x).backward()
    assert x.grad is None


def test_the_wrong_shape_of_a_gradient_is_an_error():
    f = function(lambda ctx, x: x * 1, lambda ctx, g: genesis.ones(2, 3), "Wrong")
    with pytest.raises(
        ValueError, match=r"WrongBackward: gradient 0 has shape \(2, 3\).*shape \(2,\)"
    ):
        f.apply(leaf(1.0, 2.0)).sum().backward()


def test_a_broadcast_gradient_is_summed():
    f = function(lambda ctx, x, y: x + y, lambda ctx, g: (g, g))
    x, y = genesis.ones(3, 1, requires_grad=True), genesis.ones(4, requires_grad=True)
    f.apply(x, y).sum().backward()
    same(x.grad, np.full((3, 1), 4))
    same(y.grad, np.full(4, 3))


def test_gradients_are_tensors_of_floats():
    f = function(lambda ctx, x: x * 1, lambda ctx, g: 3.0, "Wrong")
    with pytest.raises(
        TypeError, match="WrongBackward: gradient 0 must be a Tensor or None, got float"
    ):
        f.apply(leaf(1.0)).backward()
    f = function(lambda ctx, x: x * 1, lambda ctx, g: g.long(), "Wrong")
    with pytest.raises(TypeError, match="WrongBackward: gradient 0 must be floating, got int64"):
        f.apply(leaf(1.0)).backward()


def test_a_gradient_of_another_float_dtype_is_cast():
    x = leaf(1.0)
    function(lambda ctx, x: x * 1, lambda ctx, g: g.double()).apply(x).backward()
    assert x.grad.dtype == genesis.float32


def test_missing_methods_are_named():
    class Half(Function):
        @staticmethod
        def forward(ctx, x):
            return x / 2

    with pytest.raises(NotImplementedError, match="Half: write backward"):
        Half.apply(leaf(1.0)).backward()
    with pytest.raises(NotImplementedError, match="forward"):
        type("Empty", (Function,), {}).apply(leaf(1.0))
    with pytest.raises(RuntimeError, match=r"Half\.apply"):
        Half()(leaf(1.0))


def test_exceptions_come_out_of_apply_and_backward_and_leave_the_graph_usable():
    fail = [True]

    def backward(ctx, g):
        if fail.pop():
            fail.append(False)
            raise KeyError("from backward")
        return g * 2

    def forward(ctx, x):
        if x is None:
            raise IndexError("from forward")
        return x * 2

    f = function(forward, backward)
    with pytest.raises(IndexError, match="from forward"):
        f.apply(None)
    x = leaf(1.0)
    y = f.apply(x * 3).sum()
    with pytest.raises(KeyError, match="from backward"):
        y.backward()
    assert genesis.is_grad_enabled()
    fail[:] = [False]
    y.backward()
    same(x.grad, [6])


# --- differentiating once


def test_once_differentiable_gives_gradients_and_refuses_the_second():
    class Square(Function):
        @staticmethod
        def forward(ctx, x):
            ctx.save_for_backward(x)
            return x * x

        @staticmethod
        @once_differentiable
        def backward(ctx, g):
            assert not genesis.is_grad_enabled()
            return 2 * ctx.saved_tensors[0] * g

    x = leaf(3.0)
    Square.apply(x).backward()
    same(x.grad, [6])
    (g,) = grad(Square.apply(x).sum(), x, create_graph=True)
    same(g, [6])
    with pytest.raises(RuntimeError, match="SquareBackward.*once_differentiable"):
        g.sum().backward()


def test_once_differentiable_keeps_the_signature_of_backward():
    @once_differentiable
    def backward(ctx, g, out_idx):
        return g * (out_idx + 1)

    x = leaf(1.0)
    sum(function(lambda ctx, x: (x * 1, x * 2), backward).apply(x)).backward()
    same(x.grad, [3])


# --- life


def _dies(make):
    alive = weakref.ref(make())
    gc.collect()
    return alive() is None


def test_a_function_that_saves_its_output_has_no_cycle():
    y = Exp.apply(leaf(1.0))
    alive = weakref.ref(y)
    gc.disable()
    try:
        del y
        assert alive() is None
    finally:
        gc.enable()


@pytest.mark.parametrize("name", ["y", "x", "ctx"])
def test_cycles_through_the_context_are_collected(name):
    def make():
        def forward(ctx, x):
            y = x * 2
            setattr(ctx, name, {"y": y, "x": x, "ctx": ctx}[name])
            return y

        y = function(forward, lambda ctx, g: g).apply(leaf(1.0))
        y.sum().backward()
        return y

    assert _dies(make)


def test_a_class_that_closes_over_its_result_is_collected():
    def make():
        box = []
        f = function(lambda ctx, x: x * 2, lambda ctx, g: g * len(box))
        box.append(f.apply(leaf(1.0)))
        return box[0]

    assert _dies(make)


def test_a_long_chain_of_contexts_is_destroyed():
    def forward(ctx, x):
        ctx.x = x
        return x * 1

    f = function(forward, lambda ctx, g: g)
    x = leaf(1.0)
    y = x
    for _ in range(50_000):
        y = f.apply(y)
    y.backward()
    same(x.grad, [1])
    del y


def test_the_same_as_pytorch():
    torch = pytest.importorskip("torch")

    def run(lib, function, tensor):
        class Scale(function):
            @staticmethod
            def forward(ctx, x, y, factor):
                z = x * y
                ctx.save_for_backward(x, y, z)
                ctx.factor = factor
                n = (x > 0).sum()
                ctx.mark_non_differentiable(n)
                return z * factor, z.sin(), n

            @staticmethod
            def backward(ctx, a, b, c):
                x, y, z = ctx.saved_tensors
                d = a * ctx.factor + b * z.cos()
                return d * y, (d * x).sum(0), None

        x = tensor([[1.0, -2.0], [0.5, 3.0]])
        y = tensor([0.3, 0.7])
        a, b, n = Scale.apply(x, y, 2.5)
        gx, gy = lib.autograd.grad((a * b * b).sum(), (x, y), create_graph=True)
        gxx, gxy = lib.autograd.grad((gx * gx).sum() + gy.sum(), (x, y))
        return [t.detach().numpy() for t in (a, b, n, gx, gy, gxx, gxy)]

    ours = run(
        genesis, Function, lambda d: genesis.tensor(d, dtype=genesis.float64, requires_grad=True)
    )
    theirs = run(
        torch,
        torch.autograd.Function,
        lambda d: torch.tensor(d, dtype=torch.float64, requires_grad=True),
    )
    for a, b in zip(ours, theirs, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def _written_for_pytorch(lib):
    """Functions as they are written for PyTorch, run with `lib`; returns results and gradients."""

    class Affine(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, weight, bias=None):
            ctx.save_for_backward(x, weight, bias)
            y = x.mm(weight.t())
            if bias is not None:
                y += bias.unsqueeze(0).expand_as(y)
            return y

        @staticmethod
        def backward(ctx, dy):
            x, weight, bias = ctx.saved_tensors
            dx = dweight = dbias = None
            if ctx.needs_input_grad[0]:
                dx = dy.mm(weight)
            if ctx.needs_input_grad[1]:
                dweight = dy.t().mm(x)
            if bias is not None and ctx.needs_input_grad[2]:
                dbias = dy.sum(0)
            return dx, dweight, dbias

    class StraightThrough(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x):
            return (x > 0).to(x.dtype)

        @staticmethod
        def backward(ctx, dy):
            return dy.clamp(-1, 1)

    class Reverse(lib.autograd.Function):
        @staticmethod
        def forward(ctx, x, strength):
            ctx.strength = strength
            return x.view_as(x)

        @staticmethod
        def backward(ctx, dy):
            return dy.neg() * ctx.strength, None

    class Cube(lib.autograd.Function):
        @staticmethod
        def forward(x):
            return x**3, 3 * x**2

        @staticmethod
        def setup_context(ctx, inputs, output):
            (x,) = inputs
            _, derivative = output
            ctx.save_for_backward(x, derivative)

        @staticmethod
        def backward(ctx, dy, dderivative):
            x, derivative = ctx.saved_tensors
            return dy * derivative + dderivative * 6 * x

    rng = np.random.default_rng(0)
    x, w, b = (
        lib.tensor(rng.standard_normal(s), dtype=lib.float64, requires_grad=True)
        for s in ((4, 3), (2, 3), (2,))
    )
    h = Affine.apply(x, w, b) + Affine.apply(x, w) * 0.5
    gate = StraightThrough.apply(h)
    y, slope = Cube.apply(Reverse.apply(h, 0.3))
    loss = (gate * y + slope.sin()).sum()
    first = lib.autograd.grad(loss, (x, w, b), create_graph=True)
    second = lib.autograd.grad(sum((g * g).sum() for g in first), (x, w, b))
    return [t.detach().numpy() for t in (h, gate, y, slope, *first, *second)]


def test_functions_written_for_pytorch_do_here_what_they_do_there():
    torch = pytest.importorskip("torch")
    pairs = zip(_written_for_pytorch(genesis), _written_for_pytorch(torch), strict=True)
    for ours, theirs in pairs:
        np.testing.assert_allclose(ours, theirs, rtol=1e-10, atol=1e-12)
