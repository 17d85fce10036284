#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records programs that another profiler is in, too (neighbour.h says what it does).

usage: neighbours.py --case CASE --rochound PATH --programs FOLDER --neighbours FOLDER --agent PATH --gpu GPU

In every case: the trace equals what the program counted itself; the neighbour's counts are what they are without the
recorder, and its HIP calls are the program's; the program's output and exit code are those of the bare program.
"""

import os
import sys

import amd_case
from amd_case import exact, parse_counts, same

PROGRAMS = ("vector_add", "copy_async", "graph_small", "two_streams", "host_threads", "fork_exec", "hsa_init_cycles")


def neighbours_counts(place, start):
    """Sums over all processes, or nothing if the neighbour was in none."""
    texts = [path.read_text() for path in sorted(place.folder.glob(start + ".*"))]
    return (*parse_counts("\n".join(texts))[:2], len(texts))


def program_starts_hsa(command):
    return any(word.endswith("/hsa_init_cycles") for word in command)


def beside(place, command, environment, in_it=True, whole=True):
    """in_it: whether the neighbour gets into the program; whole: from the program's first call on."""
    found = []
    bare = place.run(command, {**environment, "NEIGHBOUR_COUNTS": None})
    if bare.code != 0:
        return [f"the bare program fails: {bare}"]
    place.run(command, {**environment, "NEIGHBOUR_COUNTS": place.folder / "alone"})
    alone = neighbours_counts(place, "alone")
    run, trace = place.record(command, {**environment, "NEIGHBOUR_COUNTS": place.folder / "beside"})
    found += same(run, bare)
    if trace is None:
        return found + [f"no trace: {run}"]
    found += exact.compare(run.out, trace)
    together = neighbours_counts(place, "beside")
    if in_it and not alone[2]:
        found.append("the neighbour was not in the program: this shows nothing")
    if not in_it and (alone[2] or together[2]):
        found.append("the neighbour was in the program, but should not have been")
    # We ask HIP for the names of the functions that are called in the first moments.
    asked = together[0]["nested"] - alone[0]["nested"]
    if not 0 <= asked <= 40 * max(1, together[2]):
        found.append(f"the neighbour sees {asked} calls of ours inside the program's")
    alone[0]["nested"] = together[0]["nested"]
    if program_starts_hsa(command):
        alone[0]["tables"] = together[0]["tables"]
        alone[1]["hipApiName"] = min(together[1]["hipApiName"], 1)
    for what, one, other in zip(("", "call "), alone[:2], together[:2]):
        found += [f"the neighbour's {what}{name}: alone {one[name]}, beside us {other[name]}"
                  for name in sorted(set(one) | set(other)) if one[name] != other[name] and name != "queues"]
    if in_it and whole:
        calls = parse_counts(run.out)[1]
        for name in exact.NOT_COUNTED:
            together[1].pop(name, None)
        # A program that starts HSA by itself has not used HIP yet: one call of ours makes HIP fill in its table.
        if program_starts_hsa(command) and together[1]["hipApiName"] == 1:
            del together[1]["hipApiName"]
        found += exact.differences("the neighbour's call", calls, together[1])
    return found + ([f"{run}"] if found else [])


CASES = {}


def case(name):
    def add(function):
        CASES[name] = function
        return function
    return add


# --- there before us, in every visibility; one test per program
def add_program(program):
    @case(f"preloaded_tool.{program}")
    def preloaded_tool(place):
        return beside(place, place.with_preload(place.tool) + [place.program(program)], {})

    @case(f"preloaded_sdk.{program}")
    def preloaded_sdk(place):  # visible, but nobody wants it: it stays out, with us as without us
        return beside(place, place.with_preload(place.sdk) + [place.program(program)], {}, in_it=False)

    @case(f"environment.{program}")
    def environment(place):  # also what an SDK around us leaves behind
        return beside(place, [place.program(program)], {"ROCPROFILER_REGISTER_LIBRARY": place.sdk,
                                                       "HSA_TOOLS_ROCPROFILER_V1_TOOLS": 0})


for each in PROGRAMS:
    add_program(each)


@case("tool_library")
def tool_library(place):
    """ROCP_TOOL_LIBRARIES: rocprofiler-register looks for the SDK by its name."""
    (place.folder / "librocprofiler-sdk.so").symlink_to(place.sdk)
    return beside(place, [place.program("vector_add")],
                  {"ROCP_TOOL_LIBRARIES": place.tool,
                   "LD_LIBRARY_PATH": f"{place.folder}:{os.environ.get('LD_LIBRARY_PATH', '')}"})


@case("refuses")
def refuses(place):
    return beside(place, place.with_preload(place.tool) + [place.program("vector_add")], {"NEIGHBOUR_REFUSES": 1}, in_it=False)


@case("plain_queues")
def plain_queues(place):
    return beside(place, place.with_preload(place.tool) + [place.program("two_streams")], {"NEIGHBOUR_PLAIN_QUEUES": 1})


# --- loaded in the middle, after us
def add_middle(mode, in_it):
    @case(f"middle_{mode}")
    def middle(place):
        return beside(place, [place.program("profiler_in_the_middle"), place.sdk, mode], {}, in_it=in_it, whole=False)


for each, gets_in in (("global", False), ("local", False), ("force", True)):
    add_middle(each, gets_in)


# --- other ways into the program for us
def by_other_ways(place, programs, way_in):
    """way_in: words before the command that change how we are loaded."""
    found = []
    for program in programs:
        bare = place.run([place.program(program)])
        run, trace = place.record([*way_in, place.program(program)])
        problems = same(run, bare) + (exact.compare(run.out, trace) if trace else [f"no trace: {run}"])
        found += [f"{program}: {problem}" for problem in problems]
    return found


@case("two_ways")
def two_ways(place):
    """We are loaded by HSA_TOOLS_LIB and by rocprofiler-register: one recorder, nothing twice."""
    return by_other_ways(place, ("vector_add", "copy_async", "hsa_init_cycles"),
                         ["/usr/bin/env", f"ROCPROFILER_REGISTER_LIBRARY={place.options.agent}"])


@case("registered_only")
def registered_only(place):
    """rocprofiler-register is the only way in: what a user can do who may not set HSA_TOOLS_LIB."""
    return by_other_ways(place, ("vector_add", "copy_async", "memset_kinds", "hsa_init_cycles"),
                         ["/usr/bin/env", "-u", "HSA_TOOLS_LIB", f"ROCPROFILER_REGISTER_LIBRARY={place.options.agent}"])


@case("preloaded_agent")
def preloaded_agent(place):
    """ROCr finds a tool that is already loaded."""
    return by_other_ways(place, ("vector_add", "copy_async", "hsa_init_cycles"),
                         ["/usr/bin/env", "-u", "HSA_TOOLS_LIB", *place.with_preload(place.options.agent)])


if __name__ == "__main__":
    sys.exit(amd_case.main(__doc__, CASES))
