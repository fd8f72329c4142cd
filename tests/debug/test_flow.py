"""Gradient norms of layers over steps."""

import math

import genesis
import pytest
from genesis import debug, nn


def test_norms_are_those_of_the_gradients():
    genesis.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))
    flow = debug.gradient_flow(model)
    expected = []
    for _ in range(3):
        model.zero_grad()
        model(genesis.randn(2, 4)).sum().backward()
        grads = [p.grad for p in model[0].parameters()]
        expected.append(math.sqrt(sum(float(g.norm()) ** 2 for g in grads)))
    assert flow.norms["0"] == pytest.approx(expected)
    assert flow.norms.keys() == {"0", "2"}


def test_a_layer_without_a_gradient_is_marked():
    model = nn.ModuleDict({"used": nn.Linear(2, 1), "unused": nn.Linear(2, 1)})
    with debug.gradient_flow(model) as flow:
        for _ in range(2):
            model["used"](genesis.ones(1, 2)).sum().backward()
    assert all(math.isnan(v) for v in flow.norms["unused"])
    assert "no gradient" in flow.svg()
    model["used"](genesis.ones(1, 2)).sum().backward()
    assert len(flow.norms["used"]) == 2  # no longer recorded


def test_pictures(tmp_path):
    model = nn.Linear(3, 1)
    flow = debug.gradient_flow(model)
    for _ in range(500):
        model.zero_grad()
        model(genesis.ones(1, 3)).sum().backward()
    assert flow.svg().count("<rect") == 160  # means of stretches
    flow.save(tmp_path / "flow.svg")
    flow.save(tmp_path / "flow.html")
    assert "<svg" in (tmp_path / "flow.html").read_text()
    assert str(flow).splitlines()[0].split() == ["layer", "first", "last", "smallest", "largest"]
    with pytest.raises(ValueError, match=r"must end with \.svg or \.html"):
        flow.save(tmp_path / "flow.png")


def test_a_model_without_parameters_is_refused():
    with pytest.raises(ValueError, match="gradient_flow: Tanh has no parameters"):
        debug.gradient_flow(nn.Tanh())
