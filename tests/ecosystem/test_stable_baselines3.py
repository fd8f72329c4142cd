"""stable-baselines3: PPO, DQN and SAC learn a few steps, are saved and loaded."""

import numpy as np
import pytest
import stable_baselines3 as sb3


@pytest.mark.parametrize(
    ("kind", "world"), [("PPO", "CartPole-v1"), ("DQN", "CartPole-v1"), ("SAC", "Pendulum-v1")]
)
def test_agent(kind, world, tmp_path):
    options = {"PPO": {"n_steps": 32, "batch_size": 16, "n_epochs": 2}}.get(
        kind, {"learning_starts": 16, "buffer_size": 500, "batch_size": 8}
    )
    agent = getattr(sb3, kind)("MlpPolicy", world, seed=0, device="cpu", **options)
    agent.learn(64)
    agent.save(tmp_path / "agent")
    again = getattr(sb3, kind).load(tmp_path / "agent", device="cpu")
    seen = np.zeros(agent.observation_space.shape, dtype=np.float32)
    first, second = (a.predict(seen, deterministic=True)[0] for a in (agent, again))
    np.testing.assert_allclose(first, second)
