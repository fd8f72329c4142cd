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
_INTS = {
    "uint8": 8, "uint16": 16, "uint32": 32, "uint64": 64,
    "int8": 8, "int16": 16, "int32": 32, "int64": 64,
}  # fmt: skip


# Of eight bits: largest, smallest, eps, smallest normal.
_NAMED_FLOATS = {
    "float8_e4m3fn": (448.0, -448.0, 0.125, 2.0**-6),
    "float8_e4m3fnuz": (240.0, -240.0, 0.125, 2.0**-7),
    "float8_e5m2": (57344.0, -57344.0, 0.25, 2.0**-14),
    "float8_e5m2fnuz": (57344.0, -57344.0, 0.125, 2.0**-15),
    "float8_e8m0fnu": (2.0**127, 2.0**-127, 1.0, 2.0**-127),
}
_PARTS = {"complex32": "float16", "complex64": "float32", "complex128": "float64"}


def _name(what: str, type: Any, allowed: dict[str, Any]) -> str:
    given = type.name if isinstance(type, _C.dtype) else None
    if given in _NAMED_FLOATS or given in _PARTS:
        name: str = _PARTS.get(given, given)
    else:
        name = _C._as_dtype(type).name
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
        name = _name(
            "finfo", _C.get_default_dtype() if type is None else type, _FLOATS | _NAMED_FLOATS
        )
        self.dtype = name
        if name in _NAMED_FLOATS:
            self.bits = 8
            self.max, self.min, self.eps, self.smallest_normal = _NAMED_FLOATS[name]
            self.tiny, self.resolution = self.smallest_normal, 1.0
            return
        mantissa, low, high = _FLOATS[name]
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
        signed = not self.dtype.startswith("uint")
        self.max = 2 ** (self.bits - signed) - 1
        self.min = -(2 ** (self.bits - 1)) if signed else 0

    def __repr__(self) -> str:
        return f"iinfo(min={self.min}, max={self.max}, dtype={self.dtype})"


def require_real(op: str, *tensors: _C.Tensor) -> None:
    """Raise an error for complex tensors."""
    for x in tensors:
        if x.is_complex():
            raise _C.DTypeError(
                f"{op}: not defined for complex numbers, got {x.dtype}; apply it to x.real or "
                "x.imag"
            )
