#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound probe -a report`: instructions with the costs that `-a memory` gives their lines, and the source's own text.

usage: report.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import collections
import json
import pathlib
import sys

import analyzer

COSTS = ("accesses", "lanes", "misaligned")


def main():
    test = analyzer.Test("memory")
    memory = collections.Counter()
    for use in test.json():
        for cost in COSTS:
            memory[use["kernel"], use["line"], use["action"], cost] += use[cost]
    report = json.loads(test.run("read", str(test.kept), "-a", "report"))
    source = next(path for path in map(pathlib.Path, report["files"]) if path.name == "memory.hip")
    file = report["files"].index(str(source))
    found = collections.Counter()
    for kernel in report["kernels"]:
        for one in kernel["instructions"]:
            test.require(all(0 <= place[0] < len(report["files"]) for place in one["at"]), f"no such file: {one}")
            test.require(one["instruction"] or "scalar" not in one["addresses"], f"without its instruction: {one}")
            # An atomic is written in HIP's header: the first line of the program itself counts.
            line = next(line for number, line in one["at"] if number == file)
            for cost in COSTS:
                found[kernel["kernel"], line, one["action"], cost] += one[cost]
    test.require(found and +found == +memory, f"{+found}\nis not {+memory}")
    lines = source.read_text().splitlines()
    texts = {line: text for number, line, text in report["texts"] if number == file}
    test.require(texts and all(lines[line - 1] == text for line, text in texts.items()), "texts are not the source's")
    test.require({line for _, line, _, _ in found} <= set(texts), "a line has no text")
    test.require(len(report["heatmap"]["pages"]) == report["heatmap"]["all_pages"] > 0, "no heat map")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
