"""Sequential, ModuleList, ModuleDict, ParameterList, ParameterDict, next to PyTorch's."""

import copy
import pickle
from collections import OrderedDict

import genesis
import pytest
from genesis import nn
from genesis.nn import Parameter


def same_text(ours, theirs):
    text = repr(theirs).replace("torch.FloatTensor", "torch.float32")  # in ParameterDict
    assert repr(ours) == text.replace("torch.", "genesis.")


def texts(build):
    torch = pytest.importorskip("torch")
    same_text(build(nn, genesis), build(torch.nn, torch))


# ---- Sequential --------------------------------------------------------------------------------


def test_sequential_calls_its_modules_in_order():
    net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), nn.Linear(3, 1))
    x = genesis.randn(4, 2)
    assert genesis.equal(net(x), net[2](net[1](net[0](x))))
    assert nn.Sequential()(5) == 5


def test_sequential_with_names():
    net = nn.Sequential(OrderedDict(a=nn.Linear(2, 2), b=nn.ReLU()))
    assert net.a is net[0] and list(net._modules) == ["a", "b"]
    assert list(net[1:]._modules) == ["b"]


def test_sequential_is_a_list_of_modules():
    def build(nn, lib):
        net = nn.Sequential(nn.Linear(1, 1), nn.Linear(2, 2), nn.Linear(3, 3), nn.Tanh())
        del net[1]
        net.append(nn.Linear(4, 4))
        net.insert(1, nn.Linear(5, 5))
        net.extend([nn.Linear(6, 6), nn.Sigmoid()])
        net[0] = nn.Linear(7, 7)
        net.pop(-2)
        net += nn.Sequential(nn.Linear(8, 8))
        return nn.Sequential(
            net + nn.Sequential(nn.Linear(9, 9)), net[1:3], 2 * net[:1], net[:2] * 2
        )

    texts(build)


def test_sequential_shares_modules_when_multiplied():
    net = nn.Sequential(nn.Linear(2, 2)) * 3
    assert len(net) == 3 and len(net.parameters()) == 2
    net *= 2
    assert len(net) == 6


def test_sequential_refuses_nonsense():
    net = nn.Sequential(nn.Linear(1, 1))
    with pytest.raises(IndexError, match="index 1 is out of range for 1 items"):
        net[1]
    with pytest.raises(IndexError):
        net.insert(3, nn.ReLU())
    with pytest.raises(TypeError, match="not a Module subclass"):
        net.append(lambda x: x)
    with pytest.raises(TypeError, match="expected a Module"):
        net.insert(0, 3)
    with pytest.raises(ValueError, match="expected a Sequential"):
        net + nn.ModuleList()
    with pytest.raises(ValueError, match="positive"):
        net * 0
    with pytest.raises(TypeError):
        net * 1.5


# ---- ModuleList --------------------------------------------------------------------------------


def test_module_list_is_a_list_of_modules():
    def build(nn, lib):
        layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        layers.append(nn.ReLU())
        layers.insert(1, nn.Tanh())
        layers.extend(nn.ModuleList([nn.ReLU(), nn.Sequential(nn.ReLU())]))
        layers += [nn.Linear(1, 1), nn.Linear(1, 1)]
        layers[-1] = nn.Sequential(nn.Linear(4, 4))
        del layers[0], layers[2:4]
        layers.pop(0)
        return nn.Sequential(layers, layers[::2], layers + layers[:1], nn.ModuleList())

    texts(build)


def test_module_list_registers_what_it_holds():
    layers = nn.ModuleList(nn.Linear(2, 2) for _ in range(2))
    assert list(layers.state_dict()) == ["0.weight", "0.bias", "1.weight", "1.bias"]
    assert [m for m in layers] == [layers[0], layers[1]] and layers[-1] is layers[1]
    assert layers[0] in list(layers) and len(layers) == 2
    with pytest.raises(NotImplementedError, match="forward"):
        layers(1)
    with pytest.raises(IndexError):
        layers[5]
    with pytest.raises(TypeError):
        layers.extend(3)


# ---- ModuleDict --------------------------------------------------------------------------------


def test_module_dict_is_a_dict_of_modules():
    def build(nn, lib):
        heads = nn.ModuleDict({"a": nn.Linear(1, 1), "b": nn.ReLU()})
        heads["c"] = nn.Tanh()
        heads.update([("d", nn.Sigmoid()), ("a", nn.Linear(2, 2))])
        heads.update(nn.ModuleDict({"e": nn.ReLU()}))
        del heads["b"]
        heads.pop("c")
        return heads

    texts(build)
    heads = build(nn, genesis)
    assert list(heads) == list(heads.keys()) == ["a", "d", "e"] and len(heads) == 3
    assert "a" in heads and "b" not in heads and heads["a"] is heads.a
    assert [k for k, _ in heads.items()] == ["a", "d", "e"] and len(list(heads.values())) == 3
    heads.clear()
    assert len(heads) == 0
    with pytest.raises(KeyError, match="already exists"):
        heads["keys"] = nn.ReLU()
    with pytest.raises(TypeError, match="expected a dict"):
        heads.update(3)


# ---- parameters --------------------------------------------------------------------------------


def test_parameter_list_is_a_list_of_parameters():
    def build(nn, lib):
        weights = nn.ParameterList([lib.ones(2, 3), nn.Parameter(lib.ones(1))])
        weights.append(lib.zeros(2))
        weights += [lib.zeros(()), "text"]
        weights[1] = lib.ones(4)
        return nn.Sequential(weights, weights[1:3], nn.ParameterList())

    texts(build)
    weights = build(nn, genesis)[0]
    assert len(weights) == 5 and len(weights.parameters()) == 4
    assert all(isinstance(p, Parameter) for p in list(weights)[:4]) and weights[-1] == "text"
    assert list(weights.state_dict()) == ["0", "1", "2", "3"]
    for bad in (5, -6):
        with pytest.raises(IndexError, match="out of range for 5 items"):
            weights[bad]
    with pytest.raises(TypeError, match="expected a list"):
        weights.extend(genesis.ones(2))
    with pytest.raises(RuntimeError, match="should not be called"):
        weights(1)


def test_parameter_dict_is_a_dict_of_parameters():
    def build(nn, lib):
        weights = nn.ParameterDict({"a": lib.ones(2), "b": nn.Parameter(lib.ones(1, 2))})
        weights["c"] = lib.ones(3)
        weights.update([("d", lib.ones(4))])
        weights |= nn.ParameterDict({"e": lib.ones(5)})
        weights.setdefault("a", lib.ones(9)), weights.setdefault("f", lib.ones(6))
        weights.pop("c"), weights.popitem()
        return nn.Sequential(weights, weights | nn.ParameterDict({"z": lib.ones(1)}))

    texts(build)
    weights = build(nn, genesis)[0]
    assert list(weights) == list(weights.keys()) == ["a", "b", "d", "e"] and len(weights) == 4
    assert list(reversed(weights)) == ["e", "d", "b", "a"]
    assert weights.get("a") is weights["a"] is weights.a and weights.get("q", 1) == 1
    assert weights.copy()["a"] is weights["a"]
    assert [k for k, _ in weights.items()] == list(weights) and len(list(weights.values())) == 4
    assert list(weights.fromkeys(["x"], 3).values()) == [3]
    assert len(weights.parameters()) == 4
    with pytest.raises(KeyError):
        weights["q"]
    with pytest.raises(KeyError):
        del weights["training"]  # an attribute, but no parameter
    weights.clear()
    with pytest.raises(KeyError, match="empty"):
        weights.popitem()
    with pytest.raises(TypeError, match="keys must be str"):
        weights[3] = genesis.ones(1)
    with pytest.raises(RuntimeError, match="should not be called"):
        weights()


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_containers_can_be_copied(copier):
    net = nn.Sequential(
        nn.ModuleList([nn.Linear(1, 1)]), nn.ModuleDict({"a": nn.ReLU()}),
        nn.ParameterList([genesis.ones(1)]), nn.ParameterDict({"w": genesis.ones(1)}),
    )  # fmt: skip
    twin = copier(net)
    assert repr(twin) == repr(net) and twin[3]["w"] is twin[3].w is not net[3]["w"]
    twin[0].append(nn.ReLU())
    assert len(net[0]) == 1
