"""Summaries of models: shapes, parameters, FLOPs and memory, and a model that stays as it was."""

import genesis
import pytest
from genesis import nn
from genesis._flops import flops
from genesis.debug import summary


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(nn.Linear(8, 16), nn.Linear(16, 16))
        self.head = nn.Linear(16, 2)
        self.unused = nn.Linear(2, 2)
        self.register_buffer("count", genesis.zeros(3))

    def forward(self, x, scale=1.0):
        self.count += 1
        for _ in range(2):
            x = self.body[1](self.body[0](x)[:, :16]).relu()[:, :8]
        return self.head(genesis.cat([x, x], 1)) * scale


def linear(n, i, o):
    return 2 * n * i * o + n * o


def test_rows_tell_of_each_module():
    s = summary(Net(), genesis.ones(4, 8))
    rows = {row.path: row for row in s.rows}
    assert list(rows) == ["", "body", "body.0", "body.1", "head", "unused"]
    assert rows["body.0"].output_shapes == [(4, 16)] and rows["body.0"].calls == 2
    assert rows["body.0"].parameters == 8 * 16 + 16
    assert rows["body.0"].flops == 2 * linear(4, 8, 16)
    assert rows["head"].flops == linear(4, 16, 2)
    assert rows["unused"].calls == 0 and rows["unused"].flops == 0
    assert (
        rows[""].flops
        == s.flops
        == 2 * (linear(4, 8, 16) + linear(4, 16, 16) + 4 * 16) + linear(4, 16, 2) + 8 + 3
    )
    assert s.parameters == sum(p.numel() for p in Net().parameters()) == s.trainable
    assert s.parameter_bytes == 4 * s.parameters and s.buffer_bytes == 12
    assert s.input_bytes == 4 * 8 * 4 and s.output_bytes == 4 * 2 * 4
    assert s.saved_bytes > 0 and s.peak_bytes > 0
    assert rows[""].saved_bytes == s.saved_bytes >= rows["body.0"].saved_bytes > 0


def test_it_prints_as_a_table():
    net = Net()
    net.head.weight.requires_grad_(False)
    text = str(summary(net, genesis.ones(4, 8), depth=1))
    assert "body (Sequential)" in text and "body.0" not in text and "not called" in text
    assert "32 of them not trainable" in text
    assert "FLOPs of a forward pass" in text
    html = summary(net, genesis.ones(4, 8), scale=2.0)._repr_html_()
    assert html.count("<tr>") == 1 + 6


def test_the_model_is_as_before():
    net = Net()
    genesis.manual_seed(3)
    state = genesis.get_rng_state()
    summary(net, genesis.ones(4, 8))
    assert net.count.tolist() == [0.0] * 3
    assert genesis.equal(genesis.get_rng_state(), state)
    assert not net._forward_hooks and not net.head._forward_hooks
    with pytest.raises(ValueError):
        summary(net, genesis.ones(4, 9))
    assert not net.head._forward_hooks


def test_without_gradients_nothing_is_saved():
    with genesis.no_grad():
        s = summary(nn.Linear(3, 4), genesis.ones(2, 3))
    assert s.saved_bytes == 0 and s.flops == linear(2, 3, 4)


@pytest.mark.parametrize(
    ("name", "inputs", "outputs", "expected"),
    [
        ("matmul", [(2, 3), (3, 4)], [(2, 4)], 2 * 2 * 3 * 4),
        ("matmul", [(5, 2, 3), (3, 4)], [(5, 2, 4)], 5 * 2 * 2 * 3 * 4),
        ("mv", [(2, 3), (3,)], [(2,)], 12),
        ("dot", [(7,), (7,)], [()], 14),
        ("addmm", [(4,), (2, 3), (3, 4)], [(2, 4)], 48 + 8),
        ("linear", [(2, 3), (4, 3), (4,)], [(2, 4)], 48 + 8),
        ("linear", [(2, 3), (4, 3)], [(2, 4)], 48),
        ("conv2d", [(1, 3, 8, 8), (6, 3, 3, 3)], [(1, 6, 6, 6)], 2 * 6 * 36 * 27),
        ("conv2d", [(1, 4, 8, 8), (6, 2, 3, 3), (6,)], [(1, 6, 6, 6)], 2 * 6 * 36 * 18 + 216),
        ("conv_transpose2d", [(1, 3, 4, 4), (3, 6, 2, 2)], [(1, 6, 8, 8)], 2 * 48 * 24),
        (
            "scaled_dot_product_attention",
            [(2, 4, 8), (2, 5, 8), (2, 5, 3)],
            [(2, 4, 3)],
            2 * 40 * 11 + 200,
        ),
        ("einsum", [(2, 3), (3, 4)], [(2, 4)], 48),
        ("add", [(2, 3), (2, 3)], [(2, 3)], 6),
        ("add_", [(2, 3), (2, 3)], [(2, 3)], 6),
        ("sum", [(2, 3)], [()], 6),
        ("softmax", [(2, 3)], [(2, 3)], 30),
        ("reshape", [(2, 3)], [(6,)], 0),
        ("ones", [], [(6,)], 0),
    ],
)
def test_floating_point_operations(name, inputs, outputs, expected):
    assert flops(name, inputs, outputs) == expected
