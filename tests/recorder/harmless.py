#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program without and with the recorder, and with a recorder that cannot work, and compares.

usage: harmless.py --rochound PATH --gpu GPU --mode MODE -- PROGRAM...

Same must be: standard output and exit code. Modes:
  plain        recorded as usual. Recorded runs take at most twice the time of bare ones (half a second is given for free: these
               programs are short), by the medians of three runs each
  full-disk    the log's file system has no room, or runs out of it
  unwritable   the log's folder cannot be made
  files        the process may open no more files than it needs without the recorder: it fails no more often than bare
  allocation   the recorder's allocations fail from the N-th on: each of the first forty, then in growing steps until none is left
  failed-check a check of the recorder's own code fails: it says so once, in a build that has checks
"""

import argparse
import itertools
import math
import os
import pathlib
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402

RUNS_TO_COMPARE = 60  # of the bare and of the recorded program each, where one fails now and then
RUNS_WITHOUT_FAILURE = 3  # that are enough
UNLIKELY = 2e-4  # that both are equally good, and still one fails so much more often
TIMED_RUNS = 3  # bare and recorded each
FREE_SECONDS = 0.5
UNRECORDED = 123


class Run:
    def __init__(self, options, prefix=(), environment=None, files=None):
        begin = time.monotonic()
        limits = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))) if files else None
        try:
            done = subprocess.run([options.rochound, "softgpu", "--gpu", options.gpu, "--", *prefix, *options.command],
                                  env={**os.environ, **(environment or {})}, capture_output=True, text=True,
                                  errors="replace", timeout=options.timeout, check=False, preexec_fn=limits,
                                  stdin=subprocess.DEVNULL)
            self.code, self.out, self.err = done.returncode, done.stdout, done.stderr
        except subprocess.TimeoutExpired as hang:
            self.code, self.out, self.err = "no end", str(hang.stdout), str(hang.stderr)
        self.seconds = time.monotonic() - begin

    def difference(self, bare):
        # The program ended with 0; `rochound run` itself says that a GPU was used and nothing was recorded.
        if self.code == UNRECORDED and "nothing was recorded" in self.err:
            self.code = 0
        if self.code != bare.code:
            return f"exit code {self.code} instead of {bare.code}\n{self.err[-1500:]}"
        if process.untimed(self.out) != process.untimed(bare.out):
            return f"other output:\n--- bare\n{bare.out[-1500:]}\n--- recorded\n{self.out[-1500:]}"
        return None


def recorded(options, folder, **extra):
    """A run with the agent, no output made of its log."""
    environment = {"ROCHOUND_LOG_DIR": str(folder), **extra.pop("environment", {})}
    return Run(options, (options.rochound, "run", "--log-only", "--log-dir", str(folder), "--"), environment, **extra)


def listed(seconds):
    return ", ".join(f"{one:.2f}" for one in seconds)


def plain(options, bare, folder):
    if error := recorded(options, pathlib.Path(folder, "log")).difference(bare):
        return error
    # What the recorder costs is measured on a GPU that is kind: one whose completions come late takes longer for a recorded
    # program, because that has more of them.
    kind = {"ROCHOUND_SOFTGPU_FAULTS": ""}
    bare_seconds, recorded_seconds = [], []
    for number in range(TIMED_RUNS):  # in turns: whatever else the machine does meets both
        bare_seconds.append(Run(options, environment=kind).seconds)
        run = recorded(options, pathlib.Path(folder, f"log{number}"), environment=kind)
        if error := run.difference(bare):
            return error
        recorded_seconds.append(run.seconds)
    seconds = f"bare {listed(bare_seconds)} s, recorded {listed(recorded_seconds)} s"
    print(seconds)
    allowed = 2 * statistics.median(bare_seconds) + FREE_SECONDS
    return f"too slow: {seconds}" if statistics.median(recorded_seconds) > allowed else None


def full_disk(options, bare, folder):
    for kilobytes in (4, 64, 1024, 1200, 2048):
        mount = pathlib.Path(folder, f"disk{kilobytes}")
        mount.mkdir()
        made = subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={kilobytes}k", "tmpfs", str(mount)],
                              capture_output=True, text=True, check=False)
        if made.returncode != 0:
            print(f"SKIP full-disk: cannot mount a small file system: {made.stderr.strip()}")
            sys.exit(77)
        try:
            error = recorded(options, mount / "log").difference(bare)
        finally:
            subprocess.run(["umount", "-l", str(mount)], check=False)
        if error:
            return f"with {kilobytes} KiB: {error}"
    return None


def unwritable(options, bare, folder):
    blocker = pathlib.Path(folder, "file")
    blocker.write_text("not a folder")
    run = recorded(options, blocker / "log")
    # The program does not notice; `rochound run` itself says by its exit code that nothing is recorded.
    if run.code != 125:
        return f"exit code {run.code} instead of 125, which says that nothing was recorded"
    run.code = bare.code
    error = run.difference(bare)
    if not error and "rochound" not in run.err:
        error = "nobody was told that nothing is recorded"
    return error


def chance(bare_failures, recorded_failures, runs):
    """How likely so many more failures of the recorded program are if both fail equally often: Fisher's exact test."""
    failures = bare_failures + recorded_failures
    ways = sum(math.comb(runs, more) * math.comb(runs, failures - more)
               for more in range(recorded_failures, min(runs, failures) + 1) if failures - more <= runs)
    return ways / math.comb(2 * runs, failures)


def files(options, bare, folder):
    """A program of several threads that just about has enough files fails by chance, with us or without: it must not fail
    more often with us. Bare and recorded runs take turns, so that whatever else the machine does meets both."""
    enough = next((limit for limit in range(8, 400, 2) if not Run(options, files=limit).difference(bare)), None)
    if enough is None:
        return "the bare program needs more than 400 files"
    for limit in (enough, enough + 1, enough + 2, enough + 4, enough + 8):
        logs = (pathlib.Path(folder, f"log{limit}-{number}") for number in itertools.count())
        attempts = (recorded(options, log, files=limit).difference(bare) for log in logs)
        if not any(itertools.islice(attempts, RUNS_WITHOUT_FAILURE)):
            continue
        errors = [(Run(options, files=limit).difference(bare), next(attempts)) for _ in range(RUNS_TO_COMPARE)]
        failed, failed_recorded = (sum(error is not None for error in column) for column in zip(*errors))
        told = f"with {limit} files {failed} of {RUNS_TO_COMPARE} runs fail bare and {failed_recorded} recorded"
        print(told)
        if chance(failed, failed_recorded, RUNS_TO_COMPARE) < UNLIKELY:
            return f"{told}; the last: {[error for _, error in errors if error][-1]}"
    print(f"bare the program was content with {enough} files")
    return None


def allocation(options, bare, folder):
    site = 0
    while True:
        site = site + 1 if site < 40 else site * 5 // 4
        log = pathlib.Path(folder, f"log{site}")
        run = recorded(options, log, environment={"ROCHOUND_TEST_FAIL_ALLOCATION": str(site)})
        if error := run.difference(bare):
            return f"allocation {site} and all after it fail: {error}"
        if not re.search("rochound: recording is off", run.err):
            print(f"no allocation is left to fail at the {site}th")
            return None if site > 5 else "too few allocations: does the knob work?"


def failed_check(options, bare, folder):
    run = recorded(options, pathlib.Path(folder, "log"), environment={"ROCHOUND_TEST_FAIL_CHECK": "1"})
    if error := run.difference(bare):
        return f"a failed check changes the program: {error}"
    reports = re.findall(r"rochound: recording is off in process \d+: \S+failed_check.cpp:\d+: .* does not hold", run.err)
    return None if len(reports) == 1 else f"the failed check is not reported once: {run.err[-1000:]}"


def main():
    modes = {"plain": plain, "full-disk": full_disk, "unwritable": unwritable, "files": files, "allocation": allocation,
             "failed-check": failed_check}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--mode", choices=modes, default="plain")
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    bare = Run(options)
    if bare.code == 77:
        print(bare.out.rstrip().split("\n")[-1])
        return 77
    if bare.code != 0:
        print(f"the bare program fails: exit code {bare.code}\n{bare.err[-1000:]}")
        return 1
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        error = modes[options.mode](options, bare, folder)
    print(f"FAIL {options.mode}: {error}" if error else f"PASS {options.mode}")
    return 1 if error else 0


if __name__ == "__main__":
    sys.exit(main())
