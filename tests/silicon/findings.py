#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What explain finds in traces of real GPUs, and what it must not say of them. Times are those of the files' own events,
in ms: see the truth column of the data's README."""

import gzip
import shutil

from silicon_case import main

# Trace: the first finding with its time and how near; rules with the most that they may promise (0: not to be told).
TRACES = {
    # 269.33 before the first operation; all later gaps together 1.41.
    "mi300x-timesformer": (("edges", 269.3, 1), {"launch-rate": 1.41, "host-work": 1.41, "pageable-copies": 0}),
    # 60 gaps of 51.8 us.
    "mi300x-bert-small": (("launch-rate", 2.9, 0.3), {"launch-rate": 3.11, "tiny-kernels": 0}),
    "mi300x-vit": (("launch-rate", 5.0, 0.3), {"launch-rate": 5.15}),
    # The six longest gaps are first launches; gaps below 50 us: 1.15.
    "mi300x-normalization": (("code-loading", 1_060, 40), {"launch-rate": 30, "tiny-kernels": 0}),
    # Communication alone 55.29 of 86.90.
    "mi300x-resnet-ddp": (("exposed-communication", 55.29, 0.1), {"tiny-kernels": 31.6, "launch-rate": 3}),
    # The first copy waits 149 for earlier work; 10 copies take 0.0774 in all.
    "vllm-prefill-piecewise": (("not-recorded", 149, 1),
                               {"pageable-copies": 0, "copy-overlap": 0.08, "device-copies": 0.08, "copies-on-path": 0.08}),
    "vllm-decode-graph": (("not-recorded", 7.83, 0.1), {"device-copies": 0.1, "launch-rate": 0.1}),
    # One gap each for an earlier step.
    "sglang-decode-graph": (("not-recorded", 463.3, 0.5), {"launch-rate": 0.68}),
    "sglang-prefill": (("not-recorded", 493.3, 0.5), {"launch-rate": 1.2}),
    # Nothing but communication: what could hide it is not there.
    "ddp-4-ranks-nccl-only": (None, {"exposed-communication": 0}),
    "mi300x-compile-triton": (None, {"launch-rate": 0, "host-work": 0.4}),
    # One copy of a size that is not known takes 1570; 53 copies of 1 to 12 bytes take 0.42.
    "matmul_result_large": (None, {"small-copies": 0.5, "pageable-copies": 0}),
    "matmul_result": (None, {"pageable-copies": 0}),
}


def open_trace(case, name):
    if not name.startswith("matmul"):
        return case.file(f"kineto/{name}.json.gz")
    path = case.scratch / f"{name}.rpd"
    with gzip.open(case.file(f"rpd/{name}.rpd.gz")) as packed, open(path, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


def found(name):
    def check(case):
        first, limits = TRACES[name]
        trace = open_trace(case, name)
        findings = case.findings(trace)
        told = "\n    ".join(f"{one['rule']} {one['gain_ns'] / 1e6:.2f} ms [{one['confidence']}] {one['finding']}" for one in findings)
        if first is not None:
            rule, ms, within = first
            case.expect(f"first is not {rule}:\n    {told}", findings and findings[0]["rule"] == rule)
            if findings and findings[0]["rule"] == rule:
                case.near(f"{rule} ms", ms, findings[0]["gain_ns"] / 1e6, within)
        for one in findings:
            most = limits.get(one["rule"])
            case.expect(f"at most {most} ms: {told}", most is None or one["gain_ns"] / 1e6 <= most)
        longest = max(findings, key=lambda one: one["gain_ns"], default=None)
        if longest is not None and longest["gain_ns"] > 0:
            wall = 100 * longest["gain_ns"] / longest["gain_percent"] / 1e6
            promised = sum(one["gain_ns"] for one in findings if one["confidence"] != "note") / 1e6
            case.expect(f"{promised:.2f} ms promised of a run of {wall:.2f}:\n    {told}", promised <= 1.001 * wall)

    return check


if __name__ == "__main__":
    main({f"findings_{name}": found(name) for name in TRACES})
