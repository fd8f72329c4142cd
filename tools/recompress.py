"""Compresses the files of wheels again, with libdeflate at its highest level.

python tools/recompress.py WHEEL ...

The archive stays a zip with DEFLATE, which every pip reads, and is about 3 % smaller than what zlib
writes. The same files give the same bytes. Needs the package `deflate`.
"""

from __future__ import annotations

import pathlib
import sys
import zipfile
import zlib

import deflate

LEVEL = 12


def write_deflated(archive: zipfile.ZipFile, member: zipfile.ZipInfo, data: bytes) -> None:
    """Write `data` compressed by libdeflate, which zipfile cannot call: as stored bytes first."""
    info = zipfile.ZipInfo(member.filename, member.date_time)
    info.external_attr, info.create_system = member.external_attr, member.create_system
    compressed = deflate.deflate_compress(data, LEVEL)
    if len(compressed) >= len(data):
        archive.writestr(info, data)
        return
    archive.writestr(info, compressed)
    # Now the header tells what the bytes are; the directory at the end follows from `info`.
    info.compress_type, info.CRC, info.file_size = zipfile.ZIP_DEFLATED, zlib.crc32(data), len(data)
    assert archive.fp is not None
    archive.fp.seek(info.header_offset)
    archive.fp.write(info.FileHeader(zip64=False))


def recompress(path: pathlib.Path) -> None:
    smaller = path.with_suffix(".tmp")
    with zipfile.ZipFile(path) as old, zipfile.ZipFile(smaller, "w") as new:
        for member in old.infolist():
            write_deflated(new, member, old.read(member))
    with zipfile.ZipFile(smaller) as new:
        broken = new.testzip()
    if broken is not None:
        sys.exit(f"tools/recompress.py: {broken} of {path} cannot be read again")
    smaller.replace(path)


if __name__ == "__main__":
    for name in sys.argv[1:]:
        recompress(pathlib.Path(name))
