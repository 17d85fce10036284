#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Real RCCL over several processes with a software GPU each: results are right, and what was recorded is what was called.

usage: run_rccl.py --rochound PATH --gpu GPU [--ranks N] PROGRAM

PROGRAM is rccl_collectives; it compares its results itself. Two ranks unless told, eight with ROCHOUND_FULL=1.
"""

import argparse
import collections
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile

# RCCL calls its own functions inside of them; the program's are those that are in no other.
CALLS = """
WITH rccl AS (
  SELECT a.id, a.pid, a.tid, a.start, a.end, n.string AS name FROM rocpd_api a
  JOIN rocpd_string d ON d.id = a.domain_id AND d.string = 'rccl'
  JOIN rocpd_string n ON n.id = a.apiName_id)
SELECT pid, name, count(*) FROM rccl a
WHERE NOT EXISTS (SELECT * FROM rccl b WHERE b.pid = a.pid AND b.tid = a.tid AND b.id != a.id AND b.start <= a.start AND b.end >= a.end)
GROUP BY 1, 2"""
KERNELS = """
SELECT a.pid, count(*) FROM rochound_dispatch d
JOIN rocpd_api a ON a.id = d.api_id
JOIN rocpd_op o ON o.id = d.op_id
JOIN rocpd_string k ON k.id = o.description_id AND k.string LIKE 'ncclDevKernel%'
GROUP BY 1"""


def told(text):
    """What the ranks say about themselves: process ids, calls by rank, kernels by rank, results."""
    pids, calls, kernels, right = {}, collections.defaultdict(dict), {}, {}
    for line in text.split("\n"):
        words = line.split()
        if len(words) == 3 and words[0] == "rank":
            pids[int(words[1])] = int(words[2])
        elif len(words) == 4 and words[0] == "called":
            calls[int(words[1])][words[2]] = int(words[3])
        elif len(words) == 3 and words[0] == "kernels":
            kernels[int(words[1])] = int(words[2])
        elif len(words) == 3 and words[0] == "right":
            right[int(words[1])] = int(words[2])
    return pids, calls, kernels, right


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--ranks", type=int, default=8 if os.environ.get("ROCHOUND_FULL") else 2)
    parser.add_argument("program")
    options = parser.parse_args()
    wrong = []
    with tempfile.TemporaryDirectory(prefix="rochound-rccl-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        done = subprocess.run(
            [options.rochound, "softgpu", "--gpu", ",".join([options.gpu] * options.ranks), "--", options.rochound, "run", "-o", trace, "--",
             options.program, str(options.ranks)],
            capture_output=True, text=True, timeout=850, check=False, env={**os.environ, "HSA_NO_SCRATCH_RECLAIM": "1"})
        pids, calls, kernels, right = told(done.stdout)
        if done.returncode != 0 or sorted(pids) != list(range(options.ranks)):
            print(f"FAIL exit code {done.returncode}, ranks {sorted(pids)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
            return 1
        with sqlite3.connect(trace) as database:
            recorded = collections.defaultdict(dict)
            for pid, function, count in database.execute(CALLS):
                recorded[pid][function] = count
            launched = dict(database.execute(KERNELS))
    for rank, pid in sorted(pids.items()):
        if "ncclGetVersion" not in calls[rank]:
            recorded[pid].pop("ncclGetVersion", None)  # with eight ranks RCCL calls it by itself
        if recorded[pid] != calls[rank]:
            wrong.append(f"rank {rank} called {calls[rank]}, recorded were {recorded[pid]}")
        if launched.get(pid) != kernels[rank]:
            wrong.append(f"rank {rank} needed {kernels[rank]} kernels, recorded were {launched.get(pid)}")
    if wrong:
        print("FAIL " + "\n".join(wrong))
        return 1
    print(f"PASS {options.ranks} ranks: {sum(right.values())} results, {sum(sum(one.values()) for one in calls.values())} calls and "
          f"{sum(kernels.values())} kernels of RCCL, all recorded")
    return 0


if __name__ == "__main__":
    sys.exit(main())
