#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a program that knows nothing of tests, such as llama.cpp, and compares answers with plain SQLite.

usage: real_library.py --rochound PATH --gpu GPU -- PROGRAM...
"""

import argparse
import collections
import sys
import tempfile

from truth_case import Case
from truth_idle import check_sums


def check_totals(case, run):
    """Counts and times of kernels, calls and copies."""
    operations, = run.rows("select count(*), coalesce(sum(end - start), 0) from rocpd_op")
    top = run.ask("top", "--limit", "0")["kernels"]
    case.equal("top", operations, (sum(row["calls"] for row in top), sum(row["total_ns"] for row in top)))
    calls = {name: (count, ns) for name, count, ns in run.rows(
        "select n.string, count(*), sum(a.end - a.start) from rocpd_api a join rocpd_string n on n.id = a.apiName_id join "
        "rocpd_string d on d.id = a.domain_id where d.string = 'hip' group by 1")}
    answer = collections.defaultdict(lambda: (0, 0))
    for row in run.ask("apis", "--limit", "0")["calls"]:
        if row["domain"] == "hip":
            count, ns = answer[row["call"]]
            answer[row["call"]] = count + row["calls"], ns + row["total_ns"]
    case.equal("apis", calls, dict(answer))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", default="rochound")
    parser.add_argument("--gpu", required=True)
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    options.programs = "/"
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        case = Case("library", options, folder)
        run = case.record(*options.command, gpu=options.gpu, timeout=600)
        idle, _ = check_sums(case, run)
        check_totals(case, run)
        case.expect("no operations on the GPU", bool(idle["causes"]))
    print("\n".join(case.found[:40]) if case.found else "PASS: the answers agree with plain SQL")
    return 1 if case.found else 0


if __name__ == "__main__":
    sys.exit(main())
