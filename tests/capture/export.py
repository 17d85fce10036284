#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures one launch of a program, exports it, builds the project with hipcc and runs it: it has to print what
`rochound replay run` says.

usage: export.py --rochound PATH --hipcc PATH --gpu GPU --kernel REGEX [--capture OPTIONS] [--cmake PATH] -- PROGRAM...

It must refuse another GPU. Then one byte of the expected memory is changed, and the project says which. With --cmake the project is built by its
CMakeLists.txt, too, and once more as if the captured launch had not ended.
"""

import argparse
import json
import os
import pathlib
import shlex
import struct
import subprocess
import sys
import tempfile

import captured

RUNS = 5  # each with other addresses of its libraries


class Failed(Exception):
    pass


# Nothing of ours may be needed where the project is built and run, except for the GPU.
ENVIRONMENT = {name: value for name, value in os.environ.items()
               if not name.startswith("ROCHOUND_") or name == "ROCHOUND_SOFTGPU_FAULTS"}


def start(command, folder=None, seconds=300, environment=None):
    return subprocess.run([str(word) for word in command], cwd=folder, env=environment or ENVIRONMENT, stdin=subprocess.DEVNULL,
                          timeout=seconds, capture_output=True, text=True, errors="replace", check=False)


def output(command, done, expect=0):
    if done.returncode != expect:
        raise Failed(f"{' '.join(map(str, command))}: exit code {done.returncode}, not {expect}\n"
                     f"{done.stdout[-2000:]}{done.stderr[-3000:]}")
    return done.stdout


def run(command, folder=None, expect=0, seconds=300):
    return output(command, start(command, folder, seconds), expect)


def change_a_byte(path):
    """The last byte of the last piece of memory; returns its address."""
    data = bytearray(path.read_bytes())
    place, address = 0, None
    while place < len(data):
        base, size = struct.unpack_from("<QQ", data, place)
        place += 16 + size
        address = base + size - 1
    data[-1] ^= 0xff
    path.write_bytes(data)
    return address


def export(options, folder):
    bundle = folder / "one.bundle"
    command = [options.rochound, "capture", "--kernel", options.kernel, "-o", bundle, "--softgpu", options.gpu,
               *shlex.split(options.capture), "--", *options.program]
    output(command, captured.capture(lambda environment: start(command, environment=environment), ENVIRONMENT))
    manifest = json.loads((bundle / "manifest.json").read_text())
    on_gpu = [options.rochound, "softgpu", "--gpu", options.gpu, "--"]
    answer = json.loads(run([*on_gpu, options.rochound, "replay", "run", bundle, "--json"]))
    if answer["verdict"] != "equal":
        raise Failed(f"rochound replay run: {answer}")

    project = folder / "project"
    run([options.rochound, "replay", "export", bundle, "-o", project])
    for path in bundle.iterdir():  # it is alone
        path.unlink()
    warnings = ["-Wall", "-Wextra", "-Werror"]
    run([options.hipcc, "-std=c++17", *warnings, "main.cpp", "-o", "replay", "-lhsa-runtime64"], project)
    for _ in range(RUNS):
        out = run([*on_gpu, "./replay"], project)
        if "\nPASS: " not in out or out.splitlines()[0] != answer["demangled"]:
            raise Failed(f"the project says:\n{out}")
    if options.cmake:
        run([options.cmake, "-G", "Ninja", "-B", "build"], project)
        run([options.cmake, "--build", "build"], project)
        if "\nPASS: " not in run([*on_gpu, "build/replay", "."], project):
            raise Failed("built by CMake it does not pass")
        header = project / "launch.h"
        header.write_text(header.read_text().replace("kUnfinished = false", "kUnfinished = true"))
        run([options.cmake, "--build", "build"], project)
        out = run([*on_gpu, "build/replay", "."], project, expect=1)
        if "\nFAIL: this launch ended" not in out:
            raise Failed(f"it compares with a launch that did not end:\n{out}")

    other = "mi300x" if options.gpu.startswith("rx") else "rx6800xt"
    run([options.rochound, "softgpu", "--gpu", other, "--", "./replay"], project, expect=2)  # refused, not wrong

    expected = project / "expected.bin"
    if expected.stat().st_size == 0:
        raise Failed("the launch changed nothing: choose another")
    address = change_a_byte(expected)
    out = run([*on_gpu, "./replay"], project, expect=1)
    named = [line for line in out.splitlines() if line.startswith("  0x")]
    if "\nFAIL: 1 bytes differ" not in out or len(named) != 1 or not 0 <= address - int(named[0].split(",")[0].split(":")[0], 16) < 8:
        raise Failed(f"a changed byte at {address:#x} is reported so:\n{out}")
    print(f"{manifest['kernel']}: {RUNS} times the captured result; {named[0].strip()}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--hipcc", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("--kernel", required=True)
    parser.add_argument("--capture", default="")
    parser.add_argument("--cmake", default="")
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    try:
        with tempfile.TemporaryDirectory(prefix="rochound-export-") as folder:
            export(options, pathlib.Path(folder))
    except (Failed, subprocess.TimeoutExpired) as problem:
        print(problem)
        sys.exit(1)


if __name__ == "__main__":
    main()
