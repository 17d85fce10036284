# SPDX-License-Identifier: MIT
"""What a memory atomic does to the old value. Floats: only cases whose result every rounding and
denormal rule agrees on are used, so plain arithmetic in the default environment is enough."""

from softfloat import (BF16, F16, F32, F64, Env, add, compare, from_nibbles, nibbles, unknown)
from valu import sign_extend


def smaller(bits, a, b):
    return a if sign_extend(a, bits) < sign_extend(b, bits) else b


def larger(bits, a, b):
    return a if sign_extend(a, bits) >= sign_extend(b, bits) else b


def wrap(bits, x):
    return x & (1 << bits) - 1


# name -> function(bits, old, data)
INTEGER = {
    "add": lambda n, old, x: wrap(n, old + x),
    "sub": lambda n, old, x: wrap(n, old - x),
    "rsub": lambda n, old, x: wrap(n, x - old),
    "smin": lambda n, old, x: smaller(n, x, old),
    "smax": lambda n, old, x: larger(n, x, old),
    "umin": lambda n, old, x: min(old, x),
    "umax": lambda n, old, x: max(old, x),
    "and": lambda n, old, x: old & x,
    "or": lambda n, old, x: old | x,
    "xor": lambda n, old, x: old ^ x,
    "inc": lambda n, old, x: 0 if old >= x else old + 1,
    "dec": lambda n, old, x: x if old == 0 or old > x else old - 1,
    "swap": lambda n, old, x: x,
}


def float_format(bits):
    return F64 if bits == 64 else F32


def fadd(bits, old, x):
    return add(Env(0xF0, float_format(bits)), old, x)


def fmin(bits, old, x):
    return pick(bits, old, x, -1)


def fmax(bits, old, x):
    return pick(bits, old, x, 1)


def pick(bits, old, x, wanted):
    f = float_format(bits)
    order = compare(Env(0xF0, f), x, old)
    if order is None or (f.is_zero(x) and f.is_zero(old)):
        return unknown(bits)  # which NaN or zero stays differs between documents
    return x if order == wanted else old


def pk_add(fmt):
    def run(bits, old, x):
        parts = [nibbles(add(Env(0xF0, fmt), old >> 16 * n & 0xFFFF, x >> 16 * n & 0xFFFF), 16)
                 for n in (0, 1)]
        return from_nibbles(parts[1] + parts[0])

    return run


FLOAT = {"add_f32": fadd, "add_f64": fadd, "min_f32": fmin, "max_f32": fmax, "min_f64": fmin,
         "max_f64": fmax, "pk_add_f16": pk_add(F16), "pk_add_bf16": pk_add(BF16), "fmin": fmin,
         "fmax": fmax, "fadd": fadd}
