"""Private names of ``torch.optim``."""
