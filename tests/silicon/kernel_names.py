# SPDX-License-Identifier: MIT
"""Kernels of PyTorch can be told apart where their names are cut: what differs is deep in their templates."""

import re

from silicon_case import main

TRACES = ["mi300x-resnet-ddp", "mi300x-bert-small", "mi300x-qwen-prefill"]


def names(trace):
    def check(case):
        path = case.file(f"kineto/{trace}.json.gz")
        whole = {row["kernel"] for row in case.json("explain", "top", path)["tables"]["kernels"]["rows"]}
        whole = {name for name in whole if "::" in name}
        page = case.run("top", path, "--rows", 1000)
        shown = set(re.findall(r" x  (\S.*)$", page.split("GPU time by kernel")[1].split("\n\n")[0], re.MULTILINE))
        shown = {name for name in shown if "<" in name or "::" in name}
        case.equal(f"of {len(whole)} kernels of C++, shown alike", 0, len(whole) - len(shown))
        print(f"{trace}: {len(whole)} kernels, {len(shown)} names")

    return check


if __name__ == "__main__":
    main({f"names_{trace}": names(trace) for trace in TRACES})
