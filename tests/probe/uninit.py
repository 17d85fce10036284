#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a uninit` says of kernels that read LDS which nobody has written, and of the same without that.

usage: uninit.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import pathlib
import re
import sys

import analyzer

ITEMS, GROUPS = 256, 2
# Kernel, place, action, lanes, workgroups.
TRUTH = [
    ("BorderILb0E", "border", "load", GROUPS, GROUPS),
    # One instruction of 32 lanes is the first that touches the 8 counters.
    ("HistogramILb0E", "histogram", "atomic", GROUPS * 32, GROUPS),
    ("HalvesILb0E", "halves", "load", GROUPS * ITEMS, GROUPS),
]
# Lanes that read what no kernel, copy or fill has written: by who has written the rest. The other four writers wrote all.
ON_DEVICE = {"kNobody": ITEMS, "kKernel": ITEMS // 2, "kCopy": ITEMS - 100, "kOldOwner": ITEMS}


def main():
    test = analyzer.Test("uninit")
    found = sorted((read["line"], read["action"], read["lanes"], read["groups"]) for read in test.json() if read["space"] == "lds")
    test.equal(found, sorted((test.lines[place], action, lanes, groups) for _, place, action, lanes, groups in TRUTH))
    for kernel, place, *_ in TRUTH:
        test.require(all(kernel in read["kernel"] for read in test.json() if read["line"] == test.lines[place]), f"{kernel} is not named")
    test.require(f"uninit.hip:{test.lines['halves']}:" in test.table().splitlines()[0])
    on_device = {(list(ON_DEVICE)[int(re.search(r"WriterE(\d)E", read["kernel"])[1])], read["line"]): read["lanes"]
                 for read in test.json() if read["space"] == "global"}
    test.equal(on_device, {(writer, test.lines["read"]): lanes for writer, lanes in ON_DEVICE.items()})
    test.require(f"uninit.hip:{test.lines['read']}:" in test.table().splitlines()[1] and "device memory that nobody" in test.table())
    clean = test.table("-k", "<true>")
    test.require(clean.startswith("Every read of LDS finds") and "\nEvery read of device memory finds" in clean, clean)
    # What was kept for another analyzer does not say who else has written, and with some lanes nobody knows.
    other = pathlib.Path(test.folder.name, "other")
    test.run("--keep", str(other), "-a", "races", "--softgpu", test.gpu, "--", test.program)
    test.require("\nDevice memory is not judged: " in "\n" + test.table(kept=other) and
                 not [read for read in test.json(kept=other) if read["space"] == "global"], test.table(kept=other))
    lanes = test.start("-a", "uninit", "--lanes", "1", "--softgpu", test.gpu, "--", test.program)
    test.require(lanes.returncode == 2 and "--lanes" in lanes.stderr, f"{lanes}")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
