#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the software GPU with the host, by random kernels.

usage: run_random.py --rochound FILE --hipcc FILE [--gpus NAME:TARGET,...] [--levels 1,3] [--kernels FIRST-LAST]
                     [--jobs N] [--shrink SECONDS] [--keep FOLDER] [--summary FILE]
       run_random.py --rochound FILE --hipcc FILE --files FILE.hip...

Kernels are made from their seeds, the numbers FIRST to LAST (kernels.py), ten to a file, compiled by hipcc for all
targets at once, and run on each GPU, where the program (harness.h) compares them with its own model. A kernel that
differs or crashes is shrunk for up to --shrink seconds, and written to --keep as a file that belongs into
tests/random/found, where it is run for ever: that is what --files does, at the level that each file names.
Exit code 0: no difference. 1: differences, each with its seed, GPU and level. 2: a file could not be compiled.
"""

import argparse
import concurrent.futures
import datetime
import os
import re
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, HERE)
sys.path.insert(0, os.path.join(HERE, "..", "programs"))

import kernels  # noqa: E402
import process  # noqa: E402

PER_FILE = 10
SECONDS = 240  # for one run of a program; a kernel takes well under one


class CompileError(Exception):
    pass


class Failure:
    """One kernel (by its position in the file) on one GPU at one level."""

    def __init__(self, position, kind, text):
        self.position, self.kind, self.text = position, kind, text


class Runner:
    def __init__(self, options):
        self.rochound, self.hipcc = os.path.abspath(options.rochound), options.hipcc
        self.gpus = dict(pair.split(":") for pair in options.gpus.split(","))

    def compile(self, source, level, targets, program):
        command = [self.hipcc, "-x", "hip", "-std=c++17", "-w", f"-O{level}", "-Xarch_host", "-O1", "-ffp-contract=off",
                   f"-I{HERE}", *[f"--offload-arch={t}" for t in targets], source, "-o", program]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=1800)
        if done.returncode != 0:
            raise CompileError(f"hipcc -O{level} {source}:\n{done.stdout[-3000:]}")

    def run(self, program, gpu, count):
        """Failures among the kernels 0 to count-1 of a program."""
        failures, left = [], list(range(count))
        while left:
            outcome = process.run([self.rochound, "softgpu", "--gpu", gpu, "--", program, *map(str, left)], SECONDS)
            lines = outcome.out.split("\n")
            passed = {int(m[1]) for m in (re.match(r"PASS (\d+)$", line) for line in lines) if m}
            differing = {}
            for line in lines:
                match = re.match(r"DIFF .*\bkernel=(\d+)\b", line)
                if match:
                    differing.setdefault(int(match[1]), []).append(line)
            failures += [Failure(p, "difference", "\n".join(text)) for p, text in sorted(differing.items())]
            left = [p for p in left if p not in passed and p not in differing]
            if left:  # it ended in the middle of a kernel
                started = [int(m[1]) for m in (re.match(r"RUN (\d+)$", line) for line in lines) if m]
                guilty = started[-1] if started and started[-1] in left else left[0]
                failures.append(Failure(guilty, "crash", f"{outcome}\n{outcome.tail(6)}"))
                left.remove(guilty)
        return failures

    def run_kernels(self, some, level, gpus, folder, name):
        """{gpu: failures} of some kernels as one file."""
        source, program = os.path.join(folder, f"{name}.hip"), os.path.join(folder, name)
        with open(source, "w", encoding="utf-8") as out:
            out.write(kernels.source(some))
        self.compile(source, level, [self.gpus[g] for g in gpus], program)
        found = {gpu: self.run(program, gpu, len(some)) for gpu in gpus}
        os.remove(program)
        os.remove(source)
        return found

    def shrink(self, kernel, level, gpu, kind, seconds):
        """The smallest kernel found in this time that fails in the same way."""
        end = time.monotonic() + seconds
        tried, progress = 0, True
        with tempfile.TemporaryDirectory(prefix="rochound-shrink-") as folder:
            while progress and time.monotonic() < end:
                progress, skip = False, 0
                while time.monotonic() < end:
                    batch = []
                    for index, cut in enumerate(kernels.smaller(kernel)):
                        if index >= skip:
                            candidate = cut()
                            if kernels.size(candidate) < kernels.size(kernel):
                                batch.append(candidate)
                        if index >= skip + 24 or len(batch) >= 8:
                            break
                    else:
                        index = None
                    if batch:
                        tried += len(batch)
                        try:
                            failures = self.run_kernels(batch, level, [gpu], folder, "candidate")[gpu]
                        except CompileError:
                            failures = []
                        failing = [batch[f.position] for f in failures if f.kind == kind]
                        if failing:
                            kernel = min(failing, key=kernels.size)
                            progress = True
                            continue  # at the same place: what came before did not help
                    if index is None:
                        break
                    skip = index + 1
        return kernel, tried


def test_seeds(runner, options, seeds, level, lock, report):
    some = [kernels.make(seed) for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="rochound-random-") as folder:
        found = runner.run_kernels(some, level, list(runner.gpus), folder, f"random{seeds[0]}")
    for gpu, failures in found.items():
        for failure in failures:
            kernel = some[failure.position]
            with lock:
                report.append((kernel.seed, gpu, level, failure.kind))
                print(f"{failure.kind.upper()} seed={kernel.seed} gpu={gpu} level=O{level}\n{failure.text}", flush=True)
            if options.shrink <= 0 or not options.keep:
                continue
            small, tried = runner.shrink(kernel, level, gpu, failure.kind, options.shrink)
            os.makedirs(options.keep, exist_ok=True)
            path = os.path.join(options.keep, f"seed_{kernel.seed}_{runner.gpus[gpu]}_O{level}.hip")
            with open(path, "w", encoding="utf-8") as out:
                out.write(kernels.source([small], f"Was a {failure.kind} on {runner.gpus[gpu]}: seed {kernel.seed}, shrunk.\n"
                                                  f"level: O{level}"))
            with lock:
                print(f"  shrunk from {kernels.size(kernel)} to {kernels.size(small)} bytes by {tried} trials: {path}", flush=True)
    with lock:
        print(f"seeds {seeds[0]}-{seeds[-1]} at -O{level}: "
              + ", ".join(f"{gpu} {len(some) - len(f)} of {len(some)} equal" for gpu, f in found.items()), flush=True)


def test_file(runner, path, lock, report):
    with open(path, encoding="utf-8") as text:
        level = re.search(r"^// level: O(\d)$", text.read(), re.M)
    with tempfile.TemporaryDirectory(prefix="rochound-random-") as folder:
        program = os.path.join(folder, "found")
        runner.compile(path, level[1] if level else "1", list(runner.gpus.values()), program)
        for gpu in runner.gpus:
            failures = runner.run(program, gpu, 1)
            with lock:
                report += [(os.path.basename(path), gpu, level, f.kind) for f in failures]
                print(f"{os.path.basename(path)} on {gpu}: " + (failures[0].text if failures else "equal"), flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--hipcc", required=True)
    parser.add_argument("--gpus", default="mi300x:gfx942,rx6800xt:gfx1030")
    parser.add_argument("--levels", default="1,3")
    parser.add_argument("--kernels", default="0-59")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", type=float, default=0)
    parser.add_argument("--keep")
    parser.add_argument("--summary", help="a file that is written with what was run, when, and what came of it")
    parser.add_argument("--files", nargs="+")
    options = parser.parse_args()
    runner, lock, report, broken = Runner(options), threading.Lock(), [], []
    begin = time.monotonic()
    if options.files:
        work = [(test_file, (runner, path, lock, report)) for path in options.files]
    else:
        first, last = map(int, options.kernels.split("-"))
        seeds = range(first, last + 1)
        work = [(test_seeds, (runner, options, seeds[i:i + PER_FILE], level, lock, report))
                for i in range(0, len(seeds), PER_FILE) for level in options.levels.split(",")]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        for future in [pool.submit(function, *arguments) for function, arguments in work]:
            try:
                future.result()
            except (CompileError, subprocess.TimeoutExpired) as error:
                broken.append(str(error))
                print(f"BROKEN {error}", flush=True)
    print(f"{len(report)} failures, {len(broken)} files that do not compile, {time.monotonic() - begin:.0f} s")
    if options.summary and not options.files:
        write_summary(options, runner, report, broken)
    return 2 if broken else 1 if report else 0


def write_summary(options, runner, report, broken):
    first, last = map(int, options.kernels.split("-"))
    levels = options.levels.split(",")
    lines = ["# Random kernels on the software GPU", "",
             "What `./dev test softgpu-random --full` found: every kernel's memory after it ran, compared bit by bit with a model on",
             "the host ([tests/random](../tests/random)). Written by that command; do not edit.", "",
             f"{datetime.date.today().isoformat()}: {last - first + 1} kernels (seeds {first} to {last}), "
             f"levels {', '.join('-O' + level for level in levels)}.", "", "| GPU | target | runs | differences | crashes |", "|---|---|---|---|---|"]
    for gpu, target in runner.gpus.items():
        kinds = [kind for _, name, _, kind in report if name == gpu]
        lines.append(f"| {gpu} | {target} | {(last - first + 1) * len(levels)} | {kinds.count('difference')} | {kinds.count('crash')} |")
    if report:
        lines += ["", "Failing: " + ", ".join(f"seed {seed} on {gpu} at -O{level}" for seed, gpu, level, _ in report[:40])]
    if broken:
        lines += ["", f"Files that did not compile: {len(broken)}."]
    with open(options.summary, "w", encoding="utf-8") as out:
        out.write("\n".join(lines) + "\n")


if __name__ == "__main__":
    sys.exit(main())
