# SPDX-License-Identifier: MIT
"""What the report, `explain memory`, `explain callstack` and the CSV export say about programs of truth/."""

import csv
import json
import re

from truth_case import Case, main  # noqa: F401


def embedded(run, *options):
    """The JSON that a report's page is made of."""
    page = run.path.with_suffix(".html")
    run.text("report", run.path, "-o", page, *options)
    found = re.search(r'<script type="application/json" id="report-data">(.*?)</script>', page.read_text(), re.DOTALL)
    return json.loads(found.group(1))


def by_device(rows, device, **wanted):
    return [row for row in rows if row["device"] == device and all(row[key] == value for key, value in wanted.items())]


def memory_steady(case):
    run = case.record("memory_held", "steady")
    answer = run.answer("memory", "--limit", "0")
    memory = {name: table["rows"] for name, table in answer["tables"].items()}
    gpu, = by_device(memory["devices"], "GPU 0")
    held = by_device(memory["peak"], "GPU 0", call="hipMalloc")
    case.equal("held by hipMalloc at the peak", [run.truth["peak_bytes"]], [row["held_bytes"] for row in held])
    # The runtime has memory of its own on the GPU.
    case.expect(f"the GPU's peak is {gpu['peak_bytes']}", 0 <= gpu["peak_bytes"] - run.truth["peak_bytes"] < 64 << 20)
    case.equal("held on the host by hipHostMalloc", [run.truth["pinned_bytes"]],
               [row["held_bytes"] for row in by_device(memory["peak"], "host", call="hipHostMalloc")])
    case.equal("hipMalloc without hipFree", [], by_device(memory["never_freed"], "GPU 0", call="hipMalloc"))
    case.equal("what grows", [], [row for row in memory["never_freed"] if row["keeps_growing"] != "no"])
    case.expect(f"says {answer['notes'][0]}", answer["notes"][0].endswith("Nothing keeps growing."))
    over_time = by_device(memory["over_time"], "GPU 0")
    case.equal("the highest point over time", gpu["peak_bytes"], max(row["held_bytes"] for row in over_time))
    # After the peak it holds the weights and one scratch buffer, for most of the time.
    later = [row["held_bytes"] for row in over_time if row["since_start_ns"] > gpu["peak_at_ns"] * 1.1]
    case.near("later", gpu["peak_bytes"] - (22 << 20), max(later), part=0.01)


def memory_leak(case):
    run = case.record("memory_held", "leak")
    answer = run.answer("memory", "--limit", "0")
    memory = {name: table["rows"] for name, table in answer["tables"].items()}
    leak = by_device(memory["never_freed"], "GPU 0", call="hipMalloc")
    case.equal("leaked", [(run.truth["leaked_bytes"], 12, "yes")],
               [(row["held_bytes"], row["allocations"], row["keeps_growing"]) for row in leak])
    case.expect(f"says {answer['notes'][0]}", "Keeps growing: hipMalloc on GPU 0 (12." in answer["notes"][0])
    report = embedded(run)
    case.expect("the report has a page about memory", any(a["question"] == "memory" for a in report["answers"]))


def lanes_of_streams(case):
    run = case.record("lanes")
    tracks = embedded(run)["timeline"]["tracks"]
    gpu = {track["title"]: sum(track["rows"]) for track in tracks if track["kind"] == "gpu"}
    launches = int(run.truth["launches"])
    expected = {f"Stream {i + 1}": launches + (i == 0) for i in range(int(run.truth["streams"]))}
    expected |= {"Default stream": 1, f"Stream {int(run.truth['streams']) + 1}": launches}
    case.equal("operations by stream", expected, gpu)
    queues = run.rows("select count(distinct queueId) from rocpd_op")[0][0]
    case.expect(f"{queues} queues are fewer than the streams", queues < len(gpu))
    by_queue = [sum(track["rows"]) for track in embedded(run, "--by-queue")["timeline"]["tracks"] if track["kind"] == "gpu"]
    case.equal("operations by queue", sorted(row[0] for row in run.rows("select count(*) from rocpd_op group by gpuId, queueId")),
               sorted(by_queue))
    threads = [track["title"] for track in tracks if track["kind"] == "thread"]
    case.expect(f"threads: {threads}", any(re.fullmatch(r"loader \(\d+\)", title) for title in threads))


def tables_of_stacks(run):
    return run.rows("select count(*) from sqlite_master where name = 'ext_callstack'")[0][0]


def flame_of_stacks(case):
    run = case.record("lanes", run=["--stacks"])
    launches = int(run.truth["launches"]) * int(run.truth["streams"])
    before = run.path.read_bytes()
    callstack = run.ask("callstack", "--limit", "0")
    case.expect("an answer leaves the trace as it is", run.path.read_bytes() == before)
    case.equal("a trace without --write has RPD's table of call stacks", 0, tables_of_stacks(run))
    run.text("explain", "callstack", run.path, "--write")
    case.equal("a trace with --write has it", 1, tables_of_stacks(run))
    functions = {row["function"]: row for row in callstack["functions"]}
    forward = f"Forward(ihipStream_t*) (lanes.hip:{int(run.truth['line'])})"
    case.expect(f"no {forward} in {sorted(functions)}", forward in functions)
    if forward in functions:
        # A launch is three calls: it pushes and pops its configuration.
        case.equal("calls below Forward", 3 * launches, functions[forward]["calls"])
    train = [name for name in functions if name.startswith("Train(")]
    case.expect(f"Train is {train}", len(train) == 1 and "(lanes.hip:" in train[0])
    work = run.rows("select sum(o.end - o.start) from rocpd_op o join rocpd_string s on s.id = o.description_id "
                    "where s.string like '%Spin<1>%'")[0][0]
    case.equal("GPU time below Train", work, functions[train[0]]["gpu_inclusive_ns"])
    paths = [row["path"] for row in callstack["paths"]]
    case.expect(f"no path through both in {paths}",
                any(re.fullmatch(rf"main \(lanes\.hip:\d+\) > {re.escape(train[0])} > {re.escape(forward)} > hipLaunchKernel", path)
                    for path in paths))
    # A sleep is time of the host, and is not called CPU time.
    sleep, = [row for row in callstack["names"] if row["name"] == "host sleep"]
    case.near("the sleep", run.truth["sleep_ms"], sleep["host_inclusive_ns"] / 1e6)
    case.equal("columns that say CPU", [], [column for column in sleep if "cpu" in column])

    flame = embedded(run)["flame"]
    calls = run.rows("select count(*) from rocpd_api a join rocpd_string d on d.id = a.domain_id "
                     "join rocpd_string n on n.id = a.apiName_id "
                     "where d.string <> 'rochound' and n.string <> 'UserRange'")[0][0]
    case.equal("flame graph: calls of all threads", calls, flame["below"][0])
    case.expect("flame graph: Forward is a box", forward in flame["names"])


def flat_tables(case):
    run = case.record("lanes")
    folder = run.path.with_suffix(".csv")
    run.text("convert", run.path, "-o", folder)

    def read(name):
        with open(folder / f"{name}.csv", newline="") as file:
            return list(csv.DictReader(file))

    kernels = [row for row in read("kernel_trace") if "Spin<" in row["Kernel_Name"]]
    launches, streams = int(run.truth["launches"]), int(run.truth["streams"])
    counted = {}
    for row in kernels:
        key = re.search(r"Spin<(\d)>", row["Kernel_Name"]).group(1), int(row["Stream_Id"])
        counted[key] = counted.get(key, 0) + 1
    case.equal("kernels by name and stream", {("0", 0): 1, ("2", streams + 1): launches,
                                              **{("1", i + 1): launches for i in range(streams)}}, counted)
    times = sorted(run.rows("select o.start, o.end from rocpd_op o join rocpd_string s on s.id = o.description_id "
                            "where s.string like '%Spin<%'"))
    case.equal("times", times, [(int(row["Start_Timestamp"]), int(row["End_Timestamp"])) for row in kernels])
    case.equal("sizes", {("64", "1", "64", "1")},
               {(row["Grid_Size_X"], row["Grid_Size_Y"], row["Workgroup_Size_X"], row["Workgroup_Size_Z"]) for row in kernels})
    calls = {row["Correlation_Id"]: row for row in read("hip_api_trace")}
    case.equal("calls", run.rows("select count(*) from rocpd_api a join rocpd_string d on d.id = a.domain_id "
                                 "where d.string = 'hip'")[0][0], len(calls))
    case.equal("the kernels' calls", {"hipLaunchKernel"}, {calls[row["Correlation_Id"]]["Function"] for row in kernels})
    case.equal("their threads", [], [row for row in kernels if row["Thread_Id"] != calls[row["Correlation_Id"]]["Thread_Id"]])
    case.equal("ranges", ["host sleep"], [row["Function"] for row in read("marker_api_trace")])
    allocated = [int(row["Allocation_Size"]) for row in read("memory_allocation_trace") if row["Operation"].endswith("_ALLOCATE")]
    case.equal("allocations", run.rows("select count(*), sum(size) from rochound_allocation")[0],
               (len(allocated), sum(allocated)))


if __name__ == "__main__":
    main({case.__name__: case for case in
          (memory_steady, memory_leak, lanes_of_streams, flame_of_stacks, flat_tables)})
