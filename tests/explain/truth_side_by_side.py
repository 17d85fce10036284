# SPDX-License-Identifier: MIT
"""Threads and GPUs beside each other: what is a row of steps, what is work that could be divided, who is waited for."""

from truth_case import main

TWO = "rx6800xt,rx6800xt"


def findings_of(run):
    return run.json("explain", run.path)["tables"]["findings"]["rows"]


def rules(findings):
    return [one["rule"] for one in findings if one["confidence"] != "note"]


def thread_steps(case):
    """Steps of three threads are three rows of steps, each of them steady; and there is one process."""
    found = rules(findings_of(case.record("side_by_side", "thread_steps")))
    for rule in ("growing-steps", "straggler"):
        case.expect(f"{rule} is among {found}", rule not in found)


def pipeline(case):
    """720 ms on GPU 0 and 240 on GPU 1, in turns: dividing the work evenly gives nothing."""
    run = case.record("side_by_side", "pipeline", gpu=TWO)
    findings = findings_of(run)
    told = [one["finding"] for one in findings]
    case.expect(f"evenly divided: {told}", not any("evenly" in one for one in told))
    turns = [one for one in findings if "take turns" in one["finding"]]
    case.expect(f"the GPUs take turns: {told}", turns)
    if turns:
        case.near("what the shorter ones would save", run.truth["shorter_ms"], turns[0]["gain_ns"] / 1e6, part=0.15, least=30)


def late(case):
    """Rank 1 is late in all 12 collectives, by 40 ms: that comes before the shape of the collective's kernel."""
    findings = findings_of(case.record("side_by_side", "late", gpu=TWO))
    told = [f"{one['rule']}: {one['finding']}" for one in findings]
    of_rccl = [one for one in told if "ncclDevKernel" in one and one.startswith(("few-workgroups", "tail", "low-occupancy"))]
    case.equal("shapes of the collective's kernel", [], of_rccl)
    case.expect(f"rank 1 is late: {told}", any(one.startswith("straggler: Rank 1 is late") for one in told))


def starved_gpu(case):
    """GPU 0 works all the time, GPU 1 waits for its thread: what that does is named."""
    run = case.record("side_by_side", "starved_gpu", gpu=TWO)
    findings = findings_of(run)
    told = [one["finding"] for one in findings]
    case.expect(f"GPU 1 waits in 'slow loader': {told}",
                any("GPU 1 waits" in one and "'slow loader'" in one for one in told))


def starved_host(case):
    """120 ms of computing, and six other threads on the same processor."""
    findings = findings_of(case.record("host_work", "starved"))
    told = [f"{one['rule']} {one['gain_ns'] / 1e6:.1f} ms [{one['confidence']}] {one['finding']} {one['evidence']}" for one in findings]
    case.expect(f"first is not starved-host: {told}", findings and findings[0]["rule"] == "starved-host")
    # The same thread that has a processor, and sleeps.
    found = rules(findings_of(case.record("host_work", "plain")))
    case.expect(f"starved-host is among {found}", "starved-host" not in found)


def even(case):
    found = rules(findings_of(case.record("side_by_side", "even", gpu=TWO)))
    case.expect(f"gpu-imbalance is among {found}", "gpu-imbalance" not in found)


if __name__ == "__main__":
    main({"side_thread_steps": thread_steps, "side_pipeline": pipeline, "side_late": late, "side_even": even, "side_starved_gpu": starved_gpu,
          "starved_host": starved_host})
