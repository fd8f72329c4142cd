"""Gradients: modes, grad, backward, checks."""
