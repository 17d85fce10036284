#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Busy times of PyTorch traces. The truth is TraceLens' gpu_timeline of the same file, or the sum of the file's own
kernel events where that is wrong."""

from silicon_case import main

BUSY_US = {
    "mi300x-timesformer": 119_853,
    "mi300x-bert-small": 390.749,
    "mi300x-vit": 1_716,
    "mi300x-qwen-prefill": 43_062.8,  # TraceLens leaves out 463 kernels whose call is not in the trace
    "mi300x-compile-triton": 12_549.021,
    "mi210-gpu-only": 5_343.37,
    "vllm-decode-graph": 10_717.697,
    "vllm-prefill-piecewise": 156_085.8,
    "sglang-decode-graph": 9_772.9,
}


def busy(name):
    def check(case):
        gpus = case.json("explain", "busy", case.file(f"kineto/{name}.json.gz"))["tables"]["gpus"]["rows"]
        case.near("busy us", BUSY_US[name], sum(gpu["busy_ns"] for gpu in gpus) / 1e3, within=1)

    return check


if __name__ == "__main__":
    main({f"busy_{name}": busy(name) for name in BUSY_US})
