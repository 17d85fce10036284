#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes a shared library that was linked to a new glibc run with an old one, in place.

A library names a version of glibc for each function that it takes from it: the newest that the machine had where it was
linked. For most of them an older glibc has the same function under an older version (pthread_create became part of libc in
2.34), so this names that one instead. What an older glibc does not have at all is taken from the program that loads the
library (src/portable/newer_libc.c), without a version. Anything else is an error. docs/decisions/portable.md

    older_versions.py --libc FOLDER --provided LIST FILE...
"""

import argparse
import pathlib
import re
import struct
import sys

OLD_LIBRARIES = ("libc.so.6", "libm.so.6", "libpthread.so.0", "libdl.so.2", "librt.so.1", "ld-linux-x86-64.so.2")
SHT_DYNSYM, SHT_VERDEF, SHT_VERNEED, SHT_VERSYM = 11, 0x6FFFFFFD, 0x6FFFFFFE, 0x6FFFFFFF
UNVERSIONED = 1
FIRST = "GLIBC_2.2.5"  # of x86-64; all parts of glibc have it


class Elf:
    """What a 64-bit little-endian library says about symbols and their versions."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        self.data = bytearray(self.path.read_bytes())
        if self.data[:6] != b"\x7fELF\x02\x01":
            raise ValueError(f"{path} is no 64-bit ELF file")
        offset, = struct.unpack_from("<Q", self.data, 0x28)
        size, count = struct.unpack_from("<HH", self.data, 0x3A)
        self.sections = [struct.unpack_from("<IIQQQQIIQQ", self.data, offset + i * size) for i in range(count)]

    def section(self, kind):
        return next((one for one in self.sections if one[1] == kind), None)

    def text(self, strings, offset):
        start = self.sections[strings][4] + offset
        return self.data[start:self.data.index(0, start)].decode()

    def symbols(self):
        """(index, name, defined) of each."""
        table = self.section(SHT_DYNSYM)
        for index in range(table[5] // 24):
            name, _, _, where = struct.unpack_from("<IBBH", self.data, table[4] + index * 24)
            yield index, self.text(table[6], name), where != 0

    def version_place(self, index):
        return self.section(SHT_VERSYM)[4] + index * 2

    def version_index(self, index):
        return struct.unpack_from("<H", self.data, self.version_place(index))[0]

    def needed_versions(self):
        """(file, version, index, place) of each."""
        table = self.section(SHT_VERNEED)
        if table is None:
            return
        place = table[4]
        for _ in range(table[7]):
            _, count, file, first, following = struct.unpack_from("<HHIII", self.data, place)
            entry = place + first
            for _ in range(count):
                _, _, index, name, after = struct.unpack_from("<IHHII", self.data, entry)
                yield self.text(table[6], file), self.text(table[6], name), index, entry
                entry += after
            place += following

    def defined_versions(self):
        """Index -> version."""
        table = self.section(SHT_VERDEF)
        versions = {}
        place = table[4]
        for _ in range(table[7]):
            _, _, index, _, _, first, following = struct.unpack_from("<HHHHIII", self.data, place)
            name, = struct.unpack_from("<I", self.data, place + first)
            versions[index] = self.text(table[6], name)
            place += following
        return versions


def number(version):
    """GLIBC_2.34 -> (2, 34); None for what is no number (GLIBC_PRIVATE, GLIBC_ABI_...)."""
    match = re.fullmatch(r"GLIBC_([0-9.]+)", version)
    return tuple(map(int, match[1].split("."))) if match else None


def old_symbols(folder):
    """Symbol -> its versions in these libraries; first the one that a program gets when it is linked to them."""
    found = {}
    for name in OLD_LIBRARIES:
        elf = Elf(folder / "lib/x86_64-linux-gnu" / name)
        versions = elf.defined_versions()
        for index, symbol, defined in elf.symbols():
            version = elf.version_index(index)
            if defined and version & 0x7FFF > 1:
                known = found.setdefault(symbol, [])
                known.insert(len(known) if version & 0x8000 else 0, versions[version & 0x7FFF])
    return found


def newest(symbols):
    return max(number(version) for versions in symbols.values() for version in versions if number(version))


def rewrite(elf, old, limit, provided):
    """What was changed, as lines; raises ValueError where it cannot be done."""
    table = list(elf.needed_versions())
    index_of = {version: index for _, version, index, _ in table}
    too_new = {index: version for _, version, index, _ in table
               if version.startswith("GLIBC_") and (number(version) is None or number(version) > limit)}
    changes = []
    for index, symbol, defined in elf.symbols():
        version = too_new.get(elf.version_index(index) & 0x7FFF)
        if defined or version is None:
            continue
        older = old.get(symbol, [])
        if symbol in provided:
            use, what = UNVERSIONED, "the program's"
        elif older and older[0] in index_of and index_of[older[0]] not in too_new:
            use, what = index_of[older[0]], older[0]
        elif len(set(older)) == 1:  # the loader cannot choose a wrong one
            use, what = UNVERSIONED, "any"
        else:
            raise ValueError(f"{elf.path.name} needs {symbol}@{version}; the old libc has {', '.join(older) or 'none'}")
        struct.pack_into("<H", elf.data, elf.version_place(index), use)
        changes.append(f"{symbol}: {version} -> {what}")
    # Nothing has these numbers any more; the loader still looks whether the version is there, so it is one that always is.
    first = next((entry for _, version, _, entry in table if version == FIRST), None)
    for _, version, index, entry in table:
        if index in too_new:
            if first is None:
                raise ValueError(f"{elf.path.name} does not need {FIRST}")
            elf.data[entry:entry + 4] = elf.data[first:first + 4]  # hash
            elf.data[entry + 8:entry + 12] = elf.data[first + 8:first + 12]  # name
    return changes


def provided_symbols(file):
    return set(re.findall(r"^\s*(\w+);", pathlib.Path(file).read_text(), flags=re.MULTILINE))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--libc", type=pathlib.Path, required=True, help="the folder of old_libc.sh")
    parser.add_argument("--provided", required=True, help="a linker's list of what the program exports")
    parser.add_argument("files", nargs="+")
    options = parser.parse_args()
    old = old_symbols(options.libc)
    limit = newest(old)
    for file in options.files:
        elf = Elf(file)
        try:
            changes = rewrite(elf, old, limit, provided_symbols(options.provided))
        except ValueError as problem:
            sys.exit(f"older_versions: {problem}")
        elf.path.write_bytes(elf.data)
        print(f"{elf.path.name}: {len(changes)} symbols", file=sys.stderr)


if __name__ == "__main__":
    main()
