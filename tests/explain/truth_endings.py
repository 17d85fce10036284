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

    return check


def unwaited(case):
    """Nobody waited: the first of three kernels was in flight for a moment. That is no hang."""
    run = case.record("endings", "unwaited")
    no_hang(case, run)
    case.expect("kernels had not finished", run.rows("select 1 from rochound_unfinished where what = 'kernel'"))


CASES = {f"ends_after_{mode}": waited(mode) for mode in ("device", "stream", "event", "query", "copy", "processes")}
CASES["ends_unwaited"] = unwaited

if __name__ == "__main__":
    main(CASES)
