#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound swap check` says of real code objects which kernels could be swapped, and why not.

usage: check.py --rochound PATH --files FOLDER
"""

import argparse
import json
import pathlib
import subprocess
import sys


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--files", type=pathlib.Path, required=True)
    options = parser.parse_args()
    problems = []

    def check(candidate, *more):
        done = subprocess.run([options.rochound, "swap", "check", options.files / "app", options.files / f"{candidate}.hsaco", *more],
                              capture_output=True, text=True, timeout=60, check=False)
        return done.returncode, done.stdout + done.stderr

    def kernels(candidate, *more):
        code, said = check(candidate, "--json", *more)
        found = json.loads(said)["kernels"]
        if code != (0 if all(one["fits"] for one in found) else 1):
            problems.append(f"{candidate} {more}: exit code {code} with {found}")
        return {(one["symbol"], one["target"].split(":")[0]): (one["fits"], one["remark"]) for one in found}

    def expect(condition, what):
        if not condition:
            problems.append(what)

    right = kernels("right")
    expect(right.get(("scale", "gfx942")) == (True, "") and all(fits for fits, _ in right.values()), f"right: {right}")
    argument = kernels("argument")
    expect(not any(fits for fits, _ in argument.values()) and "argument" in argument["scale", "gfx942"][1], f"argument: {argument}")
    # The same file for two GPUs: on one of them the other's kernels are of no use.
    both = kernels("bundle")
    expect({target for _, target in both} == {"gfx942", "gfx1030"} and all(fits for fits, _ in both.values()), f"bundle: {both}")
    for gpu in ("gfx942", "gfx1030"):
        one = kernels("bundle", "--gpu", gpu)
        expect({target for (_, target), (fits, _) in one.items() if fits} == {gpu}, f"bundle --gpu {gpu}: {one}")
    code, text = check("right")
    expect(code == 0 and "yes" in text and "scale" in text and "{" not in text, text)
    code, text = check("right", "--gpu", "nothing")
    expect(code == 2 and "--gpu" in text, text)
    print("\n".join(problems) or "as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
