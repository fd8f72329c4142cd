"""Private modules of ``torch.utils``."""
