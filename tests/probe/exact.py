#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what probes tell about a program's accesses with what the software GPU saw, wave by wave and lane by lane.

usage: exact.py --rochound PATH --gpu GPU PROGRAM [CASE...]
       exact.py --rochound PATH --all GPU:TARGET... --hipcc PATH SOURCE

Both come from one run, so addresses can be compared. The messages' way into the ring is left out, and so are
the kernels' arguments, stack and scalar loads that have no message. A message and the
machine's access agree in action, place, size, lanes and addresses. Where the machine needs several instructions for one access
(32 bytes, a copy), these must make it up without a gap. A load of one address by all lanes may be a scalar one, and atomics of all
lanes on one address may be done by one of them: the compiler does both behind the probes' back.
"""

import argparse
import collections
import json
import os
import pathlib
import struct
import subprocess
import sys
import tempfile

LIMIT = 240  # seconds
SHOWN = 5
ARGUMENTS = 512  # bytes that the arguments of the kernels here have at most

Access = collections.namedtuple("Access", "action space bytes mask addresses what")


def addresses_of(words, mask):
    count = max(bin(mask).count("1"), 1)
    if len(words) == 1 and count > 1:
        for sign in "+-":
            if sign in words[0]:
                first, step = (int(word, 16) for word in words[0].split(sign))
                step = step if sign == "+" else -step
                return [first + i * step for i in range(count)]
    return [int(word, 16) for word in words]


def read_truth(path, own):
    """{kernel: {(group, wave): ([vector accesses], [(start, end) of scalar loads])}}"""
    kernels = {}
    names = {}
    waves = None
    for line in path.read_text().splitlines():
        word, *rest = line.split(" ")
        if word == "dispatch":
            names[(rest[0], rest[1])] = rest[-1]
        elif word == "of":
            waves = kernels.setdefault(names[(rest[0], rest[1])], {})
        elif word in ("a", "+"):
            if word == "a":
                group, wave, pc, instruction, *rest = rest
                where = waves.setdefault((int(group), int(wave)), ([], []))
            action, space, *rest = rest
            if space == "unknown":
                where[0].append(Access(action, space, 0, 0, [], instruction))
                continue
            size, mask = int(rest[0]), int(rest[1], 16)
            places = addresses_of(rest[2:], mask)
            if space == "scalar":
                where[1].append((places[0], places[0] + size))
            elif space != "scratch" and not (space == "global" and any(start <= places[0] < end for start, end in own)):
                where[0].append(Access(action, space, size, mask, places, f"{instruction} at {pc}"))
    return kernels


def read_messages(path):
    kernels = {}
    with path.open(encoding="utf-8") as lines:
        for line in lines:
            message = json.loads(line)
            if message["space"] == "scratch":
                continue
            waves = kernels.setdefault(message["kernel"], {})
            at = message["at"][0] if message["at"] else {"file": "?", "line": 0}
            waves.setdefault((message["group_number"], message["wave"]), []).append(
                Access(message["action"], message["space"], message["bytes"], int(message["mask"], 16),
                       [int(address, 16) for address in message["addresses"]], f"{at['file'].split('/')[-1]}:{at['line']}"))
    return kernels


def read_own(folder):
    """What is no memory of the program's, as (start, end): the ring, and the kernels' arguments."""
    (file,) = folder.glob("*.probe")
    data = file.read_bytes()
    own = set()
    at = 0
    while at < len(data):
        (header,) = struct.unpack_from("<Q", data, at)
        kind, words = header >> 40 & 0xff, header >> 32 & 0xff
        if kind == 17:
            start, size = struct.unpack_from("<2Q", data, at + 24)
            own.add((start, start + size))
        elif kind == 1:
            (start,) = struct.unpack_from("<Q", data, at + 14 * 8)
            own.add((start, start + ARGUMENTS))
        at += words * 8
    return own


def made_up(message, machine, first):
    """How many of the machine's accesses, from the first on, make up the message; 0: they do not."""
    covered = set()
    for count, access in enumerate(machine[first:first + 16], 1):
        if (access.action, access.space, access.mask) != (message.action, message.space, message.mask):
            return 0
        offsets = {theirs - ours for theirs, ours in zip(access.addresses, message.addresses)}
        if len(offsets) != 1:
            return 0
        offset = offsets.pop()
        part = set(range(offset, offset + access.bytes))
        if offset < 0 or offset + access.bytes > message.bytes or covered & part:
            return 0
        covered |= part
        if len(covered) == message.bytes:
            return count
    return 0


def joined(message, machine, at):
    """1 if one lane does the atomic of all."""
    if at == len(machine) or message.action != "atomic" or len(set(message.addresses)) != 1:
        return 0
    access = machine[at]
    same = (access.action, access.space, access.bytes) == (message.action, message.space, message.bytes)
    return int(same and access.addresses == message.addresses[:1] and access.mask & message.mask == access.mask)


def is_scalar(message, scalars):
    at = message.addresses[0]
    return (message.action == "load" and len(set(message.addresses)) == 1 and
            any(start <= at and at + message.bytes <= end for start, end in scalars))


def compare_wave(messages, machine, scalars):
    """The first difference, or None; and how many messages were scalar loads."""
    at = scalar = 0
    for number, message in enumerate(messages):
        used = made_up(message, machine, at) or joined(message, machine, at)
        if used:
            at += used
        elif is_scalar(message, scalars):
            scalar += 1
        else:
            theirs = machine[at] if at < len(machine) else "nothing"
            return f"message {number} of {len(messages)}: {message}\n  and the machine: {theirs}", scalar
    if at < len(machine):
        return f"no message for {len(machine) - at} accesses, the first of them {machine[at]}", scalar
    return None, scalar


def compare(kernel, messages, truth):
    problems = []
    scalar = 0
    for wave in sorted(set(messages) | set(truth)):
        vectors, scalars = truth.get(wave, ([], []))
        problem, found = compare_wave(messages.get(wave, []), vectors, scalars)
        scalar += found
        if problem:
            problems.append(f"{kernel}, workgroup {wave[0]}, wave {wave[1]}: {problem}")
    return problems, scalar


def everywhere(options, compare_on, also_plain=False):
    """Builds the programs for all targets at all levels, with ROCHOUND_FULL in the environment, and compares each.

    compare_on(gpu, programs): 0 if equal; programs: the one with probes, and, if asked for, the one without before it."""
    if not os.environ.get("ROCHOUND_FULL"):
        print("SKIP all targets at all levels: takes minutes; ./dev test probe-exact --full")
        return 77
    failed = []
    gpus = [pair.split(":") for pair in options.all]
    with tempfile.TemporaryDirectory() as scratch:
        for level in ("O0", "O1", "O2", "O3"):
            # After the probes are in, the compiler may put the stack into LDS: accesses that they do not see.
            build = [options.hipcc, "-std=c++17", f"-{level}", "-mllvm", "-disable-promote-alloca-to-lds",
                     *(f"--offload-arch={target}" for _, target in gpus), options.source, "-o"]
            programs = [f"{scratch}/plain_{level}", f"{scratch}/probed_{level}"] if also_plain else [f"{scratch}/probed_{level}"]
            if also_plain:
                subprocess.run([*build, programs[0]], check=True)
            subprocess.run([options.rochound, "probe", "build", "--", *build, programs[-1]], check=True)
            for gpu, _ in gpus:
                print(f"-{level} on {gpu}", flush=True)
                if compare_on(gpu, programs) != 0:
                    failed.append(f"-{level} on {gpu}")
    print(f"differences: {', '.join(failed) or 'none'}")
    return 1 if failed else 0


def main(arguments):
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu")
    parser.add_argument("--all", action="append")
    parser.add_argument("--hipcc")
    parser.add_argument("program")
    parser.add_argument("cases", nargs="*")
    options = parser.parse_args(arguments)
    if options.all:
        options.source = options.program
        return everywhere(options, lambda gpu, programs: run(options.rochound, gpu, programs[0], []))
    return run(options.rochound, options.gpu, options.program, options.cases)


def run(rochound, gpu, program, cases):
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        command = [rochound, "softgpu", "--gpu", gpu, "--accesses", str(folder / "truth"),
                   "--accesses-kernel", "^probe_", "--", rochound, "probe", "--keep", str(folder / "kept"),
                   "-l", str(folder / "messages.jsonl"), "--", program, *cases]
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT, check=False)
        if done.returncode != 0:
            print(f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
            return 1
        truth = read_truth(folder / "truth", read_own(folder / "kept"))
        messages = read_messages(folder / "messages.jsonl")
    failed = 0
    for kernel in sorted(set(truth) | set(messages)):
        ours, theirs = messages.get(kernel, {}), truth.get(kernel, {})
        problems, scalar = compare(kernel, ours, theirs)
        total = sum(len(wave) for wave in ours.values())
        print(f"{kernel}: {total} accesses of {len(ours)} waves, {scalar} of them scalar"
              f"{'' if not problems else f', {len(problems)} waves differ'}")
        failed += bool(problems) or total == 0
        for problem in problems[:SHOWN]:
            print(problem)
    if not truth:
        print("the software GPU saw no kernel")
    return 1 if failed or not truth else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
