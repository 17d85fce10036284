#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`idle`, `busy` and `queues` of programs that know what their GPU waited for.

Beside its own truth, each recording is compared with plain SQLite: a GPU's times add up to the whole, and no call or
range is blamed for more than the time it really took while the GPU stood still.
"""

import bisect
import collections

from truth_case import main

MS = 1e6


# --- intervals
def union(spans):
    joined = []
    for start, end in sorted(spans):
        if joined and start <= joined[-1][1]:
            joined[-1][1] = max(joined[-1][1], end)
        elif end > start:
            joined.append([start, end])
    return joined


def length(spans):
    return sum(end - start for start, end in spans)


def common(spans, start, end):
    """The time that [start, end) shares with disjoint spans in order."""
    shared = 0
    for place in range(max(bisect.bisect_left(spans, [start, start]) - 1, 0), len(spans)):
        if spans[place][0] >= end:
            break
        shared += max(0, min(end, spans[place][1]) - max(start, spans[place][0]))
    return shared


# --- what holds for every trace
def check_sums(case, run):
    """Compares with plain SQL; returns the answer of `idle` and reasons of it as {(cause, what): ms} for one GPU."""
    idle = run.ask("idle", "--limit", "0")
    (first, last), = run.rows("select min(start), max(end) from (select start, end from rocpd_op union all select "
                              "a.start, a.end from rocpd_api a join rocpd_string d on d.id = a.domain_id where d.string "
                              "<> 'rochound')")
    wall = last - first
    busy = collections.defaultdict(list)
    for gpu, start, end in run.rows("select gpuId, start, end from rocpd_op"):
        busy[gpu].append((start, end))
    busy = {gpu: union(spans) for gpu, spans in busy.items()}
    states = collections.defaultdict(collections.Counter)
    for row in idle["causes"]:
        states[row["gpu"]][row["state"]] += row["total_ns"]
    case.equal("idle: GPUs", sorted(busy), sorted(states))
    for gpu, totals in states.items():
        case.equal(f"idle: states of GPU {gpu} add up", wall, sum(totals.values()))
        case.equal(f"idle: busy of GPU {gpu}", length(busy[gpu]), totals["busy"])
    idle_by_cause = collections.defaultdict(collections.Counter)
    blamed = collections.defaultdict(collections.Counter)
    for row in idle["reasons"]:
        idle_by_cause[row["gpu"]][row["cause"]] += row["total_ns"]
        blamed[row["gpu"]][row["what"]] += row["total_ns"]
    for gpu, totals in states.items():
        for state, ns in totals.items():
            if state != "busy":
                case.equal(f"idle: {state} of GPU {gpu}, by reason", ns, idle_by_cause[gpu][state])
    # No call is blamed for more than the time in which it ran and the GPU did not.
    ran = collections.defaultdict(collections.Counter)
    for name, start, end in run.rows("select n.string, a.start, a.end from rocpd_api a join rocpd_string n on n.id = "
                                     "a.apiName_id join rocpd_string d on d.id = a.domain_id where d.string = 'hip'"):
        for gpu, spans in busy.items():
            ran[gpu][name] += end - start - common(spans, start, end)
    for gpu, calls in ran.items():
        for name, ns in calls.items():
            # A function of the program goes on after the call that put it on a stream.
            if "HostFunc" not in name:
                case.expect(f"idle: {name} is blamed for {blamed[gpu][name] / MS:.2f} ms of {ns / MS:.2f}",
                            blamed[gpu][name] <= ns)
    check_queues(case, run, idle, wall)
    first_page = run.json("top", run.path)["answers"]["idle"]["tables"]["causes"]["rows"]
    case.equal("top: states", idle["causes"], first_page)
    if "outside_ms" in run.truth:
        outside = sum(counts["outside HIP"] for counts in states.values()) / MS
        case.expect(f"idle: outside HIP {outside:.2f} ms of {run.truth['outside_ms']:.2f}",
                    outside <= run.truth["outside_ms"] * 1.05 + 1)
    reasons = {(row["cause"], row["what"]): row["total_ns"] / MS for row in idle["reasons"]}
    return idle, reasons


def check_queues(case, run, idle, wall):
    """Of each process's queues: busy time, idle time, depth."""
    pids = dict(run.rows("select session, pid from rochound_process"))
    queues = collections.defaultdict(list)
    for gpu, queue, session, submit, start, end in run.rows(
            "select o.gpuId, o.queueId, o.id >> 32, coalesce(d.submit, c.submit, o.start), o.start, o.end from rocpd_op o "
            "left join rochound_dispatch d on d.op_id = o.id left join rochound_copy c on c.op_id = o.id"):
        queues[gpu, queue, pids.get(session)].append((min(submit, start), start, end))
    rows = {(row["gpu"], row["queue"], row["pid"]): row for row in run.ask("busy", "--limit", "0")["queues"]}
    case.equal("busy: queues", {key: (len(ops), length(union((start, end) for _, start, end in ops)))
                                for key, ops in queues.items()},
               {key: (row["operations"], row["busy_ns"]) for key, row in rows.items()})
    for row in idle["queues"]:
        key = row["gpu"], row["queue"], row["pid"]
        case.equal(f"idle: queue {key}", rows[key]["busy_ns"], row["busy_ns"])
        case.equal(f"idle: queue {key} adds up", wall, sum(value for name, value in row.items()
                                                           if name.endswith("_ns") and name != "wall_ns"))
    for row in run.ask("queues", "--limit", "0")["queues"]:
        ops = queues[row["gpu"], row["queue"], row["pid"]]
        lived = max(end for _, _, end in ops) - min(submit for submit, _, _ in ops)
        depth = sum(end - submit for submit, _, end in ops) / lived if lived else None
        key = row["gpu"], row["queue"], row["pid"]
        if depth is None:
            case.equal(f"queues: depth of {key}", None, row["mean_depth"])
        else:
            case.near(f"queues: mean depth of {key}", depth, row["mean_depth"], part=1e-6)


def steady_cause(idle):
    """The most expensive cause of idle time, one-time cost aside."""
    rows = [row for row in idle["causes"] if row["state"] != "busy" and row["steady_percent"] is not None]
    return max(rows, key=lambda row: row["total_ns"])["state"]


# --- the cases
def idle_sleep_in_range(case):
    run = case.record("idle_host_sleep", "range")
    idle, reasons = check_sums(case, run)
    case.near("outside HIP, host sleep", run.truth["slept_ms"], reasons["outside HIP", "host sleep"])
    case.equal("cause", "outside HIP", steady_cause(idle))
    case.equal("gaps with the range", [5], [row["gaps"] for row in idle["reasons"] if row["what"] == "host sleep"])


def idle_sleep_without_range(case):
    run = case.record("idle_host_sleep", "plain")
    idle, reasons = check_sums(case, run)
    case.near("outside HIP", run.truth["slept_ms"], reasons["outside HIP", ""], least=0.1 * run.truth["outside_ms"])
    case.equal("cause", "outside HIP", steady_cause(idle))


def idle_sleep_clean(case):
    run = case.record("idle_host_sleep", "clean")
    _, reasons = check_sums(case, run)
    case.expect(f"a range that is not there: {reasons}", ("outside HIP", "host sleep") not in reasons)


def idle_waiting_copy(case):
    for mode in ("copy", "sync"):
        run = case.record("idle_waiting_copy", mode)
        _, reasons = check_sums(case, run)
        copy = sum(ms for (_, what), ms in reasons.items() if what == "hipMemcpy")
        case.expect(f"{mode}: hipMemcpy {copy:.2f} of {run.truth['copied_ms']:.2f} ms", copy < run.truth["copied_ms"])
        case.equal(f"{mode}: a copy that waits is no launch", 0, reasons.get(("kernel too short", "hipMemcpy"), 0) +
                   reasons.get(("launch latency", "hipMemcpy"), 0))


def idle_host_function(case):
    for mode in ("queued", "waited"):
        run = case.record("idle_host_function", mode)
        idle, reasons = check_sums(case, run)
        total = sum(ms for (cause, _), ms in reasons.items() if cause == "host function")
        # It is at least what the functions took, and at most the gaps that they ran in: a busy machine calls them late.
        functions = [(run.truth[f"begin_{i}"], run.truth[f"end_{i}"]) for i in range(5)]
        took = sum(end - begin for begin, end in functions)
        busy = union(run.rows("select start, end from rocpd_op"))
        gaps = sum(after[0] - before[1] for before, after in zip(busy, busy[1:])
                   if any(before[1] <= begin * MS and end * MS <= after[0] for begin, end in functions))
        case.expect(f"{mode}: host function {total:.2f} ms, functions {took:.2f}, gaps {gaps / MS:.2f}",
                    took <= total <= gaps / MS)
        case.equal(f"{mode}: cause", "host function", steady_cause(idle))


def idle_host_function_clean(case):
    run = case.record("idle_host_function", "clean")
    _, reasons = check_sums(case, run)
    case.equal("host functions", [], [key for key in reasons if key[0] == "host function"])


def idle_copy_queue(case):
    run = case.record("idle_copy_queue")
    idle, _ = check_sums(case, run)
    # Which queue is barely used is a matter of time: a busy machine may make the copies longer than 1% of the kernels.
    case.expect_time(f"{len(idle['queues'])} queues are used, not 1", len(idle["queues"]) == 1)
    notes = run.answer("idle")["notes"]
    case.expect_time(f"nothing of the queue that is left out: {notes}", any("left out" in note for note in notes))


def idle_first_launch(case):
    run = case.record("idle_first_launch")
    _, reasons = check_first_launch(case, run)
    case.near("set-up by the first launch", run.truth["first_launch_ms"], reasons["one-time initialisation", "hipLaunchKernel"])


def idle_first_launch_stream(case):
    run = case.record("idle_first_launch", "stream")
    _, reasons = check_first_launch(case, run)
    case.near("set-up by the stream", run.truth["create_ms"], reasons["one-time initialisation", "hipStreamCreate"])
    case.near("code loading by the first launch", run.truth["first_launch_ms"], reasons["one-time code loading", "hipLaunchKernel"])


def check_first_launch(case, run):
    idle, reasons = check_sums(case, run)
    truth = run.truth
    short = sum(ms for (cause, _), ms in reasons.items() if cause == "kernel too short")
    case.expect(f"kernel too short {short:.2f} of {truth['launches_ms']:.2f} ms", short <= truth["launches_ms"])
    case.near("outside HIP", truth["slept_ms"], reasons["outside HIP", ""], least=0.1 * truth["outside_ms"])
    steady = [row["steady_percent"] for row in idle["causes"] if row["steady_percent"] is not None]
    case.near("the steady state's shares", 100, sum(steady), part=1e-6)
    return idle, reasons


def idle_processes(case):
    run = case.record("idle_processes")
    check_sums(case, run)
    kernels = collections.Counter()
    for row in run.ask("busy", "--limit", "0")["queues"]:
        kernels[row["pid"]] += row["operations"]
    for count in ("20", "40", "60"):
        # The runtime may launch kernels of its own.
        case.expect(f"{kernels[int(run.truth[count])]} operations for {count} kernels",
                    int(count) <= kernels[int(run.truth[count])] < int(count) + 5)


def idle_unused_gpu(case):
    run = case.record("idle_host_sleep", "clean", gpu="rx6800xt,rx6800xt")
    check_sums(case, run)
    gpus = run.ask("busy")["gpus"]
    case.equal("GPUs", [0, 1], [row["gpu"] for row in gpus])
    case.equal("the second GPU's work", (0, 0, 0), (gpus[1]["operations"], gpus[1]["busy_ns"], gpus[1]["busy_percent"]))


if __name__ == "__main__":
    main({case.__name__: case for case in (
        idle_sleep_in_range, idle_sleep_without_range, idle_sleep_clean, idle_waiting_copy, idle_host_function,
        idle_host_function_clean, idle_copy_queue, idle_first_launch, idle_first_launch_stream,
        idle_processes, idle_unused_gpu)})
