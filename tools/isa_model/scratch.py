# SPDX-License-Identifier: MIT
"""Scratch: each lane has bytes of its own; dword d of lane l lies at base + (d * lanes + l) * 4."""

from ds import put_half, read_data, write_data
from state import MASK32
from valu import sign_extend

OPS = {}


def offset_of(wave, i, vector, scalar, lane):
    total = i.modifiers.get("offset", 0)
    if i.operands[vector].kind == "v":
        total += wave.read_vector("v", i.operands[vector].index, lane)
    if i.operands[scalar].kind == "s":
        total += wave.read_scalar(i.operands[scalar].index)
    return total & MASK32


def place(wave, offset, lane):
    base, limit = wave.scratch
    assert offset < limit, "the cases stay inside"
    return base + (offset // 4 * wave.wave_size + lane) * 4 + offset % 4


def load_bytes(wave, offset, lane, size):
    return int.from_bytes(bytes(wave.load(place(wave, offset + n, lane), 1) for n in range(size)),
                          "little")


def load(size, signed=False, half=None):
    def run(wave, i):
        for lane in wave.active():
            value = load_bytes(wave, offset_of(wave, i, 1, 2, lane), lane, size)
            if signed:
                value = sign_extend(value, 8 * size)
            if half is not None:
                put_half(wave, i.operands[0], lane, value, half)
            else:
                dwords = max(1, size // 4)
                write_data(wave, i.operands[0], lane, dwords, value & (1 << 32 * dwords) - 1)

    return run


def store(size, shift=0):
    def run(wave, i):
        for lane in wave.active():
            offset = offset_of(wave, i, 0, 2, lane)
            data = read_data(wave, i.operands[1], lane, max(1, size // 4)) >> shift
            for n in range(size):
                wave.store(place(wave, offset + n, lane), 1, data >> 8 * n & 0xFF)

    return run


def load_lds(size, signed):
    def run(wave, i):
        for lane in wave.active():
            value = load_bytes(wave, offset_of(wave, i, 0, 1, lane), lane, size)
            if signed:
                value = sign_extend(value, 8 * size)
            wave.store_lds((wave.m0 & 0xFFFF) + i.modifiers.get("offset", 0) + 4 * lane, 4, value)

    return run


for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("ushort", 2, 0), ("sshort", 2, 1),
                           ("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0),
                           ("dwordx4", 16, 0)):
    OPS["scratch_load_" + name] = load(size, signed)
    if size <= 4:
        OPS["scratch_load_lds_" + name] = load_lds(size, signed)
for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("short", 2, 0)):
    OPS["scratch_load_%s_d16" % name] = load(size, signed, False)
    OPS["scratch_load_%s_d16_hi" % name] = load(size, signed, True)
for name, size, shift in (("byte", 1, 0), ("short", 2, 0), ("byte_d16_hi", 1, 16),
                          ("short_d16_hi", 2, 16), ("dword", 4, 0), ("dwordx2", 8, 0),
                          ("dwordx3", 12, 0), ("dwordx4", 16, 0)):
    OPS["scratch_store_" + name] = store(size, shift)
