# SPDX-License-Identifier: MIT
"""The named input vectors: 64 dwords each. inputs.txt of the golden files lists them for the harness;
`iota(first,step)` and `all(x)` (hexadecimal) need no name."""

import re
import struct

from state import LANES, MASK32

NAMED = {}


def vector(name):
    m = re.fullmatch(r"iota\(([0-9a-f]+),([0-9a-f]+)\)", name)
    if m:
        return [int(m[1], 16) + int(m[2], 16) * i & MASK32 for i in range(LANES)]
    m = re.fullmatch(r"all\(([0-9a-f]+)\)", name)
    if m:
        return [int(m[1], 16)] * LANES
    return list(NAMED[name])


def float_bits(value):
    return int.from_bytes(struct.pack("<f", value), "little")


def half_bits(value):
    return int.from_bytes(struct.pack("<e", value), "little")


def double_bits(value):
    return int.from_bytes(struct.pack("<d", value), "little")


class Random:
    """A small generator of our own, so that the files do not depend on Python's."""

    def __init__(self, seed):
        self.state = seed * 0x9E3779B97F4A7C15 + 1 & 0xFFFFFFFFFFFFFFFF

    def next(self):
        self.state = (self.state * 6364136223846793005 + 1442695040888963407) & 0xFFFFFFFFFFFFFFFF
        x = self.state >> 27
        return (x ^ x >> 15) & MASK32

    def below(self, n):
        return self.next() % n


def define(name, values):
    assert name not in NAMED and len(values) == LANES, (name, len(values))
    NAMED[name] = [v & MASK32 for v in values]


def cross(first, second):
    """Two vectors that hold all pairs of 8 by 8 values."""
    return [a for a in first for _ in second], [b for _ in first for b in second]


def mixed(seed, special, make):
    """The special values in an order that the seed gives, then made ones."""
    rng = Random(seed)
    values = list(special)
    for i in range(len(values) - 1, 0, -1):
        j = rng.below(i + 1)
        values[i], values[j] = values[j], values[i]
    values = values[:LANES]
    while len(values) < LANES:
        values.insert(rng.below(len(values) + 1), make(rng))
    return values


F32_CLASSES_A = [0x00000000, 0x80000000, 0x7F800000, 0x7FC00000, 0x7F800001, 0x00000001,
                 0xBFC00000, 0x7F7FFFFF]
F32_CLASSES_B = [0x80000000, 0xFF800000, 0x7F800000, 0xFFC12345, 0xFFA00000, 0x807FFFFF,
                 0x3FC00000, 0x00000000]
F32_SPECIAL = [
    0x00000000, 0x80000000, 0x00000001, 0x80000001, 0x007FFFFF, 0x807FFFFF, 0x00800000, 0x80800000,
    0x7F800000, 0xFF800000, 0x7FC00000, 0xFFC00001, 0x7F800001, 0xFFBFFFFF, 0x7F7FFFFF, 0xFF7FFFFF,
    0x3F800000, 0xBF800000, 0x3F000000, 0xBF000000, 0x3FC00000, 0xBFC00000, 0x40200000, 0xC0200000,
    0x3F7FFFFF, 0x3F800001, 0xBF7FFFFF, 0x4B000000, 0x4B800001, 0xCB000001, 0x4EFFFFFF, 0x4F000000,
    0xCF000000, 0xCF000001, 0x4F7FFFFF, 0x4F800000, 0xDF000000, 0x5F000000, 0x5F800000, 0x477FE000,
    0x477FF000, 0x38800000, 0x33000000, 0x33800001, 0x40490FDB, 0x3EAAAAAB, 0x42F6E979, 0xC2F6E979]
F16_SPECIAL = [
    0x0000, 0x8000, 0x0001, 0x8001, 0x03FF, 0x83FF, 0x0400, 0x8400, 0x7C00, 0xFC00, 0x7E00, 0xFE01,
    0x7C01, 0xFDFF, 0x7BFF, 0xFBFF, 0x3C00, 0xBC00, 0x3800, 0xB800, 0x3E00, 0xBE00, 0x4100, 0xC100,
    0x3BFF, 0x3C01, 0x6400, 0x6801, 0x7800, 0xF800, 0x3555, 0x4248]
F16_CLASSES_A = [0x0000, 0x8000, 0x7C00, 0x7E00, 0x7C01, 0x0001, 0xBE00, 0x7BFF]
F16_CLASSES_B = [0x8000, 0xFC00, 0x7C00, 0xFE12, 0xFD00, 0x83FF, 0x3E00, 0x0000]
F64_SPECIAL = [
    0x0000000000000000, 0x8000000000000000, 0x0000000000000001, 0x8000000000000001,
    0x000FFFFFFFFFFFFF, 0x800FFFFFFFFFFFFF, 0x0010000000000000, 0x8010000000000000,
    0x7FF0000000000000, 0xFFF0000000000000, 0x7FF8000000000000, 0xFFF8000000000001,
    0x7FF0000000000001, 0xFFF7FFFFFFFFFFFF, 0x7FEFFFFFFFFFFFFF, 0xFFEFFFFFFFFFFFFF,
    0x3FF0000000000000, 0xBFF0000000000000, 0x3FE0000000000000, 0xBFE0000000000000,
    0x3FF8000000000000, 0xBFF8000000000000, 0x4004000000000000, 0xC004000000000000,
    0x3FEFFFFFFFFFFFFF, 0x3FF0000000000001, 0x41DFFFFFFFC00000, 0x41E0000000000000,
    0xC1E0000000000000, 0xC1E0000000200000, 0x41EFFFFFFFE00000, 0x41F0000000000000,
    0x4330000000000001, 0x47EFFFFFE0000000, 0x47EFFFFFF0000000, 0x380FFFFFFFFFFFFF,
    0x36A0000000000000, 0x400921FB54442D18]
F64_CLASSES_A = [0x0, 0x8000000000000000, 0x7FF0000000000000, 0x7FF8000000000000,
                 0x7FF0000000000001, 0x1, 0xBFF8000000000000, 0x7FEFFFFFFFFFFFFF]
F64_CLASSES_B = [0x8000000000000000, 0xFFF0000000000000, 0x7FF0000000000000, 0xFFF8000000012345,
                 0xFFF4000000000000, 0x800FFFFFFFFFFFFF, 0x3FF8000000000000, 0x0]
INT_SPECIAL = [
    0x00000000, 0x00000001, 0xFFFFFFFF, 0x7FFFFFFF, 0x80000000, 0x80000001, 0x0000FFFF, 0x00010000,
    0x00007FFF, 0x00008000, 0xFFFF8000, 0xFFFF7FFF, 0x000000FF, 0x00000100, 0x00FFFFFF, 0x01000000,
    0x007FFFFF, 0x00800000, 0xFF800000, 0x55555555, 0xAAAAAAAA, 0x12345678, 0xFEDCBA98, 0x0F0F0F0F,
    0x00000002, 0xFFFFFFFE, 0x00000020, 0x0000001F, 0x00000040, 0x40000000, 0xC0000000, 0x80008000]


def near_f32(rng):
    """A number of moderate size, so that sums and products neither vanish nor overflow."""
    return rng.next() & 0x807FFFFF | (120 + rng.below(16)) << 23


def near_f16(rng):
    return rng.next() & 0x83FF | (9 + rng.below(12)) << 10


def near_f64(rng):
    return (rng.next() << 32 | rng.next()) & 0x800FFFFFFFFFFFFF | (1015 + rng.below(16)) << 52


def define_all():
    a, b = cross(F32_CLASSES_A, F32_CLASSES_B)
    define("f32_a", a)
    define("f32_b", b)
    for i, name in enumerate(("f32_c", "f32_d", "f32_e")):
        define(name, mixed(10 + i, F32_SPECIAL, near_f32))
    for i, name in enumerate(("f32_x", "f32_y", "f32_z")):
        define(name, mixed(20 + i, [], near_f32))
    # Two halves in a dword: classes in the low half, mixed values in the high one.
    a, b = cross(F16_CLASSES_A, F16_CLASSES_B)
    high_a = mixed(30, F16_SPECIAL, near_f16)
    high_b = mixed(31, F16_SPECIAL, near_f16)
    define("f16_a", [h << 16 | x for h, x in zip(high_a, a)])
    define("f16_b", [h << 16 | x for h, x in zip(high_b, b)])
    for i, name in enumerate(("f16_c", "f16_d", "f16_e")):
        low = mixed(40 + i, F16_SPECIAL, near_f16)
        high = mixed(50 + i, F16_SPECIAL, near_f16)
        define(name, [h << 16 | x for h, x in zip(high, low)])
    for i, name in enumerate(("f16_x", "f16_y", "f16_z")):
        rng = Random(60 + i)
        define(name, [near_f16(rng) << 16 | near_f16(rng) for _ in range(LANES)])
    # Doubles: lower and upper halves.
    def doubles(name, values):
        define(name + "lo", [v & MASK32 for v in values])
        define(name + "hi", [v >> 32 for v in values])

    a, b = cross(F64_CLASSES_A, F64_CLASSES_B)
    doubles("f64_a", a)
    doubles("f64_b", b)
    for i, name in enumerate(("f64_c", "f64_d", "f64_e")):
        doubles(name, mixed(70 + i, F64_SPECIAL, near_f64))
    for i, name in enumerate(("f64_x", "f64_y", "f64_z")):
        doubles(name, mixed(80 + i, [], near_f64))
    for i, name in enumerate(("int_a", "int_b", "int_c", "int_d")):
        define(name, mixed(90 + i, INT_SPECIAL, lambda rng: rng.next()))
    for i, name in enumerate(("shift_a", "shift_b")):
        define(name, mixed(100 + i, list(range(33)) + [63, 64, 0xFFFFFFFF, 0x10003],
                           lambda rng: rng.below(64)))
    define("exponent", mixed(
        120, [0, 1, -1, 23, -23, 24, -24, 126, 127, 128, -126, -127, -149, -150, 200, -200, 1023,
              1024, -1022, -1074, -1075, 2000, -2000, 10, -10, 14, -14, 15, -24, -25, 16,
              0x7FFFFFFF, -0x80000000, 0x7FFF, -0x8000], lambda rng: rng.below(40) - 20))
    rng = Random(121)
    define("unit_f32", [rng.next() & 0x807FFFFF | (119 + rng.below(8)) << 23 for _ in range(LANES)])
    define("unit_f16", [rng.next() & 0x83FF83FF | (8 + rng.below(7)) << 26
                        | (8 + rng.below(7)) << 10 for _ in range(LANES)])
    integers = [float_bits(n) for n in (0, 1, 2, 7, 100, 128, 254, 255, 256, 300, -1, -5, 65536)]
    define("bytes_f32", [integers[i % len(integers)] for i in range(LANES)])
    # Small numbers with few bits, exact in 8 bit floats too.
    small = [float_bits(n) for n in (0, 1, -1, 2, -2, 3, 4, -6, 8, 16, 0.5, -0.25, 1.5, -1.5, 0.75)]
    define("small_f32", [small[i * 7 % len(small)] for i in range(LANES)])
    rng = Random(123)

    def few_bits(make):
        numbers = [make(n) for n in (0, 1, -1, 2, -2, 3, -4, 0.5, -1.5, 6)]
        return [numbers[rng.below(10)] << 16 | numbers[rng.below(10)] for _ in range(LANES)]

    for name in ("small_f16", "small_f162"):
        define(name, few_bits(half_bits))
    for name in ("small_bf16", "small_bf162"):
        define(name, few_bits(lambda x: float_bits(x) >> 16))
    define("small_f32b", [float_bits((1, -2, 3, 0.5, -4, 2, -1, 5)[rng.below(8)])
                          for _ in range(LANES)])
    for name in ("small_f64a", "small_f64b"):  # upper halves of doubles
        define(name, [double_bits((1, -2, 3, 0.5, -4, 2, -1, 7)[rng.below(8)]) >> 32
                      for _ in range(LANES)])
    # Bytes 1, -1, 2, 0.5, 0, 1.5 as gfx942 encodes 8 bit floats.
    for name, bytes_ in (("small_fp8", (0x40, 0xC0, 0x48, 0x38, 0x00, 0x44)),
                         ("small_bf8", (0x40, 0xC0, 0x44, 0x3C, 0x00, 0x42))):
        for tail in ("", "b"):
            define(name + tail, [sum(bytes_[rng.below(6)] << 8 * n for n in range(4))
                                 for _ in range(LANES)])
    special = [0x7F800000, 0xFF800000, 0x7FC00000, 0x3F800000, 0x00000000, 0xC0000000]
    define("special_f32", [special[rng.below(6)] if i % 5 == 0 else float_bits(i % 7 - 3)
                           for i in range(LANES)])
    # Which two of four, for sparse matrices: pairs in ascending order.
    pairs = [0b0100, 0b1000, 0b1100, 0b1001, 0b1101, 0b1110]
    define("sparse", [sum(pairs[rng.below(6)] << 4 * n for n in range(8)) for _ in range(LANES)])
    # Around what f16 can hold: ties, the largest numbers, denormals.
    edge = [0x477FEFFF, 0x477FF000, 0x477FE000, 0x47800000, 0xC77FEFFF, 0xC77FF000, 0x38800000,
            0x387FFFFF, 0x387FE000, 0x33800000, 0x33000000, 0x33000001, 0x33C00000, 0x32FFFFFF,
            0x3F801000, 0x3F803000, 0x3F801001, 0x3F800FFF, 0xBF803000, 0xB3C00001, 0x33BFFFFF]
    define("f16_edge", [edge[i % len(edge)] for i in range(LANES)])
    # Divisions: exponents of every kind, mantissas of any.
    rng = Random(122)
    steps = [1, 2, 20, 23, 24, 60, 100, 126, 127, 128, 130, 160, 190, 222, 230, 252, 253, 254]
    define("f32_den", [rng.next() & 0x807FFFFF | steps[i % len(steps)] << 23 for i in range(LANES)])
    define("f32_num", [rng.next() & 0x807FFFFF | steps[i * 5 % len(steps)] << 23
                       for i in range(LANES)])
    steps = [1, 2, 52, 53, 54, 200, 500, 1021, 1023, 1024, 1100, 1500, 1790, 1800, 2044, 2045, 2046]
    doubles("f64_den", [(rng.next() << 32 | rng.next()) & 0x800FFFFFFFFFFFFF
                        | steps[i % len(steps)] << 52 for i in range(LANES)])
    doubles("f64_num", [(rng.next() << 32 | rng.next()) & 0x800FFFFFFFFFFFFF
                        | steps[i * 5 % len(steps)] << 52 for i in range(LANES)])
    # What memory holds as pairs: its even and odd dwords, for a compare with pairs of registers.
    a = NAMED["int_a"] + NAMED["int_b"]
    define("even_a", a[0::2])
    define("odd_a", [x ^ (i % 3 == 0) for i, x in enumerate(a[1::2])])
    numbers = [near_f64(rng) for _ in range(LANES)]
    flat = [part for x in numbers for part in (x & MASK32, x >> 32)]
    define("f64_mix", flat[:LANES])
    define("f64_mix2", flat[LANES:])
    doubles("f64_mix", [x ^ (i % 3 == 0) for i, x in enumerate(numbers)])
    define("far", [x & ~3 for x in NAMED["int_a"]])
    for step in (1, 2, 4):  # offsets in scratch, a different one per lane
        define("scratch%d" % step, [step * (i * 3 % (24 // step)) for i in range(LANES)])
    define("shift_dword", [4 * (i * 5 % 7) for i in range(LANES)])
    define("lane", list(range(LANES)))
    rng = Random(110)
    order = list(range(LANES))
    for i in range(LANES - 1, 0, -1):
        j = rng.below(i + 1)
        order[i], order[j] = order[j], order[i]
    define("shuffle", [4 * x for x in order])                  # a permutation, times 4
    define("scatter", [4 * (3 * x * x + x) & 0xFFFFFFFF for x in range(LANES)])  # with collisions
    rng = Random(150)
    for name in ("mx_scale", "mx_scale2"):  # block scales near 1
        define(name, [sum(126 + rng.below(3) << 8 * n for n in range(4)) for _ in range(LANES)])
    # 16 numbers of 6 bits in three dwords: up to 2, in steps of a quarter.
    for kind, codes in (("fp6", (0, 2, 4, 8, 12, 16, 34, 36, 40, 48)),
                        ("bf6", (0, 4, 8, 10, 12, 14, 16, 36, 40, 46, 48))):
        for tail in "ab":
            lanes = [sum(codes[rng.below(len(codes))] << 6 * n for n in range(16))
                     for _ in range(LANES)]
            for n in range(3):
                define("small_%s%s%d" % (kind, tail, n), [x >> 32 * n & MASK32 for x in lanes])
    define("scale_f32", [float_bits(2.0 ** ((i * 7) % 9 - 4)) for i in range(LANES)])
    rng = Random(111)
    define("small_int", [rng.below(15) - 7 for _ in range(LANES)])


define_all()


def inputs_text():
    lines = []
    for name in sorted(NAMED):
        lines.append("vector " + name)
        for i in range(0, LANES, 8):
            lines.append(" " + " ".join("%08x" % v for v in NAMED[name][i:i + 8]))
    return "\n".join(lines) + "\n"
