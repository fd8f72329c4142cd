"""genesis.nn.utils: clipping, vectors, weight norm, spectral norm, parametrize, prune, fusion."""

import copy
import math
import pickle

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn.utils import parametrizations, parametrize, prune


def with_grads(*grads):
    parameters = []
    for grad in grads:
        p = nn.Parameter(genesis.zeros(*np.shape(grad)))
        p.grad = genesis.tensor(grad)
        parameters.append(p)
    return parameters


def to_torch(module, theirs):
    torch = pytest.importorskip("torch")
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in module.state_dict().items()})
    return theirs


def assert_close(ours, theirs, rtol=1e-5, atol=1e-6):
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=rtol, atol=atol)


# ---- clipping ----------------------------------------------------------------------------------


@pytest.mark.parametrize("norm_type", [1, 2, 2.5, math.inf])
def test_clip_grad_norm_scales_all_gradients_by_one_factor(norm_type, rng):
    grads = [rng.normal(size=(3, 2)).astype("f"), rng.normal(size=5).astype("f")]
    parameters = with_grads(*grads)
    parameters.append(nn.Parameter(genesis.zeros(2)))  # without a gradient
    total = nn.utils.clip_grad_norm_(iter(parameters), 0.5, norm_type)
    expected = np.linalg.norm(np.concatenate([g.ravel() for g in grads]), norm_type)
    np.testing.assert_allclose(total.item(), expected, rtol=1e-5)
    for p, g in zip(parameters, grads, strict=False):
        np.testing.assert_allclose(p.grad.numpy(), g * 0.5 / (expected + 1e-6), rtol=1e-5)


def test_clip_grad_norm_leaves_small_gradients_alone():
    (p,) = with_grads([3.0, 4.0])
    nn.utils.clip_grad_norm(p, 10.0)
    assert p.grad.tolist() == [3.0, 4.0]


def test_clip_grad_norm_of_nothing_is_zero():
    assert nn.utils.clip_grad_norm_([], 1.0).item() == 0.0


def test_clip_grad_norm_can_refuse_what_is_not_finite():
    (p,) = with_grads([1.0, math.nan])
    with pytest.raises(RuntimeError, match="non-finite"):
        nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
    nn.utils.clip_grad_norm_([p], 1.0)
    assert p.grad.isnan().all()


def test_clip_grad_value_bounds_each_element():
    a, b = with_grads([-3.0, 0.5], [[2.0]])
    nn.utils.clip_grad_value_([a, b], 1)
    assert a.grad.tolist() == [-1.0, 0.5] and b.grad.tolist() == [[1.0]]
    nn.utils.clip_grad_value(a, clip_value=0.25)
    assert a.grad.tolist() == [-0.25, 0.25]


def test_gradients_that_have_a_graph_are_clipped_outside_it():
    x = nn.Parameter(genesis.tensor([2.0]))
    (x**3).sum().backward(create_graph=True)
    nn.utils.clip_grad_norm_([x], 1.0)
    np.testing.assert_allclose(x.grad.detach().numpy(), [1.0], rtol=1e-5)


# ---- vectors -----------------------------------------------------------------------------------


def test_parameters_to_vector_and_back():
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 1))
    vector = nn.utils.parameters_to_vector(model.parameters())
    assert vector.shape == (13,) and vector.requires_grad
    nn.utils.vector_to_parameters(genesis.arange(13.0), model.parameters())
    assert model[1].bias.item() == 12.0 and model[0].weight.tolist()[1] == [2.0, 3.0]
    with pytest.raises(ValueError, match="1-d with 13 elements"):
        nn.utils.vector_to_parameters(genesis.zeros(12), model.parameters())
    with pytest.raises(TypeError, match="must be a Tensor"):
        nn.utils.vector_to_parameters([0.0], model.parameters())


# ---- weight norm and spectral norm ---------------------------------------------------------------


@pytest.mark.parametrize("dim", [0, 1, None])
@pytest.mark.parametrize("form", ["hook", "parametrization"])
def test_weight_norm_is_length_times_direction(form, dim):
    torch = pytest.importorskip("torch")
    genesis.manual_seed(1)
    layer = nn.Linear(4, 3)
    x, before = genesis.randn(2, 4), layer.weight.detach().clone()
    expected = layer(x)
    if form == "hook":
        nn.utils.weight_norm(layer, dim=dim)
        with pytest.warns(FutureWarning):
            theirs = torch.nn.utils.weight_norm(torch.nn.Linear(4, 3), dim=dim)
    else:
        parametrizations.weight_norm(layer, dim=dim)
        theirs = torch.nn.utils.parametrizations.weight_norm(torch.nn.Linear(4, 3), dim=dim)
    assert_close(layer(x), expected)
    assert set(layer.state_dict()) == set(theirs.state_dict())
    shapes = {k: tuple(v.shape) for k, v in theirs.state_dict().items()}
    assert {k: tuple(v.shape) for k, v in layer.state_dict().items()} == shapes
    to_torch(layer, theirs)
    assert_close(layer(x), theirs(torch.tensor(x.numpy())))
    (layer(x) ** 2).sum().backward()
    (theirs(torch.tensor(x.numpy())) ** 2).sum().backward()
    ours = dict(layer.named_parameters())
    for name, p in theirs.named_parameters():
        assert_close(ours[name].grad, p.grad, rtol=1e-4)
    if form == "hook":
        nn.utils.remove_weight_norm(layer)
    else:
        parametrize.remove_parametrizations(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter)
    assert sorted(n for n, _ in layer.named_parameters()) == ["bias", "weight"]
    assert_close(layer.weight, before)


def test_weight_norm_reads_what_the_hook_saved():
    old, new = nn.utils.weight_norm(nn.Linear(4, 3)), parametrizations.weight_norm(nn.Linear(4, 3))
    new.load_state_dict(old.state_dict())
    x = genesis.randn(2, 4)
    assert_close(new(x), old(x))


def test_weight_norm_twice_or_of_nothing_raises():
    layer = nn.utils.weight_norm(nn.Linear(2, 2))
    with pytest.raises(RuntimeError, match="already"):
        nn.utils.weight_norm(layer)
    with pytest.raises(ValueError, match="no parameter 'kernel'"):
        nn.utils.weight_norm(nn.Linear(2, 2), "kernel")
    with pytest.raises(ValueError, match="not found"):
        nn.utils.remove_weight_norm(nn.Linear(2, 2))


@pytest.mark.parametrize("form", ["hook", "parametrization"])
def test_spectral_norm_divides_by_the_largest_singular_value(form):
    genesis.manual_seed(2)
    layer = nn.Linear(6, 4)
    largest = np.linalg.norm(layer.weight.detach().numpy(), 2)
    before = layer.weight.detach().numpy() / largest
    x = genesis.randn(2, 6)
    if form == "hook":
        nn.utils.spectral_norm(layer)
    else:
        parametrizations.spectral_norm(layer)
    for _ in range(100):
        layer(x)
    np.testing.assert_allclose(layer.weight.detach().numpy(), before, rtol=1e-4, atol=1e-5)
    layer.eval()
    frozen = {k: v.clone() for k, v in layer.state_dict().items()}
    layer(x)
    assert all(genesis.equal(v, frozen[k]) for k, v in layer.state_dict().items())


@pytest.mark.parametrize("form", ["hook", "parametrization"])
@pytest.mark.parametrize("training", [True, False])
def test_spectral_norm_as_in_torch(form, training):
    torch = pytest.importorskip("torch")
    if form == "hook":
        ours = nn.utils.spectral_norm(nn.Linear(6, 4))
        theirs = torch.nn.utils.spectral_norm(torch.nn.Linear(6, 4))
    else:
        ours = parametrizations.spectral_norm(nn.Linear(6, 4))
        theirs = torch.nn.utils.parametrizations.spectral_norm(torch.nn.Linear(6, 4))
    to_torch(ours, theirs)
    ours.train(training), theirs.train(training)
    x = np.random.default_rng(0).normal(size=(3, 6)).astype("f")
    for _ in range(3):
        y, z = ours(genesis.tensor(x)), theirs(torch.tensor(x))
        assert_close(y, z)
    (y**2).sum().backward(), (z**2).sum().backward()
    name = "weight_orig" if form == "hook" else "parametrizations.weight.original"
    assert_close(ours.get_parameter(name).grad, theirs.get_parameter(name).grad, rtol=1e-4)
    state = theirs.state_dict()
    for key, value in ours.state_dict().items():
        assert_close(value, state[key])


def test_spectral_norm_is_differentiable_twice():
    layer = parametrizations.spectral_norm(nn.Linear(3, 2).double()).eval()
    w = layer.parametrizations.weight.original.detach().clone().requires_grad_()
    f = layer.parametrizations.weight[0]
    assert gradcheck(f, (w,), order=2)


# ---- parametrize -------------------------------------------------------------------------------


class Symmetric(nn.Module):
    def forward(self, x):
        return x.triu() + x.triu(1).T

    def right_inverse(self, value):
        return value.triu()


class Double(nn.Module):
    def forward(self, x):
        return 2 * x

    def right_inverse(self, value):
        return value / 2


class OneWay(nn.Module):
    def forward(self, x):
        return x.exp()


def test_a_parametrized_tensor_is_computed_when_read_and_trained_through():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    assert parametrize.is_parametrized(layer) and parametrize.is_parametrized(layer, "weight")
    assert not parametrize.is_parametrized(layer, "bias")
    assert type(layer).__name__ == "ParametrizedLinear"
    assert parametrize.type_before_parametrizations(layer) is nn.Linear
    assert list(layer.state_dict()) == ["bias", "parametrizations.weight.original"]
    layer(genesis.randn(2, 3)).sum().backward()
    assert layer.parametrizations.weight.original.grad is not None
    before = layer.weight
    with genesis.no_grad():
        layer.parametrizations.weight.original.add_(1.0)
    assert not genesis.equal(layer.weight, before)


def test_assigning_to_a_parametrized_tensor_inverts_the_parametrizations():
    layer = nn.Linear(3, 3)
    parametrize.register_parametrization(layer, "weight", Symmetric())
    parametrize.register_parametrization(layer, "weight", Double())
    value = genesis.eye(3) + 1
    layer.weight = value
    assert_close(layer.weight, value)
    parametrize.register_parametrization(layer, "bias", OneWay())
    with pytest.raises(RuntimeError, match="does not define right_inverse"):
        layer.bias = genesis.ones(3)


def test_parametrizations_are_removed_with_or_without_their_value():
    for leave in (True, False):
        layer = nn.Linear(3, 3)
        parametrize.register_parametrization(layer, "weight", Double())
        original = layer.parametrizations.weight.original
        wanted = (layer.weight if leave else original).detach().clone()
        parametrize.remove_parametrizations(layer, "weight", leave_parametrized=leave)
        assert type(layer) is nn.Linear and layer.weight is original
        assert not hasattr(layer, "parametrizations")
        assert_close(layer.weight, wanted)
    with pytest.raises(ValueError, match="no parametrized tensor"):
        parametrize.remove_parametrizations(layer, "weight")


def test_a_copy_of_a_parametrized_module_is_its_own():
    layer = parametrize.register_parametrization(nn.Linear(3, 3), "weight", Double())
    twin = copy.deepcopy(layer)
    assert_close(twin.weight, layer.weight)
    parametrize.remove_parametrizations(layer, "weight")
    with genesis.no_grad():
        layer.weight.zero_()
    assert parametrize.is_parametrized(twin, "weight") and twin.weight.abs().sum() > 0
    with pytest.raises(RuntimeError, match="only supported through state_dict"):
        pickle.dumps(twin)


def test_cached_computes_once():
    calls = []

    class Counting(nn.Module):
        def forward(self, x):
            calls.append(1)
            return x * 1

    layer = nn.Linear(2, 2)
    parametrize.register_parametrization(layer, "weight", Counting(), unsafe=True)
    with parametrize.cached():
        assert layer.weight is layer.weight
        with parametrize.cached():
            layer(genesis.ones(1, 2))
    assert len(calls) == 1
    assert layer.weight is not layer.weight


def test_bad_parametrizations_raise():
    class Half(nn.Module):
        def forward(self, x):
            return x[:1]

    with pytest.raises(ValueError, match="must keep shape and dtype"):
        parametrize.register_parametrization(nn.Linear(2, 2), "weight", Half())
    parametrize.register_parametrization(nn.Linear(2, 2), "weight", Half(), unsafe=True)
    with pytest.raises(ValueError, match="no parameter, buffer or parametrized tensor"):
        parametrize.register_parametrization(nn.Linear(2, 2), "kernel", Double())


# ---- prune -------------------------------------------------------------------------------------


def test_l1_unstructured_prunes_the_smallest_and_keeps_them_zero():
    layer = nn.Linear(3, 2)
    with genesis.no_grad():
        layer.weight.copy_(genesis.tensor([[1.0, -0.1, 3.0], [0.2, -5.0, 6.0]]))
    prune.l1_unstructured(layer, "weight", amount=2)
    assert layer.weight_mask.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert sorted(layer.state_dict()) == ["bias", "weight_mask", "weight_orig"]
    layer(genesis.ones(1, 3)).sum().backward()
    assert layer.weight_orig.grad.tolist() == [[1, 0, 1], [0, 1, 1]]
    assert prune.is_pruned(layer) and prune.is_pruned(nn.Sequential(layer))
    prune.l1_unstructured(layer, "weight", amount=1)  # of what is left
    assert layer.weight_mask.tolist() == [[0, 0, 1], [0, 1, 1]]
    prune.remove(layer, "weight")
    assert isinstance(layer.weight, nn.Parameter) and not prune.is_pruned(layer)
    assert layer.weight.tolist() == [[0, 0, 3], [0, -5, 6]]
    with pytest.raises(ValueError, match="has to be pruned before"):
        prune.remove(layer, "weight")


def test_structured_pruning_takes_whole_slices():
    layer = nn.Linear(3, 2)
    with genesis.no_grad():
        layer.weight.copy_(genesis.tensor([[1.0, 9.0, 3.0], [2.0, 0.0, 6.0]]))
    prune.ln_structured(layer, "weight", amount=1, n=1, dim=1)
    assert layer.weight.tolist() == [[0, 9, 3], [0, 0, 6]]
    prune.random_structured(layer, "weight", amount=1, dim=0)
    assert sorted((layer.weight != 0).sum(1).tolist())[0] == 0
    with pytest.raises(ValueError, match="at least 2 dimensions"):
        prune.ln_structured(layer, "bias", 1, 2, 0)


def test_global_pruning_compares_all_parameters():
    a, b = nn.Linear(2, 1), nn.Linear(2, 1)
    with genesis.no_grad():
        a.weight.copy_(genesis.tensor([[0.1, 5.0]])), b.weight.copy_(genesis.tensor([[0.2, 0.3]]))
    prune.global_unstructured([(a, "weight"), (b, "weight")], prune.L1Unstructured, amount=0.5)
    assert a.weight.tolist() == [[0, 5]] and b.weight.tolist() == [[0, pytest.approx(0.3)]]


def test_amounts_that_make_no_sense_raise():
    for amount, error in ((-1, ValueError), (1.5, ValueError), (7, ValueError), ("1", TypeError)):
        with pytest.raises(error, match="amount"):
            prune.random_unstructured(nn.Linear(3, 2), "weight", amount)


def test_custom_mask_and_identity():
    layer = prune.identity(nn.Linear(2, 2), "bias")
    prune.custom_from_mask(layer, "bias", genesis.tensor([1, 0]))
    assert layer.bias[1].item() == 0
    with pytest.raises(ValueError, match="the mask must have shape"):
        prune.custom_from_mask(layer, "bias", genesis.ones(3))


# ---- the rest ----------------------------------------------------------------------------------


def test_stateless_functional_call():
    layer = nn.Linear(2, 1)
    zero = {name: genesis.zeros_like(p) for name, p in layer.named_parameters()}
    y = nn.utils.stateless.functional_call(layer, zero, (genesis.ones(1, 2),))
    assert y.item() == 0


def test_fusing_a_linear_layer_with_batch_norm():
    if not hasattr(nn, "BatchNorm1d"):
        pytest.skip("no batch norm")
    genesis.manual_seed(3)
    linear, bn, x = nn.Linear(4, 3), nn.BatchNorm1d(3), genesis.randn(8, 4)
    with genesis.no_grad():
        bn.weight.uniform_(0.5, 2.0), bn.bias.uniform_(-1.0, 1.0)
    bn(linear(x))
    with pytest.raises(ValueError, match="eval mode"):
        nn.utils.fuse_linear_bn_eval(linear, bn)
    linear.eval(), bn.eval()
    assert_close(nn.utils.fuse_linear_bn_eval(linear, bn)(x), bn(linear(x)))


# ---- memory formats ------------------------------------------------------------------------------


def test_weights_of_convolutions_change_their_layout_only():
    model = nn.Sequential(nn.Conv2d(3, 4, 2), nn.ConvTranspose2d(4, 2, 2), nn.Linear(3, 3))
    before = [p.detach().clone() for p in model.parameters()]
    held = list(model.parameters())
    assert nn.utils.convert_conv2d_weight_memory_format(model, genesis.channels_last) is model
    for layer in model[:2]:
        assert layer.weight.is_contiguous(memory_format=genesis.channels_last)
    for p, old, same in zip(model.parameters(), before, held, strict=True):
        assert genesis.equal(p, old) and p is same and p.requires_grad
    volumes = nn.Conv3d(3, 4, 2)
    nn.utils.convert_conv2d_weight_memory_format(volumes, genesis.channels_last)
    assert volumes.weight.is_contiguous()
    nn.utils.convert_conv3d_weight_memory_format(volumes, genesis.channels_last_3d)
    assert volumes.weight.is_contiguous(memory_format=genesis.channels_last_3d)


def test_pruning_that_fails_leaves_the_module_unchanged():
    layer = nn.Linear(2, 3)
    prune.l1_unstructured(layer, "weight", 2)
    before = layer.weight_mask.clone()
    for call in (
        lambda: prune.l1_unstructured(layer, "weight", 20),
        lambda: prune.l1_unstructured(layer, "weight", 1, importance_scores=genesis.ones(3)),
        lambda: prune.ln_structured(layer, "weight", 1, n=2, dim=5),
    ):
        with pytest.raises((ValueError, IndexError)):
            call()
        assert prune.is_pruned(layer)
        assert genesis.equal(layer.weight_mask, before)
    prune.l1_unstructured(layer, "weight", 1)
    assert layer.weight_mask.sum().item() == 3


def test_a_pruning_mask_has_the_dtype_of_the_parameter():
    layer = prune.l1_unstructured(
        nn.Linear(2, 3).double(), "weight", 2, genesis.arange(6.0).view(3, 2)
    )
    assert layer.weight_mask.dtype == genesis.float64
    assert prune.ln_structured(nn.Linear(2, 3), "weight", 1, n="fro", dim=0).weight_mask.sum() == 4


@pytest.mark.parametrize("norm", [nn.utils.weight_norm, nn.utils.parametrizations.weight_norm])
def test_weight_norm_checks_the_dimension(norm):
    with pytest.raises(IndexError, match="dim 2 is out of range"):
        norm(nn.Linear(2, 3), dim=2)
