#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a memory` says of kernels whose cache lines and LDS cycles are known by construction.

usage: memory.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import tempfile

LANES, WORKGROUP, LINE = 256, 64, 128
WAVE = {"mi300x": 64, "rx6800xt": 32}


def places(source):
    return {match[1]: number for number, line in enumerate(source.read_text().splitlines(), 1)
            if (match := re.search(r"// place (\w+)$", line))}


def expected(wave, size, addresses, pattern):
    """Sums over the waves; hipMalloc's memory begins with a line."""
    lines = needed = used = 0
    for first in range(0, LANES, wave):
        mine = addresses[first:first + wave]
        touched = {byte for address in mine for byte in range(address, address + size)}
        lines += len({byte // LINE for byte in touched})
        needed += -(-len(touched) // LINE)
        used += len(touched)
    return {"accesses": LANES // wave, "lanes": LANES, "bytes": size, "lines": lines, "needed_lines": needed, "used_bytes": used,
            "misaligned": 0, "addresses": pattern}


def expected_lds(wave, size, addresses, pattern, atomic=False):
    """A group of lanes takes a cycle, and one more for each further dword of a bank. Addresses that
    follow each other evenly cost the same in CDNA's crosswise groups."""
    lanes = {4: 32, 16: 8}[size]
    cycles = bank = same = 0
    for first in range(0, WORKGROUP, lanes):
        dwords = [address // 4 + i for address in addresses[first:first + lanes] for i in range(size // 4)]
        deepest = max(len({dword for dword in dwords if dword % 32 == b}) for b in range(32))
        repeats = max(sum(dword % 32 == b for dword in dwords) for b in range(32)) - deepest if atomic else 0
        bank += deepest - 1
        same += repeats
        cycles += deepest + repeats
    return {"space": "lds", "accesses": WORKGROUP // wave, "lanes": WORKGROUP, "bytes": size, "misaligned": 0, "cycles": cycles,
            "bank_conflicts": bank, "address_conflicts": same, "addresses": pattern}


def truth(wave):
    side_by_side = [4 * i for i in range(LANES)]
    written = expected(wave, 4, side_by_side, "side by side")
    known = {}
    for stride in (1, 2, 17, 32, 33):
        name = "side by side" if stride == 1 else f"stride {4 * stride}"
        known[f"Strided<{stride}>", "strided"] = expected(wave, 4, [4 * stride * i for i in range(LANES)], name)
        known[f"Strided<{stride}>", "written"] = written
    known["Backwards", "backwards", "load"] = expected(wave, 4, side_by_side[::-1], "side by side, backwards")
    known["Backwards", "backwards", "store"] = written
    known["Gathered", "gathered", "store"] = written
    known["Gathered", "gathered", "load"] = expected(wave, 4, [4 * (i * i % 4093) for i in range(LANES)], "irregular")
    pairs = expected(wave, 16, [16 * i for i in range(LANES)], "side by side")
    known["Pairs", "pairs"] = known["Pairs", "swapped"] = pairs
    lanes = range(WORKGROUP)
    for stride in (1, 2, 17, 32, 33):
        written = "side by side" if stride == 1 else f"stride {4 * stride}"
        read = "side by side, backwards" if stride == 1 else f"stride {-4 * stride}"
        known[f"Banks<{stride}>", "banks_written", "store"] = expected_lds(wave, 4, [4 * stride * i for i in lanes], written)
        known[f"Banks<{stride}>", "banks_read", "load"] = expected_lds(wave, 4, [4 * stride * i for i in reversed(lanes)], read)
    known["WideBanks", "wide_written", "store"] = expected_lds(wave, 16, [32 * i for i in lanes], "stride 32")
    known["WideBanks", "wide_read", "load"] = expected_lds(wave, 16, [32 * i for i in reversed(lanes)], "stride -32")
    known["SameDword", "counted", "atomic"] = expected_lds(wave, 4, [4 * (i % 2) for i in lanes], "irregular", atomic=True)
    known["SameDword", "broadcast", "load"] = expected_lds(wave, 4, [4 * (i % 2) for i in lanes], "irregular")
    return known


# Of 64 lanes: conflicts of both groups of 32.
KNOWN_CONFLICTS = {1: 0, 2: 2, 17: 0, 32: 62, 33: 0}


def probe(options, *arguments):
    done = subprocess.run([options.rochound, "probe", "-a", "memory", "--softgpu", options.gpu, *arguments, "--", options.program],
                          stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=200, check=False)
    if done.returncode != 0 or "PASS memory" not in done.stdout:
        print(f"exit code {done.returncode}\n{done.stdout[-1000:]}{done.stderr[-2000:]}")
        sys.exit(1)
    return done.stdout


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu", choices=WAVE, required=True)
    parser.add_argument("source", type=pathlib.Path)
    parser.add_argument("program")
    options = parser.parse_args()
    lines = places(options.source)
    with tempfile.TemporaryDirectory(prefix="rochound-probe-") as folder:
        file = pathlib.Path(folder, "memory.jsonl")
        probe(options, "-l", str(file))
        uses = [json.loads(line) for line in file.read_text().splitlines()]
    wrong = sum(truth(64)[f"Banks<{stride}>", "banks_read", "load"]["bank_conflicts"] != conflicts
                for stride, conflicts in KNOWN_CONFLICTS.items())
    for key, wanted in truth(WAVE[options.gpu]).items():
        kernel, place, *action = key
        mangled = re.sub(r"(\w+)<(\d+)>", r"\1ILi\2E", kernel)
        found = [use for use in uses if mangled in use["kernel"] and use["line"] == lines[place] and
                 (not action or use["action"] == action[0]) and use["space"] == wanted.get("space", "global") and use["bytes"] == wanted["bytes"] and
                 # Gathered reads its indices on the same line.
                 (key[:2] != ("Gathered", "gathered") or action[0] == "store" or use["addresses"] == "irregular")]
        if len(found) != 1 or any(found[0][name] != value for name, value in wanted.items()):
            wrong += 1
            print(f"{key}: expected {wanted}\n  found {found}")
    # The worst is first, and is the answer.
    text = probe(options)
    answer = next((line for line in text.splitlines() if "times the cache lines" in line), "")
    if not re.search(rf"memory\.hip:{lines['strided']}:\d+ loads \d+\.\d times .*: stride 1(28|32)\.", answer):
        wrong += 1
        print(f"the answer is: {answer}\n{text}")
    answer = next((line for line in text.splitlines() if "bank conflicts:" in line), "")
    if not re.search(rf"memory\.hip:{lines['banks_written']}:\d+ stores 32\.0 times .*: stride 128\.", answer) and \
       not re.search(rf"memory\.hip:{lines['banks_read']}:\d+ loads 32\.0 times .*: stride -128\.", answer):
        wrong += 1
        print(f"the answer about LDS is: {answer}\n{text}")
    print(f"{len(uses)} places, {wrong} wrong")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
