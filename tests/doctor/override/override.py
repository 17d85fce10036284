#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program that prints its GPU's properties, as it is and with corrected answers.

usage: override.py --rochound PATH -- PROGRAM

On a software RX 6800 XT: 36 without, 72 with --override cu=72, from the program's very first HIP call on; nothing else
changes; each corrected answer is in the trace, and what was changed is said on stderr.
"""

import argparse
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory(prefix="rochound-override-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        record = [options.rochound, "run", "-o", str(trace), "--softgpu", "rx6800xt"]
        plain = run([*record, "--", options.program])
        wanted = run([*record, "--override", "cu=72", "--", options.program])
        for what, done, units in (("plain", plain, "36"), ("override", wanted, "72")):
            found = re.findall(r"(\d+) units", done.stdout)
            if done.returncode != 0 or found != [units] * 3:
                problems.append(f"{what}: {found} instead of {units}, exit code {done.returncode}\n{done.stdout}{done.stderr}")
        if re.sub(r"\d+ units", "", plain.stdout) != re.sub(r"\d+ units", "", wanted.stdout):
            problems.append(f"something else changed:\n{plain.stdout}{wanted.stdout}")
        if "72 instead of 36" not in wanted.stderr or "instead of" in plain.stderr:
            problems.append(f"what was said:\n{plain.stderr}---\n{wanted.stderr}")
        with sqlite3.connect(trace) as database:
            marks = [row[0] for row in database.execute("select string from rocpd_ustring where string like 'override: hip%'")]
            count = database.execute("select count(*) from rocpd_api a join rocpd_string s on a.apiName_id = s.id "
                                     "where s.string = 'UserMarker'").fetchone()[0]
        if not any("multiProcessorCount 36 -> 72" in mark for mark in marks):
            problems.append(f"marks: {marks}")
        if count != 3:
            problems.append(f"{count} corrected answers of HIP are in the trace, not 3: {marks}")
        nonsense = run([*record, "--override", "cu=many", "--", options.program])
        if nonsense.returncode != 2:
            problems.append(f"nonsense was accepted: {nonsense.returncode} {nonsense.stderr}")
    print("\n".join(problems) or "36 without, 72 with it")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
