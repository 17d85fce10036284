#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Counters of rocprofiler-compute's vcopy on six GPUs. Each launch copies 1048576 doubles: it reads and writes 8388608
bytes, with 4 to 8 vector registers and no LDS, so that the SIMDs are nearly full of waves that wait for memory."""

import csv
import gzip
import json

from silicon_case import main

BYTES = 8_388_608
KERNEL = "vecCopy(double*, double*, double*, int, int)"

# What the same kernel is not limited by, on any of them.
NOT = ("under-occupied", "LDS", "divergence", "compute throughput", "tail")

# GPU, target, whether the file knows how long the launches took. MI300A's and MI300X_A1's times were rounded to 1e9 ns.
SETS = {
    "MI200": ("gfx90a", True),
    "MI300A_A1": ("gfx942", False),
    "MI300X_A1": ("gfx942", False),
    "MI300X_A1_rocpd": ("gfx942", True),
    "MI350": ("gfx950", True),
}

# Cycles of all compute units with a wave over compute units and time: the clock, if the counter counts cycles.
CLOCKS = {"MI100": (120, 1.502), "MI200": (104, 1.7)}


def unpacked(case, folder, name):
    """The file without .gz, in a folder of the case's own."""
    target = case.scratch / folder / name
    target.parent.mkdir(exist_ok=True)
    target.write_bytes(gzip.decompress(case.file(f"counters/{folder}/{name}.gz").read_bytes()))
    return target


def profiled(case, *arguments):
    """What the command prints, and its files."""
    output = case.scratch / "out"
    page = case.run("profile", "--read", *arguments, "-o", output)
    return page, {name: json.loads((output / f"{name}.json").read_text()) for name in ("profile", "analysis")}


def check_counters(case, folder, page, files):
    _, timed = SETS[folder]
    launches = files["profile"]["launches"]
    case.equal("launches", 3, len(launches))
    waves = []
    for number, launch in enumerate(launches):
        metrics = {name: metric["value"] for name, metric in launch["metrics"].items()}
        case.equal("kernel", KERNEL, launch["name"])
        case.near(f"bytes read, launch {number}", BYTES, metrics["memory_read_bytes"] or 0, within=0.002 * BYTES)
        # What is left in L2 of an MI210 when a warm launch ends is written later.
        if number == 0 or folder != "MI200":
            case.near(f"bytes written, launch {number}", BYTES, metrics["memory_written_bytes"], within=0.002 * BYTES)
        case.equal(f"active lanes, launch {number}", 100, metrics["active_lanes"])
        waves.append(metrics.get("waves_per_simd") or 0)
    case.near(f"waves per SIMD of {waves}", 6.25, sum(waves) / 3, within=0.75)
    [kernel] = files["analysis"]["kernels"]
    verdict = kernel["bottleneck"]["primary"]
    case.expect(f"the limit is {verdict}", verdict not in NOT)
    if timed:
        case.expect(f"the limit is {verdict}", verdict in ("memory latency", "memory bandwidth"))
        case.equal("roofline", "memory", kernel["roofline_position"])
    else:
        case.equal("limit without times", "unknown", verdict)
        case.expect("what is missing is not named", "missing: launch.seconds" in page)
    for wrong in ("fewer registers", "less LDS", "(.kd)"):
        case.expect(f"'{wrong}' is said", wrong not in page)


def of_rocprofv3(folder):
    def check(case):
        target, _ = SETS[folder]
        file = unpacked(case, folder, "as-rocprofv3_counter_collection.csv")
        check_counters(case, folder, *profiled(case, file, "--target", target))

    return check


def of_compute(folder):
    """rocprofiler-compute's own folder, which names the target."""
    def check(case):
        names = ["pmc_perf.csv", "sysinfo.csv"]
        if (case.data / f"counters/{folder}/timestamps.csv.gz").exists():
            names.append("timestamps.csv")
        for name in names:
            file = unpacked(case, folder, name)
        check_counters(case, folder, *profiled(case, file.parent))

    return check


def clock(folder):
    """SQ_BUSY_CU_CYCLES counts cycles, not quad-cycles: by it the GPU has its own clock and not four times it."""
    def check(case):
        units, ghz = CLOCKS[folder]
        rows = list(csv.DictReader(unpacked(case, folder, "pmc_perf.csv").open()))
        times = list(csv.DictReader(unpacked(case, folder, "timestamps.csv").open()))
        for row, time in list(zip(rows, times))[1:]:  # the first launch was counted in another run than it was timed
            seconds = 1e-9 * (int(time["End_Timestamp"]) - int(time["Start_Timestamp"]))
            case.near("GHz", ghz, float(row["SQ_BUSY_CU_CYCLES"]) / units / seconds / 1e9, within=0.1)

    return check


def unknown_gpu(case):
    """Nothing is made of the counters of a GPU whose counters we do not know."""
    folder = unpacked(case, "MI100", "pmc_perf.csv").parent
    unpacked(case, "MI100", "sysinfo.csv")
    said = case.run("profile", "--read", folder, "-o", case.scratch / "out", code=1)
    case.equal("page", "", said)


CASES = {f"counters_{folder}": of_rocprofv3(folder) for folder in SETS}
CASES |= {f"counters_{folder}_compute": of_compute(folder) for folder in SETS}
CASES |= {f"counters_{folder}_clock": clock(folder) for folder in CLOCKS}
CASES["counters_MI100_unknown"] = unknown_gpu

if __name__ == "__main__":
    main(CASES)
