"""Comparing tensors in tests, and making tensors for them.

>>> from genesis.testing import assert_close
>>> assert_close(genesis.tensor([1.0, 2.0]), genesis.tensor([1.0, 2.0 + 1e-6]))
"""

from genesis._missing import explain
from genesis.testing._comparison import assert_close
from genesis.testing._creation import make_tensor

__all__ = ["assert_close", "make_tensor"]

explain(globals())
