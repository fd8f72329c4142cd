"""Parts of ``fx`` that belong to the compiler."""
