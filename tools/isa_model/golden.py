# SPDX-License-Identifier: MIT
"""Cases: what they are, how they are encoded (by llvm-mc), run through the model, and written.
tests/golden/isa/README.md describes the files."""

import re
import shutil
import subprocess

import asm
import machine
import vectors
from softfloat import nibbles
from state import CODE, MASK32, SGPRS, Stopped, Wave

CONFIGS = (("gfx942", 64), ("gfx90a", 64), ("gfx950", 64), ("gfx1030", 64), ("gfx1030", 32),
           ("gfx1100", 64), ("gfx1100", 32), ("gfx1201", 64), ("gfx1201", 32))
HEADER = "# SPDX-License-Identifier: MIT\n# Made by tools/isa_model/generate.py: do not edit.\n"


class Case:
    def __init__(self, name, lines, inputs, configs, optional, expect):
        self.name = name
        self.optional = optional
        self.expect = expect
        self.lines = lines
        self.inputs = inputs
        self.configs = configs
        self.code = {}  # config -> list of bytes objects, one per line


class Book:
    """All cases, by file."""

    def __init__(self):
        self.files = {}
        self.names = {}
        self.current = None

    def file(self, name):
        assert name not in self.files, name
        self.current = self.files[name] = []

    def add(self, text, inputs="", wave=None, target=None, name=None, optional=False,
            expect=None):
        """`text`: instructions separated by `;`. %vcc, %exec and %s4 stand for a lane mask: a pair
        in wave64, its first register in wave32. Configurations that cannot assemble the text drop
        out; a case that no one can assemble is an error unless it is `optional`. `target` is one or
        the beginning of several ("gfx9"). `expect(wave)`, if given, says what comes out instead of
        running the model."""
        lines = [line.strip() for line in text.split(";") if line.strip()]
        name = name or asm.parse(lines[0].replace("%", "")).base
        number = self.names.get(name, 0)
        self.names[name] = number + 1
        configs = [c for c in CONFIGS
                   if (wave is None or c[1] == wave)
                   and (target is None or c[0].startswith(target))]
        inputs = " ".join(inputs.split())
        self.current.append(Case("%s.%d" % (name, number), lines, inputs, configs, optional,
                                 expect))


def spell(line, wave_size):
    def mask(match):
        name = match[1]
        if name in ("vcc", "exec"):
            return name if wave_size == 64 else name + "_lo"
        first = int(name[1:])
        return "s[%d:%d]" % (first, first + 1) if wave_size == 64 else "s%d" % first

    return re.sub(r"%(vcc|exec|s\d+)", mask, line)


def translate(line, target):
    """As the target's assembler wants it. The model reads the line as it was."""
    if target not in ("gfx1100", "gfx1201"):
        return line
    # Until gfx10 the assembler's 0 set the bit.
    line = line.replace("bound_ctrl:0", "bound_ctrl:1")
    # One instruction for all signs, of which the old name is the unsigned one.
    m = re.match(r"(v_dot[48]_i32_i)([84])( [^,]*,[^,]*,[^,]*,\s*\S+)(.*)", line)
    if m:
        line = "%su%s%s neg_lo:[1,1,0]%s" % m.groups()
    if target == "gfx1100":
        return line
    m = re.match(r"(v_cvt_sr_\S+8_f32.*) op_sel:\[0,0,([01]),([01])\]", line)
    if m:
        line = "%s byte_sel:%d" % (m[1], int(m[2]) + 2 * int(m[3]))
    if "_atomic_" in line:
        line = re.sub(r" glc\b", " th:TH_ATOMIC_RETURN", line)
    if re.match(r"t?buffer_", line):  # no constants as scalar offset
        line = re.sub(r"(s\[\d+:\d+\]), 0\b", r"\1, null", line)
    return line


# Encoding.
def find_llvm_mc(given):
    if given:
        return given.split()
    for name in ["llvm-mc"] + ["llvm-mc-%d" % n for n in range(30, 16, -1)]:
        if shutil.which(name):
            return [name]
    return None


def version(llvm_mc):
    """Its major version."""
    text = subprocess.run(llvm_mc + ["--version"], capture_output=True, text=True).stdout
    m = re.search(r"LLVM version (\d+)", text)
    return int(m[1]) if m else 0


def command_for(llvm_mc, config, halves=False):
    target, wave_size = config
    command = llvm_mc + ["-triple=amdgcn-amd-amdhsa", "-mcpu=" + target, "-show-encoding"]
    if target.startswith("gfx1"):
        command.append("-mattr=+wavefrontsize%d,-wavefrontsize%d" % (wave_size, 96 - wave_size))
    # 16 bit registers as gfx10 writes them, v5 instead of v5.l, unless a line has halves.
    if target in ("gfx1100", "gfx1201"):
        command[-1] += ",%sreal-true16" % "-+"[halves]
    return command


def absent(llvm_mc, config, names):
    """Those of the mnemonics that a target does not have."""
    text = "".join(name + "\n" for name in names)
    done = subprocess.run(command_for(llvm_mc, config), input=text, capture_output=True, text=True)
    missing = set()
    for line in done.stderr.splitlines():
        m = re.match(r"<stdin>:(\d+):\d+: error: (.*)", line)
        if m and ("not supported on this GPU" in m[2] or "invalid instruction" in m[2]):
            missing.add(names[int(m[1]) - 1])
    return missing


HALF = re.compile(r"\bv\d+\.[lh]\b")


def assemble(llvm_mc, config, lines):
    """line -> bytes, without those that this target has not."""
    found = {}
    for halves in (False, True):
        found.update(assemble_all(command_for(llvm_mc, config, halves),
                                  [line for line in lines if bool(HALF.search(line)) == halves]))
    return found


def assemble_all(command, lines):
    # A label before each line ties an encoding to it, for lines that fail print nothing.
    text = "".join("l%d:\n%s\n" % (i, line) for i, line in enumerate(lines))
    done = subprocess.run(command, input=text, capture_output=True, text=True)
    found, label = {}, None
    for line in done.stdout.splitlines():
        m = re.match(r"l(\d+):", line)
        if m:
            label = int(m[1])
        m = re.search(r"encoding: \[([^\]]*)\]", line)
        if m:
            found[lines[label]] = bytes(int(b, 16) for b in m[1].split(","))
    return found


def assemble_cases(book, llvm_mc):
    """(config, line of a case) -> bytes"""
    encodings = {}
    for config in CONFIGS:
        wanted = {line: translate(spell(line, config[1]), config[0])
                  for cases in book.files.values() for case in cases if config in case.configs
                  for line in case.lines}
        found = assemble(llvm_mc, config, sorted(set(wanted.values())))
        encodings.update({(config, line): found[text] for line, text in wanted.items()
                          if text in found})
    return encodings


def encode(book, encodings):
    for cases in book.files.values():
        for case in cases:
            for config in case.configs:
                code = [encodings.get((config, line)) for line in case.lines]
                if None not in code:
                    case.code[config] = code
    bad = ["%s: %s" % (case.name, "; ".join(case.lines)) for cases in book.files.values()
           for case in cases if not case.code and not case.optional]
    if bad:
        raise SystemExit("no encoding (new cases need generate.py --encodings)\n  "
                         + "\n  ".join(bad))
    for cases in book.files.values():
        cases[:] = [case for case in cases if case.code]


def encodings_text(book):
    """The encodings that the cases need, a line of assembly each with a column per configuration:
    its bytes, "=" where they are those of the column before, "-" where it has none."""
    used = {}
    for cases in book.files.values():
        for case in cases:
            for config, code in case.code.items():
                for line, part in zip(case.lines, code):
                    used.setdefault(line, {})[config] = part.hex()
    text = ["# line of assembly: " + " ".join("%s/%d" % config for config in CONFIGS)]
    for line in sorted(used):
        columns, last = [], None
        for config in CONFIGS:
            code = used[line].get(config, "-")
            columns.append("=" if code == last != "-" else code)
            last = code
        text.append("%s: %s" % (line, " ".join(columns)))
    return "\n".join(text) + "\n"


def read_encodings(text):
    encodings = {}
    for row in text.splitlines():
        if row.startswith("#"):
            continue
        line, _, columns = row.rpartition(": ")
        code = None
        for config, column in zip(CONFIGS, columns.split()):
            code = code if column == "=" else column
            if code != "-":
                encodings[config, line] = bytes.fromhex(code)
    return encodings


# Inputs.
def apply_inputs(wave, inputs):
    for item in inputs.split():
        key, _, value = item.partition("=")
        if key == "mem" and not value:
            wave.map_memory()
        elif key.startswith("mem@"):
            if not wave.memory:
                wave.map_memory()
            put_vector(lambda a, x: wave.store(a, 4, x), int(key[4:], 16), value)
        elif key.startswith("lds@"):
            put_vector(lambda a, x: wave.store_lds(a, 4, x), int(key[4:], 16), value)
        elif key[0] in "va" and key[1:].isdigit():
            wave.vector(key[0], int(key[1:]))[:] = vectors.vector(value)
        elif key[0] == "s" and key[1:].isdigit():
            wave.sgpr[int(key[1:])] = int(value, 16)
        elif key == "scratch":
            wave.scratch = tuple(int(x, 16) for x in value.split(","))
        elif key == "exec":
            wave.exec = int(value, 16) & wave.full
        elif key in ("vcc", "m0", "scc", "mode"):
            setattr(wave, key, int(value, 16))
        else:
            raise ValueError(item)


def put_vector(store, address, name):
    for i, x in enumerate(vectors.vector(name)):
        store(address + 4 * i, x)


def make_wave(case, config):
    wave = Wave(*config)
    wave.vgpr, wave.agpr = {}, {}
    apply_inputs(wave, case.inputs)
    return wave


# Running and writing.
def run_case(case, config):
    """The `out` lines of a case, and whether another target of the family may differ."""
    before = make_wave(case, config)
    wave = make_wave(case, config)
    program, address = {}, CODE
    for line, code in zip(case.lines, case.code[config]):
        program[address] = (asm.parse(spell(line, config[1])), len(code))
        address += len(code)
    lines = []
    try:
        if case.expect:
            case.expect(wave)
        else:
            machine.run(wave, program, address)
    except Stopped as stop:
        lines.append("out stopped %s" % stop)
    except Exception as error:
        raise type(error)("%s (%s): %s" % (case.name, "; ".join(case.lines), error)) from error
    for kind, bank, old in (("v", wave.vgpr, before), ("a", wave.agpr, before)):
        for index in sorted(bank):
            lines += vector_lines(wave, kind, index, old.vector(kind, index), bank[index])
    changed = [index for index in range(SGPRS) if before.sgpr[index] != wave.sgpr[index]]
    for index in sorted({*changed, *wave.masks, 106, 107, 124, 126, 127}):
        a, b = before.read_scalar(index), wave.read_scalar(index)
        fixed = wave.masks.get(index, MASK32)
        if a != b or fixed != MASK32:
            name = {106: "vcc_lo", 107: "vcc_hi", 124: "m0", 126: "exec_lo",
                    127: "exec_hi"}.get(index, "s%d" % index)
            text = "out %s %08x" % (name, b & fixed)
            lines.append(text if fixed == MASK32 else text + " mask %08x" % fixed)
    for name in ("scc", "mode"):
        if getattr(before, name) != getattr(wave, name):
            lines.append("out %s %x" % (name, getattr(wave, name)))
    lines += memory_lines("lds", 0, before.lds, wave.lds, wave.lds_patterns)
    for base in wave.memory:
        lines += memory_lines("mem", base, before.memory[base], wave.memory[base],
                              wave.memory_patterns)
    return lines, wave.asked


def vector_lines(wave, kind, index, old, new):
    tokens = []
    for lane in range(wave.wave_size):
        tokens.append("." if old[lane] == new[lane] else nibbles(new[lane], 32))
    if all(t == "." for t in tokens):
        return []
    head = "out %s%d" % (kind, index)
    if kind == "v" and index in wave.ulp:
        head += " ulp %s %s" % wave.ulp[index]
    lines = [head]
    for i in range(0, wave.wave_size, 8):
        part = tokens[i:i + 8]
        lines.append(" " + ("." if all(t == "." for t in part) else " ".join(part)))
    return lines


def memory_lines(kind, base, old, new, patterns):
    if old == new and not patterns:
        return []
    changed = {address - base for address in patterns}
    block = 256  # most of the memory is as it was
    for start in range(0, len(new), block):
        if old[start:start + block] != new[start:start + block]:
            changed.update(at for at in range(start, start + block, 4)
                           if old[at:at + 4] != new[at:at + 4])
    lines, last = [], None
    for at in sorted(changed):
        pattern = patterns.get(base + at)
        text = pattern.text if pattern else "%08x" % int.from_bytes(new[at:at + 4], "little")
        if last is None or at != last + 4 or lines[-1].count(" ") == 10:
            lines.append("out %s %x" % (kind, base + at))
        lines[-1] += " " + text
        last = at
    return lines


def narrow(lines):
    """A wave64 result cut down to 32 lanes, to see whether wave32 differs; None if it must."""
    out, i = [], 0
    while i < len(lines):
        if re.match(r"out [va]\d", lines[i]):
            part = lines[i + 1:i + 5]
            if any(p != " ." for p in part):
                out += [lines[i]] + part
            i += 9
        else:
            out.append(lines[i])
            i += 1
    return out


def case_text(case):
    text = ["case " + case.name]
    text += ["asm " + line for line in case.lines]
    if case.inputs:
        text.append("in " + case.inputs)
    groups = []  # (configs, lines)
    known_family = {}  # family and sizes of the code -> lines
    for config in case.code:
        family = (config[0][:4], config[1], tuple(len(c) for c in case.code[config]))
        lines = known_family.get(family)
        if lines is None:
            lines, differs = run_case(case, config)
            if not differs and family[0] == "gfx9":
                known_family[family] = lines
        for configs, known in groups:
            if known == lines or (config[1] == 32 and configs[0][1] == 64
                                  and narrow(known) == lines):
                configs.append(config)
                break
        else:
            groups.append(([config], lines))
    for configs, lines in groups:
        for config in configs:
            text.append("run %s/%d %s" % (config + (",".join(c.hex() for c in case.code[config]),)))
        text += lines or ["out nothing"]
    text.append("end")
    return "\n".join(text) + "\n"
