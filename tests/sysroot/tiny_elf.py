# SPDX-License-Identifier: MIT
"""Shared libraries of a few hundred bytes that hold what the loader reads: name, needs, search path; and some texts."""

import struct

DT_NEEDED, DT_STRTAB, DT_STRSZ, DT_SONAME, DT_RPATH, DT_RUNPATH = 1, 5, 10, 14, 15, 29


def library(soname="", needed=(), rpath="", runpath="", texts=()):
    strings = bytearray(b"\0")

    def add(text):
        at = len(strings)
        strings.extend(text.encode() + b"\0")
        return at

    entries = [(DT_NEEDED, add(name)) for name in needed]
    entries += [(tag, add(text)) for tag, text in ((DT_SONAME, soname), (DT_RPATH, rpath), (DT_RUNPATH, runpath)) if text]
    header_size, segment_size = 64, 56
    start = header_size + 2 * segment_size
    dynamic_size = 16 * (len(entries) + 3)
    strtab = start + dynamic_size
    entries += [(DT_STRTAB, strtab), (DT_STRSZ, len(strings)), (0, 0)]
    dynamic = b"".join(struct.pack("<qQ", tag, value) for tag, value in entries)
    tail = b"\0" + b"\0".join(text.encode() for text in texts) + b"\0"
    size = strtab + len(strings) + len(tail)
    header = struct.pack("<16sHHIQQQIHHHHHH", b"\x7fELF\x02\x01\x01", 3, 62, 1, 0, header_size, 0, 0, header_size,
                         segment_size, 2, 0, 0, 0)
    load = struct.pack("<IIQQQQQQ", 1, 5, 0, 0, 0, size, size, 4096)
    dyn = struct.pack("<IIQQQQQQ", 2, 4, start, start, start, len(dynamic), len(dynamic), 8)
    return header + load + dyn + dynamic + bytes(strings) + tail
