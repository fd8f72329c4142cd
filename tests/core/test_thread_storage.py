"""What the module asks of the loader."""

import struct
import sys
from pathlib import Path

import pytest
from genesis import _C

PT_TLS = 7


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="reads an ELF file")
def test_thread_local_storage_leaves_room_for_other_libraries():
    # A module that is opened at run time takes it from a reserve of about 1.6 kB, which others need
    # too: PyTorch cannot be imported after one that takes it all.
    data = Path(_C.__file__).read_bytes()
    start, size, count = (
        struct.unpack_from("<Q", data, 32)[0],
        *struct.unpack_from("<HH", data, 54),
    )
    headers = [struct.unpack_from("<IIQQQQQQ", data, start + i * size) for i in range(count)]
    assert sum(h[6] for h in headers if h[0] == PT_TLS) < 600
