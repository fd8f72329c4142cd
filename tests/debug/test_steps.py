"""Going through backward one node at a time."""

import json
import re

import genesis
import pytest
from genesis import debug, nn


def network():
    genesis.manual_seed(0)
    net = nn.Sequential(nn.Linear(3, 4), nn.Tanh(), nn.Linear(4, 1))
    return net, (net(genesis.randn(5, 3)) ** 2).mean()


def test_steps_are_the_nodes_in_the_order_of_backward():
    _, loss = network()
    assert [s.label for s in debug.steps(loss)] == ["mean", "pow", "linear", "tanh", "linear"]
    assert [s.index for s in debug.steps(loss)] == [1, 2, 3, 4, 5]


def test_gradients_so_far_end_as_those_of_backward():
    net, loss = network()
    last = debug.steps(loss)[-1].so_far
    assert all(p.grad is None for p in net.parameters())
    loss.backward()
    assert last.keys() == dict(net.named_parameters()).keys()
    for name, parameter in net.named_parameters():
        assert genesis.equal(last[name], parameter.grad)


def test_a_leaf_that_is_used_twice_has_the_sum_so_far():
    x = genesis.tensor(2.0, requires_grad=True)
    steps = debug.steps(x * x + x, names={"x": x})
    assert [s.so_far["x"].item() for s in steps] == [1.0, 5.0]


def test_what_comes_in_is_what_was_passed_on():
    x = genesis.tensor([1.0, 2.0], requires_grad=True)
    first, second = debug.steps(x.exp().sum(), names={"x": x})
    assert genesis.equal(first.outgoing[0], second.gradient)
    assert second.targets == ("x",)
    assert str(second) == "2. exp: [1, 1] -> x: [2.718, 7.389]"


def test_a_loss_outside_any_graph_is_refused():
    with pytest.raises(ValueError, match="steps: loss of shape"):
        debug.steps(genesis.ones(1))


def test_a_result_of_several_elements_needs_a_gradient():
    x = genesis.ones(2, requires_grad=True)
    with pytest.raises(RuntimeError):
        debug.steps(x * 2)
    (step,) = debug.steps(x * 2, genesis.tensor([1.0, 3.0]), names={"x": x})
    assert step.so_far["x"].tolist() == [2.0, 6.0]


def test_the_page_has_a_panel_for_each_step_and_needs_nothing_else(tmp_path):
    _, loss = network()
    steps = debug.steps(loss)
    steps.save(tmp_path / "steps.html")
    page = (tmp_path / "steps.html").read_text()
    assert page.count('class="panel"') == len(steps) == 5
    assert 'id="back"' in page and 'id="next"' in page
    assert not re.search(r'(src|href)="http', page)
    keys = json.loads(re.search(r'id="keys">(.*?)</script>', page)[1])
    drawn = {int(k) for k in re.findall(r'data-key="(-?\d+)"', page)}
    assert len(keys) == 5 and {k for step in keys for k in step} <= drawn
    assert "srcdoc=" in steps._repr_html_()


def test_a_large_graph_is_listed_without_a_picture():
    x = genesis.ones(1, requires_grad=True)
    y = x
    for _ in range(200):
        y = y * 1.01
    page = debug.steps(y).html()
    assert "<svg" not in page and page.count('class="panel"') == 200


def test_graph_names_parameters_of_live_modules_and_shows_gradients():
    net, loss = network()
    drawn = debug.graph(loss, gradients=True)
    labels = {v.label for v in drawn.vertices}
    assert {"0.weight", "0.bias", "2.weight", "2.bias"} <= labels
    assert all(p.grad is None for p in net.parameters())
    loss.backward()
    norm = f"‖∇‖ {net[0].weight.grad.norm().item():.3g}"
    assert norm in {link.gradient for link in drawn.links}
    assert norm in drawn.svg()


def test_parameters_of_two_modules_are_told_apart():
    class First(nn.Linear):
        pass

    class Second(nn.Linear):
        pass

    a, b = First(2, 2), Second(2, 2)
    labels = {v.label for v in debug.graph(b(a(genesis.ones(1, 2))).sum()).vertices}
    assert {"First.weight", "Second.weight"} <= labels


def test_gradients_on_edges_need_a_scalar():
    x = genesis.ones(2, requires_grad=True)
    with pytest.raises(ValueError, match="gradients=True needs results of one element"):
        debug.graph(x * 2, gradients=True)


def test_operations_of_a_block_are_folded_under_its_name():
    class Block(nn.Module):
        def __init__(self):
            super().__init__()
            self.first, self.second = nn.Linear(4, 8), nn.Linear(4, 4)

        def forward(self, x):
            a, b = self.first(x).reshape(-1, 2, 4).transpose(0, 1)  # unbind, which has no module
            return x + self.second(a * b)

    model = nn.Sequential(*(Block() for _ in range(8)))
    labels = [v.label for v in debug.graph(model, genesis.ones(3, 4)).vertices]
    assert [label for label in labels if label.startswith("Sequential.")] == [
        f"Sequential.{i}" for i in range(8)
    ]
