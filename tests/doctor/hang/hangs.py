#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Asks about GPU work that does not end, while it lasts and afterwards, and about work that is only slow.

usage: hangs.py --rochound PATH --program PATH --gpu GPU [--case NAME...]

Each case is a run of hangs.hip under the recorder. While it runs, `rochound ctl status` shows what is in flight for long, and
`rochound doctor --hang PID` says what it waits for. Then the program is killed, and the evidence that run kept says the same.
Of programs that are only slow nobody says that they hang, and they end as they would.
"""

import argparse
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import time


def hang(waits_for, kernel="", argument=-1, deadlock=False, **more):
    return dict(waits_for=waits_for, kernel=kernel, argument=argument, deadlock=deadlock, **more)


SLOW = None  # it ends, and no hang is reported

TRUTH = {
    "endless": hang("endless_loop", "Endless"),
    "endless_work": hang("endless_loop", "EndlessWork"),
    "flag": hang("memory", "WaitForFlag", 1),
    "flag_beside": hang("memory", "WaitForFlag", 1),
    "lock": hang("memory", "TakeLock", 0),
    "barrier": hang("signal"),
    "value": hang("stream_value"),
    "host_function": hang("signal"),
    "deadlock": hang("memory", "WaitForFlag", 1, deadlock=True, queues=2),
    "deadlock_signals": hang("signal", deadlock=True, queues=2),
    "slow_count": SLOW,
    "slow_time": SLOW,
    "slow_float": SLOW,
    "slow_producer": SLOW,
    "slow_host": SLOW,
    "busy": SLOW,
    "idle": SLOW,
}
SLOWEST = 100  # seconds
WORKING = ("slow_count", "slow_time", "slow_float", "slow_producer", "slow_host")  # a kernel is in flight for long


class Program:
    """A recorded program, up to the line with which it says that everything is submitted."""

    def __init__(self, options, name, gpu, folder, slow):
        self.trace = folder / "trace.rpd"
        control = folder / "control"
        control.mkdir(mode=0o700)
        self.environment = {**os.environ, "ROCHOUND_HANG": "2s", "GPU_MAX_HW_QUEUES": "16", "ROCHOUND_CONTROL_DIR": str(control)}
        self.rochound = options.rochound
        self.process = subprocess.Popen([options.rochound, "run", "-q", "-o", str(self.trace), "--softgpu", gpu, "--", options.program, name, str(slow)],
                                        env=self.environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        line = self.process.stdout.readline()
        self.submitted = time.monotonic()
        match = re.fullmatch(r"pid=(\d+)\n", line)
        if match is None:
            raise RuntimeError(f"the program did not start: {line}{self.process.stdout.read()}{self.process.stderr.read()}")
        self.pid = int(match[1])

    def ask(self, *command):
        return subprocess.run([self.rochound, *command], env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=120,
                              check=False)

    def end(self, kill):
        if kill:
            os.kill(self.pid, signal.SIGKILL)
        out, err = self.process.communicate(timeout=400)
        return out, err


def check_words(truth, told, problems, when):
    """What the doctor says, as JSON."""
    if told["cause"] != "hang":
        problems.append(f"{when}: the cause is {told['cause']}")
        return
    waits = [wait for wait in told["waiting"] if wait["hangs"]]
    if len(waits) != truth.get("queues", 1):
        problems.append(f"{when}: {len(waits)} queues hang: {told['waiting']}")
    for wait in waits:
        for key in ("waits_for", "argument", "deadlock"):
            if wait[key] != truth[key]:
                problems.append(f"{when}: {key} is {wait[key]}, not {truth[key]}")
        if truth["kernel"] not in wait["kernel"]:
            problems.append(f"{when}: the kernel is {wait['kernel']}, not {truth['kernel']}")
        if wait["gpu"] != 0 or wait["queue"] < 1:
            problems.append(f"{when}: queue {wait['queue']}, GPU {wait['gpu']}")


def check_status(program, truth, working, problems):
    """rochound ctl status, and the time it tells."""
    least = time.monotonic() - program.submitted
    asked = program.ask("ctl", "status", "--json", str(program.pid))
    most = time.monotonic() - program.submitted
    row = json.loads(asked.stdout)[0]
    if not row["ok"]:
        problems.append(f"ctl status: {row}")
        return
    long = row["in_flight"]
    if truth is SLOW and not working:
        if long:
            problems.append(f"ctl status shows {long}")
        return
    if not long:
        problems.append("ctl status shows nothing in flight")
        return
    if truth and truth["kernel"] and not any(truth["kernel"] in one["kernel"] for one in long):
        problems.append(f"ctl status shows {long}")
    # The program knows when it was submitted, and has told us a moment later.
    oldest = max(one["seconds"] for one in long)
    if not least - 2 < oldest < most + 4:
        problems.append(f"in flight for {oldest} s, and submitted {least:.1f} to {most:.1f} s ago")
    text = program.ask("ctl", "status", str(program.pid)).stdout
    if f"rochound doctor --hang {program.pid}" not in text:
        problems.append("ctl status does not say what to ask next: " + text)


def try_case(options, name, gpu, slow=8):
    """slow: for so many seconds a program lasts that is only slow."""
    truth = TRUTH[name]
    problems = []
    with tempfile.TemporaryDirectory(prefix="rochound-hang-") as folder:
        program = Program(options, name, gpu, pathlib.Path(folder), slow)
        time.sleep(4)
        check_status(program, truth, name in WORKING, problems)
        asked = program.ask("doctor", "--json", "--hang", str(program.pid))
        text = program.ask("doctor", "--hang", str(program.pid))
        answers = {asked.returncode, text.returncode}
        over = not os.path.exists(f"/proc/{program.pid}") or not answers <= {0, 3}
        if truth is SLOW and over and slow < SLOWEST:  # this machine did not come to ask it before it was at its end
            program.end(kill=False)
            return try_case(options, name, gpu, 4 * slow)
        try:
            told = json.loads(asked.stdout)
        except json.JSONDecodeError:
            problems.append(f"doctor --hang: {asked.stdout}{asked.stderr}")
            told = None
        out, err = program.end(kill=truth is not SLOW)
        fault = pathlib.Path(f"{program.trace}.fault")
        if truth is SLOW:
            if program.process.returncode != 0 or asked.returncode != 0 or text.returncode != 0:
                problems.append(f"the program ended with {program.process.returncode}, doctor --hang with {asked.returncode}: {asked.stderr}")
            if fault.exists() or "did not end" in err:
                problems.append(f"a hang was reported: {err}")
            if told and any(wait["hangs"] for wait in told["waiting"]):
                problems.append(f"it is called a hang: {told}")
            if "took" in out and float(re.search(r"took ([\d.]+)", out)[1]) < slow * 5 / 8:
                problems.append(f"the kernel was not slow: {out}")
        else:
            if told:
                check_words(truth, told, problems, "while it lasts")
            if asked.returncode != 3:
                problems.append(f"doctor --hang ended with {asked.returncode}, not 3")
            kept = program.ask("doctor", "--json", "--fault", str(fault))
            try:
                check_words(truth, json.loads(kept.stdout), problems, "afterwards")
            except json.JSONDecodeError:
                problems.append(f"afterwards: {kept.stdout}{kept.stderr}{err}")
            ran = program.ask("doctor", "--json", "--ran", str(program.trace))
            found = [one for one in json.loads(ran.stdout)["findings"] if one["id"] == "work-unfinished"]
            if ran.returncode != 3 or len(found) != 1 or (truth["kernel"] not in json.dumps(found)):
                problems.append(f"doctor --ran: {ran.returncode} {ran.stdout}")
            if "did not end" not in err:
                problems.append(f"rochound run does not say it: {err}")
    print(f"{name} on {gpu}: " + ("; ".join(problems) if problems else "right"))
    print(text.stdout + text.stderr)
    if problems and told:
        print(json.dumps(told, indent=1))
    return not problems


def check_usage(options):
    """Processes that cannot be asked."""
    problems = []
    for pid, word in ((str(os.getpid()), "not being recorded"), ("4194304", "no such process"), ("-1", "process")):
        asked = subprocess.run([options.rochound, "doctor", f"--hang={pid}"], capture_output=True, text=True, timeout=60, check=False)
        if asked.returncode in (0, 3) or word not in asked.stderr:
            problems.append(f"--hang {pid}: exit code {asked.returncode}, {asked.stdout}{asked.stderr}")
    print("usage: " + ("; ".join(problems) if problems else "right"))
    return not problems


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "program", "gpu"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--case", action="append")
    options = parser.parse_args()
    right = [try_case(options, name, options.gpu) for name in TRUTH if not options.case or name in options.case]
    if not options.case:
        right.append(check_usage(options))
    return 0 if all(right) else 1


if __name__ == "__main__":
    sys.exit(main())
