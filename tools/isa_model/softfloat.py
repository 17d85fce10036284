# SPDX-License-Identifier: MIT
"""Exact floating point for the reference model: every finite number is a Fraction, so an operation
is computed exactly and rounded once. Nothing here uses the host's floating point.

A result whose bits the architecture does not fix (the payload of a NaN that an operation makes)
is a Pattern instead of an int; state.py and golden.py know how to carry and print one."""

import functools
from fractions import Fraction

RNE, RTP, RTN, RTZ = 0, 1, 2, 3  # the encodings of MODE.FP_ROUND


class Format:
    """A binary interchange format. `fnuz`: no infinities, no -0, NaN is 0x80 (gfx942's 8 bit).
    `top` of those without infinities: "nan" if all ones is one (OCP's E4M3), "finite" if not even
    that (E2M3, E3M2, E2M1)."""

    def __init__(self, name, width, exponent_bits, mantissa_bits, nan_char, fnuz=False,
                 top="ieee"):
        self.name = name
        self.width = width
        self.ebits = exponent_bits
        self.mbits = mantissa_bits
        self.bias = (1 << (exponent_bits - 1)) - 1 + (1 if fnuz else 0)
        self.unit = self.bias + mantissa_bits - 1  # the smallest denormal is 2^-unit
        self.fnuz = fnuz
        self.sign_bit = 1 << (width - 1)
        self.emask = (1 << exponent_bits) - 1
        self.mmask = (1 << mantissa_bits) - 1
        self.inf = self.emask << mantissa_bits
        self.quiet_bit = 1 << (mantissa_bits - 1)
        self.top = "fnuz" if fnuz else top
        self.max_finite = {"ieee": self.inf - 1, "nan": self.sign_bit - 2}.get(
            self.top, self.sign_bit - 1)
        self.nan_char = nan_char

    def is_nan(self, bits):
        if self.fnuz:
            return bits == self.sign_bit
        return (bits & ~self.sign_bit) > max(self.inf, self.max_finite)

    def is_snan(self, bits):
        return self.is_nan(bits) and not self.fnuz and not bits & self.quiet_bit

    def is_inf(self, bits):
        return self.top == "ieee" and (bits & ~self.sign_bit) == self.inf

    def is_zero(self, bits):
        return not self.is_nan(bits) and (bits & ~self.sign_bit) == 0

    def is_denormal(self, bits):
        return not bits & self.inf and bool(bits & self.mmask)

    def is_finite(self, bits):
        return not self.is_nan(bits) and not self.is_inf(bits)

    def sign(self, bits):
        return 1 if bits & self.sign_bit else 0

    def exponent(self, bits):
        return bits >> self.mbits & self.emask

    @functools.lru_cache(None)
    def value(self, bits):
        """The finite number that `bits` stand for, with its sign (both zeros are 0)."""
        return Fraction(self.smallest_numbers(bits), 1 << self.unit)

    def smallest_numbers(self, bits):
        """The same as a count of the smallest denormal, 2^-unit."""
        assert self.is_finite(bits), hex(bits)
        e, m = self.exponent(bits), bits & self.mmask
        if e:
            m = (m | 1 << self.mbits) << e - 1
        return -m if bits & self.sign_bit else m

    def quiet(self, bits):
        return bits | self.quiet_bit

    def round(self, value, rounding=RNE, zero_sign=0):
        """The bits nearest to a Fraction; `zero_sign` is the sign of an exact zero."""
        if value == 0:
            return self.sign_bit if zero_sign and not self.fnuz else 0
        sign = 1 if value < 0 else 0
        # In whole numbers: Fractions would cancel again and again.
        numerator, denominator = abs(value.numerator), value.denominator
        exponent = numerator.bit_length() - denominator.bit_length()
        if numerator << max(-exponent, 0) < denominator << max(exponent, 0):
            exponent -= 1
        quantum = max(exponent, 1 - self.bias) - self.mbits
        denominator <<= max(quantum, 0)
        n, rest = divmod(numerator << max(-quantum, 0), denominator)
        if rest:
            half = 2 * rest - denominator
            if rounding == RNE:
                up = half > 0 or (half == 0 and n & 1)
            elif rounding == RTP:
                up = not sign
            elif rounding == RTN:
                up = bool(sign)
            else:
                up = False
            n += up
        if n >> self.mbits:
            bits = ((quantum + self.mbits + self.bias) << self.mbits) + n - (1 << self.mbits)
        else:
            bits = n
        if bits > self.max_finite:
            if self.fnuz:
                return self.sign_bit
            if self.top != "ieee":
                return min(self.max_finite + 1, self.sign_bit - 1) | (self.sign_bit if sign else 0)
            away = rounding == RNE or (rounding == RTP and not sign) or (rounding == RTN and sign)
            bits = self.inf if away else self.max_finite
        if self.fnuz and bits == 0:
            return 0
        return bits | (self.sign_bit if sign else 0)

    def nan(self):
        """Any quiet NaN."""
        return Pattern(self.nan_char * (self.width // 4) if self.width < 64 else "m" * 8 + "?" * 8)


class Pattern:
    """Bits that are only partly fixed. One character per nibble, the highest first: a hexadecimal
    digit, `?` for anything, and runs that stand for any quiet NaN: `n` (f16: 4), `w` (bf16: 4),
    `N` (f32: 8), `m` (upper half of an f64: 8)."""

    def __init__(self, text):
        self.text = text

    def __eq__(self, other):
        return isinstance(other, Pattern) and self.text == other.text

    def __hash__(self):
        return hash(self.text)

    def __repr__(self):
        return "Pattern(%s)" % self.text


F16 = Format("f16", 16, 5, 10, "n")
F32 = Format("f32", 32, 8, 23, "N")
F64 = Format("f64", 64, 11, 52, "m")
BF16 = Format("bf16", 16, 8, 7, "w")
FP8 = Format("fp8", 8, 4, 3, "?", fnuz=True)
BF8 = Format("bf8", 8, 5, 2, "?", fnuz=True)
# Of the Open Compute Project, as gfx950 has them.
OCP = {"fp8": Format("fp8", 8, 4, 3, "?", top="nan"), "bf8": Format("bf8", 8, 5, 2, "?"),
       "fp6": Format("fp6", 6, 2, 3, "?", top="finite"),
       "bf6": Format("bf6", 6, 3, 2, "?", top="finite"),
       "fp4": Format("fp4", 4, 2, 1, "?", top="finite")}
XF32 = Format("xf32", 19, 8, 10, "?")


@functools.lru_cache(None)
def pow2(n):
    return Fraction(1 << n) if n >= 0 else Fraction(1, 1 << -n)


def nibbles(value, width):
    """`value`, an int or a Pattern, as width/4 characters."""
    if isinstance(value, Pattern):
        assert len(value.text) == width // 4, value
        return value.text
    return "%0*x" % (width // 4, value & ((1 << width) - 1))


def from_nibbles(text):
    try:
        return int(text, 16)
    except ValueError:
        return Pattern(text)


def unknown(width):
    return Pattern("?" * (width // 4))


class Env:
    """How MODE shapes an operation in one format: rounding, denormals kept on input and output."""

    def __init__(self, mode, fmt):
        low = fmt is F32 or fmt is BF16
        self.fmt = fmt
        self.rounding = mode & 3 if low else mode >> 2 & 3
        denormals = mode >> 4 & 3 if low else mode >> 6 & 3
        self.keep_in = bool(denormals & 1)
        self.keep_out = bool(denormals & 2)

    def read(self, bits):
        if not self.keep_in and self.fmt.is_denormal(bits):
            return bits & self.fmt.sign_bit
        return bits

    def write(self, bits):
        if not self.keep_out and self.fmt.is_denormal(bits):
            return bits & self.fmt.sign_bit
        return bits

    def result(self, value, zero_sign=0):
        return self.write(self.fmt.round(value, self.rounding, zero_sign))


def add(env, a, b):
    f = env.fmt
    a, b = env.read(a), env.read(b)
    if f.is_nan(a) or f.is_nan(b):
        return f.nan()
    if f.is_inf(a) or f.is_inf(b):
        if f.is_inf(a) and f.is_inf(b) and a != b:
            return f.nan()
        return a if f.is_inf(a) else b
    total = f.value(a) + f.value(b)
    both_zero = f.is_zero(a) and f.is_zero(b)
    return env.result(total, sum_zero_sign(env, both_zero, f.sign(a), f.sign(b)))


def sum_zero_sign(env, both_zero, sign_a, sign_b):
    if both_zero and sign_a == sign_b:
        return sign_a
    return 1 if env.rounding == RTN else 0


def sub(env, a, b):
    return add(env, a, b ^ env.fmt.sign_bit)


def mul(env, a, b):
    f = env.fmt
    a, b = env.read(a), env.read(b)
    sign = f.sign(a) ^ f.sign(b)
    if f.is_nan(a) or f.is_nan(b):
        return f.nan()
    if f.is_inf(a) or f.is_inf(b):
        if f.is_zero(a) or f.is_zero(b):
            return f.nan()
        return f.inf | (f.sign_bit if sign else 0)
    return env.result(f.value(a) * f.value(b), sign)


def fma(env, a, b, c):
    return fma_exact(env, env.fmt, a, b, c)


def fma_exact(env, wide, a, b, c, narrow=None):
    """fma in `wide`; `narrow`, an Env, is where the single rounding goes (fma_mixlo)."""
    f = wide
    out = narrow or env
    a, b, c = env.read(a), env.read(b), env.read(c)
    product_sign = f.sign(a) ^ f.sign(b)
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return out.fmt.nan()
    if f.is_inf(a) or f.is_inf(b):
        if f.is_zero(a) or f.is_zero(b) or (f.is_inf(c) and f.sign(c) != product_sign):
            return out.fmt.nan()
        return out.fmt.inf | (out.fmt.sign_bit if product_sign else 0)
    if f.is_inf(c):
        return out.fmt.inf | (out.fmt.sign_bit if f.sign(c) else 0)
    product = f.value(a) * f.value(b)
    total = product + f.value(c)
    return out.result(total, sum_zero_sign(out, product == 0 and f.is_zero(c), product_sign,
                                           f.sign(c)))


def mad(env, a, b, c):
    """Product rounded, then sum rounded. These units flush denormals whatever MODE says or keep
    them, depending on the chip: such lanes are not fixed."""
    f = env.fmt
    product = mul(env, a, b)
    if isinstance(product, Pattern):
        return product
    total = add(env, product, c)
    if any(f.is_denormal(x) for x in (a, b, c, product)) or (
            not isinstance(total, Pattern) and f.is_denormal(total)):
        return unknown(f.width)
    return total


def convert(bits, source, env_in, target, env_out):
    bits = env_in.read(bits)
    if source.is_nan(bits):
        return target.nan() if not target.fnuz else target.sign_bit
    if source.is_inf(bits):
        if target.fnuz:
            return target.sign_bit
        return target.inf | (target.sign_bit if source.sign(bits) else 0)
    return env_out.result(source.value(bits), source.sign(bits))


def compare(env, a, b):
    """-1, 0 or 1; None if unordered."""
    f = env.fmt
    a, b = env.read(a), env.read(b)
    if f.is_nan(a) or f.is_nan(b):
        return None
    x, y = ordered(f, a), ordered(f, b)
    return (x > y) - (x < y)


def ordered(f, bits):
    """A number that orders like the float, infinities included."""
    if f.is_inf(bits):
        return pow2(20000) * (-1 if f.sign(bits) else 1)
    return f.value(bits)


def minimum(env, a, b, ieee, want_max=False):
    """v_min and v_max: -0 < +0, a NaN loses, but a signalling one wins (quieted) if MODE.IEEE."""
    f = env.fmt
    a, b = env.read(a), env.read(b)
    if ieee and (f.is_snan(a) or f.is_snan(b)):
        return f.nan()
    if f.is_nan(a) and f.is_nan(b):
        return f.nan() if ieee else unknown_nan(f)
    if f.is_nan(a):
        return env.write(b)
    if f.is_nan(b):
        return env.write(a)
    x, y = (ordered(f, a), 0 if f.sign(a) else 1), (ordered(f, b), 0 if f.sign(b) else 1)
    a_first = x > y if want_max else x < y
    return env.write(a if a_first else b)


def unknown_nan(f):
    """A NaN that may still be signalling: without MODE.IEEE a chip may or may not quiet it."""
    return unknown(f.width)


def integer_part(value, how):
    """floor, ceil, trunc or even of a Fraction, as an int."""
    lower = value.numerator // value.denominator
    if how == "floor":
        return lower
    if how == "ceil":
        return -((-value).numerator // value.denominator)
    if how == "trunc":
        return lower if value >= 0 else -((-value).numerator // value.denominator)
    rest = value - lower
    if rest > Fraction(1, 2) or (rest == Fraction(1, 2) and lower & 1):
        return lower + 1
    return lower
