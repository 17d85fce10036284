#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Other ways to compile than a file at a time.

usage: compilers.py --rochound PATH rdc HIPCC KERNEL FUNCTION
       compilers.py --rochound PATH hiprtc PLUGIN PROGRAM
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

LIMIT = 120  # seconds


def probe(rochound, folder, program, environment=()):
    """What the program's kernels told."""
    out = folder / "messages.jsonl"
    done = subprocess.run([rochound, "probe", "--softgpu", "rx6800xt", "-l", str(out), "--", program], capture_output=True,
                          text=True, timeout=LIMIT, check=False, env={**os.environ, **dict(environment)})
    if done.returncode != 0:
        sys.exit(done.stdout + done.stderr)
    return [json.loads(line) for line in out.read_text().splitlines()]


def rdc(rochound, folder, hipcc, kernel, function):
    """Files that are compiled apart and linked as bitcode."""
    program = str(folder / "rdc")
    subprocess.run([rochound, "probe", "build", "--", hipcc, "-fgpu-rdc", "-O1", "--offload-arch=gfx1030", kernel, function,
                    "-o", program], check=True, timeout=LIMIT)
    told = {(message["wave"], message["action"], pathlib.Path(message["at"][0]["file"]).name)
            for message in probe(rochound, folder, program)}
    wanted = {(wave, *access) for wave in (0, 1) for access in (("load", "rdc_function.hip"), ("store", "rdc_kernel.hip"))}
    return told == wanted, told


def hiprtc(rochound, folder, plugin, program):
    """A program that compiles its kernels itself, and knows nothing of probes."""
    # A cache of the compiler's would give back what an older plugin has made.
    options = {"HIPRTC_COMPILE_OPTIONS_APPEND": f"-fpass-plugin={plugin}", "AMD_COMGR_CACHE": "0"}
    told = probe(rochound, folder, program, options)
    return {(message["kernel"], message["action"]) for message in told} == {
        ("_Z5PowerIdEvPKT_PS0_i", action) for action in ("load", "store")}, told


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("way")
    parser.add_argument("inputs", nargs="+")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        right, told = globals()[options.way](options.rochound, pathlib.Path(folder), *options.inputs)
    if not right:
        print(told)
    return 0 if right else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
