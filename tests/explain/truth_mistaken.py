#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Programs whose cause is easily mistaken for another: what must be found in them first, and what must not be said of
them. How much time things cost is in truth.py."""

from truth_case import main

LAUNCHING = ("launch-rate", "tiny-kernels")
COPYING = ("pageable-copies", "small-copies", "copy-overlap", "copies-on-path")

# Case: program, mode, options of the recording, GPUs, what is found first (None: nothing in particular), what must not be
# said above a note.
CASES = {
    "item": ("hidden_waits", "item", (), "rx6800xt", "hidden-synchronization", LAUNCHING + COPYING),
    "item_late": ("hidden_waits", "item_late", (), "rx6800xt", None, LAUNCHING + COPYING + ("hidden-synchronization", "host-work")),
    "read_file": ("hidden_waits", "read_file", (), "rx6800xt", "host-work", LAUNCHING + ("synchronization",)),
    "sleeps_between_launches": ("hidden_waits", "sleep", (), "rx6800xt", "host-work", LAUNCHING),
    "sleeps_while_gpu_works": ("hidden_waits", "sleep_ahead", (), "rx6800xt", None, LAUNCHING + ("host-work", "synchronization")),
    "free_waits": ("hidden_waits", "free", (), "rx6800xt", "allocation", LAUNCHING + ("host-work",)),
    "loads_while_gpu_works": ("hidden_waits", "load_while", (), "rx6800xt", "host-work", ("cpu-work",)),
    "steady_delayed": ("hidden_waits", "steady", ("--delay", "700ms", "--duration", "600ms"), "rx6800xt", "host-work", ("cpu-work",)),
    "steady_last": ("hidden_waits", "steady", ("--last", "64KiB"), "rx6800xt", "host-work", ("cpu-work",)),
    "copies_mixed": ("copy_kinds", "mixed", (), "rx6800xt", "pageable-copies", ("copy-overlap", "copies-on-path")),
    "copies_after_wait": ("copy_kinds", "after_wait", (), "rx6800xt,rx6800xt", None, COPYING),
    "copies_pinned_before": ("copy_kinds", "pinned_before", ("--delay", "1s"), "rx6800xt", None, ("pageable-copies",)),
    "copies_ring": ("copy_kinds", "ring", (), "rx6800xt", None, ("host-memory", "pageable-copies")),
    "copies_first_pinned": ("copy_kinds", "first", (), "rx6800xt", None, ("host-memory", "pageable-copies")),
    "copies_device": ("copy_kinds", "device", (), "rx6800xt", "device-copies", COPYING),
    "streams_fill_gpu": ("shared_gpu", "streams", (), "rx6800xt", None, ("few-workgroups",)),
    "small_shape_hidden": ("shared_gpu", "hidden", (), "rx6800xt", None, ("few-workgroups",)),
}
EVEN_AS_NOTES = ("host-memory", "pageable-copies")


def mistaken(program, mode, options, gpu, first, never):
    def check(case):
        run = case.record(program, mode, gpu=gpu, run=options)
        findings = run.json("explain", run.path)["tables"]["findings"]["rows"]
        told = [f"{one['rule']} {one['gain_ns'] / 1e6:.1f} ms [{one['confidence']}] {one['finding']} {one['evidence']}" for one in findings]
        for place, one in enumerate(findings):
            if (place == 0 and first is not None) or one["rule"] in never:
                case.judge(one, one["rule"] == first)
        if first is not None:
            case.expect_time(f"first is not {first}: {told}", findings and findings[0]["rule"] == first)
            what = run.truth.get("what", "")
            case.expect_time(f"'{what}' is not in {told}", findings and what in findings[0]["finding"] + findings[0]["evidence"])
        wrong = [one["rule"] for one in findings if one["rule"] in never and
                 (one["confidence"] != "note" or one["rule"] in EVEN_AS_NOTES)]
        case.equal(f"said, though it is not so: {told}", [], wrong)
        if "launch-rate" in never:
            case.equal("advice of a graph", [], [one["advice"] for one in findings if "graph" in one["advice"]])

    return check


JUDGED = {name: mistaken(*one) for name, one in CASES.items()}

if __name__ == "__main__":
    main(JUDGED)
