# SPDX-License-Identifier: MIT
"""Finds the AMD GPU code objects in files: bare ones, offload bundles (plain or compressed), and programs and
libraries that carry bundles in the section .hip_fatbin."""

import re
import struct
import zlib

try:
    from compression import zstd  # Python 3.14
except ImportError:
    zstd = None

BUNDLE = b"__CLANG_OFFLOAD_BUNDLE__"
COMPRESSED = b"CCOB"
ELF = b"\x7fELF"
EM_AMDGPU = 224


def code_objects(data):
    """Yields (target, bytes) of all code objects in a file's bytes. The target is as in "gfx942", without features;
    None for a bare code object."""
    if data.startswith(ELF):
        if struct.unpack_from("<H", data, 18)[0] == EM_AMDGPU:
            yield None, data
        else:
            yield from bundles(fat_binary(data))
    else:
        yield from bundles(data)


def fat_binary(data):
    """The section .hip_fatbin of an ELF file; empty if it has none."""
    offset, = struct.unpack_from("<Q", data, 40)
    size, count, names = struct.unpack_from("<HHH", data, 58)
    headers = [struct.unpack_from("<IIQQQQ", data, offset + i * size) for i in range(count)]
    for name, _, _, _, start, length in headers:
        at = headers[names][4] + name
        if data[at:at + 12] == b".hip_fatbin\0":
            return memoryview(data)[start:start + length]
    return b""


def bundles(data):
    """All bundles in a row, whatever pads them."""
    magic = re.compile(BUNDLE + b"|" + COMPRESSED)
    at = 0
    while found := magic.search(data, at):
        start = found.start()
        if found.group() == BUNDLE:
            end = yield from entries(data, start)
            at = max(end, found.end())
        else:
            unpacked, length = decompress(data, start)
            yield from entries(unpacked, 0)
            at = start + length


def decompress(data, at):
    """The bundle behind a CCOB header, and how many bytes it took."""
    version, method = struct.unpack_from("<HH", data, at + 4)
    if version >= 3:
        total, _, _ = struct.unpack_from("<QQQ", data, at + 8)
        header = 32
    elif version == 2:
        total, _, _ = struct.unpack_from("<IIQ", data, at + 8)
        header = 24
    else:
        raise ValueError(f"compressed bundle of version {version}")
    body = data[at + header:at + total]
    if method == 0:
        return zlib.decompress(body), total
    if zstd is None:
        raise RuntimeError("unpacking zstd needs Python 3.14")
    return zstd.decompress(body), total


def entries(data, at):
    count, = struct.unpack_from("<Q", data, at + len(BUNDLE))
    place, end = at + len(BUNDLE) + 8, at + len(BUNDLE)
    for _ in range(count):
        offset, size, length = struct.unpack_from("<QQQ", data, place)
        name = bytes(data[place + 24:place + 24 + length]).decode()
        place += 24 + length
        end = max(end, at + offset + size)
        if "amdgcn" in name and size:
            target = name.split("--")[-1].split("-")[-1].split(":")[0]
            yield target, data[at + offset:at + offset + size]
    return end
