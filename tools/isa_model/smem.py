# SPDX-License-Identifier: MIT
"""Scalar memory."""

import atomics
import flat
from state import MASK64


OPS = {}


def offset_of(wave, i, first):
    """An immediate, a register, or a register plus an immediate."""
    total = i.modifiers.get("offset", 0)
    for operand in i.operands[first:]:
        total += wave.read_scalar(operand.index) if operand.kind == "s" else operand.value
    return total


def write(wave, operand, dwords, values):
    for n in range(dwords):
        wave.write_scalar(operand.index + n, values[n])


def load(dwords):
    def run(wave, i):
        base = wave.read_scalar64(i.operands[1].index)
        at = (base + offset_of(wave, i, 2) & MASK64) & ~3
        write(wave, i.operands[0], dwords, [wave.load(at + 4 * n, 4) for n in range(dwords)])

    return run


def buffer_load(dwords):
    """Through a descriptor: beyond its end reads 0."""

    def run(wave, i):
        words = [wave.read_scalar(i.operands[1].index + n) for n in range(4)]
        base = words[0] | (words[1] & 0xFFFF) << 32
        stride = words[1] >> 16 & 0x3FFF
        size = words[2] * (stride or 1)
        offset = offset_of(wave, i, 2) & ~3
        values = []
        for n in range(dwords):
            inside = offset + 4 * n + 4 <= size
            values.append(wave.load(base + offset + 4 * n, 4) if inside else 0)
        write(wave, i.operands[0], dwords, values)

    return run


for dwords in (1, 2, 4, 8, 16):
    name = "dword" + ("x%d" % dwords if dwords > 1 else "")
    OPS["s_load_" + name] = load(dwords)
    OPS["s_buffer_load_" + name] = buffer_load(dwords)


def any_value(wave, i):
    """A clock: its two registers change, to what is not fixed."""
    for n in range(2):
        wave.masks[i.operands[0].index + n] = 0


OPS["s_memtime"] = any_value
OPS["s_memrealtime"] = any_value


def store(dwords):
    def run(wave, i):
        at = wave.read_scalar64(i.operands[1].index) + offset_of(wave, i, 2) & ~3
        for n in range(dwords):
            wave.store(at + 4 * n, 4, wave.read_scalar(i.operands[0].index + n))

    return run


def buffer_store(dwords):
    def run(wave, i):
        words = [wave.read_scalar(i.operands[1].index + n) for n in range(4)]
        at = (words[0] | (words[1] & 0xFFFF) << 32) + offset_of(wave, i, 2) & ~3
        for n in range(dwords):
            wave.store(at + 4 * n, 4, wave.read_scalar(i.operands[0].index + n))

    return run


for dwords in (1, 2, 4):
    name = "dword" + ("x%d" % dwords if dwords > 1 else "")
    OPS["s_store_" + name] = store(dwords)
    OPS["s_buffer_store_" + name] = buffer_store(dwords)
    # Only without a scalar offset, which these count in units of their own.
    OPS["s_scratch_load_" + name] = load(dwords)
    OPS["s_scratch_store_" + name] = store(dwords)


def atomic(bits, function, sources, buffer):
    dwords = bits // 32

    def run(wave, i):
        first = i.operands[1].index
        at = wave.read_scalar64(first) & (1 << 48) - 1 if buffer else wave.read_scalar64(first)
        at += offset_of(wave, i, 2)
        target = i.operands[0].index
        data = sum(wave.read_scalar(target + n) << 32 * n for n in range(dwords * sources))
        old = wave.load(at, bits // 8)
        wave.store(at, bits // 8, function(bits, old, data))
        if i.modifiers.get("glc"):
            for n in range(dwords):
                wave.write_scalar(target + n, old >> 32 * n)

    return run


for stem, buffer in (("s_atomic_", False), ("s_buffer_atomic_", True)):
    for bits, suffix in ((32, ""), (64, "_x2")):
        for name in flat.NAMES:
            OPS[stem + name + suffix] = atomic(bits, atomics.INTEGER[name], 1, buffer)
        OPS[stem + "cmpswap" + suffix] = atomic(bits, flat.cmpswap, 2, buffer)
