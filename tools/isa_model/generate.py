#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Writes the golden files of the software GPU's instruction tests (tests/golden/isa).

  generate.py            writes them; needs llvm-mc of LLVM 17 or newer for the encodings
  generate.py --check    fails if they are not what the model gives; without llvm-mc it takes the
                         encodings from the files
"""

import argparse
import os
import sys

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))

import cases  # noqa: E402
import golden  # noqa: E402
import vectors  # noqa: E402

FOLDER = os.path.normpath(os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                       "../../tests/golden/isa"))


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="compare instead of write")
    parser.add_argument("--llvm-mc", default="", help="command; default: the newest in the PATH")
    parser.add_argument("--only", default="", help="just the files whose name contains this")
    parser.add_argument("--mnemonics", action="store_true", help="list what is covered, per target")
    options = parser.parse_args()

    book = golden.Book()
    cases.add_all(book)
    llvm_mc = golden.find_llvm_mc(options.llvm_mc)
    if not llvm_mc and not options.check:
        raise SystemExit("llvm-mc not found: run this in the development root, or name it")
    known = golden.known_encodings(FOLDER) if not llvm_mc else {}
    golden.encode(book, llvm_mc, known)
    if options.mnemonics:
        return list_mnemonics(book)

    wanted = {"inputs.txt": golden.HEADER + vectors.inputs_text()}
    for name, found in book.files.items():
        if options.only in name:
            wanted[name + ".golden"] = golden.HEADER + "".join(golden.case_text(c) for c in found)
    stale = []
    for name, text in wanted.items():
        path = os.path.join(FOLDER, name)
        old = None
        if os.path.exists(path):
            with open(path) as f:
                old = f.read()
        if old == text:
            continue
        stale.append(name)
        if not options.check:
            os.makedirs(FOLDER, exist_ok=True)
            with open(path, "w") as f:
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


def list_mnemonics(book):
    table = {}
    for found in book.files.values():
        for case in found:
            base = case.name.rsplit(".", 1)[0]
            table.setdefault(base, set()).update(c[0] for c in case.code)
    for base in sorted(table):
        print(base, " ".join(sorted(table[base])))


if __name__ == "__main__":
    main()
