#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs one faulting program many times, beside an innocent one, and compares each end with what was promised.

usage: run_faults.py --name NAME --release R --expected FILE --innocent PROGRAM [--runs N] [--parallel N] -- COMMAND...

The last word of COMMAND is the faulting program; the innocent one is started by the same command with that word
replaced, runs all the time, and must pass. FILE says for the ROCm release what the runtime promises: exit code or
signal, and patterns that stdout and stderr must hold. ROCHOUND_MAX_FAULT_RUNS in the environment is an upper bound of N,
for when there is little time.
"""

import argparse
import concurrent.futures
import json
import os
import re
import subprocess
import sys
import tempfile
import time

import process


def promised(path, release, name):
    with open(path, encoding="utf-8") as file:
        table = json.load(file)
    outcome = table["releases"].get(release, {}).get(name)
    if outcome is None:
        raise SystemExit(f"{path} promises nothing for {name} on ROCm {release}: add it")
    return table["outcomes"][outcome]


def mismatch(expected, outcome):
    """Why the outcome is not the expected one, or None."""
    if outcome.hung:
        return str(outcome)
    end = f"signal {expected['signal']}" if "signal" in expected else f"exit code {expected['exit']}"
    if str(outcome) != end:
        return f"ended with {outcome}, promised was {end}"
    for name, text in (("stdout", outcome.out), ("stderr", outcome.err)):
        pattern = expected.get(name)
        if pattern is not None and not re.search(pattern, text, re.MULTILINE):
            return f"{name} does not match /{pattern}/"
    return None


class Innocent:
    """The process that must not notice."""

    def __init__(self, command, timeout):
        self._timeout = timeout
        self._folder = tempfile.TemporaryDirectory(prefix="rochound-test-")
        self._child = process.start(command, self._folder.name, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                    stderr=subprocess.STDOUT)
        self._lines = []
        for line in self._child.stdout:  # until it computes, or ends
            self._lines.append(line)
            if line == "running\n":
                break

    def finish(self):
        """Ends it; returns what is wrong, or None."""
        try:
            rest, _ = self._child.communicate(timeout=self._timeout)
        except subprocess.TimeoutExpired:
            process.stop(self._child)
            return f"the innocent process did not end within {self._timeout} s"
        finally:
            self._folder.cleanup()
        text = "".join(self._lines) + rest
        if self._child.returncode == 0 and "PASS innocent\n" in text:
            rounds = re.search(r"^rounds (\d+)$", text, re.MULTILINE)
            print(f"the innocent process was right in all of its {rounds[1]} rounds")
            return None
        return f"the innocent process ended with {self._child.returncode}:\n{text[-2000:]}"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--release", required=True)
    parser.add_argument("--expected", required=True)
    parser.add_argument("--innocent", required=True)
    parser.add_argument("--runs", type=int, default=100)
    parser.add_argument("--parallel", type=int, default=2)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one run")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.runs = min(options.runs, int(os.environ.get("ROCHOUND_MAX_FAULT_RUNS", options.runs)))

    expected = promised(options.expected, options.release, options.name)
    begin = time.monotonic()
    innocent = Innocent(options.command[:-1] + [options.innocent], options.timeout)
    wrong = 0
    with concurrent.futures.ThreadPoolExecutor(options.parallel) as pool:
        runs = [pool.submit(process.run, options.command, options.timeout) for _ in range(options.runs)]
        for number, run in enumerate(concurrent.futures.as_completed(runs), 1):
            outcome = run.result() if not run.cancelled() else None
            why = outcome and mismatch(expected, outcome)
            if not why:
                continue
            wrong += 1
            print(f"FAIL {options.name}, run {number}: {why}\n{outcome.tail()}")
            if wrong == 3:
                for other in runs:
                    other.cancel()
    trouble = innocent.finish()
    if trouble:
        print(f"FAIL {options.name}: {trouble}")
    if wrong or trouble:
        print(f"FAIL {options.name}: {wrong or 'no'} run(s) ended otherwise than promised")
        return 1
    print(f"PASS {options.name}: {options.runs} of {options.runs} as promised, {time.monotonic() - begin:.1f} s")
    return 0


if __name__ == "__main__":
    sys.exit(main())
