#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A second reader of capture bundles, written from docs/formats/capture-bundle.md alone, against the first one.

usage: read_bundle.py --rochound PATH --gpu GPU --kernel REGEX -- PROGRAM...

Captures a launch twice over, raw and packed, reads both, and compares the memory with what `rochound replay export` makes of
it. Needs Python 3.14, whose library has zstd. Checksums are not computed: XXH3 is not in the library.
"""

import argparse
import json
import pathlib
import re
import struct
import subprocess
import sys
import tempfile

import captured

try:
    from compression import zstd
except ImportError:
    print("SKIP: this Python has no compression.zstd")
    sys.exit(77)

FILES = ["manifest.json", "code_object.elf", "kernarg.bin", "before.index", "before.data", "after.index", "after.data"]
PAGE, CHUNK = 4096, 4 << 20


class Bundle:
    def __init__(self, folder):
        lines = (folder / "checksums").read_text().splitlines()
        assert lines[0] == "rochound capture bundle 1", lines[0]
        assert len(lines) == 9
        for name, line in zip(FILES, lines[1:8]):
            digits, size, named = line.split(" ")
            assert named == name and int(size) == (folder / name).stat().st_size, line
            assert re.fullmatch(r"-{16}" if name.endswith(".data") else r"[0-9a-f]{16}", digits), line
        digits, size, named = lines[8].split(" ")
        assert named == "checksums" and int(size) == sum(len(line) + 1 for line in lines[:8])
        self.manifest = json.loads((folder / "manifest.json").read_text())
        assert self.manifest["version"] == 1
        self.regions = self.manifest["regions"]
        self.before = self.read(folder, "before", 0)
        self.after = self.read(folder, "after", 1)

    def read(self, folder, name, phase):
        """{(region, page): bytes}; pages of zeros are there only if the index says so."""
        index = (folder / f"{name}.index").read_bytes()
        data = (folder / f"{name}.data").read_bytes()
        magic, version, page, which, zero, count = struct.unpack_from("<8sIIIIQ", index)
        assert (magic, version, page, which, zero) == (b"rhIndex\n", 1, PAGE, phase, 0)
        assert len(index) == 32 + 48 * count
        pages, end, last = {}, 0, (-1, 0)
        for at in range(32, len(index), 48):
            region, encoding, offset, size, place, stored, _ = struct.unpack_from("<IIQQQQQ", index, at)
            assert (region, offset) >= last and self.regions[region]["taken"] and offset % PAGE == 0 and size > 0
            last = (region, offset + size)
            assert offset + size <= self.regions[region]["size"]
            assert size % PAGE == 0 or offset + size == self.regions[region]["size"]
            assert offset // CHUNK == (offset + size - 1) // CHUNK
            if encoding == 2:
                assert phase == 1 and (place, stored) == (0, 0)
                content = bytes(size)
            else:
                assert place == end
                end += stored
                content = data[place:place + stored]
                if encoding == 1:
                    assert stored < size
                    content = zstd.decompress(content)
                assert encoding in (0, 1) and len(content) == size
            for start in range(0, size, PAGE):
                pages[region, (offset + start) // PAGE] = content[start:start + PAGE]
        assert end == len(data)
        return pages

    def memory(self, pages):
        """{address: page}, as the exported files have it."""
        return {int(self.regions[region]["base"], 16) + page * PAGE: content
                for (region, page), content in pages.items()}


def exported(path):
    data, at, pages = path.read_bytes(), 0, {}
    while at < len(data):
        address, size = struct.unpack_from("<QQ", data, at)
        at += 16
        for start in range(0, size, PAGE):
            pages[address + start] = data[at + start:at + min(start + PAGE, size)]
        at += size
    return pages


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-format-") as temporary:
        for name, more in ("raw", ["--raw"]), ("packed", []):
            bundle = pathlib.Path(temporary) / name
            project = pathlib.Path(temporary) / (name + ".project")
            for command in ["capture", "--kernel", options.kernel, "-o", bundle, "--softgpu", options.gpu, *more, "--",
                            *options.program], ["replay", "export", bundle, "-o", project]:
                done = captured.capture(lambda environment: subprocess.run(
                    [options.rochound, *command], env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True,
                    timeout=250, check=False))
                assert done.returncode == 0, f"{command}\n{done.stdout[-2000:]}{done.stderr[-2000:]}"
            read = Bundle(bundle)
            assert read.before and read.after
            assert read.memory(read.before) == exported(project / "before.bin"), f"{name}: memory before"
            assert read.memory(read.after) == exported(project / "expected.bin"), f"{name}: memory after"
            assert len((bundle / "kernarg.bin").read_bytes()) == read.manifest["launch"]["kernarg_bytes"]
            assert bool(read.manifest["arguments"]) == (name == "packed")
            print(f"{name}: {len(read.before)} pages before, {len(read.after)} changed")


if __name__ == "__main__":
    main()
