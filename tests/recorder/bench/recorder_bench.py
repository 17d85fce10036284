#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What recording costs, as ratios within one run.

usage: bench_recorder [--json] [--rounds N] [--gpu GPU]

Bare and recorded runs alternate, and the best of each counts, so that a neighbour's work on the machine does not.
"""

import argparse
import json
import math
import os
import pathlib
import subprocess
import sys
import tempfile

BIN = pathlib.Path(__file__).resolve().parent


def run(command, environment):
    return subprocess.run([str(part) for part in command], env={**os.environ, **environment}, check=True, text=True,
                          stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout


def numbers(text):
    return {line.split()[0]: float(line.split()[1]) for line in text.strip().split("\n") if len(line.split()) == 2}


def call_rates(gpu, rounds, options):
    """Best figures of alternating runs, bare and recorded; and what the last log holds."""
    best = {"bare": {}, "recorded": {}}
    stat = {}
    for _ in range(rounds):
        for kind in best:
            with tempfile.TemporaryDirectory(prefix="rochound-bench-") as folder:
                command = [BIN / "rochound", "softgpu", "--gpu", gpu, "--"]
                if kind == "recorded":
                    command += [BIN / "rochound", "run", "--log-only", "--log-dir", pathlib.Path(folder, "log"), *options,
                                "--"]
                for name, value in numbers(run(command + [BIN / "bench_recorder_call_rates"], {})).items():
                    better = max if name.endswith("per_second") else min
                    best[kind][name] = better(value, best[kind].get(name, value))
                if kind == "recorded":
                    stat = json.loads(run([BIN / "rochound", "log", "stat", "--json", pathlib.Path(folder, "log")], {}))
    return best, stat


def bytes_per_event(stat):
    process = stat["processes"][0]
    return {"per_record": process["record_bytes"] / process["records"], "dropped": stat["dropped"],
            "records": process["records"]}


def geometric_mean(values):
    return math.exp(sum(map(math.log, values)) / len(values))


def ratios(best, prefix):
    return {name: best["recorded"][name] / best["bare"][name] for name in best["bare"] if name.startswith(prefix)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--gpu", default="mi300x")
    options = parser.parse_args()

    result = {}
    log = json.loads(run([BIN / "bench_recorder_log", "--json"], {}))
    result["a_recorded_call_over_bare_store"] = log
    hip, stat = call_rates(options.gpu, options.rounds, [])
    hsa, _ = call_rates(options.gpu, max(2, options.rounds // 2), ["--hsa", "--no-hip"])
    kernels, _ = call_rates(options.gpu, options.rounds, ["--no-hip"])
    hip_ratios, hsa_ratios = ratios(hip, "hip_"), ratios(hsa, "hsa_")
    result["b_hip_loop_recorded_over_bare"] = {"mean": geometric_mean(hip_ratios.values()), **hip_ratios}
    result["c_hsa_loop_recorded_over_bare"] = {"mean": geometric_mean(hsa_ratios.values()), **hsa_ratios}
    result["d_launch_rate_recorded_over_bare"] = {"kernels": ratios(kernels, "launches")["launches_per_second"],
                                                  "kernels_and_hip_calls": ratios(hip, "launches")["launches_per_second"]}
    result["e_bytes"] = bytes_per_event(stat)
    result["f_flight_log_to_rpd"] = json.loads(run([BIN / "bench_recorder_convert", "--json"], {}))
    result["figures"] = {"hip": hip, "hsa": hsa, "kernels": kernels}
    if options.json:
        print(json.dumps(result, indent=1))
        return 0
    print(f"(a) recorded call / two time stamps and a store: {log}  (goal <= 1.5)")
    print(f"(b) HIP loop, recorded / bare: {result['b_hip_loop_recorded_over_bare']}  (goal <= 1.5)")
    print(f"(c) HSA loop, recorded / bare: {result['c_hsa_loop_recorded_over_bare']}  (goal <= 4)")
    print(f"(d) empty launches, recorded / bare: {result['d_launch_rate_recorded_over_bare']}  (goal >= 0.90)")
    print(f"(e) bytes in the log: {result['e_bytes']}")
    print(f"(f) log to .rpd: {result['f_flight_log_to_rpd']}  (goal >= 1M events/s)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
