#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often findings are right that are called sure or likely, over all PyTorch and RPD traces of real GPUs. What is right
was judged by the files' own events; a finding that is not listed is wrong."""

import pathlib

from findings import open_trace
from silicon_case import main

RIGHT = {
    "ddp-4-ranks": {"straggler", "launch-rate", "exposed-communication"},  # rank 3 is last in 21 of 21 collectives
    "ddp-4-ranks-nccl-only": {"straggler"},
    "mi210-gpu-only": {"host-work", "few-workgroups"},  # the longest gaps lie between calls; 64 workgroups, 104 units
    "mi250-minitoy-train": {"code-loading", "host-work"},  # one launch of 6.5 ms, the first of its kernel
    "mi300x-bert-small": {"launch-rate"},
    "mi300x-compile-triton": set(),
    "mi300x-normalization": {"code-loading", "host-work"},
    "mi300x-qwen-prefill": {"host-work"},
    "mi300x-resnet-ddp": {"exposed-communication", "tiny-kernels"},
    "mi300x-timesformer": {"edges"},
    "mi300x-vit": {"launch-rate"},
    "sglang-decode-graph": {"not-recorded"},
    "sglang-prefill": {"not-recorded"},
    "vllm-decode-graph": {"not-recorded"},
    "vllm-prefill-piecewise": {"not-recorded"},
    "matmul_result": {"host-work"},  # 2.7 s between the first copies and the first kernel
    "matmul_result_large": {"lost-records", "host-work", "copies-on-path"},
}
LEAST_PERCENT = {"sure": 99, "likely": 80}


GUIDE = pathlib.Path(__file__).parents[2] / "docs/guides/explain.md"


def calibration(case):
    guide = GUIDE.read_text().splitlines()
    found = [(name, one) for name in RIGHT for one in case.findings(open_trace(case, name))]
    for confidence, least in LEAST_PERCENT.items():
        told = [(name, one) for name, one in found if one["confidence"] == confidence]
        wrong = [f"{name}: {one['rule']}: {one['finding']}" for name, one in told if one["rule"] not in RIGHT[name]]
        print(f"{confidence}: {len(told) - len(wrong)} of {len(told)} right")
        row = f"| silicon | {confidence} | {len(told)} | {len(told) - len(wrong)} |"
        case.expect(f"the guide has no row {row}", row in guide)
        case.expect(f"{confidence}: {len(wrong)} of {len(told)} wrong: {wrong}", 100 * (len(told) - len(wrong)) >= least * len(told))


if __name__ == "__main__":
    main({"calibration": calibration})
