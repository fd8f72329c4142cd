"""The writers of log files, by their name in PyTorch."""

from genesis.utils.tensorboard import FileWriter, SummaryWriter

__all__ = ["FileWriter", "SummaryWriter"]
