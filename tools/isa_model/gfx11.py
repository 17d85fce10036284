# SPDX-License-Identifier: MIT
"""What came with gfx11 and gfx12, as the RDNA3 and RDNA4 documents describe it."""

import functools
import math
from fractions import Fraction

import ds
import flat
import mfma
import mubuf
import salu
import smem
import valu
import vop3p
from rows_int import i16, i32, plain
from salu import read, write
from softfloat import BF16, F16, F32, OCP, Env, from_nibbles, nibbles
from state import MASK32, MASK64
from valu import ROWS, row, sign_extend

OPS = {}


def op(names):
    def add(function):
        for name in names.split():
            assert name not in OPS, name
            OPS[name] = function
        return function

    return add


# Vector: 16 bits, minimum of maximum, conversions.
plain("v_mov_b16", "b16 : b16", lambda a: a)
plain("v_not_b16", "b16 : b16", lambda a: ~a)
plain("v_and_b16", "b16 : b16 b16", lambda a, b: a & b)
plain("v_or_b16", "b16 : b16 b16", lambda a, b: a | b)
plain("v_xor_b16", "b16 : b16 b16", lambda a, b: a ^ b)
row("v_cndmask_b16", "b16 : b16 b16 mask", lambda c, a, b, m: b if m else a)
plain("v_cvt_i32_i16", "i32 : i16", i16)
plain("v_cvt_u32_u16", "u32 : u16", lambda a: a)
plain("v_minmax_i32", "u32 : u32 u32 u32", lambda a, b, c: max(min(i32(a), i32(b)), i32(c)))
plain("v_maxmin_i32", "u32 : u32 u32 u32", lambda a, b, c: min(max(i32(a), i32(b)), i32(c)))
plain("v_minmax_u32", "u32 : u32 u32 u32", lambda a, b, c: max(min(a, b), c))
plain("v_maxmin_u32", "u32 : u32 u32 u32", lambda a, b, c: min(max(a, b), c))


def to_short(low, high):
    def convert(a):
        if F32.is_nan(a):
            return 0
        if F32.is_inf(a):
            return low if F32.sign(a) else high
        return max(low, min(high, math.trunc(F32.value(a))))

    return lambda c, a, b: convert(a) & 0xFFFF | (convert(b) & 0xFFFF) << 16


row("v_cvt_pk_i16_f32", "b32 : f32 f32", to_short(-0x8000, 0x7FFF))
row("v_cvt_pk_u16_f32", "b32 : f32 f32", to_short(0, 0xFFFF))


def mixed(first, second, quiet):
    def run(c, a, b, d):
        inner = ROWS[first].function(c, a, b)
        # Some quiet NaN, which loses against a number.
        return ROWS[second].function(c, inner if isinstance(inner, int) else quiet, d)

    return run


# The rows of min and max, of which gfx12 has the NUM kind, know the rules for NaNs.
for kind in ("f32", "f16"):
    types = "%s : %s %s %s" % ((kind,) * 4)
    low, high = "v_min_" + kind, "v_max_" + kind
    quiet = 0x7FC00000 if kind == "f32" else 0x7E00
    row("v_minmax_%s v_minmax_num_%s" % (kind, kind), types, mixed(low, high, quiet))
    row("v_maxmin_%s v_maxmin_num_%s" % (kind, kind), types, mixed(high, low, quiet))


# gfx12 has no IEEE mode: its min and max are what the others do without it.
for kind in ("f32", "f16", "f64"):
    for name in ("min", "max") + (() if kind == "f64" else ("min3", "max3", "med3")):
        old = ROWS["v_%s_%s" % (name, kind)]
        ROWS["v_%s_num_%s" % (name, kind)] = old
for name in ("min", "max"):
    OPS["v_pk_%s_num_f16" % name] = vop3p.OPS["v_pk_%s_f16" % name]


def ieee_pick(kind, greater):
    """minimum and maximum of IEEE 754-2019: a NaN wins."""
    fmt = valu.FORMATS[kind]

    def run(c, a, b):
        env = c.env(fmt) if isinstance(c, valu.Context) else Env(c.mode, fmt)
        a, b = env.read(a), env.read(b)
        if fmt.is_nan(a) or fmt.is_nan(b):
            return fmt.nan()

        def key(x):
            value = fmt.value(x) if fmt.is_finite(x) else None
            if value is None:
                return (-1 if fmt.sign(x) else 1, 0, 0)
            return (0, value, 0 if fmt.sign(x) else 1)

        return max(a, b, key=key) if greater else min(a, b, key=key)

    return run


for kind in ("f32", "f16", "f64"):
    row("v_minimum_" + kind, "%s : %s %s" % ((kind,) * 3), ieee_pick(kind, False))
    row("v_maximum_" + kind, "%s : %s %s" % ((kind,) * 3), ieee_pick(kind, True))
    if kind != "f64":
        types = "%s : %s %s %s" % ((kind,) * 4)
        low, high = "v_minimum_" + kind, "v_maximum_" + kind

        def three(first, second):
            def run(c, a, b, d, f=first, s=second):
                inner = ROWS[f].function(c, a, b)
                if not isinstance(inner, int):
                    return inner  # a NaN wins again
                return ROWS[s].function(c, inner, d)

            return run

        if kind == "f16":  # rows_gfx950 has those of f32
            row("v_minimum3_" + kind, types, three(low, low))
            row("v_maximum3_" + kind, types, three(high, high))
        row("v_minimummaximum_" + kind, types, three(low, high))
        row("v_maximumminimum_" + kind, types, three(high, low))


vop3p.packed("v_pk_minimum_f16", 2, ieee_pick("f16", False), fmt=F16)
vop3p.packed("v_pk_maximum_f16", 2, ieee_pick("f16", True), fmt=F16)


# Dot products. Exact in any order for the small numbers of the cases.
def signs(c, n):
    return (c.modifiers.get("neg_lo", [0, 0, 0]) + [0, 0, 0])[n]


def integer_dot(bits):
    def run(c, a, b, total):
        total = i32(total)
        for n in range(0, 32, bits):
            x, y = a >> n & (1 << bits) - 1, b >> n & (1 << bits) - 1
            x = sign_extend(x, bits) if signs(c, 0) else x
            y = sign_extend(y, bits) if signs(c, 1) else y
            total += x * y
        if c.modifiers.get("clamp"):
            total = max(-1 << 31, min((1 << 31) - 1, total))
        return total & MASK32

    return run


row("v_dot4_i32_iu8", "b32 : b32 b32 b32", integer_dot(8))
row("v_dot8_i32_iu4", "b32 : b32 b32 b32", integer_dot(4))


def float_dot(fmt, bits, out, fmt_b=None):
    fmt_b = fmt_b or fmt

    def run(c, a, b, total):
        mask = (1 << bits) - 1
        products = [mfma.times(mfma.number(fmt, a >> n & mask), mfma.number(fmt_b, b >> n & mask))
                    for n in range(0, 32, bits)]
        return mfma.total(mfma.number(out, total), products, fmt.unit + fmt_b.unit, out)

    return run


row("v_dot2_f16_f16", "f16 : b32 b32 f16", float_dot(F16, 16, F16))
row("v_dot2_bf16_bf16", "bf16 : b32 b32 bf16", float_dot(BF16, 16, BF16))
for a in ("fp8", "bf8"):
    for b in ("fp8", "bf8"):
        row("v_dot4_f32_%s_%s" % (a, b), "f32 : b32 b32 f32",
            float_dot(OCP[a], 8, F32, OCP[b]))


# Lanes.
@op("v_permlane64_b32")
def permlane64(wave, i):
    if wave.wave_size == 32:
        return
    old = list(wave.vector("v", i.operands[1].index))
    for lane in wave.active():
        wave.write_vector("v", i.operands[0].index, lane, old[lane ^ 32])


@op("v_permlane16_var_b32 v_permlanex16_var_b32")
def permlane_var(wave, i):
    fetch_inactive, bound = (i.modifiers.get("op_sel", [0, 0]) + [0, 0])[:2]
    old = list(wave.vector("v", i.operands[1].index))
    select = list(wave.vector("v", i.operands[2].index))
    for lane in wave.active():
        group = lane & ~15
        if "x16" in i.base:
            group ^= 16
        source = group + (select[lane] & 15)
        if wave.exec >> source & 1 or fetch_inactive:
            wave.write_vector("v", i.operands[0].index, lane, old[source])
        elif bound:
            wave.write_vector("v", i.operands[0].index, lane, 0)


@op("v_swap_b16")
def swap16(wave, i):
    a, b = i.operands
    for lane in wave.active():
        old = [wave.read_vector("v", o.index, lane) >> 16 * (o.half == "h") & 0xFFFF
               for o in (a, b)]
        for o, value in ((a, old[1]), (b, old[0])):
            shift = 16 * (o.half == "h")
            word = wave.read_vector("v", o.index, lane)
            wave.write_vector("v", o.index, lane, word & ~(0xFFFF << shift) | value << shift)


# Pairs: both halves read before either writes.
def run_pair(wave, first, second):
    import machine  # which imports this module
    writes = []
    first.second = None
    for half in (first, second):
        half.base = half.base.replace("v_dual_", "v_")
        renamed = {"v_mul_dx9_zero_f32": "v_mul_legacy_f32", "v_dot2acc_f32_f16": "v_dot2c_f32_f16",
                   "v_dot2acc_f32_bf16": "v_dot2c_f32_bf16"}
        half.base = renamed.get(half.base, half.base).replace("_num_", "_")
        if half.base == "v_cndmask_b32":
            half.operands.append(machine.asm.parse_operand("vcc_lo"))
        index = half.operands[0].index
        before = list(wave.vector("v", index))
        machine.step(wave, half)
        writes.append((index, list(wave.vector("v", index))))
        wave.vector("v", index)[:] = before
    for index, values in writes:
        wave.vector("v", index)[:] = values


# Scalar unit.
salu.two("s_pack_hl_b32_b16", 32, lambda w, a, b: a >> 16 | b << 16 & MASK32)
salu.two("s_add_nc_u64", 64, lambda w, a, b: a + b & MASK64)
salu.two("s_sub_nc_u64", 64, lambda w, a, b: a - b & MASK64)
salu.two("s_mul_u64", 64, lambda w, a, b: a * b & MASK64)


def put_float(wave, operand, bits, value):
    """A result; a NaN's bits are not fixed, and the model of scalars knows none: cases avoid it."""
    assert isinstance(value, int), "a NaN in a scalar"
    write(wave, operand, 32, value)


def scalar_float(name, kind, vector, sources):
    """The scalar twin of a vector instruction."""
    def run(wave, i):
        context = valu.Context(wave, i, 0)
        values = []
        for n in range(sources):
            values.append(valu.read_source(wave, i.operands[1 + n], kind, 0)
                          & (0xFFFF if kind == "f16" else MASK32))
        if vector.startswith("v_fmac"):
            context.old = read(wave, i.operands[0], 32)
            if kind == "f16":
                context.old &= 0xFFFF
        put_float(wave, i.operands[0], 32, ROWS[vector].function(context, *values))

    op(name)(run)


for kind in ("f32", "f16"):
    for name in "add sub mul".split():
        scalar_float("s_%s_%s" % (name, kind), kind, "v_%s_%s" % (name, kind), 2)
    for name in "ceil floor trunc rndne".split():
        scalar_float("s_%s_%s" % (name, kind), kind, "v_%s_%s" % (name, kind), 1)
    scalar_float("s_fmac_" + kind, kind, "v_fmac_" + kind, 2)
    for name in "min max".split():
        scalar_float("s_%s_num_%s" % (name, kind), kind, "v_%s_%s" % (name, kind), 2)
    for name in "minimum maximum".split():
        scalar_float("s_%s_%s" % (name, kind), kind, "v_%s_%s" % (name, kind), 2)
scalar_float("s_fmaak_f32", "f32", "v_fma_f32", 3)
scalar_float("s_fmamk_f32", "f32", "v_fma_f32", 3)


def converts(name, vector, kind):
    def run(wave, i):
        context = valu.Context(wave, i, 0)
        source = valu.read_source(wave, i.operands[1], "b32", 0)
        if name == "s_cvt_hi_f32_f16":
            source >>= 16
        if kind == "f16":
            source &= 0xFFFF
        put_float(wave, i.operands[0], 32, ROWS[vector].function(context, source) & MASK32)

    op(name)(run)


for pair in "f32_i32 f32_u32 i32_f32 u32_f32 f16_f32".split():
    converts("s_cvt_" + pair, "v_cvt_" + pair, pair[4:])
converts("s_cvt_f32_f16", "v_cvt_f32_f16", "f16")
converts("s_cvt_hi_f32_f16", "v_cvt_f32_f16", "f16")


@op("s_cvt_pk_rtz_f16_f32")
def pk_rtz(wave, i):
    context = valu.Context(wave, i, 0)
    a, b = (read(wave, o, 32) for o in i.operands[1:])
    put_float(wave, i.operands[0], 32, ROWS["v_cvt_pkrtz_f16_f32"].function(context, a, b))


COMPARES = "lt eq le gt lg ge o u nge nlg ngt nle neq nlt".split()
for kind in ("f32", "f16"):
    for name in COMPARES:
        def compare(wave, i, name=name, kind=kind):
            context = valu.Context(wave, i, 0)
            mask = 0xFFFF if kind == "f16" else MASK32
            a, b = (valu.read_source(wave, o, kind, 0) & mask for o in i.operands)
            result = ROWS["v_cmp_%s_%s" % (name, kind)].function(context, a, b)
            wave.scc = int(result[0] if isinstance(result, tuple) else result)

        op("s_cmp_%s_%s" % (name, kind))(compare)


# The transcendental instructions of scalars: for powers of two, where the result is exact.
def exact(name, function):
    for kind, fmt in (("f32", F32), ("f16", F16)):
        def run(wave, i, fmt=fmt):
            operand = i.operands[1]
            bits = read(wave, operand, 32) & (1 << 8 * (4 if fmt is F32 else 2)) - 1
            value = fmt.value(bits)
            value = abs(value) if operand.abs else value
            value = -value if operand.neg else value
            put_float(wave, i.operands[0], 32, fmt.round(Fraction(function(value))))

        op("v_s_%s_%s" % (name, kind))(run)


exact("exp", lambda x: Fraction(2) ** int(x))
exact("log", lambda x: Fraction(math.log2(x)))
exact("rcp", lambda x: 1 / x)
exact("sqrt", lambda x: Fraction(math.sqrt(x)))
exact("rsq", lambda x: 1 / Fraction(math.sqrt(x)))


# Barriers: a lone wave completes them itself.
@op("s_barrier_signal s_barrier_wait")
def barrier(wave, i):
    pass


@op("s_barrier_signal_isfirst")
def barrier_is_first(wave, i):
    wave.scc = int(i.operands[0].value == -1)


@op("s_get_barrier_state")
def barrier_state(wave, i):
    # One member, which has not signalled; valid.
    write(wave, i.operands[0], 32, 1 << 4 | 1)


@op("s_sendmsg_rtn_b32 s_sendmsg_rtn_b64")
def realtime(wave, i):
    """A clock: its value is not fixed."""
    for n in range(i.operands[0].count):
        wave.masks[i.operands[0].index + n] = 0


op("""s_wait_idle s_delay_alu s_wait_event s_wait_loadcnt s_wait_storecnt s_wait_samplecnt
s_wait_bvhcnt s_wait_expcnt s_wait_dscnt s_wait_kmcnt s_wait_loadcnt_dscnt s_wait_storecnt_dscnt
s_prefetch_inst s_prefetch_inst_pc_rel s_prefetch_data s_prefetch_data_pc_rel
s_buffer_prefetch_data global_wb global_inv global_wbinv s_sleep_var s_wait_alu""")(
    lambda wave, i: None)


# Scalar loads of three dwords and of parts of one.
OPS["s_load_b96"] = smem.load(3)
OPS["s_buffer_load_b96"] = smem.buffer_load(3)


def small_load(size, signed, buffer):
    def run(wave, i):
        offset = smem.offset_of(wave, i, 2)
        if buffer:
            words = [wave.read_scalar(i.operands[1].index + n) for n in range(4)]
            base, inside = words[0] | (words[1] & 0xFFFF) << 32, offset + size <= words[2]
        else:
            base, inside = wave.read_scalar64(i.operands[1].index), True
        value = wave.load(base + offset, size) if inside else 0
        write(wave, i.operands[0], 32, sign_extend(value, 8 * size) if signed else value)

    return run


for prefix in ("s_load_", "s_buffer_load_"):
    for name, size in (("8", 1), ("16", 2)):
        for sign in "ui":
            OPS[prefix + sign + name] = small_load(size, sign == "i", "buffer" in prefix)


# Atomics.
def clamp_sub(bits, old, x):
    return 0 if old < x else old - x


def conditional_sub(bits, old, x):
    return old - x if old >= x else old


for space in ("flat", "global"):
    OPS["%s_atomic_cond_sub_u32" % space] = flat.atomic(32, conditional_sub)
OPS["flat_atomic_sub_clamp_u32"] = flat.atomic(32, clamp_sub)
OPS["buffer_atomic_cond_sub_u32"] = mubuf.atomic(32, conditional_sub)
for stem, function in (("cond_sub", conditional_sub), ("sub_clamp", clamp_sub)):
    OPS["ds_%s_u32" % stem] = ds.atomic(32, 1, function, False)
    OPS["ds_%s_rtn_u32" % stem] = ds.atomic(32, 1, function, True)
for bits in (32, 64):
    # The first data register is what is stored, the second what is compared.
    for kind, same in (("b", lambda n, a, b: a == b), ("f", ds.float_equal)):
        def cmpstore(n, old, x, cmp, same=same):
            return x if same(n, old, cmp) else old

        OPS["ds_cmpstore_%s%d" % (kind, bits)] = ds.atomic(bits, 2, cmpstore, False)
        OPS["ds_cmpstore_rtn_%s%d" % (kind, bits)] = ds.atomic(bits, 2, cmpstore, True)


@op("ds_bpermute_fi_b32")
def bpermute_fi(wave, i):
    source = list(wave.vector("v", i.operands[2].index))
    lanes = {}
    for lane in wave.active():
        at = ds.address(wave, i.operands[1], lane, i.modifiers.get("offset", 0)) >> 2
        lanes[lane] = source[at & wave.wave_size - 1]
    for lane, value in lanes.items():
        wave.write_vector("v", i.operands[0].index, lane, value)


# Matrices. The order of the sums is not documented: the cases use small integers.
LANES64 = (0, 32, 16, 48)


def dense_place(gfx12, wave_size, bits, k, count, run):
    """(lane of the first row, number within the lane)"""
    if not gfx12:
        return 0, k
    wide = wave_size == 64 and count * bits >= 128
    if bits == 16:
        if wide:
            return 16 * (k // run), k % run
        return 16 * (k // run % 2), k % run + run * (k // (2 * run))
    per_lane = count // (4 if wide else 2)
    return (LANES64[k // per_lane] if wide else 16 * (k // per_lane)), k % per_lane


def field(wave, index, lane, number, bits):
    at = number * bits
    return wave.read_vector("v", index + at // 32, lane) >> at % 32 & (1 << bits) - 1


MATRIX_FORMATS = {"f32": F32, "f16": F16, "bf16": BF16, "fp8": OCP["fp8"], "bf8": OCP["bf8"]}


@functools.lru_cache(None)
def element(kind, bits, signed):
    if kind in ("iu8", "iu4"):
        return sign_extend(bits, int(kind[2:])) if signed else bits
    return mfma.number(MATRIX_FORMATS[kind], bits)


def matrix(kinds, depth, out, sparse):
    sizes = {"f16": 16, "bf16": 16, "fp8": 8, "bf8": 8, "iu8": 8, "iu4": 4}

    def run(wave, i):
        gfx12 = wave.target == "gfx1201"
        m = i.modifiers
        lo = (m.get("neg_lo", []) + [0, 0, 0])[:3]
        hi = (m.get("neg_hi", []) + [0, 0, 0])[:3]

        def get(n, index, lane, number, parity):
            kind = kinds[n]
            bits = sizes[kind]
            raw = field(wave, index, lane, number, bits)
            if bits == 16 and (hi if parity else lo)[n]:
                raw ^= 0x8000
            return element(kind, raw, lo[n])

        a = [[0] * depth for _ in range(16)]
        b = [[None] * depth for _ in range(16)]
        bits = sizes[kinds[0]]
        for k in range(depth):
            lane, number = dense_place(gfx12, wave.wave_size, sizes[kinds[1]], k, depth,
                                       8 if sparse else 4)
            for j in range(16):
                b[j][k] = get(1, i.operands[2].index, lane + j, number, number & 1)
            if not sparse:
                lane, number = dense_place(gfx12, wave.wave_size, bits, k, depth, 4)
                for r in range(16):
                    a[r][k] = get(0, i.operands[1].index, lane + r, number, number & 1)
        if sparse:
            units = depth // 4
            wide = wave.wave_size == 64 and units * 2 * bits >= 128
            per_lane = units // (4 if wide else 2)
            key = m.get("index_key", 0) * per_lane
            for u in range(units):
                if bits == 16:
                    lane, number = ((16 * (u // 2), u % 2) if wide else
                                    (16 * (u // 2 % 2), u % 2 + 2 * (u // 4)))
                else:
                    lane = (LANES64[u // per_lane] if wide else 16 * (u // per_lane))
                    number = u % per_lane
                for r in range(16):
                    index = field(wave, i.operands[3].index, lane + r, key + number, 4)
                    for n in range(2):
                        a[r][4 * u + (index >> 2 * n & 3)] = get(
                            0, i.operands[1].index, lane + r, 2 * number + n, n)
        addend = i.operands[0 if sparse else 3]
        results = {}
        for r in range(16):
            for j in range(16):
                place = result_place(gfx12, wave.wave_size, out, r, j,
                                     (m.get("op_sel", []) + [0, 0, 0])[2])
                c = start(wave, addend, out, place)
                if out != "i32" and not sparse and not isinstance(c, str):
                    c = abs(c) if hi[2] else c
                    c = -c if lo[2] else c
                products = [mfma.times(x, y) for x, y in zip(a[r], b[j])]
                if out == "i32":
                    value = integer_total(c, products, m.get("clamp"))
                else:
                    unit = sum(MATRIX_FORMATS[kind].unit for kind in kinds)
                    value = mfma.total(c, products, unit, MATRIX_FORMATS[out])
                if value == 0 and out != "i32" and lo[2]:
                    value = from_nibbles("?" + nibbles(0, 32 if out == "f32" else 16)[1:])
                results[place] = value
        for (number, lane, shift), value in results.items():
            index = i.operands[0].index + number
            if out in ("f16", "bf16"):
                old = nibbles(wave.vector("v", index)[lane], 32)
                text = nibbles(value, 16)
                value = from_nibbles(text + old[4:] if shift else old[:4] + text)
            wave.write_vector("v", index, lane, value)

    return run


def result_place(gfx12, wave_size, out, r, j, high):
    half = out in ("f16", "bf16")
    if not gfx12:
        step = wave_size // 16
        return r // step, 16 * (r % step) + j, 16 * (half and high)
    registers = 4 if wave_size == 64 else 8
    lane = (LANES64[r // 4] if wave_size == 64 else 16 * (r // 8)) + j
    number = r % registers
    return (number // 2, lane, 16 * (number % 2)) if half else (number, lane, 0)


def start(wave, operand, out, place):
    if operand.kind != "v":
        bits = valu.constant(operand, {"i32": "b32"}.get(out, out))
    else:
        bits = wave.read_vector("v", operand.index + place[0], place[1]) >> place[2]
        bits &= 0xFFFF if out in ("f16", "bf16") else MASK32
    return i32(bits) if out == "i32" else mfma.number(MATRIX_FORMATS[out], bits)


def integer_total(start, products, clamp):
    value = start + sum(products)
    if clamp:
        value = max(-1 << 31, min((1 << 31) - 1, value))
    return value & MASK32


def add_matrices():
    def dense(kinds, depth, out):
        names = kinds[0] if len(set(kinds)) == 1 and kinds[0] not in ("fp8", "bf8") else "_".join(kinds)
        op("v_wmma_%s_16x16x%d_%s" % (out, depth, names))(matrix(kinds, depth, out, False))

    def sparse(kinds, depth, out):
        names = kinds[0] if len(set(kinds)) == 1 and kinds[0] not in ("fp8", "bf8") else "_".join(kinds)
        op("v_swmmac_%s_16x16x%d_%s" % (out, depth, names))(matrix(kinds, depth, out, True))

    for add, scale in ((dense, 1), (sparse, 2)):
        add(("f16", "f16"), 16 * scale, "f32")
        add(("bf16", "bf16"), 16 * scale, "f32")
        add(("f16", "f16"), 16 * scale, "f16")
        add(("bf16", "bf16"), 16 * scale, "bf16")
        add(("iu8", "iu8"), 16 * scale, "i32")
        add(("iu4", "iu4"), 16 * scale, "i32")
        add(("iu4", "iu4"), 32 * scale, "i32")
        for a in ("fp8", "bf8"):
            for b in ("fp8", "bf8"):
                add((a, b), 16 * scale, "f32")


add_matrices()
