#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a bounds` says of kernels that leave their allocations, and of the same within them.

usage: bounds.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import pathlib
import subprocess
import sys

import analyzer

FIELDS = ("action", "space", "kind", "lanes", "in_another", "argument", "nearest", "farthest")
# By place; then the size of the allocation.
TRUTH = {
    "past": ("store", "global", "past_end", 64, 0, "0", 1024, 1024 + 63 * 4, 1000),
    "neighbour": ("store", "global", "past_end", 56, 56, "0", 0, 55 * 4, 4096),
    "before": ("load", "global", "before_start", 16, 16, "0", 4, 16 * 4, 4096),
    "indirect": ("store", "global", "past_end", 60, 0, "", 0, 59 * 4, 1000),
    "lds": ("load", "lds", "past_end", 2, 0, "", 0, 4, 512),
}
FREED = ("store", "global", "freed", 64, 0, "0", 0, 63 * 4, 4096)


def summary(bad):
    return tuple(bad[field] for field in FIELDS) + (bad["allocation"]["size"],)


def main():
    test = analyzer.Test("bounds")
    found = sorted((bad["line"], *summary(bad)) for bad in test.json())
    test.equal(found, sorted((test.lines[place], *truth) for place, truth in TRUTH.items()))
    test.require(" past the end of the allocation of 1000 bytes that argument 0 points into." in test.table().splitlines()[0])

    clean = pathlib.Path(test.folder.name, "clean")
    text = test.run("--keep", str(clean), "-a", "bounds", "--softgpu", test.gpu, "--", test.program, "clean")
    test.require("No access is outside of every allocation." in text and "LDS is checked as one piece" in text, text)

    # The GPU may fail there, or not notice: what is freed first goes back to the runtime.
    freed = pathlib.Path(test.folder.name, "freed")
    subprocess.run([test.rochound, "probe", "--keep", str(freed), "-a", "bounds", "--softgpu", test.gpu, "--", test.program, "freed"],
                   stdin=subprocess.DEVNULL, capture_output=True, timeout=200, check=False)
    found = [(bad["line"], *summary(bad)) for bad in test.json(kept=freed)]
    test.equal(found, [(test.lines["freed"], *FREED)])
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
