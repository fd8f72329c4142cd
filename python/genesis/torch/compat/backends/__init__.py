"""Backends of PyTorch that Genesis does not use."""
