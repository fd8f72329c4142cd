"""Integers as bits, and as multiples."""

import operator

import numpy as np

from tests.ops.op import Op

FLOATS = ((np.ones(2), np.ones(2)), {}, TypeError, "integers")


def bits(name, ref, operator=None, dtypes="integral", **options):
    raises = [FLOATS]
    if dtypes == "int":
        raises.append(((np.array([True]), np.array([True])), {}, TypeError, "bool"))
    return Op(name, ref, nin=2, dtypes=dtypes, inplace=True, operator=operator, raises=raises,
              high=9.0, **options)  # fmt: skip


OPS: list[Op] = [
    bits("bitwise_and", np.bitwise_and, operator.and_, low=-9.0),
    bits("bitwise_or", np.bitwise_or, operator.or_, low=-9.0),
    bits("bitwise_xor", np.bitwise_xor, operator.xor, low=-9.0),
    Op("bitwise_not", np.invert, dtypes="integral", inplace=True, operator=operator.invert,
       raises=[((np.ones(2),), {}, TypeError, "integers")]),
    bits("bitwise_left_shift", np.left_shift, operator.lshift, "int", low=0.0),
    bits("bitwise_right_shift", np.right_shift, operator.rshift, "int", low=0.0),
    bits("gcd", np.gcd, dtypes="int", low=-9.0),
    bits("lcm", np.lcm, dtypes="int", low=-9.0),
]  # fmt: skip
