"""Random numbers: seeds, state, generators, and that they have the distribution they claim."""

import genesis
import numpy as np
import pytest
from scipy import stats

N = 20_000


@pytest.fixture(autouse=True)
def _seeded():
    genesis.manual_seed(0)


DRAWS = {
    "rand": lambda g=None: genesis.rand(7, 3, generator=g),
    "randn": lambda g=None: genesis.randn(7, 3, generator=g),
    "randn float64": lambda g=None: genesis.randn(7, 3, dtype=genesis.float64, generator=g),
    "randint": lambda g=None: genesis.randint(0, 1000, (7, 3), generator=g),
    "randperm": lambda g=None: genesis.randperm(20, generator=g),
    "bernoulli": lambda g=None: genesis.bernoulli(genesis.full((21,), 0.5), generator=g),
    "normal_": lambda g=None: genesis.zeros(21).normal_(1.0, 2.0, generator=g),
    "uniform_": lambda g=None: genesis.zeros(21).uniform_(-1.0, 2.0, generator=g),
}


@pytest.mark.parametrize("name", DRAWS)
def test_the_same_seed_gives_the_same_numbers(name):
    draw = DRAWS[name]
    genesis.manual_seed(5)
    first, second = draw().tolist(), draw().tolist()
    assert first != second
    genesis.manual_seed(5)
    assert draw().tolist() == first
    assert draw().tolist() == second
    genesis.manual_seed(6)
    assert draw().tolist() != first


@pytest.mark.parametrize("name", DRAWS)
def test_a_generator_has_a_stream_of_its_own(name):
    draw = DRAWS[name]
    generator = genesis.Generator()
    generator.manual_seed(5)
    state = genesis.get_rng_state()
    first = draw(generator).tolist()
    assert genesis.get_rng_state().tolist() == state.tolist()  # the default one did not move
    generator.manual_seed(5)
    assert draw(generator).tolist() == first
    genesis.manual_seed(5)
    assert draw().tolist() == first  # the same algorithm


def test_the_state_can_be_saved_and_restored():
    genesis.manual_seed(1)
    genesis.rand(10)
    state = genesis.get_rng_state()
    first = genesis.randn(10).tolist()
    genesis.set_rng_state(state)
    assert genesis.randn(10).tolist() == first

    generator = genesis.Generator()
    generator.manual_seed(3)
    state = generator.get_state()
    first = genesis.rand(5, generator=generator).tolist()
    generator.set_state(state)
    assert genesis.rand(5, generator=generator).tolist() == first


def test_seeds_can_be_asked_for():
    genesis.manual_seed(1234)
    assert genesis.initial_seed() == 1234
    generator = genesis.Generator()
    assert generator.manual_seed(99) is generator
    assert generator.initial_seed() == 99


def test_the_shape_does_not_change_the_numbers():
    genesis.manual_seed(0)
    flat = genesis.randn(24)
    genesis.manual_seed(0)
    assert genesis.randn(2, 3, 4).reshape(-1).tolist() == flat.tolist()


@pytest.mark.parametrize("threads", [1, 2, 7])
def test_the_number_of_threads_does_not_change_the_numbers(threads, num_threads):
    genesis.set_num_threads(1)
    genesis.manual_seed(0)
    expected = genesis.rand(200_003).numpy().tobytes()
    genesis.set_num_threads(threads)
    genesis.manual_seed(0)
    assert genesis.rand(200_003).numpy().tobytes() == expected


def _fits(sample, distribution):
    """Kolmogorov-Smirnov, far out: with a fixed seed this is either right or badly wrong."""
    return stats.kstest(sample, distribution).pvalue > 1e-4


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_uniform_and_normal_have_their_distribution(dtype):
    dtype = getattr(genesis, dtype)
    uniform = genesis.rand(N, dtype=dtype).numpy()
    assert uniform.min() >= 0
    assert uniform.max() < 1
    assert _fits(uniform, stats.uniform.cdf)
    assert _fits(genesis.randn(N, dtype=dtype).numpy(), stats.norm.cdf)
    assert _fits(genesis.zeros(N, dtype=dtype).normal_(3, 2).numpy(), stats.norm(3, 2).cdf)
    assert _fits(genesis.zeros(N, dtype=dtype).uniform_(-4, 1).numpy(), stats.uniform(-4, 5).cdf)


def test_neighbours_are_independent():
    x = genesis.randn(N).numpy()
    for lag in (1, 2, 3, 4, 8):
        assert abs(np.corrcoef(x[:-lag], x[lag:])[0, 1]) < 5 / np.sqrt(N)


def test_uniform_float32_never_reaches_one():
    x = genesis.rand(2_000_000)
    assert x.max().item() < 1
    assert x.min().item() >= 0


@pytest.mark.parametrize("dtype", ["float16", "bfloat16"])
def test_half_precision_draws_stay_in_range(dtype):
    x = genesis.rand(N, dtype=getattr(genesis, dtype)).float().numpy()
    assert x.min() >= 0
    assert x.max() <= 1  # rounding may reach it
    assert abs(x.mean() - 0.5) < 0.02


def test_randint_is_uniform_over_its_range():
    x = genesis.randint(-3, 4, (N,)).numpy()
    values, counts = np.unique(x, return_counts=True)
    assert values.tolist() == [-3, -2, -1, 0, 1, 2, 3]
    assert stats.chisquare(counts).pvalue > 1e-4
    assert x.dtype == np.int64
    assert genesis.randint(5, (3,), dtype=genesis.int32).dtype == genesis.int32
    with pytest.raises((ValueError, RuntimeError)):
        genesis.randint(4, 4, (2,))


def test_randperm_is_a_permutation():
    assert sorted(genesis.randperm(1000).tolist()) == list(range(1000))
    assert genesis.randperm(0).tolist() == []
    firsts = [genesis.randperm(5)[0].item() for _ in range(1000)]
    assert stats.chisquare(np.bincount(firsts, minlength=5)).pvalue > 1e-4


def test_bernoulli_follows_its_probabilities():
    p = genesis.tensor([0.0, 0.25, 1.0]).expand(N, 3)
    means = genesis.bernoulli(p).mean(dim=0).tolist()
    assert means[0] == 0
    assert means[2] == 1
    assert abs(means[1] - 0.25) < 0.02


def test_multinomial_follows_its_weights():
    weights = genesis.tensor([1.0, 0.0, 3.0])
    counts = np.bincount(genesis.multinomial(weights, N, replacement=True).numpy(), minlength=3)
    assert counts[1] == 0
    assert abs(counts[2] / N - 0.75) < 0.02
    once = genesis.multinomial(genesis.ones(5), 5, replacement=False)
    assert sorted(once.tolist()) == [0, 1, 2, 3, 4]


def test_like_functions_take_shape_and_dtype():
    x = genesis.zeros(2, 3, dtype=genesis.float64)
    for like in (genesis.rand_like, genesis.randn_like):
        assert like(x).shape == x.shape
        assert like(x).dtype == x.dtype


def test_draws_can_require_grad():
    assert genesis.randn(2, requires_grad=True).is_leaf
    x = genesis.ones(1000, requires_grad=True)
    y = genesis.nn.functional.dropout(x, 0.5, training=True)
    y.sum().backward()
    np.testing.assert_array_equal(x.grad.numpy(), y.detach().numpy())  # 0 or 2, the same mask
    assert abs(y.mean().item() - 1) < 0.2
