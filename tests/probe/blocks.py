#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a blocks` says of kernels whose lanes go different ways, and of the same where waves agree. Then the
blocks of each wave, in order and lane by lane, against the stores that the software GPU saw.

usage: blocks.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import collections
import json
import pathlib
import re
import subprocess
import sys

import analyzer
import exact

ITEMS, GROUPS, PART = 128, 3, 4096 * 4
WAVE = {"mi300x": 64, "rx6800xt": 32, "rx7900xtx": 32, "rx9070xt": 32}
# The part of the memory in which each place stores, and how often.
STORES = {"two_some": (0, 1), "two_others": (1, 1), "loop_body": (2, 1), "switch_0": (3, 2), "switch_1": (4, 1), "switch_2": (5, 1),
          "switch_3": (6, 1), "called": (7, 1), "part": (8, 1)}


def truth(size):
    """Kernel and place: executions, lanes, and after how many of them lanes go different ways (None: there is no branch)."""
    waves = GROUPS * ITEMS // size
    one = waves // GROUPS  # of one workgroup
    return {
        ("Two<false>", "two_some"): (waves, waves * size // 4, None),
        ("Two<false>", "two_others"): (waves, waves * size * 3 // 4, None),
        ("Two<true>", "two_some"): (one, one * size, None),
        ("Two<true>", "two_others"): (2 * one, 2 * one * size, None),
        # Nobody leaves after the last round but one, all leave after the last.
        ("Loop<false>", "loop_body"): (8 * waves, waves * size // 8 * 36, 7 * waves),
        ("Loop<true>", "loop_body"): (5 * waves, 5 * waves * size, 0),
        **{("Switch<false>", f"switch_{i}"): (waves, waves * size // 4, None) for i in range(4)},
        **{("Switch<true>", f"switch_{i}"): (one, one * size, None) for i in range(3)},
        ("Calls<false>", "called"): (waves, waves * size // 2, None),
        ("Calls<true>", "called"): (waves, waves * size, None),
        ("Part", "part"): (1, 20, None),
    }


def kernel_of(symbol):
    name, same = re.search(r"_GLOBAL__N_1\d+([A-Z][a-z]+)(ILb[01]E)?", symbol).groups()
    return name + {"ILb0E": "<false>", "ILb1E": "<true>", None: ""}[same]


def compare_with_stores(test):
    folder = pathlib.Path(test.folder.name)
    done = subprocess.run([test.rochound, "softgpu", "--gpu", test.gpu, "--accesses", str(folder / "truth"), "--", test.rochound, "probe",
                           "-l", str(folder / "messages.jsonl"), "--", test.program], capture_output=True, text=True, timeout=200, check=True)
    data = int(re.search(r"data 0x(\w+)", done.stdout)[1], 16)
    seen = collections.defaultdict(list)
    for kernel, waves in exact.read_truth(folder / "truth", ()).items():
        for wave, (accesses, _) in waves.items():
            for access in accesses:
                part = (access.addresses[0] - data) // PART if access.addresses else -1
                if access.action == "store" and 0 <= part < len(STORES):
                    seen[kernel, *wave].append((part, access.mask))
    told = collections.defaultdict(list)
    stores = {test.lines[place]: where for place, where in STORES.items()}
    for line in (folder / "messages.jsonl").read_text().splitlines():
        message = json.loads(line)
        part, count = stores.get(message["at"][-1]["line"] if message["at"] else 0, (0, 0))  # not HIP's own header
        told[message["kernel"], message["group_number"], message["wave"]] += count * [(part, int(message["mask"], 16))]
    told = {wave: blocks for wave, blocks in told.items() if blocks}
    seen = {wave: blocks for wave, blocks in seen.items() if not wave[0].startswith("__amd")}
    test.require(len(told) > 20 and told == seen, "\n".join(
        f"{wave}\n  blocks: {told.get(wave)}\n  stores: {seen.get(wave)}" for wave in told | seen if told.get(wave) != seen.get(wave)))


def main():
    test = analyzer.Test("blocks")
    places = {line: place for place, line in test.lines.items()}
    wanted = truth(WAVE[test.gpu])
    blocks = test.json()
    test.equal({(kernel_of(block["kernel"]), places[block["line"]]): (block["executions"], block["lanes"], block.get("branch", {}).get("split"))
                for block in blocks if places.get(block["line"]) in STORES}, wanted)
    test.require(all(0 < block["cycles"] < 10**9 and block["lanes"] <= block["possible_lanes"] for block in blocks))
    # Each branch at which lanes disagree, and no other one.
    waves = GROUPS * ITEMS // WAVE[test.gpu]
    split = {(kernel_of(block["kernel"]), block["branch"]["line"]): block["branch"]["split"]
             for block in blocks if block.get("branch", {}).get("split")}
    test.equal(split, {("Two<false>", test.lines["two_branch"]): waves, ("Loop<false>", test.lines["loop_branch"]): 7 * waves,
                       ("Switch<false>", test.lines["switch_branch"]): waves, ("Calls<false>", test.lines["calls_branch"]): waves})
    table = test.table().splitlines()
    test.require(table[0].startswith("Divergence: ") and f":{test.lines['loop_branch']}:" in table[1] and f" {7 * waves} of " in table[1])
    clean = test.table("-k", "<true>|Part")
    test.require(clean.startswith("No divergence: "), clean)
    # Filters: half of the lanes.
    half = pathlib.Path(test.folder.name, "half")
    test.run("--keep", str(half), "--lanes", "5555", "--drop", "-a", "blocks", "--softgpu", test.gpu, "--", test.program)
    two = [block["lanes"] for block in test.json("-k", "Two<false>", kept=half) if places.get(block["line"]) == "two_others"]
    test.require(two == [waves * 8], f"--lanes 5555: {two}")
    # Questions that such a program cannot answer.
    for name in ("memory", "races", "bounds", "uninit", "heatmap"):
        nothing = test.start("read", str(test.kept), "-a", name)
        test.require((nothing.returncode, nothing.stdout) == (125, "") and "not --blocks" in nothing.stderr, f"-a {name}: {nothing}")
    compare_with_stores(test)
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
