# SPDX-License-Identifier: MIT
"""flat and global instructions on mapped memory."""

import atomics
from ds import put_half, read_data, write_data
from state import MASK64
from valu import sign_extend

OPS = {}


def op(names):
    def register(function):
        for name in names.split():
            assert name not in OPS, name
            OPS[name] = function
        return function

    return register


def address_of(wave, i, address_index, scalar_index, lane):
    offset = i.modifiers.get("offset", 0)
    vector = i.operands[address_index]
    if scalar_index is not None and i.operands[scalar_index].kind == "s":
        base = wave.read_scalar64(i.operands[scalar_index].index)
        return base + wave.read_vector("v", vector.index, lane) + offset & MASK64
    low = wave.read_vector("v", vector.index, lane)
    return (low | wave.read_vector("v", vector.index + 1, lane) << 32) + offset & MASK64


def load(size, signed=False, half=None):
    def run(wave, i):
        scalar = 2 if i.base.startswith("global") else None
        for lane in wave.active():
            value = wave.load(address_of(wave, i, 1, scalar, lane), size)
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
        scalar = 2 if i.base.startswith("global") else None
        for lane in wave.active():
            data = read_data(wave, i.operands[1], lane, max(1, size // 4)) >> shift
            wave.store(address_of(wave, i, 0, scalar, lane), size, data & (1 << 8 * size) - 1)

    return run


for space in ("flat", "global"):
    for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("ushort", 2, 0), ("sshort", 2, 1),
                               ("dword", 4, 0), ("dwordx2", 8, 0), ("dwordx3", 12, 0),
                               ("dwordx4", 16, 0)):
        op("%s_load_%s" % (space, name))(load(size, signed))
    for name, size, signed in (("ubyte", 1, 0), ("sbyte", 1, 1), ("short", 2, 0)):
        op("%s_load_%s_d16" % (space, name))(load(size, signed, False))
        op("%s_load_%s_d16_hi" % (space, name))(load(size, signed, True))
    for name, size, shift in (("byte", 1, 0), ("short", 2, 0), ("byte_d16_hi", 1, 16),
                              ("short_d16_hi", 2, 16), ("dword", 4, 0), ("dwordx2", 8, 0),
                              ("dwordx3", 12, 0), ("dwordx4", 16, 0)):
        op("%s_store_%s" % (space, name))(store(size, shift))


def atomic(bits, function, sources=1):
    """A return value is asked for by one more operand (and the glc or sc0 bit)."""
    dwords = bits // 32

    def run(wave, i):
        fixed = 3 if i.base.startswith("global") else 2  # address, data (, scalar base)
        returns = len(i.operands) - fixed
        scalar = returns + 2 if i.base.startswith("global") else None
        for lane in wave.active():
            at = address_of(wave, i, returns, scalar, lane)
            data = read_data(wave, i.operands[returns + 1], lane, dwords * sources)
            old = wave.load(at, bits // 8)
            wave.store(at, bits // 8, function(bits, old, data))
            if returns:
                write_data(wave, i.operands[0], lane, dwords, old)

    return run


def cmpswap(bits, old, data):
    """The first half of the data is stored, the second compared."""
    value, compare = data & (1 << bits) - 1, data >> bits
    return value if old == compare else old


NAMES = "add sub smin smax umin umax and or xor inc dec swap".split()
for space in ("flat", "global"):
    for bits, suffix in ((32, ""), (64, "_x2")):
        for name in NAMES:
            op("%s_atomic_%s%s" % (space, name, suffix))(atomic(bits, atomics.INTEGER[name]))
        op("%s_atomic_cmpswap%s" % (space, suffix))(atomic(bits, cmpswap, 2))
        op("%s_atomic_fmin%s" % (space, suffix))(atomic(bits, atomics.fmin))
        op("%s_atomic_fmax%s" % (space, suffix))(atomic(bits, atomics.fmax))
    for name, bits in (("add_f32", 32), ("add_f64", 64), ("min_f64", 64), ("max_f64", 64),
                       ("pk_add_f16", 32), ("pk_add_bf16", 32)):
        op("%s_atomic_%s" % (space, name))(atomic(bits, atomics.FLOAT[name]))
    op("%s_atomic_fcmpswap" % space)(atomic(32, cmpswap, 2))
    op("%s_atomic_fcmpswap_x2" % space)(atomic(64, cmpswap, 2))
op("global_atomic_csub")(atomic(32, lambda n, old, x: 0 if old < x else old - x))


@op("global_load_dword_addtid")
def load_addtid(wave, i):
    base = wave.read_scalar64(i.operands[1].index)
    for lane in wave.active():
        at = base + i.modifiers.get("offset", 0) + 4 * lane
        wave.write_vector("v", i.operands[0].index, lane, wave.load(at, 4))


@op("global_store_dword_addtid")
def store_addtid(wave, i):
    base = wave.read_scalar64(i.operands[1].index)
    for lane in wave.active():
        at = base + i.modifiers.get("offset", 0) + 4 * lane
        wave.store(at, 4, wave.read_vector("v", i.operands[0].index, lane))


@op("global_load_lds_dword")
def load_lds(wave, i):
    """To LDS at m0 plus the offset, one dword per lane."""
    offset = i.modifiers.get("offset", 0)
    for lane in wave.active():
        value = wave.load(address_of(wave, i, 0, 1, lane), 4)
        wave.store_lds((wave.m0 & 0xFFFF) + offset + 4 * lane, 4, value)


for name, dwords in (("dwordx3", 3), ("dwordx4", 4)):
    def load_lds_wide(wave, i, dwords=dwords):
        """Several dwords: lanes are 16 bytes apart."""
        for lane in wave.active():
            value = wave.load(address_of(wave, i, 0, 1, lane), 4 * dwords)
            at = (wave.m0 & 0xFFFF) + i.modifiers.get("offset", 0) + 16 * lane
            wave.store_lds(at, 4 * dwords, value)

    op("global_load_lds_" + name)(load_lds_wide)


for name, size, signed in (("sbyte", 1, 1), ("ubyte", 1, 0), ("sshort", 2, 1), ("ushort", 2, 0)):
    def load_lds_part(wave, i, size=size, signed=signed):
        """Smaller ones fill a dword per lane as well."""
        for lane in wave.active():
            value = wave.load(address_of(wave, i, 0, 1, lane), size)
            if signed:
                value = sign_extend(value, 8 * size)
            wave.store_lds((wave.m0 & 0xFFFF) + i.modifiers.get("offset", 0) + 4 * lane, 4, value)

    op("global_load_lds_" + name)(load_lds_part)
