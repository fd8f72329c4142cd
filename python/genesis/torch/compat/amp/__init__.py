"""Private names of ``torch.amp``."""
