"""A mode of the compiler's tracer, in which indexing may be traced."""


class TransformGetItemToIndex:
    """A block in which nothing is different: nothing is traced."""

    def __enter__(self) -> None: ...

    def __exit__(self, *exception: object) -> None: ...
