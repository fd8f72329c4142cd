"""The package itself: what importing costs, what names there are, and the small things in them."""

import builtins
import copy
import pickle
import subprocess
import sys

import genesis
import numpy as np
import pytest
from genesis import optim
from genesis._lazy import lazy_imports

# --- import


def _python(code):
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    return done.stdout.strip()


def test_importing_genesis_imports_nothing_that_it_does_not_need():
    loaded = _python("import sys, genesis; print(*sorted(sys.modules))").split()
    assert "numpy" not in loaded
    ours = {name for name in loaded if name.startswith("genesis")}
    assert ours == {
        "genesis",
        "genesis._C",
        "genesis._lazy",
        "genesis._missing",
        "genesis._tensor",
        "genesis._version",
    }
    for heavy in ("inspect", "dataclasses", "typing_extensions", "logging", "asyncio"):
        assert heavy not in loaded


def test_modules_come_when_they_are_asked_for():
    code = (
        "import genesis, sys; genesis.nn.functional.relu; genesis.optim.SGD; genesis.autograd.grad;"
        "print('numpy' in sys.modules)"
    )
    assert _python(code) == "False"


def test_computing_and_printing_need_no_numpy():
    code = (
        "import genesis, sys; x = genesis.tensor([1.0, 2.0], requires_grad=True);"
        "(x * x).sum().backward(); print(x.grad, 'numpy' in sys.modules)"
    )
    assert _python(code) == "tensor([2., 4.]) False"


def test_every_public_name_exists():
    for name in genesis.__all__:
        assert hasattr(genesis, name)
    assert set(genesis.__all__) <= set(dir(genesis))
    with pytest.raises(AttributeError, match="no_such_name"):
        genesis.no_such_name


def test_star_import_works_and_gives_no_private_names():
    names = _python(
        "from genesis import *; print(*[n for n in dir() if n.startswith('_')])"
    ).split()
    assert all(name.startswith("__") for name in names)


def test_version_is_a_version():
    assert [int(part) for part in genesis.__version__.split(".")[:2]]


# --- dtypes


def test_dtypes_have_the_other_names_of_pytorch():
    assert genesis.float is genesis.float32
    assert genesis.double is genesis.float64
    assert genesis.half is genesis.float16
    assert genesis.long is genesis.int64
    assert genesis.int is genesis.int32
    assert genesis.short is genesis.int16
    assert genesis.tensor([1], dtype=genesis.float).dtype == "float32"


@pytest.mark.parametrize("name", ["float16", "float32", "float64"])
def test_finfo_is_that_of_numpy(name):
    ours, theirs = genesis.finfo(getattr(genesis, name)), np.finfo(name)
    for field in ("bits", "eps", "max", "min", "tiny", "smallest_normal"):
        assert float(getattr(ours, field)) == float(getattr(theirs, field))
    assert ours.resolution == pytest.approx(float(theirs.resolution), rel=1e-3)


@pytest.mark.parametrize("name", ["uint8", "int8", "int16", "int32", "int64"])
def test_iinfo_is_that_of_numpy(name):
    ours, theirs = genesis.iinfo(getattr(genesis, name)), np.iinfo(name)
    assert (ours.bits, ours.min, ours.max) == (theirs.bits, theirs.min, theirs.max)


def test_limits_of_the_wrong_kind_are_refused():
    assert genesis.finfo(genesis.bfloat16).eps == 2**-7
    assert genesis.finfo().dtype == "float32"
    with pytest.raises(TypeError, match="int32"):
        genesis.finfo(genesis.int32)
    with pytest.raises(TypeError, match="float32"):
        genesis.iinfo(genesis.float32)


def test_questions_about_dtypes():
    f, i = genesis.float32, genesis.int64
    assert genesis.promote_types(f, i) == f
    assert genesis.promote_types(genesis.uint8, genesis.int8) == genesis.int16
    assert genesis.result_type(genesis.ones(2, dtype=i), 1.5) == f
    assert (
        genesis.result_type(genesis.ones(2, dtype=genesis.float16), genesis.tensor(1.0))
        == genesis.float16
    )
    assert genesis.result_type(1, 2.0) == f
    assert genesis.can_cast(i, f)
    assert not genesis.can_cast(f, i)
    assert genesis.broadcast_shapes((2, 1), (3,), 1) == (2, 3)
    assert genesis.is_tensor(genesis.ones(1))
    assert not genesis.is_tensor(np.ones(1))
    with pytest.raises(ValueError, match=r"\(2,\).*\(3,\)"):
        genesis.broadcast_shapes((2,), (3,))


# --- modes


def test_a_decorator_keeps_the_function_as_it_was():
    @genesis.no_grad()
    def f(x: int) -> int:
        """Doc."""
        return x

    assert (f.__name__, f.__doc__) == ("f", "Doc.")
    assert f(3) == 3


def test_modes_decorate_without_parentheses_too():
    @genesis.no_grad
    def f():
        return genesis.is_grad_enabled()

    @genesis.inference_mode
    def g():
        return genesis.is_inference_mode_enabled()

    assert not f()
    assert g()
    assert genesis.is_grad_enabled()


def test_modes_refuse_what_they_cannot_decorate():
    with pytest.raises(TypeError, match="method"):
        genesis.no_grad()(type("C", (), {}))
    with pytest.raises(TypeError):
        genesis.no_grad(5)
    with pytest.raises(TypeError, match="bool"):
        genesis.set_grad_enabled(None)

    async def f():
        pass

    with pytest.raises(TypeError, match="async"):
        genesis.no_grad()(f)


def test_a_decorated_generator_is_inside_only_while_it_runs():
    log = []

    @genesis.no_grad()
    def numbers():
        try:
            while True:
                assert not genesis.is_grad_enabled()
                try:
                    log.append((yield len(log)))
                except KeyError:
                    log.append("caught")
        finally:
            log.append(genesis.is_grad_enabled())

    it = numbers()
    assert next(it) == 0
    assert genesis.is_grad_enabled()
    assert it.send("a") == 1
    assert it.throw(KeyError()) == 2
    it.close()
    assert log == ["a", "caught", False]


def test_one_mode_object_can_be_nested_and_reused():
    mode = genesis.no_grad()
    for _ in range(3):
        with mode, mode:
            assert not genesis.is_grad_enabled()
        assert genesis.is_grad_enabled()
    with pytest.raises(RuntimeError, match="entered"):
        mode.__exit__(None, None, None)


# --- random


def test_fork_rng_puts_the_state_back():
    genesis.manual_seed(3)
    expected = genesis.rand(4).tolist()
    genesis.manual_seed(3)
    with genesis.random.fork_rng():
        genesis.rand(100)
    assert genesis.rand(4).tolist() == expected
    with genesis.fork_rng(enabled=False):
        genesis.rand(1)
    assert genesis.rand(4).tolist() != expected


def test_generators_can_be_copied_and_pickled():
    g = genesis.Generator().manual_seed(2**63 + 5)
    genesis.rand(3, generator=g)
    twins = [copy.deepcopy(g), pickle.loads(pickle.dumps(g)), g.clone_state()]
    expected = genesis.rand(3, generator=g).tolist()
    for twin in twins:
        assert twin.initial_seed() == 2**63 + 5
        assert genesis.rand(3, generator=twin).tolist() == expected
    assert pickle.loads(pickle.dumps(genesis.default_generator)) is genesis.default_generator


def test_seeds_and_states_are_checked():
    assert genesis.manual_seed(-1) is genesis.default_generator
    assert genesis.initial_seed() == 2**64 - 1
    assert genesis.seed() == genesis.initial_seed()
    for wrong in (2**64, -(2**63) - 1):
        with pytest.raises(ValueError, match="seed"):
            genesis.manual_seed(wrong)
    with pytest.raises(TypeError, match="int"):
        genesis.manual_seed(1.5)
    state = genesis.get_rng_state()
    assert state.dtype == genesis.uint8
    for wrong in (state[:5], state.float()):
        with pytest.raises(RuntimeError, match="state"):
            genesis.set_rng_state(wrong)
    with pytest.raises(TypeError, match="state"):
        genesis.set_rng_state(b"")


# --- what a tensor knows of its origin


def test_inputs_are_the_tensors_that_the_graph_keeps():
    x, y = genesis.ones(2, requires_grad=True), genesis.ones(2, requires_grad=True)
    z = x * y
    assert x.inputs == []
    assert z.inputs[0] is x
    assert z.inputs[1] is y
    assert z.creator.inputs[0] is x
    total = (z * z).sum()
    assert total.inputs == [None]  # the sum needs no values
    assert total.creator.next_functions[0][0].inputs[0] is z


def test_zero_grad_drops_or_clears():
    x = genesis.ones(2, requires_grad=True)
    (x * x).sum().backward()
    kept = x.grad
    x.zero_grad(set_to_none=False)
    assert x.grad is kept
    assert x.grad.tolist() == [0, 0]
    x.zero_grad()
    assert x.grad is None
    x.zero_grad()


def test_backward_outside_a_graph_warns_with_a_class_of_its_own():
    with pytest.warns(genesis.autograd.OutsideGraphWarning, match="requires_grad_"):
        genesis.ones(()).backward()


def test_grad_can_make_zeros_of_what_is_unused():
    x, unused = genesis.ones(2, requires_grad=True), genesis.ones(3, requires_grad=True)
    _, zero = genesis.autograd.grad((x * x).sum(), [x, unused], materialize_grads=True)
    assert zero.tolist() == [0, 0, 0]


# --- parameters and SGD


def test_a_parameter_is_updated_in_place():
    data = genesis.ones(2)
    p = genesis.nn.Parameter(data)
    assert p.requires_grad
    assert p.is_leaf
    (p * 3).sum().backward()
    p -= 0.5 * p.grad
    assert p.tolist() == data.tolist() == [-0.5, -0.5]
    assert p.is_leaf
    q = pickle.loads(pickle.dumps(p))
    assert type(q) is genesis.nn.Parameter
    q -= 1  # still one that may be updated
    assert not genesis.nn.Parameter(data, requires_grad=False).requires_grad
    with pytest.raises(TypeError, match="Tensor"):
        genesis.nn.Parameter([1.0])
    with pytest.raises(TypeError, match="floating"):
        genesis.nn.Parameter(genesis.arange(2))


OPTIONS = [
    {},
    {"momentum": 0.9},
    {"momentum": 0.9, "dampening": 0.5},
    {"momentum": 0.9, "nesterov": True},
    {"weight_decay": 0.1},
    {"momentum": 0.5, "weight_decay": 0.1, "maximize": True},
]


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_sgd_steps_as_in_torch(options):
    torch = pytest.importorskip("torch")
    start = np.random.default_rng(0).normal(size=(3, 2)).astype(np.float32)
    ours, theirs = (
        genesis.nn.Parameter(genesis.tensor(start)),
        torch.nn.Parameter(torch.tensor(start)),
    )
    optimizers = [
        optim.SGD([ours], lr=0.1, **options),
        torch.optim.SGD([theirs], lr=0.1, **options),
    ]
    for _ in range(5):
        for p, optimizer in zip((ours, theirs), optimizers, strict=True):
            optimizer.zero_grad()
            ((p * p).sum() * p.sum()).backward()
            optimizer.step()
    np.testing.assert_allclose(ours.detach().numpy(), theirs.detach().numpy(), rtol=1e-5)


def test_sgd_continues_from_its_state():
    def run(p, optimizer, steps):
        for _ in range(steps):
            optimizer.zero_grad()
            (p * p).sum().backward()
            optimizer.step()

    p = genesis.nn.Parameter(genesis.tensor([1.0, -2.0]))
    optimizer = optim.SGD([p], lr=0.1, momentum=0.9)
    run(p, optimizer, 3)
    q = copy.deepcopy(p)
    other = optim.SGD([q], lr=5.0)
    other.load_state_dict(pickle.loads(pickle.dumps(optimizer.state_dict())))
    run(p, optimizer, 3)
    run(q, other, 3)
    assert p.tolist() == q.tolist()


def test_sgd_has_groups_and_skips_what_has_no_gradient():
    a, b = genesis.nn.Parameter(genesis.ones(1)), genesis.nn.Parameter(genesis.ones(1))
    optimizer = optim.SGD([{"params": [a], "lr": 1.0}, {"params": b}], lr=0.5)
    (a + b).sum().backward()
    optimizer.step()
    assert (a.item(), b.item()) == (0.0, 0.5)
    optimizer.zero_grad()
    assert optimizer.step(lambda: 7) == 7
    assert (a.item(), b.item()) == (0.0, 0.5)
    optimizer.add_param_group({"params": [genesis.nn.Parameter(genesis.ones(1))]})
    assert [group["lr"] for group in optimizer.param_groups] == [1.0, 0.5, 0.5]
    assert "lr: 1.0" in repr(optimizer)


def test_sgd_refuses_what_makes_no_sense():
    p = genesis.nn.Parameter(genesis.ones(1))
    for params, options, error in (
        ([], {}, ValueError),
        (p, {}, TypeError),
        ([1.0], {}, TypeError),
        ([p * 2], {}, ValueError),
        ([p], {"lr": -1.0}, ValueError),
        ([p], {"nesterov": True}, ValueError),
        ([p, p], {}, ValueError),
    ):
        with pytest.raises(error):
            optim.SGD(params, **options)
    with pytest.raises(ValueError, match="parameters"):
        optim.SGD([p]).load_state_dict({"state": {}, "param_groups": []})


def test_lazy_imports_are_recorded_and_not_executed():
    names = {"lazy_imports": lazy_imports}
    before = builtins.__import__
    source = """with lazy_imports(globals()) as homes:
    from absent.module import f as f, g as g
    from absent import h as h
"""
    exec(source, names)
    assert names["homes"] == {"f": "absent.module", "g": "absent.module", "h": "absent"}
    assert not {"f", "g", "h"} & names.keys()
    assert builtins.__import__ is before


def test_every_name_that_is_imported_when_used_exists():
    for name in genesis._HOME:
        assert getattr(genesis, name) is not None
