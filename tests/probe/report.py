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
    test.require(not [kernel for kernel in report["kernels"] if "code" in kernel], "instructions without --code")
    # All instructions of another build, without probes: those that access memory are found among them.
    whole = json.loads(test.run("read", str(test.kept), "-a", "report", "--code", test.program + ".plain"))
    test.require(not whole["warnings"], whole["warnings"])
    matched = 0
    for kernel in whole["kernels"]:
        names = [one["text"].split(" ")[0] for one in kernel["code"]]
        test.require("s_endpgm" in names and any(name.startswith("v_") for name in names), f"not a whole kernel: {names}")
        makes = collections.Counter(place for one in kernel["code"] for place in one["makes"])
        test.require(set(makes.values()) <= {1}, f"an access of two instructions: {makes}")
        for place, access in enumerate(kernel["instructions"]):
            rows = [one for one in kernel["code"] if place in one["makes"]]
            test.require(bool(rows) == bool(access["instruction"]), f"{kernel['name']}: {access} is made by {rows}")
            test.require(all(row["text"].split(" ")[0] == access["instruction"] and row["at"][0] == access["at"][0] for row in rows), f"{access} is not {rows}")
            matched += len(rows)
    print(f"{matched} accesses found among {sum(len(kernel['code']) for kernel in whole['kernels'])} instructions")
    other = json.loads(test.run("read", str(test.kept), "-a", "report", "--code", str(source)))
    test.require(other["warnings"] and "code" not in other["kernels"][0], "no word about a file without kernels")
    test.require(len(report["heatmap"]["pages"]) == report["heatmap"]["all_pages"] > 0, "no heat map")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
