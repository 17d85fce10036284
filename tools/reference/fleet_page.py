#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""docs/reference/fleet-commands.md, of what rochound-fleet and rochoundd say about themselves with --help.

usage: fleet_page.py --bin FOLDER --docs FOLDER [--check]
"""

import argparse
import pathlib
import re
import subprocess
import sys

HEAD = """# Commands of the fleet

This page is made by `./dev docs reference`, from `--help`. [The guide](../guides/fleet.md) shows them at work.
"""


def help_of(*command):
    text = subprocess.run([*map(str, command), "--help"], check=True, capture_output=True, text=True).stdout
    return "\n".join(line.rstrip() for line in text.replace(str(command[0]), command[0].name).strip().split("\n"))


def make(folder):
    fleet = folder / "rochound-fleet"
    listed = re.search(r"^SUBCOMMANDS:\n(.*)", help_of(fleet), re.M | re.S).group(1)
    names = re.findall(r"^  ([a-z]+) ", listed, re.M)
    parts = [HEAD]
    for title, command in [("rochoundd", [folder / "rochoundd"])] + [(f"rochound-fleet {name}", [fleet, name]) for name in names]:
        parts.append(f"## {title}\n\n```text\n{help_of(*command)}\n```\n")
    return "\n".join(parts)


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", type=pathlib.Path, required=True)
    parser.add_argument("--docs", type=pathlib.Path, required=True)
    parser.add_argument("--check", action="store_true")
    options = parser.parse_args(arguments)
    page, text = options.docs / "fleet-commands.md", make(options.bin)
    if not options.check:
        page.write_text(text)
        return 0
    good = page.is_file() and page.read_text() == text
    print("fleet-commands.md is up to date" if good else "fleet-commands.md is not up to date; ./dev docs reference writes it anew")
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
