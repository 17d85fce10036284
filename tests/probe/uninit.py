#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a uninit` says of kernels that read LDS which nobody has written, and of the same without that.

usage: uninit.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import sys

import analyzer

ITEMS, GROUPS = 256, 2
# Kernel, place, action, lanes, workgroups.
TRUTH = [
    ("BorderILb0E", "border", "load", GROUPS, GROUPS),
    # One instruction of 32 lanes is the first that touches the 8 counters.
    ("HistogramILb0E", "histogram", "atomic", GROUPS * 32, GROUPS),
    ("HalvesILb0E", "halves", "load", GROUPS * ITEMS, GROUPS),
]


def main():
    test = analyzer.Test("uninit")
    found = sorted((read["line"], read["action"], read["lanes"], read["groups"]) for read in test.json())
    test.equal(found, sorted((test.lines[place], action, lanes, groups) for _, place, action, lanes, groups in TRUTH))
    for kernel, place, *_ in TRUTH:
        test.require(all(kernel in read["kernel"] for read in test.json() if read["line"] == test.lines[place]), f"{kernel} is not named")
    test.require(f"uninit.hip:{test.lines['halves']}:" in test.table().splitlines()[0])
    clean = test.table("-k", "<true>")
    test.require(clean.startswith("Every read of LDS finds"), clean)
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
