"""Private modules of PyTorch that packages import; seen as ``torch.*`` only."""
