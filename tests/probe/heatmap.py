#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound probe -a heatmap` against a map that is made of the messages themselves.

usage: heatmap.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import collections
import json
import pathlib
import re
import sys
from xml.etree import ElementTree

import analyzer

PAGE, LINE = 4096, 128


def main():
    test = analyzer.Test("memory")
    lines = collections.Counter()
    actions = collections.Counter()
    places = collections.Counter()
    for text in test.run("read", str(test.kept)).splitlines():
        message = json.loads(text)
        if message["space"] != "global":
            continue
        for address in (int(address, 16) for address in message["addresses"]):
            last = address + message["bytes"] - 1
            lines.update(range(address // LINE, last // LINE + 1))
            for page in range(address // PAGE, last // PAGE + 1):
                actions[page, message["action"]] += 1
                places[page, message["at"][0]["line"]] += 1
    test.name = "heatmap"
    found_lines, found_actions, found_places = {}, {}, {}
    pages = test.json()
    for page in pages:
        number = int(page["page"], 16) // PAGE
        found_lines.update({number * PAGE // LINE + i: lanes for i, lanes in enumerate(page["lines"]) if lanes})
        found_actions.update({(number, action): page[f"{action}s"] for action in ("load", "store", "atomic") if page[f"{action}s"]})
        found_places.update({(number, place["line"]): place["lanes"] for place in page["places"]})
    for found, wanted in ((found_lines, lines), (found_actions, actions), (found_places, places)):
        test.require(found and found == dict(wanted), f"{found} is not {dict(wanted)}")
    table = test.table().splitlines()
    test.require(table[0].startswith(f"Of {sum(actions.values())} accesses in {len(pages)} pages of 4 KiB, the hottest page gets "))
    test.require(sum("[" in row for row in table) == len(pages))
    svg = pathlib.Path(test.folder.name, "heat.svg")
    test.table("--svg", str(svg))
    drawn_lines, drawn_places = collections.Counter(), collections.Counter()
    for title in ElementTree.parse(svg).iter("{http://www.w3.org/2000/svg}title"):
        if match := re.fullmatch(r"0x(\w+): (\d+) lanes", title.text):
            drawn_lines[int(match[1], 16) // LINE] = int(match[2])
        elif match := re.fullmatch(r"memory.hip:(\d+): (\d+) lanes in page 0x(\w+)", title.text):
            drawn_places[int(match[3], 16) // PAGE, int(match[1])] = int(match[2])
    for drawn, wanted in ((drawn_lines, lines), (drawn_places, places)):
        test.require(+drawn == wanted, f"the picture has {drawn}, not {wanted}")
    refused = test.start("read", str(test.kept), "-a", "memory", "--svg", str(svg))
    test.require(refused.returncode == 2 and "-a heatmap" in refused.stderr, f"--svg of a table: {refused}")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
