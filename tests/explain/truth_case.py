# SPDX-License-Identifier: MIT
"""What the checks of label explain-truth share: a case records a program of truth/ on the software GPU and compares
what rochound says with what the program says about itself.

A check is a file truth*.py beside this one:

    from truth_case import Case, main

    def sleeps_in_range(case):
        run = case.record("host_sleep", "range")                 # program and arguments
        idle = run.ask("idle")                                   # tables by name, each a list of rows
        case.near("idle outside HIP", run.truth["sleep_ms"], idle["causes"][0]["total_ns"] / 1e6)

    if __name__ == "__main__":
        main({"sleeps_in_range": sleeps_in_range})

A case that misses nothing but times, with `near` or `expect_time`, is run three times in all, and most of the runs must
be right: the machine may be busy. Everything else that is wrong decides at once.

Case names are unique among all checks. `truth_path.py --list` lists them; `truth_path.py --rochound PATH --programs FOLDER
CASE...` runs some, or all without a name.
"""

import argparse
import json
import os
import pathlib
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402

TIMEOUT_S = 60
RUNS = 3  # of a case whose first run misses a time


class Recording:
    """A recorded run: the trace, what the program printed, the truth it told."""

    def __init__(self, case, path, outcome):
        self.case = case
        self.path = path
        self.code, self.out, self.err = outcome
        self.truth = {}
        for line in self.out.split("\n"):
            if line.startswith("TRUTH "):
                self.truth.update(json.loads(line[len("TRUTH "):]))

    def answer(self, question, *options):
        """The whole answer to a question as --json prints it."""
        return self.json("explain", question, self.path, *options)

    def ask(self, question, *options):
        """The answer's tables by name, each a list of rows."""
        tables = self.answer(question, *options)["tables"]
        return {name: table["rows"] for name, table in tables.items()}

    def text(self, *arguments):
        """What a command prints, e.g. text("top", run.path)."""
        code, out, err = self.case.rochound(*arguments)
        if code != 0:
            raise RuntimeError(f"rochound {' '.join(map(str, arguments))}: exit code {code}\n{err}")
        return out

    def json(self, *arguments):
        return json.loads(self.text(*arguments, "--json"))

    def rows(self, sql):
        """Plain SQLite over the trace."""
        database = sqlite3.connect(self.path)
        try:
            return database.execute(sql).fetchall()
        finally:
            database.close()


class Case:
    def __init__(self, name, options, folder):
        self.name = name
        self.options = options
        self.folder = pathlib.Path(folder)
        self.found = []
        self.missed_times = []
        self.judged = []  # findings called sure or likely: confidence, whether they are right, what they say
        self.recordings = 0

    # --- running
    def program(self, name):
        return pathlib.Path(self.options.programs, name)

    def rochound(self, *arguments, timeout=TIMEOUT_S, interrupt_after=None, kill_after=None):
        return self.execute([self.options.rochound, *arguments], timeout, interrupt_after, kill_after)

    def execute(self, command, timeout=TIMEOUT_S, interrupt_after=None, kill_after=None):
        """(exit code, stdout, stderr). interrupt_after, kill_after: seconds after which its group gets Ctrl-C or kill -9."""
        child = subprocess.Popen(list(map(str, command)), cwd=self.folder, start_new_session=True, text=True,
                                 errors="replace", stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                 stderr=subprocess.PIPE)
        try:
            if interrupt_after is not None:
                time.sleep(interrupt_after)
                os.killpg(child.pid, signal.SIGINT)
            if kill_after is not None:
                time.sleep(kill_after)
                os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            raise RuntimeError(f"{command}: no end within {timeout} s\n{out}{err}")
        return child.returncode, out, err

    def record(self, program, *arguments, gpu="rx6800xt", run=(), code=0, interrupt_after=None, kill_after=None,
               timeout=TIMEOUT_S):
        """Records a program. run: options of `rochound run`; code: the exit code to expect, None for any."""
        self.recordings += 1
        trace = self.folder / f"{self.name}-{self.recordings}.rpd"
        outcome = self.rochound("softgpu", "--gpu", gpu, "--", self.options.rochound, "run", *run, "-o", trace, "--",
                                self.program(program), *arguments, timeout=timeout, interrupt_after=interrupt_after, kill_after=kill_after)
        if code is not None and outcome[0] != code:
            raise RuntimeError(f"{program} {arguments}: exit code {outcome[0]}\n{outcome[1]}{outcome[2]}")
        return Recording(self, trace, outcome)

    # --- judging
    def expect(self, what, holds):
        if not holds:
            self.found.append(what)

    def expect_time(self, what, holds):
        if not holds:
            self.missed_times.append(what)

    def judge(self, finding, right):
        """Counts a finding for the calibration."""
        if finding["confidence"] != "note":
            self.judged.append((finding["confidence"], right, f"{self.name}: {finding['rule']}: {finding['finding']}"))

    def equal(self, what, expected, answer):
        self.expect(f"{what}: {answer!r} instead of {expected!r}", expected == answer)

    def near(self, what, expected, answer, part=0.1, least=0.0):
        """Within a part of what is expected, or within `least`, whichever is more."""
        room = max(abs(expected) * part, least)
        self.expect_time(f"{what}: {answer:.2f} is not within {room:.2f} of {expected:.2f}", abs(answer - expected) <= room)


def run_once(name, check, options):
    with tempfile.TemporaryDirectory(prefix="rochound-truth-") as folder:
        if options.keep:
            folder = options.keep
            os.makedirs(folder, exist_ok=True)
        case = Case(name, options, folder)
        try:
            check(case)
        except (RuntimeError, KeyError, IndexError, TypeError, ValueError) as error:
            case.found.append(f"{type(error).__name__}: {error}")
    return case


def judged_file(name, options):
    return pathlib.Path(options.programs, "judged", f"{name}.json")


def keep_judged(name, runs, options):
    """Of a case that a busy machine made run again, a run that was right, if one was."""
    run = next((run for run in runs if not run.found and not run.missed_times), runs[0])
    judged_file(name, options).parent.mkdir(exist_ok=True)
    judged_file(name, options).write_text(json.dumps(run.judged))


def problems_of(name, check, options):
    runs = [run_once(name, check, options)]
    if runs[0].missed_times and not runs[0].found:
        process.again(f"truth.{name}, {RUNS - 1} more runs: {runs[0].missed_times[0]}")
        runs += [run_once(name, check, options) for _ in range(RUNS - 1)]
    keep_judged(name, runs, options)
    found = [line for run in runs for line in run.found]
    missed = [line for run in runs for line in run.missed_times]
    most_missed = sum(bool(run.missed_times) for run in runs) > len(runs) // 2
    return found + (missed if found or most_missed else [])


def main(cases):
    parser = argparse.ArgumentParser(description="Compare what rochound says with what programs know of themselves.")
    parser.add_argument("--list", action="store_true", help="print the names of the cases")
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--programs", help="the folder with the built programs")
    parser.add_argument("--keep", help="leave the traces in this folder")
    parser.add_argument("cases", nargs="*", metavar="CASE")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        sys.exit(0)
    if not options.programs:
        parser.error("--programs is needed")
    unknown = [name for name in options.cases if name not in cases]
    if unknown:
        parser.error(f"no such case: {', '.join(unknown)}")
    failed = 0
    for name in options.cases or cases:
        problems = problems_of(name, cases[name], options)
        print(f"{'FAIL' if problems else 'PASS'} {name}")
        print("".join(f"  {line}\n" for line in problems), end="", flush=True)
        failed += bool(problems)
    sys.exit(1 if failed else 0)
