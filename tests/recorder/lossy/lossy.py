#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program on a software GPU that is unkind in one way, bare and recorded, and compares.

usage: lossy.py --case CASE --rochound PATH --gpu GPU -- PROGRAM KERNEL.hsaco LAUNCHES

Same must be: exit code, and standard output but for times. Of the recording: every kernel is there; its times enclose
those that the kernel itself left; only kernels that the GPU took before their doorbell, or whose completion it dropped,
may have none; nothing is in flight once a barrier has ended.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading
import time

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "programs"), str(pathlib.Path(__file__).parents[1])]
import process  # noqa: E402
from trace import Trace  # noqa: E402

# Each fault by itself, then all that a program survives. What must be seen of it: (fault, how often at least).
CASES = {
    "none": ("seed=1", None),
    "dropped": ("drop-completions=6", ("drop-completions", 10)),
    "late": ("late-completions=2", None),
    "early": ("no-rescue,early-packets=1", ("early-packets", 10)),
    "read_index": ("early-read-index", None),
    "all": ("strict,early-packets=2,late-completions=3,drop-completions=10", ("drop-completions", 5)),
    "inactive": ("inactive-queues=60", ("inactive-queues", 1)),
}
PATIENCE = 120
FOR_EVER = 30  # seconds; a completion that may still come is waited for, but not much longer than a second
CLOCKS_DIFFER = 50_000  # nanoseconds, between the clocks as the program and the recorder relate them


class Run:
    """One run; looks at it while it waits, if it comes so far."""

    def __init__(self, options, faults, folder, recorded):
        self.fault_log = pathlib.Path(folder, f"faults-{recorded}")
        self.trace = pathlib.Path(folder, "trace.rpd")
        control = pathlib.Path(folder, "control")
        control.mkdir(mode=0o700, exist_ok=True)
        environment = dict(os.environ, ROCHOUND_CONTROL_DIR=str(control))
        environment.pop("ROCHOUND_SOFTGPU_FAULTS", None)
        command = [options.rochound, "softgpu", "--gpu", options.gpu, "--fault", faults, "--fault-log", str(self.fault_log), "--"]
        if recorded:
            command += [options.rochound, "run", "-q", "-o", str(self.trace), "--"]
        child = process.start(command + options.command, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=pathlib.Path(folder, "stderr").open("w"), env=environment)
        self.in_flight = None
        self.out = ""
        limit = threading.Timer(PATIENCE, process.stop, (child,))
        limit.start()
        for line in child.stdout:
            self.out += line
            if not line.startswith("launched "):
                continue
            if recorded:
                time.sleep(1.5)  # what is in flight for longer than a second is told
                give_up = time.monotonic() + FOR_EVER
                while self.in_flight != [] and time.monotonic() < give_up:
                    status = subprocess.run([options.rochound, "ctl", "status", "--json"], capture_output=True, text=True,
                                            timeout=PATIENCE, env=environment, check=False)
                    self.in_flight = [work for row in json.loads(status.stdout) for work in row.get("in_flight", [])]
            child.stdin.write("go on\n")
            child.stdin.flush()
        self.code = child.wait()
        limit.cancel()
        child.stdin.close()
        self.err = pathlib.Path(folder, "stderr").read_text(errors="replace")

    def injected(self, *names):
        """(fault, packet) of kernels of the program."""
        found = [json.loads(line) for line in self.fault_log.read_text().splitlines()]
        return [(one["fault"], one["packet"]) for one in found if one["fault"] in names and one["kernel"] == "Timed"]


def true_times(out):
    """What the kernels say: by packet, in nanoseconds of CLOCK_MONOTONIC."""
    clocks = [tuple(map(int, match)) for match in re.findall(r"^elapsed clock (\d+) (\d+)$", out, re.MULTILINE)]
    (hsa0, monotonic0), (hsa1, monotonic1) = clocks
    ratio = (monotonic1 - monotonic0) / (hsa1 - hsa0)
    return {int(packet): tuple(monotonic0 + (int(end) - hsa0) * ratio for end in ends)
            for packet, *ends in re.findall(r"^elapsed kernel (\d+) (\d+) (\d+)$", out, re.MULTILINE)}


def judge(recorded):
    """What is wrong with the recording."""
    trace = Trace(recorded.trace)
    rows = {packet: (start, end, timed) for packet, start, end, timed in trace.rows(
        "select o.sequenceId, o.start, o.end, d.timed from rocpd_op o join rochound_dispatch d on d.op_id = o.id "
        "join rocpd_string n on n.id = o.description_id where n.string = 'Timed'")}
    truth = true_times(recorded.out)
    excused = {packet for _, packet in recorded.injected("early-packets", "drop-completions")}
    problems = [f"packet {packet} is not in the trace" for packet in truth if packet not in rows]
    for packet, (start, end, timed) in sorted(rows.items()):
        begun, ended = truth[packet]
        if not timed:
            if packet not in excused:
                problems.append(f"packet {packet} has no time, and the GPU did nothing to it")
        elif start > begun + CLOCKS_DIFFER or end < ended - CLOCKS_DIFFER:
            problems.append(f"packet {packet} ran from {begun:.0f} to {ended:.0f}, the trace says {start} to {end}")
    timed = sum(row[2] for row in rows.values())
    print(f"{len(truth)} kernels, {timed} with times; {len(excused)} taken early or never completed")
    if timed < len(truth) - len(excused) or timed < len(truth) // 4:
        problems.append(f"{timed} of {len(truth)} kernels have times")
    if unfinished := trace.rows("select what, count(*) from rochound_unfinished group by 1"):
        problems.append(f"unfinished: {unfinished}")
    if recorded.in_flight != []:
        problems.append(f"in flight: {recorded.in_flight}")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--list", action="store_true", help="print the cases")
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("command", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return 0
    faults, wanted = CASES[options.case]
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        bare = Run(options, faults, folder, False)
        recorded = Run(options, faults, folder, True)
        problems = []
        expected = 3 if options.case == "inactive" else 0
        if bare.code != expected:
            problems.append(f"bare: exit code {bare.code} instead of {expected}")
        if recorded.code != bare.code:
            problems.append(f"exit code {recorded.code} instead of {bare.code}")
        if process.untimed(recorded.out) != process.untimed(bare.out):
            problems.append(f"other output:\n--- bare\n{bare.out[-1500:]}\n--- recorded\n{recorded.out[-1500:]}")
        if wanted and len(recorded.injected(wanted[0])) < wanted[1]:
            problems.append(f"{wanted[0]} happened {len(recorded.injected(wanted[0]))} times: this shows nothing")
        if not problems and expected == 0:
            problems = judge(recorded)
        for problem in problems[:20]:
            print(problem)
        if problems:
            print(recorded.err[-2000:])
    print(f"{'FAIL' if problems else 'PASS'} {options.case}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
