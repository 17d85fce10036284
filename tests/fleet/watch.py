#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound-fleet watch` finds in jobs whose truth is known, and windows that come by a real S3. One case per test.

usage: watch.py --list | --case NAME --bin FOLDER --gpu GPU PROGRAM          PROGRAM is load.hip
"""

import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import control  # noqa: E402
import fleet as fleets  # noqa: E402
import history  # noqa: E402
import raw_log  # noqa: E402
import s3  # noqa: E402
from fleet import check  # noqa: E402


def watch(fleet, *more, folder="windows"):
    return fleet.start([fleet.bin / "rochound-fleet", "watch", "--bus", fleet.url(), "-o", fleet.folder / folder, "--every", "3",
                        "--patience", "10", *more], "watch.log")


def events(fleet, *more):
    return json.loads(fleet.run(fleet.bin / "rochound-fleet", "events", "--bus", fleet.url(), "--json", *more))


def case_watch_hang(fleet):
    """One event for the job that hangs, with what all ranks did before; none for the job beside it that works."""
    fleet.server()
    fleet.daemon("--bus", fleet.url())
    programs = [fleet.program(0, 3, "STUCK", ranks=2), fleet.program(1, 3, "AWAY", ranks=2)]
    fleet.program(2, 300, job="works")
    fleet.until("the programs have launched their kernels", lambda: all(
        (fleet.folder / f"program{rank}.log").exists() and "launched" in (fleet.folder / f"program{rank}.log").read_text(errors="replace")
        for rank in range(2)), 120)
    watcher = watch(fleet, "--before", "120")
    other = watch(fleet, "--job", "works", folder="other")
    fleet.until("an event", lambda: (fleet.folder / "windows/events.jsonl").exists(), 60)
    time.sleep(8)  # more looks: the same hang is one event
    found = events(fleet)
    check([event["job"] for event in found] == ["j1"] and watcher.poll() is None, json.dumps(found, indent=1))
    event = found[0]
    waited = [rank["rank"] for rank in event["report"]["ranks"] if rank["waited_for"]]
    check((event["kind"], waited) == ("hang", [1]), json.dumps(event, indent=1))
    trace = pathlib.Path(event["trace"])
    fleet.run(fleet.bin / "rochound", "explain", "top", trace)
    windows = sorted(trace.parent.glob("rank*/process-*"))
    stuck = raw_log.merged([path for rank in range(2) for path in (fleet.folder / f"logs{rank}").glob("process-*")])
    check(fleets.launches(raw_log.merged(windows)) == fleets.launches(stuck), f"{windows} do not hold every launch")
    check(events(fleet, "--job", "works") == [], "the job that works has an event")
    check(other.poll() is None and not (fleet.folder / "other/events.jsonl").exists(), "who watches another job alone has found something")
    lines = (fleet.folder / "windows/events.jsonl").read_text().splitlines()
    check([json.loads(line)["id"] for line in lines] == [event["id"]], f"{len(lines)} lines in events.jsonl")
    del programs
    return event["conclusion"]


def case_watch_stragglers(fleet):
    """The job with a rank that is 15% slower has an event that names it; its twin without one has none."""
    fleet.server()
    fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "logs")
    fleet.aggregator()
    ranks = 8
    for job in ("slow", "clean"):
        for rank in range(ranks):
            speed = 1.15 if (job, rank) == ("slow", 5) else 1
            history.synthetic(fleet, "logs", "--kernels", 5, "--rate", 1000, "--launches", 200000, "--noise", 0.1, "--speed", speed,
                              "--seed", rank, rank=rank, job=job, name=f"{job}{rank}")
    time.sleep(15)
    watch(fleet, "--lake", fleet.folder / "lake", "--stragglers-every", "3")
    fleet.until("an event", lambda: (fleet.folder / "windows/events.jsonl").exists(), 60)
    time.sleep(10)
    found = events(fleet)
    check({(event["job"], event["kind"]) for event in found} == {("slow", "stragglers")}, json.dumps(found, indent=1)[:4000])
    check(found[0]["conclusion"] == "held up by rank 5", found[0]["conclusion"])
    check("trace" in found[0] or "no_trace" in found[0], str(found[0]))
    return found[0]["conclusion"]


def case_s3_window(fleet):
    """Daemons that share no folder with who asks send windows by a storage, in which nothing is left."""
    with s3.storage(fleet, "windows") as ceph:
        hosts = control.Hosts(fleet)
        trace = fleet.folder / "all.rpd"
        text = hosts.ask("capture", "--at", "3", "--for", "2", "--patience", "60", "--by", "s3://windows/some prefix", "-o",
                         fleet.folder / "window", "--trace", trace)
        windows = sorted((fleet.folder / "window").glob("rank*/process-*"))
        check(len(windows) == 2, text)
        check(fleets.launches(raw_log.merged(windows)) > 0, "the windows are empty")
        fleet.run(fleet.bin / "rochound", "explain", "top", trace)
        # A watch that keeps its traces there, too.
        fleet.environment["ROCHOUND_CONTROL_DIR"] = str(fleet.folder / "control0")
        for rank, what in enumerate(("STUCK", "AWAY")):
            fleet.program(2 + rank, 3, what, job="j2", ranks=2)
        watch(fleet, "--job", "j2", "--by", "s3://windows/by", "--store", "s3://windows/kept")
        fleet.until("an event", lambda: (fleet.folder / "windows/events.jsonl").exists(), 90)
        event, = events(fleet, "--job", "j2")
        check(event["kind"] == "hang" and event["trace"].startswith("s3://windows/kept/"), json.dumps(event, indent=1))
        check(ceph.read(event["trace"])[:15] == b"SQLite format 3", event["trace"])
        left = ceph.run("rados", "-c", ceph.folder / "ceph.conf", "-p", "default.rgw.buckets.data", "ls").stdout.decode().split("\n")
        check(not [name for name in left if "segment-" in name and "__shadow" not in name], f"left in the storage: {left}")
        ceph.kill("client.rgw.x")
        text = hosts.ask("window", "--from", "-5", "--patience", "60", "--by", "s3://windows/w", "-o", fleet.folder / "none", codes=(1,))
        check("cannot write s3://windows/w/" in text, text)
        return f"{len(windows)} windows by S3"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}


if __name__ == "__main__":
    sys.exit(fleets.main(CASES))
