"""Ways to communicate gradients."""
