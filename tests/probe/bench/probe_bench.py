#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What probes cost: instructions, which the software GPU counts exactly; messages per second; memory.

usage: bench_probe [--json] [--messages N]

The programs of the label probe-exact are compiled with probes and without, which takes a minute. `off` is the factor of instructions
without messages: nobody listens; `-k` leaves the kernel out; `--filter-x` leaves all workgroups out.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import time

BIN = pathlib.Path(__file__).resolve().parent
ROCHOUND = BIN / "rochound"
GPUS = {"mi300x": "gfx942", "rx6800xt": "gfx1030"}
CASES = ("matmul", "chase", "lds", "thousand", "grid")
SUMMARY = re.compile(r"(\d+) accesses by (\d+) waves in \d+ dispatches(?:, (\d+) arrivals at barriers)?")


def run(command):
    done = subprocess.run([str(part) for part in command], check=False, text=True, capture_output=True)
    # Where no message comes, which is what filters are for, probe ends with 125.
    if done.returncode not in (0, 125):
        sys.exit(f"bench_probe: {' '.join(map(str, command))}: {done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def compile_programs(folder):
    compiler = ["hipcc", "-std=c++17", "-O3", *(f"--offload-arch={target}" for target in GPUS.values()),
                BIN / "bench_probe_programs.hip", "-o"]
    run(compiler + [folder / "plain"])
    run([ROCHOUND, "probe", "build", "--"] + compiler + [folder / "probed"])


def instructions(folder, gpu, command):
    """Of the case's kernels, and what was printed."""
    counters = folder / "counters.jsonl"
    counters.unlink(missing_ok=True)
    text = run([ROCHOUND, "softgpu", "--gpu", gpu, "--counters", counters, "--"] + command)
    dispatches = map(json.loads, counters.read_text().splitlines())
    return sum(one["instructions"]["total"] for one in dispatches if one["kernel"].startswith("probe_")), text


def cost(folder, gpu, case):
    probe = [ROCHOUND, "probe", "-l", folder / "messages.jsonl"]
    plain, _ = instructions(folder, gpu, [folder / "plain", case])
    silent = {"nobody": [], "kernel": probe + ["-k", "another", "--"], "workgroups": probe + ["--filter-x", "1000000", "--"]}
    off = {name: instructions(folder, gpu, before + [folder / "probed", case])[0] for name, before in silent.items()}
    everything, text = instructions(folder, gpu, probe + ["--", folder / "probed", case])
    accesses, waves, barriers = (int(number or 0) for number in SUMMARY.search(text).groups())
    messages = accesses + barriers
    return {"instructions": plain, "off": {name: count / plain for name, count in off.items()}, "with_messages": everything,
            "messages": messages, "waves": waves, "instructions_per_message": (everything - off["nobody"]) / messages}


def rate(folder, gpu, count):
    """Of messages with one address, through the ring into a file, and the memory of the process that sends them."""
    kept = folder / "kept"
    script = ("import resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True);"
              "print('KiB', resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)")
    measured = {}
    for name, before in {"plain": [], "probed": [ROCHOUND, "probe", "-a", "memory", "--keep", kept, "-l", folder / "memory", "--"]}.items():
        start = time.monotonic()
        text = run([ROCHOUND, "softgpu", "--gpu", gpu, "--"] + before +
                   [sys.executable, "-c", script, folder / "probed", "many", count])
        measured[name] = (time.monotonic() - start, int(re.search(r"KiB (\d+)", text)[1]))
    messages = int(SUMMARY.search(text)[1])
    if messages != count:
        sys.exit(f"bench_probe: {messages} of {count} messages arrived")
    return {"messages": messages, "messages_per_second": messages / measured["probed"][0],
            "memory_more_bytes": (measured["probed"][1] - measured["plain"][1]) * 1024,
            "stream_bytes": sum(file.stat().st_size for file in kept.glob("*.probe"))}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--messages", type=int, default=1_000_000)
    options = parser.parse_args()
    result = {}
    with tempfile.TemporaryDirectory(prefix="rochound-bench-") as scratch:
        folder = pathlib.Path(scratch)
        os.environ["PATH"] += ":/opt/rocm/bin"
        compile_programs(folder)
        for gpu in GPUS:
            result[gpu] = {"cost": {case: cost(folder, gpu, case) for case in CASES}}
        result["mi300x"]["rate"] = rate(folder, "mi300x", options.messages)
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    for gpu, figures in result.items():
        for case, one in figures["cost"].items():
            off = ", ".join(f"{name} {factor:.2f}" for name, factor in one["off"].items())
            print(f"{gpu} {case}: {one['instructions']} instructions; without messages x {off} (goal 1.3); "
                  f"{one['messages']} messages of {one['waves']} waves, {one['instructions_per_message']:.1f} instructions each (goal 40)")
    print(f"messages through the ring: {result['mi300x']['rate']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
