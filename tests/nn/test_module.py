"""Module: registration, look-up, walks, conversion, text, copies."""

import copy
import gc
import inspect
import pickle
import sys
import weakref

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.nn import Buffer, Module, Parameter


class Net(Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2, 3)
        self.scale = Parameter(genesis.ones(3))
        self.register_buffer("count", genesis.zeros(1))
        self.register_buffer("scratch", genesis.zeros(2), persistent=False)
        self.plain = "text"

    def forward(self, x, *, times=1):
        return self.first(x) * self.scale * times


# ---- registration --------------------------------------------------------------------------------


def test_parameters_buffers_and_modules_are_registered_by_assignment():
    net = Net()
    assert list(net._parameters) == ["scale"]
    assert list(net._buffers) == ["count", "scratch"]
    assert list(net._modules) == ["first"]
    assert net.scale is net._parameters["scale"] and net.first is net._modules["first"]


def test_reading_an_attribute_calls_no_python():
    net = Net()
    calls = []

    def trace(frame, event, argument):
        if event == "call":
            calls.append(frame.f_code.co_name)

    sys.setprofile(trace)
    try:
        net.scale, net.count, net.first
        net.first.weight
    finally:
        sys.setprofile(None)
    assert calls == []
    assert "__getattr__" not in vars(Module)


def test_a_call_is_one_frame_above_forward():
    depth = []

    class Probe(Module):
        def forward(self, x):
            frame = sys._getframe()
            while frame:
                depth.append(frame.f_code.co_name)
                frame = frame.f_back

    Probe()(None)
    between = depth[1 : depth.index("test_a_call_is_one_frame_above_forward")]
    assert between in ([], ["__call__"])


def test_the_signature_of_a_module_is_that_of_its_forward():
    net = Net()
    assert str(inspect.signature(net)) == "(x, *, times=1)"
    assert list(inspect.signature(nn.Linear).parameters)[:2] == ["in_features", "out_features"]


def test_deep_nests_of_modules_raise_and_do_not_crash():
    net = nn.Identity()
    for _ in range(300):
        net = nn.Sequential(net)
    assert net(5) == 5
    for _ in range(5000):
        net = nn.Sequential(net)
    with pytest.raises(RecursionError):
        net(5)
    assert len(net.parameters()) == 0


def test_modules_mix_with_other_bases():
    class Both(Module, dict):
        pass

    both = Both()
    both["a"], both.layer = 1, nn.Linear(1, 1)
    assert both["a"] == 1 and len(both.parameters()) == 2


def test_registries_and_attributes_stay_in_step():
    net = Net()
    net._parameters["scale"] = new = Parameter(genesis.zeros(3))
    assert net.scale is new
    net._parameters.update(extra=Parameter(genesis.zeros(1)))
    assert net.extra.shape == (1,)
    del net._parameters["extra"]
    assert not hasattr(net, "extra")
    assert net._parameters.pop("scale") is new and not hasattr(net, "scale")
    assert net._parameters.pop("scale", 5) == 5
    assert net._buffers.setdefault("count") is net.count
    net._modules.clear()
    assert not hasattr(net, "first")
    net._buffers |= {"more": genesis.ones(1)}
    assert net.more.item() == 1 and len(net.buffers()) == 3
    assert net._buffers.popitem()[0] == "more" and not hasattr(net, "more")
    net._modules = {"other": nn.Identity()}
    assert list(net._modules) == ["other"] and isinstance(net.other, nn.Identity)


def test_deleting_an_attribute_unregisters_it():
    net = Net()
    del net.first, net.scale, net.scratch, net.plain
    assert len(net.parameters()) == 0 and list(net.state_dict()) == ["count"]
    with pytest.raises(AttributeError, match="first"):
        net.first
    with pytest.raises(AttributeError):
        del net.nothing


def test_a_name_changes_its_kind():
    net = Net()
    net.scale = Parameter(genesis.zeros(1))
    assert list(net._parameters) == ["scale"]
    net.count = Parameter(genesis.zeros(1))  # a buffer becomes a parameter
    assert "count" in net._parameters and "count" not in net._buffers
    net.plain = nn.Identity()
    assert net.plain is net._modules["plain"]
    net.plain = Parameter(genesis.zeros(1))
    assert "plain" not in net._modules and "plain" in net._parameters
    net.scale = None
    assert net.scale is None and "scale" in net._parameters
    net.first = None
    assert net.first is None and "first" in net._modules


def test_buffers_can_be_assigned_to_and_keep_their_persistence():
    net = Net()
    net.count = genesis.ones(1)
    net.scratch = genesis.ones(2)
    assert net._buffers["count"].item() == 1
    assert "count" in net.state_dict() and "scratch" not in net.state_dict()
    net.extra = Buffer(genesis.ones(1), persistent=False)
    assert len(net.buffers()) == 3 and "extra" not in net.state_dict()
    net.extra = Buffer(genesis.ones(1))
    assert "extra" in net.state_dict()


@pytest.mark.parametrize(
    "name, value, text",
    [
        ("scale", genesis.ones(3), "cannot assign 'Tensor' as parameter 'scale'"),
        ("scale", nn.Identity(), "cannot assign 'Identity' as parameter 'scale'"),
        ("first", genesis.ones(3), "cannot assign 'Tensor' as child module 'first'"),
        ("count", 3, "cannot assign 'int' object to buffer 'count'"),
    ],
)
def test_what_does_not_belong_in_a_place_is_refused(name, value, text):
    net = Net()
    before = getattr(net, name)
    with pytest.raises(TypeError, match=text):
        setattr(net, name, value)
    assert getattr(net, name) is before


def test_bad_names_and_values_are_refused():
    net = Net()
    for register, value in (
        (net.register_parameter, Parameter(genesis.ones(1))),
        (net.register_buffer, genesis.ones(1)),
        (net.add_module, nn.Identity()),
    ):
        with pytest.raises(KeyError, match=r'must not contain "."'):
            register("a.b", value)
        with pytest.raises(KeyError, match="must not be empty"):
            register("", value)
        with pytest.raises(KeyError, match="already exists"):
            register("plain", value)
        with pytest.raises(TypeError, match="must be a str"):
            register(3, value)
    computed = Parameter(genesis.ones(1), requires_grad=False)
    computed.mul_(genesis.ones(1, requires_grad=True))
    with pytest.raises(ValueError, match="'w' was computed by <MulBackward>"):
        net.w = computed
    with pytest.raises(TypeError, match="Parameter or None required"):
        net.register_parameter("w", genesis.ones(1))
    with pytest.raises(TypeError, match="Tensor or None required"):
        net.register_buffer("w", [1.0])
    with pytest.raises(TypeError, match="not a Module subclass"):
        net.register_module("w", lambda x: x)


def test_forgetting_super_init_is_named():
    class Forgot(Module):
        def __init__(self):
            self.layer = nn.Linear(1, 1)

    class Nothing(Module):
        def __init__(self):
            self.number = 3

        def forward(self, x):
            return x

    with pytest.raises(AttributeError, match=r"Forgot: Module.__init__\(\) was not called"):
        Forgot()
    for use in (lambda m: m(1), lambda m: m.parameters(), lambda m: m.state_dict(), repr):
        with pytest.raises(AttributeError, match=r"Nothing: Module.__init__\(\) was not called"):
            use(Nothing())


def test_module_takes_no_arguments_and_needs_forward():
    with pytest.raises(TypeError, match="unexpected keyword argument 'size'"):
        Module(size=3)
    with pytest.raises(NotImplementedError, match='missing the required "forward"'):
        Module()(1)


def test_an_own_getattr_still_works():
    class Wrapper(Module):
        def __init__(self, module):
            super().__init__()
            self.module = module

        def __getattr__(self, name):
            try:
                return super().__getattr__(name)
            except AttributeError:
                return getattr(self.module, name)

    wrapped = Wrapper(nn.Linear(2, 3))
    assert wrapped.out_features == 3 and wrapped.module.weight is wrapped.weight


# ---- walks -------------------------------------------------------------------------------------


def shared_net():
    shared = nn.Linear(2, 2)
    return nn.Sequential(shared, nn.ReLU(), shared, nn.Sequential(nn.Linear(2, 1)))


def test_names_and_order_are_those_of_torch():
    torch = pytest.importorskip("torch")
    shared = torch.nn.Linear(2, 2)
    theirs = torch.nn.Sequential(
        shared, torch.nn.ReLU(), shared, torch.nn.Sequential(torch.nn.Linear(2, 1))
    )
    ours = shared_net()
    for duplicates in (True, False):
        for walk in ("named_modules", "named_parameters"):
            options = {"remove_duplicate": duplicates, "prefix": "net"}
            names = [name for name, _ in getattr(ours, walk)(**options)]
            assert names == [name for name, _ in getattr(theirs, walk)(**options)]
    assert [n for n, _ in ours.named_children()] == [n for n, _ in theirs.named_children()]
    assert list(ours.state_dict()) == list(theirs.state_dict())
    assert len(list(ours.modules())) == len(list(theirs.modules()))


def test_parameters_is_an_iterator_with_a_length():
    parameters = nn.Linear(2, 3).parameters()
    assert len(parameters) == 2
    assert next(parameters).shape == (3, 2)
    assert len(parameters) == 1
    assert [p.shape for p in parameters] == [(3,)]
    assert len(parameters) == 0 and list(parameters) == []
    assert len(Net().parameters(recurse=False)) == 1
    assert len(Net().named_parameters()) == 3 and len(Net().buffers()) == 2


def test_things_are_found_by_path():
    net = nn.Sequential(Net())
    assert net.get_submodule("") is net
    assert net.get_submodule("0.first") is net[0].first
    assert net.get_parameter("0.first.weight") is net[0].first.weight
    assert net.get_buffer("0.count") is net[0].count
    for call, text in (
        (lambda: net.get_submodule("0.second"), "'second' of Net does not exist"),
        (lambda: net.get_submodule("0.plain"), "is not a Module"),
        (lambda: net.get_parameter("0.count"), "no parameter 'count'"),
        (lambda: net.get_buffer("0.scale"), "no buffer 'scale'"),
        (lambda: net.set_submodule("0.new", nn.Identity(), strict=True), "does not exist"),
        (lambda: net.set_submodule("0.plain", nn.Identity()), "is not a Module"),
    ):
        with pytest.raises(AttributeError, match=text):
            call()
    net.set_submodule("0.first", nn.Identity())
    assert isinstance(net[0].first, nn.Identity)
    net.set_submodule("0.second", nn.Identity())
    with pytest.raises(ValueError, match="must not be empty"):
        net.set_submodule("", nn.Identity())


def test_apply_goes_from_the_leaves_up():
    seen = []
    net = nn.Sequential(nn.Identity(), nn.Sequential(nn.ReLU()))
    assert net.apply(seen.append) is net
    assert [type(m).__name__ for m in seen] == ["Identity", "ReLU", "Sequential", "Sequential"]


# ---- modes and gradients -------------------------------------------------------------------------


def test_train_and_eval_reach_all_modules():
    net = nn.Sequential(Net(), nn.Dropout())
    assert net.eval() is net
    assert not any(m.training for m in net.modules())
    net.train()
    assert all(m.training for m in net.modules())
    with pytest.raises(ValueError, match="must be a bool"):
        net.train("yes")


def test_requires_grad_and_zero_grad():
    net = Net()
    net(genesis.ones(1, 2)).sum().backward()
    net.zero_grad(set_to_none=False)
    assert all(p.grad is not None and not p.grad.any() for p in net.parameters())
    net.zero_grad()
    assert all(p.grad is None for p in net.parameters())
    net.requires_grad_(False)
    assert not any(p.requires_grad for p in net.parameters())


# ---- conversion ----------------------------------------------------------------------------------


def test_to_converts_values_and_gradients_and_keeps_the_parameters():
    net = Net()
    net.register_buffer("index", genesis.zeros(1, dtype=genesis.int64))
    net(genesis.ones(1, 2)).sum().backward()
    parameters = list(net.parameters())
    assert net.to(genesis.float64) is net
    assert [id(p) for p in net.parameters()] == [id(p) for p in parameters]
    assert all(p.dtype == genesis.float64 == p.grad.dtype for p in parameters)
    assert net.count.dtype == genesis.float64 and net.index.dtype == genesis.int64
    for convert, dtype in (
        (net.float, genesis.float32), (net.double, genesis.float64), (net.half, genesis.float16),
        (net.bfloat16, genesis.bfloat16), (lambda: net.to("cpu", genesis.float32), genesis.float32),
        (lambda: net.to(genesis.ones(1, dtype=genesis.float64)), genesis.float64),
        (lambda: net.to(device="cpu", dtype=genesis.float16, non_blocking=True), genesis.float16),
    ):  # fmt: skip
        convert()
        assert net.scale.dtype == dtype == net.count.dtype
    assert net.cpu() is net and net.to_empty(device="cpu") is net
    net.type(genesis.float32)
    assert net.index.dtype == genesis.float32


def test_to_refuses_what_makes_no_sense():
    with pytest.raises(TypeError, match="must be floating"):
        Net().to(genesis.int64)
    with pytest.raises(RuntimeError, match="'cuda' is not available"):
        Net().to("cuda")
    with pytest.raises(TypeError, match="expected a dtype, a device or a tensor, got list"):
        Net().to([])


# ---- text --------------------------------------------------------------------------------------


def test_text_is_that_of_torch():
    torch = pytest.importorskip("torch")

    def build(nn):
        class Extra(nn.Module):
            def extra_repr(self):
                return "one\ntwo"

        class Both(nn.Module):
            def __init__(self):
                super().__init__()
                self.inner = nn.Sequential(nn.Linear(2, 3, bias=False), nn.ReLU(inplace=True))
                self.none = None

            def extra_repr(self):
                return "size=3"

        empty = nn.Module()
        return [Extra(), Both(), empty, nn.Sequential(), nn.Sequential(Both(), Extra())]

    for ours, theirs in zip(build(nn), build(torch.nn), strict=True):
        assert repr(ours) == repr(theirs) == str(ours)


# ---- copies ------------------------------------------------------------------------------------


class Tied(Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = nn.Linear(2, 2), nn.Linear(2, 2)
        self.b.weight = self.a.weight
        self.register_buffer("table", genesis.arange(3.0))
        self.alias = self.table


@pytest.mark.parametrize("copier", [copy.deepcopy, lambda m: pickle.loads(pickle.dumps(m))])
def test_copies_are_whole_and_their_own(copier):
    net = Tied()
    net.a.weight.grad = genesis.ones(2, 2)
    net.eval()
    twin = copier(net)
    assert twin.a.weight is twin.b.weight is twin.a._parameters["weight"] is not net.a.weight
    assert not twin.training and len(twin.parameters()) == 3
    assert twin.a.weight.requires_grad and isinstance(twin.a.weight, Parameter)
    assert list(twin.state_dict()) == list(net.state_dict())
    with genesis.no_grad():
        twin.a.weight.zero_()
    assert net.a.weight.abs().sum() > 0
    twin.a.weight = Parameter(genesis.ones(2, 2))  # the registries of the copy are its own
    assert net.a.weight.shape == (2, 2) and net.a._parameters["weight"] is net.a.weight
    assert twin.a._parameters["weight"] is twin.a.weight
    twin.a._parameters["weight"] = None
    assert twin.a.weight is None and net.a.weight is not None


def test_a_shallow_copy_shares_tensors_but_not_names():
    net = Net()
    twin = copy.copy(net)
    assert twin.scale is net.scale and twin.first is net.first
    twin.scale = Parameter(genesis.zeros(3))
    assert net.scale.sum() == 3


def test_deepcopy_keeps_hooks():
    layer = nn.Identity()
    layer.register_forward_hook(add_one)
    assert copy.deepcopy(layer)(genesis.zeros(1)).item() == 1


def add_one(module, args, output):
    return output + 1


def test_a_module_dies_with_its_last_reference():
    gc.disable()
    try:
        net = nn.Sequential(
            nn.Linear(2, 2), nn.BatchNorm1d(2) if hasattr(nn, "BatchNorm1d") else nn.ReLU()
        )
        dead = [weakref.ref(net), weakref.ref(net[0]), weakref.ref(net[0].weight)]
        net(genesis.ones(3, 2)).sum().backward()
        del net
        assert [d() for d in dead] == [None] * 3
    finally:
        gc.enable()


# ---- parameters ----------------------------------------------------------------------------------


def test_parameters_share_memory_and_may_be_updated_in_place():
    data = genesis.zeros(2)
    p = Parameter(data)
    assert p.is_leaf and p.requires_grad and repr(p).startswith("Parameter containing:\ntensor(")
    (p * 3).sum().backward()
    p -= 0.5 * p.grad
    assert data.tolist() == [-1.5, -1.5] and p.is_leaf
    with pytest.raises(TypeError, match="must be a Tensor, got list"):
        Parameter([1.0])
    assert not Parameter(data, requires_grad=False).requires_grad
    assert Parameter().shape == (0,)


def test_training_a_small_model_lowers_the_loss():
    genesis.manual_seed(0)
    net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 1))
    x = genesis.randn(64, 2)
    y = (x[:, :1] * x[:, 1:]).sign()
    losses = []
    for _ in range(200):
        loss = ((net(x) - y) ** 2).mean()
        losses.append(loss.item())
        net.zero_grad()
        loss.backward()
        for p in net.parameters():
            p -= 0.1 * p.grad
    assert losses[-1] < 0.5 * losses[0]
    np.testing.assert_allclose(losses[0], 1.0, atol=0.4)
