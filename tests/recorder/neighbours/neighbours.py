#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs a program beside something else that is loaded into it, bare and recorded, and compares.

usage: neighbours.py --rochound PATH --agent PATH --gpu GPU [--set NAME=VALUE]... [--tools "A agent B"] [--says REGEX]
                     [--uncounted] -- PROGRAM...

    --set        environment of both runs; LD_PRELOAD loads a neighbour
    --tools      HSA_TOOLS_LIB; the word `agent` is the recorder, which the bare run leaves out
    --says       what the neighbour says on stderr, the same in both runs
    --uncounted  the program does not count its kernels

Same must be: exit code, standard output, and what the neighbour says. The trace has the kernels that the program counted.
"""

import argparse
import os
import pathlib
import re
import subprocess
import sys
import tempfile

sys.path[:0] = [str(pathlib.Path(__file__).parents[2] / "programs"), str(pathlib.Path(__file__).parents[1])]
import process  # noqa: E402
from trace import Trace, parse_counts  # noqa: E402

PATIENCE = 200


def run(options, folder, recorded):
    environment = {**os.environ, **dict(pair.split("=", 1) for pair in options.set), "ROCHOUND_LOG_DIR": str(folder / "log"),
                   "ROCHOUND_CONTROL_DIR": ""}
    tools = [options.agent if word == "agent" else word for word in options.tools.split() if recorded or word != "agent"]
    environment["HSA_TOOLS_LIB"] = " ".join(tools)
    if not tools:
        del environment["HSA_TOOLS_LIB"]
    return subprocess.run([options.rochound, "softgpu", "--gpu", options.gpu, "--", *options.command], env=environment, text=True,
                          errors="replace", capture_output=True, timeout=PATIENCE, check=False, stdin=subprocess.DEVNULL)


def compare(options, folder):
    bare, recorded = run(options, folder, False), run(options, folder, True)
    if bare.returncode != 0:
        return [f"the bare program fails: {bare.returncode}\n{bare.stdout[-1000:]}{bare.stderr[-2000:]}"]
    if recorded.returncode != bare.returncode:
        return [f"exit code {recorded.returncode} instead of {bare.returncode}\n{recorded.stdout[-1000:]}{recorded.stderr[-3000:]}"]
    found = []
    if process.untimed(recorded.stdout) != process.untimed(bare.stdout):
        found.append(f"other output:\n--- bare\n{bare.stdout[-1500:]}\n--- recorded\n{recorded.stdout[-1500:]}")
    if options.says:
        said = [re.findall(options.says, each.stderr) for each in (bare, recorded)]
        if not said[0]:
            found.append(f"the neighbour does not say '{options.says}': this shows nothing\n{bare.stderr[-1000:]}")
        if said[0] != said[1]:
            found.append(f"the neighbour says {said[0]} bare, {said[1]} recorded")
    trace = folder / "trace.rpd"
    made = subprocess.run([options.rochound, "log", "recover", str(folder / "log"), "-o", str(trace)], capture_output=True,
                          text=True, timeout=PATIENCE, check=False)
    if not trace.exists():
        return found + [f"no trace: {made.stderr[-1000:]}{recorded.stderr[-1000:]}"]
    kernels = Trace(trace).kernels()
    if options.uncounted:
        wanted = sum(kernels.values()) > 0
    else:
        wanted = kernels == parse_counts(recorded.stdout)[2]
    return found if wanted else found + [f"kernels: the trace has {kernels}, {recorded.stdout[-1500:]}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("--set", action="append", default=[])
    parser.add_argument("--tools", default="agent")
    parser.add_argument("--says")
    parser.add_argument("--uncounted", action="store_true")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        found = compare(options, pathlib.Path(folder))
    print("\n".join(["FAIL", *found]) if found else "PASS")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
