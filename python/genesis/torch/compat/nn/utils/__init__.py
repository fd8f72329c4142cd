"""Private names of ``torch.nn.utils``."""
