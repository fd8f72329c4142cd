"""Layers and losses; a file for each family."""

__all__: list[str] = []
