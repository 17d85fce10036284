#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program that fails on the GPU, without and with the recorder, and looks at the explanation.

usage: faults.py --rochound PATH --gpu GPU --cause CAUSE --kernel NAME [--argument N] [--doubt] [--bundle] [--environment NAME=VALUE...]
                 -- PROGRAM...

The program's exit code and output are what they are without us; cause, kernel and argument are named correctly. With --bundle
the launch is captured where it failed, and fails again when it is replayed.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def run(command, environment):
    return subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.PIPE, text=True, errors="replace", timeout=120, check=False)


def steady(text):
    """Without what differs from run to run; and when HIP prints the packet, the signal that the recorder has lent it."""
    return re.sub(r"completion_signal=\w+|rptr=.*|(?:0x)+[0-9a-f]+|elapsed.*", "", text)


def split_output(text):
    """What the program printed, and HIP's own report of the packet that failed."""
    ours, report = [], []
    for line in steady(text).split("\n"):
        (report if re.match(r"Kernel Name:|VGPU|\t", line) else ours).append(line)
    return ours, report


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "cause", "kernel"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--argument", type=int, default=-1)
    parser.add_argument("--doubt", action="store_true")
    parser.add_argument("--bundle", action="append_const", const="--fault-bundle", default=[])
    parser.add_argument("--environment", action="append", default=[])
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    environment = {"ROCHOUND_HANG": "2s", **dict(one.split("=", 1) for one in options.environment)}
    with tempfile.TemporaryDirectory(prefix="rochound-fault-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        bare = run([options.rochound, "softgpu", "--gpu", options.gpu, "--", *options.program], environment)
        recorded = run([options.rochound, "run", "-q", *options.bundle, "-o", str(trace), "--softgpu", options.gpu, "--", *options.program],
                       environment)
        problems = []
        if options.bundle:
            replayed = run([options.rochound, "replay", "run", "--json", "--softgpu", options.gpu,
                            f"{trace}.fault/launch.bundle"], {})
            if '"verdict": "fault"' not in replayed.stdout or options.kernel not in replayed.stdout:
                problems.append(f"the captured launch does not fail again: {replayed.stdout}{replayed.stderr}")
        if recorded.returncode != bare.returncode:
            problems.append(f"exit code {recorded.returncode} instead of {bare.returncode}")
        (ours, report), (bare_ours, bare_report) = split_output(recorded.stdout), split_output(bare.stdout)
        # HIP's report is printed by a thread of its own while the program ends: it comes or does not come.
        if ours != bare_ours or (report and bare_report and report != bare_report):
            problems.append(f"other output:\n--- bare\n{bare.stdout[-800:]}\n--- recorded\n{recorded.stdout[-800:]}")
        told = run([options.rochound, "doctor", "--json", "--fault", f"{trace}.fault"], {})
        try:
            fault = json.loads(told.stdout)
        except json.JSONDecodeError:
            print("\n".join(problems), told.stdout, told.stderr, recorded.stderr[-2000:])
            return 1
        for key, wanted in (("cause", options.cause), ("argument", options.argument), ("sure", not options.doubt)):
            if fault[key] != wanted:
                problems.append(f"{key} is {fault[key]}, not {wanted}")
        if options.kernel not in fault["kernel"]:
            problems.append(f"the kernel is {fault['kernel']}, not {options.kernel}")
        print("\n".join(problems + [json.dumps(fault, indent=1)]))
        return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
