#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a server with workers, ends it in some way, and compares the trace with what each process knows to have done.

usage: server.py --end term|kill|kill-worker|kill-parent --runs N --rochound PATH --gpu GPU [--seed S] [--neighbour LIBRARY]
                 -- PROGRAM

    term          SIGTERM at the parent: all end in order
    kill          SIGKILL for all at once, the launcher included
    kill-worker   SIGKILL for one worker, then SIGTERM at the parent
    kill-parent   SIGKILL for the parent; its workers notice, and end in order

A process that ended in order has in the trace exactly what it acknowledged; one that was killed may have one call more of
each thread, which had not returned, and the kernels of it.
"""

import argparse
import collections
import os
import pathlib
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402
from trace import Trace  # noqa: E402

FORKED, SPAWNED = 2, 2
PROCESSES = 1 + FORKED + SPAWNED
KERNELS = 3  # of one graph launch
HANGS = 240  # seconds; a machine that is shared with others took 60


class Acknowledged:
    def __init__(self, pid, asked, launched, computed, finished):
        self.pid, self.asked, self.launched, self.computed, self.finished = pid, asked, launched, computed, bool(finished)


def read_page(path):
    content = path.read_bytes() if path.exists() else b""
    if len(content) < 64 * PROCESSES:
        return []
    return [Acknowledged(*struct.unpack_from("<5Q", content, 64 * i)) for i in range(PROCESSES)]


def wait_until(condition, seconds):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.005)
    return False


def is_gone(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


def compare(trace, acknowledged):
    found = []
    calls = ("select a.pid, count(*) from rocpd_api a join rocpd_string n on n.id = a.apiName_id where n.string = '{}' "
             "group by a.pid")
    asked, launched = (dict(trace.rows(calls.format(name))) for name in ("hipGetDevice", "hipGraphLaunch"))
    computed = dict(trace.rows("select p.pid, count(*) from rocpd_op o join rochound_process p on p.session = o.id >> 32 "
                               "join rocpd_string s on s.id = o.description_id where s.string like '%Step%' group by p.pid"))
    # On a machine that starves the drain thread a log has no room now and then; what it drops it counts.
    dropped = collections.Counter(dict(trace.rows(
        "select pid, sum(count) from rochound_lost where what = 'records dropped' group by pid")))
    for pid, count in dropped.items():
        print(f"process {pid}: {count} records dropped for want of room")
    for one in acknowledged:
        more = 0 if one.finished else 1
        for what, counts, least, most in (("hipGetDevice", asked, one.asked, one.asked + more),
                                          ("hipGraphLaunch", launched, one.launched, one.launched + more),
                                          ("kernels", computed, one.computed, KERNELS * (one.launched + more))):
            number = counts.get(one.pid, 0)
            if not least - dropped[one.pid] <= number <= most:
                found.append(f"process {one.pid}{'' if one.finished else ', killed'}: {what}: {least} to {most} acknowledged, "
                             f"the trace has {number}")
    pids = {pid for pid, in trace.rows("select pid from rochound_process")}
    found += [f"process {one.pid} is not in the trace" for one in acknowledged if one.pid not in pids]
    unrecorded = trace.rows("select pid, what, count, note from rochound_lost where what = 'unrecorded process'")
    return found + [f"lost: {row}" for row in unrecorded]


def one_run(options, instants, folder):
    """(what every process acknowledged, problems)"""
    page, log, rpd = (pathlib.Path(folder, name) for name in ("page", "log", "trace.rpd"))
    command = [*options.command, str(page), str(FORKED), str(SPAWNED)] + ([options.neighbour] if options.neighbour else [])
    child = process.start([options.rochound, "softgpu", "--gpu", options.gpu, "--", options.rochound, "run", "--log-dir",
                           str(log), "-o", str(rpd), "--", *command], folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    try:
        def busy():
            pages = read_page(page)
            return child.poll() is not None or (pages and all(one.computed and one.asked for one in pages))
        if not wait_until(busy, HANGS) or child.poll() is not None:
            process.stop(child)
            out, err = child.communicate()
            return [], [f"the server did not get to work: {out[-500:]} {err[-1500:]}"]
        time.sleep(instants.uniform(0, 0.3))
        server, *workers = [one.pid for one in read_page(page)]
        if options.end == "kill":
            os.killpg(child.pid, signal.SIGKILL)
        if options.end == "kill-worker":
            os.kill(instants.choice(workers), signal.SIGKILL)
            time.sleep(instants.uniform(0, 0.2))
        if options.end in ("term", "kill-worker"):
            os.kill(server, signal.SIGTERM)
        if options.end == "kill-parent":
            os.kill(server, signal.SIGKILL)
        try:
            out, err = child.communicate(timeout=HANGS)
        except subprocess.TimeoutExpired:
            return [], [f"no end within {HANGS} s"]
        if not wait_until(lambda: all(is_gone(pid) for pid in workers), HANGS):
            return [], [f"the workers did not end within {HANGS} s"]
    finally:
        process.stop(child)
    acknowledged = read_page(page)
    found = []
    if options.end in ("term", "kill-worker"):
        if child.returncode != 0 or "PASS server" not in out:
            found.append(f"exit code {child.returncode}: {out[-500:]} {err[-1500:]}")
    else:
        # Who was left alone may have gone on longer than the launcher.
        if rpd.exists():
            rpd.unlink()
        recover = subprocess.run([options.rochound, "log", "recover", str(log), "-o", str(rpd)], capture_output=True,
                                 text=True, timeout=HANGS, check=False)
        if recover.returncode != 0:
            return acknowledged, [f"log recover: exit code {recover.returncode}: {recover.stderr[-500:]}"]
    if not rpd.exists():
        return acknowledged, found + [f"no trace: {err[-1500:]}"]
    killed = {"term": 0, "kill": PROCESSES, "kill-worker": 1, "kill-parent": 1}[options.end]
    # A process that is killed may have come to its end just before.
    if not sum(not one.finished for one in acknowledged) <= killed:
        found.append(f"only {sum(one.finished for one in acknowledged)} processes ended in order")
    return acknowledged, found + compare(Trace(rpd), acknowledged)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--end", choices=("term", "kill", "kill-worker", "kill-parent"), required=True)
    parser.add_argument("--runs", type=int, default=10)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xffffffff)
    parser.add_argument("--neighbour", help="a library that the server loads for all to see")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    instants = random.Random(options.seed)
    launches = calls = failed = 0
    for number in range(options.runs):
        with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
            acknowledged, found = one_run(options, instants, folder)
        launches += sum(one.launched for one in acknowledged)
        calls += sum(one.asked for one in acknowledged)
        failed += bool(found)
        for line in found[:10]:
            print(f"run {number}: {line}")
    print(f"{options.runs} runs of {PROCESSES} processes, ended by {options.end}: {launches} graph launches and {calls} calls "
          f"acknowledged, {failed} runs failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
