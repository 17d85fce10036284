# SPDX-License-Identifier: MIT
"""Matrix instructions and the accumulation registers.

The order in which hardware adds the products, and how it rounds between, is not documented. The
cases use small integers, whose sums are exact in any order; special values propagate in any order
as well. What would depend on the order is not fixed.

Matrices have many products, and Fractions are slow: here a finite number is an int that counts the
smallest numbers of its format, 2^-fmt.unit each, and a product of two counts products of those."""

import functools
import operator
import re
from fractions import Fraction

from softfloat import (BF16, BF8, F16, F32, F64, FP8, OCP, from_nibbles, nibbles, unknown)
from state import MASK32
from valu import constant, read_source, sign_extend

OPS = {}
LANES = 64


def format_of(kind, ocp):
    """`ocp`: which 8 bit floats."""
    if kind in OCP and (ocp or kind not in ("fp8", "bf8")):
        return OCP[kind]
    return {"f32": F32, "xf32": F32, "f16": F16, "bf16": BF16, "f64": F64, "fp8": FP8,
            "bf8": BF8}[kind]


def unit_of(kind, ocp):
    return 0 if kind == "i8" else format_of(kind, ocp).unit


@functools.lru_cache(None)
def decode(kind, bits, ocp=False, flushes=False):
    """A number, or "nan", "inf", "-inf". `flushes`: no denormals."""
    if kind == "i8":
        return sign_extend(bits, 8)
    fmt = format_of(kind, ocp)
    return 0 if flushes and fmt.is_denormal(bits) else number(fmt, bits)


def number(fmt, bits):
    if fmt.is_nan(bits):
        return "nan"
    if fmt.is_inf(bits):
        return "-inf" if fmt.sign(bits) else "inf"
    return fmt.smallest_numbers(bits)


def times(a, b):
    if isinstance(a, str) or isinstance(b, str):
        if a in ("nan", 0) or b in ("nan", 0):
            return "nan"
        negative = (a == "-inf" or (not isinstance(a, str) and a < 0)) ^ (
            b == "-inf" or (not isinstance(b, str) and b < 0))
        return "-inf" if negative else "inf"
    return a * b


def total(start, products, unit, fmt):
    """The sum as bits of `fmt`; not fixed if a partial sum in some order would round. `start` is a
    number of `fmt`, each of the products counts 2^-unit."""
    special = {x for x in [start, *products] if isinstance(x, str)}
    if special:
        if "nan" in special or len(special) == 2:
            return fmt.nan()
        return fmt.inf if "inf" in special else fmt.inf | fmt.sign_bit
    common = max(unit, fmt.unit)
    start <<= common - fmt.unit
    shift = common - unit
    exact = start + (sum(products) << shift)
    limit = abs(start) + (sum(map(abs, products)) << shift)
    every_bit = functools.reduce(operator.or_, products, 0) << shift | start
    lowest_bit = min(every_bit & -every_bit, 1 << common)
    if limit and limit >= lowest_bit << fmt.mbits + 1:
        return unknown(fmt.width)
    return fmt.round(Fraction(exact, 1 << common))


def old_blocks(m, k, kind):
    """gfx90a's names leave out the blocks. A lane has one register of each matrix, or two where it
    says so (f64, and bf16 with twice the k), and as many blocks as make that."""
    bits = {"f64": 64, "f32": 32, "f16": 64, "bf16_1k": 64, "bf16": 32, "i8": 32}[kind]
    width = {"f64": 64, "f32": 32, "f16": 16, "bf16_1k": 16, "bf16": 16, "i8": 8}[kind]
    return 64 * bits // width // (m * k)


class Shape:
    def __init__(self, name):
        m = re.fullmatch(r"v_s?mfmac?_(f32|i32|f64)_(\d+)x(\d+)x(\d+)(?:_(\d+)b)?(_?)([a-z]\w+)",
                         name)
        self.out = m[1]
        self.m, self.n, self.k = int(m[2]), int(m[3]), int(m[4])
        self.blocks = int(m[5] or 1)
        self.old = not m[6]  # gfx90a's spelling
        if self.old:
            self.blocks = old_blocks(self.m, self.k, m[7])
        kinds = m[7].replace("_1k", "").split("_")
        self.kinds = kinds * 2 if len(kinds) == 1 else kinds
        self.bits = {"f64": 64, "f32": 32, "xf32": 32, "f16": 16, "bf16": 16}.get(self.kinds[0], 8)
        groups = LANES // self.m          # lanes with the same row
        self.per_lane = self.k * self.blocks // groups  # values of one block in a lane
        assert self.per_lane >= 1, name

    def place(self, row, k, block):
        """(lane, position in the lane's registers) of A[row][k]; the same for B[k][column]."""
        if self.blocks > 1 and self.out != "f64":
            return row + self.m * block, k
        if self.blocks > 1:  # 4x4x4_4b_f64
            return row + self.m * (block + self.blocks * k), 0
        return row + self.m * (k // self.per_lane), k % self.per_lane

    def result(self, register, lane):
        """(row, column, block) of an element of C and D."""
        if self.m == 32:
            return (8 * (register % 16 // 4) + 4 * (lane // 32) + register % 4, lane % 32,
                    register // 16)
        if self.m == 16 and self.out == "f64":
            return 4 * register + lane // 16, lane % 16, 0
        if self.m == 16:
            return 4 * (lane // 16) + register % 4, lane % 16, register // 4
        if self.out == "f64":
            return lane // 16, lane % 4, lane // 4 % 4
        return register, lane % 4, lane // 4

    def results(self):
        return self.m * self.n * self.blocks // LANES

    def unit(self, ocp):
        """Of the products."""
        return sum(unit_of(kind, ocp) for kind in self.kinds)

    def flushes(self, wave):
        """gfx90a's matrix core has no denormals in 16 bit formats and in what they add up to."""
        return wave.target == "gfx90a" and self.kinds[0] in ("f16", "bf16")


def element(wave, operand, bits, lane, position):
    at = bits * position
    register = operand.index + at // 32
    value = wave.read_vector(operand.kind, register, lane)
    if bits == 64:
        return value | wave.read_vector(operand.kind, register + 1, lane) << 32
    return value >> at % 32 & (1 << bits) - 1


def lane_group(pattern, lane):
    """blgp: which lane of B a lane takes instead of itself."""
    if pattern == 0:
        return lane
    if pattern in (1, 2):
        return lane % 32 + 32 * (pattern - 1)
    if pattern == 3:
        return (lane + 16) % 64
    return lane % 16 + 16 * (pattern - 4)


def mfma(wave, i):
    shape = Shape(i.base)
    d, a, b, c = i.operands[:4]
    m = i.modifiers
    cbsz, abid, blgp = m.get("cbsz", 0), m.get("abid", 0), m.get("blgp", 0)
    neg = m.get("neg", [0, 0, 0])
    if shape.out == "f64" and blgp:  # how gfx90a spells it
        neg, blgp = [blgp & 1, blgp >> 1 & 1, blgp >> 2], 0
    ocp, flushes = wave.target == "gfx950", shape.flushes(wave)
    rows, columns = {}, {}
    for block in range(shape.blocks):
        source = (block >> cbsz << cbsz) + abid if cbsz else block
        for k in range(shape.k):
            for r in range(shape.m):
                lane, position = shape.place(r, k, source)
                rows[block, r, k] = decode(
                    shape.kinds[0], element(wave, a, shape.bits, lane, position), ocp, flushes)
                lane, position = shape.place(r, k, block)
                columns[block, k, r] = decode(
                    shape.kinds[1], element(wave, b, shape.bits, lane_group(blgp, lane), position),
                    ocp, flushes)
    finish(wave, shape, d, c, lambda r, column, block: [
        times(negate(rows[block, r, k], neg[0]), negate(columns[block, k, column], neg[1]))
        for k in range(shape.k)], shape.unit(ocp), neg[2])


def negate(x, wanted):
    if not wanted or x == "nan":
        return x
    if isinstance(x, str):
        return "inf" if x == "-inf" else "-inf"
    return -x


def finish(wave, shape, d, c, products, unit, neg_c=0):
    dwords = 2 if shape.out == "f64" else 1
    fmt = F64 if shape.out == "f64" else F32
    results = []
    for register in range(shape.results()):
        for lane in range(LANES):
            row, column, block = shape.result(register, lane)
            if c.kind in ("int", "float"):
                start = constant(c, {"f64": "f64", "f32": "f32", "i32": "i32"}[shape.out])
            else:
                first = c.index + dwords * register
                start = sum(wave.read_vector(c.kind, first + n, lane) << 32 * n
                            for n in range(dwords))
            parts = products(row, column, block)
            if shape.out == "i32":
                value = sum(parts) + sign_extend(start, 32) & MASK32
            else:
                flushes = shape.flushes(wave)
                first = decode(shape.out, start, flushes=flushes)
                value = total(negate(first, neg_c), parts, unit, fmt)
                if flushes and isinstance(value, int) and fmt.is_denormal(value):
                    value = unknown(fmt.width)  # a zero of either sign
                if value == 0 and start == fmt.sign_bit:
                    value = unknown(fmt.width)  # the sign of a zero depends on the order
            results.append((register, lane, value))
    for register, lane, value in results:
        text = nibbles(value, 32 * dwords)
        for n in range(dwords):
            part = text[len(text) - 8 * n - 8:len(text) - 8 * n]
            wave.write_vector(d.kind, d.index + dwords * register + n, lane, from_nibbles(part))


def smfmac(wave, i):
    """A holds two of every four values of K; the index register says which."""
    shape = Shape(i.base)
    d, a, b, index = i.operands[:4]
    abid = i.modifiers.get("abid", 0)
    cbsz = i.modifiers.get("cbsz", 0)
    ocp = wave.target == "gfx950"
    groups = LANES // shape.m
    dense = shape.k // groups   # values of B in a lane
    kept = dense // 2           # values of A in a lane
    rows, columns = {}, {}
    for lane in range(LANES):
        r, group = lane % shape.m, lane // shape.m
        which = wave.read_vector("v", index.index, lane)
        if cbsz == 0:
            which >>= 2 * kept * abid
        for n in range(kept):
            k = group * dense + 4 * (n // 2) + (which >> 2 * n & 3)
            value = decode(shape.kinds[0], element(wave, a, shape.bits, lane, n), ocp)
            rows.setdefault((r, group), []).append((k, value))
        for n in range(dense):
            columns[group * dense + n, r] = decode(shape.kinds[1],
                                                   element(wave, b, shape.bits, lane, n), ocp)
    finish(wave, shape, d, d, lambda r, column, block: [
        times(value, columns[k, column]) for group in range(groups)
        for k, value in rows[r, group]], shape.unit(ocp))


DENSE = """f32_32x32x1_2b_f32 f32_16x16x1_4b_f32 f32_4x4x1_16b_f32 f32_32x32x2_f32 f32_16x16x4_f32
f32_32x32x4_2b_f16 f32_16x16x4_4b_f16 f32_4x4x4_16b_f16 f32_32x32x8_f16 f32_16x16x16_f16
i32_32x32x4_2b_i8 i32_16x16x4_4b_i8 i32_4x4x4_16b_i8 i32_32x32x16_i8 i32_16x16x32_i8
f32_32x32x4_2b_bf16 f32_16x16x4_4b_bf16 f32_4x4x4_16b_bf16 f32_32x32x8_bf16 f32_16x16x16_bf16
f64_16x16x4_f64 f64_4x4x4_4b_f64 f32_16x16x8_xf32 f32_32x32x4_xf32 f32_16x16x32_bf8_bf8
f32_16x16x32_bf8_fp8 f32_16x16x32_fp8_bf8 f32_16x16x32_fp8_fp8 f32_32x32x16_bf8_bf8
f32_32x32x16_bf8_fp8 f32_32x32x16_fp8_bf8 f32_32x32x16_fp8_fp8""".split()
SPARSE = """f32_16x16x32_f16 f32_32x32x16_f16 f32_16x16x32_bf16 f32_32x32x16_bf16 i32_16x16x64_i8
i32_32x32x32_i8 f32_16x16x64_bf8_bf8 f32_16x16x64_bf8_fp8 f32_16x16x64_fp8_bf8
f32_16x16x64_fp8_fp8 f32_32x32x32_bf8_bf8 f32_32x32x32_bf8_fp8 f32_32x32x32_fp8_bf8
f32_32x32x32_fp8_fp8""".split()
# gfx90a's, and gfx950's deeper ones.
OLD = """f32_32x32x1f32 f32_16x16x1f32 f32_4x4x1f32 f32_32x32x2f32 f32_16x16x4f32 f32_32x32x4f16
f32_16x16x4f16 f32_4x4x4f16 f32_32x32x8f16 f32_16x16x16f16 f32_32x32x2bf16 f32_16x16x2bf16
f32_4x4x2bf16 f32_32x32x4bf16 f32_16x16x8bf16 f32_32x32x4bf16_1k f32_16x16x4bf16_1k
f32_4x4x4bf16_1k f32_32x32x8bf16_1k f32_16x16x16bf16_1k i32_32x32x4i8 i32_16x16x4i8 i32_4x4x4i8
i32_32x32x8i8 i32_16x16x16i8 f64_16x16x4f64 f64_4x4x4f64""".split()
DEEP = """f32_16x16x32_f16 f32_32x32x16_f16 f32_16x16x32_bf16 f32_32x32x16_bf16 i32_16x16x64_i8
i32_32x32x32_i8""".split()
DEEP_SPARSE = """f32_16x16x64_f16 f32_32x32x32_f16 f32_16x16x64_bf16 f32_32x32x32_bf16
i32_16x16x128_i8 i32_32x32x64_i8 f32_16x16x128_bf8_bf8 f32_16x16x128_bf8_fp8
f32_16x16x128_fp8_bf8 f32_16x16x128_fp8_fp8 f32_32x32x64_bf8_bf8 f32_32x32x64_bf8_fp8
f32_32x32x64_fp8_bf8 f32_32x32x64_fp8_fp8""".split()
SPARSE += DEEP_SPARSE
for name in DENSE + OLD + DEEP:
    OPS["v_mfma_" + name] = mfma


# gfx950's products of 8, 6 and 4 bit floats: cbsz and blgp name the formats. A lane holds 32 k of a
# row: of 8 bit numbers two runs of 16, half of K apart; of the others one run of 32. A byte of
# another register, in the lane of the row and of the block of 32 k, is the scale of that block.
MX = ("fp8", "bf8", "fp6", "bf6", "fp4")
SCALE_UNIT = 127  # a scale s is 2^(s - 127)


class MxShape:
    out = "f32"

    def __init__(self, name):
        m = re.search(r"(\d+)x\d+x(\d+)", name)
        self.m = self.n = int(m[1])
        self.k = int(m[2])
        self.blocks = 1

    result, results = Shape.result, Shape.results

    def flushes(self, wave):
        return False

    def place(self, row, k, bits):
        if bits == 8:
            half = self.k // 2
            return row + self.m * (k % half // 16), 16 * (k // half) + k % 16
        return row + self.m * (k // 32), k % 32


def mx_matrix(wave, shape, operand, kind, scales, byte):
    bits = OCP[kind].width
    matrix = {}
    for k in range(shape.k):
        for r in range(shape.m):
            lane, position = shape.place(r, k, bits)
            at = bits * position
            code = wave.read_vector(operand.kind, operand.index + at // 32, lane) >> at % 32
            if at % 32 + bits > 32:
                code |= wave.read_vector(operand.kind, operand.index + at // 32 + 1, lane) << (
                    32 - at % 32)
            value = decode(kind, code & (1 << bits) - 1, True)
            if scales:
                lane = r + shape.m * (k // 32)
                scale = wave.read_vector("v", scales.index, lane) >> 8 * byte & 0xFF
                value = "nan" if scale == 0xFF else times(value, 1 << scale)
            matrix[r, k] = value
    return matrix


def mx_mfma(wave, i):
    shape = MxShape(i.base)
    m = i.modifiers
    d, a, b, c = i.operands[:4]
    scales = i.operands[4:6] if "scale" in i.base else (None, None)
    low = m.get("op_sel", [0, 0]) + [0, 0]
    high = m.get("op_sel_hi", [0, 0]) + [0, 0]
    rows = mx_matrix(wave, shape, a, MX[m.get("cbsz", 0)], scales[0], low[0] + 2 * high[0])
    columns = mx_matrix(wave, shape, b, MX[m.get("blgp", 0)], scales[1], low[1] + 2 * high[1])
    unit = sum(OCP[MX[m.get(name, 0)]].unit + (SCALE_UNIT if scales[0] else 0) for name in ("cbsz", "blgp"))
    finish(wave, shape, d, c, lambda r, column, block: [
        times(rows[r, k], columns[column, k]) for k in range(shape.k)], unit)


for name in ("16x16x128", "32x32x64"):
    OPS["v_mfma_f32_%s_f8f6f4" % name] = OPS["v_mfma_scale_f32_%s_f8f6f4" % name] = mx_mfma
for name in SPARSE:
    OPS["v_smfmac_" + name] = smfmac


def acc_move(wave, i):
    for lane in wave.active():
        wave.write_vector(i.operands[0].kind, i.operands[0].index, lane,
                          read_source(wave, i.operands[1], "b32", lane))


for name in ("v_accvgpr_read_b32", "v_accvgpr_write_b32", "v_accvgpr_mov_b32"):
    OPS[name] = acc_move
