# SPDX-License-Identifier: MIT
"""rochound doctor on a copy of a machine, or on a software GPU: the verdicts, the words and the exit code are right."""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sysroot"))

from broken import SYSTEM
from machines import MACHINES
from sysroot import Sysroot

# On the real runtimes: what each fact must come to, and what its sources must say.
SOFTGPU = {
    "rx6800xt": {"compute units": ("explained", {"KFD": "72", "HSA": "72", "HIP": "36", "known": "72"}, "36 x 2 = 72"),
                 "work-group processors": ("agree", {"KFD": "36", "HIP": "36"}, ""),
                 "ISA": ("agree", {"HSA": "gfx1030"}, ""), "memory": ("agree", {}, ""),
                 "LDS per workgroup": ("agree", {"KFD": "64 KiB", "HIP": "64 KiB"}, ""),
                 "L2 cache": ("agree", {"KFD": "4 MiB", "HSA": "4 MiB"}, ""), "PCI address": ("agree", {}, "")},
    "mi300x": {"compute units": ("agree", {"KFD": "304", "HSA": "304", "HIP": "304"}, ""), "memory": ("agree", {}, "")},
    "mi300x-cpx": {"compute units": ("explained", {"KFD": "38", "HIP": "38", "known": "304"}, "38 of its 304"),
                   "memory": ("explained", {}, "partition mode CPX")},
    "mi250x": {"compute units": ("explained", {"KFD": "110", "HIP": "110", "known": "220"}, "220 compute units in 2 dies")},
}


def run(command):
    return subprocess.run(command, capture_output=True, text=True, timeout=100)


def facts_of(report):
    facts = {fact["name"]: fact for fact in report["machine"]}
    facts.update({fact["name"]: fact for fact in (report["gpus"][0]["facts"] if report["gpus"] else [])})
    return facts


def check_copy(rochound, name):
    machine = MACHINES[name]
    with tempfile.TemporaryDirectory() as folder:
        Sysroot(folder).machine({**machine, "files": {**SYSTEM, **machine.get("files", {})}})
        done = run([rochound, "doctor", "--json", "--root", folder])
        text = run([rochound, "doctor", "--root", folder]).stdout
        everything = run([rochound, "doctor", "--all", "--root", folder]).stdout
    report = json.loads(done.stdout)
    found = facts_of(report)
    problems = []
    for fact, (verdict, words) in machine["expect"].items():
        if found[fact]["verdict"] != verdict or words not in found[fact].get("why", ""):
            problems.append(f"{fact}: expected {verdict} with '{words}', got {found[fact]}")
    # Nothing but what is expected is wrong.
    for fact in found.values():
        if fact["verdict"] == "wrong" and machine["expect"].get(fact["name"], ("",))[0] != "wrong":
            problems.append(f"unexpectedly wrong: {fact}")
    ids = [finding["id"] for finding in report["findings"] if finding["severity"] != "ok"]
    for finding in report["findings"]:
        if finding["severity"] in ("warning", "error") and not finding["remedy"]:
            problems.append(f"no remedy: {finding}")
    for wanted in machine.get("findings", []):
        if wanted not in ids:
            problems.append(f"finding {wanted} is missing in {ids}")
    if done.returncode != machine.get("exit", 0):
        problems.append(f"exit code {done.returncode}, expected {machine.get('exit', 0)}: {report['findings']}")
    at = 0
    flat = " ".join(text.split())
    for words in machine.get("words", []):
        at = flat.find(words, at)
        if at < 0:
            problems.append(f"the text lacks '{words}':\n{text}")
            break
    problems += [f"--all does not show {fact}:\n{everything}" for fact in found if fact not in everything]
    if report["gpus"] and len(everything.splitlines()) <= len(text.splitlines()):
        problems.append(f"--all shows no more:\n{everything}")
    return problems


def check_softgpu(rochound, gpu):
    done = run([rochound, "softgpu", "--gpu", gpu, "--", rochound, "doctor", "--json"])
    report = json.loads(done.stdout)
    found = facts_of(report)
    problems = []
    for fact, (verdict, said, words) in SOFTGPU[gpu].items():
        got = found[fact]
        if got["verdict"] != verdict or words not in got.get("why", ""):
            problems.append(f"{fact}: expected {verdict} with '{words}', got {got}")
        problems += [f"{fact}: {source} should say {value}: {got}" for source, value in said.items()
                     if got["said"].get(source) != value]
    problems += [f"wrong: {fact}" for fact in found.values() if fact["verdict"] == "wrong"]
    errors = [finding for finding in report["findings"] if finding["severity"] == "error"]
    if errors:
        problems.append(f"errors on a machine without any: {errors}")
    if gpu == "rx6800xt" and "Checked just now" not in found["compute units"]["why"]:
        problems.append("HIP was not asked with GPU_ENABLE_WGP_MODE=0")
    return problems + check_copied(rochound, gpu, found) + (check_limit(rochound, gpu) if gpu == "mi300x" else [])


def check_limit(rochound, gpu):
    """A runtime that does not answer, because the library that it loads is a pipe without a writer."""
    with tempfile.TemporaryDirectory() as folder:
        pipe = os.path.join(folder, "pipe")
        os.mkfifo(pipe)
        done = run([rochound, "softgpu", "--gpu", gpu, "--", "env", f"HSA_TOOLS_LIB={pipe}", rochound, "doctor", "--limit", "0.5"])
    said = " ".join(done.stdout.split())
    return [] if done.returncode != 0 and "the HSA runtime did not end within 0.5" in said else [f"--limit 0.5: {done}"]


def check_copied(rochound, gpu, found):
    """What --copy writes tells --root the same, where there is no GPU."""
    with tempfile.TemporaryDirectory() as folder:
        copy = pathlib.Path(folder) / "copy"
        done = run([rochound, "softgpu", "--gpu", gpu, "--", rochound, "doctor", "--copy", str(copy)])
        files = {str(path.relative_to(copy)) for path in copy.rglob("*") if path.is_file()}
        if done.returncode != 0 or not files or set(done.stdout.split()) != files:
            return [f"--copy: exit code {done.returncode}, {sorted(files)} instead of {done.stdout}{done.stderr}"]
        report = json.loads(run([rochound, "doctor", "--json", "--root", str(copy)]).stdout)
        again = run([rochound, "softgpu", "--gpu", gpu, "--", rochound, "doctor", "--copy", str(copy)])
    problems = [] if again.returncode == 125 and "copy" in again.stderr else [f"--copy to where something is: {again}"]
    copied = facts_of(report)
    for fact in SOFTGPU[gpu]:
        if copied[fact]["said"] != found[fact]["said"] or copied[fact]["verdict"] != found[fact]["verdict"]:
            problems.append(f"{fact} of the copy: {copied[fact]} instead of {found[fact]}")
    return problems


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--machine")
    parser.add_argument("--softgpu")
    arguments = parser.parse_args()
    if arguments.machine:
        problems = check_copy(arguments.rochound, arguments.machine)
    else:
        problems = check_softgpu(arguments.rochound, arguments.softgpu)
    for problem in problems:
        print("FAIL", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
