#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `rochound selftest` on a software GPU.

usage: selftest.py --rochound PATH --gpu GPU --failing PROGRAM -- NAME...

The named programs behave as they should: same in all three steps, or not possible on this GPU. A program that fails is
called different, with what it said.
"""

import argparse
import json
import pathlib
import shutil
import subprocess
import sys
import tempfile


def selftest(options, *words):
    done = subprocess.run([options.rochound, "selftest", "--json", "--softgpu", options.gpu, *words], text=True, timeout=600,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, check=False)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        sys.exit(f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "failing"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    problems = []
    code, answer, _ = selftest(options, *options.names)
    if code != 0 or sorted(one["program"] for one in answer) != sorted(options.names):
        problems.append(f"exit code {code}: {json.dumps(answer, indent=1)}")
    for one in answer:
        outcomes = [step["outcome"] for step in one["steps"]]
        if outcomes != ["same"] * 3 and outcomes != ["not possible here"]:
            problems.append(f"{one['program']}: {one['steps']}")
    with tempfile.TemporaryDirectory(prefix="rochound-selftest-") as folder:
        shutil.copy(options.failing, pathlib.Path(folder) / "failing")
        code, answer, _ = selftest(options, "--folder", folder)
        if code != 1 or answer[0]["steps"][0]["outcome"] != "different" or not answer[0]["steps"][0]["why"]:
            problems.append(f"a failing program, exit code {code}: {answer}")
    print("\n".join(problems) or f"{len(options.names)} programs as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
