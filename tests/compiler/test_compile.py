"""genesis.compile: replays are bitwise equal to eager, and what cannot be repeated is not."""

from __future__ import annotations

import gc
import warnings
from collections.abc import Callable
from typing import Any

import genesis
import pytest
from genesis import _C, nn
from genesis._compile.compiled import CompiledFunction

F = nn.functional


def bits(t: Any) -> bytes:
    return _C._to_bytes(t.detach())


def plans(f: Any) -> list[Any]:
    return [e for e in getattr(f, "_compiled", f).entries if e.plan is not None]


def same_as_eager(
    make: Callable[[], tuple[Any, Callable[..., Any], list[Any]]], calls: int = 6
) -> Any:
    """Runs a training step eagerly and compiled from the same start; returns the compiled one.

    ``make`` returns the model, the step, and the arguments of each call.
    """
    runs = []
    for compiled in (False, True):
        genesis.manual_seed(0)
        model, step, args = make()
        if compiled:
            step = genesis.compile(step)
        outputs = []
        for i in range(calls):
            result = step(*args[i % len(args)])
            outputs.append([bits(t) for t in (result if isinstance(result, tuple) else (result,))])
        state = {k: bits(v) for k, v in model.state_dict().items()}
        grads = [None if p.grad is None else bits(p.grad) for p in model.parameters()]
        runs.append((outputs, state, grads, bits(genesis.get_rng_state())))
    assert runs[0] == runs[1]
    assert isinstance(step, CompiledFunction)
    assert step.eager is None, step.eager
    assert plans(step) and all(e.reason is None for e in step.entries), str(step.plan)
    assert any(e.uses > 0 for e in step.entries)
    return step


def batches(*shapes: tuple[int, ...], classes: int = 0, n: int = 3) -> list[Any]:
    return [
        (
            genesis.randn(*shapes[0]),
            genesis.randint(0, classes, shapes[1]) if classes else genesis.randn(*shapes[1]),
        )
        for _ in range(n)
    ]


def training(model: Any, optimizer: Any, loss: Any) -> Callable[..., Any]:
    def step(x: Any, y: Any) -> Any:
        optimizer.zero_grad()
        value = loss(model(x), y)
        value.backward()
        optimizer.step()
        return value

    return step


def mlp() -> Any:
    return nn.Sequential(
        nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 16), nn.Tanh(), nn.Linear(16, 3)
    )


OPTIMIZERS = {
    "sgd": lambda p: genesis.optim.SGD(p, lr=0.1),
    "momentum": lambda p: genesis.optim.SGD(p, lr=0.1, momentum=0.9, weight_decay=0.01),
    "adam": lambda p: genesis.optim.Adam(p, lr=0.01),
    "adamw": lambda p: genesis.optim.AdamW(p, lr=0.01),
    "rmsprop": lambda p: genesis.optim.RMSprop(p, lr=0.01),
}


@pytest.mark.parametrize("name", OPTIMIZERS)
@pytest.mark.parametrize("threads", [1, 2, 7])
def test_mlp(name: str, threads: int) -> None:
    before = genesis.get_num_threads()
    genesis.set_num_threads(threads)
    try:

        def make() -> Any:
            model = mlp()
            step = training(model, OPTIMIZERS[name](model.parameters()), F.cross_entropy)
            return model, step, batches((8, 4), (8,), classes=3)

        same_as_eager(make)
    finally:
        genesis.set_num_threads(before)


def test_large_pointwise_chain() -> None:
    def chain(x: Any) -> Any:
        return 0.5 * x * (1 + genesis.tanh(0.7978845608 * (x + 0.044715 * x * x * x)))

    f = genesis.compile(chain)
    for _ in range(4):
        x = genesis.randn(100, 1001)
        assert bits(f(x)) == bits(chain(x))
    (entry,) = plans(f)
    assert entry.uses == 2
    assert "group of" in str(f.plan)


def test_broadcast_and_reductions() -> None:
    def norm(x: Any, w: Any, b: Any) -> Any:
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)
        return (x - mu) * genesis.rsqrt(var + 1e-5) * w + b

    f = genesis.compile(norm)
    for _ in range(4):
        args = genesis.randn(33, 70), genesis.randn(70), genesis.randn(70)
        assert bits(f(*args)) == bits(norm(*args))
    assert plans(f)[0].uses == 2


@pytest.mark.parametrize("dtype", ["float64", "float16", "bfloat16", "int32"])
def test_dtypes(dtype: str) -> None:
    def f(x: Any, y: Any) -> Any:
        z = x * y + x.T.contiguous().T
        return z - y, (z > y), z.to(genesis.float64) * 0.5

    c = genesis.compile(f)
    for _ in range(4):
        x = (genesis.randn(37, 53) * 5).to(getattr(genesis, dtype))
        y = (genesis.randn(53) * 5).to(getattr(genesis, dtype))
        assert [bits(t) for t in c(x, y)] == [bits(t) for t in f(x, y)]
    assert plans(c)[0].uses == 2


def test_dropout_batch_norm_and_clipping() -> None:
    def make() -> Any:
        model = nn.Sequential(
            nn.Linear(4, 16), nn.BatchNorm1d(16), nn.GELU(), nn.Dropout(0.3), nn.Linear(16, 3)
        )
        optimizer = genesis.optim.Adam(model.parameters(), lr=0.01)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 0.5)
            optimizer.step()
            return loss

        return model, step, batches((8, 4), (8,), classes=3)

    same_as_eager(make, 8)


def test_convolutions_and_pooling() -> None:
    def make() -> Any:
        model = nn.Sequential(
            nn.Conv2d(3, 8, 3, padding=1),
            nn.BatchNorm2d(8),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(8, 8, 3),
            nn.AvgPool2d(2),
            nn.Flatten(),
            nn.Linear(8 * 3 * 3, 5),
        )
        step = training(
            model, genesis.optim.SGD(model.parameters(), lr=0.1, momentum=0.9), F.cross_entropy
        )
        return model, step, batches((2, 3, 16, 16), (2,), classes=5)

    same_as_eager(make)


def test_transformer_layer() -> None:
    def make() -> Any:
        class Model(nn.Module):
            def __init__(self) -> None:
                super().__init__()
                self.embed = nn.Embedding(11, 16)
                self.layer = nn.TransformerEncoderLayer(16, 2, 32, dropout=0.1, batch_first=True)
                self.out = nn.Linear(16, 11)

            def forward(self, x: Any) -> Any:
                return self.out(self.layer(self.embed(x))).flatten(0, 1)

        model = Model()
        step = training(model, genesis.optim.AdamW(model.parameters(), lr=0.01), F.cross_entropy)
        args = [(genesis.randint(0, 11, (2, 6)), genesis.randint(0, 11, (12,))) for _ in range(3)]
        return model, step, args

    same_as_eager(make)


def test_recurrent() -> None:
    def make() -> Any:
        model = nn.LSTM(5, 7, num_layers=2)
        optimizer = genesis.optim.Adam(model.parameters())

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            _, (h, c) = model(x)
            loss = F.mse_loss(h[-1], y) + c.mean()
            loss.backward()
            optimizer.step()
            return loss

        return model, step, batches((6, 3, 5), (3, 7))

    same_as_eager(make)


def test_gradient_accumulation_and_schedule() -> None:
    def make() -> Any:
        model = mlp()
        optimizer = genesis.optim.SGD(model.parameters(), lr=0.1)
        schedule = genesis.optim.lr_scheduler.ExponentialLR(optimizer, 0.9)

        def step(x: Any, y: Any) -> Any:
            optimizer.zero_grad()
            for part, target in zip(x.chunk(2), y.chunk(2), strict=True):
                loss = F.cross_entropy(model(part), target) / 2
                loss.backward()
            optimizer.step()
            schedule.step()
            return loss

        return model, step, batches((8, 4), (8,), classes=3)

    same_as_eager(make)


def test_accumulation_over_calls() -> None:
    def make() -> Any:
        model = mlp()

        def step(x: Any, y: Any) -> Any:
            loss = F.cross_entropy(model(x), y)
            loss.backward()
            return loss

        return model, step, batches((8, 4), (8,), classes=3)

    same_as_eager(make)


def test_learning_rate_outside() -> None:
    results = []
    for compiled in (False, True):
        genesis.manual_seed(0)
        model = mlp()
        optimizer = genesis.optim.Adam(model.parameters(), lr=0.1)
        step = training(model, optimizer, F.cross_entropy)
        step = genesis.compile(step) if compiled else step
        for i, (x, y) in enumerate(batches((8, 4), (8,), classes=3, n=8)):
            optimizer.param_groups[0]["lr"] = 0.1 / (i + 1)
            step(x, y)
        results.append([bits(p) for p in model.parameters()])
    assert results[0] == results[1]
    assert len(step.entries) <= 2


def test_in_place_and_views() -> None:
    def make() -> Any:
        model = nn.Linear(3, 3)
        buffer = genesis.zeros(4, 6)

        def step(x: Any) -> Any:
            buffer[:, 2:4].add_(x)
            buffer.mul_(0.5)
            y = buffer[1:, ::2] * 2
            y[0] = 7
            return y, buffer.T.sum(0), buffer[1]

        return model, step, [(genesis.randn(4, 2),) for _ in range(3)]

    same_as_eager(make)


def test_returned_tensors_belong_to_the_caller() -> None:
    f = genesis.compile(lambda x: (x * 2).exp())
    results = [f(genesis.full((3,), float(i))) for i in range(5)]
    assert [r[0].log().item() / 2 for r in results] == pytest.approx(list(range(5)))
    results[3].zero_()
    assert results[4][0].item() > 0


def test_gradients_of_parameters_belong_to_the_caller() -> None:
    model = mlp()
    step = genesis.compile(
        training(model, genesis.optim.SGD(model.parameters(), lr=0.1), F.cross_entropy)
    )
    kept = []
    for x, y in batches((8, 4), (8,), classes=3, n=6):
        step(x, y)
        p = next(iter(model.parameters()))
        kept.append((p.grad, bits(p.grad)))
    assert all(bits(g) == b for g, b in kept)


class TestModel:
    def test_backward_outside(self) -> None:
        results = []
        for compiled in (False, True):
            genesis.manual_seed(0)
            model = nn.Sequential(nn.Linear(4, 8), nn.GELU(), nn.Dropout(0.2), nn.Linear(8, 3))
            optimizer = genesis.optim.AdamW(model.parameters(), lr=0.01)
            call = genesis.compile(model) if compiled else model
            for x, y in batches((8, 4), (8,), classes=3, n=6):
                x.requires_grad_(True)
                optimizer.zero_grad()
                F.cross_entropy(call(x), y).backward()
                optimizer.step()
            assert x.grad is not None
            results.append([bits(p) for p in model.parameters()] + [bits(x.grad)])
        assert results[0] == results[1]
        (entry,) = plans(call)
        assert entry.uses == 4

    def test_two_calls_before_backward(self) -> None:
        w = genesis.randn(5, 5, requires_grad=True)
        f = genesis.compile(lambda x: (x @ w).tanh())
        for _ in range(4):
            a, b = genesis.randn(3, 5), genesis.randn(3, 5)
            (found,) = genesis.autograd.grad((f(a) * f(b)).sum(), w)
            (right,) = genesis.autograd.grad(((a @ w).tanh() * (b @ w).tanh()).sum(), w)
            assert bits(found) == bits(right)

    def test_second_derivative(self) -> None:
        def f(x: Any) -> Any:
            return (x**3).sum()

        c = genesis.compile(f)
        for _ in range(4):
            x = genesis.randn(4, requires_grad=True)
            (g,) = genesis.autograd.grad(c(x), x, create_graph=True)
            (h,) = genesis.autograd.grad(g.sum(), x)
            assert genesis.allclose(h, 6 * x)

    def test_retained_graph(self) -> None:
        w = genesis.randn(5, requires_grad=True)
        f = genesis.compile(lambda x: (x * w).exp().sum())
        for _ in range(4):
            y = f(genesis.ones(5))
            (a,) = genesis.autograd.grad(y, w, retain_graph=True)
            (b,) = genesis.autograd.grad(y, w)
            assert bits(a) == bits(b) == bits(w.detach().exp())

    def test_parameter_changed_before_backward(self) -> None:
        w = genesis.randn(5, requires_grad=True)
        f = genesis.compile(lambda x: (x * w).exp().sum())
        for _ in range(2):
            f(genesis.ones(5)).backward()
        y = f(genesis.ones(5))
        with genesis.no_grad():
            w.add_(1)
        with pytest.raises(RuntimeError, match="changed in place"):
            y.backward()

    def test_modes_and_evaluation(self) -> None:
        model = nn.Sequential(nn.Linear(4, 4), nn.Dropout(0.5))
        call = genesis.compile(model)
        x = genesis.ones(2, 4)
        for _ in range(4):
            call(x)
            with genesis.no_grad():
                assert not call(x).requires_grad
        model.eval()
        with genesis.no_grad():
            assert bits(call(x)) == bits(model(x))
            assert bits(call(x)) == bits(model(x))
            assert bits(call(x)) == bits(model(x))


def test_model_whose_result_is_not_contiguous() -> None:
    w = nn.Parameter(genesis.randn(3, 4))
    model = nn.Module()
    model.w = w
    c = genesis.compile(lambda x: (x * model.w).t() * 2, check=True)
    for _ in range(3):
        w.grad = None
        c(genesis.ones(3, 4)).sum().backward()
        assert bits(w.grad) == bits(genesis.full((3, 4), 2.0))
    assert plans(c)


def test_model_without_arguments() -> None:
    w, v = nn.Parameter(genesis.randn(3)), nn.Parameter(genesis.randn(3))
    c = genesis.compile(lambda: w * v, check=True)
    for _ in range(3):
        w.grad = None
        c().sum().backward()
        assert bits(w.grad) == bits(v)
    assert plans(c)


def test_gradient_of_unfold() -> None:
    x = genesis.randn(8, requires_grad=True)
    c = genesis.compile(lambda x: (x * 2).unfold(0, 3, 1) * 2, check=True)
    for _ in range(3):
        (found,) = genesis.autograd.grad(c(x).sum(), x)
        assert found.tolist() == [4.0, 8.0, 12.0, 12.0, 12.0, 12.0, 8.0, 4.0]


def test_options() -> None:
    def f(x: Any) -> Any:
        return x * 2

    assert genesis.compile(f, disable=True) is f
    assert genesis.compile(f, backend="eager") is f
    for wrong in (
        {"dynamic": "yes"},
        {"mode": "fastest"},
        {"backend": "cuda"},
        {"options": {"a": 1}},
    ):
        with pytest.raises(ValueError, match="compile: "):
            genesis.compile(f, **wrong)
    with pytest.raises(TypeError, match="compile: expected a function"):
        genesis.compile(3)

    @genesis.compile(fullgraph=True, check=True)
    def g(x: Any) -> Any:
        """Doubles."""
        return x * 2

    assert g.__doc__ == "Doubles."
    assert [g(genesis.ones(())).item() for _ in range(4)] == [2.0] * 4


def test_disabled(monkeypatch: pytest.MonkeyPatch) -> None:
    c = genesis.compile(lambda x: x * 2)
    monkeypatch.setenv("GENESIS_COMPILE", "0")
    for _ in range(3):
        c(genesis.ones(2))
    assert not c.entries
    monkeypatch.undo()
    with genesis.compiler.set_stance("force_eager"):
        c(genesis.ones(2))
    assert not c.entries
    c(genesis.ones(2))
    assert c.entries
    genesis.compiler.reset()
    assert not c.entries


def test_many_plans() -> None:
    c = genesis.compile(lambda x: x * 2)
    with pytest.warns(RuntimeWarning, match="8 kinds") as found:
        for n in range(1, 20):
            assert c(genesis.ones(n)).sum().item() == 2 * n
    assert len([w for w in found if "8 kinds" in str(w.message)]) == 1


def test_dynamic() -> None:
    c = genesis.compile(lambda x: x * 2, dynamic=True, options={"max_plans": 3})
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for n in [*range(1, 20), 4, 4, 4, 5, 4, 6, 4, 7, 4]:
            assert c(genesis.ones(n)).sum().item() == 2 * n
    assert c.eager is None
    assert len(plans(c)) == 3
    assert max(e.uses for e in c.entries) == 4  # of size 4: what is used stays


def test_memory_is_released() -> None:
    x = genesis.ones(1000, 1000)

    def f(x: Any) -> Any:
        return (x @ x).sum() + (x * 2 @ x).sum()

    for _ in range(2):
        c = genesis.compile(f)
        gc.collect()
        before = genesis.memory.allocated()
        for _ in range(4):
            c(x)
        assert genesis.memory.allocated() - before < 10_000
        assert c.entries
        del c
        gc.collect()
        assert genesis.memory.allocated() <= before


def test_error_in_a_captured_call() -> None:
    def f(x: Any) -> Any:
        y = x * 2
        if x.dim() == 2:
            raise KeyError("no")
        return y

    c = genesis.compile(f)
    for _ in range(3):
        with pytest.raises(KeyError):
            c(genesis.ones(2, 2))
        assert c(genesis.ones(2)).tolist() == [2.0, 2.0]
    assert not _C._capturing()


def test_shapes_of_tensors_that_no_kernel_reads() -> None:
    f = genesis.compile(lambda x: genesis.zeros(x.shape) + len(x.shape))
    for shape in ((2,), (2,), (2,), (3, 1), (0, 2), (0, 2), (0, 2), (2, 0), (1, 2)):
        assert f(genesis.ones(shape)).shape == shape


def test_views_of_a_parameter_as_arguments() -> None:
    w = genesis.randn(4, 3)
    f = genesis.compile(lambda x: (x * 2).sum() + w.sum())
    for x in (w[0], w[1], genesis.ones(3), w[0], genesis.ones(3), genesis.ones(3)):
        assert bits(f(x)) == bits((x * 2).sum() + w.sum())


def test_picture() -> None:
    f = genesis.compile(lambda x: ((x @ x).exp() * 2).sum(0))
    for _ in range(2):
        f(genesis.ones(4, 4))
    assert f.plan.svg().startswith("<svg")
    assert "sgemm" in f.plan.html()
    with pytest.raises(IndexError, match="plan"):
        f.plan.svg(3)
    g = genesis.compile(lambda x: x.item())
    g(genesis.ones(()))
    assert "graph break" in g.plan.svg()
    assert "lambda x: x.item()" in g.plan.svg()  # the line that caused it


def test_no_grad_effects_are_lost() -> None:
    """A function that computes gradients and hands them out, with create_graph inside."""
    p = [genesis.randn(1, 8, requires_grad=True), genesis.randn(8, 1, requires_grad=True)]

    def pinn(x: Any) -> Any:
        u = genesis.tanh(x @ p[0]) @ p[1]
        (du,) = genesis.autograd.grad(u.sum(), x, create_graph=True)
        (d2,) = genesis.autograd.grad(du.sum(), x, create_graph=True)
        loss = ((d2 + genesis.sin(x)) ** 2).mean()
        return loss.detach(), *genesis.autograd.grad(loss, p)

    c = genesis.compile(pinn)
    for _ in range(4):
        x = genesis.randn(5, 1, requires_grad=True)
        assert [bits(t) for t in c(x)] == [bits(t) for t in pinn(x)]
    assert plans(c)[0].uses == 2


def test_a_function_kept_by_its_own_object_is_released() -> None:
    import weakref

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.layer = nn.Linear(3, 3)
            self.__dict__["fast"] = genesis.compile(self.slow)

        def slow(self, x: Any) -> Any:
            return self.layer(x).exp()

    model = Model()
    for _ in range(4):
        model.fast(genesis.ones(2, 3)).sum().backward()
    assert plans(model.fast)
    gone = weakref.ref(model)
    del model
    gc.collect()
    assert gone() is None


def test_attention_without_dropout() -> None:
    def attend(q: Any, k: Any, v: Any) -> Any:
        return F.scaled_dot_product_attention(q, k, v, is_causal=True)

    c = genesis.compile(attend)
    for _ in range(4):
        q, k, v = (genesis.randn(2, 3, 5, 4) for _ in range(3))
        assert bits(c(q, k, v)) == bits(attend(q, k, v))
    assert plans(c)[0].uses == 2


def test_an_argument_with_a_graph_changed_in_place_is_not_compiled():
    module = nn.LeakyReLU(0.2, inplace=True)
    compiled = genesis.compile(module)
    values = genesis.randn(4, 5)
    for _ in range(4):
        grads = []
        for f in (module, compiled):
            x = values.clone().requires_grad_()
            (f(x * 1) ** 2).sum().backward()
            grads.append(bits(x.grad))
        assert grads[0] == grads[1]


def test_hooks_of_all_modules_run_after_a_plan_was_made():
    compiled = genesis.compile(nn.Linear(2, 3))
    x = genesis.ones(1, 2)
    for _ in range(3):
        compiled(x)
    seen: list[Any] = []
    with nn.modules.module.register_module_forward_hook(lambda m, args, y: seen.append(type(m))):
        compiled(x)
    assert nn.Linear in seen


@pytest.mark.parametrize(
    "mode", [None, "default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs"]
)
@pytest.mark.parametrize("backend", ["tiles", "inductor", "aot_eager", "eager"])
def test_modes_and_backends_of_pytorch(mode, backend):
    f = genesis.compile(lambda x: (x * 2 + 1).exp(), mode=mode, backend=backend)
    x = genesis.randn(10)
    for _ in range(3):
        assert bits(f(x)) == bits((x * 2 + 1).exp())
    if backend == "eager":
        assert not isinstance(f, CompiledFunction)
    else:
        assert ("group of" in str(f.plan)) == (backend != "aot_eager")


def test_unknown_modes_and_backends_are_errors():
    with pytest.raises(ValueError, match="mode must be None or one of .*max-autotune.*got 'fast'"):
        genesis.compile(len, mode="fast")
    with pytest.raises(ValueError, match="backend must be one of .*got 'onnxrt'"):
        genesis.compile(len, backend="onnxrt")
    with pytest.raises(TypeError, match="backend must be a name"):
        genesis.compile(len, backend=lambda graph, inputs: graph)


class TestOptions:
    def test_unknown_option_lists_those_that_exist(self) -> None:
        with pytest.raises(ValueError, match="no option 'fused'.*'fuse', 'max_plans'"):
            genesis.compile(lambda x: x, options={"fused": True})
        with pytest.raises(ValueError, match="no option 'trace.enabled'"):
            genesis.compile(options={"trace.enabled": True})

    @pytest.mark.parametrize(
        "options, text",
        [
            ({"fuse": 2}, "'fuse' must be True or False, got 2"),
            ({"max_plans": 0}, "'max_plans' must be at least 1, got 0"),
            ({"max_plans": True}, "'max_plans' must be at least 1"),
            (["fuse"], "options must be a dict, got list"),
        ],
    )
    def test_bad_values(self, options: Any, text: str) -> None:
        with pytest.raises((TypeError, ValueError), match=text):
            genesis.compile(lambda x: x, options=options)

    def test_hints_of_inductor(self) -> None:
        with pytest.warns(UserWarning, match=r"max_autotune, triton.cudagraphs tune the code"):
            f = genesis.compile(
                lambda x: x + 1, options={"max_autotune": True, "triton.cudagraphs": True}
            )
        assert f(genesis.ones(1)).item() == 2

    def test_names_of_the_function(self) -> None:
        def double(x: Any) -> Any:
            return x * 2

        assert genesis.compile(fn=double)(genesis.ones(1)).item() == 2
        assert genesis.compile(model=double)(genesis.ones(1)).item() == 2
        with pytest.raises(TypeError, match="fn and model are the same parameter"):
            genesis.compile(double, model=double)
