"""Functions that PyTorch has under a second name, against PyTorch."""

import genesis
import numpy as np
import pytest
from genesis import _second_functional, _second_names

torch = pytest.importorskip("torch")
rng = np.random.default_rng(0)


def x(*shape):
    return rng.normal(size=shape)


W = [x(8, 3), x(8, 2), x(8), x(8)]
G = [x(6, 3), x(6, 2), x(6), x(6)]
R = [x(2, 3), x(2, 2), x(2), x(2)]

CASES = {
    "alias_copy": [(x(2, 3),)],
    "as_strided_copy": [(x(6), (2, 2), (1, 2))],
    "detach_copy": [(x(2),)],
    "diagonal_copy": [(x(3, 3), 1)],
    "expand_copy": [(x(1, 3), (2, 3))],
    "narrow_copy": [(x(3, 3), 0, 1, 2)],
    "permute_copy": [(x(2, 3), (1, 0))],
    "select_copy": [(x(2, 3), 0, 1)],
    "slice_copy": [(x(4), 0, 1, 3)],
    "split_copy": [(x(4, 2), 2)],
    "split_with_sizes_copy": [(x(4, 2), [1, 3])],
    "squeeze_copy": [(x(2, 1),)],
    "t_copy": [(x(2, 3),)],
    "transpose_copy": [(x(2, 3), 0, 1)],
    "unbind_copy": [(x(2, 3),)],
    "unfold_copy": [(x(5), 0, 2, 1)],
    "unsqueeze_copy": [(x(2), 0)],
    "view_copy": [(x(4), (2, 2))],
    "unsafe_chunk": [(x(4), 2)],
    "unsafe_split": [(x(4), 2)],
    "unsafe_split_with_sizes": [(x(4), [1, 3])],
    "frobenius_norm": [(x(2, 3), [0, 1]), (x(2, 3), [1], True)],
    "nuclear_norm": [(x(3, 3),)],
    "adaptive_avg_pool1d": [(x(2, 3, 5), 2)],
    "adaptive_max_pool1d": [(x(2, 3, 5), 2)],
    "max_pool1d_with_indices": [(x(2, 3, 5), 2)],
    "binary_cross_entropy_with_logits": [(x(3), np.abs(x(3)) % 1), (x(3), np.abs(x(3)) % 1, None, None, 2)],
    "cosine_embedding_loss": [(x(2, 3), x(2, 3), np.ones(2), 0.1, 0)],
    "hinge_embedding_loss": [(x(3), np.array([1.0, -1, 1]), 0.5)],
    "kl_div": [(x(3), np.abs(x(3)), 2)],
    "margin_ranking_loss": [(x(3), x(3), np.ones(3))],
    "poisson_nll_loss": [(x(3), np.abs(x(3)), True, False, 1e-8, 1)],
    "triplet_margin_loss": [(x(2, 3), x(2, 3), x(2, 3), 1.0, 2.0, 1e-6, False, 0)],
    "batch_norm": [(x(4, 3), x(3), x(3), x(3), np.abs(x(3)), False, 0.1, 1e-5, False)],
    "instance_norm": [(x(2, 3, 4), x(3), x(3), None, None, True, 0.1, 1e-5, False)],
    "native_layer_norm": [(x(2, 4), [4], x(4), x(4), 1e-5)],
    "native_group_norm": [(x(2, 4, 3), x(4), x(4), 2, 4, 3, 2, 1e-5)],
    "native_batch_norm": [(x(4, 3), x(3), x(3), None, None, True, 0.1, 1e-5)],
    "native_channel_shuffle": [(x(1, 4, 2, 2), 2)],
    "conv_tbc": [(x(5, 2, 3), x(2, 3, 4), x(4), 1)],
    "convolution": [(x(1, 2, 5, 5), x(3, 2, 2, 2), x(3), [1, 1], [0, 0], [1, 1], False, [0, 0], 1),
                    (x(1, 2, 4), x(2, 3, 2), None, [2], [0], [1], True, [0], 1)],
    "grid_sampler": [(x(1, 2, 3, 3), x(1, 2, 2, 2), 0, 0, False)],
    "affine_grid_generator": [(x(1, 2, 3), (1, 1, 3, 3), False)],
    "lstm_cell": [(x(2, 3), [x(2, 2), x(2, 2)], *W)],
    "gru_cell": [(x(2, 3), x(2, 2), *G)],
    "rnn_tanh_cell": [(x(2, 3), x(2, 2), *R)],
    "rnn_relu_cell": [(x(2, 3), x(2, 2), *R)],
    "lstm": [(x(4, 2, 3), [x(1, 2, 2), x(1, 2, 2)], W, True, 1, 0.0, False, False, False)],
    "gru": [(x(4, 2, 3), x(1, 2, 2), G, True, 1, 0.0, False, False, False)],
    "rnn_tanh": [(x(2, 4, 3), x(1, 2, 2), R, True, 1, 0.0, False, False, True)],
    "rnn_relu": [(x(4, 2, 3), x(1, 2, 2), R, True, 1, 0.0, False, False, False)],
    "embedding_bag": [(x(5, 2), np.array([1, 2, 4, 1]), np.array([0, 2]))],
    "is_signed": [(x(2),)],
    "is_neg": [(x(2),)],
    "gcd_": [(np.array([4, 6]), np.array([6, 9]))],
    "lcm_": [(np.array([4, 6]), np.array([6, 9]))],
    "ldexp_": [(x(2), np.array([1.0, 2.0]))],
    "xlogy_": [(x(2), np.abs(x(2)))],
    "addmv_": [(x(2), x(2, 3), x(3))],
    "range": [(1, 4), (0, 1, 0.25)],
}  # fmt: skip


def _converted(value, tensor):
    if isinstance(value, np.ndarray):
        return tensor(value)
    if isinstance(value, list):
        return [_converted(v, tensor) for v in value]
    return value


def _listed(result):
    return list(result) if isinstance(result, (tuple, list)) else [result]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name, number", [(n, i) for n, c in CASES.items() for i in range(len(c))])
def test_same_as_torch(name, number):
    args = CASES[name][number]

    def ours(a):
        return genesis.tensor(a, dtype=getattr(genesis, a.dtype.name))

    made = _listed(
        getattr(genesis, name)(
            *_converted(args, ours)
            if isinstance(args, list)
            else [_converted(a, ours) for a in args]
        )
    )
    wanted = _listed(
        getattr(torch, name)(*[_converted(a, lambda a: torch.tensor(a)) for a in args])
    )
    for i, (a, b) in enumerate(zip(made, wanted, strict=False)):
        if isinstance(b, torch.Tensor):
            if name == "embedding_bag" and i > 0:
                continue  # what lies beside the result is scratch memory of PyTorch's
            np.testing.assert_allclose(a.numpy(), b.numpy().reshape(a.shape), rtol=1e-6, atol=1e-9)
        else:
            assert a == b


def test_packed_sequences():
    lengths = genesis.tensor([3, 2])
    layer = genesis.nn.LSTM(3, 2)
    packed = genesis.nn.utils.rnn.pack_padded_sequence(genesis.ones(3, 2, 3), lengths)
    states = [genesis.zeros(1, 2, 2), genesis.zeros(1, 2, 2)]
    weights = list(layer.parameters())
    out, *_ = genesis.lstm(
        packed.data, packed.batch_sizes, states, weights, True, 1, 0.0, False, False
    )
    np.testing.assert_allclose(
        out.detach().numpy(), layer(packed)[0].data.detach().numpy(), atol=1e-6
    )


def test_dropout_forms():
    x = genesis.ones(4, 3, 2)
    for name in ("dropout_", "alpha_dropout_", "feature_alpha_dropout_", "feature_dropout_"):
        y = x.clone()
        assert getattr(genesis, name)(y, 0.5, False) is y
    channels = genesis.feature_dropout(x, 0.5, True)
    assert ((channels == 0).all(2) | (channels == 2).all(2)).all()
    y, kept = genesis.native_dropout(x, 0.5, True)
    assert ((y != 0) == kept).all()


def test_from_file(tmp_path):
    place = tmp_path / "numbers"
    np.arange(4, dtype=np.float32).tofile(place)
    x = genesis.from_file(str(place), shared=True, size=4)
    x += 1
    assert np.fromfile(place, dtype=np.float32).tolist() == [1, 2, 3, 4]


def test_methods_by_python_functions():
    x = genesis.tensor([1.0, 2.0])
    assert x.apply_(lambda v: v * 3) is x and x.tolist() == [3.0, 6.0]
    assert x.map_(genesis.tensor([1.0, 1.0]), lambda a, b: a - b).tolist() == [2.0, 5.0]
    assert x.map2_(x, x, lambda a, b, c: a + b + c).tolist() == [6.0, 15.0]
    with pytest.raises(RuntimeError, match="no gradient"):
        genesis.ones(2, requires_grad=True).apply_(abs)


def test_set_and_orders_of_dimensions():
    x, y = genesis.zeros(0), genesis.arange(6.0)
    assert x.set_(y).is_set_to(y) and x.set_(y, 1, (2, 2)).tolist() == [[1.0, 2.0], [3.0, 4.0]]
    assert not x.is_set_to(y)
    assert genesis.empty_permuted((2, 3, 4), (0, 2, 1)).dim_order() == (0, 2, 1)
    assert genesis.ones(2).polygamma_(1).tolist() == genesis.ones(2).polygamma(1).tolist()
    assert genesis.ones(4).narrow_copy(0, 1, 2).tolist() == [1.0, 1.0]


def test_lobpcg():
    rng = np.random.default_rng(1)
    a, b = rng.normal(size=(5, 5)), rng.normal(size=(5, 5))
    a, b = a @ a.T, b @ b.T + np.eye(5)
    for largest in (True, False):
        for other in (None, b):
            values, vectors = genesis.lobpcg(
                genesis.tensor(a, dtype=genesis.float64),
                k=2,
                B=None if other is None else genesis.tensor(other, dtype=genesis.float64),
                largest=largest,
            )
            v, w = vectors.numpy(), values.numpy()
            np.testing.assert_allclose(
                a @ v, (np.eye(5) if other is None else other) @ v * w, atol=1e-9
            )
            assert (np.diff(w) < 0).all() == largest
    with pytest.raises(ValueError, match="k must be"):
        genesis.lobpcg(genesis.eye(3), k=4)


def test_control_flow():
    x = genesis.tensor(1.0)
    (y,) = genesis.while_loop(lambda x: x < 10, lambda x: x * 2, (x,))
    assert y.item() == 16
    assert genesis.cond(x > 0, lambda x: x + 1, lambda x: x - 1, (x,)).item() == 2


@pytest.mark.parametrize("module", [_second_names, _second_functional])
def test_every_name_has_its_function(module):
    lazy = [name for name, home in genesis._HOME.items() if home == module.__name__]
    assert sorted(module.__all__) == sorted(lazy)
