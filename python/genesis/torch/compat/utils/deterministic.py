"""Whether memory that is not initialised is filled: it is not."""

fill_uninitialized_memory = False
