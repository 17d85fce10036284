#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures a launch that fails on the GPU, and replays a launch that did not end.

usage: unfinished.py --rochound PATH --gpu GPU --failing PROGRAM --ending PROGRAM

The failing program ends as without us and as soon, and the bundle fails again. A bundle that says its launch did not end, though it
does, is compared with nothing.
"""

import argparse
import ctypes
import json
import pathlib
import subprocess
import sys
import tempfile
import time

PATIENCE_S = 30  # a capture that waits for a launch in vain waits for 60
FAULT, NOT_VERIFIED, REFUSED = 4, 9, 8


def run(*command):
    begin = time.monotonic()
    done = subprocess.run([str(one) for one in command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, errors="replace", timeout=300, check=False)
    done.seconds = time.monotonic() - begin
    return done


def replayed(options, action, bundle, *builds):
    done = run(options.rochound, "replay", action, bundle, *builds, "--json", "--softgpu", options.gpu)
    return done.returncode, json.loads(done.stdout)


def xxh3(data):
    library = ctypes.CDLL("libxxhash.so.0")
    library.XXH3_64bits.argtypes, library.XXH3_64bits.restype = (ctypes.c_char_p, ctypes.c_size_t), ctypes.c_uint64
    return f"{library.XXH3_64bits(data, len(data)):016x}"


def say_unfinished(bundle):
    """As docs/formats/capture-bundle.md describes it."""
    manifest = json.loads((bundle / "manifest.json").read_text())
    manifest["launch"]["unfinished"] = True
    text = json.dumps(manifest).encode()
    (bundle / "manifest.json").write_bytes(text)
    lines = (bundle / "checksums").read_text().splitlines()[:-1]
    lines[1] = f"{xxh3(text)} {len(text)} manifest.json"
    begin = "".join(line + "\n" for line in lines)
    (bundle / "checksums").write_text(f"{begin}{xxh3(begin.encode())} {len(begin)} checksums\n")


def check_failing(options, bundle):
    bare = run(options.rochound, "softgpu", "--gpu", options.gpu, "--", options.failing, "read_past")
    done = run(options.rochound, "capture", "--kernel", "ReadAt", "--softgpu", options.gpu, "-o", bundle, "--", options.failing,
               "read_past")
    if done.seconds > PATIENCE_S:
        return f"the capture took {done.seconds:.0f} s"
    if (done.returncode, done.stdout) != (bare.returncode, bare.stdout):
        return f"ended with {done.returncode} instead of {bare.returncode}:\n{done.stdout}{done.stderr}"
    if "the GPU failed while the launch ran" not in done.stderr:
        return f"nothing says that the launch failed:\n{done.stderr}"
    code, answer = replayed(options, "run", bundle)
    if code != FAULT or answer["verdict"] != "fault":
        return f"the bundle does not fail again: {code}, {answer}"
    return None


def check_ending(options, bundle):
    captured = run(options.rochound, "capture", "--raw", "--kernel", "VectorAdd", "--softgpu", options.gpu, "-o", bundle, "--",
                   options.ending)
    if captured.returncode != 0:
        return f"no bundle: {captured.stderr}"
    code, answer = replayed(options, "run", bundle)
    if code != 0:
        return f"the bundle is not equal: {code}, {answer}"
    say_unfinished(bundle)
    for arguments, expected in ((["run", bundle], NOT_VERIFIED), (["compare", bundle, bundle / "code_object.elf"], REFUSED)):
        code, answer = replayed(options, *arguments)
        if code != expected or "the captured launch failed, or did not end" not in answer.get("message", ""):
            return f"replay {arguments[0]}: {code}, {answer}"
    return None


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "failing", "ending"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-unfinished-") as folder:
        for check in (check_failing, check_ending):
            problem = check(options, pathlib.Path(folder) / check.__name__)
            if problem:
                print(f"{check.__name__}: {problem}")
                return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
