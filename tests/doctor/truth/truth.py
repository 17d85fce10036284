#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Compares what the doctor says about planted faults with the truth.

usage: truth.py --rochound PATH --program PATH [--gpu GPU...] [--case NAME...] [--runs N] [--full] [--list]

Each case is a run of the program planted.hip on the software GPU. The truth is the table below, and it is compared with the line that the
software GPU itself prints about the failed instruction. For every run:
  - the guilty kernel is first among the suspects, on the GPU that failed;
  - it is named without a doubt where the table says so ("sure"), and no innocent ever is;
  - cause and argument are right, and told without a doubt: the evidence allows that for every planted fault;
  - nothing is said about programs that fail by themselves.
Without --full each case runs once, on one of the GPUs in turn; with it (or ROCHOUND_TRUTH_FULL=1), 20 times on each.
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
import time

GPUS = ["rx6800xt", "mi300x", "rx7900xtx"]
NOBODY = None  # nothing is to be reported


def guilty(kernel, cause, argument=-1, reached=-1, sure=True, gpus=1, **more):
    return dict(kernel=kernel, cause=cause, argument=argument, reached=reached, sure=sure, gpus=gpus, **more)


TRUTH = {
    # Several streams.
    "streams_shared": guilty("GuiltyAt", "out_of_bounds", 0),
    "streams_far": guilty("GuiltyFar", "out_of_bounds", 0),
    "streams_neighbour": guilty("GuiltyPointers", "out_of_bounds", reached=0),
    "streams_optional": guilty("GuiltyField", "null_pointer", reached=0),
    "streams_other_buffer": guilty("GuiltyAt", "out_of_bounds", 0),
    "streams_freed": guilty("GuiltyCopy", "use_after_free", 1),
    "streams_same_kernel": guilty("GuiltyAt", "out_of_bounds", 0, grid=128),
    "streams_indices": guilty("GuiltyIndex", "out_of_bounds", 1),
    "streams_read": guilty("GuiltyRead", "out_of_bounds", 0),
    "streams_six": guilty("GuiltyFill", "null_pointer", 0),
    # One stream, several launches.
    "queued_null": guilty("GuiltyField", "null_pointer", reached=0),
    "queued_past": guilty("GuiltyField", "out_of_bounds", reached=0),
    "queued_many": guilty("GuiltyAt", "out_of_bounds", 0),
    "queued_freed": guilty("GuiltyFar", "out_of_bounds", 0),
    "graph": guilty("GuiltyAt", "out_of_bounds", 0),
    "graph_beside": guilty("GuiltyAt", "out_of_bounds", 0),
    # Pointers in memory.
    "field_freed": guilty("GuiltyField", "use_after_free", reached=0),
    "field_host": guilty("GuiltyField", "host_memory", reached=0),
    "field_garbage": guilty("GuiltyField", "bad_pointer", reached=0),
    "field_null": guilty("GuiltyField", "null_pointer", reached=0),
    "field_optional": guilty("GuiltyFieldOptional", "null_pointer", reached=0),
    "nested_freed": guilty("GuiltyNested", "use_after_free", reached=1),
    "nested_null": guilty("GuiltyNested", "null_pointer", reached=1),
    "list_garbage": guilty("GuiltyList", "bad_pointer", reached=0),
    "neighbour_freed": guilty("GuiltyPointers", "use_after_free", reached=0),
    "by_value": guilty("GuiltyByValue", "out_of_bounds", 0),
    "beside_stale": guilty("GuiltyBesideStale", "out_of_bounds", 1),
    "index_past": guilty("GuiltyIndex", "out_of_bounds", 1),
    "index_negative": guilty("GuiltyIndex", "out_of_bounds", 1),
    "global_garbage": guilty("GuiltyGlobal", "bad_pointer"),
    "global_null": guilty("GuiltyGlobalNumber", "null_pointer"),
    # Memory of all kinds.
    "null_argument": guilty("GuiltyFill", "null_pointer", 0),
    "freed": guilty("GuiltyFill", "use_after_free", 0),
    "freed_and_reused": guilty("GuiltyCopy", "use_after_free", 1),
    "freed_async": guilty("GuiltyFill", "use_after_free", 0),
    "freed_pinned": guilty("GuiltyFill", "use_after_free", 0),
    "unmapped": guilty("GuiltyFill", "host_memory", 0),
    "host_memory": guilty("GuiltyFill", "host_memory", 0),
    "host_stack": guilty("GuiltyFill", "host_memory", 0),
    "host_file": guilty("GuiltyFill", "host_memory", 0),
    "read_only": guilty("GuiltyFill", "no_access", 0),
    "one_past_end": guilty("GuiltyFill", "out_of_bounds", 0),
    "off_by_one": guilty("GuiltyOffByOne", "out_of_bounds", 0),
    "truncated": guilty("GuiltyTruncated", "bad_pointer", 0),
    "callee": guilty("GuiltyCallee", "out_of_bounds", 0),
    "debug_build": guilty("GuiltyDebugBuild", "out_of_bounds", 0),
    # Several GPUs and processes.
    "second_gpu": guilty("GuiltyAt", "out_of_bounds", 0, gpus=2, agent=1),
    "peer_no_access": guilty("GuiltyCopy", "no_access", 0, gpus=2, agent=1),
    "child": guilty("GuiltyAt", "out_of_bounds", 0),
    # Other ways to fail.
    "lds": guilty("GuiltyLds", "aperture"),
    "misaligned": guilty("GuiltyMisaligned", "misaligned", 0),
    "lds_beside": guilty("GuiltyLds", "aperture"),
    "recursion": guilty("GuiltyRecursion", "aperture"),
    "illegal": guilty("GuiltyIllegal", "illegal_instruction"),
    "trap": guilty("GuiltyTrap", "trap"),
    "abort": guilty("GuiltyAbort", "trap"),
    "call_nowhere": guilty("GuiltyCall", "bad_call", 1),
    "call_data": guilty("GuiltyCall", "bad_call", 1),
    "own_handler": guilty("GuiltyAt", "out_of_bounds", 0),
    "forever": guilty("GuiltyForever", "hang", 0, silent=True),
    "slow_then_fault": guilty("GuiltyAt", "out_of_bounds", 0),
    # Nothing is wrong with the GPU.
    "reads_read_only": NOBODY,
    "slow": NOBODY,
    "fails_by_itself": NOBODY,
    "fails_while_busy": NOBODY,
    "exits_while_busy": NOBODY,
    "clean": NOBODY,
}


def run(command, environment=None):
    return subprocess.run(command, env={**os.environ, **(environment or {})}, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT, text=True, errors="replace", timeout=120, check=False)


def compare(truth, fault, recorded):
    """What is wrong with the doctor's words."""
    problems = []
    suspects = fault["suspects"]
    if not suspects or truth["kernel"] not in suspects[0]["kernel"]:
        problems.append(f"the first suspect is {suspects[0]['kernel'] if suspects else 'nobody'}")
    elif "grid" in truth and suspects[0]["grid"][0] != truth["grid"]:
        problems.append(f"the launch with grid {suspects[0]['grid'][0]} is accused")
    if fault["kernel_sure"] and truth["kernel"] not in fault["kernel"]:
        problems.append(f"an innocent is named without a doubt: {fault['kernel']}")
    if fault["kernel_sure"] != (len(suspects) == 1):
        problems.append(f"{len(suspects)} suspects, and kernel_sure is {fault['kernel_sure']}")
    if truth["sure"] and not fault["kernel_sure"]:
        problems.append("the evidence allows certainty: " + ", ".join(f"{s['kernel']} {s['odds']}" for s in suspects))
    if "agent" in truth and fault["gpu"]["index"] != truth["agent"]:
        problems.append(f"the GPU is {fault['gpu']}")
    for key, name in (("cause", "cause"), ("argument", "argument"), ("reached", "reached_from")):
        if fault[name] != truth[key]:
            problems.append(f"{name} is {fault[name]}, not {truth[key]}")
    if not fault["sure"]:
        problems.append("the cause is told with a doubt")
    # The software GPU says itself which kernel failed.
    if not truth.get("silent") and not re.search(r"of kernel \S*" + truth["kernel"] + r"|in kernel \S*" + truth["kernel"], recorded):
        problems.append("the software GPU did not name the guilty kernel: the planted fault is not there")
    return problems


def try_once(options, name, gpu):
    truth = TRUTH[name]
    gpus = ",".join([gpu] * (truth["gpus"] if truth else 1))
    # On a busy machine nothing may end for some seconds before the planted fault comes. What is only slow looks like a
    # hang on purpose, before the fault.
    hang = "2s" if truth is NOBODY or truth["cause"] == "hang" or name == "slow_then_fault" else "60s"
    with tempfile.TemporaryDirectory(prefix="rochound-truth-") as folder:
        trace = pathlib.Path(folder) / "trace.rpd"
        recorded = run([options.rochound, "run", "-q", "-o", str(trace), "--softgpu", gpus, "--", options.program, name],
                       {"ROCHOUND_HANG": hang, "GPU_MAX_HW_QUEUES": "16"}).stdout  # each stream has a queue of its own
        kept = pathlib.Path(f"{trace}.fault")
        if truth is NOBODY:
            problems = ["a fault was reported"] if kept.exists() or "a GPU failed" in recorded else []
            return problems, None, recorded
        told = run([options.rochound, "doctor", "--json", "--fault", str(kept)])
        try:
            fault = json.loads(told.stdout)
        except json.JSONDecodeError:
            return ["nothing was explained: " + told.stdout], None, recorded
        problems = compare(truth, fault, recorded)
        if told.returncode != 3:
            problems.append(f"doctor --fault ended with {told.returncode}, not 3")
        return problems, fault, recorded


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--program", required=True)
    parser.add_argument("--gpu", action="append")
    parser.add_argument("--case", action="append")
    parser.add_argument("--part", help="K/N: of the cases, every Nth from the Kth on")
    parser.add_argument("--runs", type=int)
    parser.add_argument("--full", action="store_true", default=os.environ.get("ROCHOUND_TRUTH_FULL") == "1")
    parser.add_argument("-v", "--verbose", action="store_true")
    options = parser.parse_args()
    cases = list(TRUTH)
    if options.case:
        cases = [name for name in cases if name in options.case]
    numbered = list(enumerate(cases))
    if options.part:
        part, parts = map(int, options.part.split("/"))
        numbered = numbered[part::parts]
    runs = options.runs or (20 if options.full else 1)
    failures = collections.Counter()
    count = named = sure = 0
    start = time.monotonic()
    for number, name in numbered:
        every = options.gpu or GPUS
        for gpu in every if options.full or options.gpu else [every[number % len(every)]]:
            for _ in range(runs):
                problems, fault, recorded = try_once(options, name, gpu)
                count += 1
                if fault:
                    named += 1
                    sure += fault["kernel_sure"] and fault["sure"]
                if problems:
                    failures[f"{name} on {gpu}"] += 1
                    print(f"{name} on {gpu}: " + "; ".join(problems))
                    if failures[f"{name} on {gpu}"] == 1:
                        print(json.dumps(fault, indent=1))
                        print(recorded[-1500:])
                elif options.verbose:
                    print(f"{name} on {gpu}: {fault['headline'] if fault else 'nothing, which is right'}")
                sys.stdout.flush()
    print(f"{count} runs of {len(numbered)} cases in {time.monotonic() - start:.0f} s: {count - sum(failures.values())} right; of {named} faults, "
          f"{sure} explained without a doubt")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
