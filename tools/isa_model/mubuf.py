# SPDX-License-Identifier: MIT
"""Buffer loads, stores and atomics through a descriptor in four scalar registers."""

import atomics
from ds import put_half, read_data, write_data
from flat import cmpswap
from state import MASK32
from valu import read_source, sign_extend

OPS = {}
INDEX_STRIDE = (8, 16, 32, 64)
ELEMENT_SIZE = (2, 4, 8, 16)


class Descriptor:
    def __init__(self, wave, index):
        words = [wave.read_scalar(index + n) for n in range(4)]
        self.base = words[0] | (words[1] & 0xFFFF) << 32
        self.stride = words[1] >> 16 & 0x3FFF
        self.swizzle = bool(words[1] >> 31)
        self.records = words[2]
        self.add_tid = bool(words[3] >> 23 & 1)
        self.index_stride = INDEX_STRIDE[words[3] >> 21 & 3]
        self.element = ELEMENT_SIZE[words[3] >> 19 & 3] if wave.gfx9 else 4
        self.check = words[3] >> 28 & 3  # gfx10's OOB_SELECT


def place(wave, i, operand, lane, size):
    """The address of a lane, or None if the descriptor's range check fails."""
    d = Descriptor(wave, i.operands[operand + 1].index)
    m = i.modifiers
    index = offset = 0
    if m.get("idxen"):
        index = wave.read_vector("v", i.operands[operand].index, lane)
    if m.get("offen"):
        second = i.operands[operand].index + (1 if m.get("idxen") else 0)
        offset = wave.read_vector("v", second, lane)
    if d.add_tid:
        index += lane
    offset += m.get("offset", 0)
    soffset = read_source(wave, i.operands[operand + 2], "b32", lane)
    if d.swizzle:
        buffer_offset = ((index // d.index_stride * d.stride + offset // d.element * d.element)
                         * d.index_stride + index % d.index_stride * d.element + offset % d.element)
    else:
        buffer_offset = index * d.stride + offset
    if not in_range(wave, d, index, offset, buffer_offset, soffset, size):
        return None
    return d.base + soffset + buffer_offset


def in_range(wave, d, index, offset, buffer_offset, soffset, size):
    if wave.gfx10:
        if d.check == 0:
            return index < d.records and offset + size <= d.stride
        if d.check == 1:
            return index < d.records
        if d.check == 2:
            return d.records != 0
        return buffer_offset + size <= d.records if not d.swizzle else True
    if d.stride == 0 or not d.swizzle:
        return buffer_offset + size <= d.records - soffset
    return index < d.records


def op(names):
    def register(function):
        for name in names.split():
            assert name not in OPS, name
            OPS[name] = function
        return function

    return register


def load(size, signed=False, half=None):
    def run(wave, i):
        if i.modifiers.get("lds"):
            return load_to_lds(wave, i, size)
        for lane in wave.active():
            at = place(wave, i, 1, lane, size)
            value = wave.load(at, size) if at is not None else 0
            if signed:
                value = sign_extend(value, 8 * size)
            if half is not None:
                put_half(wave, i.operands[0], lane, value, half)
            else:
                dwords = max(1, size // 4)
                write_data(wave, i.operands[0], lane, dwords, value & (1 << 32 * dwords) - 1)

    return run


def load_to_lds(wave, i, size):
    """One dword per lane, to LDS at m0; if it is several, the lanes are 16 bytes apart."""
    size = max(4, size)
    for lane in wave.active():
        at = place(wave, i, 0, lane, size)
        value = wave.load(at, size) if at is not None else 0
        to = (wave.m0 & 0xFFFF) + i.modifiers.get("offset", 0) + (4 if size == 4 else 16) * lane
        wave.store_lds(to, size, value)


def store(size, shift=0):
    def run(wave, i):
        for lane in wave.active():
            at = place(wave, i, 1, lane, size)
            if at is not None:
                data = read_data(wave, i.operands[0], lane, max(1, size // 4)) >> shift
                wave.store(at, size, data & (1 << 8 * size) - 1)

    return run


def atomic(bits, function, sources=1):
    dwords = bits // 32

    def run(wave, i):
        returns = i.modifiers.get("glc") or i.modifiers.get("sc0")
        for lane in wave.active():
            at = place(wave, i, 1, lane, bits // 8)
            old = 0
            if at is not None:
                data = read_data(wave, i.operands[0], lane, dwords * sources)
                old = wave.load(at, bits // 8)
                wave.store(at, bits // 8, function(bits, old, data))
            if returns:
                write_data(wave, i.operands[0], lane, dwords, old)

    return run


for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("ushort", 2, 0), ("sshort", 2, 1),
                           ("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0),
                           ("dwordx4", 16, 0)):
    op("buffer_load_" + name)(load(size, signed))
for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("short", 2, 0)):
    op("buffer_load_%s_d16" % name)(load(size, signed, False))
    op("buffer_load_%s_d16_hi" % name)(load(size, signed, True))
for name, size, shift in (("byte", 1, 0), ("short", 2, 0), ("byte_d16_hi", 1, 16),
                          ("short_d16_hi", 2, 16), ("dword", 4, 0), ("dwordx2", 8, 0),
                          ("dwordx3", 12, 0), ("dwordx4", 16, 0)):
    op("buffer_store_" + name)(store(size, shift))
for bits, suffix in ((32, ""), (64, "_x2")):
    for name in "add sub smin smax umin umax and or xor inc dec swap".split():
        op("buffer_atomic_%s%s" % (name, suffix))(atomic(bits, atomics.INTEGER[name]))
    op("buffer_atomic_cmpswap%s" % suffix)(atomic(bits, cmpswap, 2))
    op("buffer_atomic_fcmpswap%s" % suffix)(atomic(bits, cmpswap, 2))
    op("buffer_atomic_fmin%s" % suffix)(atomic(bits, atomics.fmin))
    op("buffer_atomic_fmax%s" % suffix)(atomic(bits, atomics.fmax))
for name, bits in (("add_f32", 32), ("add_f64", 64), ("min_f64", 64), ("max_f64", 64),
                   ("pk_add_f16", 32), ("pk_add_bf16", 32)):
    op("buffer_atomic_" + name)(atomic(bits, atomics.FLOAT[name]))
op("buffer_atomic_csub")(atomic(32, lambda n, old, x: 0 if old < x else (old - x) & MASK32))
