#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares the software GPU with the host, by random kernels.

usage: run_random.py TOOLS [--kernels 0-59] [--levels 1,3] [--gpus NAME,...] [--jobs N] [--per-file N]
                     [--shrink SECONDS --keep FOLDER] [--state FILE] [--summary FILE]
       run_random.py TOOLS --files FILE.hip... [--gpus NAME,...]
TOOLS: --rochound FILE --hipcc FILE --runner FILE

Kernels are made from their seeds (kernels.py), some to a file. A file is compiled once for the host, as the model, and
by hipcc for each target and level; random_runner (runner.cpp) then runs all of a GPU's code in one process and compares.
A kernel that differs or crashes is shrunk for up to --shrink seconds, and written to --keep as a file that belongs into
tests/random/found, where it is run for ever: that is what --files does, at the level that each file names.

With --state, what has been compared is noted there, and not done again by the next run, unless it failed or the
kernels are made differently now; so a run may be cut off at any time. --summary writes all that is known to a page.
Exit code 0: no difference. 1: differences, each with its seed, GPU and level. 2: a file could not be compiled or run.
"""

import argparse
import collections
import concurrent.futures
import datetime
import glob
import hashlib
import json
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
import render  # noqa: E402
import shrink  # noqa: E402

GPUS = {"mi250x": ("gfx90a", 9), "mi300x": ("gfx942", 9), "mi355x": ("gfx950", 9), "rx6800xt": ("gfx1030", 10),
        "rx7900xtx": ("gfx1100", 11), "rx9070xt": ("gfx1201", 12)}
SECONDS = 600  # for one run of a program; a kernel takes well under one

# A kernel (by its position) of one of the code files (by its position) that were run together. kind: difference, crash.
Failure = collections.namedtuple("Failure", "code position kind text")


class Broken(Exception):
    """The machinery failed: a file does not compile, or the runner does not start."""


class Runner:
    def __init__(self, options):
        self.rochound, self.runner = os.path.abspath(options.rochound), os.path.abspath(options.runner)
        self.hipcc = options.hipcc
        self.clang = subprocess.run([self.hipcc, "-print-prog-name=clang++"], stdout=subprocess.PIPE, text=True,
                                    check=True).stdout.strip()

    def compile(self, command):
        done = subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, errors="replace", timeout=1800)
        if done.returncode != 0:
            raise Broken(f"{' '.join(command)}:\n{done.stdout[-3000:]}")

    def compile_model(self, source, library):
        self.compile([self.clang, "-x", "c++", "-std=c++17", "-w", "-O1", "-ffp-contract=off", f"-I{HERE}", "-shared",
                      "-fPIC", source, "-o", library])

    def compile_code(self, source, gpu, level, code):
        self.compile([self.hipcc, "-x", "hip", "-nogpuinc", "-nogpulib", "-std=c++17", "-w", f"-O{level}",
                      "-ffp-contract=off", f"-I{HERE}", "--offload-device-only", f"--offload-arch={GPUS[gpu][0]}", "-c",
                      source, "-o", code])

    def run(self, gpu, library, codes, count):
        """Failures among the kernels 0 to count-1 of each of the codes."""
        failures, everything = [], [(c, p) for c in range(len(codes)) for p in range(count)]
        left = list(everything)
        while left:
            command = [self.rochound, "softgpu", "--gpu", gpu, "--", self.runner, library, str(GPUS[gpu][1]), *codes]
            if len(left) < len(everything):
                command += ["--"] + [f"{c}:{p}" for c, p in left]
            outcome = process.run(command, SECONDS)
            started, done = None, set()
            for line in outcome.out.split("\n"):
                match = re.match(r"(RUN|PASS|DIFF) (\d+) (\d+)\b", line)
                if not match:
                    continue
                which = (int(match[2]), int(match[3]))
                if match[1] == "RUN":
                    started = which
                elif match[1] == "DIFF" and which not in done:
                    failures.append(Failure(*which, "difference", line))
                if match[1] != "RUN":
                    done.add(which)
            left = [which for which in left if which not in done]
            if left:  # it ended in the middle of a kernel
                if started not in left:
                    raise Broken(f"{' '.join(command[:8])}: {outcome}\n{outcome.tail(6)}")
                guilty = started
                failures.append(Failure(*guilty, "crash", why_it_crashed(outcome)))
                left.remove(guilty)
        return failures

    def shrink(self, kernel, level, gpu, kind, seconds):
        """The smallest kernel found in this time that fails in the same way, and how many were tried."""
        end = time.monotonic() + seconds
        tried, progress, clean = 0, True, not shrink.has_unused(kernel)
        with tempfile.TemporaryDirectory(prefix="rochound-shrink-") as folder:
            while progress and time.monotonic() < end:
                progress, skip = False, 0
                while time.monotonic() < end:
                    batch = []
                    for index, cut in enumerate(shrink.smaller(kernel)):
                        if index >= skip:
                            candidate = cut()
                            if clean:
                                shrink.without_unused(candidate)
                            if render.size(candidate) < render.size(kernel):
                                batch.append(candidate)
                        if index >= skip + 24 or len(batch) >= 8:
                            break
                    else:
                        index = None
                    if batch:
                        tried += len(batch)
                        failing = [batch[f.position] for f in self.try_candidates(batch, level, gpu, folder) if f.kind == kind]
                        if failing:
                            kernel = min(failing, key=render.size)
                            progress = True
                            # Once what is not used is gone and it still fails, it may stay away.
                            clean = clean or not shrink.has_unused(kernel)
                            continue  # at the same place: what came before did not help
                    if index is None:
                        break
                    skip = index + 1
        return kernel, tried

    def try_candidates(self, batch, level, gpu, folder):
        source, library, code = (os.path.join(folder, name) for name in ("candidate.hip", "candidate.so", "candidate.co"))
        write(source, render.source(batch))
        try:
            self.compile_model(source, library)
            self.compile_code(source, gpu, level, code)
        except Broken:
            return []
        return self.run(gpu, library, [code], len(batch))


def why_it_crashed(outcome):
    """What the software GPU said of it, or else the end of all that was said."""
    said = [line for line in outcome.err.split("\n") if line.startswith("rochound softgpu:")]
    return f"  {outcome}: {said[-1][:400]}" if said else f"  {outcome}\n{outcome.tail(6)}"


def write(path, text):
    with open(path, "w", encoding="utf-8") as out:
        out.write(text)


class Results:
    """What is known, by seed range, GPU and level; kept in a file if there is one."""

    def __init__(self, path, versions):
        self.path, self.versions, self.rows, self.lock = path, versions, [], threading.Lock()
        if path and os.path.exists(path):
            with open(path, encoding="utf-8") as lines:
                whole = [line for line in lines if line.endswith("}\n")]
            write(path, "".join(whole))  # without the end of one that was killed
            rows = [json.loads(line) for line in whole]
            self.rows = [row for row in rows if row["kernels"] == versions["kernels"]]

    def done(self, seeds, gpu, level):
        """Compared before, without a failure."""
        return any(row["seeds"] == [seeds[0], seeds[-1]] and row["gpu"] == gpu and row["level"] == level and not row["failures"]
                   for row in self.rows)

    def add(self, seeds, gpu, level, failures):
        row = dict(self.versions, seeds=[seeds[0], seeds[-1]], gpu=gpu, level=level, failures=failures,
                   date=datetime.datetime.now(datetime.timezone.utc).date().isoformat())
        with self.lock:
            self.rows.append(row)
            if self.path:
                os.makedirs(os.path.dirname(os.path.abspath(self.path)), exist_ok=True)
                with open(self.path, "a", encoding="utf-8") as out:
                    out.write(json.dumps(row) + "\n")

    def latest(self):
        """The last row of each seed range, GPU and level."""
        return list({(*row["seeds"], row["gpu"], row["level"]): row for row in self.rows}.values())


def versions(options, runner):
    """What a result depends on: how kernels are made, the interpreter, the compiler."""
    def digest(paths):
        total = hashlib.sha256()
        for path in sorted(paths):
            with open(path, "rb") as data:
                total.update(data.read())
        return total.hexdigest()[:12]

    made_by = [path for pattern in ("*.h", "kernels.py", "render.py") for path in glob.glob(os.path.join(HERE, pattern))]
    core = glob.glob(os.path.join(os.path.dirname(runner.rochound), "..", "lib", "librochound_softgpu_core.so"))
    compiler = subprocess.run([runner.clang, "--version"], stdout=subprocess.PIPE, text=True).stdout.split("\n")[0]
    return {"kernels": digest(made_by), "interpreter": digest(core), "compiler": compiler}


def test_seeds(runner, options, results, seeds, say):
    wanted = [(gpu, level) for gpu in options.gpus for level in options.levels if not results.done(seeds, gpu, level)]
    if not wanted:
        return
    some = [kernels.make(seed) for seed in seeds]
    with tempfile.TemporaryDirectory(prefix="rochound-random-") as folder:
        source, library = os.path.join(folder, "random.hip"), os.path.join(folder, "random.so")
        write(source, render.source(some))
        runner.compile_model(source, library)
        for gpu in options.gpus:
            levels = [level for g, level in wanted if g == gpu]
            codes = [os.path.join(folder, f"{gpu}.O{level}.co") for level in levels]
            for level, code in zip(levels, codes):
                runner.compile_code(source, gpu, level, code)
            failures = runner.run(gpu, library, codes, len(some)) if codes else []
            for code in codes:
                os.remove(code)
            for index, level in enumerate(levels):
                mine = [f for f in failures if f.code == index]
                for failure in mine:
                    kernel = some[failure.position]
                    say(f"{failure.kind.upper()} seed={kernel.seed} gpu={gpu} level=O{level}\n{failure.text}")
                    if options.shrink > 0 and options.keep:
                        keep_shrunk(runner, options, kernel, gpu, level, failure.kind, say)
                results.add(seeds, gpu, level, [[some[f.position].seed, f.kind] for f in mine])
            if levels:
                say(f"seeds {seeds[0]}-{seeds[-1]} on {gpu} at {', '.join('-O' + l for l in levels)}: "
                    f"{len(some) * len(levels) - len(failures)} of {len(some) * len(levels)} equal")


def keep_shrunk(runner, options, kernel, gpu, level, kind, say):
    small, tried = runner.shrink(kernel, level, gpu, kind, options.shrink)
    os.makedirs(options.keep, exist_ok=True)
    target = GPUS[gpu][0]
    path = os.path.join(options.keep, f"seed_{kernel.seed}_{target}_O{level}.hip")
    write(path, render.source([small], f"Was a {kind} on {target}: seed {kernel.seed}, shrunk.\nlevel: O{level}"))
    say(f"  shrunk from {render.size(kernel)} to {render.size(small)} bytes by {tried} trials: {path}")


def test_file(runner, options, results, path, say):
    with open(path, encoding="utf-8") as text:
        level = re.search(r"^// level: O(\d)$", text.read(), re.M)[1]
    name = os.path.basename(path)
    with tempfile.TemporaryDirectory(prefix="rochound-random-") as folder:
        library, code = os.path.join(folder, "found.so"), os.path.join(folder, "found.co")
        runner.compile_model(path, library)
        for gpu in options.gpus:
            runner.compile_code(path, gpu, level, code)
            failures = runner.run(gpu, library, [code], 1)
            results.add([name, name], gpu, level, [[name, f.kind] for f in failures])
            say(f"{name} on {gpu}: " + (failures[0].text if failures else "equal"))


def parse(arguments=None):
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--hipcc", required=True)
    parser.add_argument("--runner", required=True)
    parser.add_argument("--gpus", default=",".join(GPUS), type=lambda text: text.split(","))
    parser.add_argument("--levels", default="1,3", type=lambda text: text.split(","))
    parser.add_argument("--kernels", default="0-59")
    parser.add_argument("--per-file", type=int, default=10)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--shrink", type=float, default=0)
    parser.add_argument("--keep")
    parser.add_argument("--state", help="a file that remembers what has been compared")
    parser.add_argument("--summary", help="a page that is written with what was run, when, and what came of it")
    parser.add_argument("--files", nargs="+")
    options = parser.parse_args(arguments)
    options.gpus = options.gpus if isinstance(options.gpus, list) else options.gpus.split(",")
    options.levels = options.levels if isinstance(options.levels, list) else options.levels.split(",")
    unknown = [gpu for gpu in options.gpus if gpu not in GPUS]
    if unknown:
        parser.error(f"no such GPU: {', '.join(unknown)}")
    return options


def main():
    options = parse()
    runner, lock, broken = Runner(options), threading.Lock(), []
    results = Results(options.state, versions(options, runner))
    begin = time.monotonic()

    def say(text):
        with lock:
            print(text, flush=True)

    if options.files:
        work = [(test_file, (runner, options, results, path, say)) for path in options.files]
    else:
        first, last = map(int, options.kernels.split("-"))
        seeds = range(first, last + 1)
        work = [(test_seeds, (runner, options, results, seeds[i:i + options.per_file], say))
                for i in range(0, len(seeds), options.per_file)]
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        futures = [pool.submit(function, *arguments) for function, arguments in work]
        for count, future in enumerate(concurrent.futures.as_completed(futures), 1):
            try:
                future.result()
            except (Broken, subprocess.TimeoutExpired) as error:
                broken.append(str(error))
                say(f"BROKEN {error}")
            if options.summary:
                write_summary(options, results)
            if len(work) > 10:
                say(f"{count} of {len(work)} files, {time.monotonic() - begin:.0f} s")
    failed = sum(len(row["failures"]) for row in results.latest())
    print(f"{failed} failures, {len(broken)} files that do not compile or start, {time.monotonic() - begin:.0f} s")
    return 2 if broken else 1 if failed else 0


def write_summary(options, results):
    """Puts the table into the page, between its marks."""
    rows = results.latest()
    levels = sorted({row["level"] for row in rows})
    lines = [f"Dates: {min(row['date'] for row in rows)} to {max(row['date'] for row in rows)}. "
             f"Compiler: {rows[-1]['compiler']}. Kernels as made by {results.versions['kernels']}; "
             f"builds of the interpreter: {len({row['interpreter'] for row in rows})}.", "",
             "| GPU | target | " + " | ".join(f"-O{level}" for level in levels) + " | runs | differences | crashes |",
             "|---|---|" + "---|" * (len(levels) + 3)]
    failing = []
    for gpu, (target, _) in GPUS.items():
        mine = [row for row in rows if row["gpu"] == gpu]
        counts = [sum(row["seeds"][1] - row["seeds"][0] + 1 for row in mine if row["level"] == level) for level in levels]
        kinds = [kind for row in mine for _, kind in row["failures"]]
        failing += [f"seed {seed} on {gpu} at -O{row['level']} ({kind})" for row in mine for seed, kind in row["failures"]]
        lines.append(f"| {gpu} | {target} | " + " | ".join(map(str, counts))
                     + f" | {sum(counts)} | {kinds.count('difference')} | {kinds.count('crash')} |")
    if failing:
        lines += ["", "Failing: " + ", ".join(failing[:40])]
    replace_section(options.summary, "full run", "\n".join(lines))


def replace_section(path, name, text):
    with open(path, encoding="utf-8") as page:
        before, rest = page.read().split(f"<!-- {name}: begin -->\n")
    after = rest.split(f"<!-- {name}: end -->")[1]
    write(path + ".new", f"{before}<!-- {name}: begin -->\n{text}\n<!-- {name}: end -->{after}")
    os.replace(path + ".new", path)


if __name__ == "__main__":
    sys.exit(main())
