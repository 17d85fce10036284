# SPDX-License-Identifier: MIT
"""What the checks of label silicon share: a case asks rochound about a file that a real GPU produced and compares the
answer with what is known of that file.

    from silicon_case import main

    def timesformer(case):
        trace = case.file("kineto/mi300x-timesformer.json.gz")
        busy = case.json("explain", "gpus", trace)["tables"]["gpus"]["rows"][0]["busy_ns"]
        case.near("busy", 119_853_000, busy, within=1_000)

    if __name__ == "__main__":
        main({"timesformer": timesformer})

Case names are unique among all checks. `--list` lists them; `--rochound PATH --data FOLDER CASE...` runs some, or all
without a name. A case whose file is missing is skipped: exit code 77.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile


class Missing(Exception):
    """A file of the data is not there."""


class Case:
    def __init__(self, name, options, scratch):
        self.name = name
        self.rochound = options.rochound
        self.data = pathlib.Path(options.data)
        self.scratch = pathlib.Path(scratch)  # a folder of this case's own
        self.wrong = []

    def file(self, name):
        path = self.data / name
        if not path.exists():
            raise Missing(f"{name} is not in the folder of silicon data: tests/silicon/README.md says where to get it")
        return path

    def run(self, *arguments, code=0):
        """What a command prints; `code`: the exit code it must have, None for any."""
        ran = subprocess.run([self.rochound, *map(str, arguments)], capture_output=True, text=True, timeout=100, cwd=self.scratch)
        if code is not None and ran.returncode != code:
            self.wrong.append(f"rochound {' '.join(map(str, arguments))}: exit code {ran.returncode}, not {code}:\n{ran.stderr}")
        return ran.stdout

    def json(self, *arguments, code=0):
        return json.loads(self.run(*arguments, "--json", code=code))

    def findings(self, trace, *options):
        """What `explain` finds, the most important first."""
        return self.json("explain", trace, *options)["tables"]["findings"]["rows"]

    def expect(self, what, condition):
        if not condition:
            self.wrong.append(what)

    def equal(self, what, expected, answer):
        self.expect(f"{what}: {answer!r} is not {expected!r}", answer == expected)

    def near(self, what, expected, answer, within):
        self.expect(f"{what}: {answer} is not within {within} of {expected}", abs(answer - expected) <= within)


def run_case(name, check, options):
    with tempfile.TemporaryDirectory(prefix="rochound-silicon-") as scratch:
        case = Case(name, options, scratch)
        try:
            check(case)
        except Missing as missing:
            print(f"SKIP {name}: {missing}")
            return 77
    if case.wrong:
        print(f"FAIL {name}")
        print("\n".join(f"  {one}" for one in case.wrong))
        return 1
    print(f"ok   {name}")
    return 0


def main(cases):
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--rochound")
    parser.add_argument("--data")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args()
    if options.list:
        print("\n".join(cases))
        return
    codes = [run_case(name, cases[name], options) for name in options.cases or cases]
    sys.exit(1 if 1 in codes else max(codes))
