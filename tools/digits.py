"""Writes python/genesis/cli/data/digits.bin from scikit-learn's copy of the digits of UCI.

pip install scikit-learn && python tools/digits.py
"""

import pathlib
import zlib

import numpy as np
from sklearn.datasets import load_digits

digits = load_digits()
labels = digits.target.astype(np.uint8)
pixels = digits.data.astype(np.uint8)  # 0 to 16
packer = zlib.compressobj(9, zlib.DEFLATED, 15, 9, zlib.Z_FILTERED)
data = packer.compress(labels.tobytes() + pixels.T.tobytes()) + packer.flush()
path = pathlib.Path(__file__).parents[1] / "python/genesis/cli/data/digits.bin"
path.write_bytes(data)
print(f"{path}: {len(labels)} images, {len(data)} bytes")
