#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""counter_rows.py FOLDER OUTPUT: pmc_perf.csv of rocprofiler-compute, a row for each launch or, from rocpd, for each
counter, as rocprofv3's counter_collection.csv. Times are those of timestamps.csv, if that is there."""

import csv
import pathlib
import re
import sys

COLUMNS = ["Correlation_Id", "Dispatch_Id", "Agent_Id", "Queue_Id", "Process_Id", "Thread_Id", "Grid_Size", "Kernel_Id",
           "Kernel_Name", "Workgroup_Size", "LDS_Block_Size", "Scratch_Size", "VGPR_Count", "Accum_VGPR_Count", "SGPR_Count",
           "Counter_Name", "Counter_Value", "Start_Timestamp", "End_Timestamp"]
# Columns of pmc_perf.csv that are no counters.
OF_LAUNCH = {"Dispatch_ID", "GPU_ID", "Grid_Size", "Workgroup_Size", "LDS_Per_Workgroup", "Scratch_Per_Workitem", "Arch_VGPR",
             "Accum_VGPR", "SGPR", "Wave_Size", "Kernel_Name", "Correlation_ID", "Kernel_ID", "Start_Timestamp",
             "End_Timestamp", "XCC_Index", "Node", "PID", "TID"}


def counters(launch):
    """Names and values. A channel's counter, TCC_HIT[3], has its channels' common name; of a counter that several passes
    have, NAME and NAME_1, the first counts."""
    if "Counter_Name" in launch:
        yield launch["Counter_Name"], float(launch["Counter_Value"])
        return
    seen = set()
    for column, text in launch.items():
        of_pass = re.sub(r"_\d+$", "", column)
        if column in OF_LAUNCH or of_pass in OF_LAUNCH or not text:
            continue
        channel = re.fullmatch(r"([A-Z0-9a-z_]+)\[\d+\]", column)
        if not channel and of_pass != column and of_pass in seen:
            continue
        seen.add(column)
        try:
            yield channel.group(1) if channel else column, float(text)
        except ValueError:
            pass


def whole(text):
    return int(text) if text.isdigit() else int(float(text))


def main(folder, output):
    folder = pathlib.Path(folder)
    times = {}
    if (folder / "timestamps.csv").exists():
        times = {row["Dispatch_ID"]: row for row in csv.DictReader((folder / "timestamps.csv").open())}
    with open(output, "w", newline="") as file:
        rows = csv.writer(file, quoting=csv.QUOTE_NONNUMERIC)
        rows.writerow(COLUMNS)
        for launch in csv.DictReader((folder / "pmc_perf.csv").open()):
            def number(column):
                return whole(launch[column])

            time = times.get(launch["Dispatch_ID"], launch)
            start, end = (whole(time.get(name) or launch.get(name) or "0") for name in ("Start_Timestamp", "End_Timestamp"))
            for name, value in counters(launch):
                rows.writerow([0, number("Dispatch_ID"), "Agent " + launch["GPU_ID"], 1, 1, 1, number("Grid_Size"), 0,
                               launch["Kernel_Name"], number("Workgroup_Size"), number("LDS_Per_Workgroup"), 0,
                               number("Arch_VGPR"), number("Accum_VGPR"), number("SGPR"), name, value, start, end])


main(*sys.argv[1:])
