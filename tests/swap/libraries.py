#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Swaps kernels of real libraries for the library's own, and expects the same results.

usage: libraries.py --rochound PATH --bundler PATH --gpu GPU --target gfx1030 [--only REGEX] [--samples N] --files GLOB... -- PROGRAM...

The code objects of the files that have the target's code are taken out and made longer by a few bytes, so that they are no
longer the program's own code, and become the kernel cache. The program compares its results with the CPU's; launches that
are captured (--swap-verify) are compared byte by byte, and none may differ. On a busy machine none may be captured.
"""

import argparse
import collections
import glob
import json
import mmap
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

MACHINES = {"gfx90a": 0x3f, "gfx942": 0x4c, "gfx1030": 0x36, "gfx1100": 0x41}
AMDGPU_ELF = re.compile(rb"\x7fELF\x02\x01\x01\x40")
MORE = bytes(64)  # after what the loader reads


def elf_size(data, at):
    section_offset, = struct.unpack_from("<Q", data, at + 0x28)
    entry_size, count = struct.unpack_from("<HH", data, at + 0x3a)
    return section_offset + entry_size * count


def inside(data, target):
    """Code objects for the target that are in there as they are."""
    for match in AMDGPU_ELF.finditer(data):
        flags, = struct.unpack_from("<I", data, match.start() + 0x30)
        size = elf_size(data, match.start())
        if flags & 0xff == MACHINES[target] and 0 < size <= len(data) - match.start():
            yield bytes(data[match.start():match.start() + size])


def code_objects(path, target, bundler, scratch):
    with open(path, "rb") as file:
        if file.read(4) == b"CCOB":
            whole = scratch / "unpacked"
            triples = subprocess.run([bundler, "--list", "--type=o", f"--input={path}"], check=True, capture_output=True, text=True)
            wanted = next((triple for triple in triples.stdout.split() if triple.endswith(target)), None)
            if not wanted:
                return
            subprocess.run([bundler, "--unbundle", "--type=o", f"--targets={wanted}", f"--input={path}", f"--output={whole}"], check=True)
            yield from inside(whole.read_bytes(), target)
        else:
            with mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ) as data:
                yield from inside(data, target)


def fill(cache, options, scratch):
    count = 0
    for pattern in options.files:
        for path in sorted(glob.glob(pattern)):
            for code in code_objects(path, options.target, options.bundler, scratch):
                if options.only and not re.search(options.only.encode(), code):
                    continue
                count += 1
                (cache / f"{count}.hsaco").write_bytes(code + MORE)
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("rochound", "bundler", "gpu", "target"):
        parser.add_argument(f"--{name}", required=True)
    parser.add_argument("--only", help="regular expression of names: of code objects, and of kernels that are swapped")
    parser.add_argument("--samples", type=int, default=1)
    parser.add_argument("--files", nargs="+", required=True)
    split = sys.argv.index("--")
    options = parser.parse_args(sys.argv[1:split])
    program = sys.argv[split + 1:]
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as name:
        folder = pathlib.Path(name)
        cache = folder / "cache"
        cache.mkdir(mode=0o700)
        print(f"{fill(cache, options, folder)} code objects", flush=True)
        trace = folder / "trace.rpd"
        command = [options.rochound, "run", "--softgpu", options.gpu, "-o", str(trace), "--kernel-cache", str(cache),
                   f"--swap-verify={options.samples}"]
        if options.only:
            command += ["--swap", options.only]
        subprocess.run([*command, "--", *program], check=True)
        answer = json.loads(subprocess.run([options.rochound, "explain", "swaps", str(trace), "--json"], check=True,
                                           stdout=subprocess.PIPE, text=True).stdout)
    tables = answer["tables"]
    refused = [row for row in tables["decisions"]["rows"] if row["decision"] != "swapped"]
    swapped = len(tables["decisions"]["rows"]) - len(refused)
    launches = sum(row["swapped_launches"] for row in tables["launches"]["rows"])
    compared = tables["comparisons"]["rows"] if "comparisons" in tables else []
    counts = {result: sum(row["result"] == result for row in compared) for result in ("equal", "different", "not verified")}
    print(f"{swapped} kernels swapped, {len(refused)} refused, {launches} launches of candidates, compared: {counts}")
    reasons = [row["reason"] for row in refused] + [row["detail"] for row in compared if row["result"] != "equal"]
    for reason, times in collections.Counter(reasons).most_common(10):
        print(f"{times} x {reason}")
    return 0 if swapped > 0 and launches > 0 and not refused and counts["different"] == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
