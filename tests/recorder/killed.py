#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Kills a recorded program, together with its launcher, at a random instant, and reads its log.

usage: killed.py --runs N --rochound PATH --gpu GPU [--seed S] -- PROGRAM

The program notes in a shared page what has returned to it. Every log must open, and hold at least that, but for what was
never committed: where a log has no room it drops records, and counts them. The recorder makes room ahead of what is
written, so that is rare: more than one in a thousand calls is a failure. ROCHOUND_MAX_KILLS bounds N.
"""

import argparse
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

MOST_DROPPED = 0.001  # of the calls


def one_run(options, number, delay, folder):
    """(acknowledged calls, records for which there was no room, error or None)"""
    page, log, rpd = (pathlib.Path(folder, name) for name in ("page", "log", "trace.rpd"))
    threads = str(1 + number % 3)
    child = process.start([options.rochound, "softgpu", "--gpu", options.gpu, "--", options.rochound, "run", "--log-dir",
                           str(log), "-o", str(rpd), "--"] + options.command + [str(page), threads], folder,
                          stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    # The instant is random within the time from the first acknowledged call on; a few come earlier.
    deadline = time.monotonic() + 60
    if number % 10:
        while time.monotonic() < deadline and not (page.exists() and page.stat().st_size and any(page.read_bytes()[:8])):
            if child.poll() is not None:
                return 0, 0, f"the program ended by itself: {child.communicate()[1]}"
            time.sleep(0.002)
    time.sleep(delay)
    os.killpg(child.pid, signal.SIGKILL)
    child.communicate()
    calls, launches = struct.unpack_from("<QQ", page.read_bytes()) if page.exists() and page.stat().st_size else (0, 0)
    if not log.exists() or not any(log.glob("process-*")):
        return calls, 0, f"no log, but {calls} calls acknowledged" if calls else None
    if rpd.exists():
        rpd.unlink()
    recover = subprocess.run([options.rochound, "log", "recover", str(log), "-o", str(rpd)], capture_output=True, text=True,
                             timeout=120, check=False)
    if recover.returncode != 0:
        return calls, 0, f"log recover: exit code {recover.returncode}: {recover.stderr[-500:]}"
    trace = Trace(rpd)
    recorded = trace.one("select count(*) from rocpd_api a join rocpd_string n on n.id = a.apiName_id "
                         "where n.string = 'hipGetDevice'")
    dispatched = trace.one("select count(*) from rochound_dispatch")
    dropped = trace.one("select coalesce(sum(count), 0) from rochound_lost where what = 'records dropped' "
                        "and note like 'there was no room in the log%'")
    if dropped:
        print(f"run {number}: {dropped} records dropped for want of room")
    if recorded + dropped < calls or dispatched + dropped < launches:
        return calls, dropped, f"{calls} calls and {launches} launches had returned, the log has {recorded} and {dispatched}"
    return calls, dropped, None


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", default="mi300x")
    parser.add_argument("--seed", type=int, default=time.time_ns() & 0xffffffff)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    print(f"seed {options.seed}")
    instants = random.Random(options.seed)
    total = dropped = failed = busy = 0
    if "ROCHOUND_MAX_KILLS" in os.environ:
        options.runs = min(options.runs, int(os.environ["ROCHOUND_MAX_KILLS"]))
    for number in range(options.runs):
        with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
            calls, without_room, error = one_run(options, number, instants.uniform(0, 0.25), folder)
        total += calls
        dropped += without_room
        busy += calls > 0
        if error:
            failed += 1
            print(f"run {number}: {error}")
    print(f"{options.runs} runs killed, {busy} of them after the first call; {total} calls acknowledged, {failed} runs failed")
    if busy < options.runs // 2:
        print("too few runs came as far as a call: this shows nothing")
        return 1
    if dropped > total * MOST_DROPPED:
        print(f"{dropped} records were dropped for want of room")
        return 1
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
