#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Captures a launch of a real program on the software GPU and checks what rochound show says about it.

usage: show.py --rochound PATH --gpu GPU --kernel NAME -- PROGRAM...
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

# What is known about the launches: per kernel, its explicit arguments as (type, what it is).
POINTER, VALUE, STRUCT = "pointer", "value", "struct with pointers"
KERNELS = {
    "VectorAdd": [("float const*", POINTER), ("float const*", POINTER), ("float*", POINTER), ("int", VALUE)],
    "ReverseInPool": [("int const*", POINTER), ("int*", POINTER), ("int", VALUE)],
    "ApplyView": [("View", STRUCT), ("int", VALUE)],
}


class Failed(Exception):
    pass


def expect(condition, what):
    if not condition:
        raise Failed(what)


def rochound(options, *arguments):
    done = subprocess.run([options.rochound, *map(str, arguments)], stdin=subprocess.DEVNULL, timeout=250, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace")
    expect(done.returncode == 0, f"rochound {arguments}: exit code {done.returncode}\n{done.stdout[-1500:]}{done.stderr[-1500:]}")
    return done.stdout


def check(options, folder):
    bundle = folder / "launch.bundle"
    # Not the first: dynamic_lds begins with nothing in its pool.
    nth = 2 if options.kernel == "ReverseInPool" else 1
    rochound(options, "capture", "--kernel", f"^(_Z[0-9]+)?{options.kernel}", "--nth", nth, "-o", bundle, "--softgpu",
             options.gpu, "--", *options.program)
    manifest = json.loads((bundle / "manifest.json").read_text())
    shown = json.loads(rochound(options, "show", bundle, "--json"))

    expect(shown["symbol"] == manifest["kernel"], f"symbol {shown['symbol']}")
    expect(shown["name"].startswith(options.kernel + "("), f"name {shown['name']}")
    expect(shown["launch"]["grid"] == manifest["launch"]["grid"], "grid")
    regions = shown["memory"]["regions"]
    expect([region["base"] for region in regions] == [region["base"] for region in manifest["regions"]], "regions")
    arguments = [argument for argument in shown["arguments"] if not argument["hidden"]]
    expect(len(arguments) == len(KERNELS[options.kernel]), f"{len(arguments)} arguments")
    written = 0
    for argument, (kind, what) in zip(arguments, KERNELS[options.kernel]):
        expect(argument["type"] == kind, f"type {argument['type']} instead of {kind}")
        if what == VALUE:
            expect(int(argument["value"]) > 0, f"value {argument['value']}")
            continue
        pointers = [argument] if what == POINTER else argument["pointers"]
        expect(len(pointers) >= (1 if what == POINTER else 2), f"no pointers in {argument}")
        for pointer in pointers:
            expect(regions[pointer["region"]]["taken"], f"points into region {pointer['region']}, which was not taken")
            written += regions[pointer["region"]]["changed_bytes"]
    expect(written > 0, "no region that an argument points to was changed")

    occupancy = shown["kernel"]["occupancy"]
    expect(1 <= occupancy["waves_per_simd"] <= occupancy["slots_per_simd"], f"occupancy {occupancy}")
    expect((occupancy["unit"] == "WGP") == options.gpu.startswith("rx"), f"unit {occupancy['unit']}")
    if options.kernel == "ReverseInPool":
        expect(shown["launch"]["group_bytes"] > shown["kernel"]["lds_bytes"], "no dynamic LDS")

    text = rochound(options, "show", bundle, "--all", "--disassembly")
    for part in (shown["name"], manifest["kernel"], "Arguments", "Memory (reachable)", "occupancy", "s_endpgm"):
        expect(part in text, f"'{part}' is not in what is shown:\n{text[:3000]}")

    # The program itself has the same kernel.
    objects = json.loads(rochound(options, "show", options.program[0], "--kernel", options.kernel + "(", "--json"))
    kernels = [kernel for one in objects["code_objects"] if one["target"] == shown["gpu"]["name"] for kernel in one["kernels"]]
    expect([kernel["symbol"] for kernel in kernels] == [manifest["kernel"]], f"the program's kernels: {kernels}")
    expect(kernels[0]["vgprs"] == shown["kernel"]["vgprs"], "other registers in the program")
    check_size(options, shown["gpu"]["name"])
    print(f"{shown['name']}: {len(arguments)} arguments, {occupancy['waves_per_simd']} waves per SIMD")


def check_size(options, target):
    """A launch that needs 60 KiB of LDS and the few bytes that a kernel has itself: as many workgroups as have room, and the
    waves of a workgroup as large as told."""
    dynamic = 60 << 10
    def occupancy(workgroup):
        objects = json.loads(rochound(options, "show", options.program[0], "--kernel", options.kernel + "(", "--target", target, "--json",
                                      "--workgroup", workgroup, "--dynamic-lds", dynamic))
        expect([one["target"] for one in objects["code_objects"]] == [target], "--target shows others, too")
        kernel, = objects["code_objects"][0]["kernels"]
        return kernel["occupancy"]
    for workgroup in (256, 512, 1024):
        found = occupancy(workgroup)
        lds, wave, simds = (128 << 10, 32, 4) if found["unit"] == "WGP" else (64 << 10, 64, 4)
        waves = lds // dynamic * workgroup // wave // simds
        expect(found["waves_per_simd"] == waves, f"workgroups of {workgroup} with 60 KiB of LDS: {waves} waves are possible, not {found}")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "gpu", "kernel"):
        parser.add_argument("--" + name, required=True)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-show-") as folder:
        try:
            check(options, pathlib.Path(folder))
        except Failed as failure:
            print(failure)
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
