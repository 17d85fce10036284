# SPDX-License-Identifier: MIT
"""What traces say about what they do not hold: parts that were not recorded, ranges, kernels and processes that did not
end, queues of many processes, files that are there already."""

import os
import pathlib
import subprocess
import time

from truth_case import Recording, main


def said(case, run, *words):
    """The first doubt of every answer, the first line of `top` and of `run`'s summary say that the trace is partial."""
    doubts = run.answer("health")["doubts"]
    places = {"health": doubts[0] if doubts else "", "top": run.text("top", run.path).split("\n")[0]}
    lines = [line for line in run.err.split("\n") if line.startswith("! ")]
    places["run's summary"] = lines[0] if lines else ""
    for place, line in places.items():
        for word in ("partial", *words):
            case.expect(f"{place} says {word!r}: {line!r}", word in line)


def unrecorded_ms(run):
    return sum(end - start for start, end in run.rows("select start, end from rochound_unrecorded")) / 1e6


def adds_up(case, run):
    """Nothing that was not recorded is called busy, idle or the program's."""
    wall = run.json("top", run.path)["wall_ns"]
    for row in run.ask("busy")["gpus"]:
        case.equal("busy: wall", wall, row["wall_ns"])
        case.expect(f"busy {row['busy_ns']} of {wall}", 0 <= row["busy_ns"] <= wall)
    path = run.ask("critical-path")["attribution"]
    case.equal("critical path adds up", wall, sum(row["total_ns"] for row in path))
    states = run.ask("overlap")["states"]
    case.equal("overlap adds up", {wall}, {sum(row["total_ns"] for row in states if row["gpu"] == gpu)
                                           for gpu in {row["gpu"] for row in states}})
    return wall / 1e6


def steps_held(run):
    return run.rows("select args from api where domain = 'roctx' and args like 'step %'")


def time_of_steps(run):
    """ms. One follows the other at once."""
    return run.rows("select sum(end - start) from api where domain = 'roctx' and args like 'step %'")[0][0] / 1e6


def complete(case):
    run = case.record("steps", "40")
    case.equal("doubts", [], run.answer("health")["doubts"])
    case.expect("top says complete", run.text("top", run.path).startswith("complete"))
    case.equal("unrecorded", 0.0, unrecorded_ms(run))
    case.equal("unfinished", [], run.rows("select * from rochound_unfinished"))
    case.equal("steps", 40, len(steps_held(run)))
    adds_up(case, run)


def last_time(case):
    run = case.record("steps", "150", run=("--last", "300ms"))
    held = len(steps_held(run))
    case.expect(f"a part of the 150 steps is held: {held}", 0 < held < 150)
    said(case, run, "--last")
    recorded = adds_up(case, run)
    case.near("recorded time", time_of_steps(run), recorded, part=0.1, least=5 * time_of_steps(run) / held)
    case.near("what was not recorded", run.truth["wall_ms"] - recorded, unrecorded_ms(run), part=0.2, least=200)


def last_size(case):
    run = case.record("steps", "150", run=("--last", "64KiB"))
    held = len(steps_held(run))
    case.expect(f"a part of the 150 steps is held: {held}", 0 < held < 150)
    said(case, run, "--last")
    recorded = adds_up(case, run)
    case.near("recorded time", time_of_steps(run), recorded, part=0.1, least=5 * time_of_steps(run) / held)


def only_in_range(case):
    run = case.record("steps", "60", run=("--range", "odd"))
    said(case, run, "ranges")
    recorded = adds_up(case, run)
    odd = run.rows("select count(*), sum(end - start) from api where domain = 'roctx' and args = 'odd'")[0]
    case.equal("ranges", 30, odd[0])
    case.near("recorded time", odd[1] / 1e6, recorded, part=0.05, least=2)
    # Kernels of the ranges start and end inside of them.
    kernels = run.rows("select sum(end - start) from rocpd_op")[0][0]
    busy = run.ask("busy")["gpus"][0]
    case.near("busy", kernels / 1e6, busy["busy_ns"] / 1e6, part=0.01)
    case.near("busy, percent", kernels / 1e4 / recorded, busy["busy_percent"], part=0.01)
    case.equal("ranges around it are not there", 0, len(steps_held(run)))


def ran_after_range(case):
    """The kernels' times are in the trace, and not within the times that were recorded."""
    run = case.record("launched_ahead", run=("--range", "forward"))
    kernels, = run.rows("select count(*), sum(end - start) / 1e6 from rocpd_op")
    case.equal("kernels", 40, kernels[0])
    case.near("their time", run.truth["kernels_ms"], kernels[1], part=0.1)
    notes = " ".join(run.json("explain", run.path)["notes"])
    case.expect(f"it is told where they ran: {notes}", "was launched in the times that were recorded and ran outside" in notes)
    case.expect(f"times are said to be missing: {notes}", "not in this trace" not in notes)


def ran_in_range(case):
    run = case.record("launched_ahead", "waits", run=("--range", "forward"))
    notes = " ".join(run.json("explain", run.path)["notes"])
    case.expect(f"nothing can be said: {notes}", "nothing can be said" not in notes)


def delay(case):
    run = case.record("steps", "100", run=("--delay", "500ms"))
    said(case, run, "--delay")
    adds_up(case, run)
    # A busy machine may let the recorder's thread wait.
    case.expect(f"not recorded: {unrecorded_ms(run)} of 500 ms", 500 <= unrecorded_ms(run) < 800)
    first = min(int(args.split()[1]) for args, in steps_held(run))
    case.expect(f"the first step held is {first}", first > 0)
    case.equal("every step after it", 100 - first, len(steps_held(run)))


def duration(case):
    run = case.record("steps", "100", run=("--duration", "500ms"))
    said(case, run, "--duration")
    case.near("recorded", 500, adds_up(case, run), part=0.25, least=150)
    held = steps_held(run)
    case.equal("every step up to it", [f"step {i}" for i in range(len(held))], [args for args, in held])
    longest = run.rows("select max(end - start) from api where domain = 'roctx'")[0][0] / 1e6
    case.expect(f"longest range {longest:.1f} ms", longest <= run.truth["longest_step_ms"] + 1)


def stop_and_start(case):
    run = case.record("steps", "90", "self", run=("--start-off",))
    said(case, run, "stopped")
    adds_up(case, run)
    pauses = run.rows("select (end - start) / 1e6 from rochound_unrecorded where why = 'it was stopped' order by start")
    case.expect(f"pauses {pauses}", len(pauses) >= 1)
    case.near("the pause", run.truth["stopped_ms"], pauses[0][0], part=0.05, least=2)
    case.equal("steps", 60, len(steps_held(run)))
    longest = run.rows("select max(end - start) from api where domain = 'roctx'")[0][0] / 1e6
    case.expect(f"longest range {longest:.1f} ms", longest <= run.truth["longest_step_ms"] + 1)


def stopped_from_outside(case):
    """ctl stop and start between steps: no step is closed by another one's end; a range around all of them stays one."""
    trace = case.folder / "ctl.rpd"
    child = subprocess.Popen([case.options.rochound, "softgpu", "--gpu", "rx6800xt", "--", case.options.rochound, "run",
                              "-o", trace, "--", case.program("steps"), "300", "epoch"], cwd=case.folder, text=True,
                             stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    # It can be stopped once it uses the GPU, and is to be in the middle of its steps then.
    deadline = time.monotonic() + 30
    while case.rochound("ctl", "status", "--tree", child.pid)[0] != 0 and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(1)
    stopped = case.rochound("ctl", "stop", "--tree", child.pid)
    time.sleep(0.5)
    started = case.rochound("ctl", "start", "--tree", child.pid)
    out, err = child.communicate(timeout=60)
    case.equal("exit codes", (0, 0, 0), (stopped[0], started[0], child.returncode))
    run = Recording(case, trace, (child.returncode, out, err))
    said(case, run, "stopped")
    adds_up(case, run)
    ranges = dict(run.rows("select args, (end - start) / 1e6 from api where domain = 'roctx'"))
    case.near("epoch", run.truth["wall_ms"], ranges.get("epoch", 0), part=0.05, least=5)
    longest = max(ms for name, ms in ranges.items() if name.startswith("step"))
    case.expect(f"longest step {longest:.1f} ms, {run.truth['longest_step_ms']:.1f} in truth",
                longest <= run.truth["longest_step_ms"] + 1)


def killed(case):
    run = case.record("steps", "20", "kill", code=None)
    doubts = " ".join(run.answer("health")["doubts"])
    case.expect(f"health says killed: {doubts}", "killed" in doubts)
    case.expect("top says so", "killed" in run.text("top", run.path).split("\n")[0])
    case.equal("steps", 20, len(steps_held(run)))


def ranges_left_open(case):
    run = case.record("steps", "20", "open")
    ranges = dict(run.rows("select args, (end - start) / 1e6 from api where domain = 'roctx'"))
    case.near("of a dead thread", 40, ranges["of a dead thread"], part=0.2, least=10)
    case.near("never popped", run.truth["wall_ms"], ranges["never popped"], part=0.3, least=200)
    open_ranges = run.rows("select a.args from rochound_unfinished u join api a on a.id = u.id where u.what = 'range' order by 1")
    case.equal("unfinished", [("never popped",), ("of a dead thread",)], open_ranges)


def hang(case):
    run = case.record("hang", "3", code=None)
    waited = run.truth["waited_ms"]
    kernels = run.rows("select s.string, (o.end - o.start) / 1e6, (o.end - d.submit) / 1e6 from rochound_unfinished u "
                       "join rocpd_op o on o.id = u.id join rochound_dispatch d on d.op_id = o.id "
                       "join rocpd_string s on s.id = o.description_id where u.what = 'kernel' order by d.submit")
    case.equal("unfinished kernels", 2, len(kernels))
    case.expect(f"the first is WaitForEver: {kernels[0][0]}", "WaitForEver" in kernels[0][0])
    case.near("it runs to the end", waited, kernels[0][1], part=0.05, least=50)
    case.near("submitted before the end", waited, kernels[0][2], part=0.05, least=50)
    case.near("the one after it never ran", 0, kernels[1][1], least=0.001)
    wall = run.json("top", run.path)["wall_ns"] / 1e6
    case.expect(f"the trace is as long as the run: {wall:.0f} of {waited:.0f} ms", wall >= waited * 0.98)
    code, out, err = case.rochound("doctor", "--ran", run.path)
    case.expect(f"doctor's exit code: {code}", code != 0)
    line = [one for one in out.split("\n") if "WaitForEver" in one]
    case.expect(f"doctor --ran names it: {out}", bool(line) and "never finished" in line[0] and "3.0" in line[0])
    case.expect("doctor does not blame the host", "CPU was busy" not in out and "host computed" not in out)


def hang_interrupted(case):
    """As a user ends it: Ctrl-C."""
    run = case.record("hang", "0", code=None, interrupt_after=4)
    code, out, err = case.rochound("doctor", "--ran", run.path)
    case.expect(f"doctor --ran names it: {out}", "WaitForEver" in out and "never finished" in out)
    wall = run.json("top", run.path)["wall_ns"] / 1e6
    case.expect(f"the trace is as long as the run: {wall:.0f} ms", 2000 < wall < 4500)


def queues_of_processes(case):
    run = case.record("many_processes", "64")
    case.equal("failed", 0, run.truth["failed"])
    owners = run.rows("select queueId, count(distinct id >> 32) from rocpd_op group by gpuId, queueId")
    case.equal("each queue has one owner", {1}, {count for _, count in owners})
    kernels = run.rows("select count(distinct o.queueId), count(*) from rocpd_op o join rocpd_string t on t.id = o.opType_id "
                       "where t.string = 'KernelExecution'")[0]
    case.equal("queues and kernels", (64, 640), kernels)
    known = run.rows("select count(*) from rocpd_op o join rochound_queue q on q.queueId = o.queueId and q.session = o.id >> 32")
    case.expect(f"queues are described: {known}", known[0][0] >= 640)
    deepest = max(row["max_depth"] for row in run.ask("queues")["queues"])
    case.expect(f"greatest depth {deepest}", deepest <= 12)
    rows = run.ask("busy")["queues"]
    case.expect("busy shows whose queue it is", all(row["pid"] for row in rows))
    case.equal("busy: queues of kernels", 64, len({row["pid"] for row in rows}))


def read_only_folder(case):
    folder = pathlib.Path("/proc/self")  # nobody can make a file there, root neither
    code, out, err = case.rochound("softgpu", "--gpu", "rx6800xt", "--", case.options.rochound, "run", "-o", folder / "x.rpd",
                                   "--", case.program("steps"), "2")
    case.equal("exit code", 125, code)
    case.expect("the program ran", "TRUTH" in out)
    case.expect(f"and it is said that nothing is recorded: {err}", "nothing is recorded" in err)


def earlier_trace_stays(case):
    program = [case.program("steps"), "2"]
    run = ["softgpu", "--gpu", "rx6800xt", "--", case.options.rochound, "run"]
    trace = case.folder / "trace.rpd"
    trace.write_text("an earlier one")
    code, out, err = case.rochound("run", "--softgpu", "rx6800", "--", *program)
    case.equal("a misspelt GPU", 2, code)
    case.expect(f"is named: {err}", "rx6800" in err and "TRUTH" not in out)
    case.equal("and nothing is touched", ["trace.rpd"], sorted(os.listdir(case.folder)))
    code, out, err = case.rochound(*run, "--", *program)
    case.equal("the new one has a number", (0, "an earlier one"), (code, trace.read_text()))
    case.expect(f"which is said: {err}", "trace.1.rpd" in err and (case.folder / "trace.1.rpd").exists())
    code, out, err = case.rochound(*run, "-o", "trace.rpd", "--", *program)
    case.equal("a name that was asked for is the new one's", (0, "an earlier one"),
               (code, (case.folder / "trace.2.rpd").read_text()))
    code, out, err = case.rochound(*run, "--force", "--", *program)
    case.equal("--force overwrites", (0, ["trace.1.rpd", "trace.2.rpd", "trace.rpd"]), (code, sorted(os.listdir(case.folder))))


def units(case):
    for text in ("500MS", "2M", "5h"):
        for option in ("--delay", "--duration", "--last"):
            code, out, err = case.rochound("run", option, text, "--", case.program("steps"), "1")
            case.equal(f"{option} {text}", 2, code)
            case.expect(f"{option} {text} is said: {err}", text in err)


if __name__ == "__main__":
    main({"partial." + name: check for name, check in {
        "complete": complete, "last_time": last_time, "last_size": last_size, "only_in_range": only_in_range,
        "ran_after_range": ran_after_range, "ran_in_range": ran_in_range,
        "delay": delay, "duration": duration, "stop_and_start": stop_and_start,
        "stopped_from_outside": stopped_from_outside, "killed": killed, "ranges_left_open": ranges_left_open,
        "hang": hang, "hang_interrupted": hang_interrupted, "queues_of_processes": queues_of_processes,
        "read_only_folder": read_only_folder, "earlier_trace_stays": earlier_trace_stays, "units": units,
    }.items()})
