# SPDX-License-Identifier: MIT
"""Scalar ALU and program flow."""

import re

from state import MASK32, MASK64, Stopped
from valu import constant, sign_extend, special_value

OPS = {}

HWREG_MODE = 1


def op(names):
    def register(function):
        for name in names.split():
            assert name not in OPS, name
            OPS[name] = function
        return function

    return register


def read(wave, operand, bits):
    if operand.kind in ("int", "float"):
        return constant(operand, "b%d" % bits)
    if operand.kind == "special":
        return special_value(wave, operand.text)
    if bits == 64:
        return wave.read_scalar64(operand.index)
    return wave.read_scalar(operand.index)


def write(wave, operand, bits, value):
    if bits == 64:
        wave.write_scalar64(operand.index, value & MASK64)
    else:
        wave.write_scalar(operand.index, value & MASK32)


def s32(x):
    return sign_extend(x, 32)


def s64(x):
    return sign_extend(x, 64)


def two(names, bits, function, shift_bits=None):
    """Two sources; the function gives the result, or (result, scc)."""

    def run(wave, i):
        a = read(wave, i.operands[1], bits)
        b = read(wave, i.operands[2], shift_bits or bits)
        finish(wave, i.operands[0], bits, function(wave, a, b))

    op(names)(run)


def one(names, bits, function, out_bits=None):
    def run(wave, i):
        source = read(wave, i.operands[1], bits)
        finish(wave, i.operands[0], out_bits or bits, function(wave, source))

    op(names)(run)


def finish(wave, operand, bits, result):
    if result is None:
        return
    if isinstance(result, tuple):
        result, scc = result
        wave.scc = int(scc)
    write(wave, operand, bits, result)


def nonzero(bits, function):
    """SCC = result is not zero."""

    def run(wave, *sources):
        result = function(wave, *sources) & ((1 << bits) - 1)
        return result, result != 0

    return run


def overflows(x):
    return not -(1 << 31) <= x < 1 << 31


two("s_add_u32", 32, lambda w, a, b: (a + b, a + b > MASK32))
two("s_sub_u32", 32, lambda w, a, b: (a - b, b > a))
two("s_add_i32", 32, lambda w, a, b: (a + b, overflows(s32(a) + s32(b))))
two("s_sub_i32", 32, lambda w, a, b: (a - b, overflows(s32(a) - s32(b))))
two("s_addc_u32", 32, lambda w, a, b: (a + b + w.scc, a + b + w.scc > MASK32))
two("s_subb_u32", 32, lambda w, a, b: (a - b - w.scc, b + w.scc > a))
two("s_min_i32", 32, lambda w, a, b: (a, 1) if s32(a) < s32(b) else (b, 0))
two("s_min_u32", 32, lambda w, a, b: (a, 1) if a < b else (b, 0))
two("s_max_i32", 32, lambda w, a, b: (a, 1) if s32(a) >= s32(b) else (b, 0))
two("s_max_u32", 32, lambda w, a, b: (a, 1) if a >= b else (b, 0))
two("s_mul_i32", 32, lambda w, a, b: a * b)
two("s_mul_hi_u32", 32, lambda w, a, b: a * b >> 32)
two("s_mul_hi_i32", 32, lambda w, a, b: s32(a) * s32(b) >> 32)
two("s_absdiff_i32", 32, nonzero(32, lambda w, a, b: absolute(s32(s32(a) - s32(b)))))
two("s_bfm_b32", 32, lambda w, a, b: ((1 << (a & 31)) - 1) << (b & 31))
two("s_bfm_b64", 64, lambda w, a, b: ((1 << (a & 63)) - 1) << (b & 63), shift_bits=32)
two("s_pack_ll_b32_b16", 32, lambda w, a, b: (b & 0xFFFF) << 16 | a & 0xFFFF)
two("s_pack_lh_b32_b16", 32, lambda w, a, b: b & 0xFFFF0000 | a & 0xFFFF)
two("s_pack_hh_b32_b16", 32, lambda w, a, b: b & 0xFFFF0000 | a >> 16)
for n in (1, 2, 3, 4):
    two("s_lshl%d_add_u32" % n, 32,
        lambda w, a, b, n=n: ((a << n) + b, (a << n) + b > MASK32))
for bits in (32, 64):
    two("s_cselect_b%d" % bits, bits, lambda w, a, b: a if w.scc else b)
    for name, function in (
            ("and", lambda w, a, b: a & b), ("or", lambda w, a, b: a | b),
            ("xor", lambda w, a, b: a ^ b), ("andn2", lambda w, a, b: a & ~b),
            ("orn2", lambda w, a, b: a | ~b), ("nand", lambda w, a, b: ~(a & b)),
            ("nor", lambda w, a, b: ~(a | b)), ("xnor", lambda w, a, b: ~(a ^ b))):
        two("s_%s_b%d" % (name, bits), bits, nonzero(bits, function))
    two("s_lshl_b%d" % bits, bits, nonzero(bits, lambda w, a, b, n=bits: a << (b & n - 1)), 32)
    two("s_lshr_b%d" % bits, bits, nonzero(bits, lambda w, a, b, n=bits: a >> (b & n - 1)), 32)
    two("s_ashr_i%d" % bits, bits,
        nonzero(bits, lambda w, a, b, n=bits: sign_extend(a, n) >> (b & n - 1)), 32)
    two("s_bfe_u%d" % bits, bits,
        nonzero(bits, lambda w, a, b, n=bits: extract(a, b & n - 1, b >> 16 & 127, n, False)), 32)
    two("s_bfe_i%d" % bits, bits,
        nonzero(bits, lambda w, a, b, n=bits: extract(a, b & n - 1, b >> 16 & 127, n, True)), 32)


def absolute(x):
    return -x if x < 0 else x


def extract(value, offset, width, bits, signed):
    value = (sign_extend(value, bits) if signed else value) >> offset
    if width >= bits:
        return value
    value &= (1 << width) - 1
    return sign_extend(value, width) if signed and width else value


def first_bit(value, bits, wanted):
    for i in range(bits):
        if (value >> i & 1) == wanted:
            return i
    return -1


def leading(value, bits):
    """Zeros before the first one, counted from the top."""
    return bits - value.bit_length() if value else -1


def leading_sign(value, bits):
    top = value >> bits - 1
    for i in range(1, bits):
        if (value >> bits - 1 - i & 1) != top:
            return i
    return -1


def reverse(value, bits):
    return int(format(value, "0%db" % bits)[::-1], 2)


def quads(value, bits):
    return [value >> 4 * i & 15 for i in range(bits // 4)]


for bits in (32, 64):
    one("s_mov_b%d" % bits, bits, lambda w, a: a)
    one("s_cmov_b%d" % bits, bits, lambda w, a: a if w.scc else None)
    one("s_not_b%d" % bits, bits, nonzero(bits, lambda w, a: ~a))
    one("s_wqm_b%d" % bits, bits, nonzero(bits, lambda w, a, n=bits: sum(
        15 << 4 * i for i, q in enumerate(quads(a, n)) if q)))
    one("s_quadmask_b%d" % bits, bits, nonzero(bits, lambda w, a, n=bits: sum(
        1 << i for i, q in enumerate(quads(a, n)) if q)))
    one("s_brev_b%d" % bits, bits, lambda w, a, n=bits: reverse(a, n))
    one("s_bcnt0_i32_b%d" % bits, bits, nonzero(32, lambda w, a, n=bits: n - bin(a).count("1")), 32)
    one("s_bcnt1_i32_b%d" % bits, bits, nonzero(32, lambda w, a: bin(a).count("1")), 32)
    one("s_ff0_i32_b%d" % bits, bits, lambda w, a, n=bits: first_bit(a, n, 0), 32)
    one("s_ff1_i32_b%d" % bits, bits, lambda w, a, n=bits: first_bit(a, n, 1), 32)
    one("s_flbit_i32_b%d" % bits, bits, lambda w, a, n=bits: leading(a, n), 32)
one("s_flbit_i32", 32, lambda w, a: leading_sign(a, 32))
one("s_flbit_i32_i64", 64, lambda w, a: leading_sign(a, 64), 32)
one("s_sext_i32_i8", 32, lambda w, a: sign_extend(a, 8))
one("s_sext_i32_i16", 32, lambda w, a: sign_extend(a, 16))
one("s_abs_i32", 32, nonzero(32, lambda w, a: absolute(s32(a))))
one("s_bitreplicate_b64_b32", 32, lambda w, a: sum(3 << 2 * i for i in range(32) if a >> i & 1), 64)


@op("s_bitset0_b32 s_bitset1_b32 s_bitset0_b64 s_bitset1_b64")
def bitset(wave, i):
    bits = int(i.base[-2:])
    bit = 1 << (read(wave, i.operands[1], 32) & bits - 1)
    old = read(wave, i.operands[0], bits)
    write(wave, i.operands[0], bits, old | bit if "set1" in i.base else old & ~bit)


SAVEEXEC = {"and": lambda s, e: s & e, "or": lambda s, e: s | e, "xor": lambda s, e: s ^ e,
            "andn2": lambda s, e: s & ~e, "orn2": lambda s, e: s | ~e,
            "nand": lambda s, e: ~(s & e), "nor": lambda s, e: ~(s | e),
            "xnor": lambda s, e: ~(s ^ e), "andn1": lambda s, e: ~s & e,
            "orn1": lambda s, e: ~s | e}


def saveexec(wave, i):
    bits = int(i.base[-2:])
    mask = (1 << bits) - 1
    source = read(wave, i.operands[1], bits)
    old = wave.exec & mask
    new = SAVEEXEC[i.base.split("_")[1]](source, old) & mask
    wave.exec = new
    write(wave, i.operands[0], bits, old if "saveexec" in i.base else new)
    wave.scc = int(new != 0)


for name in SAVEEXEC:
    op("s_%s_saveexec_b64 s_%s_saveexec_b32" % (name, name))(saveexec)
op("s_andn1_wrexec_b64 s_andn2_wrexec_b64 s_andn1_wrexec_b32 s_andn2_wrexec_b32")(saveexec)


# Compares.
COMPARE = {"eq": lambda a, b: a == b, "lg": lambda a, b: a != b, "gt": lambda a, b: a > b,
           "ge": lambda a, b: a >= b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b}


def scalar_compare(wave, i):
    _, _, name, kind = i.base.split("_")
    bits = int(kind[1:])
    a, b = (read(wave, o, bits) for o in i.operands)
    if kind[0] == "i":
        a, b = sign_extend(a, bits), sign_extend(b, bits)
    wave.scc = int(COMPARE[name](a, b))


def scalar_compare_imm(wave, i):
    _, _, name, kind = i.base.split("_")
    a, b = read(wave, i.operands[0], 32), i.operands[1].value & 0xFFFF
    if kind[0] == "i":
        a, b = s32(a), sign_extend(b, 16)
    wave.scc = int(COMPARE[name](a, b))


for name in COMPARE:
    op("s_cmp_%s_i32 s_cmp_%s_u32" % (name, name))(scalar_compare)
    op("s_cmpk_%s_i32 s_cmpk_%s_u32" % (name, name))(scalar_compare_imm)
op("s_cmp_eq_u64 s_cmp_lg_u64")(scalar_compare)


@op("s_bitcmp0_b32 s_bitcmp1_b32 s_bitcmp0_b64 s_bitcmp1_b64")
def bitcmp(wave, i):
    bits = int(i.base[-2:])
    bit = read(wave, i.operands[0], bits) >> (read(wave, i.operands[1], 32) & bits - 1) & 1
    wave.scc = int(bit == int(i.base[8]))


# Immediate forms.
def immediate(operand):
    return sign_extend(operand.value, 16)


@op("s_movk_i32")
def movk(wave, i):
    write(wave, i.operands[0], 32, immediate(i.operands[1]))


@op("s_cmovk_i32")
def cmovk(wave, i):
    if wave.scc:
        write(wave, i.operands[0], 32, immediate(i.operands[1]))


@op("s_addk_i32")
def addk(wave, i):
    total = s32(read(wave, i.operands[0], 32)) + immediate(i.operands[1])
    wave.scc = int(overflows(total))
    write(wave, i.operands[0], 32, total)


@op("s_mulk_i32")
def mulk(wave, i):
    write(wave, i.operands[0], 32, s32(read(wave, i.operands[0], 32)) * immediate(i.operands[1]))


def hwreg(operand):
    m = re.fullmatch(r"hwreg\(HW_REG_(\w+)(?:,\s*(\d+),\s*(\d+))?\)", operand.text)
    return m[1], int(m[2] or 0), int(m[3] or 32)


@op("s_getreg_b32")
def getreg(wave, i):
    name, offset, size = hwreg(i.operands[1])
    assert name == "MODE"
    write(wave, i.operands[0], 32, wave.mode >> offset & (1 << size) - 1)


@op("s_setreg_b32 s_setreg_imm32_b32")
def setreg(wave, i):
    name, offset, size = hwreg(i.operands[0])
    assert name == "MODE" and offset + size <= 10
    mask = (1 << size) - 1
    value = read(wave, i.operands[1], 32) & mask
    wave.mode = wave.mode & ~(mask << offset) | value << offset


@op("s_round_mode")
def round_mode(wave, i):
    wave.mode = wave.mode & ~0xF | i.operands[0].value & 0xF


@op("s_denorm_mode")
def denorm_mode(wave, i):
    wave.mode = wave.mode & ~0xF0 | (i.operands[0].value & 0xF) << 4


# Relative moves: the register number plus m0.
@op("s_movrels_b32 s_movrels_b64")
def movrels(wave, i):
    bits = int(i.base[-2:])
    index = i.operands[1].index + wave.m0
    value = wave.read_scalar64(index) if bits == 64 else wave.read_scalar(index)
    write(wave, i.operands[0], bits, value)


@op("s_movreld_b32 s_movreld_b64")
def movreld(wave, i):
    bits = int(i.base[-2:])
    index = i.operands[0].index + wave.m0
    value = read(wave, i.operands[1], bits)
    if bits == 64:
        wave.write_scalar64(index, value)
    else:
        wave.write_scalar(index, value)


@op("s_movrelsd_2_b32")
def movrelsd_2(wave, i):
    source = i.operands[1].index + (wave.m0 & 0x3FF)
    wave.write_scalar(i.operands[0].index + (wave.m0 >> 16 & 0x3FF), wave.read_scalar(source))


# Program flow. The program counter that an instruction sees is that of the next one.
def branch_target(wave, operand):
    return wave.next_pc + 4 * sign_extend(operand.value, 16)


@op("s_branch")
def branch(wave, i):
    wave.next_pc = branch_target(wave, i.operands[0])


def conditional(name, condition):
    @op("s_cbranch_" + name)
    def run(wave, i):
        if condition(wave):
            wave.next_pc = branch_target(wave, i.operands[0])


conditional("scc0", lambda w: not w.scc)
conditional("scc1", lambda w: w.scc)
conditional("vccz", lambda w: w.read_mask(106) == 0)
conditional("vccnz", lambda w: w.read_mask(106) != 0)
conditional("execz", lambda w: w.read_mask(126) == 0)
conditional("execnz", lambda w: w.read_mask(126) != 0)


@op("s_getpc_b64")
def getpc(wave, i):
    write(wave, i.operands[0], 64, wave.next_pc)


@op("s_setpc_b64")
def setpc(wave, i):
    wave.next_pc = read(wave, i.operands[0], 64)


@op("s_swappc_b64")
def swappc(wave, i):
    target = read(wave, i.operands[1], 64)
    write(wave, i.operands[0], 64, wave.next_pc)
    wave.next_pc = target


@op("s_call_b64")
def call(wave, i):
    target = branch_target(wave, i.operands[1])
    write(wave, i.operands[0], 64, wave.next_pc)
    wave.next_pc = target


@op("s_subvector_loop_begin")
def subvector_begin(wave, i):
    """A loop that runs a wave64 as two halves: first the low one, the high half of exec is kept."""
    low, high = wave.exec & MASK32, wave.exec >> 32
    if wave.exec == 0:
        wave.next_pc = branch_target(wave, i.operands[1])
    elif low == 0:
        write(wave, i.operands[0], 32, low)
    else:
        write(wave, i.operands[0], 32, high)
        wave.exec = low


@op("s_subvector_loop_end")
def subvector_end(wave, i):
    low, high = wave.exec & MASK32, wave.exec >> 32
    saved = read(wave, i.operands[0], 32)
    if high:
        wave.exec = high << 32 | saved
    elif saved:
        wave.exec = saved << 32
        write(wave, i.operands[0], 32, low)
        wave.next_pc = branch_target(wave, i.operands[1])


@op("s_cbranch_cdbgsys s_cbranch_cdbguser s_cbranch_cdbgsys_or_user s_cbranch_cdbgsys_and_user")
def debug_branch(wave, i):
    """No debugger: never taken."""


@op("s_rfe_b64 s_rfe_restore_b64")
def rfe(wave, i):
    wave.next_pc = read(wave, i.operands[0], 64)


@op("s_endpgm s_endpgm_saved s_endpgm_ordered_ps_done")
def endpgm(wave, i):
    wave.next_pc = wave.end


@op("s_setkill")
def setkill(wave, i):
    if i.operands[0].value & 1:
        wave.next_pc = wave.end


@op("s_sethalt s_setvskip")
def clear_bit(wave, i):
    """Cases only clear what is clear."""


@op("s_trap")
def trap(wave, i):
    raise Stopped("trap")


# gfx9's divergence by a stack in scalar registers: MODE.CSP (bits 31 to 29) counts its entries.
def fork(wave, mask, target):
    taken, other = mask & wave.exec, ~mask & wave.exec
    csp = wave.mode >> 29
    if taken == wave.exec:
        wave.next_pc = target
    elif other == wave.exec:
        pass
    else:
        first_other = bin(other).count("1") < bin(taken).count("1")
        kept = (target, taken) if first_other else (wave.next_pc, other)
        wave.write_scalar64(4 * csp, kept[1])
        wave.write_scalar64(4 * csp + 2, kept[0])
        wave.mode = wave.mode & 0x1FFFFFFF | (csp + 1 & 7) << 29
        wave.exec = other if first_other else taken
        if not first_other:
            wave.next_pc = target


@op("s_cbranch_i_fork")
def i_fork(wave, i):
    fork(wave, read(wave, i.operands[0], 64), branch_target(wave, i.operands[1]))


@op("s_cbranch_g_fork")
def g_fork(wave, i):
    fork(wave, read(wave, i.operands[0], 64), read(wave, i.operands[1], 64))


@op("s_cbranch_join")
def join(wave, i):
    csp = wave.mode >> 29
    if csp == read(wave, i.operands[0], 32):
        return
    csp -= 1
    wave.mode = wave.mode & 0x1FFFFFFF | csp << 29
    wave.exec = wave.read_scalar64(4 * csp)
    wave.next_pc = wave.read_scalar64(4 * csp + 2)


# gfx9's register indexing.
@op("s_set_gpr_idx_on")
def gpr_idx_on(wave, i):
    bits = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}
    names = re.findall(r"SRC\d|DST", i.operands[1].text)
    mode = sum(bits[n] for n in names)
    wave.m0 = wave.m0 & ~0xF0FF | read(wave, i.operands[0], 32) & 0xFF | mode << 12
    wave.mode |= 1 << 27


@op("s_set_gpr_idx_idx")
def gpr_idx_idx(wave, i):
    wave.m0 = wave.m0 & ~0xFF | read(wave, i.operands[0], 32) & 0xFF


@op("s_set_gpr_idx_mode")
def gpr_idx_mode(wave, i):
    bits = {"SRC0": 1, "SRC1": 2, "SRC2": 4, "DST": 8}
    mode = sum(bits[n] for n in re.findall(r"SRC\d|DST", i.operands[0].text))
    wave.m0 = wave.m0 & ~0xF000 | mode << 12


@op("s_set_gpr_idx_off")
def gpr_idx_off(wave, i):
    wave.mode &= ~(1 << 27)


# Without an effect that the state shows.
NOTHING = """s_nop s_waitcnt s_sleep s_setprio s_icache_inv s_dcache_inv s_dcache_wb s_barrier
s_inst_prefetch s_clause s_waitcnt_depctr s_waitcnt_vscnt s_waitcnt_vmcnt s_waitcnt_expcnt
s_waitcnt_lgkmcnt s_ttracedata_imm s_ttracedata s_version s_gl1_inv s_incperflevel s_decperflevel
s_dcache_wb_vol s_dcache_inv_vol s_wakeup buffer_gl0_inv buffer_gl1_inv buffer_wbl2 buffer_inv
buffer_wbinvl1 buffer_wbinvl1_vol buffer_invl2 v_nop v_pipeflush v_clrexcp s_atc_probe
s_atc_probe_buffer s_dcache_discard s_dcache_discard_x2 s_sendmsg ds_gws_init ds_gws_sema_v
ds_gws_sema_br ds_gws_sema_p ds_gws_sema_release_all ds_gws_barrier"""
op(NOTHING)(lambda wave, i: None)
