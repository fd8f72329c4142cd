"""The data that metrics are compared on."""

import numpy as np


def classes():
    """Scores of 6 classes that sum to one, and true classes; class 5 is rare, scores have ties."""
    rng = np.random.RandomState(0)
    target = rng.choice(6, 240, p=[0.3, 0.25, 0.2, 0.1, 0.1, 0.05])
    scores = rng.dirichlet(np.ones(6), 240) + 0.35 * np.eye(6)[target]
    scores[:, 4] *= 0.5
    scores /= scores.sum(1, keepdims=True)
    return scores, target


def binary():
    rng = np.random.RandomState(1)
    label = rng.randint(0, 2, 150)
    probability = np.round(np.clip(0.3 * label + 0.7 * rng.rand(150), 0, 1), 2)  # with ties
    return probability, label


def numbers():
    """Far from zero, so that sums of squares that cancel would show."""
    rng = np.random.RandomState(2)
    true = 1e4 + rng.randn(120, 3) * [1.0, 5.0, 0.2]
    return true + rng.randn(120, 3) * [0.5, 1.0, 0.3], true
