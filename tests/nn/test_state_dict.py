"""state_dict and load_state_dict."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.nn import Module, Parameter


class Net(Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.second = nn.Linear(3, 1)
        self.register_buffer("mean", genesis.zeros(3))
        self.register_buffer("scratch", genesis.zeros(2), persistent=False)


def test_a_state_dict_shares_memory_outside_the_graph():
    net = Net()
    state = net.state_dict()
    names = ["mean", "first.weight", "first.bias", "second.weight", "second.bias"]
    assert list(state) == names
    assert not any(t.requires_grad for t in state.values())
    state["first.bias"].fill_(7.0)
    assert net.first.bias.tolist() == [7.0] * 3
    assert net.state_dict(keep_vars=True)["first.bias"] is net.first.bias
    assert next(iter(net.state_dict(prefix="net."))) == "net.mean"
    assert state._metadata[""] == {"version": 1} and "first" in state._metadata


def test_values_come_back():
    a, b = Net(), Net()
    result = b.load_state_dict(a.state_dict())
    assert str(result) == "<All keys matched successfully>" and result == ([], [])
    for x, y in zip(a.parameters(), b.parameters(), strict=True):
        assert genesis.equal(x, y) and x is not y


def test_states_go_to_torch_and_back():
    torch = pytest.importorskip("torch")
    ours = nn.Sequential(nn.Linear(3, 2), nn.Tanh(), nn.Linear(2, 1))
    theirs = torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.Tanh(), torch.nn.Linear(2, 1))
    ours.load_state_dict(theirs.state_dict())
    x = np.random.default_rng(0).normal(size=(4, 3)).astype("f")
    expected = theirs(torch.tensor(x)).detach().numpy()
    np.testing.assert_allclose(ours(genesis.tensor(x)).detach().numpy(), expected, rtol=1e-5)
    theirs.load_state_dict({k: torch.from_dlpack(v) for k, v in ours.state_dict().items()})


def test_arrays_and_other_dtypes_are_converted():
    layer = nn.Linear(2, 1)
    layer.load_state_dict(
        {"weight": np.ones((1, 2)), "bias": genesis.ones(1, dtype=genesis.float16)}
    )
    assert layer.weight.dtype == genesis.float32 and layer.bias.item() == 1.0


def test_missing_and_unexpected_names_are_an_error_unless_strict_is_false():
    layer = nn.Linear(2, 1)
    state = {"weight": genesis.ones(1, 2), "extra": genesis.ones(1)}
    with pytest.raises(RuntimeError) as error:
        layer.load_state_dict(state)
    assert str(error.value).splitlines() == [
        "Error(s) in loading state_dict for Linear:",
        '\tMissing key(s) in state_dict: "bias".',
        '\tUnexpected key(s) in state_dict: "extra".',
        "\tBuild the same model, or pass strict=False to load what fits.",
    ]
    result = layer.load_state_dict(state, strict=False)
    assert result.missing_keys == ["bias"] and result.unexpected_keys == ["extra"]
    assert "missing_keys=['bias']" in repr(result)
    assert layer.weight.tolist() == [[1.0, 1.0]]


def test_shapes_that_differ_are_listed_apart_and_always_an_error():
    net = Net()
    state = net.state_dict()
    state["first.weight"] = genesis.ones(3, 5)
    state["mean"] = genesis.ones(4)
    state["second.bias"] = "text"
    del state["first.bias"]
    for strict in (True, False):
        with pytest.raises(RuntimeError) as error:
            net.load_state_dict(state, strict=strict)
        lines = str(error.value).splitlines()
        assert ("Missing key(s)" in str(error.value)) == strict
        assert [line.split(":")[0] for line in lines[-4:-1]] == [
            "\tsize mismatch for mean", "\tsize mismatch for first.weight", "\tnot a tensor",
        ]  # fmt: skip
        assert lines[-1] == "\tBuild the model with the sizes of the checkpoint."
        assert "(4,) from checkpoint, the shape in current model is (3,)" in str(error.value)


def test_a_prefix_is_found():
    net = Net()
    wrapped = {f"module.{k}": v for k, v in net.state_dict().items()}
    with pytest.raises(RuntimeError, match='The keys have the prefix "module."'):
        net.load_state_dict(wrapped)
    outer = nn.Sequential()
    outer.module = net
    with pytest.raises(RuntimeError, match='The keys lack the prefix "module."'):
        outer.load_state_dict(net.state_dict())
    with pytest.warns(UserWarning, match="nothing was loaded.*module"):
        net.load_state_dict(wrapped, strict=False)


def test_renames_are_found_by_shape_and_likeness():
    net = Net()
    state = net.state_dict()
    for part in ("weight", "bias"):
        state[f"fc_first.{part}"] = state.pop(f"first.{part}")
    with pytest.raises(RuntimeError) as error:
        net.load_state_dict(state)
    text = str(error.value)
    assert '"fc_first.weight" -> "first.weight"' in text
    assert '"fc_first.bias" -> "first.bias"' in text


def test_assign_takes_the_tensors_themselves():
    layer = nn.Linear(2, 1)
    layer.weight.requires_grad_(False)
    given = {
        "weight": genesis.ones(1, 2, dtype=genesis.float64),
        "bias": Parameter(genesis.ones(1)),
    }
    layer.load_state_dict(given, assign=True)
    assert layer.bias is given["bias"] and layer.weight.dtype == genesis.float64
    assert isinstance(layer.weight, Parameter) and not layer.weight.requires_grad
    given["weight"][0, 0] = 5.0
    assert layer.weight[0, 0].item() == 5.0
    assert layer._parameters["weight"] is layer.weight


def test_parameters_keep_their_gradient_and_graph_when_loaded():
    layer = nn.Linear(2, 1)
    layer(genesis.ones(1, 2)).sum().backward()
    weight, grad = layer.weight, layer.weight.grad
    layer.load_state_dict(nn.Linear(2, 1).state_dict())
    assert layer.weight is weight and weight.grad is grad and weight.is_leaf


class Versioned(Module):
    _version = 2

    def __init__(self):
        super().__init__()
        self.scale = Parameter(genesis.ones(1))
        self.seen = None

    def _load_from_state_dict(self, state_dict, prefix, local_metadata, *others):
        self.seen = local_metadata.get("version")
        if self.seen is None and prefix + "gain" in state_dict:  # before versions
            state_dict[prefix + "scale"] = state_dict.pop(prefix + "gain")
        super()._load_from_state_dict(state_dict, prefix, local_metadata, *others)


def test_versions_reach_the_class_that_reads():
    net = nn.Sequential(Versioned())
    net.load_state_dict(net.state_dict())
    assert net[0].seen == 2
    net.load_state_dict({"0.gain": genesis.full((1,), 3.0)})
    assert net[0].scale.item() == 3.0


class WithExtra(Module):
    def __init__(self):
        super().__init__()
        self.step = 0

    def get_extra_state(self):
        return {"step": self.step}

    def set_extra_state(self, state):
        self.step = state["step"]


def test_extra_state():
    net = nn.Sequential(WithExtra())
    net[0].step = 5
    state = net.state_dict()
    assert state["0._extra_state"] == {"step": 5}
    net[0].step = 0
    net.load_state_dict(state)
    assert net[0].step == 5
    with pytest.raises(RuntimeError, match="0._extra_state"):
        net.load_state_dict({})
    with pytest.raises(RuntimeError, match="set_extra_state: not defined"):
        nn.Sequential(nn.Identity()).load_state_dict(state)


def test_hooks_around_saving_and_loading():
    net, calls = Net(), []
    net.register_state_dict_pre_hook(lambda module, prefix, keep_vars: calls.append("before"))
    net.register_state_dict_post_hook(
        lambda module, state, prefix, metadata: state.update({prefix + "more": genesis.ones(1)})
    )
    state = net.state_dict()
    assert calls == ["before"] and "more" in state
    handle = net.register_load_state_dict_pre_hook(
        lambda module, state, prefix, *others: calls.append(module) or state.pop(prefix + "more")
    )
    net.register_load_state_dict_post_hook(lambda module, keys: calls.append(keys))
    assert net.load_state_dict(state) == ([], [])
    assert calls[1] is net and calls[2] == ([], []) and "more" in state
    handle.remove()
    net.register_load_state_dict_post_hook(lambda module, keys: keys.unexpected_keys.clear())
    net.load_state_dict(state)
    net.register_load_state_dict_post_hook(lambda module, keys: keys)
    with pytest.raises(RuntimeError, match="in place"):
        net.load_state_dict(state)


def test_a_state_that_is_no_dict_is_refused():
    with pytest.raises(TypeError, match="must be a dict, got list"):
        nn.Linear(1, 1).load_state_dict([])
    with pytest.raises(TypeError, match="names must be str, got 3"):
        nn.Linear(1, 1).load_state_dict({3: genesis.ones(1)})
