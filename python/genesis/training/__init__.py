"""Training loops: `fit` trains a model in one call, `Trainer` is the class underneath.

Both show progress on a terminal, save and resume runs, stop early, clip and accumulate gradients,
use mixed precision and averaged weights, and run on several ranks under ``genesis run``. `genesis
train` is built on them.
"""

from genesis.report import History
from genesis.training._fit import fit
from genesis.training._schedule import warmup_cosine, warmup_linear
from genesis.training._signals import Interrupted
from genesis.training._trainer import Step, Trainer
from genesis.training.callbacks import Callback, EarlyStopping, SaveBest, TensorBoard

__all__ = [
    "Callback",
    "EarlyStopping",
    "History",
    "Interrupted",
    "SaveBest",
    "Step",
    "TensorBoard",
    "Trainer",
    "fit",
    "warmup_cosine",
    "warmup_linear",
]
