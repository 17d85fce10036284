#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Jobs that hang, with the real RCCL on software GPUs, and what `rochound-fleet hang` says about them: one case per test.

usage: hang.py --list | --case NAME --bin FOLDER --gpu GPU PROGRAM

PROGRAM is stuck.hip. The right ranks and the right reason are named within 30 s of the hang, while the processes are stuck, and
nobody else is accused meanwhile. "healthy" and "slow" do not hang, and nobody may be accused. ROCHOUND_FULL=1: four ranks each.
"""

import functools
import json
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import fleet as fleets  # noqa: E402
from fleet import Failed, check  # noqa: E402

FULL = bool(os.environ.get("ROCHOUND_FULL"))
WITHIN_S = 30
START_S = 400
LAST = "last"


class Case:
    def __init__(self, verdict, accused, doing="", conclusion="", ranks=2, silent=()):
        self.verdict = verdict
        self.accused = accused  # LAST, or the ranks
        self.doing = doing  # of each of them
        self.conclusion = conclusion
        self.ranks = max(ranks, 4 if FULL else 0)
        self.silent = silent  # ranks that say nothing when they are ready

    def ranks_accused(self):
        return [self.ranks - 1] if self.accused is LAST else self.accused


CASES = {
    "dead": Case("waited for", LAST, "has ended", "wait in ncclAllReduce, number 4"),
    "ended": Case("waited for", LAST, "has ended", "wait in ncclAllReduce, number 4"),
    "stopped": Case("waited for", LAST, "is stopped", "wait in ncclAllReduce, number 4"),
    "stopped_inside": Case("waited for", LAST, "is stopped", "wait in ncclAllReduce, number 4"),
    "different": Case("different operations", LAST, "", "rank 2 ncclReduceScatter of", ranks=3),
    "skipped": Case("waited for", LAST, "code of its own", "wait in ncclAllReduce, number 6"),
    "endless": Case("waited for", LAST, r"kernel Endless\(.*in flight.*hipStreamSynchronize", "wait in ncclAllReduce, number 4"),
    "queued": Case("waited for", LAST, r"kernel Endless\(.*ncclAllReduce 4 is queued after it", "wait in ncclAllReduce, number 4"),
    "python": Case("waited for", LAST, r"code of its own \(python3", "wait in ncclAllReduce, number 4"),
    "computing": Case("waited for", LAST, r"code of its own \(.*stuck", "wait in ncclAllReduce, number 4"),
    "crossed": Case("crossed", None, "in ncclAllReduce", "wait for each other"),
    "receive": Case("waited for", LAST, "code of its own", "1 of . ranks wait in ncclRecv, number 1"),
    "not_connected": Case("waited for", LAST, "code of its own", "wait in ncclCommInitRank"),
    "missing": Case("waited for", LAST, "", "wait in ncclCommInitRank", silent=(LAST,)),
    "halves": Case("waited for", LAST, "code of its own", "1 of 4 ranks wait in ncclAllReduce, number 2", ranks=4),
    "healthy": Case(None, []),
    "slow": Case(None, []),
}
CASES["different"].conclusion = f"rank {CASES['different'].ranks - 1} ncclReduceScatter of"
CASES["crossed"].accused = list(range(CASES["crossed"].ranks))


def ask(fleet):
    """The report, as it is now."""
    done = subprocess.run([fleet.bin / "rochound-fleet", "hang", "--bus", fleet.url(), "--job", "j1", "--hosts", "1", "--json"],
                          capture_output=True, text=True, timeout=60, env=fleet.environment, check=False)
    if done.returncode not in (0, 3):
        return None
    report = json.loads(done.stdout)
    check(report["stuck"] == (done.returncode == 3), f"exit code {done.returncode}, and {report['verdict']}")
    return report


def accused(report):
    if not report["stuck"]:
        return []
    return sorted([rank["rank"] for rank in report["ranks"] if rank["waited_for"]] + report["not_answering"])


def judge(case, report):
    """Why the report is not right; empty: it is."""
    if report["verdict"] != case.verdict:
        return f"verdict {report['verdict']}"
    if accused(report) != case.ranks_accused():
        return f"accused are {accused(report)}"
    for rank in report["ranks"]:
        if rank["waited_for"] and not re.search(case.doing, rank["doing"]):
            return f"rank {rank['rank']}: {rank['doing']}"
    if not re.search(case.conclusion, report["conclusion"]):
        return report["conclusion"]
    return ""


def run(fleet, name):
    case = CASES[name]
    fleet.server()
    fleet.daemon("--bus", fleet.url())
    program = fleet.start(
        [fleet.bin / "rochound", "softgpu", "--gpu", ",".join([fleet.options.gpu] * case.ranks), "--", fleet.bin / "rochound", "run",
         "--log-dir", fleet.folder / "logs0", "--log-only", "--last", "60s", "--", fleet.options.program, case.ranks, name,
         pathlib.Path(__file__).parent / "stuck_rank.py"],
        "program.log", ROCHOUND_JOB="j1", HSA_NO_SCRATCH_RECLAIM="1")
    waited = case.ranks - len(case.silent)

    def ready():
        check(program.poll() is None, "the program has ended")
        return len(re.findall(r"^ready \d+$", (fleet.folder / "program.log").read_text(errors="replace"), re.M)) >= waited
    fleet.until("all ranks are ready", ready, START_S)
    begin = time.monotonic()
    if case.verdict is None:
        reports = [ask(fleet) for _ in range(6)]
        for report in reports:
            check(report is not None and accused(report) == [] and not report["stuck"], json.dumps(report, indent=1))
        return f"nobody accused in {len(reports)} reports: {sorted({report['verdict'] for report in reports})}"
    last = "no report"
    while time.monotonic() - begin < WITHIN_S:
        report = ask(fleet)
        if report is None:
            continue
        why = judge(case, report)
        if not why:
            seconds = time.monotonic() - begin
            check(program.poll() is None, "the program has ended")
            return f"{report['conclusion']} (after {seconds:.1f} s)"
        wrong = [rank for rank in accused(report) if rank not in case.ranks_accused()]
        check(not wrong, f"ranks {wrong} are accused: {json.dumps(report, indent=1)}")
        last = f"{why}: {json.dumps(report, indent=1)}"
        time.sleep(0.5)
    raise Failed(f"not within {WITHIN_S} s; {last}")


if __name__ == "__main__":
    sys.exit(fleets.main({name: functools.partial(run, name=name) for name in CASES}))
