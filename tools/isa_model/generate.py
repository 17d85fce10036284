#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the golden files of the software GPU's instruction tests; tests/golden/isa/README.md
describes them.

  generate.py FOLDER              writes the files that the model gives; the build does this
  generate.py FOLDER --check      fails if those in FOLDER are not the ones that files.txt names
  generate.py FOLDER --accept     writes files.txt, after a change of the model that is meant
  generate.py --encodings         writes encodings.txt; needs llvm-mc of LLVM 17 or newer
  generate.py --check-encodings   fails if encodings.txt is not what llvm-mc gives; exit code 77
                                  without the llvm-mc that made it
"""

import argparse
import hashlib
import multiprocessing
import os
import re
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import golden  # noqa: E402
import machine  # noqa: E402
import vectors  # noqa: E402

COMMITTED = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                          "../../tests/golden/isa"))
ENCODINGS = os.path.join(COMMITTED, "encodings.txt")
FILES = os.path.join(COMMITTED, "files.txt")
SKIPPED = 77

BOOK = golden.Book()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", nargs="?", help="of the golden files")
    what = parser.add_mutually_exclusive_group()
    for option in ("--check", "--accept", "--encodings", "--check-encodings"):
        what.add_argument(option, action="store_true")
    parser.add_argument("--llvm-mc", default="", help="command; default: the newest in the PATH")
    options = parser.parse_args()
    about_encodings = options.encodings or options.check_encodings
    if bool(options.folder) == about_encodings:
        parser.error("encodings have no folder" if about_encodings else "which folder?")
    if options.encodings:
        make_encodings(golden.find_llvm_mc(options.llvm_mc))
    elif options.check_encodings:
        check_encodings(golden.find_llvm_mc(options.llvm_mc))
    elif options.check:
        check(options.folder)
    elif options.accept:
        write(FILES, summary(options.folder))
    else:
        make_files(options.folder)


def make_files(folder):
    encodings = read(ENCODINGS)
    cases.add_all(BOOK)
    golden.encode(BOOK, golden.read_encodings(encodings))
    wanted = {"inputs.txt": golden.HEADER + vectors.inputs_text(),
              "absent.txt": golden.HEADER + made_by(encodings) + absent_text(BOOK)}
    # Forked, for cases hold functions; the model is slow and knows nothing of its neighbours.
    with multiprocessing.get_context("fork").Pool() as pool:
        wanted.update(zip((name + ".golden" for name in BOOK.files),
                          pool.imap(file_text, BOOK.files)))
    os.makedirs(folder, exist_ok=True)
    for name, text in wanted.items():
        write(os.path.join(folder, name), text)
    for name in golden_files(folder):  # of files that the model no longer has
        if name.endswith(".golden") and name not in wanted:
            os.remove(os.path.join(folder, name))


def file_text(name):
    return golden.HEADER + "".join(golden.case_text(c) for c in BOOK.files[name])


def golden_files(folder):
    return sorted(name for name in os.listdir(folder) if name.endswith((".golden", ".txt")))


def summary(folder):
    """What is in the folder, so that a change of the model shows in a review."""
    lines = ["# SPDX-License-Identifier: MIT\n",
             "# The golden files: cases (or vectors, or instructions) and SHA-256 of each.\n",
             "# Made by tools/isa_model/generate.py --accept: do not edit.\n"]
    for name in golden_files(folder):
        text = read(os.path.join(folder, name))
        entries = len(re.findall(r"^(?:case|vector|gfx\w+) ", text, re.MULTILINE))
        lines.append("%s %d %s\n" % (name, entries, hashlib.sha256(text.encode()).hexdigest()))
    return "".join(lines)


def check(folder):
    given, wanted = (set(text.splitlines()) for text in (summary(folder), read(FILES)))
    if given != wanted:
        raise SystemExit("\n".join(
            ["The model does not give what tests/golden/isa/files.txt names. Only there:"]
            + sorted(wanted - given) + ["Only from the model:"] + sorted(given - wanted)
            + ["If the change is meant: tools/isa_model/generate.py %s --accept" % folder]))
    print("%d files are those of files.txt" % len(golden_files(folder)))


def encodings_by(llvm_mc):
    cases.add_all(BOOK)
    golden.encode(BOOK, golden.assemble_cases(BOOK, llvm_mc))
    forgotten = forgotten_cases(BOOK, llvm_mc)
    if forgotten:
        raise SystemExit("\n".join(forgotten))
    return ("# SPDX-License-Identifier: MIT\n# Made by tools/isa_model/generate.py --encodings: do not edit.\n"
            "# Encodings by LLVM %d.\n" % golden.version(llvm_mc) + golden.encodings_text(BOOK))


def make_encodings(llvm_mc):
    if not llvm_mc:
        raise SystemExit("llvm-mc not found: run this in the development root, or name it")
    write(ENCODINGS, encodings_by(llvm_mc))


def check_encodings(llvm_mc):
    committed = read(ENCODINGS)
    found = "# Encodings by LLVM %d.\n" % golden.version(llvm_mc) if llvm_mc else "no llvm-mc\n"
    if found != made_by(committed):  # another version may know other instructions
        print("SKIP %s is here, the file has %s" % (found.strip("# .\n"), made_by(committed)))
        sys.exit(SKIPPED)
    if encodings_by(llvm_mc) != committed:
        raise SystemExit("tests/golden/isa/encodings.txt is not what llvm-mc gives; "
                         "run tools/isa_model/generate.py --encodings")
    print("%d lines are what llvm-mc gives" % committed.count("\n"))


def made_by(encodings):
    return re.search(r"^# Encodings by .*\n", encodings, re.MULTILINE)[0]


def covered(book):
    table = {}
    for found in book.files.values():
        for case in found:
            base = case.name.rsplit(".", 1)[0]
            table.setdefault(base, set()).update(c[0] for c in case.code)
    return table


def without_case(book):
    """target -> instructions that the model knows and that have no case there"""
    table = covered(book)
    targets = {c[0]: None for c in reversed(golden.CONFIGS)}
    return {target: [n for n in machine.known() if target not in table.get(n, ())]
            for target in targets}


def absent_text(book):
    """The instructions that the model knows and a target has not, so that nobody misses a case;
    forgotten_cases makes sure of it."""
    lines = ["# Instructions that these targets do not have, of those that the model knows.\n"]
    for target, names in without_case(book).items():
        lines += ["%s %s\n" % (target, name) for name in names]
    return "".join(lines)


def forgotten_cases(book, llvm_mc):
    """Complaints about instructions that a target has, and no case for it."""
    configs = {c[0]: c for c in reversed(golden.CONFIGS)}
    complaints = []
    for target, names in without_case(book).items():
        missing = golden.absent(llvm_mc, configs[target], names)
        # The assembler takes gfx90a's names of matrix instructions for newer targets, too.
        forgotten = [n for n in names if n not in missing and n not in machine.old_names()]
        if forgotten:
            complaints.append("no case for %s: %s" % (target, " ".join(forgotten)))
    return complaints


def read(path):
    with open(path) as f:
        return f.read()


def write(path, text):
    with open(path, "w") as f:
        f.write(text)


if __name__ == "__main__":
    main()
