# SPDX-License-Identifier: MIT
"""Typed buffer loads and stores, for the formats that the cases use."""

import re

from ds import read_data, write_data
from mubuf import place
from softfloat import from_nibbles, nibbles

OPS = {}

# (bits of a component, components, kind) by gfx9's pair of numbers and by gfx10's single one.
GFX9 = {(4, 7): (32, 1, "float"), (11, 7): (32, 2, "float"), (13, 7): (32, 3, "float"),
        (14, 7): (32, 4, "float"), (2, 7): (16, 1, "half"), (5, 7): (16, 2, "half"),
        (12, 7): (16, 4, "half"), (10, 4): (8, 4, "uint"),
        (4, 4): (32, 1, "uint")}
GFX10 = {22: (32, 1, "float"), 64: (32, 2, "float"), 74: (32, 3, "float"), 77: (32, 4, "float"),
         13: (16, 1, "half"), 29: (16, 2, "half"), 71: (16, 4, "half"),
         60: (8, 4, "uint"), 20: (32, 1, "uint")}
GFX11 = {22: (32, 1, "float"), 50: (32, 2, "float"), 60: (32, 3, "float"), 63: (32, 4, "float"),
         13: (16, 1, "half"), 29: (16, 2, "half"), 57: (16, 4, "half"),
         46: (8, 4, "uint"), 20: (32, 1, "uint")}
NAMES = {"32_FLOAT": (32, 1, "float"), "32_32_FLOAT": (32, 2, "float"),
         "32_32_32_FLOAT": (32, 3, "float"), "32_32_32_32_FLOAT": (32, 4, "float"),
         "16_FLOAT": (16, 1, "half"), "16_16_FLOAT": (16, 2, "half"),
         "16_16_16_16_FLOAT": (16, 4, "half"), "8_8_8_8_UINT": (8, 4, "uint")}


def format_of(wave, i):
    if "format" in i.modifiers:
        text = i.modifiers["format"].strip("[]")
        m = re.fullmatch(r"BUF_FMT_(\w+)", text) or re.fullmatch(
            r"BUF_DATA_FORMAT_(\w+),\s*BUF_NUM_FORMAT_(\w+)", text)
        return NAMES["_".join(m.groups())]
    word3 = wave.read_scalar(i.operands[2].index + 3)
    if wave.gfx9:
        return GFX9[word3 >> 15 & 15, word3 >> 12 & 7]
    return GFX11[word3 >> 12 & 0x3F] if wave.gfx11 else GFX10[word3 >> 12 & 0x7F]


def one(kind):
    return {"uint": 1, "half": 0x3C00}.get(kind, 0x3F800000)


def to_register(kind, bits, half):
    """A component as the register holds it."""
    if kind == "half" and not half:
        raise ValueError("the cases keep 16 bit floats in halves")
    return bits


def load(wanted, half=False, high=False):
    def run(wave, i):
        bits, count, kind = format_of(wave, i)
        for lane in wave.active():
            at = place(wave, i, 1, lane, bits * count // 8)
            raw = wave.load(at, bits * count // 8) if at is not None else 0
            values = []
            for n in range(wanted):
                if n < count:
                    values.append(to_register(kind, raw >> bits * n & (1 << bits) - 1, half))
                else:
                    values.append(one(kind) if n == 3 else 0)
            put(wave, i.operands[0], lane, values, half, high)

    return run


def put(wave, operand, lane, values, half, high):
    if not half:
        write_data(wave, operand, lane, len(values), sum(v << 32 * n for n, v in enumerate(values)))
        return
    for n in range(0, len(values), 2):
        old = nibbles(wave.vector(operand.kind, operand.index + n // 2)[lane], 32)
        if wave.gfx9:
            old = "?" * 8  # register ECC may clear the half that is not loaded
        low, upper = "%04x" % values[n], old[:4]
        if n + 1 < len(values):
            upper = "%04x" % values[n + 1]
        text = low + old[4:] if high else upper + low
        wave.write_vector(operand.kind, operand.index + n // 2, lane, from_nibbles(text))


def store(wanted, half=False, high=False):
    def run(wave, i):
        bits, count, kind = format_of(wave, i)
        assert (kind == "half") == half
        for lane in wave.active():
            at = place(wave, i, 1, lane, bits * count // 8)
            if at is None:
                continue
            data = read_data(wave, i.operands[0], lane, max(1, bits * count // 32))
            if high:
                data >>= 16
            text = nibbles(data, bits * count)
            missing = (count - wanted) * bits // 4  # what these hold is not documented
            wave.store(at, bits * count // 8, from_nibbles("?" * missing + text[missing:]))

    return run


for n, name in enumerate(("x", "xy", "xyz", "xyzw")):
    for stem in ("buffer", "tbuffer"):
        OPS["%s_load_format_%s" % (stem, name)] = load(n + 1)
        OPS["%s_store_format_%s" % (stem, name)] = store(n + 1)
        OPS["%s_load_format_d16_%s" % (stem, name)] = load(n + 1, True)
        OPS["%s_store_format_d16_%s" % (stem, name)] = store(n + 1, True)
OPS["buffer_load_format_d16_hi_x"] = load(1, True, True)
OPS["buffer_store_format_d16_hi_x"] = store(1, True, True)
