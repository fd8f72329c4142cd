"""vmap: arguments, nesting, composition with other transforms, modules, randomness, errors."""

import copy
import pickle

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis._pytree import tree_leaves
from genesis.func import (
    functional_call,
    grad,
    hessian,
    jacfwd,
    jacrev,
    jvp,
    replace_all_batch_norm_modules_,
    stack_module_state,
    vjp,
    vmap,
)


@pytest.fixture
def x():
    genesis.manual_seed(0)
    return genesis.randn(5, 3, dtype=genesis.float64)


@pytest.fixture
def w():
    genesis.manual_seed(1)
    return genesis.randn(4, 3, dtype=genesis.float64)


def close(a, b):
    genesis.testing.assert_close(a, b)


# ---- arguments


def test_in_and_out_dims(x, w):
    close(vmap(genesis.dot)(x, x), (x * x).sum(1))
    close(vmap(genesis.dot, in_dims=1)(x, x), (x * x).sum(0))
    close(vmap(lambda a: w @ a, in_dims=-2, out_dims=1)(x), w @ x.T)
    close(vmap(lambda a: (a, a.sum()), out_dims=(-1, 0))(x)[0], x.T)
    assert vmap(lambda a, b: b, in_dims=(0, None), out_dims=None)(x, w) is w
    close(vmap(lambda a, b: b, in_dims=(0, None))(x, w), w.expand(5, 4, 3))


def test_trees_and_keywords(x, w):
    def f(p, a, *, shift):
        assert shift is x  # keyword arguments are not mapped over
        return {"y": p["w"] @ a + p["n"][0], "z": (a + shift[1],)}

    tree = {"w": w, "n": [genesis.arange(5.0, dtype=genesis.float64), "text"]}
    out = vmap(f, in_dims=({"w": None, "n": [0, None]}, 0))(tree, x, shift=x)
    close(out["y"], x @ w.T + genesis.arange(5.0, dtype=genesis.float64)[:, None])
    close(out["z"][0], x + x[1])


@pytest.mark.parametrize("chunk", [1, 2, 5, 7])
def test_chunks(x, w, chunk):
    close(vmap(lambda a: w @ a, out_dims=1, chunk_size=chunk)(x), (x @ w.T).T)


def test_shape_size_and_iteration(x):
    def f(a):
        assert a.shape == (3,)
        assert a.size(0) == len(a) == a.numel() == 3
        assert a.dim() == a.ndim == 1
        assert isinstance(a, genesis.Tensor)
        assert "BatchedTensor" in repr(a)
        return sum(list(a)) + sum(p * 2 for p in a.unbind())

    close(vmap(f)(x), 3 * x.sum(1))


def test_zero_size():
    assert vmap(lambda a: a.exp().sum())(genesis.zeros(0, 3)).shape == (0,)


def test_dtype_of_numbers():
    half = genesis.ones(4, dtype=genesis.float32)
    wide = genesis.ones(4, dtype=genesis.float64)
    out = vmap(lambda a, b: a.expand(3) * b)(half, wide)
    assert out.dtype == genesis.float32  # a 0-d float64 does not widen a float32 vector
    assert vmap(lambda a, b: a * b)(half, wide).dtype == genesis.float64


# ---- nesting and composition


def test_nested(x):
    out = vmap(vmap(lambda a, b: a * b + 1, in_dims=(0, None)), in_dims=(None, 0))(x[0], x[:, 0])
    close(out, x[:, :1] * x[0] + 1)
    cube = genesis.randn(2, 3, 4)
    close(vmap(vmap(vmap(genesis.sin)))(cube), cube.sin())
    close(vmap(vmap(lambda a: a.sum(), in_dims=1), in_dims=2)(cube), cube.sum(0).T)


def test_captured_tensors_of_an_outer_vmap(x):
    out = vmap(lambda a: vmap(lambda b: (a * b).sum())(x))(x)
    close(out, x @ x.T)


def f1(a):
    return (a.sin() * a.prod()).sum()


def test_grad_inside_and_outside(x, w):
    close(vmap(grad(f1))(x), genesis.stack([grad(f1)(a) for a in x]))
    close(grad(lambda z: vmap(f1)(z).sum())(x), genesis.stack([grad(f1)(a) for a in x]))
    per_sample = vmap(grad(lambda w, a: (w @ a).tanh().sum()), in_dims=(None, 0))(w, x)
    close(per_sample, genesis.stack([grad(lambda v, a=a: (v @ a).tanh().sum())(w) for a in x]))


def test_jacobians_inside_and_outside(x, w):
    def f(a):
        return (w @ a).tanh()

    each = genesis.stack([jacrev(f)(a) for a in x])
    close(vmap(jacrev(f))(x), each)
    close(vmap(jacfwd(f))(x), each)
    outer = jacrev(vmap(f))(x)
    close(genesis.stack([outer[i, :, i] for i in range(5)]), each)
    close(jacfwd(vmap(f))(x), outer)


def test_hessians_inside_and_outside(x):
    each = genesis.stack([jacrev(jacrev(f1))(a) for a in x])
    close(vmap(hessian(f1))(x), each)
    close(vmap(jacfwd(jacfwd(f1)))(x), each)
    close(vmap(jacfwd(grad(f1)))(x), each)
    outer = hessian(lambda z: vmap(f1)(z).sum())(x)
    close(genesis.stack([outer[i, :, i] for i in range(5)]), each)
    close(hessian(vmap(f1))(x)[2, 2, :, 2], each[2])


def test_products(x, w):
    def f(a):
        return (w @ a).tanh()

    _, pull = vjp(f, x[0])
    close(vmap(pull)(genesis.eye(4, dtype=x.dtype))[0], jacrev(f)(x[0]))
    pushed = vmap(lambda a, t: jvp(f, (a,), (t,))[1])(x, x)
    close(pushed, genesis.stack([jacrev(f)(a) @ a for a in x]))
    value, product = jvp(vmap(f), (x,), (x,))
    close(product, pushed)
    close(value, f(x.T).T)


def test_higher_derivatives_through_vmap(x):
    got = vmap(grad(lambda a: grad(f1)(a).pow(2).sum()))(x)
    close(got, genesis.stack([grad(lambda a: grad(f1)(a).pow(2).sum())(a) for a in x]))


def test_requires_grad_outside(x, w):
    w = w.clone().requires_grad_()
    vmap(grad(lambda a: (w @ a).tanh().sum()))(x).pow(2).sum().backward()
    want = genesis.autograd.grad(
        sum(grad(lambda a: (w @ a).tanh().sum())(a).pow(2).sum() for a in x), w
    )[0]
    close(w.grad, want)


def test_jacobian_chunks_and_aux(x, w):
    def f(a):
        y = (w @ a).tanh()
        return y, y.detach()

    want = jacrev(lambda a: f(a)[0], chunk_size=1)(x[0])
    for chunk in (None, 2, 3, 100):
        for transform in (jacrev, jacfwd):
            got, aux = transform(f, has_aux=True, chunk_size=chunk)(x[0])
            close(got, want)
            close(aux, f(x[0])[1])


def test_jacobians_read_values_and_branch(x):
    def f(a):
        scale = a.sum().item()
        return a[a > -100] * scale if a.sum() > -1e9 else a

    close(jacrev(f)(x[0]), genesis.eye(3, dtype=x.dtype) * x[0].sum())


def test_batched_grads_and_vectorized_functions(x, w):
    a = x[0].clone().requires_grad_()
    y = (w @ a).tanh()
    want = jacrev(lambda a: (w @ a).tanh())(x[0])
    (got,) = genesis.autograd.grad(y, a, genesis.eye(4, dtype=x.dtype), is_grads_batched=True)
    close(got, want)
    from genesis.autograd.functional import hessian as hessian_at
    from genesis.autograd.functional import jacobian

    for strategy in ("reverse-mode", "forward-mode"):
        got = jacobian(lambda a: (w @ a).tanh(), x[0], vectorize=True, strategy=strategy)
        close(got, want)
    close(hessian_at(f1, x[0], vectorize=True), hessian_at(f1, x[0]))
    got = jacobian(lambda a, b: (a * b, a.sum()), (x[0], x[1]), vectorize=True)
    want = jacobian(lambda a, b: (a * b, a.sum()), (x[0], x[1]))
    for row, other in zip(got, want, strict=True):
        for block, same in zip(row, other, strict=True):
            close(block, same)
    with pytest.raises(RuntimeError, match="strict=True and vectorize=True"):
        jacobian(f1, x[0], vectorize=True, strict=True)


# ---- indexing and writing


def test_indexing(x):
    i = genesis.tensor([2, 0, 1, 1, 2])
    close(vmap(lambda a, k: a[k])(x, i), x[genesis.arange(5), i])
    cube = genesis.randn(5, 3, 4, 2)
    pairs = genesis.tensor([[0, 1], [1, 0], [2, 2], [0, 0], [1, 2]])
    close(
        vmap(lambda a, k: a[k])(cube, pairs),
        genesis.stack([c[k] for c, k in zip(cube, pairs, strict=True)]),
    )
    for key in (
        lambda k: (slice(None), k),
        lambda k: (k, slice(None), k % 2),
        lambda k: (Ellipsis, k % 2),
        lambda k: (k, None, 1),
        lambda k: (slice(1, None), k, 0),
    ):
        got = vmap(lambda a, k, key=key: a[key(k)])(cube, pairs)
        close(got, genesis.stack([c[key(k)] for c, k in zip(cube, pairs, strict=True)]))
        got = vmap(lambda a, key=key: a[key(pairs[1])])(cube)
        close(got, genesis.stack([c[key(pairs[1])] for c in cube]))
    close(vmap(lambda a: a[:, ::2, None])(cube), cube[:, :, ::2, None])


def test_assignment(x):
    def f(a, k):
        out = genesis.zeros_like(a)
        out[k] = a[0]
        out[1:] += 1
        out[out > 1] = 0.5
        return out

    k = genesis.tensor([0, 1, 2, 0, 1])
    close(vmap(f)(x, k), genesis.stack([f(a, i) for a, i in zip(x, k, strict=True)]))

    def g(a):
        out = a.new_zeros(4)
        out[:3] = a
        out.mul_(a.sum()).clamp_(min=0)
        return out

    close(vmap(g)(x), genesis.stack([g(a) for a in x]))


def test_writing_into_what_is_not_mapped(x):
    shared = genesis.zeros(3, dtype=x.dtype)
    with pytest.raises(RuntimeError, match="does not map over"):
        vmap(lambda a: shared.add_(a))(x)
    with pytest.raises(RuntimeError, match="does not map over"):
        vmap(lambda a: shared.__setitem__(0, a[0]))(x)
    assert (shared == 0).all()


# ---- modules


def test_per_sample_gradients_of_modules():
    genesis.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(2, 4, 3, padding=1), nn.GroupNorm(2, 4), nn.GELU(), nn.MaxPool2d(2), nn.Flatten(0),
        nn.Linear(16, 5), nn.LayerNorm(5),
    )  # fmt: skip
    params = dict(model.named_parameters())
    x, y = genesis.randn(3, 2, 4, 4), genesis.tensor([0, 4, 2])

    def loss(p, a, b):
        return nn.functional.cross_entropy(functional_call(model, p, a), b)

    got = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    for i in range(3):
        want = grad(loss)(params, x[i], y[i])
        for name in params:
            genesis.testing.assert_close(got[name][i], want[name], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize("kind", ["RNN", "GRU", "LSTM"])
def test_ensembles_of_recurrent_layers(kind):
    genesis.manual_seed(0)
    models = [getattr(nn, kind)(3, 4, 2, batch_first=True) for _ in range(3)]
    params, buffers = stack_module_state(models)
    x = genesis.randn(2, 5, 3)
    out = vmap(lambda p: functional_call(models[0], p, x)[0])(params)
    for i, model in enumerate(models):
        genesis.testing.assert_close(out[i], model(x)[0])
    assert params["weight_ih_l0"].requires_grad
    assert buffers == {}


def test_ensemble_of_attention():
    genesis.manual_seed(0)
    models = [nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True) for _ in range(3)]
    params, _ = stack_module_state(models)
    x = genesis.randn(2, 5, 8)
    out = vmap(lambda p: functional_call(models[0], p, x))(params)
    for i, model in enumerate(models):
        genesis.testing.assert_close(out[i], model(x), rtol=1e-4, atol=1e-5)


def test_batch_norm(x):
    model = nn.BatchNorm1d(3)
    with pytest.raises(RuntimeError, match="replace_all_batch_norm_modules_"):
        vmap(model)(genesis.randn(4, 5, 3))
    replace_all_batch_norm_modules_(model)
    batch = genesis.randn(4, 5, 3)
    out = vmap(model)(batch)
    genesis.testing.assert_close(out, genesis.stack([model(b) for b in batch]))


def test_models_that_do_not_fit():
    with pytest.raises(RuntimeError, match="at least one"):
        stack_module_state([])
    with pytest.raises(RuntimeError, match="one class"):
        stack_module_state([nn.Linear(1, 1), nn.ReLU()])


# ---- Function


class Cube(genesis.autograd.Function):
    generate_vmap_rule = True

    @staticmethod
    def forward(ctx, x, scale):
        ctx.save_for_backward(x)
        ctx.scale = scale
        return x**3 * scale

    @staticmethod
    def backward(ctx, grad_output):
        (x,) = ctx.saved_tensors
        return 3 * x**2 * ctx.scale * grad_output, None


class Written(genesis.autograd.Function):
    calls: list = []  # noqa: RUF012

    @staticmethod
    def forward(x, y):
        return x @ y

    @staticmethod
    def setup_context(ctx, inputs, output):
        ctx.save_for_backward(*inputs)

    @staticmethod
    def backward(ctx, g):
        x, y = ctx.saved_tensors
        return g @ y.mT, x.mT @ g

    @staticmethod
    def vmap(info, in_dims, x, y):
        Written.calls.append((info.batch_size, info.randomness, in_dims))
        x = x if in_dims[0] is None else x.movedim(in_dims[0], 0)
        y = y if in_dims[1] is None else y.movedim(in_dims[1], 0)
        return x @ y, 0


class Plain(genesis.autograd.Function):
    @staticmethod
    def forward(ctx, x):
        return x * 2


def test_function_with_a_generated_rule(x):
    close(vmap(lambda a: Cube.apply(a, 2.0))(x), 2 * x**3)
    close(vmap(grad(lambda a: Cube.apply(a, 2.0).sum()))(x), 6 * x**2)
    close(grad(lambda z: vmap(lambda a: Cube.apply(a, 2.0))(z).sum())(x), 6 * x**2)
    close(vmap(vmap(lambda a: Cube.apply(a, 1.0)))(x), x**3)


def test_function_with_its_own_rule(x, w):
    Written.calls.clear()
    mats = genesis.randn(5, 3, 2, dtype=x.dtype)
    close(vmap(lambda m: Written.apply(w, m))(mats), w @ mats)
    assert Written.calls == [(5, "error", (None, 0))]
    got = vmap(grad(lambda m: Written.apply(w, m).pow(2).sum()))(mats)
    close(got, 2 * w.T @ (w @ mats))


def test_function_without_a_rule(x):
    with pytest.raises(RuntimeError, match=r"Plain cannot be mapped over.*generate_vmap_rule"):
        vmap(Plain.apply)(x)


# ---- random numbers


def test_randomness(x):
    with pytest.raises(RuntimeError, match=r"test_vmap\.py:\d+.*randomness='different'"):
        vmap(lambda a: a + genesis.randn(3))(x)
    different = vmap(lambda a: a * 0 + genesis.randn(3), randomness="different")(x)
    assert len({tuple(r.tolist()) for r in different}) == 5
    same = vmap(lambda a: a * 0 + genesis.randn(3), randomness="same")(x)
    assert (same == same[0]).all()
    ones = genesis.ones(5, 1000)
    for mode, equal in (("same", True), ("different", False)):
        out = vmap(lambda a: nn.functional.dropout(a, 0.5), randomness=mode)(ones)
        assert bool((out == out[0]).all()) is equal
        assert 0.4 < float((out == 0).float().mean()) < 0.6
        out = vmap(lambda a: genesis.rand_like(a), randomness=mode)(ones)
        assert bool((out == out[0]).all()) is equal
    assert vmap(lambda a: nn.functional.dropout(a, 0.5, training=False))(ones).equal(ones)
    out = vmap(lambda a: genesis.randperm(6) + a[0].long(), randomness="different")(x * 0)
    assert (out.sort(1)[0] == genesis.arange(6)).all()


# ---- errors


@pytest.mark.parametrize(
    ("f", "match"),
    [
        (lambda a: a.sum().item(), r"item\(\) at .*test_vmap\.py:\d+"),
        (lambda a: a if a.sum() > 0 else -a, r"bool\(tensor\) at .*test_vmap\.py:\d+.*where"),
        (lambda a: float(a.sum()), r"float\(tensor\)"),
        (lambda a: int(a.sum()), r"int\(tensor\)"),
        (lambda a: a.numpy(), r"numpy\(\)"),
        (lambda a: a.tolist(), r"tolist\(\)"),
        (lambda a: a.nonzero(), r"nonzero\(\).*where"),
        (lambda a: a[a > 0], "mask"),
        (lambda a: a.masked_select(a > 0), "mask"),
        (lambda a: genesis.unique(a), "unique"),
        (lambda a: genesis.tensor([a[0], a[1]]), "maps over"),
        (lambda a: a.sum().backward(), "func.grad"),
        (lambda a: range(a.sum().long()), "maps over"),
    ],
)
def test_reading_values(x, f, match):
    with pytest.raises((RuntimeError, ValueError), match=match):
        vmap(f)(x)


def test_bad_arguments(x, w):
    with pytest.raises(ValueError, match="in_dims has 1 entries for 2"):
        vmap(genesis.dot, in_dims=(0,))(x, x)
    with pytest.raises(ValueError, match=r"same size, got \[5, 4\]"):
        vmap(genesis.dot)(x, w)
    with pytest.raises(ValueError, match="no argument is mapped"):
        vmap(genesis.sin, in_dims=(None,))(x)
    with pytest.raises(ValueError, match="out of range"):
        vmap(genesis.sin, in_dims=2)(x)
    with pytest.raises(ValueError, match="must be a tensor"):
        vmap(lambda a, b: a, in_dims=(0, 0))(x, 3)
    with pytest.raises(ValueError, match="without positional arguments"):
        vmap(lambda: 1)()
    with pytest.raises(ValueError, match="must return tensors"):
        vmap(lambda a: 3)(x)
    with pytest.raises(ValueError, match="out_dims is None"):
        vmap(lambda a: a, out_dims=None)(x)
    with pytest.raises(IndexError, match="out_dims 7"):
        vmap(lambda a: a, out_dims=7)(x)
    with pytest.raises(ValueError, match="structure"):
        vmap(lambda a: (a, a), out_dims=(0, 0, 0))(x)
    with pytest.raises(ValueError, match="structure"):
        vmap(lambda a: a["b"], in_dims=({"c": 0},))({"b": x})
    with pytest.raises(ValueError, match="chunk_size"):
        vmap(genesis.sin, chunk_size=0)
    with pytest.raises(ValueError, match="randomness"):
        vmap(genesis.sin, randomness="no")
    with pytest.raises(IndexError, match="out of range"):
        vmap(lambda a: a.sum(1))(x)


def test_levels_are_left_after_an_error(x):
    from genesis.func import _batching

    with pytest.raises(RuntimeError):
        vmap(lambda a: a.item())(x)
    assert _batching.levels() == ()
    assert genesis.randn(3).shape == (3,)


# ---- custom operators, and what is around


def test_custom_operators(x):
    from genesis import library

    @library.custom_op("testvmap::twice", mutates_args=())
    def twice(a):
        return genesis.from_numpy(a.detach().numpy() * 2)

    with pytest.warns(UserWarning, match="testvmap::twice has no batching rule"):
        close(vmap(twice)(x), 2 * x)
    calls = []

    @library.register_vmap("testvmap::twice")
    def rule(info, in_dims, a):
        calls.append((info.batch_size, in_dims))
        return twice(a), in_dims[0]

    close(vmap(twice)(x), 2 * x)
    assert calls == [(5, (0,))]


def test_debug_unwrap_and_functionalize(x):
    from genesis.func import debug_unwrap, functionalize

    seen = []
    vmap(vmap(lambda a: seen.append((debug_unwrap(a), debug_unwrap(a, recurse=False))) or a))(x)
    assert seen[0][0].shape == x.shape
    assert seen[0][1].shape == (3,)
    assert debug_unwrap(x) is x
    close(functionalize(lambda a: a.clone().add_(1))(x), x + 1)
    with pytest.raises(ValueError, match="remove"):
        functionalize(lambda a: a, remove="views")


def test_top_level_name():
    assert genesis.vmap is vmap


def test_copies_and_reads_without_a_method(x):
    copied = vmap(lambda v: copy.deepcopy(v).mul_(2) + copy.copy(v))(x)
    np.testing.assert_array_equal(copied.numpy(), (3 * x).numpy())
    for read in (np.asarray, memoryview, pickle.dumps, genesis.tensor, genesis.arange):
        with pytest.raises((RuntimeError, BufferError), match="vmap") as error:
            vmap(lambda v, read=read: genesis.tensor(bytes(read(v.sum()))))(x)
        assert read is memoryview or "test_vmap.py:" in str(error.value)


@pytest.mark.parametrize("name", ["alpha_dropout", "feature_alpha_dropout", "dropout", "dropout1d"])
def test_every_dropout_draws_for_each_element(name):
    function = getattr(genesis.nn.functional, name)
    same = genesis.ones(3, 2, 50, 1)

    def drop(v):
        return function(v, 0.5, training=True)

    drawn = vmap(drop, randomness="different")(same)
    assert not drawn[0].equal(drawn[1])
    shared = vmap(drop, randomness="same")(same)
    assert shared[0].equal(shared[1])
    with pytest.raises(RuntimeError, match="random"):
        vmap(drop)(same)


@pytest.mark.parametrize("chunk", [1, 2, 5, 100])
def test_chunks_of_hessians(x, w, chunk):
    def f(a, p):
        return (a.sin() * p["w"]).sum() ** 2 + p["b"]

    args = x[0], {"w": w[0, :1] if w.ndim > 1 else w[:1], "b": x[1, 0]}
    whole = hessian(f, argnums=(0, 1))(*args)
    parts = hessian(f, argnums=(0, 1), chunk_size=chunk)(*args)
    for a, b in zip(tree_leaves(whole), tree_leaves(parts), strict=True):
        np.testing.assert_allclose(a.numpy(), b.numpy(), rtol=1e-6)
    with pytest.raises(ValueError, match="hessian: chunk_size must be a positive int"):
        hessian(f, chunk_size=0)
