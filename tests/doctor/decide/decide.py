#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Lets `rochound doctor decide` find out which of two kernels failed.

usage: decide.py --rochound PATH --program PATH --gpu GPU [--case NAME...]

Each case is a run of suspects.hip. Recorded as usual it leaves two suspects; decide names the guilty one without a doubt, or
says why it cannot: the program does not fail with one kernel at a time, or does not end.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

DECIDED, NOT_DECIDED, DID_NOT_FAIL = 3, 1, 0

# How decide ends, who is guilty, of what, and how many suspects the plain run leaves (where memory lies may clear one).
TRUTH = {
    "out_of_bounds": (DECIDED, "GuiltyPlace", "out_of_bounds", [2]),
    "read": (DECIDED, "GuiltyRead", "out_of_bounds", [2]),
    "freed": (DECIDED, "GuiltyPlace", "use_after_free", [1, 2]),
    "null": (DECIDED, "GuiltyTable", "null_pointer", [1]),
    "race": (DID_NOT_FAIL, "", "", [1]),
    "waits": (NOT_DECIDED, "", "", [2]),
    "clean": (DID_NOT_FAIL, "", "", []),
}


def run(command, **environment):
    return subprocess.run(command, env={**os.environ, **environment}, stdin=subprocess.DEVNULL, capture_output=True, text=True, errors="replace",
                          timeout=200, check=False)


def try_case(options, name):
    code, kernel, cause, counts = TRUTH[name]
    problems = []
    with tempfile.TemporaryDirectory(prefix="rochound-decide-test-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        plain = run([options.rochound, "run", "-q", "-o", str(trace), "--softgpu", options.gpu, "--", options.program, name], GPU_MAX_HW_QUEUES="16")
        fault = pathlib.Path(f"{trace}.fault")
        if not counts:
            if fault.exists():
                problems.append(f"the clean program failed: {plain.stderr}")
        else:
            told = run([options.rochound, "doctor", "--json", "--fault", str(fault)])
            suspects = json.loads(told.stdout)["suspects"] if told.stdout else []
            if len(suspects) not in counts:
                problems.append(f"the plain run leaves {[one['kernel'] for one in suspects]}: {told.stderr}")
            if len(suspects) > 1 and "rochound doctor decide" not in plain.stderr:
                problems.append(f"the plain run does not say what decides: {plain.stderr}")
        decide = [options.rochound, "softgpu", "--gpu", options.gpu, "--", options.rochound, "doctor", "decide", "--limit", "20"]
        kept = pathlib.Path(folder) / "kept.rpd"
        decided = run([*decide, "--json", "-o", str(kept), "--", options.program, name])
        if decided.returncode != code:
            problems.append(f"decide ended with {decided.returncode}, not {code}")
        if code != NOT_DECIDED and not kept.exists():
            problems.append("decide -o kept no trace")
        if code == DECIDED:
            if not pathlib.Path(f"{kept}.fault").is_dir():
                problems.append("decide -o kept no evidence")
            try:
                told = json.loads(decided.stdout)
                if kernel not in told["kernel"] or not told["kernel_sure"] or told["cause"] != cause:
                    problems.append(f"{told['kernel']}, sure: {told['kernel_sure']}, {told['cause']}")
            except json.JSONDecodeError:
                problems.append("no JSON")
        elif code == DID_NOT_FAIL and counts and "at the same time" not in decided.stdout:
            problems.append("it does not say that it fails only beside others")
        elif code == NOT_DECIDED and "Nothing is decided" not in decided.stdout:
            problems.append("it does not say that nothing is decided")
        if problems:
            problems.append(decided.stdout + decided.stderr)
    print(f"{name} on {options.gpu}: " + ("; ".join(problems) or "right"))
    return not problems


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "program", "gpu"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--case", action="append")
    options = parser.parse_args()
    right = [try_case(options, name) for name in TRUTH if not options.case or name in options.case]
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
