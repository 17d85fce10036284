#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records programs on runtimes that are newer than rochound: other orders of functions, new functions, queues and packets.

usage: ahead.py --case CASE --rochound PATH --programs FOLDER --neighbours FOLDER --agent PATH --gpu GPU

In every case: the program runs as without the recorder; what is known equals what the program counted itself; what is new
is counted and named, each runtime in one sentence, and nothing else is missing. tools/amd_ahead.py says what is new.
"""

import re
import subprocess
import sys

import amd_case
from amd_case import exact, same

# HIP creates its queues by a function that rochound does not know.
PROGRAMS = ("vector_add", "graph_small", "two_streams", "host_threads", "copy_async", "copy_2d", "memset_kinds", "malloc_async",
            "module_load", "cooperative_sync", "stream_priority", "fork_exec", "hsa_init_cycles", "hsa_memory")
CASES = {}


def case(name):
    def add(function):
        CASES[name] = function
        return function
    return add


def counted(number, one, many):
    return f"{number} {one if number == 1 else many}"


def sentence(runtime, calls):
    """As rochound_lost has it; calls: number by name, those without a name as `nameless`."""
    nameless = calls.pop("nameless", 0)
    names = [f"{name} ({counted(number, 'call', 'calls')})" for name, number in sorted(calls.items(), key=lambda one: -one[1])]
    if nameless:
        names.append(f"1 without a name ({counted(nameless, 'call', 'calls')})")
    return f"{runtime} is newer than this rochound: {counted(len(names), 'function is', 'functions are')} not recorded: {', '.join(names)}"


def recorded(place, command, expected):
    """expected: from the output, a pattern for each row of what is missing."""
    bare = place.run(command[-1:])
    run, trace = place.record(command)
    if trace is None:
        return [f"no trace: {run}"]
    # In the first two seconds HIP tells us itself of calls, so also of those that a new function makes inside.
    inner = re.compile(r"call hipLaunchKernel: the program counted 3, the trace has ([4-9]|10|11)")
    found = same(run, bare) + [line for line in exact.compare(run.out, trace)
                               if not line.startswith("lost: ") and not (expected is all_that_is_new and inner.fullmatch(line))]
    rows = [f"{what}|{count}|{note}" for what, count, note in trace.rows("select what, count, note from rochound_lost order by id")
            if what != "copy times"]
    patterns = expected(run.out)
    found += [f"unexpected: {row}" for row in rows if not any(re.fullmatch(one, row) for one in patterns)]
    found += [f"missing: {one}, there are {rows}" for one in patterns if not any(re.fullmatch(one, row) for row in rows)]
    return found + ([f"{run}"] if found else [])


def queues_only(_):
    return [r"calls\|(\d+)\|ROCr 2\.0\.0 is newer than this rochound: 1 function is not recorded: hsa_amd_ahead_queue_create \(\1 calls?\)"]


def all_that_is_new(out):
    new = {line.split()[0]: {name: int(number) for name, number in (word.split("=") for word in line.split()[1:])}
           for line in out.split("\n") if line.startswith("new-")}
    packets = {name.replace("_", " "): number for name, number in new["new-packets"].items()}
    kinds = ", ".join(f"{name} ({number})" for name, number in packets.items())
    totals = {key: sum(new[key].values()) for key in new}
    return [re.escape(one) for one in (
        f"calls|{totals['new-hip']}|" + sentence("HIP 10.0.0", new["new-hip"]),
        f"calls|{totals['new-hsa']}|" + sentence("ROCr 2.0.0", new["new-hsa"]),
        f"packets|{totals['new-packets']}|of kinds newer than this rochound; work in them is not recorded: {kinds}")]


def add_program(program):
    @case(program)
    def known(place):
        return recorded(place, [place.program(program)], (lambda _: []) if program.startswith("hsa_") else queues_only)


for each in PROGRAMS:
    add_program(each)


@case("all_that_is_new")
def new(place):
    found = recorded(place, [place.program("ahead")], all_that_is_new)
    top = subprocess.run([place.options.rochound, "top", str(place.folder / "trace.rpd")], capture_output=True, text=True, check=False)
    if "HIP 10.0.0 is newer than this rochound" not in top.stdout + top.stderr:
        found.append(f"an answer does not say it: {top.stdout}{top.stderr}")
    return found


# --- other ways in
WAYS = {
    "registered": lambda place: ["/usr/bin/env", "-u", "HSA_TOOLS_LIB", f"ROCPROFILER_REGISTER_LIBRARY={place.options.agent}"],
    "two_ways": lambda place: ["/usr/bin/env", f"ROCPROFILER_REGISTER_LIBRARY={place.options.agent}"],
    "preloaded": lambda place: ["/usr/bin/env", "-u", "HSA_TOOLS_LIB", *place.with_preload(place.options.agent)],
}


def add_way(way):
    @case(way)
    def by_other_way(place):
        found = recorded(place, [*WAYS[way](place), place.program("ahead")], all_that_is_new)
        return found + recorded(place, [*WAYS[way](place), place.program("copy_async")], queues_only)


for each in WAYS:
    add_way(each)


if __name__ == "__main__":
    sys.exit(amd_case.main(__doc__, CASES))
