#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A kernel as omniprobe instruments it is swapped in: the program's results are right, and every access is told.

usage: omniprobe.py --rochound PATH --gpu GPU --object FILE PROGRAM
"""

import argparse
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

LIMIT = 240  # seconds
GROUPS, WORKGROUP, ROUNDS = 3, 96, 100
WAVE = {"mi300x": 64, "rx6800xt": 32}


def main():
    parser = argparse.ArgumentParser()
    for name in ("--rochound", "--gpu", "--object"):
        parser.add_argument(name, required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        cache, out = folder / "cache", folder / "out.jsonl"
        cache.mkdir(mode=0o700)
        shutil.copy(options.object, cache / "scale.hsaco")
        os.chmod(cache / "scale.hsaco", 0o600)
        done = subprocess.run([options.rochound, "probe", "--softgpu", options.gpu, "-c", str(cache), "-k", "^scale$", "-l", str(out),
                               "--", options.program], capture_output=True, text=True, timeout=LIMIT, check=False)
        text = done.stdout + done.stderr
        place = re.search(r"right at ([0-9a-f]+)", text)
        if done.returncode != 0 or not place:
            print(f"exit code {done.returncode}\n{text}")
            return 1
        base = int(place[1], 16)
        messages = [json.loads(line) for line in out.read_text().splitlines()]
        # Without somebody who listens it is left alone, and that is told.
        trace = folder / "trace.rpd"
        alone = subprocess.run([options.rochound, "run", "--softgpu", options.gpu, "--kernel-cache", str(cache), "-o", str(trace), "--",
                                options.program], capture_output=True, text=True, timeout=LIMIT, check=False)
        swaps = subprocess.run([options.rochound, "explain", "swaps", str(trace)], capture_output=True, text=True, timeout=LIMIT, check=False)
    if alone.returncode != 0 or "right at" not in alone.stdout or "nobody listens" not in swaps.stdout:
        print(f"without probe: {alone.returncode}\n{alone.stdout}{alone.stderr}\n{swaps.stdout}{swaps.stderr}")
        return 1
    wave = WAVE[options.gpu]
    told = {}
    for message in messages:
        key = (message["group"][0], message["wave"])
        told.setdefault(key, []).append((message["action"], message["bytes"], message["at"][0]["line"], tuple(message["addresses"])))
    wanted = {}
    for group in range(GROUPS):
        for number in range(-(-WORKGROUP // wave)):
            lanes = range(number * wave, min((number + 1) * wave, WORKGROUP))
            places = tuple(f"{base + 4 * (group * WORKGROUP + lane):x}" for lane in lanes)
            wanted[group, number] = [("load", 4, 7, places), ("store", 4, 8, places)] * ROUNDS
    if told != wanted:
        print(f"{len(messages)} messages of waves {sorted(told)}, and {sorted(wanted)} were to be told")
        for key in sorted(wanted):
            print(key, len(told.get(key, [])), len(wanted[key]), told.get(key, [])[:1])
        print(text[-2000:])
        return 1
    print(f"{len(messages)} messages of {len(told)} waves, as they were")
    return 0


if __name__ == "__main__":
    sys.exit(main())
