# SPDX-License-Identifier: MIT
"""Runs the project's checks; `./dev check` calls it where the tools are.

usage: check.py [--build FOLDER] [--fix] [--all] [CHECK...]
  --fix   format files in place instead of reporting them
  --all   tidy every file, not only the changed ones
"""

import argparse
import pathlib
import sys
import time

import docs
import format as format_check
import includes
import licence
import locks
import needed
import packages
import sizes
import symbols
import tidy
import words
from project import Project

CHECKS = {module.NAME: module for module in (format_check, licence, sizes, includes, symbols, needed, docs, words, packages, locks, tidy)}


def main():
    parser = argparse.ArgumentParser(prog="./dev check", description="Checks that need no test run.")
    parser.add_argument("--build", type=pathlib.Path, help="build folder (./dev sets it)")
    parser.add_argument("--fix", action="store_true", help="format files in place instead of reporting them")
    parser.add_argument("--all", action="store_true", help="tidy every file, not only the changed ones")
    parser.add_argument("checks", nargs="*", metavar="CHECK", help=f"only these: {', '.join(CHECKS)}")
    options = parser.parse_args()
    unknown = set(options.checks) - set(CHECKS)
    if unknown:
        parser.error(f"no check called {', '.join(sorted(unknown))}; there are: {', '.join(CHECKS)}")

    project = Project(pathlib.Path(__file__).parents[2], options.build)
    failed = []
    for name, module in CHECKS.items():
        if options.checks and name not in options.checks:
            continue
        arguments = {"format": {"fix": options.fix}, "tidy": {"everything": options.all}}.get(name, {})
        start = time.monotonic()
        findings = module.run(project, **arguments)
        for finding in findings:
            print(finding)
        verdict = f"{len(findings)} findings" if findings else "ok"
        print(f"check {name}: {verdict} ({time.monotonic() - start:.1f} s)", flush=True)
        if findings:
            failed.append(name)
    if failed:
        print(f"check failed: {', '.join(failed)}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
