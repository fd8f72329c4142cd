"""finfo and iinfo: the limits of a dtype."""

from __future__ import annotations

from typing import Any

from genesis import _C

# bits of the mantissa, smallest and largest exponent
_FLOATS = {
    "float16": (10, -14, 15),
    "bfloat16": (7, -126, 127),
    "float32": (23, -126, 127),
    "float64": (52, -1022, 1023),
}
_INTS = {"uint8": 8, "int8": 8, "int16": 16, "int32": 32, "int64": 64}


def _name(what: str, type: Any, allowed: dict[str, Any]) -> str:
    name: str = _C._as_dtype(type).name
    if name not in allowed:
        kind = "a floating" if what == "finfo" else "an integer"
        raise TypeError(f"{what}: expected {kind} dtype, got {name}")
    return name


class finfo:
    """Limits of a floating dtype: ``bits``, ``eps``, ``max``, ``min``, ``tiny``, ``resolution``.

    >>> genesis.finfo(genesis.float32).eps
    1.1920928955078125e-07
    """

    def __init__(self, type: Any = None) -> None:
        name = _name("finfo", _C.get_default_dtype() if type is None else type, _FLOATS)
        mantissa, low, high = _FLOATS[name]
        self.dtype = name
        self.bits = 8 * _C._as_dtype(name).itemsize
        self.eps = 2.0**-mantissa
        self.max = (2.0 - self.eps) * 2.0**high
        self.min = -self.max
        self.tiny = self.smallest_normal = 2.0**low
        # the largest power of ten that covers the spacing of numbers near 1
        self.resolution = 10.0 ** -int(mantissa * 0.30103)

    def __repr__(self) -> str:
        return (
            f"finfo(resolution={self.resolution:g}, min={self.min:g}, max={self.max:g}, "
            f"eps={self.eps:g}, smallest_normal={self.smallest_normal:g}, tiny={self.tiny:g}, "
            f"dtype={self.dtype})"
        )


class iinfo:
    """Limits of an integer dtype: ``bits``, ``min``, ``max``.

    >>> genesis.iinfo(genesis.int8).max
    127
    """

    def __init__(self, type: Any) -> None:
        self.dtype = _name("iinfo", type, _INTS)
        self.bits = _INTS[self.dtype]
        signed = self.dtype != "uint8"
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"
