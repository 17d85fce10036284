#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`explain critical-path` about programs that know what they waited for."""

from truth_case import main

KERNEL = "void truth::Spin<{}>(int*, int)"
GPU_TIME = ("kernels", "launch latency", "start after another operation", "return from waiting")


class Path:
    """The path's pieces within the program's range "measured", in milliseconds."""

    def __init__(self, case, run):
        self.pieces = []
        (first, last), = run.rows(
            "SELECT min(start), max(end) FROM (SELECT start, end FROM rocpd_api WHERE domain_id NOT IN "
            "(SELECT id FROM rocpd_string WHERE string = 'rochound') UNION ALL SELECT start, end FROM rocpd_op)")
        ranges = run.rows("SELECT a.start, a.end FROM rocpd_api a JOIN rocpd_ustring u ON u.id = a.args_id "
                          "WHERE u.string = 'measured'")
        tables = run.ask("critical-path", "--limit", "0")
        case.equal("the path's parts add up", last - first, sum(row["total_ns"] for row in tables["attribution"]))
        self.ms = sum(end - start for start, end in ranges) / 1e6
        case.near("the range", run.truth["wall_ms"], self.ms, part=0.1, least=2)
        for row in tables["path"]:
            begin = first + row["at_ns"]
            end = begin + row["piece_ns"]
            ns = sum(max(0, min(end, stop) - max(begin, start)) for start, stop in ranges)
            if ns > 0:
                self.pieces.append((row["what"], row["name"], ns / 1e6))

    def sum(self, *what, name=None):
        return sum(ms for kind, called, ms in self.pieces if kind in what and name in (None, called))

    def kernel(self, number):
        return self.sum("kernels", name=KERNEL.format(number))

    def launches(self, number):
        return sum(1 for kind, name, _ in self.pieces if kind == "kernels" and name == KERNEL.format(number))


def recorded_ms(run, number):
    """How long the kernel ran, by plain SQL."""
    (ms,), = run.rows("SELECT sum(o.end - o.start) / 1e6 FROM rocpd_op o JOIN rocpd_string s ON s.id = o.description_id "
                      f"WHERE s.string = '{KERNEL.format(number)}'")
    return ms


def waits(mode):
    """The kernels are what the program takes its time for, whichever call waits for them."""
    def check(case):
        path = Path(case, case.record("waiting_calls", mode))
        case.equal("launches on the path", 5, path.launches(1))
        case.near("work, launching and returning", path.ms, path.sum(*GPU_TIME), part=0.15)
    return check


def does_not_wait(case):
    run = case.record("waiting_calls", "overlap")
    path = Path(case, run)
    case.near("time in the range", run.truth["host_ms"], path.sum("outside HIP", name="long work"), part=0.1)
    case.near("kernels on the path", 0, path.kernel(1), least=0.05 * path.ms)


def right_gpu(mode):
    def check(case):
        run = case.record("right_gpu", mode, gpu="rx6800xt,rx6800xt")
        path = Path(case, run)
        case.equal("launches on the path", 1, path.launches(1))
        case.near("the first GPU", run.truth["first_ms"], path.sum(*GPU_TIME), part=0.15)
        case.near("the second GPU's kernel", 0, path.kernel(2), least=0.02 * path.ms)
        case.near("the pause", run.truth["slept_ms"], path.sum("outside HIP", name="pause"), part=0.1)
    return check


def rounds_of_threads(case):
    run = case.record("rounds", "threads", gpu="rx6800xt,rx6800xt")
    path = Path(case, run)
    # On a busy machine a shorter kernel may end last in one of the rounds.
    case.expect(f"launches on the path: {path.launches(2)} of 4", path.launches(2) >= 3)
    case.near("kernels", recorded_ms(run, 2), path.kernel(2) + path.kernel(1), part=0.1)
    case.near("the shorter kernels", 0, path.kernel(1), least=0.1 * path.kernel(2))


def rounds_of_processes(case):
    run = case.record("rounds", "processes")
    case.equal("processes", 2, len([name for name in run.truth if name.startswith("kernel_ms")]))
    on_path = sum(row["path_ns"] for row in run.ask("critical-path")["kernels"] if row["name"] == KERNEL.format(1)) / 1e6
    case.near("the kernels of both", recorded_ms(run, 1), on_path, part=0.01)


def ranges(mode, name):
    """Time outside HIP has the name of its range, and not that of a call."""
    def check(case):
        run = case.record("host_work", mode)
        tables = run.ask("critical-path", "--limit", "0")
        outside = sum(row["piece_ns"] for row in tables["path"] if (row["what"], row["name"]) == ("outside HIP", name))
        case.near("time outside HIP", run.truth["ms"], outside / 1e6, part=0.1)
        longest = [row for row in tables["longest"] if row["piece_ns"] > 38e6 and row["what"] == "outside HIP"]
        case.equal("long pieces", [name] * 14, [row["name"] for row in longest])
    return check


def host_function(case):
    run = case.record("stream_waits", "host_function")
    path = Path(case, run)
    functions = path.sum("host functions", name="hipLaunchHostFunc")
    # With the time that the runtime takes to start the function, and then the next kernel.
    case.expect(f"host functions: {functions:.1f} ms, and themselves {run.truth['function_ms']:.1f} ms",
                run.truth["function_ms"] * 0.95 < functions < path.ms - path.kernel(1) - path.kernel(2))
    case.near("kernels and functions", path.ms, path.sum("host functions", *GPU_TIME), part=0.1)


def value_in_memory(case):
    path = Path(case, case.record("stream_waits", "value"))
    case.equal("the writer's kernel", 1, path.launches(1))
    case.equal("the waiting kernel", 1, path.launches(2))
    case.near("both kernels", path.ms, path.sum(*GPU_TIME, "RuntimeKernel"), part=0.15)
    case.near("the wait itself", 0, path.sum("wait for a value"), least=0.1 * path.ms)


def value_written_early(case):
    path = Path(case, case.record("stream_waits", "written_early"))
    case.near("the kernel that could go on at once", 0, path.kernel(2), least=0.05 * path.ms)
    case.equal("the longer kernel", 1, path.launches(1))


if __name__ == "__main__":
    modes = ["sync", "copy", "small_copy", "pageable", "free", "destroy", "event_poll", "stream_poll", "two_polls"]
    main({**{f"path_{mode}": waits(mode) for mode in modes},
          "path_overlap": does_not_wait,
          "path_stream_of_gpu": right_gpu("stream"),
          "path_device_of_gpu": right_gpu("device"),
          "path_threads": rounds_of_threads,
          "path_processes": rounds_of_processes,
          "path_range": ranges("sleep", "prepare batch"),
          "path_started_range": ranges("started", "prepare batch"),
          "path_no_range": ranges("plain", ""),
          "path_host_function": host_function,
          "path_value": value_in_memory,
          "path_value_early": value_written_early})
