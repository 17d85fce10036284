#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every name of the headers says since which version it is there, and docs/reference/c-api.md says the same.

usage: c_api.py --page PAGE HEADER...

A comment "Since X.Y.Z" is about what follows it, up to the next such comment.
"""

import argparse
import pathlib
import re
import sys

SINCE = re.compile(r"Since (\d+\.\d+\.\d+)")
# A function's declaration or definition, or the end of a structure; names that end in _ are not interface.
NAME = re.compile(r"^(?:static inline )?[a-z][\w ]*[ *]+(rochound_\w*[a-z])\(|^\} (rochound_\w*[a-z]);", re.MULTILINE)
ROW = re.compile(r"^\| \[([\w.]+)\]\(.*\| (\d+\.\d+\.\d+) \|$", re.MULTILINE)


def names_in(header):
    """Name -> version; None where the header does not say."""
    found = {}
    for match in NAME.finditer(header):
        since = SINCE.findall(header[:match.start()])
        found.setdefault(match[1] or match[2], since[-1] if since else None)
    return found


def names_on(page):
    """Header, name -> version."""
    return {(row[1], name): row[2] for row in ROW.finditer(page) for name in re.findall(r"`(rochound_\w+)`", row[0])}


def problems(headers, page):
    told = names_on(page)
    there = {(header, name): since for header, text in headers.items() for name, since in names_in(text).items()}
    wrong = [f"{header}: does not say since when {name} is there" for (header, name), since in there.items() if since is None]
    wrong += [f"{header}: {name} is there since {there.get((header, name))}, the page says {told.get((header, name))}"
              for header, name in {**there, **told} if there.get((header, name)) != told.get((header, name))]
    return wrong, len(there)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("headers", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    wrong, count = problems({path.name: path.read_text() for path in options.headers}, options.page.read_text())
    print("\n".join(wrong) or f"{count} names, each with its version")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
