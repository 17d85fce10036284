#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound probe -a library.so`: a good analyzer counts what the messages say. A slow, crashing, exiting or absent one never hangs or
harms the program, and rochound says what became of it.

usage: plugin.py --rochound PATH --gpu GPU --library ANALYZER.so SOURCE PROGRAM
"""

import collections
import json
import os
import sys
import time

import analyzer


def main():
    at = sys.argv.index("--library")
    library = sys.argv[at + 1]
    del sys.argv[at:at + 2]
    test = analyzer.Test("races")
    os.chdir(test.folder.name)  # where nobody else leaves anything

    lanes = collections.Counter()
    for text in test.run("read", str(test.kept)).splitlines():
        message = json.loads(text)
        lanes[message["at"][-1]["line"]] += len(message["addresses"])
    good = test.start("read", str(test.kept), "-a", library, "--json")
    told = {line["line"]: line["lanes"] for line in map(json.loads, good.stdout.splitlines())}
    test.require(good.returncode == 0 and told and told == dict(lanes), f"{good} is not {dict(lanes)}")
    test.require("barriers of" in good.stderr and "OneWave" in good.stderr and "on gfx942" in good.stderr, good.stderr)
    (barriers,) = [line.split() for line in good.stderr.splitlines() if "barriers of" in line]
    test.require(int(barriers[2]) > 0 and barriers[2] == barriers[5].rstrip(","), good.stderr)
    test.require(test.table(kept=test.kept) and test.run("read", str(test.kept), "-a", library).startswith(f"{min(lanes)} "), "no table")

    def bad(mode, limit, *says):
        """The program runs and passes, nothing hangs, and stderr says what the analyzer did."""
        os.environ["ROCHOUND_TEST_ANALYZER"] = mode
        begin = time.monotonic()
        done = test.start("--softgpu", test.gpu, "--analyzer-limit", limit, "-a", library, "--", test.program)
        seconds = time.monotonic() - begin
        del os.environ["ROCHOUND_TEST_ANALYZER"]
        test.require(done.returncode == 125 and "PASS races" in done.stdout and all(word in done.stderr for word in says) and seconds < 60,
                     f"{mode}: {seconds} s, {done}")

    bad("crash", "10m", "signal 11")
    bad("exit", "10m", "ended its process with exit code 0")
    bad("slow", "1s", "did not end within 1")
    bad("closes", "1s", "did not end within 1")
    bad("fails", "10m", "has no answer")
    leftovers = [name for name in os.listdir() if name.startswith("rochound-probe.log")]
    test.require(not leftovers, f"left: {leftovers}")

    def refused(path, mode, code, says):
        """Before the program runs for nothing."""
        os.environ["ROCHOUND_TEST_ANALYZER"] = mode
        done = test.start("--softgpu", test.gpu, "-a", path, "--", test.program)
        del os.environ["ROCHOUND_TEST_ANALYZER"]
        test.require(done.returncode == code and not done.stdout and says in done.stderr, f"{path}: {done}")

    refused("./absent.so", "", 2, "absent.so")
    refused(test.program, "", 2, "cannot load the analyzer")
    refused(library, "newer", 2, "was built for version 2")
    refused(library, "crash-early", 125, "signal 6")
    refused("no-such-analyzer", "", 2, "there is no analyzer 'no-such-analyzer'")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
