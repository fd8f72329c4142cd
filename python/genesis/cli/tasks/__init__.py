"""What `genesis train` can train, a file for each. They are meant to be read."""

from __future__ import annotations

import importlib
from typing import cast

from genesis.cli.task import Task

SUMMARIES = {
    "digits": "a convolutional network reads handwritten digits",
    "gpt": "a small GPT learns to write, one character after the other",
    "moons": "a small network tells two half moons apart",
    "vae": "an autoencoder folds digits into two numbers, and draws new ones",
    "pinn": "a network solves a differential equation",
    "cartpole": "a network learns to balance a pole by trying",
}


def find(name: str) -> type[Task]:
    """The task of a name.

    >>> find("moons").__name__
    'Moons'
    """
    return cast(type[Task], importlib.import_module(f"genesis.cli.tasks.{name}").TASK)
