#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What options of the daemon, the aggregator and the lake's commands do, on synthetic logs. One case per test.

usage: options.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM
"""

import datetime
import json
import pathlib
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleets  # noqa: E402
import history  # noqa: E402
from fleet import check  # noqa: E402

DAY = datetime.timedelta(days=1)


def refused(fleet, *words):
    """What a command says that fails."""
    done = subprocess.run([str(fleet.bin / "rochound-fleet"), *map(str, words)], capture_output=True, text=True, timeout=60,
                          env=fleet.environment, check=False)
    check(done.returncode == 1, f"rochound-fleet {words[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stderr


def case_options(fleet):
    """Streams by job, tenants, code objects, days; stragglers of a span; compaction again and again."""
    fleet.server()
    code = pathlib.Path(fleet.options.program).parent
    lake = ["--lake", fleet.folder / "lake"]
    jobs = {"train0": 3, "train1": 1}  # ranks; their hashes are of different streams
    fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "host", "--tenant", "two", "--shards", 2, "--code", 0)
    fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "host", "--tenant", "three", state="state3", host="h3")
    programs = [history.synthetic(fleet, "host", "--kernel", f"Smooth:20000:{code}/history_old.co", "--launches", 4000, "--rate", 1000,
                                  "--seed", rank, "--hold", 3, rank=rank, job=job, name=f"{job}.{rank}")
                for job, ranks in jobs.items() for rank in range(ranks)]
    fleet.wait_for(programs, 60)
    time.sleep(2)

    def aggregate(tenant, *more):
        fleet.run(fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), *lake, "--tenant", tenant, "--once", *more)
        return {job["job"]: job for job in json.loads(history.command(fleet, "jobs", *lake, "--tenant", tenant, "--json"))}
    first = aggregate("two", "--shard", 0)
    check(len(first) == 1, f"jobs of one stream: {list(first)}")
    both = aggregate("two", "--shard", 1)
    check({name: job["ranks"] for name, job in both.items()} == jobs, f"jobs of two streams: {both}")
    kept = {tenant: len(list((fleet.folder / f"lake/code/tenant={tenant}").glob("*.parquet"))) for tenant in ("two", "three")}
    check(len(aggregate("three")) == 2, "one stream does not have all jobs")
    kept["three"] = len(list((fleet.folder / "lake/code/tenant=three").glob("*.parquet")))
    check(kept == {"two": 0, "three": 1}, f"code objects with --code 0 and without: {kept}")

    # Nobody sees what another tenant has.
    for words in (["jobs"], ["kernels"], ["regressions"], ["ask", "SELECT 1"], ["stragglers", "--job", "train0"]):
        check("tenant 'nobody'" in refused(fleet, *words, *lake, "--tenant", "nobody"), f"{words} for nobody")
    check("no code object" in refused(fleet, "diff", *lake, "--tenant", "two", "0", "1"), "diff for another tenant")
    check(json.loads(history.command(fleet, "compact", *lake, "--tenant", "nobody", "--json"))["files"] == 0, "compact for nobody")

    # A part of them.
    today = datetime.datetime.now(datetime.timezone.utc).date()
    names = lambda *more: {job["job"] for job in json.loads(history.command(fleet, "jobs", *lake, "--tenant", "two", "--json", *more))}
    launches = lambda *more: sum(row["launches"] for row in json.loads(
        history.command(fleet, "kernels", *lake, "--tenant", "two", "--json", *more))["kernels"])
    check(names("--job", "train1") == {"train1"} and launches("--job", "train1") == 4000, "--job")
    check(names("--kernel", "Smoo") == set(jobs) and names("--kernel", "none") == set(), "--kernel")
    check(names("--since", today - DAY, "--until", today + DAY) == set(jobs), "--since and --until")
    check(launches("--since", today - DAY, "--until", today + DAY) == 16000, "--since and --until")
    check(names("--since", today + DAY) == set() == names("--until", today - 2 * DAY), "a day that is not in it")
    check(launches("--since", today + DAY) == 0 == launches("--until", today - 2 * DAY), "a day that is not in it")

    # The time that is judged, and the time before.
    def judged(*more):
        report = json.loads(history.command(fleet, "stragglers", *lake, "--tenant", "two", "--job", "train0", "--json", *more, codes=(0, 1, 3)))
        return report["intervals"], report["past_intervals"]
    whole, past = judged()
    check(whole >= 4 and past == 0, f"{whole} intervals are judged, and {past} before them")
    last, past = judged("--last", 2, "--past", 0)
    check(0 < last < whole and past == 0, f"--last 2: {last} of {whole} intervals are judged, and {past} before them")
    last, past = judged("--last", 2, "--past", 1000)
    check(0 < last < whole and past > 0, f"--past 1000: {last} of {whole} intervals are judged, and {past} before them")

    # Until it is ended.
    again = fleet.start([fleet.bin / "rochound-fleet", "compact", *lake, "--tenant", "two", "--every", "0.2"], "compact.log")
    fleet.until("three runs of compact", lambda: (fleet.folder / "compact.log").read_text().count("files merged into") >= 3, 20)
    again.send_signal(signal.SIGTERM)
    fleet.wait_for([again], 10)
    check(again.returncode == 0, f"compact ended with {again.returncode}")
    return f"{launches()} launches"


def case_spool(fleet):
    """Messages that wait take no more than told; what they held is counted."""
    program = history.synthetic(fleet, "host", "--kernels", 3000, "--launches", 40000, "--rate", 20000)
    fleet.wait_for([program], 60)

    def follow(state, *more):
        fleet.run(fleet.bin / "rochoundd", "--state", fleet.folder / state, "--logs", fleet.folder / "host", "--interval", "0.2", "--grace", "0",
                  "--once", *more)
        files = sorted((fleet.folder / state / "spool").glob("*.json"))
        rows, losses = fleets.spooled_rows([json.loads(path.read_text()) for path in files])
        lost = sum(loss["count"] for loss in losses if loss["what"].startswith("launches in messages dropped"))
        return sum(path.stat().st_size for path in files), sum(row["launches"] for row in rows), lost
    size, there, lost = follow("all")
    check(size > 2 << 20 and (there, lost) == (40000, 0), f"{size} bytes with {there} launches, {lost} lost")
    follow("few", "--spool", 1)
    size, there, _ = follow("few", "--spool", 1)  # finds what the first has left
    check(0 < size <= 1 << 20 and there > 0, f"--spool 1: {size} bytes with {there} launches")
    # With room again, the losses are a message, too.
    _, there, lost = follow("few")
    check(there < 40000 == there + lost, f"{there} launches are there and {lost} are lost, of 40000")
    return f"{size} bytes, {lost} launches lost and counted"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}


if __name__ == "__main__":
    sys.exit(fleets.main(CASES))
