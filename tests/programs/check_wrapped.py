# SPDX-License-Identifier: MIT
"""Fails if a program uses a HIP function that is not in a list, so that its counts cannot be exact.

usage: check_wrapped.py --allow NAME... -- PROGRAM
"""

import argparse
import os
import re
import subprocess


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--allow", nargs="+", required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    listing = subprocess.run(["nm", "-u", options.program], capture_output=True, text=True, check=True).stdout
    # A symbol's version, as in hipMalloc@hip_4.2, is no function.
    used = set(re.findall(r"\b(?:__)?hip\w+", re.sub(r"@\S+", "", listing)))
    stray = sorted(used - set(options.allow))
    if stray:
        os.unlink(options.program)  # else the next build would take it for good
        raise SystemExit(f"{options.program} also calls {', '.join(stray)}: add a WRAP to the program and the name "
                         "to CMakeLists.txt")


main()
