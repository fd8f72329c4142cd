"""Typed signatures: what they say is what the functions do, and a name is bound once."""

import inspect

import genesis
import pytest
from genesis import _C

OPS = _C.op_info()


@pytest.mark.parametrize("owner", ["genesis._C.relu", "genesis.Tensor.softmax"])
def test_binding_a_name_twice_raises(owner):
    name = owner.rpartition(".")[2]
    before = getattr(_C, name)
    with pytest.raises(RuntimeError, match=f"{name} is bound twice"):
        _C._publish(f"{name}(Tensor input) -> Tensor")
    assert getattr(_C, name) is before


@pytest.mark.parametrize(
    ("signature", "message"),
    [
        ("_nothing(input) -> Tensor", "a parameter without a type, 'input'"),
        ("_nothing(Tensr input) -> Tensor", "unknown type 'Tensr'"),
        ("_nothing(Tensor input) -> Tensr", "unknown type 'Tensr'"),
        ("_nothing(Tensor input)", "a signature must be"),
        ("_nothing(" + ", ".join(f"int p{i}" for i in range(13)) + ") -> None", "too many"),
    ],
)
def test_a_malformed_signature_raises(signature, message):
    with pytest.raises(RuntimeError, match=message):
        _C._publish(signature)
    assert not hasattr(_C, "_nothing")


def _callables():
    for op in OPS:
        if op["function"]:
            yield pytest.param(getattr(_C, op["name"]), op, id=op["name"])
        if op["method"]:
            yield pytest.param(getattr(genesis.Tensor, op["name"]), op, id=f"Tensor.{op['name']}")


@pytest.mark.parametrize(("function", "op"), list(_callables()))
def test_inspect_shows_the_signature(function, op):
    shown = list(inspect.signature(function).parameters.values())
    assert [p.name for p in shown] == [p["name"] for p in op["params"]]
    for p, known in zip(shown, op["params"], strict=True):
        default = known["default"]
        assert p.default == (inspect.Parameter.empty if default is None else eval(default))
        variadic = p.kind is inspect.Parameter.VAR_POSITIONAL
        assert variadic == known["variadic"]
        assert (p.kind is inspect.Parameter.KEYWORD_ONLY) == known["keyword_only"]
    if op["doc"]:
        assert op["doc"] in function.__doc__


def test_a_default_is_read_from_the_signature():
    x = genesis.tensor([0.5, -1.0])
    op = next(op for op in OPS if op["name"] == "softplus")
    defaults = [eval(p["default"]) for p in op["params"][1:]]
    assert genesis.softplus(x).tolist() == genesis.softplus(x, *defaults).tolist()
    assert genesis.softplus(x, beta=None).tolist() == genesis.softplus(x).tolist()


def test_results_in_place_are_the_first_argument():
    names = {op["name"] for op in OPS if op["returns"] == "Self"}
    assert names == {
        op["name"] for op in OPS if op["name"].endswith("_") and not op["name"].endswith("__")
    }
