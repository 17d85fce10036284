#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares accesses that probes tell, corrected (--machine), with those of the same program without probes.

usage: machine.py --rochound PATH --gpu GPU PLAIN PROBED
       machine.py --rochound PATH --all GPU:TARGET... --hipcc PATH SOURCE

The software GPU traces the plain program. For every wave of every kernel, the accesses are equal in number, action, memory,
bytes, lanes and addresses; not in their order. Addresses are compared as distances from the beginning of the program's buffer,
since the two runs have it elsewhere; those of constants as distances from the wave's first lane. Kernel arguments and
scalar loads of constants are left out: they are no accesses of the source.
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

import exact

LIMIT = 240  # seconds
SHOWN = 4
BUFFER = re.compile(r"^buffer ([0-9a-f]+) (\d+)$", re.M)


class Buffers:
    """The program's memory, in the order of its kernels: each case has one."""

    def __init__(self, text):
        self.all = [(int(start, 16), int(size)) for start, size in BUFFER.findall(text)]

    def relative(self, addresses):
        for start, size in self.all:
            if all(start <= address < start + size for address in addresses):
                return tuple(address - start for address in addresses)
        return None


def comparable(access, buffers):
    if access.space == "lds":
        return (access.action, access.space, access.bytes, access.mask, tuple(access.addresses))
    relative = buffers.relative(access.addresses)
    if relative is None:
        relative = ("elsewhere", *(address - access.addresses[0] for address in access.addresses))
    return (access.action, access.space, access.bytes, access.mask, relative)


def read_truth(path, buffers):
    """{kernel: {(group, wave): Counter of accesses}}"""
    kernels, names, waves = {}, {}, None
    arguments = {}  # of a dispatch: where its first scalar load is
    for line in path.read_text().splitlines():
        word, *rest = line.split(" ")
        if word == "dispatch":
            names[(rest[0], rest[1])] = rest[-1]
        elif word == "of":
            dispatch = (rest[0], rest[1])
            waves = kernels.setdefault(names[dispatch], {})
        elif word in ("a", "+"):
            if word == "a":
                group, wave, _, instruction, *rest = rest
                where = waves.setdefault((int(group), int(wave)), collections.Counter())
            action, space, *rest = rest
            if space in ("unknown", "scratch"):
                continue
            mask = int(rest[1], 16)
            access = exact.Access(action, space, int(rest[0]), mask, exact.addresses_of(rest[2:], mask), instruction)
            if space == "scalar":
                arguments.setdefault(dispatch, access.addresses[0])
            one = comparable(access, buffers)
            if space == "lds" or one[-1][0] != "elsewhere" or not (
                    space == "scalar" or 0 <= access.addresses[0] - arguments.get(dispatch, 0) < exact.ARGUMENTS):
                where[one] += 1
    return kernels


def read_messages(path, buffers):
    kernels = {}
    for kernel, waves in exact.read_messages(path).items():
        for wave, accesses in waves.items():
            counter = kernels.setdefault(kernel, {}).setdefault(wave, collections.Counter())
            for access in accesses:
                one = comparable(access, buffers)
                if access.space != "scalar" or one[-1][0] != "elsewhere":
                    counter[one] += 1
    return kernels


def run(command):
    environment = dict(os.environ, PROBE_BUFFERS="1")
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False, env=environment)
    if done.returncode != 0:
        sys.exit(f"{command}: exit code {done.returncode}\n{done.stdout}{done.stderr}")
    return done


def compare(rochound, gpu, plain_program, probed_program):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        plain = run([rochound, "softgpu", "--gpu", gpu, "--accesses", str(folder / "truth"),
                     "--accesses-kernel", "^probe_", "--", plain_program])
        truth = read_truth(folder / "truth", Buffers(plain.stdout))
        sums = {}
        for how in ("--machine", "--no-machine"):
            probed = run([rochound, "probe", "--softgpu", gpu, how, "-k", "^probe_", "-l", str(folder / "messages.jsonl"),
                          "--", probed_program])
            sums[how] = read_messages(folder / "messages.jsonl", Buffers(probed.stdout))
            print(*(line for line in probed.stderr.splitlines() if "accesses" in line), sep="\n")
    total = lambda waves: sum(sum(wave.values()) for wave in waves.values())
    failed = equal = corrected = 0
    for kernel in sorted(set(truth) | set(sums["--machine"])):
        ours, theirs = sums["--machine"].get(kernel, {}), truth.get(kernel, {})
        differing = [wave for wave in sorted(set(ours) | set(theirs)) if ours.get(wave, {}) != theirs.get(wave, {})]
        raw = total(sums["--no-machine"].get(kernel, {}))
        print(f"{kernel}: {total(theirs)} accesses without probes; told {raw}, corrected {total(ours)}"
              f"{f'; {len(differing)} of {len(theirs)} waves differ' if differing else ''}")
        for wave in differing[:1]:
            for name, one, other in (("told only", ours, theirs), ("done only", theirs, ours)):
                for access, count in (one.get(wave, collections.Counter()) - other.get(wave, collections.Counter())).most_common(SHOWN):
                    print(f"  {name}, {count} times: {access}"[:200])
        equal += not differing
        corrected += not differing and raw != total(theirs)
        failed += bool(differing)
    print(f"{equal} of {len(truth)} kernels are equal, {corrected} of them since they were corrected")
    return 1 if failed or not truth or not corrected else 0


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu")
    parser.add_argument("--all", action="append")
    parser.add_argument("--hipcc")
    parser.add_argument("programs", nargs="+")
    options = parser.parse_args(arguments)
    if options.all:
        (options.source,) = options.programs
        return exact.everywhere(options, lambda gpu, programs: compare(options.rochound, gpu, *programs), also_plain=True)
    return compare(options.rochound, options.gpu, *options.programs)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
