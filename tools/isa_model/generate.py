#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden files of the software GPU's instruction tests (tests/golden/isa).

  generate.py            writes them; needs llvm-mc of LLVM 17 or newer for the encodings
  generate.py --check    fails if they are not what the model gives; without the llvm-mc that made
                         them it takes the encodings from the files
"""

import argparse
import multiprocessing
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import golden  # noqa: E402
import machine  # noqa: E402
import vectors  # noqa: E402

FOLDER = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                       "../../tests/golden/isa"))

ABSENT = "absent.txt"
BOOK = golden.Book()


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    parser.add_argument("--llvm-mc", default="", help="command; default: the newest in the PATH")
    parser.add_argument("--only", default="", help="just the files whose name contains this")
    parser.add_argument("--mnemonics", action="store_true", help="list what is covered, per target")
    options = parser.parse_args()

    book = BOOK
    cases.add_all(book)
    llvm_mc = golden.find_llvm_mc(options.llvm_mc)
    if not llvm_mc and not options.check:
        raise SystemExit("llvm-mc not found: run this in the development root, or name it")
    old = read(ABSENT)
    if options.check and llvm_mc and made_by(golden.version(llvm_mc)) not in old:
        llvm_mc = None  # another version may know other instructions
    known = golden.known_encodings(FOLDER) if not llvm_mc else {}
    golden.encode(book, llvm_mc, known)
    if options.mnemonics:
        return list_mnemonics(book)

    wanted = {"inputs.txt": golden.HEADER + vectors.inputs_text()}
    if llvm_mc:
        wanted[ABSENT] = golden.HEADER + absent_text(book, llvm_mc)
    names = [name for name in book.files if options.only in name]
    # Forked, for cases hold functions; the model is slow and knows nothing of its neighbours.
    with multiprocessing.get_context("fork").Pool() as pool:
        for name, text in zip(names, pool.imap(file_text, names)):
            wanted[name + ".golden"] = text
    stale = []
    for name, text in wanted.items():
        if read(name) == text:
            continue
        stale.append(name)
        if not options.check:
            os.makedirs(FOLDER, exist_ok=True)
            with open(os.path.join(FOLDER, name), "w") as f:
                f.write(text)
    if not options.only:
        for name in sorted(os.listdir(FOLDER)):
            if name.endswith(".golden") and name not in wanted:
                stale.append(name)
                if not options.check:
                    os.remove(os.path.join(FOLDER, name))
    count = sum(len(c) for c in book.files.values())
    if options.check and stale:
        raise SystemExit("not what the model gives: %s; run tools/isa_model/generate.py"
                         % ", ".join(stale))
    print("%d cases in %d files, %d files %s" % (count, len(book.files), len(stale),
                                                "stale" if options.check else "written"))
    return None


def file_text(name):
    return golden.HEADER + "".join(golden.case_text(c) for c in BOOK.files[name])


def read(name):
    path = os.path.join(FOLDER, name)
    if not os.path.exists(path):
        return ""
    with open(path) as f:
        return f.read()


def made_by(version):
    return "# Encodings by LLVM %d.\n" % version


def covered(book):
    table = {}
    for found in book.files.values():
        for case in found:
            base = case.name.rsplit(".", 1)[0]
            table.setdefault(base, set()).update(c[0] for c in case.code)
    return table


def absent_text(book, llvm_mc):
    """The instructions that the model knows and a target has not, so that nobody misses a case."""
    table = covered(book)
    lines = [made_by(golden.version(llvm_mc)),
             "# Instructions that these targets do not have, of those that the model knows.\n"]
    for target, config in {c[0]: c for c in reversed(golden.CONFIGS)}.items():
        names = [n for n in machine.known() if target not in table.get(n, ())]
        missing = golden.absent(llvm_mc, config, names)
        # The assembler takes gfx90a's names of matrix instructions for newer targets, too.
        forgotten = [n for n in names if n not in missing and n not in machine.old_names()]
        if forgotten:
            raise SystemExit("no case for %s: %s" % (target, " ".join(forgotten)))
        lines += ["%s %s\n" % (target, n) for n in names]
    return "".join(lines)


def list_mnemonics(book):
    table = covered(book)
    for base in sorted(table):
        print(base, " ".join(sorted(table[base])))


if __name__ == "__main__":
    main()
