"""Names of ``torch.testing`` that ``genesis.testing`` does not have."""

from __future__ import annotations

from typing import Any

from genesis.testing import assert_close

__all__ = ["assert_allclose"]


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = True, msg: str = "",
) -> None:  # fmt: skip
    """`assert_close` without checks of the dtype; PyTorch's older name."""
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_dtype=False,
        check_device=False, check_stride=False, msg=msg or None,
    )  # fmt: skip
