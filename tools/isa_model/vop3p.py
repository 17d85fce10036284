# SPDX-License-Identifier: MIT
"""Packed arithmetic (two results from two halves), mixed precision fma, and dot products."""

from softfloat import (BF16, F16, F32, Env, add, fma, fma_exact, from_nibbles, minimum, mul,
                       nibbles, unknown)
from state import MASK32
from valu import (clamp_float, constant, read_source, row, saturate, sign_extend)

OPS = {}


def bit(instruction, name, n, default):
    values = instruction.modifiers.get(name)
    return values[n] if values and n < len(values) else default


def packed(names, sources, function, fmt=None, integer=None):
    """`function(wave, *halves)` on the halves that op_sel and op_sel_hi choose."""

    def run(wave, i):
        for lane in wave.active():
            words = []
            for operand in i.operands[1:1 + sources]:
                if operand.kind in ("int", "float"):
                    words.append(constant(operand, "pk") & MASK32)
                else:
                    words.append(read_source(wave, operand, "b32", lane))
            results = []
            for high in (0, 1):
                halves = []
                for n, word in enumerate(words):
                    upper = bit(i, "op_sel_hi" if high else "op_sel", n, high)
                    half = word >> 16 if upper else word & 0xFFFF
                    if bit(i, "neg_hi" if high else "neg_lo", n, 0):
                        half ^= 0x8000
                    halves.append(half)
                value = function(wave, *halves)
                if fmt and i.modifiers.get("clamp"):
                    value = clamp_float(wave, fmt, value)
                elif integer:
                    value = saturate(value, integer, i.modifiers.get("clamp"))
                results.append(nibbles(value, 16))
            wave.write_vector("v", i.operands[0].index, lane,
                              from_nibbles(results[1] + results[0]))

    for name in names.split():
        OPS[name] = run


def half(function):
    return lambda wave, *sources: function(Env(wave.mode, F16), *sources)


packed("v_pk_add_f16", 2, half(add), fmt=F16)
packed("v_pk_mul_f16", 2, half(mul), fmt=F16)
packed("v_pk_fma_f16", 3, half(fma), fmt=F16)
packed("v_pk_min_f16", 2, lambda w, a, b: minimum(Env(w.mode, F16), a, b, w.ieee), fmt=F16)
packed("v_pk_max_f16", 2, lambda w, a, b: minimum(Env(w.mode, F16), a, b, w.ieee, True), fmt=F16)


def s16(x):
    return sign_extend(x, 16)


packed("v_pk_mad_i16", 3, lambda w, a, b, c: s16(a) * s16(b) + s16(c), integer="i16")
packed("v_pk_mad_u16", 3, lambda w, a, b, c: a * b + c, integer="u16")
packed("v_pk_mul_lo_u16", 2, lambda w, a, b: a * b & 0xFFFF, integer="u16")
packed("v_pk_add_i16", 2, lambda w, a, b: s16(a) + s16(b), integer="i16")
packed("v_pk_sub_i16", 2, lambda w, a, b: s16(a) - s16(b), integer="i16")
packed("v_pk_add_u16", 2, lambda w, a, b: a + b, integer="u16")
packed("v_pk_sub_u16", 2, lambda w, a, b: a - b, integer="u16")
packed("v_pk_lshlrev_b16", 2, lambda w, a, b: b << (a & 15) & 0xFFFF, integer="u16")
packed("v_pk_lshrrev_b16", 2, lambda w, a, b: b >> (a & 15), integer="u16")
packed("v_pk_ashrrev_i16", 2, lambda w, a, b: s16(b) >> (a & 15), integer="i16")
packed("v_pk_max_i16", 2, lambda w, a, b: max(s16(a), s16(b)), integer="i16")
packed("v_pk_min_i16", 2, lambda w, a, b: min(s16(a), s16(b)), integer="i16")
packed("v_pk_max_u16", 2, lambda w, a, b: max(a, b), integer="u16")
packed("v_pk_min_u16", 2, lambda w, a, b: min(a, b), integer="u16")


def packed32(names, sources, function):
    """Two f32 results from register pairs."""

    def run(wave, i):
        for lane in wave.active():
            results = []
            for high in (0, 1):
                parts = []
                for n, operand in enumerate(i.operands[1:1 + sources]):
                    upper = bit(i, "op_sel_hi" if high else "op_sel", n, high)
                    pair = read_source(wave, operand, "v2", lane)
                    part = pair >> 32 if upper else pair & MASK32
                    if bit(i, "neg_hi" if high else "neg_lo", n, 0):
                        part ^= 0x80000000
                    parts.append(part)
                value = function(Env(wave.mode, F32), *parts)
                if i.modifiers.get("clamp"):
                    value = clamp_float(wave, F32, value)
                results.append(value)
            for n in (0, 1):
                wave.write_vector("v", i.operands[0].index + n, lane, results[n])

    for name in names.split():
        OPS[name] = run


packed32("v_pk_add_f32", 2, add)
packed32("v_pk_mul_f32", 2, mul)
packed32("v_pk_fma_f32", 3, fma)


def pk_mov(wave, i):
    for lane in wave.active():
        results = []
        for n in (0, 1):
            pair = read_source(wave, i.operands[1 + n], "b64", lane)
            results.append(pair >> 32 if bit(i, "op_sel", n, 0) else pair & MASK32)
        for n in (0, 1):
            wave.write_vector("v", i.operands[0].index + n, lane, results[n])


OPS["v_pk_mov_b32"] = pk_mov


# Mixed precision: op_sel_hi says that a source is an f16, op_sel which half.
def mix_source(wave, i, n, lane):
    operand = i.operands[1 + n]
    if bit(i, "op_sel_hi", n, 0):
        if operand.kind in ("int", "float"):
            bits = constant(operand, "f16")
        else:
            bits = read_source(wave, operand, "b32", lane)
            bits = bits >> 16 if bit(i, "op_sel", n, 0) else bits & 0xFFFF
        if operand.abs:
            bits &= 0x7FFF
        if operand.neg:
            bits ^= 0x8000
        bits = Env(wave.mode, F16).read(bits)
        if F16.is_nan(bits):
            return F32.inf | F32.quiet_bit
        if F16.is_inf(bits):
            return F32.inf | (F32.sign_bit if F16.sign(bits) else 0)
        return F32.round(F16.value(bits), zero_sign=F16.sign(bits))
    bits = constant(operand, "f32") if operand.kind in ("int", "float") else read_source(
        wave, operand, "b32", lane)
    if operand.abs:
        bits &= 0x7FFFFFFF
    if operand.neg:
        bits ^= 0x80000000
    return bits


def mix(wave, i):
    half_result = i.base.endswith("f16")
    for lane in wave.active():
        sources = [mix_source(wave, i, n, lane) for n in range(3)]
        env32, env16 = Env(wave.mode, F32), Env(wave.mode, F16)
        if not half_result:
            value = fma(env32, *sources)
            if i.modifiers.get("clamp"):
                value = clamp_float(wave, F32, value)
            wave.write_vector("v", i.operands[0].index, lane, value)
            continue
        once = fma_exact(env32, F32, *sources, narrow=env16)
        first = fma(env32, *sources)
        if isinstance(first, int) and isinstance(once, int) and F32.is_finite(first):
            twice = env16.result(F32.value(first), F32.sign(first))
            if twice != once:
                once = unknown(16)  # rounded once or twice: not documented
        if i.modifiers.get("clamp"):
            once = clamp_float(wave, F16, once)
        old = nibbles(wave.vector("v", i.operands[0].index)[lane], 32)
        new = nibbles(once, 16)
        text = new + old[4:] if "hi" in i.base else old[:4] + new
        wave.write_vector("v", i.operands[0].index, lane, from_nibbles(text))


for name in ("v_fma_mix_f32", "v_fma_mixlo_f16", "v_fma_mixhi_f16"):
    OPS[name] = mix


# Dot products of integers: exact, then wrapped or clamped.
def parts(word, bits, signed):
    values = [word >> bits * n & (1 << bits) - 1 for n in range(32 // bits)]
    return [sign_extend(v, bits) for v in values] if signed else values


def dot(bits, kind):
    signed = kind == "i"

    def run(c, a, b, total):
        total = sign_extend(total, 32) if signed else total
        for x, y in zip(parts(a, bits, signed), parts(b, bits, signed)):
            total += x * y
        return saturate(total, kind + "32", c.modifiers.get("clamp"))

    return run


for bits, inner in ((16, "16"), (8, "8"), (4, "4")):
    for kind in "iu":
        name = "v_dot%d_%s32_%s%s" % (32 // bits, kind, kind, inner)
        row(name, "%s32 : pk pk u32" % kind, dot(bits, kind))
    row("v_dot%dc_i32_i%s" % (32 // bits, inner), "i32 : pk pk",
        lambda c, a, b, f=dot(bits, "i"): f(c, a, b, c.old))


# Dot products of floats: the order of the sums is not documented, so only what does not depend on
# it is fixed: exact results, and NaNs.
def dot2_float(c, a, b, total, fmt):
    values = []
    for n in (0, 1):
        x, y = a >> 16 * n & 0xFFFF, b >> 16 * n & 0xFFFF
        if bit(c.instruction, "neg_hi" if n else "neg_lo", 0, 0):
            x ^= 0x8000
        if bit(c.instruction, "neg_hi" if n else "neg_lo", 1, 0):
            y ^= 0x8000
        values.append((x, y))
    if F32.is_nan(total) or any(fmt.is_nan(x) or fmt.is_nan(y) for x, y in values):
        return F32.nan()
    if any(fmt.is_inf(v) for p in values for v in p) or F32.is_inf(total):
        return unknown(32)
    if any(fmt.is_denormal(v) for p in values for v in p) or F32.is_denormal(total):
        return unknown(32)
    exact = F32.value(total) + sum(fmt.value(x) * fmt.value(y) for x, y in values)
    partial = [fmt.value(x) * fmt.value(y) for x, y in values]
    result = F32.round(exact)
    steps = partial + [partial[0] + partial[1], F32.value(total) + partial[0],
                       F32.value(total) + partial[1], exact]
    if any(s != 0 and F32.value(F32.round(s)) != s for s in steps) or exact == 0:
        return unknown(32)
    if F32.is_denormal(result):
        return unknown(32)
    if c.modifiers.get("clamp"):
        return clamp_float(c.wave, F32, result)
    return result


for name, fmt in (("f16", F16), ("bf16", BF16)):
    row("v_dot2_f32_" + name, "b32 : pk pk b32",
        lambda c, a, b, d, f=fmt: dot2_float(c, a, b, d, f))
    row("v_dot2c_f32_" + name, "b32 : pk pk", lambda c, a, b, f=fmt: dot2_float(c, a, b, c.old, f))


def pk_fmac(c, a, b):
    env = Env(c.wave.mode, F16)
    results = [nibbles(fma(env, a >> 16 * n & 0xFFFF, b >> 16 * n & 0xFFFF,
                           c.old >> 16 * n & 0xFFFF), 16) for n in (0, 1)]
    return from_nibbles(results[1] + results[0])


row("v_pk_fmac_f16", "pk : pk pk", pk_fmac)
