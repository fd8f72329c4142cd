"""What all optimizers share: groups, states, hooks, closures, copies, errors."""

import copy
import pickle

import genesis
import numpy as np
import pytest
from genesis import optim
from genesis.optim.optimizer import (
    register_optimizer_step_post_hook,
    register_optimizer_step_pre_hook,
)

from tests.optim.cases import CASES, LION, name_of, parameters, set_gradients

ALL = pytest.mark.parametrize("case", [*CASES, *LION], ids=name_of)


@pytest.fixture
def p():
    p = genesis.nn.Parameter(genesis.ones(3))
    p.grad = genesis.ones(3)
    return p


def test_groups_have_options_of_their_own(p):
    q = genesis.nn.Parameter(genesis.ones(2))
    q.grad = genesis.ones(2)
    optimizer = optim.SGD([{"params": [p]}, {"params": q, "lr": 0.5, "label": "head"}], lr=0.1)
    optimizer.step()
    assert np.allclose(p.tolist(), 0.9)
    assert np.allclose(q.tolist(), 0.5)
    assert optimizer.param_groups[1]["label"] == "head"
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    assert np.allclose(p.tolist(), -0.1)


def test_a_group_can_be_added_later(p):
    optimizer = optim.Adam([p])
    optimizer.step()
    q = genesis.nn.Parameter(genesis.ones(2))
    optimizer.add_param_group({"params": [q], "lr": 0.1})
    q.grad = genesis.ones(2)
    optimizer.step()
    assert np.allclose(q.tolist(), 0.9)
    assert optimizer.state[p]["step"] == 2
    assert optimizer.state[q]["step"] == 1


def test_parameters_may_have_names(p):
    optimizer = optim.SGD([("weight", p)])
    assert optimizer.param_groups[0]["param_names"] == ["weight"]
    assert optimizer.state_dict()["param_groups"][0]["param_names"] == ["weight"]
    with pytest.raises(ValueError, match="names"):
        optimizer.add_param_group({"params": [genesis.nn.Parameter(genesis.ones(1))]})


def test_parameters_without_a_gradient_stay_and_have_no_state(p):
    q = genesis.nn.Parameter(genesis.ones(2))
    optimizer = optim.Adam([p, q])
    optimizer.step()
    assert q.tolist() == [1.0, 1.0]
    assert list(optimizer.state) == [p]


def test_the_state_may_be_changed_between_steps(p):
    optimizer = optim.SGD([p], lr=1.0, momentum=1.0)
    optimizer.step()
    optimizer.state[p]["momentum_buffer"] = genesis.full((3,), 4.0)
    optimizer.step()
    assert p.tolist() == [-5.0] * 3
    optimizer.state.clear()
    optimizer.step()
    assert p.tolist() == [-6.0] * 3


def test_a_learning_rate_may_be_a_tensor(p):
    optim.SGD([p], lr=genesis.tensor(0.5)).step()
    assert p.tolist() == [0.5] * 3


def test_a_closure_computes_the_loss_and_runs_with_gradients(p):
    optimizer = optim.SGD([p], lr=0.5)

    def closure():
        optimizer.zero_grad()
        loss = (p * p).sum()
        loss.backward()
        return loss

    with genesis.no_grad():
        loss = optimizer.step(closure)
    assert loss.item() == 3.0
    assert p.tolist() == [0.0] * 3


def test_zero_grad_drops_or_clears(p):
    optimizer = optim.SGD([p])
    grad = p.grad
    optimizer.zero_grad(set_to_none=False)
    assert p.grad is grad
    assert grad.tolist() == [0.0] * 3
    optimizer.zero_grad()
    assert p.grad is None


def test_hooks_run_around_a_step_and_can_be_removed(p):
    seen = []
    optimizer = optim.AdamW([p])
    handles = [
        optimizer.register_step_pre_hook(lambda o, args, kwargs: seen.append("before")),
        optimizer.register_step_post_hook(lambda o, args, kwargs: seen.append("after")),
        register_optimizer_step_pre_hook(lambda o, args, kwargs: seen.append("all before")),
        register_optimizer_step_post_hook(lambda o, args, kwargs: seen.append("all after")),
    ]
    try:
        optimizer.step()
        assert seen == ["all before", "before", "after", "all after"]
    finally:
        for handle in handles:
            handle.remove()
    optimizer.step()
    assert len(seen) == 4


def test_a_hook_runs_once_when_a_step_calls_its_parents(p):
    class Loud(optim.SGD):
        def step(self, closure=None):
            return super().step(closure)

    count = []
    optimizer = Loud([p])
    optimizer.register_step_pre_hook(lambda *_: count.append(1))
    optimizer.step()
    optimizer.step()
    assert len(count) == 2


def test_a_pre_hook_may_change_the_arguments(p):
    optimizer = optim.SGD([p])
    optimizer.register_step_pre_hook(lambda o, args, kwargs: ((o,), {"closure": lambda: 7}))
    assert optimizer.step() == 7
    optimizer.register_step_pre_hook(lambda o, args, kwargs: 3)
    with pytest.raises(RuntimeError, match="pre-hook must return None or a tuple"):
        optimizer.step()


def test_hooks_of_the_state_dict_may_replace_it(p):
    optimizer, seen = optim.SGD([p], momentum=0.9), []
    optimizer.register_state_dict_pre_hook(lambda o: seen.append("save"))
    optimizer.register_state_dict_post_hook(lambda o, d: {**d, "extra": 1})
    optimizer.register_load_state_dict_pre_hook(lambda o, d: seen.append(d["extra"]))
    optimizer.register_load_state_dict_post_hook(lambda o: seen.append("loaded"))
    optimizer.load_state_dict(optimizer.state_dict())
    assert seen == ["save", 1, "loaded"]


@ALL
def test_a_loaded_state_goes_on_in_the_same_way(case):
    name, options = case
    params = parameters()
    optimizer = getattr(optim, name)(params, **options)
    rng = np.random.default_rng(0)
    for _ in range(3):
        set_gradients(params, rng)
        optimizer.step()
    twins = [genesis.nn.Parameter(p.detach().clone()) for p in params]
    twin = getattr(optim, name)(twins)
    twin.load_state_dict(optimizer.state_dict())
    deep, deep_params = copy.deepcopy((optimizer, params))
    pickled, pickled_params = pickle.loads(pickle.dumps((optimizer, params)))
    everybody = [(optimizer, params), (twin, twins), (deep, deep_params), (pickled, pickled_params)]
    for _ in range(3):
        set_gradients(params, rng)
        for o, others in everybody:
            for p, q in zip(params, others, strict=True):
                q.grad = p.grad
            o.step()
    for _, others in everybody[1:]:
        for p, q in zip(params, others, strict=True):
            np.testing.assert_array_equal(p.detach().numpy(), q.detach().numpy())


def test_loading_casts_to_the_dtype_of_the_parameter_but_not_the_step(p):
    optimizer = optim.Adam([p])
    optimizer.step()
    half = genesis.nn.Parameter(genesis.ones(3, dtype=genesis.bfloat16))
    other = optim.Adam([half])
    other.load_state_dict(optimizer.state_dict())
    assert other.state[half]["exp_avg"].dtype == "bfloat16"
    assert other.state[half]["step"].dtype == "float32"


def test_loading_another_shape_of_groups_raises(p):
    other = optim.SGD([p, genesis.nn.Parameter(genesis.ones(1))])
    with pytest.raises(ValueError, match=r"hold \[2\] parameters, this optimizer's hold \[1\]"):
        optim.SGD([p]).load_state_dict(other.state_dict())


@pytest.mark.parametrize(
    ("name", "options", "text"),
    [
        ("SGD", {"lr": -1.0}, "SGD: lr must not be negative, got -1.0"),
        ("SGD", {"nesterov": True}, "nesterov needs a momentum"),
        ("Adam", {"betas": (1.0, 0.9)}, r"betas must be at least 0 and below 1, got \(1.0, 0.9\)"),
        ("AdamW", {"eps": -1.0}, "AdamW: eps must not be negative"),
        ("Adadelta", {"rho": 2.0}, "rho must be between 0 and 1"),
        ("Rprop", {"etas": (1.5, 2.0)}, "etas must be around 1"),
        ("RMSprop", {"momentum": -1.0}, "momentum must not be negative"),
    ],
)
def test_bad_options_raise(p, name, options, text):
    with pytest.raises(ValueError, match=text):
        getattr(optim, name)([p], **options)


def test_bad_parameters_raise(p):
    with pytest.raises(TypeError, match="put it in a list"):
        optim.SGD(p)
    with pytest.raises(ValueError, match="no parameters"):
        optim.SGD([])
    with pytest.raises(TypeError, match="got int"):
        optim.SGD([1])
    with pytest.raises(ValueError, match="can only optimize leaves"):
        optim.SGD([p * 2])
    with pytest.raises(TypeError, match="use a list"):
        optim.SGD([{"params": {p}}])
    with pytest.raises(ValueError, match="in another group already"):
        optim.SGD([{"params": [p]}, {"params": [p]}])
    with pytest.raises(ValueError, match="twice in one group"):
        optim.SGD([p, p])
    with pytest.raises(TypeError, match="a dict with a key 'params'"):
        optim.SGD([p]).add_param_group([p])


def test_nothing_is_changed_by_a_step_that_raises(p):
    q = genesis.nn.Parameter(genesis.ones(2))
    q.grad = genesis.ones(2)
    optimizer = optim.Adam([p, q])
    optimizer.step()
    optimizer.state[q]["exp_avg"] = genesis.ones(5)
    before = p.tolist()
    with pytest.raises(
        ValueError, match=r"the state of a parameter of shape \(2,\) has shape \(5,\)"
    ):
        optimizer.step()
    assert p.tolist() == before
    assert optimizer.state[p]["step"] == 1
    optimizer.param_groups[0]["lr"] = "fast"
    with pytest.raises(TypeError, match="'lr' must be a number, got str"):
        optimizer.step()
    del optimizer.param_groups[0]["lr"]
    with pytest.raises(KeyError, match="lacks 'lr'"):
        optimizer.step()


def test_a_subclass_may_do_everything_itself(p):
    class Half(optim.Optimizer):
        def step(self, closure=None):
            for group in self.param_groups:
                for q in group["params"]:
                    q.data.mul_(group["factor"])

    optimizer = Half([p], {"factor": 0.5})
    called = []
    optimizer.register_step_post_hook(lambda *_: called.append(1))
    optimizer.step()
    assert p.tolist() == [0.5] * 3
    assert called == [1]
    with pytest.raises(NotImplementedError, match="does not define step"):
        optim.Optimizer([p], {}).step()
