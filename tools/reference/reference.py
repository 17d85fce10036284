#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the reference pages, man pages and completions of what `rochound reference` says about itself.

usage: reference.py --rochound PATH --docs FOLDER [--check]
       reference.py --rochound PATH --share FOLDER --version X.Y.Z

--docs writes commands.md and environment.md; with --check it only says whether they are up to date.
--share writes man pages and completions for bash, zsh and fish, in the shape of an installation's share folder.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys

import completion
import man_pages
import pages


def read_reference(rochound):
    told = subprocess.run([rochound, "reference"], check=True, capture_output=True, text=True).stdout
    return json.loads(told)


def write(folder, files):
    for name, text in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def outdated(folder, files):
    return [name for name, text in files.items() if not (folder / name).is_file() or (folder / name).read_text() != text]


def main(arguments):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--docs", type=pathlib.Path)
    parser.add_argument("--check", action="store_true")
    parser.add_argument("--share", type=pathlib.Path)
    parser.add_argument("--version", default="")
    options = parser.parse_args(arguments)
    reference = read_reference(options.rochound)
    if options.docs:
        files = pages.make(reference)
        if options.check:
            old = outdated(options.docs, files)
            print(f"not up to date: {', '.join(old)}; ./dev docs reference writes them anew" if old
                  else f"{len(files)} pages are up to date")
            return 1 if old else 0
        write(options.docs, files)
    if options.share:
        files = {**man_pages.make(reference, options.version), **completion.make(reference)}
        # Pages of commands that are gone.
        shutil.rmtree(options.share / "man", ignore_errors=True)
        write(options.share, files)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
