"""Operations over processes that have gradients: not there."""
