"""The tasks of `genesis train`, one file each."""

from __future__ import annotations

import importlib
from typing import cast

from genesis.cli.task import Task

SUMMARIES = {
    "digits": "a convolutional network classifies handwritten digits",
    "gpt": "a small GPT learns to generate text, one character at a time",
    "moons": "a small network separates two half moons",
    "vae": "a variational autoencoder encodes digits in two numbers",
    "pinn": "a network solves a differential equation",
    "cartpole": "a network learns to balance a pole by policy gradients",
}


def find(name: str) -> type[Task]:
    """The task of a name.

    >>> find("moons").__name__
    'Moons'
    """
    return cast(type[Task], importlib.import_module(f"genesis.cli.tasks.{name}").TASK)
