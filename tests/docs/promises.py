#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every test that docs/safety.md names is there, and every promise has one.

usage: promises.py --ctest PATH --build FOLDER PAGE
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys


def promises(text):
    """(promise, names of tests) of each row of the page's table."""
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in text.splitlines() if line.startswith("|")]
    rows = [row for row in rows if len(row) == 2 and not set(row[0]) <= set("-") and row[1] != "held by"]
    return [(promise, re.findall(r"`([^`]+)`", tests)) for promise, tests in rows]


def problems(found, tests, labels):
    if not found:
        return ["there is no table of promises"]
    wrong = [f"nothing holds: {promise}" for promise, names in found if not names]
    return wrong + [f"there is no test and no label {name}, which is to hold: {promise}"
                    for promise, names in found for name in names if name not in tests and name not in labels]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ctest", required=True)
    parser.add_argument("--build", required=True)
    parser.add_argument("page", type=pathlib.Path)
    options = parser.parse_args()
    listing = subprocess.run([options.ctest, "--test-dir", options.build, "--show-only=json-v1"], capture_output=True, text=True,
                             check=True)
    tests = json.loads(listing.stdout[listing.stdout.index("{"):])["tests"]
    labels = {label for test in tests for one in test.get("properties", []) if one["name"] == "LABELS" for label in one["value"]}
    found = promises(options.page.read_text())
    wrong = problems(found, {test["name"] for test in tests}, labels)
    print("\n".join(wrong) or f"{len(found)} promises, {sum(len(names) for _, names in found)} tests and labels")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
