#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Copies, ranks and comparisons of runs: what rochound says against what the programs know of themselves."""

import json
import os
import sys

from truth_case import main

DIRECTIONS = {"h2d": "CopyHostToDevice", "d2h": "CopyDeviceToHost", "d2d": "CopyDeviceToDevice", "h2h": "CopyHostToHost"}
TWO_GPUS = "rx6800xt,rx6800xt"


# --- copies

def copies(case, mode, gpu="rx6800xt"):
    """Number and bytes of copies by direction; nothing is missing from the trace."""
    run = case.record("copies", mode, gpu=gpu)
    answer = run.answer("copies")
    case.equal("doubts", [], answer["doubts"])
    tables = {name: table["rows"] for name, table in answer["tables"].items()}
    told = {row["direction"]: row for row in tables["directions"]}
    for kind, direction in DIRECTIONS.items():
        row = told.get(direction, {"copies": 0, "moved_bytes": 0})
        case.equal(direction, (run.truth.get(kind, 0), run.truth.get(f"{kind}_bytes", 0)),
                   (row["copies"], row["moved_bytes"]))
    return run, tables, told


def took(case, run, row):
    """Copies took at most what the program measured around them, in which a busy machine adds pauses between them."""
    ms = row["total_ns"] / 1e6
    case.expect(f"time of the copies: {ms:.1f} of {run.truth['copy_ms']:.1f} ms",
                0.25 * run.truth["copy_ms"] < ms < 1.05 * run.truth["copy_ms"])
    case.near("bandwidth", row["moved_bytes"] / row["total_ns"], row["bandwidth_bytes_per_s"] / 1e9, part=0.01)


def copies_of_a_graph(case):
    run, tables, _ = copies(case, "graph")
    case.equal("captured", run.truth["captured"], sum(row["calls"] for row in tables["captured"]))
    case.equal("copy calls that moved anything", [], tables["calls"])


def copies_of_pinned_memory(case):
    run, tables, told = copies(case, "pinned")
    took(case, run, told["CopyHostToDevice"])
    call, = tables["calls"]
    took(case, run, {"total_ns": call["copy_ns"], **call})


def copies_that_kernels_do(case):
    run, _, _ = copies(case, "small")
    kernels = run.rows("select count(*) from rochound_copy join rochound_dispatch using (op_id)")[0][0]
    case.expect(f"{kernels} copies were done by kernels, of which this test is about", kernels > 0)


def copies_between_gpus(case):
    run, tables, told = copies(case, "peer", gpu=TWO_GPUS)
    took(case, run, told["CopyDeviceToDevice"])
    case.equal("calls", 3, sum(row["calls"] for row in tables["calls"]))


def copies_of_the_host(case):
    copies(case, "host")


# --- ranks

def notes(run, question):
    return "\n".join(run.answer(question)["notes"])


def late_step_outside(case):
    run = case.record("ranks", "steps", "outside", gpu=TWO_GPUS)
    slow = [row["pid"] for row in run.ask("stragglers")["step_ranks"] if row["verdict"] == "slower"]
    case.equal("slow ranks", [run.truth["late_pid"]], slow)


def late_step_inside(case):
    """Both ranks take as long as the slower one: nobody can be accused, and that is said."""
    run = case.record("ranks", "steps", "inside", gpu=TWO_GPUS)
    tables = run.ask("stragglers")
    case.equal("slow ranks", [], [row["pid"] for row in tables["step_ranks"] if row["verdict"]])
    case.equal("named in steps", set(), {row["slowest_pid"] for row in tables["steps"]} - {None})
    case.expect("the answer says what steps cannot tell", "wait for each other inside the step" in notes(run, "stragglers"))


def even_steps(case):
    run = case.record("ranks", "steps", "even", gpu=TWO_GPUS)
    case.equal("slow ranks", [], [row["pid"] for row in run.ask("stragglers")["step_ranks"] if row["verdict"]])


def ranks_as_threads(case):
    run = case.record("ranks", "threads", gpu=TWO_GPUS)
    slow = [row for row in run.ask("stragglers")["step_ranks"] if row["verdict"] == "slower"]
    case.equal("slow ranks", [run.truth["late_thread"]], [row["thread"] for row in slow])
    if slow:
        case.near("longer", run.truth["longer_ms"], slow[0]["over_others_mean_ns"] / 1e6)
    for step in run.ask("variability")["steps"]:
        case.equal(f"kernels of {step['step']}, thread {step['thread']}", run.truth["kernels_per_step"], step["kernels"])
        case.expect(f"GPU time {step['gpu_ns']} of {step['step']} within its wall time {step['wall_ns']}",
                    step["gpu_ns"] <= step["wall_ns"])


def collectives(case, mode, gpu="rx6800xt"):
    run = case.record("ranks", "collectives", mode, gpu=gpu)
    return run, run.ask("stragglers")


def late_in_collectives(case):
    run, tables = collectives(case, "late")
    late = [row for row in tables["ranks"] if row["verdict"] == "late"]
    case.equal("late ranks", [run.truth["late_pid"]], [row["pid"] for row in late])
    if late:
        case.near("waited for it", run.truth["late_ms"], late[0]["caused_wait_ns"] / 1e6, part=0.5)


def extra_collective(case):
    """One more on one rank shifts nobody's pairs, and is told."""
    run, tables = collectives(case, "extra")
    case.equal("late ranks", [run.truth["late_pid"]], [row["pid"] for row in tables["ranks"] if row["verdict"] == "late"])
    case.equal("meetings", run.truth["turns"], sum(row["meetings"] for row in tables["collectives"]))
    case.expect("the one that met nobody is told", "1 of 21 collectives met none" in notes(run, "stragglers"))


def groups_that_never_meet(case):
    run, tables = collectives(case, "groups", gpu=TWO_GPUS)
    case.equal("meetings", [run.truth["turns"]] * 2, [row["meetings"] for row in tables["collectives"]])
    case.equal("members", [2, 2], [len(row["ranks"].split(",")) for row in tables["collectives"]])
    spread = max(row["max_spread_ns"] for row in tables["collectives"]) / 1e6
    case.expect(f"nobody waited for the other group: {spread:.1f} ms", spread < 100)


def rccl(case, late_ms):
    """Two ranks with the real RCCL, which needs a while on the software GPU."""
    if not case.program("rccl_ranks").exists():
        print("SKIP the program rccl_ranks is not built: install librccl-dev")
        sys.exit(77)
    os.environ["HSA_NO_SCRATCH_RECLAIM"] = "1"
    run = case.record("rccl_ranks", late_ms, gpu=TWO_GPUS, timeout=280)
    tables = run.ask("stragglers")
    case.equal("collectives", [("AllReduce", "0,1", run.truth["bytes"], run.truth["turns"])],
               [(row["name"], row["ranks"], row["rank_bytes"], row["meetings"]) for row in tables["collectives"]])
    return run, tables


def rccl_rank_is_late(case):
    run, tables = rccl(case, 400)
    late = [row for row in tables["ranks"] if row["verdict"] == "late"]
    case.equal("late ranks", [(1, run.truth["late_pid"])], [(row["rank"], row["pid"]) for row in late])
    if late:
        case.near("waited for it", run.truth["late_ms"], late[0]["caused_wait_ns"] / 1e6, part=0.5)
    calls = {row["call"]: row["calls"] for row in run.ask("apis")["calls"] if row["domain"] == "rccl"}
    case.equal("ncclAllReduce", 2 * run.truth["turns"], calls.get("ncclAllReduce"))
    case.equal("ncclCommInitRank", 2, calls.get("ncclCommInitRank"))


# --- comparing runs

def diff(case, before, after):
    answer = case.rochound("explain", "diff", *before, "--against", *after, "--json")
    if answer[0] != 0:
        raise RuntimeError(answer[2])
    return json.loads(answer[1])


def verdicts(answer):
    return {row["kernel"]: row["verdict"] for row in answer["tables"]["kernels"]["rows"]}


def same_program_twice(case):
    """No kernel of a program that did not change is called slower or faster, and one run tells nothing."""
    runs = [case.record("several_kernels", "1").path for _ in range(6)]
    told = verdicts(diff(case, runs[0::2], runs[1::2]))
    case.equal("kernels", 4, len(told))
    case.equal("accused", [], [kernel for kernel, verdict in told.items() if verdict in ("slower", "faster")])
    case.equal("of one run each", {"not known"}, set(verdicts(diff(case, runs[:1], runs[1:2])).values()))


def four_times_the_work(case):
    """A kernel that got slower is found, and no other is accused. On a busy machine a mean alone moves by a factor of 2."""
    before, after = [], []
    for _ in range(6):
        before.append(case.record("several_kernels", "1").path)
        after.append(case.record("several_kernels", "4").path)
    told = verdicts(diff(case, before, after))
    slower = [kernel for kernel, verdict in told.items() if verdict == "slower"]
    case.equal("slower", ["void truth::Spin<2>(int*, int)"], slower)
    case.equal("faster", [], [kernel for kernel, verdict in told.items() if verdict == "faster"])


if __name__ == "__main__":
    main({check.__name__: check for check in (
        copies_of_a_graph, copies_of_pinned_memory, copies_that_kernels_do, copies_between_gpus, copies_of_the_host,
        late_step_outside, late_step_inside, even_steps, ranks_as_threads, late_in_collectives, extra_collective,
        groups_that_never_meet, rccl_rank_is_late, same_program_twice, four_times_the_work)})
