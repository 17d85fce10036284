# SPDX-License-Identifier: MIT
"""Conversions. To integers they truncate, saturate, and make 0 of a NaN."""

from fractions import Fraction

from softfloat import (BF8, BF16, F16, F32, F64, FP8, OCP, RTZ, Env, convert, from_nibbles,
                       integer_part, nibbles, unknown)
from valu import row, sign_extend


def to_integer(fmt, bits, signed, how="trunc"):
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if signed else (0, (1 << bits) - 1)

    def run(c, a):
        a = c.env(fmt).read(a)
        if fmt.is_nan(a):
            return 0
        if fmt.is_inf(a):
            return (low if fmt.sign(a) else high) & (1 << bits) - 1
        value = max(low, min(high, integer_part(fmt.value(a), how)))
        return value & (1 << bits) - 1

    return run


def from_integer(fmt, bits, signed):
    def run(c, a):
        return c.env(fmt).result(Fraction(sign_extend(a, bits) if signed else a))

    return run


row("v_cvt_i32_f32", "u32 : f32", to_integer(F32, 32, True))
row("v_cvt_u32_f32", "u32 : f32", to_integer(F32, 32, False))
row("v_cvt_i32_f64", "u32 : f64", to_integer(F64, 32, True))
row("v_cvt_u32_f64", "u32 : f64", to_integer(F64, 32, False))
row("v_cvt_i16_f16", "u16 : f16", to_integer(F16, 16, True), high="?")
row("v_cvt_u16_f16", "u16 : f16", to_integer(F16, 16, False), high="?")
row("v_cvt_flr_i32_f32", "u32 : f32", to_integer(F32, 32, True, "floor"))
row("v_cvt_f32_i32", "f32 : u32", from_integer(F32, 32, True))
row("v_cvt_f32_u32", "f32 : u32", from_integer(F32, 32, False))
row("v_cvt_f64_i32", "f64 : u32", from_integer(F64, 32, True))
row("v_cvt_f64_u32", "f64 : u32", from_integer(F64, 32, False))
row("v_cvt_f16_i16", "f16 : u16", from_integer(F16, 16, True))
row("v_cvt_f16_u16", "f16 : u16", from_integer(F16, 16, False))
for n in range(4):
    row("v_cvt_f32_ubyte%d" % n, "f32 : u32",
        lambda c, a, n=n: F32.round(Fraction(a >> 8 * n & 0xFF)))
row("v_cvt_off_f32_i4", "f32 : u32", lambda c, a: F32.round(Fraction(sign_extend(a, 4), 16)))


def rpi(c, a):
    """floor(x + 0.5); where that sum rounds in f32 the documents leave the result open."""
    if F32.is_finite(a):
        total = F32.value(a) + Fraction(1, 2)
        if total and F32.value(F32.round(total)) != total and abs(total) < 1 << 31:
            return unknown(32)
        a_shifted = integer_part(total, "floor")
        return max(-(1 << 31), min((1 << 31) - 1, a_shifted)) & 0xFFFFFFFF
    return to_integer(F32, 32, True)(c, a)


row("v_cvt_rpi_i32_f32", "u32 : f32", rpi)


def between(source, target):
    return lambda c, a: convert(a, source, c.env(source), target, c.env(target))


row("v_cvt_f16_f32", "f16 : f32", between(F32, F16))
row("v_cvt_f32_f16", "f32 : f16", between(F16, F32))
row("v_cvt_f32_f64", "f32 : f64", between(F64, F32))
row("v_cvt_f64_f32", "f64 : f32", between(F32, F64))


# Two results in a dword.
def packed(first, second):
    return from_nibbles(nibbles(second, 16) + nibbles(first, 16))


def pkrtz(c, a, b):
    def half(x):
        env = Env(c.wave.mode, F16)
        env.rounding = RTZ
        return convert(x, F32, c.env(F32), F16, env)

    return packed(half(a), half(b))


row("v_cvt_pkrtz_f16_f32", "pk : f32 f32", pkrtz)
row("v_cvt_pk_u16_u32", "pk : u32 u32", lambda c, a, b: packed(min(a, 0xFFFF), min(b, 0xFFFF)))
row("v_cvt_pk_i16_i32", "pk : u32 u32", lambda c, a, b: packed(clip16(a), clip16(b)))
row("v_pack_b32_f16", "pk : f16 f16", lambda c, a, b: packed(flush16(c, a), flush16(c, b)))


def clip16(x):
    return max(-32768, min(32767, sign_extend(x, 32))) & 0xFFFF


def flush16(c, x):
    """A move of halves: whether a signalling NaN is quieted is not documented."""
    return unknown(16) if F16.is_nan(x) else x


def norm(fmt, scale, low):
    def run(a):
        if fmt.is_nan(a):
            return 0
        value = fmt.value(a) if fmt.is_finite(a) else Fraction(-2 if fmt.sign(a) else 2)
        value = max(Fraction(low), min(Fraction(1), value)) * scale
        rounded = integer_part(value, "even")
        if abs(value - integer_part(value, "floor") - Fraction(1, 2)) < Fraction(1, 512):
            return unknown(16)  # near a tie
        return rounded & 0xFFFF

    return run


for kind, fmt in (("f32", F32), ("f16", F16)):
    for name, function in (("i16", norm(fmt, 32767, -1)), ("u16", norm(fmt, 65535, 0))):
        row("v_cvt_pknorm_%s_%s" % (name, kind), "pk : %s %s" % (kind, kind),
            lambda c, a, b, g=function: packed(g(a), g(b)))
        if kind == "f16":
            row("v_cvt_norm_%s_f16" % name, "u16 : f16", lambda c, a, g=function: g(a), high="?")


def pk_u8(c, a, position, old):
    if F32.is_nan(a):
        value = 0
    elif F32.is_inf(a):
        value = 0 if F32.sign(a) else 255
    else:
        exact = max(Fraction(0), min(Fraction(255), F32.value(a)))
        # How a fraction rounds is not documented.
        value = int(exact) if exact.denominator == 1 else None
    n = position & 3
    text = nibbles(old, 32)
    high = 8 - 2 * n
    return from_nibbles(text[:high - 2] + ("??" if value is None else "%02x" % value) + text[high:])


row("v_cvt_pk_u8_f32", "u32 : f32 u32 u32", pk_u8)
row("v_cvt_pkaccum_u8_f32", "b32 : f32 u32", lambda c, a, n: pk_u8(c, a, n, c.old))
row("v_sat_pk_u8_i16", "u16 : u32",
    lambda c, a: sum(max(0, min(255, sign_extend(a >> 16 * n, 16))) << 8 * n for n in range(2)),
    high="?", high10="?")


# 8 bit floats: gfx942's kind, or OCP's.
def mini(wave, kind):
    return OCP[kind] if wave.target in ("gfx950", "gfx1201") else {"fp8": FP8, "bf8": BF8}[kind]


def to_mini(fmt, a):
    """The bits of an f32 as an 8 bit float; None if the documents leave them open."""
    if not fmt.fnuz and not F32.is_finite(a):
        return None
    value = convert(a, F32, Env(0xF0, F32), fmt, Env(0xF0, fmt))
    return None if not fmt.fnuz and not fmt.is_finite(value) else value


def byte_text(value):
    return "??" if value is None else "%02x" % value


def small_to_f32(fmt, byte):
    if fmt.is_nan(byte):
        return F32.nan()
    if fmt.is_inf(byte):
        return F32.inf | (F32.sign_bit if fmt.sign(byte) else 0)
    return F32.round(fmt.value(byte), zero_sign=fmt.sign(byte))


def selected(c, parts):
    """Which byte (parts=8) or word (16) of the source op_sel picks; SDWA has picked already."""
    m = c.modifiers
    if "byte_sel" in m:
        return parts * m["byte_sel"]
    if "op_sel" in m:
        s = m["op_sel"]
        return parts * (s[0] + 2 * s[1] if parts == 8 else s[0])
    return 0


for kind in ("fp8", "bf8"):
    row("v_cvt_f32_" + kind, "f32 : b32",
        lambda c, a, k=kind: small_to_f32(mini(c.wave, k), a >> selected(c, 8) & 0xFF))
    row("v_cvt_pk_f32_" + kind, "v2 : b32", lambda c, a, k=kind: pair(
        small_to_f32(mini(c.wave, k), a >> selected(c, 16) & 0xFF),
        small_to_f32(mini(c.wave, k), a >> selected(c, 16) + 8 & 0xFF)))

    def to_small(c, a, b, k=kind):
        low, high = (byte_text(to_mini(mini(c.wave, k), x)) for x in (a, b))
        op_sel = c.modifiers.get("op_sel", [0, 0, 0])
        old = nibbles(c.old, 32)
        return from_nibbles(high + low + old[4:] if op_sel[2] else old[:4] + high + low)

    row("v_cvt_pk_%s_f32" % kind, "b32 : f32 f32", to_small)

    def to_small_random(c, a, b, k=kind):
        # Only for numbers that fit exactly and no random bits: the rest is not documented.
        f = mini(c.wave, k)
        value = to_mini(f, a)
        exact = (value is not None and F32.is_finite(a) and f.is_finite(value)
                 and f.value(value) == F32.value(a) and not b)
        op_sel = c.modifiers.get("op_sel", [0, 0, 0, 0])
        at = 2 * (op_sel[2] + 2 * op_sel[3])
        text = nibbles(c.old, 32)
        high = 8 - at
        return from_nibbles(text[:high - 2] + ("%02x" % value if exact else "??") + text[high:])

    row("v_cvt_sr_%s_f32" % kind, "b32 : f32 b32", to_small_random)


def pair(low, high):
    return from_nibbles(nibbles(high, 32) + nibbles(low, 32))


# 16 bit floats by random bits: what fits exactly does not depend on them.
def random_half(fmt):
    def run(c, a, random):
        value = convert(a, F32, Env(0xF0, F32), fmt, Env(0xF0, fmt))
        exact = F32.is_finite(a) and fmt.is_finite(value) and fmt.value(value) == F32.value(a)
        old = nibbles(c.old, 32)
        text = "%04x" % value if exact else "????"
        if c.modifiers.get("op_sel", [0, 0, 0])[2]:
            return from_nibbles(text + old[4:])
        return from_nibbles(old[:4] + text)

    return run


row("v_cvt_sr_f16_f32", "b32 : f32 b32", random_half(F16))
row("v_cvt_sr_bf16_f32", "b32 : f32 b32", random_half(BF16))
row("v_cvt_f32_bf16", "f32 : bf16",
    lambda c, a: unknown(32) if BF16.is_snan(a) else F32.nan() if BF16.is_nan(a) else a << 16)
row("v_cvt_pk_f16_f32", "pk : f32 f32",
    lambda c, a, b: packed(between(F32, F16)(c, a), between(F32, F16)(c, b)))


def to_brain(a):
    return convert(a, F32, Env(0xF0, F32), BF16, Env(0xF0, BF16))


row("v_cvt_pk_bf16_f32", "pk : f32 f32", lambda c, a, b: packed(to_brain(a), to_brain(b)))
