#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Recording all ranks of a job from the same time on, and windows of the past, on two "hosts": two daemons with control
directories of their own. One case per test.

usage: control.py --list | --case NAME --bin FOLDER --gpu GPU PROGRAM          PROGRAM is load.hip
"""

import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleets  # noqa: E402
from fleet import Failed, check  # noqa: E402


class Hosts:
    """Two daemons and a rank with each."""

    def __init__(self, fleet, *run_options):
        self.fleet = fleet
        fleet.server()
        self.daemons = []
        for rank in range(2):
            directory = fleet.folder / f"control{rank}"
            directory.mkdir(mode=0o700)
            fleet.environment["ROCHOUND_CONTROL_DIR"] = str(directory)
            self.daemons.append(fleet.daemon("--bus", fleet.url(), state=f"state{rank}", host=f"h{rank}"))
            fleet.start([fleet.bin / "rochound", "softgpu", "--gpu", fleet.options.gpu, "--", fleet.bin / "rochound", "run", "--log-dir",
                         fleet.folder / f"logs{rank}", "--log-only", *run_options, "--", fleet.options.program, 300],
                        f"program{rank}.log", ROCHOUND_JOB="j1", ROCHOUND_RANK=str(rank), ROCHOUND_RANKS="2")
        fleet.until("both ranks are followed", lambda: len(self.cards()) == 2, 120)
        time.sleep(2)  # a beat of each

    def ask(self, *command, codes=(0,)):
        done = subprocess.run([self.fleet.bin / "rochound-fleet", command[0], "--bus", self.fleet.url(), "--job", "j1", *command[1:]],
                              capture_output=True, text=True, timeout=120, env=self.fleet.environment, check=False)
        check(done.returncode in codes, f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout

    def cards(self):
        done = subprocess.run([self.fleet.bin / "rochound-fleet", "hang", "--bus", self.fleet.url(), "--job", "j1", "--hosts", "2", "--watch",
                               "0", "--patience", "2", "--json"], capture_output=True, text=True, timeout=60, check=False)
        return json.loads(done.stdout)["ranks"] if done.returncode in (0, 3) else []


def launches(log):
    import raw_log
    return sum(kernel.launches for kernel in raw_log.merged(sorted(pathlib.Path(log).glob("process-*"))).values())


def case_capture(fleet):
    """Recorders that are off record from T0 on, for as long as was said, and the result is one trace with a node per rank."""
    hosts = Hosts(fleet, "--start-off")
    before = [launches(fleet.folder / f"logs{rank}") for rank in range(2)]
    trace = fleet.folder / "all.rpd"
    text = hosts.ask("capture", "--at", "3", "--for", "2", "-o", fleet.folder / "window", "--trace", trace)
    late = [float(word) for word in re.findall(r"recording at T0 \+ ([0-9.]+) ms", text)]
    check(len(late) == 2 and max(late) < 2000, text)
    for host in ("h0", "h1"):
        check(re.search(rf"^{host}: its clock is (right to|not kept)", text, re.M), text)
    check("times of different hosts" in text, text)
    window = json.loads((fleet.folder / "window/window.json").read_text())
    check(window["no_answer"] == [] and len(window["windows"]) == 2 and "clock_error_ns" in window, str(window))
    time.sleep(1)
    recorded = [launches(fleet.folder / f"logs{rank}") for rank in range(2)]
    check(all(now > then for now, then in zip(recorded, before)), f"{before} launches before, {recorded} after")
    time.sleep(2)
    check(recorded == [launches(fleet.folder / f"logs{rank}") for rank in range(2)], "they still record")
    # Within the span, as the ranks' own clocks have it.
    with sqlite3.connect(trace) as database:
        offset = int(database.execute("SELECT value FROM rocpd_metadata WHERE tag = 'rochound_realtime_offset_ns'").fetchone()[0])
        nodes = database.execute("SELECT gpuId / 1000, count(*), min(start), max(end) FROM rocpd_op GROUP BY 1").fetchall()
    check(len(nodes) == 2, f"nodes {nodes}")
    for _, _, first, last in nodes:
        check(first + offset >= window["from_ns"] and last + offset <= window["to_ns"] + 2_000_000_000, f"{nodes}, {window}")
    for command in (["explain", "top", trace], ["explain", "stragglers", trace], ["report", trace, "-o", fleet.folder / "report.html"]):
        fleet.run(fleet.bin / "rochound", *command)
    return f"{recorded} launches; at T0 + {max(late):.1f} ms"


def case_switch(fleet):
    """All recorders stop and start at the same time; a request that is too late, or for nobody, says so."""
    hosts = Hosts(fleet)
    stopped = json.loads(hosts.ask("stop", "--at", "1", "--json"))
    check([process["error"] for process in stopped["processes"]] == ["", ""], str(stopped))
    time.sleep(1)
    counts = [launches(fleet.folder / f"logs{rank}") for rank in range(2)]
    time.sleep(2)
    check(counts == [launches(fleet.folder / f"logs{rank}") for rank in range(2)], "they still record")
    started = json.loads(hosts.ask("start", "--at", "1", "--json"))
    check([process["was_recording"] for process in started["processes"]] == [False, False], str(started))
    time.sleep(2)
    check(all(now > then for now, then in zip([launches(fleet.folder / f"logs{rank}") for rank in range(2)], counts)), "nothing is recorded")
    done = subprocess.run([fleet.bin / "rochound-fleet", "stop", "--bus", fleet.url(), "--job", "nobody", "--patience", "1"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "no daemon" in done.stderr and "within 1 s" in done.stderr, done.stderr)
    done = subprocess.run([fleet.bin / "rochound-fleet", "stop", "--bus", fleet.url(), "--tenant", "another", "--job", "j1", "--patience", "1"],
                          capture_output=True, text=True, check=False)
    check(done.returncode == 1 and "no daemon" in done.stderr, f"--tenant: {done.stderr}")
    # A window that ended before now, and one of the future.
    window = json.loads(hosts.ask("window", "--from", "-5", "--to", "-1", "-o", fleet.folder / "window", "--trace",
                                  fleet.folder / "window.rpd", "--json"))
    check(window["to_ns"] - window["from_ns"] == 4_000_000_000 and len(window["windows"]) == 2, str(window))
    window = json.loads(hosts.ask("capture", "--at", "1", "--for", "0.5", "-o", fleet.folder / "captured", "--trace",
                                  fleet.folder / "captured.rpd", "--json"))
    check(window["to_ns"] - window["from_ns"] == 500_000_000 and len(window["windows"]) == 2, str(window))
    check(all((fleet.folder / f"{name}.rpd").is_file() for name in ("window", "captured")), "there is no trace of the windows")
    return f"{counts} launches before the stop"


def case_silent(fleet):
    """A host that does not answer is named, with its ranks, and the others' windows are there."""
    hosts = Hosts(fleet)
    os.kill(hosts.daemons[1].pid, signal.SIGSTOP)
    text = hosts.ask("window", "--from", "-5", "-o", fleet.folder / "window", codes=(1,))
    check("no answer from h1, which has rank 1" in text, text)
    check([one["rank"] for one in json.loads((fleet.folder / "window/window.json").read_text())["windows"]] == [0], text)
    report = json.loads(hosts.ask("hang", "--json", codes=(0, 3)))
    check(report["no_answer"] == [{"host": "h1", "ranks": [1]}] and report["not_answering"] == [1], str(report))
    text = hosts.ask("stop", "--at", "1", codes=(1,))
    check("no answer from h1, which has rank 1" in text and "rank 0 (h0" in text, text)
    # Who waits for one answer does not wait for the other.
    start = time.monotonic()
    hosts.ask("hang", "--json", "--watch", "0", "--hosts", "1", "--patience", "30", codes=(0, 3))
    check(time.monotonic() - start < 20, f"--hosts 1 took {time.monotonic() - start:.0f} s")
    os.kill(hosts.daemons[1].pid, signal.SIGCONT)
    return "h1 and its rank were named"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}


if __name__ == "__main__":
    sys.exit(fleets.main(CASES))
