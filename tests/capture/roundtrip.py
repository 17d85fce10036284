#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures one launch of a program and runs it again, often, each time in a fresh process.

usage: roundtrip.py --rochound PATH --gpu GPU --kernel REGEX [--capture OPTIONS] [--expect KEY=VALUE...] --mode MODE
                    [--replays N] [--occupy LIBRARY] -- PROGRAM...

Modes:
  harmless   the program's output and exit code under capture are what they are without, and a bundle of that kernel is there
  roundtrip  each of N replays gives, bit by bit, the memory that the captured launch left. A third of them start with the
             bundle's ranges taken as soon as the runtime initialises (what steering is for), a third with the address
             space shifted by a random amount, beside what the system's own randomisation does.
ROCHOUND_MAX_REPEATS bounds N.
"""

import argparse
import json
import os
import pathlib
import random
import shlex
import subprocess
import sys
import tempfile

import captured

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402


class Failed(Exception):
    pass


def run(command, environment=None, seconds=300):
    return subprocess.run(command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, timeout=seconds,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace", check=False)


def capture(options, folder):
    bundle = folder / "bundle"
    done = captured.capture(lambda environment: run(
        [options.rochound, "capture", "--kernel", options.kernel, "-o", str(bundle), "--softgpu", options.gpu,
         *shlex.split(options.capture), "--", *options.program], environment))
    if not bundle.is_dir():
        raise Failed(f"no bundle: exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
    manifest = json.loads((bundle / "manifest.json").read_text())
    for expectation in options.expect:
        key, wanted = expectation.split("=", 1)
        found = manifest
        for step in key.split("."):
            found = found[step] if not isinstance(found, list) else [one[step] for one in found]
        if isinstance(found, list) and wanted not in [str(one) for one in found] or \
                not isinstance(found, list) and str(found) != wanted:
            raise Failed(f"the bundle's {key} is {found}, not {wanted}")
    return bundle, manifest, done


def harmless(options, folder):
    bare = run([options.rochound, "softgpu", "--gpu", options.gpu, "--", *options.program])
    _, manifest, done = capture(options, folder)
    if done.returncode != bare.returncode:
        raise Failed(f"exit code {done.returncode} instead of {bare.returncode}\n{done.stderr[-2000:]}")
    if process.untimed(done.stdout) != process.untimed(bare.stdout):
        raise Failed(f"other output:\n--- bare\n{bare.stdout[-1500:]}\n--- captured\n{done.stdout[-1500:]}")
    print(f"{manifest['kernel']}: {sum(r['taken'] for r in manifest['regions'])} regions taken")


def ranges(manifest):
    return ",".join(f"{region['base']}+{region['size']}" for region in manifest["regions"] if region["taken"])


def roundtrip(options, folder):
    bundle, manifest, _ = capture(options, folder)
    replays = options.replays
    if "ROCHOUND_MAX_REPEATS" in os.environ:
        # Each of the three ways at least once.
        replays = min(replays, max(3, int(os.environ["ROCHOUND_MAX_REPEATS"])))
    command = [options.rochound, "softgpu", "--gpu", options.gpu, "--", options.rochound, "replay", "run", str(bundle), "--json"]
    generator = random.Random(options.kernel)
    for number in range(replays):
        environment = {}
        if number % 3 == 1:
            environment = {"LD_PRELOAD": options.occupy, "OCCUPY_AT_INIT": ranges(manifest)}
        if number % 3 == 2:
            environment = {"LD_PRELOAD": options.occupy, "OCCUPY_SHIFT": str(generator.randrange(1 << 34, 1 << 45) & ~0xfff)}
        done = run(command, environment)
        try:
            answer = json.loads(done.stdout)
        except json.JSONDecodeError:
            answer = {}
        if done.returncode != 0 or answer.get("verdict") != "equal":
            raise Failed(f"replay {number + 1} of {replays} with {environment or 'nothing special'}: exit code {done.returncode}\n"
                         f"{done.stdout[-2500:]}{done.stderr[-1500:]}")
    print(f"{manifest['kernel']}: {replays} replays, each bit-equal")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "kernel"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("--mode", choices=["harmless", "roundtrip"], required=True)
    parser.add_argument("--capture", default="")
    parser.add_argument("--expect", action="append", default=[])
    parser.add_argument("--replays", type=int, default=50)
    parser.add_argument("--occupy")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-capture-") as folder:
        try:
            {"harmless": harmless, "roundtrip": roundtrip}[options.mode](options, pathlib.Path(folder))
        except Failed as failure:
            print(failure)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
