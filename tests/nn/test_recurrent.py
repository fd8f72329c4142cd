"""RNN, LSTM and GRU: against steps written out in NumPy, against PyTorch, to second order."""

import genesis
import numpy as np
import pytest
from genesis import nn
from genesis.autograd import gradcheck
from genesis.nn.utils import rnn

MODES = ["RNN_TANH", "RNN_RELU", "LSTM", "GRU"]


def sigmoid(x):
    return 1 / (1 + np.exp(-x))


def step(mode, x, h, c, w):
    """One step of a cell on rows x; w by name, without suffix."""
    gi = x @ w["weight_ih"].T + w.get("bias_ih", 0.0)
    gh = h @ w["weight_hh"].T + w.get("bias_hh", 0.0)
    if mode == "GRU":
        (ir, iz, i_n), (hr, hz, hn) = np.split(gi, 3, -1), np.split(gh, 3, -1)
        r, z = sigmoid(ir + hr), sigmoid(iz + hz)
        n = np.tanh(i_n + r * hn)
        return (1 - z) * n + z * h, c
    if mode != "LSTM":
        return (np.tanh if mode == "RNN_TANH" else lambda a: np.maximum(a, 0))(gi + gh), c
    i, f, g, o = np.split(gi + gh, 4, -1)
    c = sigmoid(f) * c + sigmoid(i) * np.tanh(g)
    h = sigmoid(o) * np.tanh(c)
    return h @ w["weight_hr"].T if "weight_hr" in w else h, c


def oracle(layer, sequences, hx=None):
    """Each sequence (steps, inputs) by itself; the outputs, and the last states (k, batch, n)."""
    params = {k: v.detach().numpy() for k, v in layer.named_parameters()}
    outs, states = list(sequences), ([], [])
    directions = 1 + layer.bidirectional
    for k in range(layer.num_layers * directions):
        suffix = f"_l{k // directions}" + ("_reverse" if k % directions else "")
        w = {n.removesuffix(suffix): v for n, v in params.items() if n.endswith(suffix)}
        sizes = (w["weight_hh"].shape[1], layer.hidden_size)
        if k % directions == 0:
            inputs, outs = outs, [[] for _ in sequences]
        last = ([], [])
        for b, x in enumerate(inputs):
            given = hx or ()
            h, c = (given[j][k, b] if j < len(given) else np.zeros(n) for j, n in enumerate(sizes))
            made = np.zeros((len(x), sizes[0]))
            for t in reversed(range(len(x))) if k % directions else range(len(x)):
                h, c = step(layer.mode, x[t], h, c, w)
                made[t] = h
            outs[b].append(made)
            last[0].append(h)
            last[1].append(c)
        states[0].append(np.stack(last[0]))
        states[1].append(np.stack(last[1]))
        if k % directions == directions - 1:
            outs = [np.concatenate(o, -1) for o in outs]
    return outs, [np.stack(s) for s in states]


def make(mode, *args, **kwargs):
    genesis.manual_seed(5)
    if mode.startswith("RNN"):
        kwargs["nonlinearity"] = mode[4:].lower()
    layer = getattr(nn, mode.split("_")[0])(*args, dtype=genesis.float64, **kwargs)
    return layer


def states(layer, rng, batch):
    count, outputs = (
        layer.num_layers * (1 + layer.bidirectional),
        layer.proj_size or layer.hidden_size,
    )
    shapes = [(count, batch, outputs), (count, batch, layer.hidden_size)]
    return [rng.normal(size=s) for s in shapes[: 1 + (layer.mode == "LSTM")]]


def called(layer, x, hx):
    """The call with NumPy states; the output and a list of states."""
    given = None
    if hx is not None:
        tensors = tuple(genesis.tensor(h, dtype=genesis.float64) for h in hx)
        given = tensors if layer.mode == "LSTM" else tensors[0]
    out, last = layer(x, given)
    return out, list(last) if layer.mode == "LSTM" else [last]


VARIANTS = [
    {},
    {"bias": False},
    {"num_layers": 2, "bidirectional": True},
    {"num_layers": 3, "batch_first": True},
]


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("variant", VARIANTS, ids=lambda v: "-".join(v) or "plain")
@pytest.mark.parametrize("mode", MODES)
def test_same_as_steps_written_out(mode, variant, initial, rng):
    layer = make(mode, 3, 5, **variant)
    x = rng.normal(size=(4, 2, 3))
    hx = states(layer, rng, 2) if initial else None
    given = x.transpose(1, 0, 2) if layer.batch_first else x
    out, last = called(layer, genesis.tensor(given, dtype=genesis.float64), hx)
    outs, expected = oracle(layer, [x[:, b] for b in range(2)], hx)
    np.testing.assert_allclose(
        out.detach().numpy(), np.stack(outs, 0 if layer.batch_first else 1), rtol=1e-9, atol=1e-12
    )
    for a, b in zip(last, expected, strict=False):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("inputs, hidden", [(0, 3), (500, 7), (3, 400)])
@pytest.mark.parametrize("mode", MODES)
def test_sums_of_none_and_of_several_passes(mode, inputs, hidden, rng):
    layer = make(mode, inputs, hidden)
    x = rng.normal(size=(3, 5, inputs))
    out, _ = layer(genesis.tensor(x, dtype=genesis.float64))
    outs, _ = oracle(layer, [x[:, b] for b in range(5)])
    np.testing.assert_allclose(out.detach().numpy(), np.stack(outs, 1), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    "variant", [{}, {"num_layers": 2, "bidirectional": True}, {"bias": False}], ids=str
)
def test_lstm_projection(variant, rng):
    layer = make("LSTM", 3, 5, proj_size=2, **variant)
    x, hx = rng.normal(size=(4, 2, 3)), states(layer, rng, 2)
    out, last = called(layer, genesis.tensor(x, dtype=genesis.float64), hx)
    outs, expected = oracle(layer, [x[:, b] for b in range(2)], hx)
    np.testing.assert_allclose(out.detach().numpy(), np.stack(outs, 1), rtol=1e-9, atol=1e-12)
    for a, b in zip(last, expected, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("initial", [False, True])
@pytest.mark.parametrize("mode", MODES)
def test_packed_sequences(mode, initial, rng):
    layer = make(mode, 3, 4, num_layers=2, bidirectional=True)
    sequences = [rng.normal(size=(n, 3)) for n in (2, 5, 1, 5, 3)]
    hx = states(layer, rng, 5) if initial else None
    packed = rnn.pack_sequence(
        [genesis.tensor(s, dtype=genesis.float64) for s in sequences], enforce_sorted=False
    )
    out, last = called(layer, packed, hx)
    outs, expected = oracle(layer, sequences, hx)
    for a, b in zip(rnn.unpack_sequence(out), outs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-12)
    for a, b in zip(last, expected, strict=False):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("mode", MODES)
def test_without_a_batch(mode, rng):
    layer = make(mode, 3, 4, bidirectional=True)
    x, hx = rng.normal(size=(5, 3)), states(layer, rng, 1)
    out, last = called(layer, genesis.tensor(x, dtype=genesis.float64), [h[:, 0] for h in hx])
    outs, expected = oracle(layer, [x], hx)
    np.testing.assert_allclose(out.detach().numpy(), outs[0], rtol=1e-9)
    for a, b in zip(last, expected, strict=False):
        np.testing.assert_allclose(a.detach().numpy(), b[:, 0], rtol=1e-9)


GRADIENTS = [
    (mode, options) for mode in MODES for options in ({}, {"bidirectional": True, "bias": False})
]
GRADIENTS.append(("LSTM", {"proj_size": 2}))


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode, options", GRADIENTS)
def test_gradients_to_second_order(mode, options, packed, rng):
    layer = make(mode, 2, 3, **options)
    hx = states(layer, rng, 2)
    x = rng.normal(size=(3, 2, 2))
    names, weights = zip(*layer.named_parameters(), strict=True)

    def run(x, *rest):
        given, params = rest[: len(hx)], rest[len(hx) :]
        if packed:
            x = rnn.pack_padded_sequence(x, [3, 2])
        state = given if mode == "LSTM" else given[0]
        out, last = genesis.func.functional_call(
            layer, dict(zip(names, params, strict=True)), (x, state)
        )
        out = out.data if packed else out
        return (out, *last) if mode == "LSTM" else (out, last)

    leaves = [genesis.tensor(a, dtype=genesis.float64, requires_grad=True) for a in (x, *hx)]
    leaves += [w.detach().clone().requires_grad_() for w in weights]
    assert gradcheck(run, tuple(leaves), order=2)


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize("mode, options", [(m, {}) for m in MODES] + [("LSTM", {"proj_size": 7})])
def test_fused_gradient_is_the_open_one_over_many_steps(mode, options, packed, rng):
    """Enough rows and gates for several blocks of steps and several tiles."""
    layer = make(mode, 5, 130, bidirectional=True, **options)
    hx = [
        genesis.tensor(h, dtype=genesis.float64, requires_grad=True) for h in states(layer, rng, 19)
    ]
    x = genesis.tensor(rng.normal(size=(14, 19, 5)), dtype=genesis.float64, requires_grad=True)
    leaves = [x, *hx, *layer.parameters()]
    lengths = [14, *sorted(rng.integers(1, 14, 18).tolist(), reverse=True)]

    def grads(create_graph):
        given = rnn.pack_padded_sequence(x, lengths) if packed else x
        out, last = layer(given, tuple(hx) if mode == "LSTM" else hx[0])
        out = out.data if packed else out
        total = out.square().sum() + sum(
            h.sin().sum() for h in (last if mode == "LSTM" else [last])
        )
        return genesis.autograd.grad(total, leaves, create_graph=create_graph)

    for a, b in zip(grads(False), grads(True), strict=True):
        np.testing.assert_allclose(a.numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("mode", MODES)
def test_gradient_reaches_only_what_is_used(mode, rng):
    """From the last state alone, and from a part of the output."""
    layer = make(mode, 3, 4)
    x = genesis.tensor(rng.normal(size=(5, 2, 3)), dtype=genesis.float64, requires_grad=True)
    _, last = layer(x)
    h = last[0] if mode == "LSTM" else last
    out, _ = layer(x)
    a = genesis.autograd.grad(h.sum(), [x, *layer.parameters()])
    b = genesis.autograd.grad(out[-1].sum(), [x, *layer.parameters()])
    for p, q in zip(a, b, strict=True):
        np.testing.assert_allclose(p.numpy(), q.numpy(), rtol=1e-10, atol=1e-13)


def test_dropout_between_layers_only_while_training(rng):
    genesis.manual_seed(1)
    layer = nn.LSTM(3, 4, num_layers=2, dropout=0.5)
    x = genesis.tensor(rng.normal(size=(5, 2, 3)), dtype=genesis.float32)
    assert not np.array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    layer.eval()
    assert np.array_equal(layer(x)[0].detach().numpy(), layer(x)[0].detach().numpy())
    with pytest.warns(UserWarning, match="does nothing with num_layers=1"):
        nn.GRU(3, 4, dropout=0.5)


@pytest.mark.parametrize("mode", MODES)
def test_any_number_of_threads_gives_the_same_bits(mode, rng, num_threads):
    x = rng.normal(size=(20, 37, 24)).astype(np.float32)
    results = []
    for threads in (1, 2, 7):
        genesis.set_num_threads(threads)
        layer = make(mode, 24, 40, num_layers=2).float()
        given = genesis.tensor(x, requires_grad=True)
        out, _ = layer(given)
        out.square().sum().backward()
        results.append(
            [
                out.detach().numpy(),
                given.grad.numpy(),
                *(p.grad.numpy() for p in layer.parameters()),
            ]
        )
    for other in results[1:]:
        for a, b in zip(results[0], other, strict=True):
            assert np.array_equal(a, b)


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
@pytest.mark.parametrize("mode", MODES)
def test_half_precision_computes_in_float32(mode, dtype, rng):
    half = getattr(genesis, dtype)
    layer = make(mode, 3, 8).to(half)
    x = genesis.tensor(rng.normal(size=(6, 2, 3)), dtype=half)
    out, _ = layer(x)
    assert out.dtype == half
    out.float().sum().backward()
    assert all(p.grad.dtype == half for p in layer.parameters())
    wide, _ = layer.float()(x.float())
    np.testing.assert_array_equal(
        out.float().detach().numpy(), wide.to(half).float().detach().numpy()
    )


@pytest.mark.parametrize("name", ["RNNCell", "LSTMCell", "GRUCell"])
def test_cell_is_one_step_of_the_layer(name, rng):
    cell = getattr(nn, name)(3, 4, dtype=genesis.float64)
    mode = {"RNNCell": "RNN_TANH"}.get(name, name.removesuffix("Cell"))
    w = {k: v.detach().numpy() for k, v in cell.named_parameters()}
    x, h, c = (rng.normal(size=s) for s in ((2, 3), (2, 4), (2, 4)))
    tensors = [genesis.tensor(a, dtype=genesis.float64) for a in (x, h, c)]
    given = (tensors[1], tensors[2]) if name == "LSTMCell" else tensors[1]
    out = cell(tensors[0], given)
    expected = step(mode, x, h, c, w)
    got = out if isinstance(out, tuple) else (out,)
    for a, b in zip(got, expected, strict=False):
        np.testing.assert_allclose(a.detach().numpy(), b, rtol=1e-9)
    single = cell(
        tensors[0][0], (tensors[1][0], tensors[2][0]) if name == "LSTMCell" else tensors[1][0]
    )
    first = single[0] if isinstance(single, tuple) else single
    np.testing.assert_allclose(first.detach().numpy(), expected[0][0], rtol=1e-9)
    assert cell(tensors[0]) is not None


def test_errors_say_what_is_wrong():
    lstm = nn.LSTM(3, 4)
    with pytest.raises(RuntimeError, match="must have input_size=3"):
        lstm(genesis.ones(5, 2, 4))
    with pytest.raises(
        RuntimeError, match=r"hidden state must have shape \(1, 2, 4\), got \(1, 3, 4\)"
    ):
        lstm(genesis.ones(5, 2, 3), (genesis.ones(1, 3, 4), genesis.ones(1, 2, 4)))
    with pytest.raises(ValueError, match="3 dimensions"):
        lstm(genesis.ones(3))
    with pytest.raises(ValueError, match="at least one step"):
        lstm(genesis.ones(0, 2, 3))
    with pytest.raises(ValueError, match="proj_size must be"):
        nn.LSTM(3, 4, proj_size=4)
    with pytest.raises(ValueError, match="'tanh' or 'relu'"):
        nn.RNN(3, 4, nonlinearity="elu")
    with pytest.raises(TypeError, match="weight_ih is float32 but input is float64"):
        lstm(genesis.ones(5, 2, 3, dtype=genesis.float64))
    with pytest.raises(ValueError, match="must not grow"):
        data = genesis.ones(3, 3)
        lstm(rnn.PackedSequence(data, genesis.tensor([1, 2])))


@pytest.mark.parametrize("mode", MODES)
def test_empty_batch(mode):
    layer = make(mode, 3, 4)
    out, _ = layer(genesis.ones(5, 0, 3, dtype=genesis.float64))
    assert out.shape == (5, 0, 4)
    out.sum().backward()
    assert all(not p.grad.any() for p in layer.parameters())


@pytest.mark.parametrize(
    "mode, options",
    [(m, o) for m in MODES for o in ({}, {"num_layers": 2, "bidirectional": True}, {"bias": False})]
    + [("LSTM", {"proj_size": 2, "num_layers": 2})],
)
def test_weights_move_to_and_from_torch(mode, options, rng):
    torch = pytest.importorskip("torch")
    layer = make(mode, 3, 4, **options)
    kind = {"nonlinearity": mode[4:].lower()} if mode.startswith("RNN") else {}
    theirs = getattr(torch.nn, mode.split("_")[0])(3, 4, dtype=torch.float64, **kind, **options)
    assert repr(layer) == repr(theirs)
    assert list(layer.state_dict()) == list(theirs.state_dict())
    theirs.load_state_dict({k: torch.tensor(v.numpy()) for k, v in layer.state_dict().items()})
    layer.load_state_dict(
        {
            k: genesis.tensor(v.numpy(), dtype=genesis.float64)
            for k, v in theirs.state_dict().items()
        }
    )
    x = rng.normal(size=(5, 2, 3))
    a, b = layer(genesis.tensor(x, dtype=genesis.float64))[0], theirs(torch.tensor(x))[0]
    np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-9)
    a.square().sum().backward()
    b.square().sum().backward()
    for p, q in zip(layer.parameters(), theirs.parameters(), strict=True):
        np.testing.assert_allclose(p.grad.numpy(), q.grad.numpy(), rtol=1e-8, atol=1e-12)


def test_initialisation_is_uniform_within_the_bound():
    genesis.manual_seed(0)
    layer = nn.LSTM(64, 100)
    for p in layer.parameters():
        assert p.abs().max().item() <= 0.1
        assert abs(p.mean().item()) < 0.01
    assert abs(layer.weight_hh_l0.std().item() - 0.1 / 3**0.5) < 1e-3
