# SPDX-License-Identifier: MIT
"""What tests of analyzers share: a program is probed once, and what was kept is read as often as needed."""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile


class Test:
    def __init__(self, name, *options):
        parser = argparse.ArgumentParser()
        parser.add_argument("--rochound", required=True)
        parser.add_argument("--gpu", required=True)
        parser.add_argument("source", type=pathlib.Path)
        parser.add_argument("program")
        arguments = parser.parse_args()
        self.name, self.rochound, self.gpu, self.program, self.wrong = name, arguments.rochound, arguments.gpu, arguments.program, 0
        self.lines = {match[1]: number for number, line in enumerate(arguments.source.read_text().splitlines(), 1)
                      if (match := re.search(r"// place (\w+)$", line))}
        self.folder = tempfile.TemporaryDirectory(prefix="rochound-probe-")
        self.kept = pathlib.Path(self.folder.name, "kept")
        first = self.run("--keep", str(self.kept), "-a", name, "--softgpu", arguments.gpu, *options, "--", arguments.program)
        if f"PASS {name}" not in first:
            print(first)
            sys.exit(1)

    def start(self, *arguments):
        return subprocess.run([self.rochound, "probe", *arguments], stdin=subprocess.DEVNULL, capture_output=True, text=True,
                              timeout=200, check=False)

    def run(self, *arguments):
        done = self.start(*arguments)
        if done.returncode != 0:
            print(f"{' '.join(arguments)}: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
            sys.exit(1)
        return done.stdout

    def table(self, *options, kept=None):
        return self.run("read", str(kept or self.kept), "-a", self.name, *options)

    def json(self, *options, kept=None):
        return [json.loads(line) for line in self.table("--json", *options, kept=kept).splitlines()]

    def require(self, condition, text=""):
        if not condition:
            self.wrong += 1
            print(text or self.table())

    def equal(self, found, wanted):
        self.require(found == wanted, "\n".join([f"missing: {one}" for one in wanted if one not in found] +
                                                [f"found:   {one}" for one in found if one not in wanted] + [self.table()]))

    def result(self):
        print(f"{self.wrong} wrong")
        return 1 if self.wrong else 0
