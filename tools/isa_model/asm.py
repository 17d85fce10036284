# SPDX-License-Identifier: MIT
"""Reads one line of AMDGPU assembly, as LLVM writes it, into mnemonic, operands and modifiers.
The model executes text, not encodings, so that it shares nothing with the decoder under test."""

import re

SCALAR_NAMES = {"vcc_lo": 106, "vcc_hi": 107, "m0": 124, "null": 125, "exec_lo": 126,
                "exec_hi": 127}
SCALAR_PAIRS = {"vcc": 106, "exec": 126}
SPECIAL = {"src_shared_base", "src_shared_limit", "src_private_base", "src_private_limit",
           "src_vccz", "src_execz", "src_scc", "vccz", "execz", "scc", "off"}
SUFFIXES = ("_e32", "_e64_dpp", "_e64", "_dpp8", "_dpp", "_sdwa")
FLAGS = {"clamp", "glc", "slc", "dlc", "sc0", "sc1", "nt", "offen", "idxen", "addr64", "gds", "lds",
         "off", "tfe"}


class Operand:
    def __init__(self, kind, index=0, count=1, value=None, text=""):
        self.kind = kind    # v, s, a, int, float, special, text
        self.index = index  # of the first register
        self.count = count  # registers
        self.value = value  # of a constant
        self.text = text
        self.neg = self.abs = self.sext = False
        self.half = ""      # "l" or "h" of v5.l

    def __repr__(self):
        return "Operand(%s %d:%d %r)" % (self.kind, self.index, self.count, self.text)


class Instruction:
    def __init__(self, mnemonic, operands, modifiers, text):
        self.mnemonic = mnemonic
        self.operands = operands
        self.modifiers = modifiers
        self.text = text
        self.form = ""
        self.second = None  # the other half of a pair
        self.base = mnemonic
        for suffix in SUFFIXES:
            if mnemonic.endswith(suffix):
                self.base = mnemonic[:-len(suffix)]
                self.form = suffix[1:]
                break


def parse_operand(text):
    text = text.strip()
    if text.startswith("sext(") and text.endswith(")"):
        operand = parse_operand(text[5:-1])
        operand.sext = True
        return operand
    if text.startswith("-") and not re.match(r"-[0-9.]", text):
        operand = parse_operand(text[1:])
        operand.neg = True
        return operand
    if text.startswith("|") and text.endswith("|"):
        operand = parse_operand(text[1:-1])
        operand.abs = True
        return operand
    m = re.fullmatch(r"v(\d+)\.([lh])", text)
    if m:
        operand = Operand("v", int(m[1]), 1, text=text)
        operand.half = m[2]
        return operand
    m = re.fullmatch(r"([vsa])(\d+)", text)
    if m:
        return Operand(m[1], int(m[2]), 1, text=text)
    m = re.fullmatch(r"([vsa])\[(\d+):(\d+)\]", text)
    if m:
        return Operand(m[1], int(m[2]), int(m[3]) - int(m[2]) + 1, text=text)
    if text in SCALAR_NAMES:
        return Operand("s", SCALAR_NAMES[text], 1, text=text)
    if text in SCALAR_PAIRS:
        return Operand("s", SCALAR_PAIRS[text], 2, text=text)
    if text in SPECIAL:
        return Operand("special", text=text)
    if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", text):
        return Operand("int", value=int(text, 0), text=text)
    if re.fullmatch(r"-?\d+\.\d+", text):
        return Operand("float", value=float(text), text=text)
    return Operand("text", text=text)


def split_top(text, separators):
    """Splits at separators outside brackets."""
    parts, depth, current = [], 0, ""
    for c in text:
        depth += c in "[("
        depth -= c in "])"
        if c in separators and not depth:
            parts.append(current)
            current = ""
        else:
            current += c
    parts.append(current)
    return [p for p in (p.strip() for p in parts) if p]


def parse_modifier(text):
    """(name, value) of `clamp`, `mul:2`, `op_sel:[0,1]`; None if it is no modifier."""
    if text in FLAGS:
        return text, True
    m = re.fullmatch(r"([a-z_0-9]+):(.+)", text)
    if m:
        value = m[2]
        if value.startswith("swizzle("):
            return m[1], value.replace(" ", "")
        if value.startswith("["):
            inside = value[1:-1]
            if not re.fullmatch(r"[0-9,x ]+", inside):
                return m[1], value
            return m[1], [int(x, 0) for x in inside.split(",")]
        if re.fullmatch(r"-?(0x[0-9a-fA-F]+|\d+)", value):
            return m[1], int(value, 0)
        return m[1], value
    if text in ("row_mirror", "row_half_mirror"):
        return text, True
    return None


def parse(line):
    line = line.strip()
    if " :: " in line:
        first, second = (parse(part) for part in line.split(" :: "))
        first.second = second
        return first
    mnemonic, _, rest = line.partition(" ")
    operands, modifiers = [], {}
    if mnemonic.startswith(("s_waitcnt", "s_delay_alu", "s_wait_")):
        return Instruction(mnemonic, operands, modifiers, line)
    for piece in split_top(rest, ","):
        words = split_top(piece, " ")
        head = words[0]
        if parse_modifier(head) and head != "off":
            start = 0
        else:
            operands.append(parse_operand(head))
            start = 1
        for word in words[start:]:
            found = parse_modifier(word)
            if not found:
                raise ValueError("modifier %r in %r" % (word, line))
            modifiers[found[0]] = found[1]
    return Instruction(mnemonic, operands, modifiers, line)
