#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the options of commands that read traces do, on a trace whose numbers are chosen by hand.

usage: options.py --rochound PATH

Three laps and two steps: as many ranges on one thread, each around one launch of the kernel of its kind.
"""

import argparse
import contextlib
import csv
import io
import json
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "store"))

import inputs  # noqa: E402

ROCHOUND = None
RANGES = ["lap 1", "step 1", "lap 2", "step 2", "lap 3"]


def events():
    def x(category, name, pid, tid, ts, dur, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}
    for number, name in enumerate(RANGES):
        start = 1000 * (number + 1)
        kernel = f"{name.split()[0]}_kernel"
        yield x("user_annotation", name, 900, 901, start, 500)
        yield x("cuda_runtime", "hipLaunchKernel", 900, 901, start + 10, 5, cid=211, correlation=number + 1, kernel=kernel)
        yield x("kernel", kernel, 0, 7, start + 50, 100, device=0, stream=7, correlation=number + 1)


class Options(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory(prefix="rochound-options-")))
        self.trace = self.folder / "trace.json"
        inputs.kineto(self.trace, list(events()))

    def rochound(self, *arguments, typed="", code=0):
        done = subprocess.run([ROCHOUND, *map(str, arguments)], input=typed, capture_output=True, text=True, timeout=120, check=False)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}{done.stdout}")
        return done.stdout

    def rows(self, *arguments, table):
        return json.loads(self.rochound(*arguments, "--json"))["tables"][table]["rows"]

    def page(self, *options):
        """What a report's page is made of."""
        page = self.folder / "report.html"
        self.rochound("report", self.trace, "-o", page, *options)
        found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page.read_text(), re.DOTALL)
        return json.loads(found[1])

    def test_explain_steps(self):
        steps = [row["step"] for row in self.rows("explain", "variability", self.trace, table="steps")]
        self.assertEqual(steps, ["step 1", "step 2"])
        steps = [row["step"] for row in self.rows("explain", "variability", self.trace, "--steps", "^lap [0-9]", table="steps")]
        self.assertEqual(steps, ["lap 1", "lap 2", "lap 3"])

    def test_report(self):
        def steps(page):
            text = json.dumps([answer for answer in page["answers"] if answer["question"] == "variability"])
            return [name for name in sorted(RANGES) if f'"{name}"' in text]

        def events(page):
            return sum(sum(track["rows"]) for track in page["timeline"]["tracks"])
        usual, told = self.page(), self.page("--steps", "^lap [0-9]", "--events", "3")
        self.assertEqual(steps(usual), ["step 1", "step 2"])
        self.assertEqual(steps(told), ["lap 1", "lap 2", "lap 3"])
        self.assertGreater(events(usual), events(told))

    def test_explain_limit(self):
        self.assertEqual(len(self.rows("explain", "top", self.trace, table="kernels")), 2)
        kernel, = self.rows("explain", "top", self.trace, "--limit", "1", table="kernels")
        self.assertEqual((kernel["kernel"], kernel["calls"]), ("lap_kernel", 3))

    def test_explain_csv(self):
        printed = self.rochound("explain", "top", self.trace, "--csv")
        kernels = {row["kernel"]: row for row in self.rows("explain", "top", self.trace, table="kernels")}
        lines = list(csv.reader(io.StringIO(printed)))
        at = next(number for number, line in enumerate(lines) if line[:1] == ["kernel"])
        found = {line[0]: dict(zip(lines[at], line)) for line in lines[at + 1:at + 1 + len(kernels)]}
        self.assertEqual({name: row["total_ns"] for name, row in found.items()},
                         {name: str(row["total_ns"]) for name, row in kernels.items()})

    def test_query(self):
        sql = 'select "apiName" a, count(*) n from api group by a order by a'
        wanted = [{"a": "UserMarker", "n": 5}, {"a": "hipLaunchKernel", "n": 5}]
        rows = self.rows("query", self.trace, sql, table="rows")
        self.assertEqual(len(rows), len(wanted), rows)
        self.assertEqual([row["n"] for row in rows], [5, 5])
        self.assertEqual(self.rows("query", self.trace, sql, "--limit", "1", table="rows"), rows[:1])
        lines = list(csv.reader(io.StringIO(self.rochound("query", self.trace, sql, "--csv"))))
        self.assertEqual([line for line in lines if line and line[-1] == "5"], [[row["a"], "5"] for row in rows])

    def test_memory(self):
        sql = "select current_setting('memory_limit') m"
        default, = self.rows("query", self.trace, sql, table="rows")
        told, = self.rows("query", self.trace, sql, "--memory", "300MiB", table="rows")
        self.assertEqual(told["m"], "300.0 MiB")
        self.assertNotEqual(default["m"], told["m"])
        self.assertIn("300.0 MiB", self.rochound("shell", self.trace, "--memory", "300MiB", typed=sql + ";\n"))

    def test_top(self):
        def kernels(*options):
            text = self.rochound("top", self.trace, *options)
            return [name for name in ("lap_kernel", "step_kernel") if name in text]
        self.assertEqual(kernels(), ["lap_kernel", "step_kernel"])
        self.assertEqual(kernels("--rows", "1"), ["lap_kernel"])
        self.assertEqual(kernels("--rows", "1", "--json"), ["lap_kernel", "step_kernel"])

    def test_formats(self):
        """--format is stronger than the name's ending."""
        out = self.folder / "out.json"
        self.rochound("convert", self.trace, "--format", "rpd", "-o", out)
        with contextlib.closing(sqlite3.connect(out)) as rpd:
            self.assertEqual(rpd.execute("select count(*) from rocpd_op").fetchone(), (len(RANGES),))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    options, rest = parser.parse_known_args()
    ROCHOUND = options.rochound
    unittest.main(argv=[sys.argv[0], *rest])
