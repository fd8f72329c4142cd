"""The profiler: what is recorded, how it adds up, what a trace holds, what it costs."""

import gzip
import json
import threading
import time

import genesis
import pytest
from genesis import nn
from genesis.profiler import ProfilerActivity, profile, record_function, schedule


def names(p):
    return [e.name for e in p.events()]


def one(p, name):
    (event,) = [e for e in p.events() if e.name == name]
    return event


def test_forward_and_backward_operations_are_recorded_in_order():
    x = genesis.ones(3, 4, requires_grad=True)
    with profile() as p:
        y = (x @ x.T).relu()
        (y * 2 - 1).sum().backward()
    assert names(p) == [
        "matmul", "relu", "mul", "sub", "sum", "backward", "SumBackward", "SubBackward", "MulBackward", "ReluBackward",
        "MatmulBackward", "TransposeBackward", "AccumulateGrad",
    ] or set(names(p)) >= {"matmul", "relu", "mul", "sub", "sum", "backward", "SumBackward", "MatmulBackward", "AccumulateGrad"}  # fmt: skip
    kinds = {e.name: e.kind for e in p.events()}
    assert (
        kinds["matmul"] == "forward"
        and kinds["MatmulBackward"] == "backward"
        and kinds["backward"] == "pass"
    )


def test_nothing_is_recorded_outside_and_operations_run_as_before():
    x = genesis.ones(2)
    with profile() as p:
        y = x + 1
    x + 2
    assert names(p) == ["add"]
    assert y.tolist() == [2.0, 2.0]


@pytest.mark.parametrize(
    ("operation", "name"),
    [
        (lambda x: x + x, "add"), (lambda x: 1 - x, "sub"), (lambda x: x / 2, "div"), (lambda x: x // 2, "floor_divide"),
        (lambda x: x % 2, "remainder"), (lambda x: x**2, "pow"), (lambda x: -x, "neg"), (lambda x: abs(x), "abs"),
        (lambda x: x @ x, "matmul"), (lambda x: x[0], "index"), (lambda x: x > 0, "gt"), (lambda x: x == x, "eq"),
        (lambda x: x.add_(1), "add_"), (lambda x: x.__iadd__(1), "add_"), (lambda x: x.__setitem__(0, 1.0), "index_put_"),
        (lambda x: genesis.exp(x), "exp"), (lambda x: x.exp(), "exp"), (lambda x: x.sum(dim=0, keepdim=True), "sum"),
        (lambda x: genesis.cat([x, x]), "cat"), (lambda x: x.__imul__(2), "mul_"), (lambda x: x // 2, "floor_divide"),
    ],
)  # fmt: skip
def test_every_way_of_calling_an_operation_is_seen(operation, name):
    x = genesis.ones(3, 3)
    with profile() as p:
        operation(x)
    assert names(p) == [name]
    assert p.events()[0].input_shapes[0] == (3, 3)
    assert p.events()[0].output_shapes or name == "floor"


def test_questions_are_not_operations():
    x = genesis.ones(2)
    with profile() as p:
        (
            x.numel(),
            x.shape,
            x.dtype,
            x.is_contiguous(),
            x.requires_grad_(),
            genesis.is_grad_enabled(),
            x.tolist(),
        )
    assert names(p) == []


def test_shapes_dtypes_memory_and_flops():
    a, b = genesis.ones(5, 7), genesis.ones(7, 3, dtype=genesis.float64)
    with profile() as p:
        c = a.double() @ b
    e = one(p, "matmul")
    assert e.input_shapes == [(5, 7), (7, 3)] and e.output_shapes == [(5, 3)]
    assert e.input_dtypes == [genesis.float64] * 2
    assert 0 <= e.memory - c.nbytes < 128  # there is a header, too
    assert e.flops == 2 * 5 * 7 * 3
    assert e.allocated >= e.memory


def test_without_shapes():
    with profile(record_shapes=False) as p:
        genesis.ones(3) + 1
    assert p.events()[-1].input_shapes == [] and p.events()[-1].flops == 0


def test_regions_nest_and_times_add_up():
    with profile() as p:
        with record_function("outer"):
            genesis.ones(2)
            with record_function("inner"):
                genesis.ones(3) + 1
                time.sleep(0.002)
        genesis.zeros(2)
    outer, inner = one(p, "outer"), one(p, "inner")
    assert inner.parent is outer and [e.name for e in outer.children] == ["ones", "inner"]
    assert [e.name for e in inner.children] == ["ones", "add"]
    assert one(p, "zeros").parent is None
    assert outer.time >= inner.time >= inner.self_time >= 2e6
    assert outer.self_time == outer.time - sum(c.time for c in outer.children)
    total = sum(e.self_time for e in p.events())
    assert total == sum(e.time for e in p.events() if e.parent is None)


def test_a_region_decorates_and_ends_when_an_exception_passes():
    @record_function("step")
    def step(x):
        if x.sum() > 2:
            raise KeyError
        return x + 1

    with profile() as p:
        step(genesis.ones(2))
        with pytest.raises(KeyError):
            step(genesis.ones(3))
        genesis.zeros(1)
    first, second = [e for e in p.events() if e.name == "step"]
    assert len(first.children) > len(second.children)
    assert one(p, "zeros").parent is None


def test_an_operation_that_raises_is_closed():
    with profile() as p:
        with pytest.raises(ValueError):
            genesis.ones(2, 3) @ genesis.ones(2, 3)
        genesis.zeros(1)
    assert one(p, "matmul").end <= one(p, "zeros").start
    assert one(p, "zeros").parent is None


def test_modules_are_named_by_their_path():
    net = nn.Sequential(nn.Linear(3, 4), nn.Sequential(nn.Linear(4, 2)))
    with profile() as p:
        net(genesis.ones(5, 3)).sum().backward()
    modules = [e.name for e in p.events() if e.kind == "module"]
    assert modules == ["Sequential", "Sequential.0", "Sequential.1", "Sequential.1.0"]
    linears = [e for e in p.events() if e.name == "linear"]
    assert [e.module for e in linears] == ["Sequential.0", "Sequential.1.0"]
    assert linears[1].parent.name == "Sequential.1.0"
    assert one(p, "sum").module is None
    gradients = [e for e in p.events() if e.name == "LinearBackward"]
    assert [e.module for e in gradients] == ["Sequential.1.0", "Sequential.0"]
    with profile(with_modules=False) as p:
        net(genesis.ones(5, 3))
    assert all(e.kind == "forward" for e in p.events())


def test_a_module_outside_the_tree_and_one_added_later_have_names():
    class Net(nn.Module):
        def forward(self, x):
            return nn.Linear(3, 3)(x)

    net = Net()
    with profile() as p:
        net(genesis.ones(1, 3))
        net.late = nn.Linear(3, 3)
        net(net.late(genesis.ones(1, 3)))
    assert [e.name for e in p.events() if e.kind == "module"] == [
        "Net",
        "Net.Linear",
        "Linear",
        "Net",
        "Net.Linear",
    ]


def test_a_step_of_an_optimizer_is_seen():
    layer = nn.Linear(3, 2)
    optimizer = genesis.optim.Adam(layer.parameters())
    layer(genesis.ones(1, 3)).sum().backward()
    with profile() as p:
        optimizer.step()
    assert one(p, "adam_step").input_shapes == [(2, 3), (2,)]


def test_averages_and_table():
    with profile() as p:
        for n in (2, 2, 3):
            genesis.ones(n) + 1
    averages = p.key_averages()
    add = next(a for a in averages if a.key == "add")
    assert add.count == 3 and add.cpu_memory_usage >= 7 * 4 and add.flops == 7
    assert add.cpu_time == pytest.approx(add.cpu_time_total / 3)
    by_shape = {
        a.input_shapes[0]: a.count
        for a in p.key_averages(group_by_input_shape=True)
        if a.key == "add"
    }
    assert by_shape == {(2,): 2, (3,): 1}
    table = averages.table(sort_by="count", row_limit=1)
    assert "# of Calls" in table and "1 more" in table
    assert len({len(line) for line in str(p).splitlines() if "us" in line and "%" in line}) == 1
    assert averages.total_average().count == 6
    with pytest.raises(ValueError, match="sort_by must be one of"):
        averages.table(sort_by="speed")


def test_the_table_leaves_out_what_was_not_asked_for():
    with profile(profile_memory=False, with_flops=False) as p:
        genesis.ones(2) + 1
    assert "Mem" not in str(p) and "FLOPs" not in str(p)
    with profile() as p:
        genesis.ones(2) + 1
    assert "Mem" in str(p) and "FLOPs" in str(p)


def test_lines_of_the_caller_are_outside_the_package():
    layer = nn.Linear(2, 2)
    with profile(with_stack=True) as p:
        layer(genesis.ones(1, 2))
    event = one(p, "linear")
    assert event.file == __file__
    rows = [a for a in p.key_averages(group_by_stack_n=1) if a.key == "linear"]
    assert rows[0].stack == f"{__file__}:{event.line}" and rows[0].stack in str(
        p.key_averages(group_by_stack_n=1)
    )
    with profile() as p:
        genesis.ones(1)
    with pytest.raises(ValueError, match="with_stack"):
        p.key_averages(group_by_stack_n=1)


def test_the_trace_is_json_with_slices_arrows_and_memory(tmp_path):
    x = genesis.ones(3, requires_grad=True)
    with profile() as p, record_function('a "quoted" <name>'):
        (x.exp() * 2).sum().backward()
    p.export_chrome_trace(tmp_path / "t.json")
    p.export_chrome_trace(tmp_path / "t.json.gz")
    text = (tmp_path / "t.json").read_text()
    assert gzip.decompress((tmp_path / "t.json.gz").read_bytes()).decode() == text
    events = json.loads(text)["traceEvents"]
    slices = {e["name"]: e for e in events if e["ph"] == "X"}
    assert {"exp", "ExpBackward", "backward", 'a "quoted" <name>'} <= set(slices)
    arrows = {e["id"]: {} for e in events if e["ph"] == "s"}
    for e in events:
        if e["ph"] in "sf":
            arrows[e["id"]][e["ph"]] = e["ts"]
    assert len(arrows) == 3 and all(a["s"] < a["f"] for a in arrows.values())
    starts = [s["ts"] for s in slices.values()]
    assert {a["f"] for a in arrows.values()} <= set(starts)
    assert any(e["ph"] == "C" and e["args"]["bytes"] > 0 for e in events)
    assert slices["exp"]["args"]["input shapes"] == "[[3]]"
    around, inside = slices["backward"], slices["ExpBackward"]
    assert (
        around["ts"] <= inside["ts"]
        and inside["ts"] + inside["dur"] <= around["ts"] + around["dur"] + 1e-6
    )


FIELDS = {  # of the trace event format, by phase, beside name, pid and tid
    "X": {"cat": str, "ts": float, "dur": float, "args": dict},
    "C": {"ts": float, "args": dict},
    "M": {"args": dict},
    "s": {"cat": str, "ts": float, "id": int},
    "f": {"cat": str, "ts": float, "id": int, "bp": str},
}


def test_the_trace_keeps_the_rules_of_its_format(tmp_path):
    """Those by which Perfetto reads: it drops slices of a thread that overlap without nesting, and
    arrows whose ends lie in no slice."""
    net = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
    optimizer = genesis.optim.Adam(net.parameters())

    def steps():
        for i in range(3):
            with record_function(f"step {i}"):
                optimizer.zero_grad()
                net(genesis.ones(2, 4)).square().mean().backward()
                optimizer.step()

    with profile() as p:
        steps()
        worker = threading.Thread(target=steps)
        worker.start()
        worker.join()
    p.export_chrome_trace(tmp_path / "t.json")
    trace = json.loads((tmp_path / "t.json").read_text())
    assert set(trace) <= {"traceEvents", "displayTimeUnit"}
    events = trace["traceEvents"]
    for e in events:
        assert isinstance(e["name"], str) and type(e["pid"]) is type(e["tid"]) is int
        for name, kind in FIELDS[e["ph"]].items():
            assert type(e[name]) is kind, e
        assert e.get("dur", 0) >= 0
    threads = {e["tid"] for e in events if e["ph"] == "X"}
    named = {e["tid"] for e in events if e["ph"] == "M" and e["name"] == "thread_name"}
    assert threads == named and len(threads) == 2
    assert all(type(v) is int for e in events if e["ph"] == "C" for v in e["args"].values())
    slices = {tid: [e for e in events if e["ph"] == "X" and e["tid"] == tid] for tid in threads}
    for of_thread in slices.values():
        open_until = []
        for e in sorted(of_thread, key=lambda e: (e["ts"], -e["dur"])):
            start, end = round(1000 * e["ts"]), round(1000 * (e["ts"] + e["dur"]))
            while open_until and open_until[-1] <= start:
                open_until.pop()
            assert not open_until or end <= open_until[-1], e
            open_until.append(end)
    ends = [e for e in events if e["ph"] in "sf"]
    assert len(ends) >= 20
    for e in ends:
        at = e["ts"]
        assert any(s["ts"] <= at <= s["ts"] + s["dur"] for s in slices[e["tid"]]), e
    ids = [(e["ph"], e["id"]) for e in ends]
    assert len(set(ids)) == len(ids)
    assert {i for ph, i in ids if ph == "s"} == {i for ph, i in ids if ph == "f"}


def test_a_schedule_records_the_steps_it_names():
    seen = []
    plan = schedule(skip_first=1, wait=1, warmup=1, active=2, repeat=2)
    with profile(schedule=plan, on_trace_ready=lambda p: seen.append(names(p))) as p:
        for i in range(12):
            genesis.ones(i + 1).exp()
            p.step()
    assert seen == [["ones", "exp"] * 2] * 2
    with pytest.raises(ValueError, match="active at least 1"):
        schedule(wait=0, warmup=0, active=0)


def test_threads_have_their_own_rows():
    def work():
        with record_function("worker"):
            genesis.ones(5).exp()

    with profile() as p:
        threads = [threading.Thread(target=work) for _ in range(3)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        genesis.ones(1)
    workers = [e for e in p.events() if e.name == "worker"]
    assert len({e.thread for e in p.events()}) == 4
    assert all([c.name for c in w.children] == ["ones", "exp"] for w in workers)


def test_mistakes_get_an_answer():
    with profile() as p:
        with pytest.raises(RuntimeError, match="running already"), profile():
            pass
        with pytest.raises(RuntimeError, match="leave the with block"):
            p.events()
        assert repr(p) == str(p) == "<profile: running>"
    assert repr(profile()) == "<profile: not started>"
    with pytest.raises(ValueError, match="ProfilerActivity.CPU"):
        profile(activities=["cuda"])
    with pytest.raises(TypeError, match="name must be a str"):
        record_function(3)
    with profile(activities=[ProfilerActivity.CPU]) as p:
        pass
    assert p.events() == [] and "Self CPU time total" in str(p)
    with pytest.raises(ValueError, match="nothing was recorded"):
        p.key_averages().total_average()


def test_second_derivatives_and_grad_are_passes_too():
    x = genesis.ones(2, requires_grad=True)
    with profile() as p:
        (g,) = genesis.autograd.grad((x**3).sum(), x, create_graph=True)
        g.sum().backward()
    passes = [e for e in p.events() if e.kind == "pass"]
    assert [e.name for e in passes] == ["grad", "backward"]
    assert all(any(c.kind == "backward" for c in e.children) for e in passes)
