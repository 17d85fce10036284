# SPDX-License-Identifier: MIT
"""LDS instructions."""

import atomics
from softfloat import F32, F64, Env, compare, from_nibbles, nibbles
from state import MASK32
from valu import sign_extend

OPS = {}


def op(names):
    def register(function):
        for name in names.split():
            assert name not in OPS, name
            OPS[name] = function
        return function

    return register


def read_data(wave, operand, lane, dwords):
    return sum(wave.read_vector(operand.kind, operand.index + n, lane) << 32 * n
               for n in range(dwords))


def write_data(wave, operand, lane, dwords, value):
    text = nibbles(value, 32 * dwords)
    for n in range(dwords):
        part = text[len(text) - 8 * n - 8:len(text) - 8 * n]
        wave.write_vector(operand.kind, operand.index + n, lane, from_nibbles(part))


def address(wave, operand, lane, offset=0):
    return wave.read_vector(operand.kind, operand.index, lane) + offset & MASK32


# Plain reads and writes.
def plain_write(size, shift=0):
    def run(wave, i):
        for lane in wave.active():
            at = address(wave, i.operands[0], lane, i.modifiers.get("offset", 0))
            data = read_data(wave, i.operands[1], lane, max(1, size // 4))
            wave.store_lds(at, size, data >> shift & (1 << 8 * size) - 1)

    return run


for name, size in (("b8", 1), ("b16", 2), ("b32", 4), ("b64", 8), ("b96", 12), ("b128", 16)):
    op("ds_write_" + name)(plain_write(size))
op("ds_write_b8_d16_hi")(plain_write(1, 16))
op("ds_write_b16_d16_hi")(plain_write(2, 16))


def plain_read(size, signed=False):
    def run(wave, i):
        for lane in wave.active():
            at = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0))
            value = wave.load_lds(at, size)
            if signed:
                value = sign_extend(value, 8 * size) & MASK32
            write_data(wave, i.operands[0], lane, max(1, size // 4), value)

    return run


for name, size in (("b32", 4), ("b64", 8), ("b96", 12), ("b128", 16), ("u8", 1), ("u16", 2)):
    op("ds_read_" + name)(plain_read(size))
op("ds_read_i8")(plain_read(1, True))
op("ds_read_i16")(plain_read(2, True))


def put_half(wave, operand, lane, value, high):
    """A 16 bit load keeps the other half, except that gfx942's register ECC may clear it."""
    old = nibbles(wave.vector(operand.kind, operand.index)[lane], 32)
    text = "%04x" % (value & 0xFFFF)
    if wave.gfx9:
        old = "?" * 8
    wave.write_vector(operand.kind, operand.index, lane,
                      from_nibbles(text + old[4:] if high else old[:4] + text))


def half_read(size, signed, high):
    def run(wave, i):
        for lane in wave.active():
            at = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0))
            value = wave.load_lds(at, size)
            put_half(wave, i.operands[0], lane, sign_extend(value, 8 * size) if signed else value,
                     high)

    return run


for suffix, high in (("_d16", False), ("_d16_hi", True)):
    op("ds_read_u8" + suffix)(half_read(1, False, high))
    op("ds_read_i8" + suffix)(half_read(1, True, high))
    op("ds_read_u16" + suffix)(half_read(2, False, high))


# Two at once.
def two(kind, size, unit):
    dwords = size // 4

    def run(wave, i):
        offsets = [i.modifiers.get("offset0", 0) * unit, i.modifiers.get("offset1", 0) * unit]
        for lane in wave.active():
            if kind == "write":
                for n in (0, 1):
                    wave.store_lds(address(wave, i.operands[0], lane, offsets[n]), size,
                                   read_data(wave, i.operands[1 + n], lane, dwords))
                continue
            places = [address(wave, i.operands[1], lane, o) for o in offsets]
            values = [wave.load_lds(at, size) for at in places]
            if kind == "wrxchg":
                for n in (0, 1):
                    wave.store_lds(places[n], size,
                                   read_data(wave, i.operands[2 + n], lane, dwords))
            write_data(wave, i.operands[0], lane, 2 * dwords, values[0] | values[1] << 8 * size)

    return run


for bits in (32, 64):
    size = bits // 8
    op("ds_write2_b%d" % bits)(two("write", size, size))
    op("ds_write2st64_b%d" % bits)(two("write", size, 64 * size))
    op("ds_read2_b%d" % bits)(two("read", size, size))
    op("ds_read2st64_b%d" % bits)(two("read", size, 64 * size))
    op("ds_wrxchg2_rtn_b%d" % bits)(two("wrxchg", size, size))
    op("ds_wrxchg2st64_rtn_b%d" % bits)(two("wrxchg", size, 64 * size))


# Atomics.
def atomic(bits, sources, function, returns):
    dwords = bits // 32

    def run(wave, i):
        place = 1 if returns else 0
        for lane in wave.active():
            at = address(wave, i.operands[place], lane, i.modifiers.get("offset", 0))
            data = [read_data(wave, i.operands[place + 1 + n], lane, dwords)
                    for n in range(sources)]
            old = wave.load_lds(at, bits // 8)
            wave.store_lds(at, bits // 8, function(bits, old, *data))
            if returns:
                write_data(wave, i.operands[0], lane, dwords, old)

    return run


def both(stem, kind, bits, sources, function):
    """ds_add_u32 and ds_add_rtn_u32."""
    op("ds_%s_%s" % (stem, kind))(atomic(bits, sources, function, False))
    op("ds_%s_rtn_%s" % (stem, kind))(atomic(bits, sources, function, True))


for bits in (32, 64):
    for stem, kind, name in (
            ("add", "u", "add"), ("sub", "u", "sub"), ("rsub", "u", "rsub"), ("inc", "u", "inc"),
            ("dec", "u", "dec"), ("min", "i", "smin"), ("max", "i", "smax"), ("min", "u", "umin"),
            ("max", "u", "umax"), ("and", "b", "and"), ("or", "b", "or"), ("xor", "b", "xor")):
        both(stem, "%s%d" % (kind, bits), bits, 1, atomics.INTEGER[name])
    op("ds_wrxchg_rtn_b%d" % bits)(atomic(bits, 1, atomics.INTEGER["swap"], True))
    both("mskor", "b%d" % bits, bits, 2, lambda n, old, mask, x: old & ~mask | x)
    # The first data register is what is compared, the second what is stored.
    both("cmpst", "b%d" % bits, bits, 2, lambda n, old, cmp, x: x if old == cmp else old)
    both("cmpst", "f%d" % bits, bits, 2,
         lambda n, old, cmp, x: x if float_equal(n, old, cmp) else old)
    both("min", "f%d" % bits, bits, 1, atomics.fmin)
    both("max", "f%d" % bits, bits, 1, atomics.fmax)
    both("add", "f%d" % bits, bits, 1, atomics.fadd)
both("pk_add", "f16", 32, 1, atomics.FLOAT["pk_add_f16"])
both("pk_add", "bf16", 32, 1, atomics.FLOAT["pk_add_bf16"])
op("ds_wrap_rtn_b32")(atomic(
    32, 2, lambda n, old, a, b: (old - a if old >= a else old + b) & MASK32, True))


def float_equal(bits, a, b):
    return compare(Env(0xF0, F64 if bits == 64 else F32), a, b) == 0


@op("ds_condxchg32_rtn_b64")
def condxchg(wave, i):
    for lane in wave.active():
        at = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0)) & ~7
        data = read_data(wave, i.operands[2], lane, 2)
        old = wave.load_lds(at, 8)
        for n in (0, 1):
            word = data >> 32 * n & MASK32
            if word >> 31:
                wave.store_lds(at + 4 * n, 4, word & 0x7FFFFFFF)
        write_data(wave, i.operands[0], lane, 2, old)


# A counter that all active lanes share, at the address in m0.
@op("ds_append ds_consume")
def append(wave, i):
    at = (wave.m0 & 0xFFFF) + i.modifiers.get("offset", 0)
    lanes = wave.active()
    old = wave.load_lds(at, 4)
    change = len(lanes) if i.base == "ds_append" else -len(lanes)
    wave.store_lds(at, 4, old + change & MASK32)
    for lane in lanes:
        wave.write_vector("v", i.operands[0].index, lane, old)


@op("ds_write_addtid_b32")
def write_addtid(wave, i):
    for lane in wave.active():
        at = i.modifiers.get("offset", 0) + (wave.m0 & 0xFFFF) + 4 * lane
        wave.store_lds(at, 4, wave.read_vector("v", i.operands[0].index, lane))


@op("ds_read_addtid_b32")
def read_addtid(wave, i):
    for lane in wave.active():
        at = i.modifiers.get("offset", 0) + (wave.m0 & 0xFFFF) + 4 * lane
        wave.write_vector("v", i.operands[0].index, lane, wave.load_lds(at, 4))


# gfx950's transposing reads: in each group of 16 lanes, the bytes that they read are rows of 16
# elements, and a lane gets a column. All lanes must be on.
for bits, name in ((16, "b64_tr_b16"), (8, "b64_tr_b8"), (4, "b64_tr_b4"), (6, "b96_tr_b6")):
    def transpose(wave, i, bits=bits, size=12 if bits == 6 else 8):
        assert wave.exec == wave.full
        count = 8 * size // bits
        groups = []
        for first in range(0, wave.wave_size, 16):
            elements = []
            for lane in range(first, first + 16):
                at = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0))
                data = wave.load_lds(at, size)
                elements += [data >> bits * n & (1 << bits) - 1 for n in range(count)]
            groups.append(elements)
        for lane in range(wave.wave_size):
            elements = groups[lane // 16]
            data = sum(elements[16 * n + lane % 16] << bits * n for n in range(count))
            write_data(wave, i.operands[0], lane, size // 4, data)

    op("ds_read_" + name)(transpose)


# Through LDS hardware without memory.
@op("ds_permute_b32")
def permute(wave, i):
    """Pushes. On gfx10 a wave64 does it in two halves."""
    span = 32 if wave.gfx10 and not wave.gfx12 else wave.wave_size
    result = [0] * wave.wave_size
    for lane in wave.active():
        to = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0)) >> 2 & span - 1
        result[lane & ~(span - 1) | to] = wave.read_vector("v", i.operands[2].index, lane)
    for lane in wave.active():
        wave.write_vector("v", i.operands[0].index, lane, result[lane])


@op("ds_bpermute_b32")
def bpermute(wave, i):
    """Pulls; lanes that are off give 0."""
    span = 32 if wave.gfx10 and not wave.gfx12 else wave.wave_size
    source = list(wave.vector("v", i.operands[2].index))
    for lane in wave.active():
        at = address(wave, i.operands[1], lane, i.modifiers.get("offset", 0)) >> 2 & span - 1
        at |= lane & ~(span - 1)
        wave.write_vector("v", i.operands[0].index, lane, source[at] if wave.exec >> at & 1 else 0)


def swizzle_lane(offset, lane):
    if offset >= 0xE000:  # FFT
        mask = offset & 0x1F
        j = int(format(lane & 0x1F, "05b")[::-1], 2) >> bin(mask).count("1")
        return j | lane & mask | lane & 0x20
    if offset >= 0xC000:  # rotate
        mask, amount = offset & 0x1F, offset >> 5 & 0x1F
        if offset >> 10 & 1:
            amount = -amount
        return lane & mask | lane + amount & ~mask & 0x1F | lane & 0x20
    if offset & 0x8000:
        return lane & ~3 | offset >> 2 * (lane & 3) & 3
    j = (lane & 0x1F & offset | offset >> 5 & 0x1F) ^ offset >> 10 & 0x1F
    return j | lane & 0x20


def swizzle_offset(value):
    """The number behind offset:swizzle(...)."""
    if isinstance(value, int):
        return value
    name, *rest = value[len("swizzle("):-1].split(",")
    if name == "QUAD_PERM":
        return 0x8000 | sum(int(x) << 2 * n for n, x in enumerate(rest))
    if name == "SWAP":
        return 0x1F | int(rest[0]) << 10
    if name == "REVERSE":
        return 0x1F | int(rest[0]) - 1 << 10
    if name == "BROADCAST":
        size, lane = int(rest[0]), int(rest[1])
        return 0x20 - size | lane << 5
    if name == "BITMASK_PERM":
        bits = {"0": (0, 0, 0), "1": (0, 1, 0), "p": (1, 0, 0), "i": (1, 0, 1)}
        masks = [0, 0, 0]
        for n, c in enumerate(reversed(rest[0].strip().strip('"'))):
            for k in range(3):
                masks[k] |= bits[c][k] << n
        return masks[0] | masks[1] << 5 | masks[2] << 10
    raise ValueError(value)


@op("ds_swizzle_b32")
def swizzle(wave, i):
    offset = swizzle_offset(i.modifiers["offset"])
    source = list(wave.vector("v", i.operands[1].index))
    for lane in wave.active():
        at = swizzle_lane(offset, lane)
        wave.write_vector("v", i.operands[0].index, lane, source[at] if wave.exec >> at & 1 else 0)


@op("ds_nop")
def nop(wave, i):
    pass
