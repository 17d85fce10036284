#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a program on the software GPU and compares what `rochound doctor --ran` says with what it did.

usage: fallback.py --rochound PATH --case CASE -- PROGRAM [ARGUMENT...]
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

ERROR, WARNING, FINE = 3, 1, 0


def run(command, folder):
    return subprocess.run(command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          text=True, timeout=200, check=False)


class Case:
    """What the doctor said, and what is wrong with it."""

    def __init__(self, code, said, text):
        self.code = code
        self.run = said["run"]
        self.findings = {finding["id"]: finding for finding in said["findings"]}
        self.accused = [finding["id"] for finding in said["findings"] if finding["severity"] in ("warning", "error")]
        self.text = text
        self.problems = []

    def expect(self, condition, problem):
        if not condition:
            self.problems.append(problem)

    def found(self, name, *words):
        """A finding with each of these words in what it says or in its evidence."""
        finding = self.findings.get(name)
        if finding is None:
            self.problems.append(f"no finding {name}")
            return
        said = " ".join([finding["what"], *finding["evidence"]])
        for word in words:
            self.expect(word in said, f"{name} does not say '{word}': {said}")
        self.expect(finding["severity"] == "note" or finding["what"].split()[0] in self.text, f"{name} is not in the text")

    def only(self, *names):
        self.expect(sorted(self.accused) == sorted(names), f"accused of {self.accused}, not of {list(names)}")


def malloc(case):
    case.expect(case.code == ERROR, f"exit code {case.code}")
    case.only("fell-back-after-error", "no-dispatch")
    case.found("fell-back-after-error", "hipMalloc", "size=1125899906842624", "exit 0")
    case.found("no-dispatch", "Nothing ran on the GPU", "CPU time")
    case.expect(case.run["dispatches"] == 0 and case.run["busy_ns"] == 0, f"{case.run['dispatches']} dispatches")
    case.expect(case.run["host_work_ns"] > 1.2e9, f"host work: {case.run['host_work_ns']}")


def late(case):
    case.expect(case.code == ERROR, f"exit code {case.code}")
    case.expect("fell-back-after-error" in case.accused and "no-dispatch" not in case.accused, f"accused of {case.accused}")
    case.found("fell-back-after-error", "hipMalloc", "hipErrorOutOfMemory", "3 dispatches before", "exit 0")
    case.expect(case.run["dispatches"] == 3, f"{case.run['dispatches']} dispatches")
    case.expect([call["result"] for call in case.run["failures"]] == [2], f"failures: {case.run['failures']}")


def ranges(case):
    case.expect(case.code == WARNING, f"exit code {case.code}")
    case.only("operator-fell-back")
    case.found("operator-fell-back", "Fell back to CPU: 12 operators of 2 kinds", "'gelu' in 'step': no kernel in 8 of 8",
               "'softmax' in 'step': no kernel in 4 of 8")
    without = {one["name"]: one["without"] for one in case.run["operators_without_kernel"]}
    case.expect(without == {"gelu": 8, "softmax": 4, "read the batch": 8}, f"without: {without}")
    case.expect(case.run["dispatches"] == 13, f"{case.run['dispatches']} dispatches")


def copies(case):
    case.expect(case.code == WARNING, f"exit code {case.code}")
    case.only("operator-fell-back")
    case.found("operator-fell-back", "Fell back to CPU: 12 operators of 1 kind", "'nll_loss': no kernel in 12 of 12, and 12 of them copied to the host and back")


def healthy(case):
    case.expect(case.code == FINE, f"exit code {case.code}")
    case.only()
    case.expect(case.run["dispatches"] > 0 and case.run["busy_ns"] > 0, f"{case.run['dispatches']} dispatches")
    case.expect(not case.run["failures"], f"failures: {case.run['failures']}")


def retry(case):
    case.expect(case.code == FINE, f"exit code {case.code}")
    case.only()
    case.found("handled-error", "hipMalloc", "size=1125899906842624")


def quit_at_once(case):
    case.expect(case.code == FINE, f"exit code {case.code}")
    case.only()
    case.expect(len(case.run["processes"][0]["chain"]) == 4, f"chain: {case.run['processes']}")


def no_gpu(case):
    case.expect(case.code == ERROR, f"exit code {case.code}")
    case.only("gpu-not-used")
    case.found("gpu-not-used", "no process of the program started")


def cuda(case, what):
    case.expect(case.code == FINE, f"exit code {case.code}")
    case.only()
    case.found("cuda-layer", what, "libcuda.so.1", "it needs libamdhip64", "8 functions of CUDA", "cuMemAlloc_v2",
               "the program's calls of 8 functions go there")
    chain = case.run["processes"][0]["chain"]
    case.expect([layer["kind"] for layer in chain] == ["program", "cuda", "hip", "hsa", "driver"], f"chain: {chain}")
    case.expect(chain[1]["what"] == what, f"layer: {chain[1]}")
    case.expect(f"-> libcuda.so.1 ({what}) -> libamdhip64" in case.text.replace("\n      ", ""), "no chain in the text")
    case.expect(case.run["dispatches"] == 1, f"{case.run['dispatches']} dispatches")


CASES = {"malloc": malloc, "late": late, "ranges": ranges, "copies": copies, "healthy": healthy, "retry": retry, "no_gpu": no_gpu,
         "quit": quit_at_once,
         "cuda_unnamed": lambda case: cuda(case, "unknown CUDA layer"), "cuda_named": lambda case: cuda(case, "ZLUDA")}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--case", required=True, choices=CASES)
    parser.add_argument("program", nargs="+")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-fallback-") as folder:
        trace, log = pathlib.Path(folder) / "trace.rpd", pathlib.Path(folder) / "log"
        recorded = run([options.rochound, "run", "-o", str(trace), "--log-dir", str(log), "--softgpu", "mi300x", "--",
                        *options.program], folder)
        if recorded.returncode != 0:
            print(f"the program ended with {recorded.returncode}\n{recorded.stdout}{recorded.stderr}")
            return 1
        text = run([options.rochound, "doctor", "--ran", str(trace)], folder)
        said = run([options.rochound, "doctor", "--json", "--ran", str(trace)], folder)
        case = Case(said.returncode, json.loads(said.stdout), text.stdout)
        case.expect(text.returncode == said.returncode, f"text and JSON end with {text.returncode} and {said.returncode}")
        CASES[options.case](case)
        if options.case == "no_gpu":
            case.expect("HSA_TOOLS_LIB" not in recorded.stderr, f"a variable is blamed where nothing uses a GPU: {recorded.stderr}")
        if options.case.startswith("cuda"):  # the report draws the same chain; a build without DuckDB has none
            page = pathlib.Path(folder) / "report.html"
            made = run([options.rochound, "report", str(trace), "-o", str(page)], folder)
            names = [layer["name"] for layer in case.run["processes"][0]["chain"]]
            case.expect(made.returncode == 2 or json.dumps({"layers": names}, separators=(",", ":"))[1:-1]
                        in (page.read_text(encoding="utf-8") if page.exists() else ""), f"no {names} in the report: {made.stderr}")
        if options.case == "malloc":  # a log that was not converted says the same
            of_log = run([options.rochound, "doctor", "--json", "--ran", str(log)], folder)
            case.expect(json.loads(of_log.stdout or "{}").get("findings") == json.loads(said.stdout)["findings"],
                        f"of the log:\n{of_log.stdout}{of_log.stderr}")
    print("\n".join(case.problems) or "as it was")
    if case.problems:
        print(text.stdout, said.stdout, recorded.stderr, sep="\n")
    return 1 if case.problems else 0


if __name__ == "__main__":
    sys.exit(main())
