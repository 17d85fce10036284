#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs `rochound selftest` on a software GPU.

usage: selftest.py --rochound PATH --gpu GPU [--failing PROGRAM] [--old-runtime LIBRARY] -- NAME...

The named programs behave as they should: same in all three steps, or not possible on this GPU. A program that fails is
called different, with what it said. With a LIBRARY that makes the runtime one that cannot replay, that step is not possible.
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


def selftest(options, *words):
    preloaded = {"LD_PRELOAD": options.old_runtime} if options.old_runtime else {}
    done = subprocess.run([options.rochound, "selftest", "--json", "--softgpu", options.gpu, *words], text=True, timeout=600,
                          env={**os.environ, **preloaded}, stdin=subprocess.DEVNULL, capture_output=True, check=False)
    try:
        return done.returncode, json.loads(done.stdout), done.stderr
    except json.JSONDecodeError:
        sys.exit(f"exit code {done.returncode}: {done.stdout}{done.stderr}")


def failing_is_different(options):
    with tempfile.TemporaryDirectory(prefix="rochound-selftest-") as folder:
        shutil.copy(options.failing, pathlib.Path(folder) / "failing")
        (pathlib.Path(folder) / "kernels.co").write_text("what a program loads is no program")
        code, answer, _ = selftest(options, "--folder", folder)
        if code != 1 or len(answer) != 1 or answer[0]["steps"][0]["outcome"] != "different" or not answer[0]["steps"][0]["why"]:
            return [f"a failing program, exit code {code}: {answer}"]
    return []


def slow_is_ended(options):
    """A program that does not end is ended, and called different; --list runs none."""
    with tempfile.TemporaryDirectory(prefix="rochound-selftest-") as name:
        folder = pathlib.Path(name)
        slow = folder / "slow"
        slow.write_text(f"#!/bin/sh\necho run >> {folder}/runs\nexec sleep 300\n")
        slow.chmod(0o755)
        listed = subprocess.run([options.rochound, "selftest", "--list", "--folder", folder], text=True, timeout=60, capture_output=True, check=False)
        if (listed.returncode, listed.stdout) != (0, "slow\n") or (folder / "runs").exists():
            return [f"--list: {listed}"]
        code, answer, _ = selftest(options, "--folder", name, "--limit", "1")
        if code != 1 or not (folder / "runs").exists() or [step["outcome"] for step in answer[0]["steps"]] != ["different"]:
            return [f"a program that does not end within --limit 1, exit code {code}: {answer}"]
    return []


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--failing")
    parser.add_argument("--old-runtime")
    parser.add_argument("names", nargs="+")
    options = parser.parse_args()
    problems = []
    code, answer, _ = selftest(options, *options.names)
    if code != 0 or sorted(one["program"] for one in answer) != sorted(options.names):
        problems.append(f"exit code {code}: {json.dumps(answer, indent=1)}")
    for one in answer:
        outcomes = [step["outcome"] for step in one["steps"]]
        replayed = "not possible here" if options.old_runtime else "same"
        if outcomes != ["same", "same", replayed] and outcomes != ["not possible here"]:
            problems.append(f"{one['program']}: {one['steps']}")
    if options.failing:
        problems += failing_is_different(options) + slow_is_ended(options)
    print("\n".join(problems) or f"{len(options.names)} programs as they should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
