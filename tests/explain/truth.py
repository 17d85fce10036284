#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Findings about programs with one planted cause each: the first finding names it, with the time that it costs; and
their clean twins, about which no finding is more than a note.

What it costs is measured, never worked out: by the program itself, or, where the program says how long all its work
took (`took_ms`), by a second run of it that does the same work without the cause. The difference is what is compared."""

from truth_case import main

# Program, mode, GPUs. Programs say themselves which finding to expect, and its time.
PLANTED = [
    ("host_work", "sleep", "rx6800xt"),
    ("host_work", "sleep", "mi300x"),
    ("host_work", "compute", "rx6800xt"),
    ("host_work", "plain", "rx6800xt"),
    ("host_work", "started", "rx6800xt"),
    ("synchronize", "device", "rx6800xt"),
    ("synchronize", "stream", "rx6800xt"),
    ("synchronize", "event", "rx6800xt"),
    ("launches", "slow", "rx6800xt"),
    ("launches", "sequence", "rx6800xt"),
    ("launches", "tiny", "rx6800xt"),
    ("loading", "modules", "rx6800xt"),
    ("allocate", "device", "rx6800xt"),
    ("allocate", "host", "rx6800xt"),
    ("host_copies", "pageable_in", "rx6800xt"),
    ("host_copies", "pageable_out", "rx6800xt"),
    ("host_copies", "pageable_in", "mi300x"),
    ("host_copies", "pinned_in", "rx6800xt"),
    ("host_copies", "pinned_out", "rx6800xt"),
    ("host_copies", "same_stream", "rx6800xt"),
    ("host_copies", "small_in", "rx6800xt"),
    ("host_copies", "small_out", "rx6800xt"),
    ("streams", "default_stream", "rx6800xt"),
    ("streams", "host_function", "rx6800xt"),
    ("streams", "instantiate", "rx6800xt"),
    ("kernels", "few_workgroups", "rx6800xt"),
    ("kernels", "few_workgroups", "mi300x"),
    ("kernels", "tail", "rx6800xt"),
    ("kernels", "occupancy", "rx6800xt"),
    ("kernels", "dominating", "rx6800xt"),
    ("kernels", "host_memory", "rx6800xt"),
    ("two_gpus_apart", "imbalance", "rx6800xt,rx6800xt"),
    ("training", "growing", "rx6800xt"),
    ("training", "warm_up", "rx6800xt"),
    ("checkpoint", "stall", "rx6800xt"),
    ("loading", "compile", "rx6800xt"),
    ("loading", "search", "rx6800xt"),
    ("launches", "calls", "rx6800xt"),
    ("side_by_side", "bubbles", "rx6800xt,rx6800xt"),
    ("side_by_side", "exposed", "rx6800xt"),
    ("failures", "ignored", "rx6800xt"),
]
CLEAN = [
    ("host_work", "clean", "rx6800xt"),
    ("synchronize", "clean", "rx6800xt"),
    ("launches", "graph", "rx6800xt"),
    ("loading", "clean", "rx6800xt"),
    ("allocate", "clean", "rx6800xt"),
    ("host_copies", "clean", "rx6800xt"),
    ("streams", "clean", "rx6800xt"),
    ("kernels", "clean", "rx6800xt"),
    ("kernels", "clean", "mi300x"),
    ("two_gpus_apart", "clean", "rx6800xt,rx6800xt"),
    ("training", "clean", "rx6800xt"),
    ("checkpoint", "beside", "rx6800xt"),
    ("launches", "few_calls", "rx6800xt"),
    ("side_by_side", "filled", "rx6800xt,rx6800xt"),
    ("side_by_side", "hidden", "rx6800xt"),
    ("failures", "asked", "rx6800xt"),
]


def check_sum(case, run, findings):
    """What is promised, by whatever rules, is not more than the run took."""
    (wall,), = run.rows("select max(end) - min(start) from (select start, end from rocpd_api union all select start, end from rocpd_op)")
    promised = {one["rule"]: one["gain_ns"] / 1e6 for one in findings if one["confidence"] != "note"}
    case.expect(f"more than the {wall / 1e6:.1f} ms that the run took: {promised}", sum(promised.values()) <= 1.001 * wall / 1e6)


def took_without(case, rule, program, mode, gpu):
    """Milliseconds that the program takes without the planted cause, about which nothing is found then."""
    run = case.record(program, mode, "mended", gpu=gpu)
    findings = run.json("explain", run.path)["tables"]["findings"]["rows"]
    case.equal("found in the mended program", [], [one["finding"] for one in findings if one["rule"] == rule])
    return run.truth["took_ms"]


def planted(program, mode, gpu):
    def check(case):
        run = case.record(program, mode, gpu=gpu)
        findings = run.json("explain", run.path)["tables"]["findings"]["rows"]
        check_sum(case, run, findings)
        if "took_ms" in run.truth:
            run.truth["ms"] = run.truth["took_ms"] - took_without(case, run.truth["rule"], program, mode, gpu)
        told = "\n    ".join(f"{one['rule']} {one['gain_ns'] / 1e6:.1f} ms [{one['confidence']}] {one['finding']}"
                             for one in findings)
        for first in findings[:1]:
            case.judge(first, first["rule"] in run.truth["rule"].split(" or "))
        if not findings or findings[0]["rule"] not in run.truth["rule"].split(" or "):
            # They are ranked by their times.
            case.expect_time(f"first is not {run.truth['rule']} {run.truth['ms']:.1f} ms:\n    {told}", False)
            return
        first = findings[0]
        case.near(f"time ({told})", run.truth["ms"], first["gain_ns"] / 1e6, least=run.truth.get("unseen_ms", 0))
        for word in ("what", "calls"):
            if word in run.truth:
                text = run.truth[word] if word == "what" else f"{run.truth[word]:.0f} "
                case.expect(f"'{text}' is not in: {told}", text in first["finding"] + first["evidence"])
        if "confidence" in run.truth:
            case.equal(f"confidence of {first['finding']}", run.truth["confidence"], first["confidence"])
        if "sequence" in run.truth:
            sequence = run.truth["sequence"]
            case.expect(f"a sequence of {sequence:.0f} is not in: {first['evidence']}",
                        f"sequence of {sequence:.0f} kernel" in first["evidence"])
        case.expect("it has a command, evidence and advice", first["command"] and first["evidence"] and first["advice"])
        case.expect("one that is not sure says how to be", first["confidence"] == "sure" or first["to_be_sure"] or
                    first["confidence"] == "note")

    return check


def clean(program, mode, gpu):
    def check(case):
        run = case.record(program, mode, gpu=gpu)
        answer = run.json("explain", run.path)
        check_sum(case, run, answer["tables"]["findings"]["rows"])
        for one in answer["tables"]["findings"]["rows"]:
            case.judge(one, False)
        above = [one for one in answer["tables"]["findings"]["rows"] if one["confidence"] != "note"]
        case.equal("findings above a note", [], [f"{one['finding']} {one['evidence']}" for one in above])
        case.expect(f"the verdict is not in {answer['notes']}",
                    any(note.startswith("nothing stands out: GPU busy ") for note in answer["notes"]))

    return check


def name_of(program, mode, gpu):
    return f"{program}_{mode}" + ("" if gpu.startswith("rx6800xt") else f"_{gpu}")


def unfinished(case):
    """A kernel that never ends is the first thing to know, and is named."""
    run = case.record("hang", "2", code=None)
    findings = run.json("explain", run.path)["tables"]["findings"]["rows"]
    first = findings[0]
    case.equal("first finding", "unfinished-kernel", first["rule"])
    case.equal("other findings of it", [], [one["finding"] for one in findings[1:] if "WaitForEver" in one["finding"]])
    case.expect(f"WaitForEver is not in: {first['finding']}", "WaitForEver" in first["finding"])
    case.near("submitted before the end", run.truth["waited_ms"], first["gain_ns"] / 1e6)


JUDGED = {name_of(*one): planted(*one) for one in PLANTED} | {name_of(*one): clean(*one) for one in CLEAN}

if __name__ == "__main__":
    main({"unfinished_kernel": unfinished} | JUDGED)
