#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A matrix product of rocBLAS writes to memory that is not there: the doctor names the kernel, the argument and a store.

usage: run_rocblas_fault.py ROCHOUND GPU PROGRAM
"""

import json
import pathlib
import subprocess
import sys
import tempfile

rochound, gpu, program = sys.argv[1:]


def run(*command):
    return subprocess.run(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, errors="replace",
                          timeout=300, check=False)


with tempfile.TemporaryDirectory(prefix="rochound-rocblas-") as folder:
    trace = pathlib.Path(folder) / "trace.rpd"
    ran = run(rochound, "run", "-q", "-o", str(trace), "--softgpu", gpu, "--", program, "nowhere")
    told = run(rochound, "doctor", "--json", "--fault", f"{trace}.fault")
try:
    fault = json.loads(told.stdout)
except json.JSONDecodeError:
    sys.exit(f"nothing was explained: {told.stdout}{told.stderr}\n{ran.stdout}{ran.stderr}")
at_fault = [line for line in fault["place"]["code"] if line.startswith("->")]
problems = [problem for problem, wrong in {
    "the kernel is not named": not fault["kernel"].startswith("Cijk_") or not fault["kernel_sure"],
    "AddressD is not named": "AddressD" not in fault["headline"],
    "no store is shown": not at_fault or "store" not in at_fault[0],
}.items() if wrong]
if problems:
    sys.exit("; ".join(problems) + "\n" + json.dumps(fault, indent=1) + ran.stderr[-1500:])
print(fault["headline"])
