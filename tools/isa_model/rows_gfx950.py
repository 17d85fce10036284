# SPDX-License-Identifier: MIT
"""Vector instructions that came with gfx950: functions of three bits, packed shifts, random
numbers, the minimum and maximum of IEEE 754-2019, swaps of rows, and v_cvt_scalef32_*."""

import re

from softfloat import (BF16, F16, F32, OCP, Env, Pattern, from_nibbles, nibbles, ordered, pow2,
                       unknown)
from state import MASK32
from valu import apply_input, read_source, row, sign_extend

OPS = {}


# The function's value for bits a, b, c is bit 4a + 2b + c of the number.
def bitop3(width):
    def run(c, *sources):
        table = c.modifiers.get("bitop3", 0)
        result = 0
        for n in range(width):
            a, b, d = (s >> n & 1 for s in sources)
            result |= (table >> (4 * a + 2 * b + d) & 1) << n
        return result

    return run


row("v_bitop3_b32", "b32 : b32 b32 b32", bitop3(32))
row("v_bitop3_b16", "b16 : b16 b16 b16", bitop3(16), high="?")


def ashr_pk(low, high):
    def run(c, a, b, shift):
        parts = [max(low, min(high, sign_extend(x, 32) >> (shift & 31))) & 0xFF for x in (a, b)]
        return parts[0] | parts[1] << 8

    return run


row("v_ashr_pk_i8_i32", "b16 : b32 b32 b32", ashr_pk(-128, 127), high="?")
row("v_ashr_pk_u8_i32", "b16 : b32 b32 b32", ashr_pk(0, 255), high="?")
row("v_prng_b32", "b32 : b32", lambda c, a: (a << 1 ^ (0xC5 if a >> 31 else 0)) & MASK32)


def extreme(env, sources, want_max):
    f = env.fmt
    sources = [env.read(s) for s in sources]
    if any(f.is_nan(s) for s in sources):
        return f.nan()
    best = sorted(sources, key=lambda s: (ordered(f, s), 0 if f.sign(s) else 1))
    return env.write(best[-1 if want_max else 0])


def packed_extreme(want_max):
    def run(c, a, b, d):
        halves = []
        for n in (0, 1):
            neg = c.modifiers.get("neg_hi" if n else "neg_lo", [0, 0, 0])
            sel = c.modifiers.get("op_sel_hi" if n else "op_sel", [n] * 3)
            values = [(x >> 16 * sel[i] & 0xFFFF) ^ (0x8000 if neg[i] else 0)
                      for i, x in enumerate((a, b, d))]
            halves.append(nibbles(extreme(c.env(F16), values, want_max), 16))
        return from_nibbles(halves[1] + halves[0])

    return run


for name, flag in (("minimum3", False), ("maximum3", True)):
    row("v_%s_f32" % name, "f32 : f32 f32 f32",
        lambda c, *s, m=flag: extreme(c.env(F32), s, m))
    row("v_pk_%s_f16" % name, "pk : pk pk pk", packed_extreme(flag))


def swap_rows(wave, i):
    """The odd rows (or the upper half) of the first register for the even ones of the second. What
    happens where just one of two lanes is on is documented only for FI."""
    span = 16 if "lane16" in i.base else 32
    first, second = i.operands[0].index, i.operands[1].index
    for lane in range(wave.wave_size):
        if lane & span:
            continue
        both = wave.exec >> lane & wave.exec >> lane + span & 1
        a = wave.read_vector("v", first, lane + span)
        b = wave.read_vector("v", second, lane)
        fetch = i.modifiers.get("fi", 0)
        if wave.exec >> lane & 1:
            wave.write_vector("v", second, lane, a if both or fetch else unknown(32))
        if wave.exec >> lane + span & 1:
            wave.write_vector("v", first, lane + span, b if both or fetch else unknown(32))


OPS["v_permlane16_swap_b32"] = OPS["v_permlane32_swap_b32"] = swap_rows


# Conversions with a scale: the exponent of a float, as E8M0 has it.
WIDE = {"f32": F32, "f16": F16, "bf16": BF16}


def power(bits):
    """The scale as a Fraction; None is NaN."""
    exponent = bits >> 23 & 0xFF
    return None if exponent == 0xFF else pow2(exponent - 127)


def widen(code, small, wide, scale):
    small, wide = OCP[small], WIDE[wide]
    if scale is None or small.is_nan(code):
        return wide.nan()
    if small.is_inf(code):
        return wide.inf | (wide.sign_bit if small.sign(code) else 0)
    return wide.round(small.value(code) * scale, zero_sign=small.sign(code))


def narrow(bits, wide, small, scale, random=None):
    """The code, or None where the documents leave it open: NaNs and infinities, what is too large
    for a format that could say so, and everything that random bits decide."""
    small, wide = OCP[small], WIDE[wide]
    if scale is None or not wide.is_finite(bits):
        return None
    exact = wide.value(bits) / scale
    code = small.round(exact, zero_sign=wide.sign(bits))
    limit = small.value(small.max_finite)
    if abs(exact) > limit and (small.top != "finite" or random is not None):
        return None
    if random is not None and small.value(code) != exact:
        return None
    return code


class Bits:
    """Bits of a lane's registers, some of them not fixed, written nibble by nibble."""

    def __init__(self, wave, operand, lane, dwords):
        self.wave, self.operand, self.lane = wave, operand, lane
        self.value, self.known = 0, (1 << 32 * dwords) - 1
        self.dwords = dwords
        for n in range(dwords):
            self.value |= wave.read_vector(operand.kind, operand.index + n, lane) << 32 * n

    def put(self, at, width, value):
        mask = (1 << width) - 1 << at
        if value is None or isinstance(value, Pattern):
            self.known &= ~mask
        else:
            self.value = self.value & ~mask | value << at

    def store(self):
        for n in range(self.dwords):
            text = ""
            for k in range(7, -1, -1):
                at = 32 * n + 4 * k
                text += "%x" % (self.value >> at & 15) if self.known >> at & 15 == 15 else "?"
            self.wave.write_vector(self.operand.kind, self.operand.index + n, self.lane,
                                   from_nibbles(text))


def source_bits(wave, operand, lane, dwords):
    if operand.kind not in ("v", "a"):
        return read_source(wave, operand, "b32", lane)
    return sum(wave.read_vector(operand.kind, operand.index + n, lane) << 32 * n
               for n in range(dwords))


def scale_convert(wave, i):
    name = i.base[len("v_cvt_scalef32_"):]
    m = re.fullmatch(r"(sr_)?(pk32_|2xpk16_|pk_)?(\w+?)_(\w+)", name)
    random, pack, to, of = bool(m[1]), m[2] or "", m[3], m[4]
    count = {"": 1, "pk_": 2, "pk32_": 32, "2xpk16_": 32}[pack]
    op_sel = i.modifiers.get("op_sel", []) + [0, 0, 0, 0]
    d, sources = i.operands[0], i.operands[1:]
    for lane in wave.active():
        scale = power(apply_input(read_source(wave, sources[-1], "b32", lane), sources[-1], "f32"))
        if to in WIDE:
            bits, width = OCP[of].width, WIDE[to].width
            data = source_bits(wave, sources[0], lane, max(1, count * bits // 32))
            part = count * bits
            if count < 32:
                data >>= part * (op_sel[0] + (2 * op_sel[1] if part == 8 else 0))
            out = Bits(wave, d, lane, max(1, count * width // 32))
            at = 16 if count == 1 and width == 16 and op_sel[2] else 0
            values = [widen(data >> bits * n & (1 << bits) - 1, of, to, scale)
                      for n in range(count)]
            if any(isinstance(v, Pattern) for v in values) and width == 32:
                for n, v in enumerate(values):
                    wave.write_vector(d.kind, d.index + n, lane, v)
                continue
            for n, value in enumerate(values):
                out.put(at + width * n, width, value)
            out.store()
            continue
        bits, width = OCP[to].width, WIDE[of].width
        if pack == "2xpk16_":
            halves = [source_bits(wave, s, lane, 16) for s in sources[:2]]
            data = [halves[n % 2] >> 32 * (n // 2) & MASK32 for n in range(32)]
        elif of == "f32" and pack == "pk_" and not random:
            data = [apply_input(read_source(wave, s, "b32", lane), s, "f32") for s in sources[:2]]
        elif of == "f32" and count == 1:
            data = [apply_input(read_source(wave, sources[0], "b32", lane), sources[0], "f32")]
        else:
            whole = source_bits(wave, sources[0], lane, max(1, count * width // 32))
            data = [whole >> width * n & (1 << width) - 1 for n in range(count)]
        given = read_source(wave, sources[-2], "b32", lane) if random else None
        out = Bits(wave, d, lane, max(1, count * bits // 32))
        part = count * bits
        at = 0
        if count < 32:
            at = 8 * (op_sel[2] + 2 * op_sel[3]) if part == 8 else 16 * op_sel[len(sources)]
        for n, x in enumerate(data):
            out.put(at + bits * n, bits, narrow(x, of, to, scale, given))
        out.store()


for big in ("f32", "f16", "bf16"):
    for tiny in ("fp8", "bf8", "fp4"):
        OPS["v_cvt_scalef32_pk_%s_%s" % (big, tiny)] = scale_convert
        OPS["v_cvt_scalef32_pk_%s_%s" % (tiny, big)] = scale_convert
        if tiny != "fp4":
            OPS["v_cvt_scalef32_sr_%s_%s" % (tiny, big)] = scale_convert
            if big != "bf16":
                OPS["v_cvt_scalef32_%s_%s" % (big, tiny)] = scale_convert
    OPS["v_cvt_scalef32_sr_pk_fp4_" + big] = scale_convert
    for tiny in ("fp6", "bf6"):
        OPS["v_cvt_scalef32_pk32_%s_%s" % (big, tiny)] = scale_convert
        OPS["v_cvt_scalef32_sr_pk32_%s_%s" % (tiny, big)] = scale_convert
        if big == "f32":
            OPS["v_cvt_scalef32_2xpk16_%s_f32" % tiny] = scale_convert
        else:
            OPS["v_cvt_scalef32_pk32_%s_%s" % (tiny, big)] = scale_convert
