# SPDX-License-Identifier: MIT
"""How a vector ALU instruction runs: operands, input and output modifiers, DPP, SDWA, op_sel, and
what happens to the lanes and halves that it does not write. Rows are added with `row`."""

import copy
import functools
from fractions import Fraction as fraction

from softfloat import (BF16, F16, F32, F64, Env, Pattern, from_nibbles, nibbles, pow2, unknown)
from state import MASK32, MASK64

ROWS = {}
FORMATS = {"f16": F16, "f32": F32, "f64": F64, "bf16": BF16}


class Row:
    def __init__(self, dst, src, function, flags):
        self.dst = dst
        self.src = src
        self.function = function
        self.flags = flags


def row(names, types, function, **flags):
    """`types` is "dst[ dst2] : src src src". A type is f16 f32 f64 u16 i16 b16 u32 i32 b32 u64 i64
    b64, pk (two halves in a dword), v2 (two f32), mask (a lane mask), lane/sreg (a scalar)."""
    dst, _, src = types.partition(":")
    for name in names.split():
        assert name not in ROWS, name
        ROWS[name] = Row(dst.split(), src.split(), function, flags)


@functools.lru_cache(None)
def width_of(kind):
    if kind in ("pk", "sreg"):
        return 32
    if kind in ("v2", "mask"):
        return 64
    if kind == "b128":
        return 128
    return int(kind.lstrip("ubfi"))


class Context:
    """What a row's function may ask for besides its sources."""

    def __init__(self, wave, instruction, lane):
        self.wave = wave
        self.instruction = instruction
        self.lane = lane
        self.old = None  # the destination's previous value

    def env(self, fmt):
        return Env(self.wave.mode, fmt)

    @property
    def ieee(self):
        return self.wave.ieee

    @property
    def modifiers(self):
        return self.instruction.modifiers


def constant(operand, kind):
    """The bits of an inline constant or literal for a source of this type."""
    width = width_of(kind)
    if operand.kind == "float":
        if kind in ("pk",):
            return F16.round(fraction(operand.value))
        if kind == "v2":
            return F32.round(fraction(operand.value))
        fmt = {16: F16, 32: F32, 64: F64}[width]
        return fmt.round(fraction(operand.value))
    value = operand.value
    if -16 <= value <= 64:  # an inline integer, sign extended to the operand's size
        return value & ((1 << width) - 1)
    if width == 64:
        if kind == "f64":
            return (value & MASK32) << 32
        if kind == "i64":
            return (value & MASK32 ^ 0x80000000) - 0x80000000 & MASK64
        return value & MASK32
    return value & ((1 << width) - 1)


def special_value(wave, name):
    if name in ("src_scc", "scc"):
        return wave.scc
    if name in ("src_vccz", "vccz"):
        return int(wave.read_mask(106) == 0)
    if name in ("src_execz", "execz"):
        return int(wave.read_mask(126) == 0)
    raise ValueError(name)


def read_source(wave, operand, kind, lane):
    """The raw bits of a source, as wide as its type."""
    width = width_of(kind)
    if operand.kind in ("int", "float"):
        return constant(operand, kind)
    if operand.kind == "special":
        return special_value(wave, operand.text)
    count = max(1, width // 32)
    value = 0
    for i in range(count):
        if operand.kind == "s":
            if i >= operand.count:
                break
            part = wave.read_scalar(operand.index + i)
        else:
            part = wave.read_vector(operand.kind, operand.index + i, lane)
        value |= part << 32 * i
    return value


def sign_extend(value, bits):
    value &= (1 << bits) - 1
    return value - (1 << bits) if value >> (bits - 1) else value


# DPP: which lane the first source comes from; None if there is none.
def dpp_lane(wave, modifiers, lane):
    row, in_row = lane & ~15, lane & 15
    if "quad_perm" in modifiers:
        return lane & ~3 | modifiers["quad_perm"][lane & 3]
    if "row_shl" in modifiers:
        source = in_row + modifiers["row_shl"]
        return row + source if source < 16 else None
    if "row_shr" in modifiers:
        source = in_row - modifiers["row_shr"]
        return row + source if source >= 0 else None
    if "row_ror" in modifiers:
        return row + (in_row - modifiers["row_ror"] & 15)
    if "row_mirror" in modifiers:
        return row + 15 - in_row
    if "row_half_mirror" in modifiers:
        return lane & ~7 | 7 - (lane & 7)
    if "row_share" in modifiers:
        return row + modifiers["row_share"]
    if "row_xmask" in modifiers:
        return row + (in_row ^ modifiers["row_xmask"])
    if "row_newbcast" in modifiers:
        return row + modifiers["row_newbcast"]
    if "wave_shl" in modifiers:
        return lane + 1 if lane + 1 < wave.wave_size else None
    if "wave_shr" in modifiers:
        return lane - 1 if lane else None
    if "wave_rol" in modifiers:
        return (lane + 1) % wave.wave_size
    if "wave_ror" in modifiers:
        return (lane - 1) % wave.wave_size
    if "row_bcast" in modifiers:
        if modifiers["row_bcast"] == 15:
            return row - 1 if row else None
        return 31 if lane >= 32 else None
    if "dpp8" in modifiers:
        return lane & ~7 | modifiers["dpp8"][lane & 7]
    raise ValueError("no DPP control")


def dpp_source(wave, instruction, operand, kind, lane):
    """(value, lane is written) of a DPP source."""
    m = instruction.modifiers
    if not m.get("row_mask", 15) >> (lane >> 4) & 1 or not m.get("bank_mask", 15) >> (
            lane >> 2 & 3) & 1:
        return 0, False
    source = dpp_lane(wave, m, lane)
    valid = source is not None and (wave.exec >> source & 1 or m.get("fi", 0))
    if valid:
        return read_source(wave, operand, kind, source) & (1 << width_of(kind)) - 1, True
    if "dpp8" in m:
        return 0, True
    return 0, "bound_ctrl" in m


# SDWA: which part of a dword an operand is.
SELECT = {"BYTE_0": (0, 8), "BYTE_1": (8, 8), "BYTE_2": (16, 8), "BYTE_3": (24, 8),
          "WORD_0": (0, 16), "WORD_1": (16, 16), "DWORD": (0, 32)}


def sdwa_select(value, select, sext, width):
    shift, bits = SELECT[select]
    value = value >> shift & ((1 << bits) - 1)
    if sext:
        value = sign_extend(value, bits)
    return value & ((1 << max(width, 16)) - 1) & ((1 << width) - 1)


def sdwa_write(old, value, modifiers, width):
    shift, bits = SELECT[modifiers.get("dst_sel", "DWORD")]
    if bits == 32:
        return value
    text = nibbles(value, width).rjust(8, "0")[-(bits // 4):]
    unused = modifiers.get("dst_unused", "UNUSED_PAD")
    low, high = shift // 4, shift // 4 + bits // 4
    if unused == "UNUSED_PRESERVE":
        base = nibbles(old, 32)
    elif unused == "UNUSED_SEXT":
        top = int(nibbles(value, width).rjust(8, "0")[-(bits // 4)], 16) >> 3
        base = "0" * 8 if not top else "f" * (8 - high) + "0" * high
    else:
        base = "0" * 8
    return from_nibbles(base[:8 - high] + text + base[8 - low:])


# On gfx9 most 16 bit operations clear the upper half of their destination; on gfx10 all keep it.
# For those marked `high="?"` the documents and compilers disagree, so the half is not fixed.
def merge_high(wave, row_, old, value, modifiers, operands_in):
    op_sel = modifiers.get("op_sel")
    low = nibbles(value, 16)
    if op_sel and len(op_sel) > operands_in and op_sel[operands_in]:
        return from_nibbles(low + nibbles(old, 32)[4:])
    high = row_.flags.get("high", "zero")
    if wave.gfx10:
        high = row_.flags.get("high10", "keep")
    kept = {"zero": "0000", "keep": nibbles(old, 32)[:4], "?": "????"}[high]
    return from_nibbles(kept + low)


def apply_input(value, operand, kind, fmt=None):
    if kind in FORMATS:
        fmt = FORMATS[kind]
    if not fmt:
        assert not operand.abs and (not operand.neg or kind[0] in "f"), operand
        return value
    if operand.abs:
        value &= ~fmt.sign_bit
    if operand.neg:
        value ^= fmt.sign_bit
    return value


def apply_output(wave, instruction, kind, value):
    """omod and clamp."""
    m = instruction.modifiers
    fmt = FORMATS.get(kind)
    if fmt and ("mul" in m or "div" in m):
        env = Env(wave.mode, fmt)
        if not wave.ieee and not env.keep_out and not isinstance(value, Pattern):
            factor = pow2({2: 1, 4: 2}[m["mul"]]) if "mul" in m else pow2(-1)
            if fmt.is_finite(value):
                value = env.result(fmt.value(value) * factor)
                if fmt.is_zero(value):  # the sign of zero may get lost
                    value = Pattern("?" + "0" * (fmt.width // 4 - 1))
    if fmt and m.get("clamp"):
        value = clamp_float(wave, fmt, value)
    return value


def clamp_float(wave, fmt, value):
    one = fmt.round(fraction(1))
    if isinstance(value, Pattern):
        if "?" in value.text and "m" not in value.text:
            return unknown(fmt.width)
        return 0 if wave.dx10_clamp else value
    if fmt.is_nan(value):
        return 0 if wave.dx10_clamp else value
    if fmt.is_zero(value):
        return 0 if not fmt.sign(value) else unknown(fmt.width)  # the sign of a clamped -0
    if fmt.sign(value):
        return 0
    return min(value, one)


def saturate(value, kind, clamp):
    """An integer result: wrapped, or clamped to its type's range."""
    bits = width_of(kind)
    if not clamp:
        return value & ((1 << bits) - 1)
    if kind[0] == "i":
        value = max(-(1 << bits - 1), min((1 << bits - 1) - 1, value))
    else:
        value = max(0, min((1 << bits) - 1, value))
    return value & ((1 << bits) - 1)


def indexed(wave, operands):
    """gfx9's register indexing: m0 says which vector operands move, and how far."""
    if not wave.gfx9 or not wave.mode >> 27 & 1:
        return list(operands)
    moved = []
    for n, operand in enumerate(operands):
        bit = 8 if n == 0 else 1 << n - 1
        if operand.kind == "v" and wave.m0 >> 12 & bit:
            operand = copy.copy(operand)
            operand.index += wave.m0 & 0xFF
        moved.append(operand)
    return moved


def execute(wave, instruction):
    """Runs an instruction that works lane by lane."""
    row_ = ROWS[instruction.base]
    m = instruction.modifiers
    operands = indexed(wave, instruction.operands)
    dst_kinds, src_kinds = list(row_.dst), list(row_.src)
    compare = row_.flags.get("compare")
    if compare and len(operands) == len(src_kinds):
        dst_kinds = []  # gfx10's v_cmpx names no destination
    dst_operands = operands[:len(dst_kinds)]
    src_operands = operands[len(dst_kinds):]
    assert len(src_operands) == len(src_kinds), instruction.text
    is_dpp = instruction.form in ("dpp", "dpp8") or any(
        k in m for k in ("quad_perm", "row_shl", "row_shr", "row_ror", "row_mirror", "dpp8",
                         "row_half_mirror", "row_share", "row_xmask", "wave_shl", "wave_shr",
                         "wave_rol", "wave_ror", "row_bcast", "row_newbcast"))
    is_sdwa = instruction.form == "sdwa"
    results = []  # (lane, values)
    for lane in wave.active():
        context = Context(wave, instruction, lane)
        sources, written = [], True
        for i, (operand, kind) in enumerate(zip(src_operands, src_kinds)):
            if kind == "mask":
                sources.append(wave.read_mask(operand.index) >> lane & 1)
                continue
            if i == 0 and is_dpp:
                value, written = dpp_source(wave, instruction, operand, kind, lane)
                if not written:
                    break
            elif is_sdwa:
                raw = read_source(wave, operand, "b32" if width_of(kind) == 16 else kind, lane)
                value = sdwa_select(raw, m.get("src%d_sel" % i, "DWORD"), operand.sext,
                                    width_of(kind))
            elif width_of(kind) == 16 and operand.kind in "vsa":
                value = read_source(wave, operand, "b32", lane)
                op_sel = m.get("op_sel")
                if op_sel and op_sel[i] or operand.half == "h":
                    value >>= 16
                value &= 0xFFFF
            else:
                value = read_source(wave, operand, kind, lane)
                if operand.half:
                    value = value >> 16 * (operand.half == "h") & 0xFFFF
            if kind != "pk" and kind != "v2":
                value = apply_input(value, operand, kind, row_.flags.get("modifier_format"))
            sources.append(value)
        if not written:
            continue
        if dst_kinds and dst_kinds[0] != "mask" and dst_operands[0].kind != "s":
            context.old = old_value(wave, dst_operands[0], dst_kinds[0], lane)
            if dst_operands[0].half == "h":
                context.old >>= 16
        values = row_.function(context, *sources)
        if not isinstance(values, tuple):
            values = (values,)
        results.append((lane, values))
    if compare:
        finish_compare(wave, row_, dst_operands, results)
        return
    # Bits of a carry-out that belong to lanes that are off are not fixed, nor is a None.
    fixed = 0 if row_.flags.get("free_mask") else wave.exec & wave.full
    masks = {index: 0 for index, kind in enumerate(dst_kinds) if kind == "mask"}
    for lane, values in results:
        for index, (operand, kind) in enumerate(zip(dst_operands, dst_kinds)):
            if kind == "mask":
                if values[index] is None:
                    fixed &= ~(1 << lane)
                else:
                    masks[index] |= values[index] << lane
                continue
            value = apply_output(wave, instruction, kind, values[index])
            write_result(wave, row_, operand, kind, lane, value, instruction, len(src_kinds),
                         is_sdwa)
    for index, value in masks.items():
        wave.write_mask(dst_operands[index].index, value, fixed=fixed)


def old_value(wave, operand, kind, lane):
    value = 0
    for i in range(max(1, width_of(kind) // 32)):
        value |= wave.read_vector(operand.kind, operand.index + i, lane) << 32 * i
    return value


def write_result(wave, row_, operand, kind, lane, value, instruction, sources, is_sdwa):
    width = width_of(kind)
    if width == 16:
        old = wave.vector(operand.kind, operand.index)[lane]
        if is_sdwa and instruction.modifiers.get("dst_sel", "DWORD") != "DWORD":
            value = sdwa_write(old, value, instruction.modifiers, 16)
        elif operand.half == "h":
            value = from_nibbles(nibbles(value, 16) + nibbles(old, 32)[4:])
        else:
            value = merge_high(wave, row_, old, value, instruction.modifiers, sources)
        wave.write_vector(operand.kind, operand.index, lane, value)
    elif width == 32:
        if is_sdwa:
            old = wave.vector(operand.kind, operand.index)[lane]
            value = sdwa_write(old, value, instruction.modifiers, 32)
        wave.write_vector(operand.kind, operand.index, lane, value)
    else:
        text = nibbles(value, width)
        for i in range(width // 32):
            part = text[len(text) - 8 * i - 8:len(text) - 8 * i]
            wave.write_vector(operand.kind, operand.index + i, lane, from_nibbles(part))
    if "ulp" in row_.flags:
        fmt, ulp = row_.flags["ulp"]
        for i in range(max(1, width // 32)):
            wave.ulp[operand.index + i] = (fmt, ulp)


def finish_compare(wave, row_, dst_operands, results):
    mask = 0
    for lane, values in results:
        mask |= values[0] << lane
    if dst_operands:
        wave.write_mask(dst_operands[0].index, mask)
    if row_.flags.get("write_exec"):
        wave.write_mask(126, mask)
