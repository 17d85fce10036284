#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What becomes of probes' messages when not all are wanted, when there is no room, and when things go wrong.

usage: messages.py --rochound PATH PROGRAM CASE
"""

import argparse
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

LIMIT = 120  # seconds
GPU = "mi300x"
SUMMARY = re.compile(r"(\d+) accesses by (\d+) waves in (\d+) dispatches(?:, (\d+) arrivals at barriers)?")
DROPPED = re.compile(r"(\d+) messages were dropped")
UNWRITTEN = re.compile(r"(\d+) messages of the probes could not be written")

Outcome = collections.namedtuple("Outcome", "code text accesses waves others dropped unwritten messages")


class Test:
    def __init__(self, options, folder):
        self.rochound = options.rochound
        self.program = options.program
        self.folder = folder

    def probe(self, *options, program, limit=LIMIT):
        """Runs these of the program's cases and returns what was told."""
        out = self.folder / "messages.jsonl"
        out.unlink(missing_ok=True)
        command = [self.program, *program]
        done = subprocess.run([self.rochound, "probe", "--softgpu", GPU, "-l", str(out), *options, "--", *command],
                              capture_output=True, text=True, timeout=limit, check=False)
        text = done.stdout + done.stderr
        number = lambda pattern: int(match[1]) if (match := pattern.search(text)) else 0
        summary = SUMMARY.search(text)
        messages = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
        return Outcome(done.returncode, text, int(summary[1]) if summary else 0, int(summary[2]) if summary else 0,
                       int(summary[4] or 0) if summary else 0, number(DROPPED), number(UNWRITTEN), messages)

    def alone(self):
        """Without rochound probe the program does what it always did."""
        done = subprocess.run([self.rochound, "softgpu", "--gpu", GPU, "--", self.program], capture_output=True, text=True,
                              timeout=LIMIT, check=False)
        require(done.returncode == 0 and done.stdout.count("right ") == 23, done.stdout + done.stderr)

    def drop(self):
        """Sent and dropped messages together are all there are."""
        everything = self.probe(program=["matmul"])
        require(everything.code == 0 and everything.dropped == 0, everything.text)
        few = self.probe("--drop", "--buffer", "8KiB", program=["matmul"])
        require(few.code == 0 and "right matmul" in few.text, few.text)
        require(few.dropped > 0, "nothing was dropped")
        sent, all_there_are = few.accesses + few.waves + few.others, everything.accesses + everything.waves + everything.others
        require(sent + few.dropped == all_there_are, f"{sent} + {few.dropped} are not {all_there_are}")

    def throttle(self):
        """A ring that holds a dozen messages loses none."""
        everything = self.probe(program=["matmul"])
        few = self.probe("--buffer", "8KiB", program=["matmul"])
        require(few.code == 0 and "right matmul" in few.text, few.text)
        require(few.dropped == 0 and (few.accesses, few.waves) == (everything.accesses, everything.waves), few.text)

    def many(self):
        """None is lost when there are far more than the ring holds: 10 million with ROCHOUND_FULL."""
        count = 10_000_000 if os.environ.get("ROCHOUND_FULL") else 100_000
        many = self.probe("-a", "memory", "--buffer", "64KiB", program=["many", str(count)], limit=800)
        require(many.code == 0 and "right many" in many.text, many.text)
        require((many.accesses, many.waves, many.dropped) == (count, 50, 0), many.text)
        print(f"{many.accesses} messages by {many.waves} waves, none lost")

    def filters(self):
        cases = ["add", "lds", "grid"]
        everything = self.probe(program=cases)
        count = lambda keep: sum(bool(keep(message)) for message in everything.messages)
        kernel = self.probe("-k", "^probe_(lds|gr.d)$", program=cases)
        require({message["kernel"] for message in kernel.messages} == {"probe_lds", "probe_grid"}, kernel.text)
        require(kernel.accesses == count(lambda message: message["kernel"] != "probe_add"), kernel.text)
        group = self.probe("--filter-x", "1:3", "--filter-y", "0", program=cases)
        require(group.accesses == count(lambda message: message["group"][0] in (1, 2) and message["group"][1] == 0), group.text)
        deep = self.probe("--filter-z", "1", program=cases)
        require(0 < deep.accesses == count(lambda message: message["group"][2] == 1), deep.text)
        lanes = self.probe("--lanes", "5", program=cases)
        require(lanes.messages and all(int(message["mask"], 16) & ~5 == 0 for message in lanes.messages), lanes.text)
        require(lanes.accesses == count(lambda message: int(message["mask"], 16) & 5), lanes.text)
        none = self.probe("-k", "another", program=cases)
        require(none.code == 125 and not none.messages and "with a match of 'another'" in none.text, none.text)

    def fault(self):
        """The access that a GPU fails at is the last that is told."""
        failed = self.probe(program=["fault"])
        require(failed.code != 0 and "a GPU failed" in failed.text, failed.text)
        where = re.search("write to 0x([0-9a-f]+)", failed.text)
        require(len(failed.messages) > 1 and where is not None, failed.text)
        require(failed.messages[-1]["addresses"][0] == where[1], failed.text)

    def full_disk(self):
        """What cannot be written is counted, and the program ends as ever."""
        kept = self.folder / "kept"
        kept.mkdir()
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", str(kept)], capture_output=True,
                                 text=True, check=False)
        if mounted.returncode != 0:
            print(f"SKIP full-disk: cannot mount a small file system: {mounted.stderr.strip()}")
            sys.exit(77)
        try:
            everything = self.probe(program=["matmul"])
            full = self.probe("--keep", str(kept), program=["matmul"])
        finally:
            subprocess.run(["umount", str(kept)], check=True)
        require("right matmul" in full.text and "messages are lost from here on" in full.text, full.text)
        require("No space left on device" in full.text, full.text)
        require(0 < full.accesses < everything.accesses and full.unwritten > 0, full.text)
        require(full.accesses + full.waves + full.others + full.unwritten ==
                everything.accesses + everything.waves + everything.others, full.text)


def require(condition, text):
    if not condition:
        raise AssertionError(text)


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("program")
    parser.add_argument("case")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        getattr(Test(options, pathlib.Path(folder)), options.case.replace("-", "_"))()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
