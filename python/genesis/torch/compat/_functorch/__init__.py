"""The private place of function transforms."""
