#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Takes the ways into a program away on purpose, one by one: no run may end with an empty trace and exit code 0.

usage: silent.py --case CASE --rochound PATH --programs FOLDER --neighbours FOLDER --agent PATH --gpu GPU

And no run may end worse than without the recorder. Where nothing can be recorded, `rochound run` says so with the true
reason and an exit code of its own, and `rochound doctor --ran` says it again.
"""

import json
import subprocess
import sys

import amd_case
from amd_case import exact, same

UNRECORDED = 123
CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


def not_recorded(place, command, environment, *words, program="vector_add"):
    """Nothing can be recorded, and that is said with these words."""
    bare = place.run([place.program(program)])
    run, trace = place.record(command, environment)
    found = [] if run.code == UNRECORDED else [f"exit code {run.code} instead of {UNRECORDED}: {run}"]
    run.code = bare.code
    found += same(run, bare)
    found += [f"'{word}' is not said: {run.err[-1500:]}" for word in ("nothing was recorded", "used a GPU", *words)
              if word not in run.err]
    if trace is None or trace.one("select count(*) from rochound_lost where what = 'unrecorded process'") == 0:
        found.append("the trace does not say what it lacks")
        return found
    doctor = subprocess.run([place.options.rochound, "doctor", "--ran", str(place.folder / "trace.rpd"), "--json"],
                            capture_output=True, text=True, check=False)
    ids = [finding["id"] for finding in json.loads(doctor.stdout)["findings"]]
    if doctor.returncode != 3 or "unrecorded-process" not in ids or "gpu-not-used" in ids:
        found.append(f"doctor --ran ended with {doctor.returncode} and found {ids}")
    return found


def recorded(place, command, environment, program="vector_add", says=()):
    """It is recorded all the same."""
    bare = place.run([place.program(program)])
    run, trace = place.record(command, environment)
    found = same(run, bare) + [f"'{word}' is not said: {run.err[-1500:]}" for word in says if word not in run.err]
    return found + (exact.compare(run.out, trace) if trace else [f"no trace: {run}"])


@case
def no_environment(place):
    return not_recorded(place, ["/usr/bin/env", "-u", "HSA_TOOLS_LIB", place.program("vector_add")], {}, "HSA_TOOLS_LIB did not reach it")


@case
def another_tools_lib(place):
    return not_recorded(place, ["/usr/bin/env", "HSA_TOOLS_LIB=", place.program("vector_add")], {}, "HSA_TOOLS_LIB did not reach it")


@case
def profiler_and_no_v1(place):
    """What happened before V1 was set: ROCr registered with the other profiler and read no HSA_TOOLS_LIB."""
    return not_recorded(place, ["/usr/bin/env", "HSA_TOOLS_ROCPROFILER_V1_TOOLS=0", *place.with_preload(place.tool),
                                place.program("vector_add")], {}, "HSA_TOOLS_ROCPROFILER_V1_TOOLS", "libneighbour_sdk.so")


@case
def no_v1_and_no_profiler(place):
    """Nobody registers, so ROCr reads HSA_TOOLS_LIB."""
    return recorded(place, ["/usr/bin/env", "-u", "HSA_TOOLS_ROCPROFILER_V1_TOOLS", place.program("vector_add")], {})


@case
def leaked_path_that_is_gone(place):
    """ROCm ends the bare program for it."""
    gone = {"ROCPROFILER_REGISTER_LIBRARY": "/no/such/librocprofiler-sdk.so"}
    bare = place.run([place.program("vector_add")], gone)
    found = [] if bare.code != 0 else ["the bare program ran: this shows nothing"]
    return found + recorded(place, [place.program("vector_add")], gone, says=("/no/such/librocprofiler-sdk.so", "left behind"))


@case
def leaked_path(place):
    return recorded(place, [place.program("vector_add")], {"ROCPROFILER_REGISTER_LIBRARY": place.sdk, "HSA_TOOLS_ROCPROFILER_V1_TOOLS": 0})


@case
def leaked_v1(place):
    return recorded(place, [place.program("vector_add")], {"HSA_TOOLS_ROCPROFILER_V1_TOOLS": 0})


@case
def registration_off(place):
    found = recorded(place, [place.program("vector_add")], {"HSA_TOOLS_DISABLE_REGISTER": 1})
    return found + recorded(place, [place.program("vector_add")], {"ROCPROFILER_REGISTER_ENABLED": 0})


@case
def no_kernels(place):
    """Programs whose first call is not a launch: HIP registers its tables in another order."""
    found = []
    for program in ("copy_async", "copy_2d", "memset_kinds"):
        found += recorded(place, [place.program(program)], {}, program)
    return found


@case
def init_cycles(place):
    return recorded(place, [place.program("hsa_init_cycles")], {}, "hsa_init_cycles")


@case
def agent_cannot_be_loaded(place):
    """HSA_TOOLS_LIB names a library that is not there, as in a container."""
    return not_recorded(place, ["/bin/sh", "-c", 'HSA_TOOLS_LIB="/no/such/folder/librochound_agent.so" exec "$0"',
                                place.program("vector_add")], {}, "did not load the agent")


@case
def log_cannot_be_written(place):
    """The agent is there, but has no place for its log."""
    return not_recorded(place, ["/usr/bin/env", "ROCHOUND_LOG_DIR=/proc/nowhere", place.program("vector_add")], {}, "left no log")


@case
def one_of_two(place):
    """A process that is recorded, and one that is not: the trace is there, and says what it lacks."""
    script = '"$0" || exit 9; env -u HSA_TOOLS_LIB "$0" >/dev/null || exit 9'
    run, trace = place.record(["/bin/sh", "-c", script, place.program("vector_add")])
    found = [] if run.code == 0 else [f"{run}"]
    found += [f"'{word}' is not said: {run.err[-1500:]}" for word in ("used a GPU and was not recorded", "HSA_TOOLS_LIB did not reach it")
              if word not in run.err]
    if trace.one("select count(*) from rochound_lost where what = 'unrecorded process'") != 1:
        found.append("the trace does not say what it lacks")
    return found


@case
def no_gpu_at_all(place):
    """Nothing is wrong with a program that uses no GPU."""
    run, trace = place.record(["/bin/echo", "hello"])
    found = [] if run.code == 0 and run.out == "hello\n" else [f"{run}"]
    return found + [f"'{word}' is not said" for word in ("nothing was recorded", "no process of the program was seen") if word not in run.err]


if __name__ == "__main__":
    sys.exit(amd_case.main(__doc__, CASES))
