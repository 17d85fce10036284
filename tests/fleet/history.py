#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the lake is asked: history of kernels, regressions, jobs; and what happens to its files.

usage: history.py --list | --case NAME --bin FOLDER --gpu GPU -- PROGRAM

Logs are written by fleet_synthetic, so that durations are known; daemons, bus, aggregator, lake and commands are the real
ones. ROCHOUND_FULL=1 runs a case at full size.
"""

import collections
import contextlib
import json
import pathlib
import random
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleet_module  # noqa: E402
import raw_log  # noqa: E402
import s3  # noqa: E402
from fleet import FULL, check  # noqa: E402


def synthetic(fleet, folder, *more, rank=0, job="j1", name="synthetic"):
    """A process that writes a log into this folder."""
    return fleet.start([fleet.bin / "fleet_synthetic", fleet.folder / folder, *more], f"{name}.log",
                       ROCHOUND_JOB=job, ROCHOUND_RANK=str(rank))


def reported(paths):
    """What processes say that they wrote, as raw_log has it."""
    total = collections.defaultdict(raw_log.Kernel)
    for path in paths:
        for name, times in json.loads(pathlib.Path(path).read_text()).items():
            kernel = total[name]
            for text, count in times.items():
                ns = int(text)
                kernel.launches += count
                kernel.sum += ns * count
                kernel.buckets[raw_log.bucket(ns)] += count
    return total


def command(fleet, *words, codes=(0,)):
    done = subprocess.run([str(fleet.bin / "rochound-fleet"), *(str(word) for word in words)], capture_output=True, text=True,
                          timeout=120, env=fleet.environment, check=False)
    check(done.returncode in codes, f"rochound-fleet {words[0]}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done.stdout


def runs(fleet, hosts, builds, chooser, launches):
    """One process per host and build at a time, each with a daemon of that host; all reports."""
    code = pathlib.Path(fleet.options.program).parent
    for number, (build, change) in enumerate(builds):
        children = []
        for host in range(hosts):
            # Hosts differ by some percent, and so do runs.
            speed = 1 + 0.05 * host + chooser.gauss(0, 0.01)
            children.append(synthetic(
                fleet, f"host{host}", "--kernel", f"Smooth:{20000 * change}:{code}/history_{build}.co", "--kernel",
                f"Copy:5000:{code}/history_steady.co", "--launches", launches, "--rate", 2000, "--speed", f"{speed:.4f}", "--seed",
                number * 100 + host, "--report", fleet.folder / f"report{number}.{host}.json", "--hold", 1, rank=host,
                job=f"train{number}", name=f"synthetic{number}.{host}"))
        fleet.wait_for(children, 120)


def case_history(fleet):
    """A kernel that was built anew and is slower is named with both builds; its twin, built anew and not slower, is not."""
    chooser = random.Random(5)
    fleet.server()
    hosts = 3
    daemons = [fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / f"host{host}", state=f"state{host}", host=f"h{host}")
               for host in range(hosts)]
    aggregator = fleet.aggregator()
    launches = 20000 if FULL else 2000
    runs(fleet, hosts, [("old", 1), ("old", 1), ("same", 1), ("same", 1), ("new", 1.25), ("new", 1.25)], chooser, launches)
    time.sleep(2)
    for daemon in daemons:
        daemon.terminate()
    fleet.wait_for(daemons, 20)
    lake = ["--lake", fleet.folder / "lake"]
    # Code objects are fetched while daemons live; each is there once.
    aggregator.terminate()
    fleet.wait_for([aggregator], 20)
    kept = sorted(path.stem for path in (fleet.folder / "lake/code/tenant=default").glob("*.parquet"))
    check(len(kept) == 4, f"{len(kept)} code objects are kept")
    raw = reported(fleet.folder.glob("report*.json"))
    answer = fleet.lake()
    fleet_module.compare(raw, answer["kernels"], answer["losses"])
    # By anything.
    by_host = json.loads(command(fleet, "kernels", *lake, "--by", "host,day", "--kernel", "Smooth", "--json"))["kernels"]
    check(len(by_host) == hosts and all(row["kernel"] == "Smooth" for row in by_host), f"by host: {by_host}")
    fastest = min(by_host, key=lambda row: row["p50_ns"])
    check(fastest["host"] == "h0", f"the fastest host is {fastest['host']}")
    check(sum(row["launches"] for row in by_host) == raw["Smooth"].launches, "launches by host")
    jobs = json.loads(command(fleet, "jobs", *lake, "--json"))
    check([job["job"] for job in jobs] == [f"train{number}" for number in reversed(range(6))], f"jobs {[job['job'] for job in jobs]}")
    check(all(job["ranks"] == hosts and job["hosts"] == hosts and job["kernels"] == 2 for job in jobs), str(jobs))
    check(sum(job["launches"] for job in jobs) == fleet_module.launches(raw), "launches of jobs")
    # The build that made it slower, and no other.
    found = json.loads(command(fleet, "regressions", *lake, "--json", codes=(3,)))
    check(found["slower"] == 1 and len(found["comparisons"]) == 2, json.dumps(found, indent=1))
    slower, same = found["comparisons"]
    check((slower["kernel"], slower["verdict"], same["verdict"]) == ("Smooth", "slower", "no certain change"),
          json.dumps(found, indent=1))
    check(abs(slower["by"] - 0.25) < 0.05 and slower["low"] < 0.25 < slower["high"], f"slower by {slower['by']}")
    check(slower["before"]["origin"].endswith("history_same.co") and slower["after"]["origin"].endswith("history_new.co"), str(slower))
    check(slower["unchanged_kernels"] == 1, str(slower))
    text = command(fleet, "regressions", *lake, codes=(3,))
    check("1 of 2 changes" in text and "history_new.co" in text and "rochound-fleet diff" in text, text)
    # Only what is worse than that, and only of this kernel or these days.
    least = json.loads(command(fleet, "regressions", *lake, "--json", "--least", 50))
    check(least["slower"] == 0 and len(least["comparisons"]) == 2, json.dumps(least, indent=1))
    width = lambda confidence: (lambda one: one["high"] - one["low"])(json.loads(
        command(fleet, "regressions", *lake, "--json", "--confidence", confidence, codes=(3,)))["comparisons"][0])
    check(width(99.999) > slower["high"] - slower["low"] > width(60), "--confidence does not change the interval")
    check("no certain change" not in text and "no certain change" in command(fleet, "regressions", *lake, "--all", codes=(3,)), "--all")
    check(json.loads(command(fleet, "regressions", *lake, "--json", "--kernel", "Copy"))["comparisons"] == [], "--kernel")
    for days in (["--since", "2999-01-01"], ["--until", "2001-01-01"]):
        check(command(fleet, "regressions", *lake, *days).startswith("nothing to compare"), days)
    # Without the slower runs there is nothing to report.
    clean = command(fleet, "regressions", *lake, "--job", "train2")
    check(clean.startswith("0 of 0"), clean)
    before, after = slower["before"]["code_object"], slower["after"]["code_object"]
    diff = json.loads(command(fleet, "diff", *lake, before[:10], after[:10], "--kernel", "Smooth", "--json"))
    check(diff["more"].get("flat_store_dword") == 1, f"it stores through a volatile pointer: {diff['more']}")
    check(any(line[0] != " " for line in diff["lines"]), "no line differs")
    text = command(fleet, "diff", *lake, before[:10], after[:10], "--kernel", "Smooth")
    check("VGPRs" in text and "waves per SIMD" in text and "history_new.co" in text, text)
    short = command(fleet, "diff", *lake, before[:10], after[:10], "--kernel", "Smooth", "--context", 0)
    check(len(short.splitlines()) < len(text.splitlines()), f"--context 0 shows as much:\n{short}")
    nothing = subprocess.run([str(fleet.bin / "rochound-fleet"), "diff", *map(str, lake), "ffff", after], capture_output=True, text=True,
                             env=fleet.environment, check=False)
    check(nothing.returncode == 1 and "no code object" in nothing.stderr, nothing.stderr)
    return f"slower by {100 * slower['by']:.1f}% ({100 * slower['low']:.1f}% to {100 * slower['high']:.1f}%), {len(kept)} code objects"


QUERY = ("SELECT count(*)::BIGINT, sum(launches)::BIGINT, sum(sum)::BIGINT, sum(list_sum(buckets))::BIGINT, "
         "count(DISTINCT (host, epoch, nth)), sum(lost)::BIGINT FROM sketches")


def case_compaction(fleet):
    """Many small files become few, whenever it is killed; the answers stay what they are."""
    chooser = random.Random(3)
    fleet.server()
    daemon = fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "host", interval=0.1, grace=0.1)
    aggregate = [fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), "--lake", fleet.folder / "lake", "--flush", "0"]
    aggregator = fleet.start(aggregate, "aggregator.log")
    children = [synthetic(fleet, "host", "--kernels", 20, "--rate", 2000, "--launches", 60000 if FULL else 16000, "--seed", rank, "--report",
                          fleet.folder / f"report{rank}.json", "--hold", 1, rank=rank, name=f"synthetic{rank}") for rank in range(4)]
    lake = ["--lake", fleet.folder / "lake"]

    def files():
        return sorted((fleet.folder / "lake").glob("sketches/**/*.parquet"))
    # While messages come, compaction is started and killed; what is asked meanwhile is never more or less than what is there.
    kills, last = 0, 0
    while any(child.poll() is None for child in children):
        compaction = fleet.start([fleet.bin / "rochound-fleet", "compact", *lake, "--rows", 800, "--least", 8], "compact.log")
        time.sleep(chooser.uniform(0.02, 0.5))
        if compaction.poll() is None:
            compaction.kill()
            kills += 1
        compaction.wait()
        if files():
            with contextlib.suppress(IndexError, ValueError):
                now = int(command(fleet, "ask", *lake, QUERY).split("\n")[1].split("\t")[1])
                check(now >= last, f"{now} launches after {last}")
                last = now
    time.sleep(1)
    daemon.terminate()
    fleet.wait_for([daemon], 20)
    aggregator.terminate()
    fleet.wait_for([aggregator], 20)
    raw = reported(fleet.folder.glob("report*.json"))
    fleet_module.compare(raw, fleet.lake()["kernels"], fleet.lake()["losses"])
    before, many = command(fleet, "ask", *lake, QUERY), len(files())
    # Killed at any moment of a run that has all to do.
    for _ in range(40 if FULL else 12):
        compaction = fleet.start([fleet.bin / "rochound-fleet", "compact", *lake, "--rows", 100000, "--least", 2], "compact.log")
        time.sleep(chooser.uniform(0.01, 0.4))
        if compaction.poll() is None:
            compaction.kill()
            kills += 1
        compaction.wait()
        check(command(fleet, "ask", *lake, QUERY) == before, "the answer changed")
    for _ in range(2):
        command(fleet, "compact", *lake, "--least", 2)
    check(command(fleet, "ask", *lake, QUERY) == before, "the answer changed")
    fleet_module.compare(raw, fleet.lake()["kernels"], fleet.lake()["losses"])
    few = len(files())
    check(few <= 2 < many, f"{few} files of {many} are left")
    told = json.loads(command(fleet, "compact", *lake, "--least", 2, "--json"))
    check(told["written"] == 0 and told["removed"] == 0, f"a run with nothing to do did {told}")
    # The aggregator goes on where it was, by the names of the larger files.
    fleet.run(*aggregate, "--once")
    check(command(fleet, "ask", *lake, QUERY) == before, "the aggregator stored something again")
    check(kills >= 3, f"only {kills} kills")
    return f"{many} files became {few}, {kills} kills"


def case_s3_history(fleet):
    """The same on a real S3: code objects are kept, small files merged and removed, answers stay what they are."""
    with s3.storage(fleet, "lake"):
        fleet.server()
        code = pathlib.Path(fleet.options.program).parent
        daemon = fleet.daemon("--bus", fleet.url(), "--logs", fleet.folder / "host")
        lake = ["--lake", "s3://lake/some/prefix"]
        aggregator = fleet.start([fleet.bin / "rochound-fleet", "aggregate", "--bus", fleet.url(), *lake, "--flush", "0.5"], "aggregator.log")
        program = synthetic(fleet, "host", "--kernel", f"Smooth:20000:{code}/history_old.co", "--kernel", f"Copy:5000:{code}/history_new.co",
                            "--launches", 12000, "--rate", 1000, "--report", fleet.folder / "report0.json", "--hold", 2)
        fleet.wait_for([program], 120)
        time.sleep(1)
        daemon.terminate()
        fleet.wait_for([daemon], 20)
        aggregator.terminate()
        fleet.wait_for([aggregator], 60)
        before = command(fleet, "ask", *lake, QUERY)
        raw = reported([fleet.folder / "report0.json"])
        answer = json.loads(command(fleet, "kernels", *lake, "--json"))
        fleet_module.compare(raw, answer["kernels"], answer["losses"])
        compaction = fleet.start([fleet.bin / "rochound-fleet", "compact", *lake, "--least", 2], "compact.log")
        time.sleep(0.2)
        compaction.kill()
        compaction.wait()
        check(command(fleet, "ask", *lake, QUERY) == before, "a compaction that was killed changed the answer")
        command(fleet, "compact", *lake, "--least", 2, "--json")
        check(command(fleet, "ask", *lake, QUERY) == before, "a compaction changed the answer")
        second = json.loads(command(fleet, "compact", *lake, "--least", 2, "--json"))
        check(second["removed"] >= 3, f"the second run did {second}")
        third = json.loads(command(fleet, "compact", *lake, "--least", 2, "--json"))
        check(third["files"] <= 2 and third["removed"] == 0, f"the third run did {third}")
        check(command(fleet, "ask", *lake, QUERY) == before, "removing files changed the answer")
        hashes = [row["code_object"] for row in answer["kernels"]]
        text = command(fleet, "diff", *lake, hashes[0], hashes[1], "--kernel", "Copy")
        check("The instructions are the same" in text, text)
        return f"{second['removed']} files removed, {len(hashes)} code objects"


CASES = {name.removeprefix("case_"): function for name, function in list(globals().items()) if name.startswith("case_")}

if __name__ == "__main__":
    sys.exit(fleet_module.main(CASES))
