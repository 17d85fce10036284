#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a program and compares the trace with what the program counted itself.

usage: exact.py --name NAME [--runs N] [--says REGEX] [--rochound PATH] --gpu GPU -- PROGRAM...

Equal must be: kernels by name, copies, fills and HIP calls by function. Every kernel has a time, unless the software GPU took
it before its doorbell. Nothing else is reported lost. ROCHOUND_MAX_REPEATS bounds N.
"""

import argparse
import collections
import os
import pathlib
import re
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402
from trace import Trace, parse_counts, taken_early  # noqa: E402

# Calls that are in the program's text but are made before the recorder can be loaded, or by the compiler's own code.
NOT_COUNTED = {"__hipRegisterFatBinary", "__hipUnregisterFatBinary", "__hipRegisterFunction", "__hipRegisterVar",
               "__hipRegisterManagedVar"}


def differences(what, counted, recorded):
    return [f"{what} {name}: the program counted {counted[name]}, the trace has {recorded[name]}"
            for name in sorted(set(counted) | set(recorded)) if counted[name] != recorded[name]]


# HIP 5.2 hangs in hipStreamAddCallback if anybody traces its calls, so nobody does.
UNTRACED = "HIP calls are not recorded: this HIP hangs in hipStreamAddCallback"


def compare(text, trace, early=collections.Counter(), unreported=(), untraced=False):
    totals, calls, kernels, processes = parse_counts(text)
    if processes == 0:
        return ["the program printed no counts"]
    hip_calls = trace.hip_calls()
    for name in NOT_COUNTED:
        hip_calls.pop(name, None)
    for name in calls if untraced else unreported:
        calls[name] = 0
    recorded = trace.kernels()
    if set(kernels) == {"Thrust"}:  # the program cannot know the names of a library's kernels
        recorded = collections.Counter(Thrust=sum(recorded.values()))
    found = differences("kernel", kernels, recorded) + differences("call", calls, hip_calls)
    if totals["copies"] != trace.copies():
        found.append(f"copies: the program counted {totals['copies']}, the trace has {trace.copies()}")
    if without_reason := trace.untimed_kernels() - early:
        found.append(f"{without_reason.total()} kernels without a time: {without_reason}")
    # Copies that share one signal leave only the last one's times; the trace says so, and has the copies.
    lost = [row for row in trace.lost() if "copy times" not in row]
    # The runtime's own kernels are among those that have no time.
    if sum(row[3] for row in lost if "kernel times" in row) <= early.total():
        lost = [row for row in lost if "kernel times" not in row]
    return found + [f"lost: {row}" for row in lost]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--runs", type=int, default=1)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--says", help="what somebody must say on stderr, a regular expression")
    parser.add_argument("--unreported", action="append", default=[], help="a function that this HIP does not report calls of")
    parser.add_argument("--processes", type=int, help="so many processes the trace must have")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.runs = min(options.runs, int(os.environ.get("ROCHOUND_MAX_REPEATS", options.runs)))
    for run in range(1, options.runs + 1):
        with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
            path, faults = pathlib.Path(folder, "trace.rpd"), pathlib.Path(folder, "faults")
            outcome = process.run([options.rochound, "softgpu", "--gpu", options.gpu, "--fault-log", str(faults), "--",
                                   options.rochound, "run", "-o", str(path), "--"] + options.command, options.timeout)
            lines = outcome.out.rstrip("\n").split("\n")
            if outcome.code == 77 and lines[-1].startswith("SKIP "):
                print(lines[-1])
                return 77
            if outcome.code != 0 or f"PASS {options.name}" not in lines:
                print(f"FAIL {options.name}, run {run} of {options.runs}: {outcome}\n{outcome.tail()}")
                return 1
            trace = Trace(path)
            found = compare(outcome.out, trace, taken_early(faults), options.unreported, UNTRACED in outcome.err)
            if options.processes and trace.one("select count(*) from rochound_process") != options.processes:
                found.append(f"{trace.rows('select pid, ppid, command from rochound_process')} instead of {options.processes} processes")
            if options.says and not re.search(options.says, outcome.err):
                found.append(f"nobody said '{options.says}'")
            if found:
                print(f"FAIL {options.name}, run {run} of {options.runs}:")
                print("\n".join("  " + line for line in found[:30]))
                print(outcome.tail())
                return 1
    print(f"PASS {options.name}: {options.runs} runs equal the program's own counts")
    return 0


if __name__ == "__main__":
    sys.exit(main())
