#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which instructions of real code the software GPU runs: docs/softgpu-coverage.md.

usage: coverage.py collect --tool ISA_COVERAGE --source NAME=PATH [--source ...]
       coverage.py page --tool ISA_COVERAGE [--check]

`collect` looks through the code objects in the files (or folders) of each source, notes every form of instruction it
finds, with one encoding of it, and (once, or with --llvm) every instruction that LLVM knows, in
instructions/TARGET.txt. It takes minutes, and is run when a package changes; a source that is not named keeps what was
noted before.
`page` asks the interpreter about all that is noted and writes the page from it; with --check it fails if the page would
change. It takes seconds, and is run when the interpreter has learned something.
"""

import argparse
import collections
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import textwrap

import code_objects

HERE = pathlib.Path(__file__).resolve().parent
NOTES = HERE / "instructions"
PAGE = HERE.parent.parent / "docs" / "softgpu-coverage.md"
TARGETS = {"gfx90a": "MI250X", "gfx942": "MI300X", "gfx950": "MI355X", "gfx1030": "RX 6800 XT", "gfx1100": "RX 7900 XTX",
           "gfx1201": "RX 9070 XT"}
SOURCES = {"programs": "this project's test programs, thrust among them", "rocprim": "rocPRIM's and rocThrust's tests",
           "rocblas": "rocBLAS, its own kernels and Tensile's", "ggml": "llama.cpp's HIP backend"}
# Of each code object, spread over it. Tensile's hold thousands that differ in sizes alone.
FUNCTIONS = 24
# Asked for without them: a compute GPU has no use for these.
ASIDE = ("image_", "exp", "export")
# LLVM's name for words of zeros, which pad code.
PADDING = "v_illegal"


class Form:
    """One way of writing an instruction, and where it was seen."""

    def __init__(self, wave, words, mnemonics, shape):
        self.wave, self.words, self.mnemonics, self.shape = wave, words, mnemonics, shape
        self.sources = collections.Counter()


def read_notes(target):
    """(mnemonics of LLVM, {shape: Form} of the corpus)."""
    known, forms = set(), {}
    path = NOTES / f"{target}.txt"
    for line in path.read_text().splitlines() if path.exists() else []:
        kind, _, rest = line.partition(" ")
        if kind == "llvm":
            known.update(rest.split())
        elif kind == "form":
            wave, words, sources, shape = rest.split(" ", 3)
            if shape.startswith(PADDING):
                continue
            form = forms[shape] = Form(int(wave), words, None, shape)
            for source in sources.split(","):
                name, _, count = source.partition(":")
                form.sources[name] = int(count)
    return known - {PADDING}, forms


def write_notes(target, known, forms):
    NOTES.mkdir(exist_ok=True)
    lines = ["# Made by tests/coverage/coverage.py collect: what LLVM knows (mnemonics), and what code has",
             "# (wave size, encoding, how often in which source, form)."]
    lines += textwrap.wrap(" ".join(sorted(known)), 120, initial_indent="llvm ", subsequent_indent="llvm ")
    for shape, form in sorted(forms.items()):
        sources = ",".join(f"{name}:{count}" for name, count in sorted(form.sources.items()))
        lines.append(f"form {form.wave} {form.words} {sources} {shape}")
    (NOTES / f"{target}.txt").write_text("\n".join(lines) + "\n")


# --- collect

def extract(path, folder, prefix):
    """Writes the code objects below a path that are for our targets, and returns their files."""
    paths = [path] if path.is_file() else sorted(p for p in path.rglob("*") if p.is_file())
    found = []
    for file in paths:
        if "gfx" in file.name and not any(target in file.name for target in TARGETS):
            continue
        with open(file, "rb") as stream:
            data = stream.read()
        for target, code in code_objects.code_objects(data):
            if target is None or target in TARGETS:
                name = folder / f"{prefix}{len(found)}.co"
                name.write_bytes(code)
                found.append(str(name))
    return found


def collect(options):
    notes = {target: read_notes(target) for target in TARGETS}
    for target, (known, _) in notes.items():
        if known and not options.llvm:
            continue
        listed = run(options.tool, "llvm", target)
        known.clear()
        known.update(line.split()[0] for line in listed.splitlines())
        print(f"{target}: LLVM knows {len(known)} instructions", flush=True)
    cleared = set()
    for argument in options.source:
        source, _, path = argument.partition("=")
        if source not in SOURCES:
            sys.exit(f"coverage.py: no source is called '{source}': {', '.join(SOURCES)}")
        if source not in cleared:
            cleared.add(source)
            for _, forms in notes.values():
                for form in forms.values():
                    form.sources.pop(source, None)
        with tempfile.TemporaryDirectory() as folder:
            files = extract(pathlib.Path(path), pathlib.Path(folder), source)
            if not files:
                sys.exit(f"coverage.py: no code object in {path}")
            found = json.loads(run(options.tool, "objects", "--functions", str(FUNCTIONS), *files))
        for target, rows in found.items():
            forms = notes[target][1]
            for row in rows:
                if row["mnemonics"] and PADDING not in row["mnemonics"]:
                    form = forms.setdefault(row["shape"], Form(row["wave"], row["words"], None, row["shape"]))
                    form.sources[source] += row["count"]
            print(f"{target} {path}: {sum(row['count'] for row in rows)} instructions, {len(rows)} forms", flush=True)
    for target, (known, forms) in notes.items():
        write_notes(target, known, {shape: form for shape, form in forms.items() if form.sources})


def run(tool, *arguments, text=None):
    return subprocess.run([tool, *arguments], input=text, stdout=subprocess.PIPE, text=True, check=True).stdout


# --- page

class Target:
    """What the interpreter says about a target's notes."""

    def __init__(self, tool, name):
        self.name = name
        known, forms = read_notes(name)
        rows = json.loads(run(tool, "forms", name, text="".join(
            f"{form.wave} {form.words}\n" for form in forms.values())))
        self.seen = {}        # mnemonic -> sources
        self.refused = {}     # mnemonic -> [(reason, times)]
        self.forms = len(forms)
        self.refused_forms = 0
        self.instructions = sum(sum(form.sources.values()) for form in forms.values())
        for form, row in zip(forms.values(), rows):
            self.refused_forms += "refused" in row
            for mnemonic in row["mnemonics"]:
                self.seen.setdefault(mnemonic, set()).update(form.sources)
                if "refused" in row:
                    self.refused.setdefault(mnemonic, []).append((row, form))
        self.sources = {name: {m for m, s in self.seen.items() if name in s} for name in SOURCES}
        self.all = {mnemonic for mnemonic in known if not mnemonic.startswith(ASIDE)}
        self.aside = len(known) - len(self.all)
        listed = run(tool, "rows", name, text="".join(f"{mnemonic}\n" for mnemonic in sorted(self.all)))
        self.without_row = {line for line in listed.split() if line}

    def gaps(self):
        """Lines that name what the corpus has and the interpreter refuses."""
        for mnemonic in sorted(self.refused):
            rows = self.refused[mnemonic]
            where = sorted({source for _, form in rows for source in form.sources})
            whole = mnemonic in self.without_row
            example = "" if whole else ": " + ", ".join(f"`{form.shape}`" for _, form in rows[:3])
            more = "" if whole or len(rows) <= 3 else f" and {len(rows) - 3} more forms"
            yield f"- `{mnemonic}` ({', '.join(where)}){example}{more}"


def share(part, whole):
    return f"{part} of {whole} ({100 * part / whole:.1f}%)" if whole else "none"


def page(tool):
    targets = [Target(tool, name) for name in TARGETS if (NOTES / f"{name}.txt").exists()]
    lines = [
        "# Which instructions the software GPU runs", "",
        "Made by `tests/coverage/coverage.py`; not to be edited. An instruction that is not implemented stops the program with",
        "an error that names it, its address and the kernel.", "",
        "The corpus is code that others wrote and compiled, from Debian's packages, and this project's own programs:", ""]
    for name, what in SOURCES.items():
        on = [target.name for target in targets if target.sources[name]]
        if on:
            lines.append(f"- {name}: {what}. Code for {', '.join(on)}.")
    lines += ["", f"Of each code object at most {FUNCTIONS} functions are looked at, spread over it.", "",
              "A form is an instruction with kinds of operands and modifiers; one that any operand makes impossible to run counts as",
              "missing, and so does each instruction with such a form.", "",
              "| target | GPU | corpus: instructions | corpus: forms | all that LLVM knows, images and exports aside |",
              "|---|---|---|---|---|"]
    for target in targets:
        seen, missing = len(target.seen), len(target.refused)
        lines.append(f"| {target.name} | {TARGETS[target.name]} | {share(seen - missing, seen)} | "
                     f"{share(target.forms - target.refused_forms, target.forms)} | "
                     f"{share(len(target.all) - len(target.without_row), len(target.all))} |")
    sources = [name for name in SOURCES if any(target.sources[name] for target in targets)]
    lines += ["", "Distinct instructions by where they come from:", "",
              "| target | " + " | ".join(sources) + " | instructions looked at |", "|---|" + "---|" * (len(sources) + 1)]
    for target in targets:
        cells = [share(len(seen - set(target.refused)), len(seen)) for seen in map(target.sources.get, sources)]
        lines.append(f"| {target.name} | {' | '.join(cells)} | {target.instructions / 1e6:.1f} million |")
    for target in targets:
        lines += ["", f"## {target.name}", ""]
        gaps = list(target.gaps())
        lines += ["Missing in the corpus:", "", *gaps, ""] if gaps else ["Nothing of the corpus is missing.", ""]
        rest = sorted(target.without_row)
        lines.append(f"LLVM also knows {len(rest)} instructions without a row" +
                     (f": {', '.join(f'`{name}`' for name in rest)}." if rest else ".") +
                     f" {target.aside} are images and exports.")
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    collecting = commands.add_parser("collect")
    collecting.add_argument("--source", action="append", default=[], metavar="NAME=PATH")
    collecting.add_argument("--llvm", action="store_true", help="ask LLVM again, which a new LLVM needs")
    paging = commands.add_parser("page")
    paging.add_argument("--check", action="store_true")
    for command in (collecting, paging):
        command.add_argument("--tool", required=True, type=os.path.abspath)
    options = parser.parse_args()
    if options.command == "collect":
        collect(options)
        return 0
    text = page(options.tool)
    if not options.check:
        PAGE.write_text(text)
        return 0
    if not PAGE.exists() or PAGE.read_text() != text:
        print(f"{PAGE.name} is out of date: run tests/coverage/coverage.py page --tool ISA_COVERAGE")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
