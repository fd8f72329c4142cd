"""Graphs: what is in them, that pictures parse, and that nothing in a picture lies over anything else."""

import pathlib
import re
import runpy
import xml.etree.ElementTree as ET

import genesis
import pytest
from genesis import nn
from genesis.debug import graph, trace
from genesis.debug._svg import text_width

SVG = "{http://www.w3.org/2000/svg}"


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first, self.second = nn.Linear(width, width), nn.Linear(width, width)

    def forward(self, x):
        return x + self.second(self.first(x).relu())


class Net(nn.Module):
    def __init__(self, depth, width=4):
        super().__init__()
        self.blocks = nn.Sequential(*(Block(width) for _ in range(depth)))
        self.head = nn.Linear(width, 1)

    def forward(self, x):
        return self.head(self.blocks(x)).mean()


def branches(n):
    x = genesis.ones(3, requires_grad=True)
    a, b = x.exp(), x.sin()
    for i in range(n):
        a, b = a * b, genesis.cat([a, b])[:3] if i % 2 else b + x
    return a.sum() + b.sum()


def labels(g):
    return [v.label for v in g.vertices]


def test_vertices_and_links_follow_the_computation():
    x = genesis.ones(2, 3, requires_grad=True)
    w = nn.Parameter(genesis.ones(3, 4))
    g = graph((x @ w).relu().sum(), names={"x": x, "w": w})
    assert set(labels(g)) == {"x", "w", "matmul", "relu", "sum", "output"}
    kinds = {v.label: v.kind for v in g.vertices}
    assert kinds == {
        "x": "leaf",
        "w": "parameter",
        "matmul": "product",
        "relu": "activation",
        "sum": "reduction",
        "output": "output",
    }
    name = {v.key: v.label for v in g.vertices}
    assert {(name[k.source], name[k.target], k.shape) for k in g.links} == {
        ("x", "matmul", (2, 3)), ("w", "matmul", (3, 4)), ("matmul", "relu", (2, 4)), ("relu", "sum", (2, 4)), ("sum", "output", ()),
    }  # fmt: skip
    place = {v.key: i for i, v in enumerate(g.vertices)}
    assert all(place[k.source] < place[k.target] for k in g.links)
    product = next(v for v in g.vertices if v.label == "matmul")
    assert product.saved_bytes == (6 + 12) * 4
    assert g.saved_bytes == sum(v.saved_bytes for v in g.vertices)


def test_a_model_is_run_and_names_its_parameters_modules_and_lines():
    g = graph(Net(1), genesis.ones(2, 4))
    assert {"blocks.0.first.weight", "head.bias"} <= set(labels(g))
    modules = {v.label: v.module for v in g.vertices if v.kind not in ("parameter", "output")}
    assert modules["relu"] == "Net.blocks.0" and modules["mean"] == "Net"
    places = [v.place for v in g.vertices if v.label == "relu"]
    assert re.search(r"test_graph.py:\d+$", places[0])
    assert g.title == "Net" and "Net" in repr(g)


def test_the_text_lists_sources_before_their_users():
    text = str(graph(branches(2)))
    assert text.splitlines()[0].split()[:5] == ["#", "operation", "output", "dtype", "from"]
    for line in text.splitlines()[1:]:
        numbers = [int(n) for n in re.findall(r"#(\d+)", line)]
        assert numbers[0] > max(numbers[1:], default=-1)


class Odd(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2

    @staticmethod
    def backward(ctx, g):
        return g * 2


def test_functions_of_the_user_have_their_own_name_and_kind():
    x = genesis.ones(2, requires_grad=True)
    with trace():
        y = Odd.apply(x)
    vertex = graph(y).vertices[1]
    assert (vertex.label, vertex.kind) == ("Odd", "custom") and "test_graph.py" in vertex.place


def test_several_outputs_and_a_function():
    def both(x):
        return {"a": x.exp(), "b": [x.sin()]}

    g = graph(both, genesis.ones(2, requires_grad=True))
    assert sorted(v.label for v in g.vertices if v.kind == "output") == ["output 0", "output 1"]
    assert "input" in labels(g)
    values, _ = genesis.ones(2, 3, requires_grad=True).exp().max(dim=1)
    g = graph(values)
    assert next(k for k in g.links if k.target == g.vertices[-1].key).shape == (2,)


def test_shapes_of_all_outputs_are_known_when_traced():
    def parts(x):
        a, b, c = x.split([1, 2, 3])
        return a.sum() * b.sum() * c.sum()

    x = genesis.ones(6, 2, requires_grad=True)
    g = graph(parts, x)
    split = next(v.key for v in g.vertices if v.label == "split")
    assert {k.shape for k in g.links if k.source == split} == {(1, 2), (2, 2), (3, 2)}


# ---- folding ------------------------------------------------------------------------------------------------------


def test_large_graphs_are_folded_by_module():
    net = Net(12)
    g = graph(net, genesis.ones(2, 4))
    assert len(g.vertices) <= 40 < len(g.full.vertices)
    groups = {v.label: v for v in g.vertices if v.kind == "group"}
    assert set(groups) == {f"Net.blocks.{i}" for i in range(12)} | {"Net.head"}
    block = groups["Net.blocks.3"]
    assert block.ops == ["linear", "relu", "linear", "add"] and block.parameters == 2 * (16 + 4)
    assert block.saved_bytes > 0
    assert "folded from" in repr(g)
    assert len(graph(net, genesis.ones(2, 4), fold=False).vertices) == len(g.full.vertices)
    small = graph(net, genesis.ones(2, 4), fold=6)
    assert len(small.vertices) <= 6


def test_what_a_module_computes_between_others_does_not_unfold_them():
    net = nn.Sequential(*(Block(4) for _ in range(5)))
    g = graph(net, genesis.ones(2, 4), fold=25)
    assert (
        sum(v.kind == "group" for v in g.vertices) == 10
    )  # the linear layers, with their parameters
    assert [v.label for v in g.vertices].count("relu") == 5
    assert "Sequential" not in "".join(re.findall(r"<text[^>]*>([^<]*)", g.svg()))


def test_gradients_of_gradients_are_folded_by_what_has_one_consumer():
    layers = [nn.Linear(2, 8), *(nn.Sequential(nn.Tanh(), nn.Linear(8, 8)) for _ in range(3))]
    net = nn.Sequential(*layers, nn.Linear(8, 1))
    x = genesis.ones(5, 2, requires_grad=True)

    def loss():
        (slope,) = genesis.autograd.grad(net(x).sum(), x, create_graph=True)
        (curve,) = genesis.autograd.grad(slope[:, 0].sum(), x, create_graph=True)
        return (curve + slope).square().mean()

    g = graph(loss, names=net)
    assert len(g.full.vertices) > 60
    assert len(g.vertices) <= 40
    for limit in (30, 20):
        assert len(graph(loss, names=net, fold=limit).vertices) <= limit
    order = {v.key: i for i, v in enumerate(g.vertices)}  # nothing on a cycle: sources come first
    assert all(order[link.source] < order[link.target] for link in g.links)
    operations = sum(
        len(v.ops) or (v.kind not in ("leaf", "parameter", "output")) for v in g.vertices
    )
    whole = [v for v in g.full.vertices if v.kind not in ("leaf", "parameter", "output")]
    assert operations == len(whole)  # each is in exactly one box


def test_without_modules_chains_are_folded():
    x = genesis.ones(2, requires_grad=True)
    y = x
    for _ in range(60):
        y = y.sin()
    z = y.exp() + y.cos()
    g = graph(z, names={"x": x})
    assert labels(g)[:2] == ["x", "sin \u2192 \u2026 \u2192 sin"]
    assert set(labels(g)[2:]) == {"exp", "cos", "add", "output"}
    assert len(g.vertices[1].ops) == 60


def test_a_module_used_before_and_after_another_does_not_make_a_cycle():
    class Sandwich(nn.Module):
        def __init__(self):
            super().__init__()
            self.bread, self.ham = Block(4), Block(4)

        def forward(self, x):
            return self.bread(self.ham(self.bread(x)) * 2)

    g = graph(Sandwich(), genesis.ones(1, 4), fold=3)
    place = {v.key: i for i, v in enumerate(g.vertices)}
    assert len(place) == len(g.vertices)
    assert all(place[k.source] < place[k.target] for k in g.links)
    assert (
        sum(len(v.ops) or v.kind not in ("parameter", "output", "leaf") for v in g.vertices) == 13
    )


# ---- pictures -----------------------------------------------------------------------------------------------------

PICTURES = {
    "chain": lambda: graph((genesis.ones(2, 3, requires_grad=True) * 2).sum()),
    "branches": lambda: graph(branches(6), fold=False),
    "net": lambda: graph(Net(2), genesis.ones(2, 4)),
    "folded": lambda: graph(Net(12), genesis.ones(2, 4)),
    "wide": lambda: graph(
        genesis.cat([genesis.ones(2, requires_grad=True) * i for i in range(12)])
    ),
    "escapes": lambda: graph(genesis.ones(2, requires_grad=True).exp(), names={}),
}


def boxes(picture):
    """(left, top, right, bottom) of vertices, with their texts as (left, right, baseline, size)."""
    root = ET.fromstring(picture)
    found = []
    for g in root.iter(SVG + "g"):
        if "vertex" not in g.get("class", ""):
            continue
        r = g.find(SVG + "rect")
        x, y, w, h = (float(r.get(k)) for k in ("x", "y", "width", "height"))
        texts = []
        for t in g.findall(SVG + "text"):
            size = float(t.get("font-size"))
            wide = text_width(t.text, size)
            texts.append(
                (
                    float(t.get("x")) - wide / 2,
                    float(t.get("x")) + wide / 2,
                    float(t.get("y")),
                    size,
                )
            )
        found.append(((x, y, x + w, y + h), texts))
    return root, found


@pytest.mark.parametrize("name", PICTURES)
def test_boxes_do_not_overlap_and_hold_their_texts(name):
    root, found = boxes(PICTURES[name]().svg())
    assert len(found) == len(PICTURES[name]().vertices)
    for i, ((l1, t1, r1, b1), texts) in enumerate(found):
        for (l2, t2, r2, b2), _ in found[i + 1 :]:
            assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1
        for left, right, baseline, size in texts:
            assert (
                l1 <= left
                and right <= r1
                and t1 <= baseline - size * 0.8
                and baseline + size * 0.25 <= b1
            )
    width, height = float(root.get("width")), float(root.get("height"))
    for (left, top, right, bottom), _ in found:
        assert min(left, top) >= 0 and right <= width and bottom <= height


@pytest.mark.parametrize("name", PICTURES)
def test_labels_lie_beside_boxes_and_each_other(name):
    root, found = boxes(PICTURES[name]().svg())
    labels = []
    for t in root.iter(SVG + "text"):
        if t.get("class") == "label":
            size = float(t.get("font-size"))
            x, y = float(t.get("x")), float(t.get("y"))
            labels.append((x, y - size * 0.8, x + text_width(t.text, size), y + size * 0.25))
    assert labels
    for i, (l1, t1, r1, b1) in enumerate(labels):
        for l2, t2, r2, b2 in [b for b, _ in found] + labels[i + 1 :]:
            assert r1 <= l2 or r2 <= l1 or b1 <= t2 or b2 <= t1


@pytest.mark.parametrize("name", PICTURES)
def test_lines_run_downwards_between_the_boxes_they_connect(name):
    g = PICTURES[name]()
    root, found = boxes(g.svg())
    rectangles = [b for b, _ in found]
    paths = [p for p in root.iter(SVG + "path") if p.get("class") == "link"]
    assert len(paths) == len(g.links)
    number = {v.key: i for i, v in enumerate(g.vertices)}
    for path, link in zip(paths, g.links, strict=True):
        pairs = re.findall(r"(-?[\d.]+),(-?[\d.]+)", path.get("d"))
        points = [(float(x), float(y)) for x, y in pairs]
        ys = [y for _, y in points]
        assert ys == sorted(ys)
        source, target = rectangles[number[link.source]], rectangles[number[link.target]]
        assert source[0] <= points[0][0] <= source[2] and abs(points[0][1] - source[3]) < 0.2
        assert target[0] <= points[-1][0] <= target[2] and abs(points[-1][1] - target[1]) < 1.2


def test_whatever_a_name_holds_the_picture_parses():
    x = genesis.ones(2, requires_grad=True)
    name = "a <b> & \"c\" 'd' \\ #1 | {e}"
    g = graph(x.exp(), names={name: x})
    root = ET.fromstring(g.svg())
    assert name in [t.text for t in root.iter(SVG + "text")]
    assert "<b>" not in g._repr_html_().replace("<br", "")
    assert r"a <b> & \"c\" 'd' \\ #1 | {e}" in g.dot()
    assert "a #lt;b#gt; & #quot;c#quot;" in g.mermaid()
    assert g._repr_svg_() == g.svg() and g.svg() in g._repr_html_()


def test_dot_and_mermaid_hold_every_vertex_and_link():
    g = graph(Net(2), genesis.ones(2, 4))
    dot, mermaid = g.dot(), g.mermaid()
    assert (
        len(re.findall(r"^  n\d+ \[", dot, re.M))
        == len(g.vertices)
        == len(re.findall(r":::", mermaid))
    )
    assert dot.count("->") == len(g.links) == mermaid.count("-->")
    assert "classDef product" in mermaid and 'label="2\u00d74"' in dot


def test_the_layout_leaves_few_crossings():
    """Two rows that a bad order would cross: a ladder can be drawn without any crossing."""
    from genesis.debug._layout import layout

    count = 8
    links = [(i, count + i, None) for i in range(count)] + [
        (i, count + i + 1, None) for i in range(count - 1)
    ]
    links.sort(key=lambda link: (link[1] * 7) % 5)
    plan = layout([(30.0, 20.0)] * (2 * count), links)
    x = [b.x for b in plan.boxes]
    crossings = sum(
        (x[a] - x[c]) * (x[b] - x[d]) < 0
        for i, (a, b, _) in enumerate(links)
        for c, d, _ in links[i + 1 :]
    )
    assert crossings == 0


def test_large_pictures():
    x = genesis.ones(2, requires_grad=True)
    layers = [x]
    for _ in range(150):
        layers.append((layers[-1] + layers[max(0, len(layers) - 3)]).sin())
    g = graph(layers[-1], fold=False)
    picture = g.svg()
    assert len(g.vertices) > 300 and picture.count("<rect") >= len(g.vertices)


def test_files_and_mistakes(tmp_path):
    x = genesis.ones(2, requires_grad=True)
    g = graph(x.exp())
    for ending in ("svg", "dot", "mmd", "txt", "html"):
        g.save(tmp_path / f"g.{ending}")
        assert (tmp_path / f"g.{ending}").read_text()
    with pytest.raises(ValueError, match=r"must end with .dot, .html"):
        g.save(tmp_path / "g.pdf")
    with pytest.raises(ValueError, match="is a leaf, so no operation"):
        graph(x)
    with pytest.raises(ValueError, match="does not require grad"):
        graph(genesis.ones(2) + 1)
    with pytest.raises(TypeError, match="not callable"):
        graph(x.exp(), x)
    with pytest.raises(TypeError, match="expected a tensor"):
        graph(3)


def test_the_pictures_of_the_documents_are_those_that_the_tool_draws(tmp_path, monkeypatch):
    root = pathlib.Path(__file__).parents[2]
    tool = runpy.run_path(str(root / "tools/pictures.py"))
    monkeypatch.setitem(tool["main"].__globals__, "FOLDER", tmp_path)
    tool["main"]()
    drawn = sorted(p.name for p in tmp_path.iterdir())
    assert len(drawn) == 4
    for name in drawn:
        new, old = (
            ET.parse(folder / name).getroot() for folder in (tmp_path, root / "docs/images")
        )
        titles = [
            [t.text for t in tree.iter(SVG + "text") if t.get("font-weight")] for tree in (new, old)
        ]
        assert titles[0] == titles[1], (
            f"run tools/pictures.py: docs/images/{name} shows other operations"
        )
