#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures a launch while one allocation of the capture's fails, then the next, until all have had their turn.

usage: allocations.py --rochound PATH --gpu GPU --kernel REGEX [--every] [--first N] -- PROGRAM...

Each time the program's output and exit code are what they are without us; and either a good bundle is there, or nothing,
and the command says that memory was missing. --every tries each of them, from the first or the N-th on; otherwise the first ones
and then some.
"""

import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402

FAILS = "rochound test: an allocation of the capture fails"
NOT_CAPTURED = 125
FIRST_ONES = 24


def run(command, environment=None):
    return subprocess.run(command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, timeout=120,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)


def problem_with(options, bare, folder, done):
    """What is wrong with this run; None: nothing."""
    bundle = folder / "bundle"
    if process.untimed(done.stdout) != process.untimed(bare.stdout):
        return f"other output:\n--- bare\n{bare.stdout[-1500:]}\n--- captured\n{done.stdout[-1500:]}"
    if bundle.is_dir():
        if done.returncode != bare.returncode:
            return f"exit code {done.returncode} instead of {bare.returncode}, with a bundle"
        shown = run([options.rochound, "show", str(bundle)])
        if shown.returncode != 0:
            return f"the bundle is not good: {shown.stderr}"
    else:
        if done.returncode != NOT_CAPTURED:
            return f"exit code {done.returncode} without a bundle"
        if "no memory" not in done.stderr:
            return "the command does not say why there is no bundle"
    left = sorted(path.name for path in folder.iterdir() if path.name != "bundle")
    return f"left behind: {left}" if left else None


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "kernel"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--every", action="store_true")
    parser.add_argument("--first", type=int, default=1)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    bare = run([options.rochound, "softgpu", "--gpu", options.gpu, "--", *options.program])
    if bare.returncode != 0:
        print(f"the bare program fails: exit code {bare.returncode}\n{bare.stderr[-1000:]}")
        return 1
    number, tried, without = options.first - 1, 0, 0
    while True:
        number = number + 1 if options.every or number < FIRST_ONES else number * 6 // 5
        with tempfile.TemporaryDirectory(prefix="rochound-capture-") as name:
            folder = pathlib.Path(name)
            done = run([options.rochound, "capture", "--kernel", options.kernel, "-o", str(folder / "bundle"), "--softgpu", options.gpu,
                        "--", *options.program], {"ROCHOUND_TEST_FAIL_CAPTURE_ALLOCATION": str(number)})
            fired = FAILS in done.stderr
            if not fired and not (folder / "bundle").is_dir():
                print(f"no allocation failed at {number}, and there is no bundle\n{done.stderr[-2000:]}")
                return 1
            if problem := problem_with(options, bare, folder, done):
                print(f"allocation {number} fails: {problem}\n{done.stderr[-2000:]}")
                return 1
            without += not (folder / "bundle").is_dir()
        if not fired:
            break
        tried += 1
    print(f"{tried} of the allocations from {options.first} to below {number} failed in turn; {without} of them left no bundle; "
          "the program never noticed")
    return 0 if tried > FIRST_ONES else 1


if __name__ == "__main__":
    sys.exit(main())
