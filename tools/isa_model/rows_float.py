# SPDX-License-Identifier: MIT
"""Floating point vector operations that are exact but for one rounding, the division helpers,
compares, and the functions that hardware only approximates."""

import math
from fractions import Fraction

import softfloat
from softfloat import (F16, F32, F64, Pattern, add, compare, fma, integer_part, mad, minimum, mul,
                       pow2, sub, unknown)
from valu import fraction, row, sign_extend

FORMATS = {"f16": F16, "f32": F32, "f64": F64}


def on(fmt, function):
    """A row function that gets the environment of its format first."""
    return lambda c, *sources: function(c.env(fmt), *sources)


def types(kind, sources):
    return kind + " : " + " ".join([kind] * sources)


for kind, fmt in FORMATS.items():
    row("v_add_" + kind, types(kind, 2), on(fmt, add))
    row("v_mul_" + kind, types(kind, 2), on(fmt, mul))
    row("v_fma_" + kind, types(kind, 3), on(fmt, fma), high="?")
    row("v_fmac_" + kind, types(kind, 2), lambda c, a, b, f=fmt: fma(
        c.env(f), a, b, c.old & (1 << f.width) - 1), high="keep")
    row("v_max_" + kind, types(kind, 2),
        lambda c, a, b, f=fmt: minimum(c.env(f), a, b, c.ieee, True))
    row("v_min_" + kind, types(kind, 2),
        lambda c, a, b, f=fmt: minimum(c.env(f), a, b, c.ieee))
for kind in ("f16", "f32"):
    fmt = FORMATS[kind]
    row("v_sub_" + kind, types(kind, 2), on(fmt, sub))
    row("v_subrev_" + kind, types(kind, 2), on(fmt, lambda e, a, b: sub(e, b, a)))
    row("v_fmamk_" + kind, types(kind, 3), on(fmt, fma), high="keep")
    row("v_fmaak_" + kind, types(kind, 3), on(fmt, fma), high="keep")
# gfx9's 16 bit mads: compilers and documents differ on the upper half.
row("v_mac_f16", "f16 : f16 f16",
    lambda c, a, b: mad(c.env(F16), a, b, c.old & 0xFFFF), high="?")
row("v_madmk_f16 v_madak_f16", "f16 : f16 f16 f16", on(F16, mad), high="?")
row("v_mad_f16", "f16 : f16 f16 f16", on(F16, mad), high="?")
row("v_mac_f32", "f32 : f32 f32", lambda c, a, b: mad(c.env(F32), a, b, c.old))
row("v_mad_f32 v_madmk_f32 v_madak_f32", "f32 : f32 f32 f32", on(F32, mad))
row("v_mad_legacy_f16", "f16 : f16 f16 f16", on(F16, mad))
row("v_fma_legacy_f16", "f16 : f16 f16 f16", on(F16, fma))


def legacy(env, a, b):
    return F32.is_zero(env.read(a)) or F32.is_zero(env.read(b))


row("v_mul_legacy_f32", "f32 : f32 f32",
    lambda c, a, b: 0 if legacy(c.env(F32), a, b) else mul(c.env(F32), a, b))
row("v_fma_legacy_f32", "f32 : f32 f32 f32",
    lambda c, a, b, d: fma_legacy(c.env(F32), a, b, d))
row("v_mad_legacy_f32", "f32 : f32 f32 f32",
    lambda c, a, b, d: mad_legacy(c.env(F32), a, b, d))
row("v_fmac_legacy_f32", "f32 : f32 f32", lambda c, a, b: fma_legacy(c.env(F32), a, b, c.old))


def mad_legacy(env, a, b, c):
    if any(F32.is_denormal(x) for x in (a, b, c)):
        return unknown(32)
    return add(env, 0, c) if legacy(env, a, b) else mad(env, a, b, c)


def fma_legacy(env, a, b, c):
    if legacy(env, a, b):
        return fma(env, 0, 0, c) if not F32.is_zero(c) else unknown(32)  # the sign of 0 + -0
    return fma(env, a, b, c)


# Three operands: minimum and maximum apply the two-operand rule twice.
def chain(want_max):
    def run(c, x, y, z, f=None):
        env = c.env(f)
        first = minimum(env, x, y, c.ieee, want_max)
        if isinstance(first, Pattern):
            # A NaN whose bits are not fixed: quiet if IEEE, and then the third operand wins.
            if c.ieee:
                first = f.inf | f.quiet_bit
                if f.is_nan(z):
                    return f.nan()
            elif f.is_nan(z):
                return unknown(f.width)
            else:
                first = f.inf | f.quiet_bit
        return minimum(env, first, z, c.ieee, want_max)

    return run


def median(c, x, y, z, f=None):
    if any(f.is_nan(v) for v in (x, y, z)):
        return chain(False)(c, x, y, z, f=f)
    env = c.env(f)
    x, y, z = env.read(x), env.read(y), env.read(z)
    ranked = sorted((x, y, z), key=lambda v: softfloat.ordered(f, v))
    # With zeros of both signs among equals the choice depends on the order of compares.
    if f.is_zero(ranked[1]) and sum(f.is_zero(v) for v in (x, y, z)) > 1:
        return unknown(f.width)
    return env.write(ranked[1])


for kind in ("f16", "f32"):
    fmt = FORMATS[kind]
    for name, function in (("min3", chain(False)), ("max3", chain(True)), ("med3", median)):
        row("v_%s_%s" % (name, kind), types(kind, 3),
            lambda c, x, y, z, g=function, f=fmt: g(c, x, y, z, f=f), high="?")


# Parts of numbers.
def to_integral(how):
    def run(env, a):
        f = env.fmt
        a = env.read(a)
        if f.is_nan(a):
            return f.nan()
        if f.is_inf(a) or f.is_zero(a):
            return a
        return f.round(Fraction(integer_part(f.value(a), how)), zero_sign=f.sign(a))

    return run


def fract(env, a):
    """x - floor(x), always below one."""
    f = env.fmt
    a = env.read(a)
    if f.is_nan(a) or f.is_inf(a):
        return f.nan()
    if f.is_zero(a):
        return 0 if not f.sign(a) else unknown(f.width)
    value = f.value(a)
    rest = value - integer_part(value, "floor")
    if rest == 0:
        return 0
    result = env.result(rest)
    if isinstance(result, int) and f.value(result) >= 1:
        # Documents before gfx9 said "1 - ulp"; newer ones give only the formula.
        return unknown(f.width)
    return result


def frexp_exp(f, a, env):
    if not f.is_finite(a) or f.is_zero(a):
        return 0
    if f.is_denormal(a) and not env.keep_in:
        return None
    value = abs(f.value(a))
    n = value.numerator.bit_length() - value.denominator.bit_length()
    return n + 1 if value >= pow2(n) else n


def frexp_mant(env, a):
    f = env.fmt
    a = env.read(a)
    if f.is_nan(a):
        return unknown(f.width) if f.is_snan(a) else f.nan()
    if f.is_inf(a) or f.is_zero(a):
        return a
    return f.round(f.value(a) * pow2(-frexp_exp(f, a, softfloat.Env(0xF0, f))))


def ldexp(env, a, exponent):
    f = env.fmt
    a = env.read(a)
    if f.is_nan(a):
        return f.nan()
    if f.is_inf(a) or f.is_zero(a):
        return a
    exponent = max(-5000, min(5000, exponent))
    return env.result(f.value(a) * pow2(exponent))


for kind, fmt in FORMATS.items():
    for name, how in (("floor", "floor"), ("ceil", "ceil"), ("trunc", "trunc"), ("rndne", "even")):
        row("v_%s_%s" % (name, kind), types(kind, 1), on(fmt, to_integral(how)))
    row("v_fract_" + kind, types(kind, 1), on(fmt, fract))
    row("v_frexp_mant_" + kind, types(kind, 1), on(fmt, frexp_mant))
row("v_frexp_exp_i32_f32", "u32 : f32", lambda c, a: frexp_exp(F32, a, c.env(F32)) & 0xFFFFFFFF)
row("v_frexp_exp_i32_f64", "u32 : f64", lambda c, a: frexp_exp(F64, a, c.env(F64)) & 0xFFFFFFFF)
row("v_frexp_exp_i16_f16", "u16 : f16", lambda c, a: frexp_exp(F16, a, c.env(F16)) & 0xFFFF)
row("v_ldexp_f32", "f32 : f32 i32", lambda c, a, n: ldexp(c.env(F32), a, sign_extend(n, 32)))
row("v_ldexp_f64", "f64 : f64 i32", lambda c, a, n: ldexp(c.env(F64), a, sign_extend(n, 32)))
row("v_ldexp_f16", "f16 : f16 i16", lambda c, a, n: ldexp(c.env(F16), a, sign_extend(n, 16)))


# Division.
def div_scale(fmt, near, step, tiny):
    """Scales numerator or denominator so that the iteration neither over- nor underflows; the
    lane's bit says that div_fmas must scale back."""

    def run(c, s0, s1, s2):
        f = fmt
        if any(f.is_nan(x) for x in (s0, s1, s2)):
            return unknown(f.width), None
        if f.is_zero(s1) or f.is_zero(s2):
            return f.nan(), 0
        if any(f.is_inf(x) for x in (s0, s1, s2)):
            return unknown(f.width), None

        def scaled(n):
            return f.round(f.value(s0) * pow2(n))

        same_denominator = f.value(s0) == f.value(s1)
        same_numerator = f.value(s0) == f.value(s2)
        inverse_tiny = abs(1 / f.value(s1)) < pow2(1 - f.bias)
        quotient_tiny = abs(f.value(s2) / f.value(s1)) < pow2(1 - f.bias)
        if f.exponent(s2) - f.exponent(s1) >= near:
            return (scaled(step) if same_denominator else s0), 1
        if f.is_denormal(s1):
            return scaled(step), 0
        if inverse_tiny and quotient_tiny:
            # Documents print +step here, which would overflow; only -step gives a quotient.
            return (scaled(-step) if same_denominator else s0), 1
        if inverse_tiny:
            return scaled(-step), 0
        if quotient_tiny:
            return (scaled(step) if same_numerator else s0), 1
        if f.exponent(s2) <= tiny:
            return scaled(step), 0
        return s0, 0

    return run


def div_fmas(fmt, scale):
    """Undoes what div_scale did: up if the quotient is large, down if it is small. Older documents
    print one constant factor, with which the compiler's division would be wrong; the cases of
    whole divisions in cases_float.py show that this one is right."""

    def run(c, a, b, d):
        env = c.env(fmt)
        result = fma(env, a, b, d)
        if not c.wave.read_mask(106) >> c.lane & 1 or isinstance(result, Pattern):
            return result
        if not all(fmt.is_finite(x) for x in (a, b, d)):
            return result
        exact = fmt.value(env.read(a)) * fmt.value(env.read(b)) + fmt.value(env.read(d))
        if exact == 0:
            return result
        exponent = scale if fmt.exponent(d) > fmt.bias else -scale
        once = env.result(exact * pow2(exponent))
        twice = (env.result(fmt.value(result) * pow2(exponent)) if fmt.is_finite(result) else None)
        return once if once == twice else unknown(fmt.width)

    return run


def div_fixup(fmt, underflow):
    def run(c, s0, s1, s2):
        f = fmt
        sign = f.sign_bit if f.sign(s1) ^ f.sign(s2) else 0
        if f.is_nan(s2) or f.is_nan(s1):
            return f.nan()
        if (f.is_zero(s1) and f.is_zero(s2)) or (f.is_inf(s1) and f.is_inf(s2)):
            return f.nan()
        if f.is_zero(s1) or f.is_inf(s2):
            return f.inf | sign
        if f.is_inf(s1) or f.is_zero(s2):
            return sign
        if underflow and f.exponent(s2) - f.exponent(s1) < -underflow:
            return unknown(f.width)
        if f.is_nan(s0):
            return unknown(f.width)
        return s0 & ~f.sign_bit | sign

    return run


row("v_div_scale_f32", "f32 mask : f32 f32 f32", div_scale(F32, 96, 64, 23))
row("v_div_scale_f64", "f64 mask : f64 f64 f64", div_scale(F64, 768, 128, 53))
row("v_div_fmas_f32", "f32 : f32 f32 f32", div_fmas(F32, 64))
row("v_div_fmas_f64", "f64 : f64 f64 f64", div_fmas(F64, 128))
row("v_div_fixup_f32", "f32 : f32 f32 f32", div_fixup(F32, 150))
row("v_div_fixup_f64", "f64 : f64 f64 f64", div_fixup(F64, 1075))
row("v_div_fixup_f16", "f16 : f16 f16 f16", div_fixup(F16, 0), high="?")
row("v_div_fixup_legacy_f16", "f16 : f16 f16 f16", div_fixup(F16, 0))


# Compares.
TESTS = {"f": lambda r: False, "lt": lambda r: r == -1, "eq": lambda r: r == 0,
         "le": lambda r: r in (-1, 0), "gt": lambda r: r == 1, "lg": lambda r: r in (-1, 1),
         "ge": lambda r: r in (0, 1), "o": lambda r: r is not None, "u": lambda r: r is None,
         "nge": lambda r: r not in (0, 1), "nlg": lambda r: r not in (-1, 1),
         "ngt": lambda r: r != 1, "nle": lambda r: r not in (-1, 0), "neq": lambda r: r != 0,
         "nlt": lambda r: r != -1, "tru": lambda r: True}


def class_bit(f, a):
    if f.is_snan(a):
        return 0
    if f.is_nan(a):
        return 1
    if f.is_inf(a):
        return 2 if f.sign(a) else 9
    if f.is_zero(a):
        return 5 if f.sign(a) else 6
    if f.is_denormal(a):
        return 4 if f.sign(a) else 7
    return 3 if f.sign(a) else 8


def compare_rows():
    for kind, fmt in FORMATS.items():
        for name, test in TESTS.items():
            def run(c, a, b, test=test, fmt=fmt):
                return int(test(compare(c.env(fmt), a, b)))

            for prefix, flags in (("v_cmp_", {}), ("v_cmpx_", {"write_exec": True})):
                row("%s%s_%s" % (prefix, name, kind), "mask : %s %s" % (kind, kind), run,
                    compare=True, **flags)

        def run_class(c, a, mask, fmt=fmt):
            return mask >> class_bit(fmt, a) & 1

        second = "b16" if kind == "f16" else "b32"
        for prefix, flags in (("v_cmp_", {}), ("v_cmpx_", {"write_exec": True})):
            row("%sclass_%s" % (prefix, kind), "mask : %s %s" % (kind, second), run_class,
                compare=True, **flags)


compare_rows()


# Functions that hardware approximates. The golden value is the correctly rounded one (from doubles,
# which is close enough for the tolerance); the tolerance stands in the file. Denormal arguments and
# results are not fixed: hardware flushes them for most of these.
def approximate(fmt, function):
    def run(c, a):
        f = fmt
        if f.is_denormal(a):
            return unknown(f.width)
        result = function(f, a)
        if isinstance(result, int) and f.is_denormal(result):
            return unknown(f.width)
        return result

    return run


def as_float(f, a):
    if f.is_inf(a):
        return -math.inf if f.sign(a) else math.inf
    return float(f.value(a))


def from_float(f, x):
    if math.isinf(x):
        return f.inf | (f.sign_bit if x < 0 else 0)
    return f.round(fraction(x), zero_sign=int(math.copysign(1, x) < 0))


def reciprocal(f, a):
    if f.is_nan(a):
        return f.nan()
    sign = a & f.sign_bit
    if f.is_zero(a):
        return f.inf | sign
    if f.is_inf(a):
        return sign
    return f.round(1 / f.value(a))


def square_root(f, a):
    if f.is_nan(a) or (f.sign(a) and not f.is_zero(a)):
        return f.nan()
    if f.is_zero(a) or f.is_inf(a):
        return a
    return f.round(exact_root(f.value(a)))


def exact_root(value):
    """The root as a Fraction, close enough to round it in any format."""
    shift = 1200
    n = value.numerator << 2 * shift
    root = math.isqrt(n // value.denominator)
    return Fraction(root, 1 << shift)


def reciprocal_root(f, a):
    if f.is_nan(a) or (f.sign(a) and not f.is_zero(a)):
        return f.nan()
    if f.is_zero(a):
        return f.inf | (a & f.sign_bit)
    if f.is_inf(a):
        return 0
    return f.round(1 / exact_root(f.value(a)))


def exp2(f, a):
    if f.is_nan(a):
        return f.nan()
    if f.is_inf(a):
        return 0 if f.sign(a) else a
    x = as_float(f, a)
    limit = 1 << f.ebits
    if x > limit:
        return f.inf
    if x < -limit:
        return 0
    return f.round(fraction(math.pow(2.0, x)))


def log2(f, a):
    if f.is_nan(a) or (f.sign(a) and not f.is_zero(a)):
        return f.nan()
    if f.is_zero(a):
        return f.inf | f.sign_bit
    if f.is_inf(a):
        return a
    return from_float(f, math.log2(as_float(f, a)))


def turns(function, limit):
    """sin and cos of 2 pi x. Far from zero hardware clamps its range: not fixed there."""

    def run(f, a):
        if f.is_nan(a) or f.is_inf(a):
            return f.nan()
        value = f.value(a)
        if abs(value) > limit:
            return unknown(f.width)
        rest = value - integer_part(value, "even")
        exact = {Fraction(0): (0.0, 1.0), Fraction(1, 4): (1.0, 0.0), Fraction(-1, 4): (-1.0, 0.0),
                 Fraction(1, 2): (0.0, -1.0), Fraction(-1, 2): (0.0, -1.0)}.get(rest)
        if exact:
            return from_float(f, exact[function is math.cos])
        return from_float(f, function(2 * math.pi * float(rest)))

    return run


APPROXIMATE = {"rcp": reciprocal, "sqrt": square_root, "rsq": reciprocal_root, "exp": exp2,
               "log": log2}
for kind in ("f16", "f32"):
    fmt = FORMATS[kind]
    for name, function in APPROXIMATE.items():
        row("v_%s_%s" % (name, kind), types(kind, 1), approximate(fmt, function), ulp=(kind, 1))
    # An absolute error: the file gives it as a power of two.
    row("v_sin_" + kind, types(kind, 1), approximate(fmt, turns(math.sin, 256)),
        ulp=(kind, "abs-%d" % (20 if kind == "f32" else 9)))
    row("v_cos_" + kind, types(kind, 1), approximate(fmt, turns(math.cos, 256)),
        ulp=(kind, "abs-%d" % (20 if kind == "f32" else 9)))
row("v_exp_legacy_f32", "f32 : f32", approximate(F32, exp2), ulp=("f32", 1))
row("v_log_legacy_f32", "f32 : f32", approximate(F32, log2), ulp=("f32", 1))
row("v_rcp_iflag_f32", "f32 : f32", approximate(F32, reciprocal), ulp=("f32", 1))
# The 64 bit ones are only a start for an iteration: 2^29 ulp is about one part in 10^7.
for name in ("rcp", "sqrt", "rsq"):
    row("v_%s_f64" % name, "f64 : f64", approximate(F64, APPROXIMATE[name]),
        ulp=("f64", 1 << 29))


# Cube maps (integers and signs only in the inputs, so nothing rounds).
def face(c, x, y, z):
    f = F32
    ax, ay, az = (softfloat.ordered(f, v & ~f.sign_bit) for v in (x, y, z))
    if az >= ax and az >= ay:
        return "z"
    return "y" if ay >= ax else "x"


def cube(pick):
    def run(c, x, y, z):
        if any(F32.is_nan(v) for v in (x, y, z)):
            return unknown(32)
        return pick(c.env(F32), face(c, x, y, z), x, y, z)

    return run


def negative(v):
    """v < 0: neither for -0."""
    return F32.sign(v) and not F32.is_zero(v)


def cube_id(env, axis, x, y, z):
    value = {"x": x, "y": y, "z": z}[axis]
    base = {"x": 0, "y": 2, "z": 4}[axis]
    return F32.round(Fraction(base + (1 if negative(value) else 0)))


def cube_sc(env, axis, x, y, z):
    if axis == "z":
        return x ^ F32.sign_bit if negative(z) else x
    if axis == "y":
        return x
    return z if negative(x) else z ^ F32.sign_bit


def cube_tc(env, axis, x, y, z):
    if axis == "y":
        return z ^ F32.sign_bit if negative(y) else z
    return y ^ F32.sign_bit


def cube_ma(env, axis, x, y, z):
    return mul(env, {"x": x, "y": y, "z": z}[axis], 0x40000000)


for name, function in (("id", cube_id), ("sc", cube_sc), ("tc", cube_tc), ("ma", cube_ma)):
    row("v_cube%s_f32" % name, "f32 : f32 f32 f32", cube(function))


# Rare ones.
def mullit(c, a, b, d):
    lowest = F32.max_finite | F32.sign_bit
    if F32.is_nan(b) or b in (lowest, F32.inf | F32.sign_bit):
        return lowest
    if F32.is_nan(d) or F32.is_zero(d) or F32.sign(d):
        return lowest
    if F32.is_zero(a) or F32.is_zero(b):
        return unknown(32)  # whether 0 * inf is 0, as in other instructions of that age
    return mul(c.env(F32), a, b)


row("v_mullit_f32", "f32 : f32 f32 f32", mullit)


def two_over_pi(bits):
    """2/pi as an integer, scaled by 2^bits: pi from Machin's formula."""
    guard = bits + 100

    def arctan(n):
        total, term, k = 0, (1 << guard) // n, 1
        while term:
            total += term // k if k % 4 == 1 else -(term // k)
            term //= n * n
            k += 2
        return total

    pi = 4 * (4 * arctan(5) - arctan(239))
    return (2 << guard + bits) // pi


TWO_OVER_PI = two_over_pi(1201)


def trig_preop(c, a, n):
    """The part of 2/pi that matters for reducing a large angle: 53 bits, the n-th group."""
    if not F64.is_finite(a):
        return unknown(64)
    exponent = F64.exponent(a)
    shift = (n & 31) * 53 + max(0, exponent - 1077)
    if shift > 1201 - 53:
        return unknown(64)
    group = TWO_OVER_PI >> 1201 - 53 - shift & (1 << 53) - 1
    return F64.round(Fraction(group) * pow2(-53 - shift + (128 if exponent >= 1968 else 0)))


row("v_trig_preop_f64", "f64 : f64 u32", trig_preop)
