#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every environment variable of ours that the sources read is described, and every one that is described is read.

usage: environment.py --rochound PATH FILE...

Descriptions are what `rochound reference` prints. Names are strings in the sources of what people run: a whole string, or
its beginning where a program puts the name together ("ROCHOUND_PROBE_GROUPS_{}").
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys

NAME = re.compile(r'"((?:ROCHOUND|RPDT|LOGDUR)_[A-Z0-9_]+)(\{\}[A-Z0-9_]*)?[":]')


def names_in(text):
    """Names, and patterns for those that are put together."""
    return {match[1] + (match[2] or "").replace("{}", "*") for match in NAME.finditer(text)}


def matches(pattern, name):
    return re.fullmatch(pattern.replace("*", r"[A-Z0-9]+"), name) is not None


def problems(used, described):
    """used: names and patterns -> a file that has them; described: names."""
    wrong = [f"{place}: {name} is not described in src/cli/variables.cpp" for name, place in sorted(used.items())
             if not any(matches(name, one) for one in described)]
    return wrong + [f"src/cli/variables.cpp: {name} is described, and nothing reads it" for name in described
                    if not any(matches(one, name) for one in used)]


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("files", nargs="+", type=pathlib.Path)
    options = parser.parse_args(arguments)
    told = subprocess.run([options.rochound, "reference"], check=True, capture_output=True, text=True).stdout
    described = [one["name"] for one in json.loads(told)["variables"]]
    used = {}
    for path in options.files:
        for name in names_in(path.read_text(errors="replace")):
            used.setdefault(name, str(path))
    found = problems(used, described)
    print("\n".join(found) or f"{len(described)} variables, all described and all read")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
