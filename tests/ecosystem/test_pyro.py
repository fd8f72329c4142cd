"""pyro: variational inference and NUTS on a mean with a known posterior."""

import pyro
import pyro.distributions as dist
import torch

DATA = torch.tensor([1.2, 0.8, 1.0, 1.4, 0.6])


def model(data):
    mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
    with pyro.plate("data", len(data)):
        pyro.sample("x", dist.Normal(mean, 1.0), obs=data)


def guide(data):
    where = pyro.param("where", torch.tensor(0.0))
    width = pyro.param("width", torch.tensor(1.0), constraint=dist.constraints.positive)
    pyro.sample("mean", dist.Normal(where, width))


def test_svi():
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    svi = pyro.infer.SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), pyro.infer.Trace_ELBO(8))
    for _ in range(300):
        svi.step(DATA)
    assert abs(float(pyro.param("where")) - 5 / 6) < 0.1  # the posterior mean: sum / (n + 1)
    assert abs(float(pyro.param("width")) - (1 / 6) ** 0.5) < 0.1


def test_nuts():
    pyro.set_rng_seed(0)
    chain = pyro.infer.MCMC(
        pyro.infer.NUTS(model), num_samples=150, warmup_steps=80, disable_progbar=True
    )
    chain.run(DATA)
    assert abs(float(chain.get_samples()["mean"].mean()) - 5 / 6) < 0.2
