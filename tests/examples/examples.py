#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program of examples/ on a software GPU and compares rochound's first sentence with that of the page.

usage: examples.py --rochound PATH --page README.md --program PATH
       examples.py --rochound PATH --page README.md --all PATH...     the page has each of these, and no other

The page has a section for each program, whose first block of text is the sentence. Numbers may be others.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "docs"))

from commands import without_numbers

GPU = "rx6800xt"
TRIES = 2  # which cost is the largest depends on the machine, which others use, too


def sentences(page):
    """Program -> sentence."""
    found = {}
    for section in re.split(r"^## ", page, flags=re.MULTILINE)[1:]:
        name = re.match(r"`?(\w+)`?$", section.split("\n")[0])
        block = re.search(r"^```text\n(.*?)\n```$", section, re.MULTILINE | re.DOTALL)
        if name and block:
            found[name[1]] = block[1]
    return found


class Example:
    def __init__(self, rochound, program, folder):
        self.rochound, self.program, self.folder = rochound, program, folder
        self.code = None  # how the program ended
        self.fault = ""  # all that is said about one

    def run(self, *command):
        return subprocess.run([str(word) for word in command], cwd=self.folder, capture_output=True, text=True, check=False, timeout=200)

    def first_sentence(self, *arguments):
        """What rochound says first: about a fault if there is one, else about the time. And whether that is more than a note."""
        self.code = self.run(self.rochound, "run", "-q", "--force", "-o", "trace.rpd", "--softgpu", GPU, "--", self.program,
                             *arguments).returncode
        if (self.folder / "trace.rpd.fault").exists():
            said = self.run(self.rochound, "doctor", "--fault", "trace.rpd.fault").stdout
            self.fault = said
            return said.split("\n")[0].removeprefix("rochound: "), True
        answer = self.run(self.rochound, "explain", "--json", "trace.rpd")
        if answer.returncode != 0:
            return f"no answer: {answer.stderr}", True
        findings = json.loads(answer.stdout)["tables"]["findings"]["rows"]
        if not findings:
            return "nothing stands out", False
        return findings[0]["finding"], findings[0]["confidence"] != "note"


def check(rochound, program, wanted):
    problems = []
    for _ in range(TRIES):
        problems = []
        with tempfile.TemporaryDirectory(prefix="rochound-example-") as name:
            example = Example(rochound, program, pathlib.Path(name))
            said, _ = example.first_sentence()
            if re.search(r"\b1 bytes\b", example.fault):
                problems.append(f"one byte in the plural:\n{example.fault}")
            if without_numbers(said) != without_numbers(wanted):
                problems.append(f"rochound says: {said}\nthe page says: {wanted}")
        with tempfile.TemporaryDirectory(prefix="rochound-example-") as name:
            example = Example(rochound, program, pathlib.Path(name))
            fixed, loud = example.first_sentence("fixed")
            if example.code != 0:
                problems.append(f"fixed, and it ends with {example.code}: {fixed}")
            if loud and without_numbers(fixed) == without_numbers(wanted):
                problems.append(f"fixed, and rochound still says: {fixed}")
        if not problems:
            break
    if not problems:
        print(f"{said}\nfixed: {fixed}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", type=pathlib.Path, required=True)
    parser.add_argument("--page", type=pathlib.Path, required=True)
    parser.add_argument("--program", type=pathlib.Path)
    parser.add_argument("--all", nargs="+", type=pathlib.Path)
    options = parser.parse_args()
    told = sentences(options.page.read_text())
    if options.all:
        names = {path.name for path in options.all}
        problems = [f"{name}: either the page or the folder does not have it" for name in sorted(names ^ set(told))]
        problems += [] if len(names) == 8 else [f"there are {len(names)} examples"]
    elif options.program.name not in told:
        problems = ["the page has no section with a sentence for it"]
    else:
        problems = check(options.rochound.resolve(), options.program.resolve(), told[options.program.name])
    print("\n".join(problems) or "as the page says")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
