#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe` tells of values that the source asks for: right numbers of each lane, in order, from the right lines.

usage: values.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import json
import pathlib
import sys

import analyzer

ITEMS, GROUPS = 100, 2
WAVE = {"mi300x": 64, "rx6800xt": 32}


def truth(size):
    """Of each wave: name, bytes, values by lane."""
    waves = {}
    for group in range(GROUPS):
        for wave in range((ITEMS + size - 1) // size):
            items = {lane: group * ITEMS + wave * size + lane for lane in range(size) if wave * size + lane < ITEMS}
            told = waves[group, wave] = [("square", 4, {lane: (item * item - 50) % 2**32 for lane, item in items.items()})]
            fifth = {lane: item for lane, item in items.items() if item % 5 == 0}
            told += [("sum", 2, {lane: item * i for lane, item in fifth.items()}) for i in (1, 2, 3) if fifth]
            told.append(("a large one", 8, {lane: 2**40 + item for lane, item in items.items()}))
    return waves


def main():
    test = analyzer.Test("messages")
    found, lines = {}, {}
    for text in test.run("read", str(test.kept)).splitlines():
        message = json.loads(text)
        if message["action"] != "value":
            continue
        lanes = [lane for lane in range(64) if int(message["mask"], 16) >> lane & 1]
        found.setdefault((message["group_number"], message["wave"]), []).append(
            (message["name"], message["bytes"], dict(zip(lanes, (int(value, 16) for value in message["values"])))))
        lines[message["name"]] = message["at"][0]["line"]
    wanted = truth(WAVE[test.gpu])
    test.require(found == wanted, f"{found}\nis not\n{wanted}")
    test.require(lines == {"square": test.lines["square"], "sum": test.lines["sum"], "a large one": test.lines["large"]}, f"{lines}")
    rows = [row.split(",") for row in test.run("read", str(test.kept), "-t", "csv").splitlines()[1:]]
    test.require(sum(row[9] == "value" and row[11] == "sum" for row in rows) ==
                 sum(name == "sum" for told in wanted.values() for name, *_ in told), f"{rows}")
    counted = test.start("read", str(test.kept), "-a", str(pathlib.Path(test.program).parent / "counting_analyzer.so"))
    squares = sum(value for told in wanted.values() for name, _, lanes in told if name == "square" for value in lanes.values())
    test.require(f"squares {squares}\n" in counted.stderr, f"{counted} has not {squares}")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
