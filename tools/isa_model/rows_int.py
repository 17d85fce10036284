# SPDX-License-Identifier: MIT
"""Integer vector operations, moves, and compares of integers."""

from salu import first_bit, leading, leading_sign, reverse
from softfloat import F32
from state import MASK32, MASK64
from valu import row, saturate, sign_extend


def i16(x):
    return sign_extend(x, 16)


def i24(x):
    return sign_extend(x, 24)


def i32(x):
    return sign_extend(x, 32)


def u24(x):
    return x & 0xFFFFFF


def byte(x, n):
    return x >> 8 * n & 0xFF


def plain(names, types, function, **flags):
    """A function of the sources alone, wrapped to the destination's size; with the clamp bit it
    saturates (of use only where the assembler takes `clamp`)."""
    kind = types.split(":")[0].strip()

    def run(c, *sources):
        return saturate(function(*sources), kind, c.modifiers.get("clamp"))

    row(names, types, run, **flags)


# 32 bit.
plain("v_mov_b32", "b32 : b32", lambda a: a)
plain("v_mov_b64", "b64 : b64", lambda a: a)
plain("v_add_u32 v_add_nc_u32", "u32 : u32 u32", lambda a, b: a + b)
plain("v_sub_u32 v_sub_nc_u32", "u32 : u32 u32", lambda a, b: a - b)
plain("v_subrev_u32 v_subrev_nc_u32", "u32 : u32 u32", lambda a, b: b - a)
plain("v_add_i32 v_add_nc_i32", "i32 : i32 i32", lambda a, b: i32(a) + i32(b))
plain("v_sub_i32 v_sub_nc_i32", "i32 : i32 i32", lambda a, b: i32(a) - i32(b))
plain("v_mul_lo_u32", "u32 : u32 u32", lambda a, b: a * b)
plain("v_mul_hi_u32", "u32 : u32 u32", lambda a, b: a * b >> 32)
plain("v_mul_hi_i32", "u32 : u32 u32", lambda a, b: i32(a) * i32(b) >> 32)
plain("v_mul_u32_u24", "u32 : u32 u32", lambda a, b: u24(a) * u24(b))
plain("v_mul_hi_u32_u24", "u32 : u32 u32", lambda a, b: u24(a) * u24(b) >> 32)
plain("v_mul_i32_i24", "i32 : u32 u32", lambda a, b: i24(a) * i24(b))
plain("v_mul_hi_i32_i24", "u32 : u32 u32", lambda a, b: i24(a) * i24(b) >> 32)
plain("v_mad_u32_u24", "u32 : u32 u32 u32", lambda a, b, c: u24(a) * u24(b) + c)
plain("v_mad_i32_i24", "i32 : u32 u32 u32", lambda a, b, c: i24(a) * i24(b) + i32(c))
plain("v_mad_u32_u16", "u32 : u16 u16 u32", lambda a, b, c: a * b + c)
plain("v_mad_i32_i16", "i32 : i16 i16 i32", lambda a, b, c: i16(a) * i16(b) + i32(c))
plain("v_and_b32", "b32 : b32 b32", lambda a, b: a & b)
plain("v_or_b32", "b32 : b32 b32", lambda a, b: a | b)
plain("v_xor_b32", "b32 : b32 b32", lambda a, b: a ^ b)
plain("v_xnor_b32", "b32 : b32 b32", lambda a, b: ~(a ^ b))
plain("v_not_b32", "b32 : b32", lambda a: ~a)
plain("v_bfrev_b32", "b32 : b32", lambda a: reverse(a, 32))
plain("v_ffbh_u32", "u32 : u32", lambda a: leading(a, 32))
plain("v_ffbl_b32", "u32 : u32", lambda a: first_bit(a, 32, 1))
plain("v_ffbh_i32", "u32 : u32", lambda a: leading_sign(a, 32))
plain("v_min_i32", "u32 : u32 u32", lambda a, b: min(i32(a), i32(b)))
plain("v_max_i32", "u32 : u32 u32", lambda a, b: max(i32(a), i32(b)))
plain("v_min_u32", "u32 : u32 u32", min)
plain("v_max_u32", "u32 : u32 u32", max)
plain("v_lshlrev_b32", "u32 : u32 u32", lambda a, b: b << (a & 31))
plain("v_lshrrev_b32", "u32 : u32 u32", lambda a, b: b >> (a & 31))
plain("v_ashrrev_i32", "u32 : u32 u32", lambda a, b: i32(b) >> (a & 31))
plain("v_bfm_b32", "u32 : u32 u32", lambda a, b: ((1 << (a & 31)) - 1) << (b & 31))
plain("v_bcnt_u32_b32", "u32 : u32 u32", lambda a, b: bin(a).count("1") + b)
plain("v_bfe_u32", "u32 : u32 u32 u32", lambda a, b, c: a >> (b & 31) & (1 << (c & 31)) - 1)
plain("v_bfe_i32", "u32 : u32 u32 u32",
      lambda a, b, c: sign_extend(i32(a) >> (b & 31), c & 31) if c & 31 else 0)
plain("v_bfi_b32", "u32 : u32 u32 u32", lambda a, b, c: a & b | ~a & c)
plain("v_alignbit_b32", "u32 : u32 u32 u32", lambda a, b, c: (a << 32 | b) >> (c & 31))
plain("v_alignbyte_b32", "u32 : u32 u32 u32", lambda a, b, c: (a << 32 | b) >> 8 * (c & 3))
plain("v_lshl_add_u32", "u32 : u32 u32 u32", lambda a, b, c: (a << (b & 31)) + c)
plain("v_add_lshl_u32", "u32 : u32 u32 u32", lambda a, b, c: a + b << (c & 31))
plain("v_lshl_or_b32", "u32 : u32 u32 u32", lambda a, b, c: a << (b & 31) | c)
plain("v_and_or_b32", "u32 : u32 u32 u32", lambda a, b, c: a & b | c)
plain("v_or3_b32", "u32 : u32 u32 u32", lambda a, b, c: a | b | c)
plain("v_xor3_b32", "u32 : u32 u32 u32", lambda a, b, c: a ^ b ^ c)
plain("v_add3_u32", "u32 : u32 u32 u32", lambda a, b, c: a + b + c)
plain("v_xad_u32", "u32 : u32 u32 u32", lambda a, b, c: (a ^ b) + c)
plain("v_min3_i32", "u32 : u32 u32 u32", lambda *s: min(map(i32, s)))
plain("v_max3_i32", "u32 : u32 u32 u32", lambda *s: max(map(i32, s)))
plain("v_med3_i32", "u32 : u32 u32 u32", lambda *s: sorted(map(i32, s))[1])
plain("v_min3_u32", "u32 : u32 u32 u32", lambda *s: min(s))
plain("v_max3_u32", "u32 : u32 u32 u32", lambda *s: max(s))
plain("v_med3_u32", "u32 : u32 u32 u32", lambda *s: sorted(s)[1])
plain("v_lerp_u8", "u32 : u32 u32 u32", lambda a, b, c: sum(
    (byte(a, n) + byte(b, n) + (byte(c, n) & 1) >> 1) << 8 * n for n in range(4)))


def sad_u8(a, b, c):
    return c + sum(abs(byte(a, n) - byte(b, n)) for n in range(4))


def msad_u8(a, b, c):
    return c + sum(abs(byte(a, n) - byte(b, n)) for n in range(4) if byte(b, n))


plain("v_sad_u8", "u32 : u32 u32 u32", sad_u8)
plain("v_sad_hi_u8", "u32 : u32 u32 u32", lambda a, b, c: (sad_u8(a, b, 0) << 16) + c)
plain("v_sad_u16", "u32 : u32 u32 u32", lambda a, b, c: c + abs((a & 0xFFFF) - (b & 0xFFFF)) + abs(
    (a >> 16) - (b >> 16)))
plain("v_sad_u32", "u32 : u32 u32 u32", lambda a, b, c: c + abs(a - b))
plain("v_msad_u8", "u32 : u32 u32 u32", msad_u8)
plain("v_qsad_pk_u16_u8", "u64 : u64 u32 u64", lambda a, b, c: sum(
    (sad_u8(a >> 8 * n & MASK32, b, c >> 16 * n & 0xFFFF) & 0xFFFF) << 16 * n for n in range(4)))
plain("v_mqsad_pk_u16_u8", "u64 : u64 u32 u64", lambda a, b, c: sum(
    (msad_u8(a >> 8 * n & MASK32, b, c >> 16 * n & 0xFFFF) & 0xFFFF) << 16 * n for n in range(4)))
plain("v_mqsad_u32_u8", "b128 : u64 u32 b128", lambda a, b, c: sum(
    (msad_u8(a >> 8 * n & MASK32, b, c >> 32 * n & MASK32) & MASK32) << 32 * n for n in range(4)))


def perm(a, b, select):
    data, out = a << 32 | b, 0
    for n in range(4):
        s = byte(select, n)
        if s < 8:
            x = byte(data, s)
        elif s < 12:
            x = 0xFF if byte(data, 2 * (s - 8) + 1) & 0x80 else 0
        else:
            x = 0 if s == 12 else 0xFF
        out |= x << 8 * n
    return out


plain("v_perm_b32", "u32 : u32 u32 u32", perm)

# 64 bit.
plain("v_lshlrev_b64", "u64 : u32 u64", lambda a, b: b << (a & 63))
plain("v_lshrrev_b64", "u64 : u32 u64", lambda a, b: b >> (a & 63))
plain("v_ashrrev_i64", "u64 : u32 i64", lambda a, b: sign_extend(b, 64) >> (a & 63))
plain("v_lshl_add_u64", "u64 : u64 u32 u64", lambda a, b, c: (a << (b & 7)) + c)

# Carries.
row("v_add_co_u32", "u32 mask : u32 u32",
    lambda c, a, b: (a + b & MASK32, int(a + b > MASK32)))
row("v_sub_co_u32", "u32 mask : u32 u32", lambda c, a, b: (a - b & MASK32, int(b > a)))
row("v_subrev_co_u32", "u32 mask : u32 u32", lambda c, a, b: (b - a & MASK32, int(a > b)))
row("v_addc_co_u32 v_add_co_ci_u32", "u32 mask : u32 u32 mask",
    lambda c, a, b, carry: (a + b + carry & MASK32, int(a + b + carry > MASK32)))
row("v_subb_co_u32 v_sub_co_ci_u32", "u32 mask : u32 u32 mask",
    lambda c, a, b, carry: (a - b - carry & MASK32, int(b + carry > a)))
row("v_subbrev_co_u32 v_subrev_co_ci_u32", "u32 mask : u32 u32 mask",
    lambda c, a, b, carry: (b - a - carry & MASK32, int(a + carry > b)))
row("v_mad_u64_u32", "u64 mask : u32 u32 u64",
    lambda c, a, b, d: (a * b + d & MASK64, int(a * b + d > MASK64)))
# The meaning of the signed form's carry is not documented: only the number is compared.
row("v_mad_i64_i32", "i64 mask : i32 i32 i64",
    lambda c, a, b, d: (i32(a) * i32(b) + sign_extend(d, 64) & MASK64, 0), free_mask=True)
row("v_cndmask_b32", "b32 : b32 b32 mask", lambda c, a, b, take: b if take else a,
    modifier_format=F32)

# 16 bit.
plain("v_add_u16 v_add_nc_u16", "u16 : u16 u16", lambda a, b: a + b)
plain("v_sub_u16 v_sub_nc_u16", "u16 : u16 u16", lambda a, b: a - b)
plain("v_subrev_u16", "u16 : u16 u16", lambda a, b: b - a)
plain("v_add_i16 v_add_nc_i16", "i16 : i16 i16", lambda a, b: i16(a) + i16(b), high="?")
plain("v_sub_i16 v_sub_nc_i16", "i16 : i16 i16", lambda a, b: i16(a) - i16(b), high="?")
plain("v_mul_lo_u16", "u16 : u16 u16", lambda a, b: a * b)
plain("v_lshlrev_b16", "u16 : u16 u16", lambda a, b: b << (a & 15))
plain("v_lshrrev_b16", "u16 : u16 u16", lambda a, b: b >> (a & 15))
plain("v_ashrrev_i16", "u16 : u16 i16", lambda a, b: i16(b) >> (a & 15))
plain("v_min_u16", "u16 : u16 u16", min)
plain("v_max_u16", "u16 : u16 u16", max)
plain("v_min_i16", "u16 : i16 i16", lambda a, b: min(i16(a), i16(b)))
plain("v_max_i16", "u16 : i16 i16", lambda a, b: max(i16(a), i16(b)))
plain("v_mad_u16", "u16 : u16 u16 u16", lambda a, b, c: a * b + c, high="?")
plain("v_mad_i16", "i16 : i16 i16 i16", lambda a, b, c: i16(a) * i16(b) + i16(c), high="?")
plain("v_mad_legacy_u16", "u16 : u16 u16 u16", lambda a, b, c: a * b + c)
plain("v_mad_legacy_i16", "i16 : i16 i16 i16", lambda a, b, c: i16(a) * i16(b) + i16(c))
for name, pick in (("min3", 0), ("med3", 1), ("max3", 2)):
    plain("v_%s_u16" % name, "u16 : u16 u16 u16", lambda *s, n=pick: sorted(s)[n], high="?")
    plain("v_%s_i16" % name, "u16 : i16 i16 i16", lambda *s, n=pick: sorted(map(i16, s))[n],
          high="?")


def mbcnt(shift):
    def run(c, a, b):
        below = (1 << c.lane) - 1 >> shift & MASK32
        return bin(a & below).count("1") + b & MASK32

    return run


row("v_mbcnt_lo_u32_b32", "u32 : u32 u32", mbcnt(0))
row("v_mbcnt_hi_u32_b32", "u32 : u32 u32", mbcnt(32))

# Compares.
COMPARE = {"f": lambda a, b: False, "lt": lambda a, b: a < b, "eq": lambda a, b: a == b,
           "le": lambda a, b: a <= b, "gt": lambda a, b: a > b, "ne": lambda a, b: a != b,
           "ge": lambda a, b: a >= b, "t": lambda a, b: True}


def compare_rows():
    for bits in (16, 32, 64):
        for kind in "iu":
            for name, test in COMPARE.items():
                def run(c, a, b, test=test, kind=kind, bits=bits):
                    if kind == "i":
                        a, b = sign_extend(a, bits), sign_extend(b, bits)
                    return int(test(a, b))

                types = "mask : %s%d %s%d" % (kind, bits, kind, bits)
                row("v_cmp_%s_%s%d" % (name, kind, bits), types, run, compare=True)
                row("v_cmpx_%s_%s%d" % (name, kind, bits), types, run, compare=True,
                    write_exec=True)


compare_rows()
