#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program that prints its GPU's properties, as it is and with corrected answers.

usage: override.py --rochound PATH [--no-tables] -- PROGRAM

On a software RX 6800 XT: 36 without, 72 with --override cu=72, from the program's very first HIP call on; nothing else
changes; each corrected answer is in the trace, and what was changed is said on stderr. Clock, memory and name likewise.
rocminfo, which asks HSA, sees compute units, clock and name corrected, and memory as it is. --no-tables: with a HIP
that cannot be corrected, a warning says so.
"""

import argparse
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile

ALL = "cu=72,clock=2000,memory=3,name=Card of mine"


def run(command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)


def check_hip(record, trace, program, problems):
    plain = run([*record, "--", program])
    wanted = run([*record, "--override", "cu=72", "--", program])
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
    everything = run([*record, "--override", ALL, "--", program])
    properties = f"72 units, 2000000 kHz, {3 << 30} bytes, Card of mine"
    expected = [f"first: {properties}", f"then: {properties}", "attribute: 72 units", f"asked: {3 << 30} bytes, Card of mine"]
    if everything.stdout.splitlines() != expected:
        problems.append(f"cu, clock, memory and name:\n{everything.stdout}{everything.stderr}")


def check_hsa(record, problems):
    """rocminfo's lines about the GPU, which come last."""
    def facts(done):
        gpu = done.stdout[done.stdout.rfind("Marketing Name"):]
        return {name: re.findall(rf"{name}: *(.*?) *$", gpu, re.MULTILINE)
                for name in ("Marketing Name", "Compute Unit", r"Max Clock Freq\. \(MHz\)", "Size")}

    plain = facts(run([*record, "--", "rocminfo"]))
    wanted = facts(run([*record, "--override", ALL.replace("cu=72", "cu=60"), "--", "rocminfo"]))
    expected = {**plain, "Marketing Name": ["Card of mine"], "Compute Unit": ["60"],
                r"Max Clock Freq\. \(MHz\)": ["2000"]}
    if wanted != expected or not plain["Size"]:
        problems.append(f"rocminfo says {wanted}, not {expected}")


def check_warning(record, program, problems):
    plain = run([*record, "--", program])
    wanted = run([*record, "--override", "cu=72", "--", program])
    if plain.stdout != wanted.stdout or "cannot be corrected" not in wanted.stderr or "corrected" in plain.stderr:
        problems.append(f"no warning, or something changed:\n{plain.stdout}{plain.stderr}---\n{wanted.stdout}{wanted.stderr}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--no-tables", action="store_true")
    parser.add_argument("program")
    options = parser.parse_args()
    problems = []
    with tempfile.TemporaryDirectory(prefix="rochound-override-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        record = [options.rochound, "run", "-o", str(trace), "--softgpu", "rx6800xt"]
        if options.no_tables:
            check_warning(record, options.program, problems)
        else:
            check_hip(record, trace, options.program, problems)
        check_hsa(record, problems)
        for nonsense in (["--override", "cu=many"], ["--override", "cu=72", "--no-hip"]):
            done = run([*record, *nonsense, "--", options.program])
            if done.returncode != 2:
                problems.append(f"{nonsense} was accepted: {done.returncode} {done.stderr}")
    print("\n".join(problems) or "HIP and HSA answer as told, or say that they do not")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
