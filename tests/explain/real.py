#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a real program on the software GPU, asks its trace every question, and checks the answers.

usage: real.py --name NAME [--rochound PATH] --gpu GPU -- PROGRAM...

What is checked: counts against the program's own, sums against the same sums worked out here from the .rpd by plain
sqlite3, times that must add up to the whole, and that other formats of the trace give the same answers.
"""

import argparse
import collections
import json
import pathlib
import sqlite3
import sys
import tempfile

HERE = pathlib.Path(__file__).parent
sys.path[:0] = [str(HERE.parent / "programs"), str(HERE.parent / "recorder")]
import process  # noqa: E402
from exact import NOT_COUNTED  # noqa: E402
from trace import parse_counts, plain_name  # noqa: E402

QUESTIONS = ["health", "top", "apis", "copies", "memory", "busy", "queues", "launch", "stragglers", "variability", "callstack",
             "idle", "overlap", "critical-path", "graphs", "autograd"]


def union(spans):
    """The time covered by intervals."""
    covered, reached = 0, None
    for start, end in sorted(spans):
        if reached is None or start > reached:
            covered += end - start
            reached = end
        elif end > reached:
            covered += end - reached
            reached = end
    return covered


class Checker:
    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)
        self.found = []

    def equal(self, what, expected, answer):
        if expected != answer:
            self.found.append(f"{what}: {answer} instead of {expected}")

    def rochound(self, *arguments, timeout=120):
        outcome = process.run([self.options.rochound, *map(str, arguments)], timeout)
        if outcome.code != 0:
            self.found.append(f"rochound {' '.join(map(str, arguments))}: {outcome}\n{outcome.tail()}")
        return outcome

    def ask(self, question, trace):
        outcome = self.rochound("explain", question, trace, "--json")
        if outcome.code != 0:
            return collections.defaultdict(lambda: {"rows": []})
        answer = json.loads(outcome.out)
        self.equal(f"{question}: doubts", [], [doubt for doubt in answer["doubts"] if "copy times" not in doubt])
        return answer["tables"]

    def check(self, rpd, text):
        answers = {question: self.ask(question, rpd) for question in QUESTIONS}
        totals, calls, kernels, _ = parse_counts(text)
        database = sqlite3.connect(rpd)
        rows = database.execute
        (first, last), = rows("select min(start), max(end) from "
                              "(select start, end from rocpd_api union all select start, end from rocpd_op)")
        wall = last - first
        operations = rows("select gpuId, queueId, start, end from rocpd_op").fetchall()
        work = sum(end - start for _, _, start, end in operations)

        top = answers["top"]["kernels"]["rows"]
        self.equal("top: operations", len(operations), sum(row["calls"] for row in top))
        self.equal("top: time", work, sum(row["total_ns"] for row in top))
        counted = collections.Counter()
        for row in top:
            counted[plain_name(row["kernel"])] += row["calls"]
        for name, count in kernels.items():
            if name != "Thrust":
                self.equal(f"top: {name}", count, counted[name])
        self.equal("top: shapes", rows("select count(*) from rochound_dispatch").fetchone()[0],
                   sum(row["calls"] for row in answers["top"]["shapes"]["rows"]))

        recorded = collections.Counter()
        for row in answers["apis"]["calls"]["rows"]:
            if row["domain"] == "hip" and row["call"] not in NOT_COUNTED:
                recorded[row["call"]] += row["calls"]
        self.equal("apis", calls, recorded)
        self.copies(answers["copies"]["directions"]["rows"], totals)

        queues = collections.defaultdict(list)
        gpus = {gpu: [] for gpu, in rows("select distinct gpuId from rochound_agent where gpuId is not null")}
        for gpu, queue, start, end in operations:
            queues[gpu, queue].append((start, end))
            gpus[gpu].append((start, end))
        busy = {key: union(spans) for key, spans in queues.items()}
        self.equal("busy: queues", busy,
                   {(row["gpu"], row["queue"]): row["busy_ns"] for row in answers["busy"]["queues"]["rows"]})
        self.equal("busy: gpus", {gpu: union(spans) for gpu, spans in gpus.items()},
                   {row["gpu"]: row["busy_ns"] for row in answers["busy"]["gpus"]["rows"]})
        self.equal("busy: wall", {wall}, {row["wall_ns"] for row in answers["busy"]["gpus"]["rows"]})

        used = {gpu for gpu, spans in gpus.items() if spans}
        states = collections.defaultdict(dict)
        for row in answers["idle"]["causes"]["rows"]:
            states[row["gpu"]][row["state"]] = row["total_ns"]
        self.equal("idle: states add up", {gpu: wall for gpu in used}, {gpu: sum(one.values()) for gpu, one in states.items()})
        self.equal("idle: busy", {gpu: union(gpus[gpu]) for gpu in used},
                   {gpu: one.get("busy", 0) for gpu, one in states.items()})
        for row in answers["idle"]["queues"]["rows"]:
            parts = sum(value for name, value in row.items()
                        if name.endswith("_ns") and name != "wall_ns")
            self.equal(f"idle: queue {row['queue']} adds up", wall, parts)
            self.equal(f"idle: queue {row['queue']} busy", busy[row["gpu"], row["queue"]], row["busy_ns"])
        states = collections.Counter()
        for row in answers["overlap"]["states"]["rows"]:
            states[row["gpu"]] += row["total_ns"]
        self.equal("overlap adds up", {gpu: wall for gpu in used}, dict(states))
        path = answers["critical-path"]["attribution"]["rows"]
        self.equal("critical-path adds up", wall, sum(row["total_ns"] for row in path))

        linked = rows("select sum(o.end - o.start) from rocpd_api_ops l join rocpd_op o on o.id = l.op_id").fetchone()[0]
        self.equal("callstack: GPU time", linked or 0,
                   sum(row["gpu_exclusive_ns"] for row in answers["callstack"]["names"]["rows"]))
        self.equal("launch: launches",
                   rows("select count(*) from rochound_dispatch where timed = 1 and api_id is not null").fetchone()[0],
                   sum(row["launches"] for row in answers["launch"]["kernels"]["rows"]))
        self.equal("graphs: launches", calls["hipGraphLaunch"], len(answers["graphs"]["launches"]["rows"]))
        self.views(rpd, calls)
        self.formats(rpd, answers)

    def copies(self, directions, totals):
        """Copies and bytes by direction, as the program counts them itself."""
        expected = {"CopyHostToDevice": ("h2d",), "CopyDeviceToHost": ("d2h",), "CopyDeviceToDevice": ("d2d", "p2p"),
                    "CopyHostToHost": ("h2h",)}
        told = {row["direction"]: (row["copies"], row["moved_bytes"]) for row in directions}
        for direction, kinds in expected.items():
            self.equal(f"copies: {direction}",
                       (sum(totals[kind] for kind in kinds), sum(totals[f"{kind}_bytes"] for kind in kinds)),
                       told.get(direction, (0, 0)))

    def views(self, rpd, calls):
        """What the questions leave in the .rpd with --write, as plain sqlite3 sees it."""
        for question in ("callstack", "graphs", "autograd"):
            self.rochound("explain", question, rpd, "--write")
        database = sqlite3.connect(rpd)
        count = database.execute("select count(*) from callStack_inclusive_name").fetchone()[0]
        self.equal("callStack_inclusive_name", True, count > 0)
        self.equal("graphLaunch", calls["hipGraphLaunch"],
                   database.execute("select count(*) from graphLaunch").fetchone()[0])
        self.equal("autogradKernel", 0, database.execute("select count(*) from autogradKernel").fetchone()[0])
        self.equal("integrity", "ok", database.execute("pragma integrity_check").fetchone()[0])

    def formats(self, rpd, answers):
        parquet = self.folder / "trace.parquet"
        self.rochound("convert", rpd, "-o", parquet)
        self.equal("top of the Parquet", answers["top"], self.ask("top", parquet))
        self.equal("idle of the Parquet", answers["idle"], self.ask("idle", parquet))
        again = self.folder / "again.rpd"
        self.rochound("convert", parquet, "-o", again)
        self.equal("apis of the .rpd again", answers["apis"], self.ask("apis", again))
        perfetto = self.folder / "trace.pftrace"
        self.rochound("open", rpd, "-o", perfetto)
        self.equal("the .pftrace is there", True, perfetto.exists() and perfetto.stat().st_size > 0)
        page = self.folder / "report.html"
        self.rochound("report", rpd, "-o", page)
        text = page.read_text() if page.exists() else ""
        self.equal("the report is one whole page", True, text.startswith("<!") and "</html>" in text)
        first = self.rochound("top", rpd)
        self.equal("the first page names the trace", True, "trace.rpd" in first.out)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--name", required=True)
    parser.add_argument("--timeout", type=float, default=120)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        rpd = pathlib.Path(folder, "trace.rpd")
        outcome = process.run([options.rochound, "softgpu", "--gpu", options.gpu, "--", options.rochound, "run",
                               "-o", str(rpd), "--"] + options.command, options.timeout)
        lines = outcome.out.rstrip("\n").split("\n")
        if outcome.code == 77 and lines[-1].startswith("SKIP "):
            print(lines[-1])
            return 77
        if outcome.code != 0:
            print(f"FAIL {options.name}: {outcome}\n{outcome.tail()}")
            return 1
        checker = Checker(options, folder)
        checker.check(rpd, outcome.out)
    if checker.found:
        print(f"FAIL {options.name}:")
        print("\n".join("  " + line for line in checker.found[:40]))
        return 1
    print(f"PASS {options.name}: every question answered, and the answers agree")
    return 0


if __name__ == "__main__":
    sys.exit(main())
