#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one test program several times and judges it.

usage: run_program.py --name NAME [--repeat N] [--timeout SECONDS] -- COMMAND...

Right is, in every repetition: exit code 0, last line `PASS NAME`, at least one `counts` line, and all `counts`
lines equal to the first repetition's. Exit code 77 with last line `SKIP NAME: why` in every repetition is a skip
(77 again). Everything else, and no end within the time limit, is a failure (1). ROCHOUND_MAX_REPEATS in the environment
is an upper bound of N, for when there is little time.
"""

import argparse
import os
import sys

import process


def judge(name, outcome):
    """('pass', counts) or ('skip', line) or ('fail', why)."""
    lines = outcome.out.rstrip("\n").split("\n")
    if outcome.code == 77 and lines[-1].startswith(f"SKIP {name}: "):
        return "skip", lines[-1]
    if outcome.code != 0 or lines[-1] != f"PASS {name}":
        return "fail", f"{outcome}, last line \"{lines[-1]}\""
    counts = [line for line in lines if line.startswith("counts")]
    if not any(line.startswith("counts process=main ") for line in counts):
        return "fail", "no counts line"
    return "pass", counts


def difference(before, now):
    for line in now:
        if line not in before:
            return f"counts differ from the first repetition's, e.g.\n  now:   {line}\n  first: " + next(
                (old for old in before if old.split()[:2] == line.split()[:2]), "(none)")
    return "counts lines of the first repetition are missing"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--repeat", type=int, default=10)
    parser.add_argument("--timeout", type=float, default=80, help="seconds for one repetition")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.repeat = min(options.repeat, int(os.environ.get("ROCHOUND_MAX_REPEATS", options.repeat)))

    first = None
    seconds = []
    for repetition in range(1, options.repeat + 1):
        outcome = process.run(options.command, options.timeout)
        verdict, detail = judge(options.name, outcome)
        seconds.append(outcome.seconds)
        if first is None:
            first = (verdict, detail)
        elif verdict != "fail" and (verdict, detail) != first:
            detail = difference(first[1], detail) if verdict == first[0] == "pass" else f"{verdict} after {first[0]}"
            verdict = "fail"
        if verdict == "fail":
            print(f"FAIL {options.name}, repetition {repetition} of {options.repeat}: {detail}")
            print(outcome.tail())
            return 1
    if first[0] == "skip":
        print(first[1])
        return 77
    print("\n".join(first[1]))
    print(f"PASS {options.name}: {options.repeat} repetitions, {min(seconds):.2f} to {max(seconds):.2f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
