# SPDX-License-Identifier: MIT
"""How a run ended: what had finished, what ended it, and that nothing is called a hang that is none."""

import json

from truth_case import main

MS = 1e6


def findings_of(run):
    return run.json("explain", run.path)["tables"]["findings"]["rows"]


def doctor_of(case, run):
    """Exit code and the ids of doctor's findings by severity."""
    code, out, err = case.rochound("doctor", "--ran", run.path, "--json")
    if not out:
        raise RuntimeError(f"doctor --ran: {err}")
    found = json.loads(out)["findings"]
    return code, {one["id"]: one["severity"] for one in found}


def no_hang(case, run):
    told = [one["finding"] for one in findings_of(run) if one["rule"] == "unfinished-kernel" and one["confidence"] != "note"]
    case.equal("kernels that never finished", [], told)
    code, found = doctor_of(case, run)
    case.expect(f"doctor calls it a hang: {found}", "kernel-hangs" not in found)
    case.equal("doctor's exit code", 0, code)


def waited(mode):
    """The host waited for the last kernel, then the process ended before the recorder had its times."""
    def check(case):
        run = case.record("endings", mode)
        no_hang(case, run)
        case.equal("unfinished kernels", [], run.rows("select what from rochound_unfinished where what = 'kernel'"))
        if mode == "processes":
            return
        kernels = run.rows("select (o.end - o.start) / 1e6 from rocpd_op o join rocpd_string s on s.id = o.description_id "
                           "where s.string like '%Busy<1>%' order by o.start")
        case.equal("launches", run.truth["launches"], len(kernels))
        case.near("the last kernel", run.truth["last_ms"], kernels[-1][0], part=0.1, least=50)
        if mode == "copy":  # by kernels of the runtime
            copies = json.loads(case.rochound("doctor", "--ran", run.path, "--json")[1])["run"]["copies"]
            case.equal("copies that doctor counts", run.truth["launches"], copies)
            case.expect(f"run counts as many: {run.err}", f" {copies} copies " in run.err)

    return check


def unwaited(case):
    """Nobody waited: the first of three kernels was in flight for a moment. That is no hang."""
    run = case.record("endings", "unwaited")
    no_hang(case, run)
    case.expect("kernels had not finished", run.rows("select 1 from rochound_unfinished where what = 'kernel'"))


def first_of(case, run, *words):
    """What ended the run is the first finding of explain, top and the report, and is in run's summary."""
    first = findings_of(run)[0]
    case.equal("first finding", "ended", first["rule"])
    for word in words:
        case.expect(f"{word!r} is not in: {first['finding']} {first['advice']}", word in first["finding"] + " " + first["advice"])
    case.equal("first finding of top", first["finding"], run.json("top", run.path)["findings"][0]["finding"])
    page = case.folder / "page.html"
    run.text("report", run.path, "-o", page)
    case.expect("it is in the report", json.dumps(first["finding"])[1:-1] in page.read_text())
    return first


def told(case, run, *words):
    first = first_of(case, run, *words)
    case.expect(f"run does not say it: {run.err}", f"\n{first['finding']}\n" in "\n" + run.err)


def interrupted(case):
    """Ctrl-C while short kernels run: no hang, and the trace says who ended it."""
    run = case.record("endings", "loop", code=None, interrupt_after=6)
    told(case, run, "stopped by SIGINT (Ctrl-C)")
    no_hang_told(case, run)


def no_hang_told(case, run):
    hangs = [one["finding"] for one in findings_of(run) if "never finished" in one["finding"]]
    case.equal("hangs", [], hangs)


def fault(case):
    run = case.record("endings", "fault", code=None)
    told(case, run, "A GPU failed", "StoreNowhere", "points to no memory", "doctor --fault")
    case.equal("calls that failed while it went on", [], [one for one in findings_of(run) if "went on" in one["finding"]])


def no_code(case):
    """Built for other GPUs: no kernel can run. The record has no time to be longer."""
    run = case.record("endings", "device", gpu="rx7900xtx", code=None)
    told(case, run, "no kernel of the program", "It has code for gfx1030", "none for gfx1100", "doctor -- PROGRAM")


def nothing(case):
    told(case, case.record("endings", "nothing"), "No kernel of the program ran")


def killed(case):
    """kill -9 of the program and of rochound: the log that is left beside it becomes the trace."""
    run = case.record("endings", "loop", code=None, kill_after=6)
    case.expect("there is no trace", not run.path.exists())
    case.expect("there is a log", any(case.folder.glob(run.path.name + ".log-*")))
    first_of(case, run, "The program was killed")
    case.expect("launches are in the trace", run.rows("select count(*) from rochound_dispatch")[0][0] > 0)
    no_hang_told(case, run)


def killed_before_doctor(case):
    """The same where doctor is asked first."""
    run = case.record("endings", "loop", code=None, kill_after=6)
    code, out, err = case.rochound("doctor", "--ran", run.path)
    case.expect(f"doctor does not say it: {out}{err}", "The program was killed" in out)


def daemon(case):
    """The program ends at once, and leaves a process behind. Its output is a pipe, so the recording returns after that."""
    run = case.record("endings", "daemon")
    case.expect(f"run says who goes on: {run.err}", "left 1 process behind" in run.err and "nothing was recorded" not in run.err)
    case.expect("there is no trace yet", not run.path.exists())
    run.text("top", run.path)
    launches = run.rows("select count(*) from rocpd_op o join rocpd_string s on s.id = o.description_id where s.string like '%Busy<1>%'")
    case.equal("launches", [(10,)], launches)


def used(case):
    """Is my GPU used? One sentence with a figure, the same everywhere."""
    run = case.record("endings", "probes")
    usage = run.json("explain", run.path)["notes"][0]
    case.expect(f"no sentence: {usage}", usage.startswith("GPU 0 was busy ") and "% of " in usage)
    for what in (("explain", run.path), ("top", run.path), ("doctor", "--ran", run.path)):
        case.expect(f"{what[0]} does not say it: {usage}", usage in run.text(*what))
    case.expect(f"run does not say it: {usage}\n{run.err}", usage in run.err)
    page = case.folder / "page.html"
    run.text("report", run.path, "-o", page)
    case.expect("the report does not say it", usage in page.read_text())
    told_failures = [one["finding"] for one in findings_of(run) if one["rule"] in ("failed-calls", "ended")]
    case.equal("failures of calls that try something out", [], told_failures)


CASES = {f"ends_after_{mode}": waited(mode) for mode in ("device", "stream", "event", "query", "copy", "processes")}
CASES["ends_unwaited"] = unwaited
CASES |= {"ends_interrupted": interrupted, "ends_fault": fault, "ends_no_code": no_code, "ends_nothing": nothing,
          "ends_killed": killed, "ends_killed_doctor": killed_before_doctor, "ends_daemon": daemon,
          "ends_used": used}

if __name__ == "__main__":
    main(CASES)
