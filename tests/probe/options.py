#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Which dispatches `rochound probe` tells, and what it takes from omniprobe's variables. The program launches Freed four times.

usage: options.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import json
import os
import sys

import analyzer


def main():
    test = analyzer.Test("bounds")

    def told(*options, **variables):
        os.environ.update(variables)
        lines = test.run("read", str(test.kept), *options).splitlines()
        for name in variables:
            del os.environ[name]
        return lines

    def dispatches(*options, **variables):
        return len({json.loads(line)["dispatch"] for line in told("-k", "Freed", *options, **variables)})

    for options, wanted in (((), 4), (("-i", "-d", "all"), 4), (("-d", "first"), 1), (("-d", "1"), 1), (("-d", "3"), 3), (("-d", "9"), 4)):
        test.require(dispatches(*options) == wanted, f"{options}: {dispatches(*options)} dispatches")
    test.require(dispatches(LOGDUR_DISPATCHES="1") == 1, "LOGDUR_DISPATCHES")
    test.require(dispatches("-d", "all", LOGDUR_DISPATCHES="1") == 4, "an option is stronger than LOGDUR_DISPATCHES")
    every = told()
    kernels = {json.loads(line)["kernel"] for line in told(LOGDUR_FILTER="Fre+d|Neighbour")}
    test.require(len(kernels) == 2 and len(every) > len(kernels), f"LOGDUR_FILTER: {kernels}")
    test.require(told(LOGDUR_LOG_FORMAT="csv")[0].startswith("process,dispatch,kernel,"), "LOGDUR_LOG_FORMAT")
    test.require(told("-a", "AddressLogger") == every, "-a AddressLogger")
    both = [*(line for name in ("memory", "heatmap") for line in told("-a", name)), "MemoryAnalysis", "Heatmap"]
    test.require(not set(both) - set(told(LOGDUR_HANDLERS="MemoryAnalysis,Heatmap")), "LOGDUR_HANDLERS")
    file = test.folder.name + "/told.jsonl"
    told(LOGDUR_LOG_LOCATION=file)
    with open(file, encoding="utf-8") as written:
        test.require(written.read().splitlines() == every, "LOGDUR_LOG_LOCATION")
    test.require(told(LOGDUR_LOG_LOCATION="console") == every, "LOGDUR_LOG_LOCATION=console")
    # Nothing was looked at, so nothing is said about it.
    for name in ("messages", "memory", "races", "bounds", "uninit", "heatmap"):
        nothing = test.start("read", str(test.kept), "-a", name, "-k", "NoSuchKernel")
        test.require((nothing.returncode, nothing.stdout) == (125, "") and "'NoSuchKernel'" in nothing.stderr,
                     f"-a {name} without a kernel: {nothing}")
    without = test.start("read", str(test.kept), "-a", "blocks")
    test.require((without.returncode, without.stdout) == (125, "") and "rochound probe build --blocks" in without.stderr,
                 f"-a blocks of a program without such probes: {without}")
    empty = test.folder.name + "/empty"
    os.mkdir(empty)
    nothing = test.start("read", empty, "-a", "races")
    test.require(nothing.returncode == 125 and not nothing.stdout, f"without messages: {nothing}")
    # What the program sees, and what it does without probes.
    dumped = test.start("-e", "-k", "Freed", "--softgpu", test.gpu, "-l", test.folder.name + "/e.jsonl", "--", test.program)
    test.require(dumped.returncode == 0 and "\nROCHOUND_PROBE_KERNEL=Freed\n" in "\n" + dumped.stderr and "\nPATH=" not in dumped.stderr,
                 f"-e: {dumped}")
    # An option is stronger than a variable.
    os.environ["LOGDUR_INSTRUMENTED"] = "false"
    probed = test.start("--instrumented", "--softgpu", test.gpu, "-l", test.folder.name + "/i.jsonl", "--", test.program)
    del os.environ["LOGDUR_INSTRUMENTED"]
    test.require(probed.returncode == 0 and os.path.exists(test.folder.name + "/i.jsonl") and " accesses by " in probed.stderr,
                 f"--instrumented: {probed}")
    for options, variables in ((["--no-instrumented"], {}), ([], {"LOGDUR_INSTRUMENTED": "false"})):
        trace = f"{test.folder.name}/plain{len(options)}.rpd"
        os.environ.update(variables)
        plain = test.start(*options, "--softgpu", test.gpu, "-l", trace, "--", test.program)
        for name in variables:
            del os.environ[name]
        test.require(plain.returncode == 0 and "PASS bounds" in plain.stdout and os.path.exists(trace), f"{options}: {plain}")
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
