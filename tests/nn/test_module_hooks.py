"""Hooks of modules, forward and backward."""

import gc
import warnings
import weakref

import genesis
import pytest
from genesis import nn
from genesis.nn import Module
from genesis.nn.modules import module as hooks


class Scale(Module):
    def __init__(self, by=2.0):
        super().__init__()
        self.by = by

    def forward(self, x, shift=0.0):
        return x * self.by + shift


# ---- forward -----------------------------------------------------------------------------------


def test_forward_hooks_see_and_change_arguments_and_results():
    layer, seen = Scale(), []
    layer.register_forward_pre_hook(lambda m, args: seen.append(args) or (args[0] + 1,))
    layer.register_forward_pre_hook(lambda m, args: args[0] * 10)  # one value stands for a tuple
    layer.register_forward_hook(lambda m, args, y: seen.append((args, y)) or y - 1)
    assert layer(1.0) == 39.0
    assert seen == [(1.0,), ((20.0,), 40.0)]


def test_hooks_with_keyword_arguments():
    layer = Scale()
    layer.register_forward_pre_hook(
        lambda m, args, kwargs: (args, {"shift": kwargs["shift"] + 1}), with_kwargs=True
    )
    layer.register_forward_hook(lambda m, args, kwargs, y: (y, kwargs), with_kwargs=True)
    assert layer(1.0, shift=1.0) == (4.0, {"shift": 2.0})
    layer.register_forward_pre_hook(lambda m, args, kwargs: args, with_kwargs=True)
    with pytest.raises(RuntimeError, match=r"must return None or a tuple \(args, kwargs\)"):
        layer(1.0, shift=1.0)


def test_order_prepend_and_removal():
    layer, seen = Scale(), []
    layer.register_forward_hook(lambda *_: seen.append("a"))
    handle = layer.register_forward_hook(lambda *_: seen.append("b"))
    layer.register_forward_hook(lambda *_: seen.append("c"), prepend=True)
    layer(1.0)
    handle.remove()
    handle.remove()
    layer(1.0)
    assert seen == ["c", "a", "b", "c", "a"]
    with layer.register_forward_pre_hook(lambda *_: seen.append("d")):
        layer(1.0)
    assert seen[-3:] == ["d", "c", "a"]
    layer(1.0)
    assert seen[-2:] == ["c", "a"]


def test_calls_are_quick_again_when_all_hooks_are_gone():
    layer = Scale()
    layer.register_forward_hook(lambda *_: None).remove()
    assert layer(1.0) == 2.0
    assert not layer._hooked


def test_always_called_hooks_run_after_an_exception():
    class Fails(Module):
        def forward(self, x):
            raise ValueError("no")

    layer, seen = Fails(), []
    layer.register_forward_hook(lambda m, args, y: seen.append(("always", y)), always_call=True)
    layer.register_forward_hook(lambda m, args, y: seen.append("never"))
    with pytest.raises(ValueError, match="no"):
        layer(1)
    assert seen == [("always", None)]

    def bad(module, args, output):
        raise RuntimeError("also")

    layer.register_forward_hook(bad, always_call=True)
    with pytest.raises(ValueError), pytest.warns(UserWarning, match="raised RuntimeError: also"):
        layer(1)


def test_an_always_called_hook_that_raises_is_called_once():
    layer, seen = Scale(), []

    def bad(module, args, output):
        seen.append(1)
        raise RuntimeError("once")

    layer.register_forward_hook(bad, always_call=True)
    with pytest.raises(RuntimeError, match="once"):
        layer(1.0)
    assert seen == [1]


def test_hooks_of_every_module():
    seen = []
    net = nn.Sequential(Scale(), Scale(3.0))
    with (
        hooks.register_module_forward_pre_hook(lambda m, args: seen.append(type(m).__name__)),
        hooks.register_module_forward_hook(lambda m, args, y: y + 1),
    ):
        net[0].register_forward_hook(lambda m, args, y: y * 100)  # after the global ones
        assert net(1.0) == ((2 + 1) * 100 * 3 + 1) + 1
    assert seen == ["Sequential", "Scale", "Scale"]
    assert not hooks.everywhere.active
    assert net(1.0) == 600.0


# ---- backward ----------------------------------------------------------------------------------


class TwoInTwoOut(Module):
    def forward(self, x, y, note=None):
        return x * y, x + y


def test_backward_hooks_see_all_gradients_at_once():
    layer, seen = TwoInTwoOut(), []
    layer.register_full_backward_hook(lambda m, dx, dy: seen.append((dx, dy)))
    x = genesis.tensor([2.0], requires_grad=True)
    y = genesis.tensor([3.0])
    product, total = layer(x, y, "text")
    (product * 5 + total * 7).backward()
    ((dx, dy, text), (dproduct, dtotal)) = seen[0]
    assert len(seen) == 1 and dx.item() == 22.0 and dy is None and text is None
    assert dproduct.item() == 5.0 and dtotal.item() == 7.0
    assert x.grad.item() == 22.0


def test_an_output_that_is_not_used_has_no_gradient():
    layer, seen = TwoInTwoOut(), []
    layer.register_full_backward_hook(lambda m, dx, dy: seen.append(dy))
    x = genesis.tensor([2.0], requires_grad=True)
    layer(x, x)[1].backward()
    assert seen[0][0] is None and seen[0][1].item() == 1.0
    assert x.grad.item() == 2.0


def test_backward_hooks_replace_gradients():
    layer = Scale(3.0)
    layer.register_full_backward_pre_hook(lambda m, dy: (dy[0] * 10,))
    layer.register_full_backward_hook(lambda m, dx, dy: (dx[0] + 1,))
    x = genesis.tensor([2.0], requires_grad=True)
    layer(x).backward()
    assert x.grad.item() == 31.0


def test_backward_hooks_as_in_torch():
    torch = pytest.importorskip("torch")

    def run(lib, nn):
        seen = []
        model = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
        with lib.no_grad():
            for i, p in enumerate(model.parameters()):
                p.copy_(lib.arange(p.numel()).reshape(p.shape) * 0.1 - 0.2 * i)
        for i, m in enumerate(model.modules()):
            m.register_full_backward_hook(
                lambda m, dx, dy, i=i: seen.append(
                    (i, *(g is not None and g.tolist() for g in (*dx, *dy)))
                )
            )
        model[1].register_full_backward_pre_hook(lambda m, dy: (dy[0] * 2,))
        model(lib.ones(2, 3)).sum().backward()
        x = lib.ones(2, 3, requires_grad=True)
        model(x).sum().backward()
        return seen, x.grad.tolist()

    ours = run(genesis, nn)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # PyTorch's own
        theirs = run(torch, torch.nn)
    assert [s[0] for s in ours[0]] == [s[0] for s in theirs[0]]
    for a, b in zip(ours[0], theirs[0], strict=True):
        assert [x is False for x in a[1:]] == [x is False for x in b[1:]]
        for x, y in zip(a[1:], b[1:], strict=True):
            if x is not False:
                assert genesis.allclose(genesis.tensor(x), genesis.tensor(y))
    assert genesis.allclose(genesis.tensor(ours[1]), genesis.tensor(theirs[1]))


def test_hooks_that_return_the_wrong_number_of_gradients_raise():
    layer = Scale()
    handle = layer.register_full_backward_hook(lambda m, dx, dy: (dx[0], dx[0]))
    x = genesis.tensor([2.0], requires_grad=True)
    with pytest.raises(RuntimeError, match="full backward hook of Scale: must return None or 1"):
        layer(x).backward()
    handle.remove()
    layer.register_full_backward_hook(lambda m, dx, dy: (dy[0],))
    weight = genesis.ones(1, requires_grad=True)
    layer.by = weight
    with pytest.raises(RuntimeError, match="no input requires grad"):
        layer(genesis.ones(1)).backward()


def test_second_derivatives_pass_through_backward_hooks():
    layer, seen = Scale(1.0), []
    layer.forward = lambda x: x**3
    layer.register_full_backward_hook(lambda m, dx, dy: seen.append(dx[0].item()))
    x = genesis.tensor([2.0], requires_grad=True)
    (g,) = genesis.autograd.grad(layer(x), x, create_graph=True)
    (h,) = genesis.autograd.grad(g, x)
    assert h.item() == 12.0 and seen[0] == 12.0


def test_in_place_changes_of_a_hooked_result_keep_the_gradient():
    layer = nn.Linear(2, 2)
    layer.register_full_backward_hook(lambda m, dx, dy: None)
    x = genesis.tensor([[1.0, 2.0]], requires_grad=True)
    layer(x).relu_().sum().backward()
    gradient, x.grad = x.grad, None
    layer._backward_hooks.clear()
    layer(x).relu().sum().backward()
    assert genesis.equal(gradient, x.grad)


def test_outputs_that_cannot_be_hooked_warn():
    class Dict(Module):
        def forward(self, x):
            return {"y": [x * 2]}

    layer = Dict()
    layer.register_full_backward_hook(lambda *_: None)
    with pytest.warns(UserWarning, match="hooks of Dict will not be called: its output is a dict"):
        layer(genesis.ones(1, requires_grad=True))
    layer(genesis.ones(1))


def test_nothing_is_hooked_outside_a_graph():
    layer, seen = Scale(), []
    layer.register_full_backward_hook(lambda *_: seen.append(1))
    with genesis.no_grad():
        y = layer(genesis.ones(1, requires_grad=True))
    assert not y.requires_grad
    assert layer(genesis.ones(1)).item() == 2.0 and not seen


def test_backward_hooks_of_every_module():
    x, seen = genesis.ones(1, requires_grad=True), []
    with hooks.register_module_full_backward_hook(lambda m, dx, dy: seen.append(m.by)):
        nn.Sequential(Scale(2.0))[0](x).backward()
    assert seen == [2.0]


def test_a_graph_with_backward_hooks_dies_with_its_result():
    gc.disable()
    try:
        layer = Scale()
        layer.register_full_backward_hook(lambda m, dx, dy: None)
        layer.register_full_backward_pre_hook(lambda m, dy: None)
        x = genesis.ones(1, requires_grad=True)
        y = layer(x)
        dead = weakref.ref(y), weakref.ref(layer)
        del y, layer
        assert dead[0]() is None and dead[1]() is None
    finally:
        gc.enable()


# ---- registration ------------------------------------------------------------------------------


def test_hooks_on_registration_may_replace_what_is_registered():
    replacement = nn.Parameter(genesis.zeros(1))
    with hooks.register_module_parameter_registration_hook(
        lambda m, name, p: replacement if name == "bias" else None
    ):
        layer = nn.Linear(1, 1)
    assert layer.bias is replacement and layer.weight is not replacement
    seen = []
    with (
        hooks.register_module_buffer_registration_hook(lambda m, name, b: seen.append(name)),
        hooks.register_module_module_registration_hook(lambda m, name, c: seen.append(name)),
    ):
        layer.register_buffer("mean", genesis.zeros(1))
        layer.child = nn.Identity()
    assert seen == ["mean", "child"]
