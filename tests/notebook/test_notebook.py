"""What notebooks show: whole, small, escaped."""

import re
import subprocess
import sys
from html.parser import HTMLParser

import genesis
import pytest
from genesis import nn


class Tree(HTMLParser):
    """Checks that tags are closed in order, and keeps what they say."""

    def __init__(self, text):
        super().__init__()
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open, f"not closed: {self.open}"

    def handle_starttag(self, tag, attrs):
        self.open.append(tag)
        self.tags.append(tag)
        assert tag in {"div", "table", "tr", "th", "td", "pre", "details", "summary", "span"}
        assert {name for name, _ in attrs} <= {"style", "open"}

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)


def cells(t):
    rows = re.findall("<tr>(.*?)</tr>", t._repr_html_())
    return [re.findall("<td[^>]*>(.*?)</td>", row) for row in rows]


def test_a_matrix_is_a_table():
    x = genesis.tensor([[1.5, -2.0], [0.25, 100.0]])
    assert cells(x) == [["1.5000", "-2.0000"], ["0.2500", "100.0000"]]
    assert Tree(x._repr_html_()).words[-1] == "Tensor · shape (2, 2) · float32"


def test_a_vector_is_a_row():
    assert cells(genesis.arange(3)) == [["0", "1", "2"]]
    assert cells(genesis.tensor([True, False])) == [["True", "False"]]


@pytest.mark.parametrize(
    "dtype", [genesis.float16, genesis.bfloat16, genesis.float64, genesis.uint8]
)
def test_every_dtype_is_shown_and_named(dtype):
    x = genesis.ones(2, 2, dtype=dtype)
    assert cells(x)[0][0] in ("1.", "1")
    assert str(dtype).rpartition(".")[2] in Tree(x._repr_html_()).words[-1]


def test_large_tensors_show_their_ends():
    x = genesis.arange(1000 * 800).reshape(1000, 800)
    table = cells(x)
    assert table[0] == ["0", "1", "2", "…", "797", "798", "799"]
    assert table[3] == ["⋮"] * 7
    assert table[-1][-1] == str(1000 * 800 - 1)
    assert len(x._repr_html_()) < 4000


def test_cut_along_one_dimension_only():
    assert [len(row) for row in cells(genesis.ones(100, 2))] == [2] * 7
    assert cells(genesis.ones(2, 100))[0] == ["1."] * 3 + ["…"] + ["1."] * 3


@pytest.mark.parametrize("shape", [(), (0,), (0, 3), (2, 0), (2, 2, 2), (30, 30, 30)])
def test_other_shapes_are_text(shape):
    html = genesis.zeros(shape)._repr_html_()
    tree = Tree(html)
    assert "pre" in tree.tags and f"shape {shape}" in tree.words[-1] and len(html) < 6000


def test_special_values():
    assert cells(genesis.tensor([float("nan"), float("inf"), 1.0])) == [["nan", "inf", "1."]]


def test_what_gradients_it_has_is_said():
    x = genesis.ones(2, requires_grad=True)
    assert "requires grad" in x._repr_html_()
    assert "grad_fn MulBackward" in (x * 2)._repr_html_()
    assert "Parameter" in nn.Parameter(x.detach())._repr_html_()


def test_it_does_not_touch_the_graph_or_other_memory():
    x = genesis.ones(3, requires_grad=True)
    y = x * 2
    before = y._version
    y._repr_html_()
    assert y._version == before
    y.sum().backward()
    assert x.grad.tolist() == [2, 2, 2]


def test_a_module_is_a_tree_with_counts():
    model = nn.Sequential(nn.Linear(2, 3), nn.Sequential(nn.ReLU(), nn.Linear(3, 1)))
    tree = Tree(model._repr_html_())
    assert tree.tags.count("details") == 2
    text = "".join(tree.words)
    assert "Sequential() 13 parameters" in text
    assert "(0): Linear(in_features=2, out_features=3, bias=True) 9 parameters" in text
    assert "(1): Sequential() 4 parameters" in text


def test_frozen_parameters_and_shared_ones_are_counted():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2))
    model[1].weight = model[0].weight
    model[0].bias.requires_grad_(False)
    assert "8 parameters, 2 frozen" in "".join(Tree(model._repr_html_()).words)


def test_what_users_write_is_escaped():
    class Sly(nn.Module):
        def extra_repr(self):
            return "<script>alert('x')</script>"

    sly = nn.ModuleDict({"<img src=x>": Sly()})
    html = sly._repr_html_()
    Tree(html)
    assert "<script" not in html and "<img" not in html and "&lt;script&gt;" in html

    class B(genesis.Tensor):
        pass

    B.__name__ = "<b>"
    assert "<b>" not in B([1.0, 2.0])._repr_html_()


def test_large_models_stay_small():
    model = nn.ModuleList(nn.Linear(1, 1) for _ in range(2000))
    html = model._repr_html_()
    assert len(html) < 10_000 and "1960 more" in html and "(1999): Linear" in html


def test_deep_models_are_folded():
    model = nn.ReLU()
    for _ in range(6):
        model = nn.Sequential(model)
    html = model._repr_html_()
    assert html.count("<details open>") == 2 and html.count("<details>") == 4


def test_missing_submodules():
    model = nn.Module()
    model.head = nn.ReLU()
    model.head = None
    assert "(head): None" in model._repr_html_()


def test_profiles_are_tables():
    with genesis.profiler.profile() as p:
        (genesis.ones(20, 20) @ genesis.ones(20, 20)).exp()
    averages = p.key_averages()
    tree = Tree(averages._repr_html_())
    assert {"Name", "Self CPU", "exp", "matmul"} <= set(tree.words)
    assert "exp" in Tree(p._repr_html_()).words
    assert averages.table().splitlines()[0].split()[:3] == ["Name", "Self", "CPU"]


def test_a_profile_that_was_not_started():
    assert "not started" in genesis.profiler.profile()._repr_html_()


def test_histories_are_a_curve_and_a_table():
    from genesis.report import History

    history = History([2.0, 1.0, 0.5], [{"loss": 1.2, "<b>": 0.5, "seconds": 0.1}] * 30)
    html = history._repr_html_()
    assert html.count("<svg") == 1 and html.count("<tr>") == 11 and "<b>" not in html
    assert "1.2" in html and len(html) < 10_000
    assert "nothing yet" in History()._repr_html_()


def test_it_costs_nothing_at_import():
    code = "import sys, genesis; assert 'genesis._notebook' not in sys.modules and 'html' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
