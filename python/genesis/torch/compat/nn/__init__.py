"""Private names of ``torch.nn``."""
