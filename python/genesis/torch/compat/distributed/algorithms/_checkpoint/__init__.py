"""Wrappers of modules that compute activations again."""
