"""The classes of `genesis.distributions.transforms`, by subject."""
