#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Small questions to the doctor whose answers are known.

usage: cases.py --rochound PATH --part PART [--program PATH]

masks      GPUs that are hidden by mistake, and one that is not
override   HSA_OVERRIDE_GFX_VERSION that changes nothing, or only the name
libraries  kernels that rocBLAS does not have, by the names of its files
files      a damaged program, an empty file, a folder
selftest   without a GPU
ran        a recorded program that died by a signal
rerun      a run without a fault after one with it, under the same name
stacks     who allocated and who freed the memory of a fault
"""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile


class Doctor:
    def __init__(self, options, folder):
        self.rochound = options.rochound
        self.program = options.program
        self.folder = pathlib.Path(folder)
        self.problems = []

    def expect(self, fine, what):
        if not fine:
            self.problems.append(what)

    def run(self, *command, **environment):
        return subprocess.run([self.rochound, *command], cwd=self.folder, env={**os.environ, **environment}, stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, errors="replace", timeout=200, check=False)

    def findings(self, gpu, **environment):
        done = self.run("softgpu", "--gpu", gpu, "--", self.rochound, "doctor", "--json", **environment)
        report = json.loads(done.stdout)
        return {one["id"]: one for one in report["findings"]}, report, done.returncode


def masks(doctor):
    for name in ("ROCR_VISIBLE_DEVICES", "HIP_VISIBLE_DEVICES"):
        found, _, code = doctor.findings("rx6800xt", **{name: "GPU-deadbeef"})
        doctor.expect(code == 3 and name in found.get("mask-unknown-gpu", {"what": ""})["what"], f"{name}=GPU-deadbeef: {code}, {found}")
        found, report, _ = doctor.findings("rx6800xt", **{name: "0x0"})
        doctor.expect(not [one for one in found if one.startswith("mask")], f"{name}=0x0: {found}")
        doctor.expect(len(report["gpus"]) == 1, f"{name}=0x0: {len(report['gpus'])} GPUs")


def override(doctor):
    for gpu, version in (("mi300x", "9.4.2"), ("rx6800xt", "10.3.0"), ("rx6800xt", "10.3.1")):
        found, report, _ = doctor.findings(gpu, HSA_OVERRIDE_GFX_VERSION=version)
        doctor.expect("override-gfx" not in found, f"{version} on {gpu}: {found.get('override-gfx')}")
        doctor.expect("something else" not in json.dumps(report), f"{version} on {gpu}: 'something else'")
    found, _, code = doctor.findings("mi300x", HSA_OVERRIDE_GFX_VERSION="10.3.0")
    doctor.expect("override-gfx" in found and code == 3, f"10.3.0 on mi300x: {code} {found}")


def libraries(doctor):
    files = [path.name for path in pathlib.Path("/usr/lib/x86_64-linux-gnu/rocblas").glob("*/library/*")]
    if not files:
        print("SKIP rocBLAS is not installed here")
        sys.exit(77)
    for gpu, target in (("mi355x", "gfx950"), ("rx6800xt", "gfx1030"), ("mi300x", "gfx942"), ("rx9070xt", "gfx1201")):
        found, _, _ = doctor.findings(gpu)
        lacks = not any(target in name for name in files)
        said = found.get("kernels-missing", {"what": ""})["what"]
        doctor.expect(("rocBLAS" in said and target in said) == lacks, f"{gpu}: rocBLAS lacks {target}: {lacks}; said: {said}")


def files(doctor):
    damaged = doctor.folder / "damaged"
    damaged.write_bytes(pathlib.Path(sys.executable).read_bytes()[:40])
    damaged.chmod(0o755)
    empty = doctor.folder / "empty"
    empty.touch(mode=0o755)
    for path, word in ((damaged, "damaged"), (empty, "empty"), (doctor.folder, "folder")):
        done = doctor.run("doctor", "--files-only", "--", str(path))
        doctor.expect(done.returncode == 3 and "cannot be run" in done.stdout and word in done.stdout, f"{path}: {done.returncode} {done.stdout}")
    # What is missing altogether is wrong usage.
    done = doctor.run("doctor", "--", str(doctor.folder / "nothing"))
    doctor.expect(done.returncode == 2 and "there is no program" in done.stderr, f"{done.returncode} {done.stderr}")


def selftest(doctor):
    if os.path.exists("/dev/kfd"):
        print("SKIP there is a GPU here")
        sys.exit(77)
    tests = doctor.folder / "tests"
    tests.mkdir()
    shutil.copy(doctor.program, tests / "program")
    done = doctor.run("selftest", "--folder", str(tests))
    doctor.expect(done.returncode == 125 and "there is no GPU here" in done.stderr and "differences" not in done.stdout,
                  f"{done.returncode} {done.stdout}{done.stderr}")


def record(doctor, name, *options):
    return doctor.run("run", "-q", "-o", "trace.rpd", *options, "--softgpu", "rx6800xt", "--", doctor.program, name, ROCHOUND_HANG="60s")


def ran(doctor):
    recorded = record(doctor, "fails_by_itself")
    doctor.expect(recorded.returncode == -6, f"the program ended with {recorded.returncode}")
    done = doctor.run("doctor", "--ran", "trace.rpd", "--json")
    report = json.loads(done.stdout)
    errors = [one for one in report["findings"] if one["severity"] == "error" and "ended by SIGABRT" in one["what"]]
    doctor.expect(done.returncode == 3 and errors, f"{done.returncode} {report['findings']}")
    record(doctor, "clean", "--force")
    done = doctor.run("doctor", "--ran", "trace.rpd", "--json")
    doctor.expect("ended by SIG" not in done.stdout and done.returncode != 3, f"the clean run: {done.returncode} {done.stdout}")


def rerun(doctor):
    fault = doctor.folder / "trace.rpd.fault"
    for options in ([], ["--force"]):
        record(doctor, "null_argument", "--force")
        doctor.expect(fault.is_dir(), "the fault was not kept")
        record(doctor, "clean", *options)
        doctor.expect(not fault.exists(), f"the old fault is beside the clean trace, with {options}")
        kept = doctor.folder / "trace.1.rpd.fault"
        doctor.expect(kept.is_dir() or options, "the earlier trace was kept without its evidence")


def stacks(doctor):
    record(doctor, "freed", "--stacks")
    text = doctor.run("doctor", "--fault", "trace.rpd.fault").stdout
    told = json.loads(doctor.run("doctor", "--json", "--fault", "trace.rpd.fault").stdout)
    stacks = told.get("stacks", {})
    for what, inner, outer in (("freed", "Freed", "main"), ("allocated", "Device", "Freed")):
        frames = stacks.get(what, [])
        doctor.expect(frames and inner in frames[0] and "planted_memory.h:" in frames[0], f"{what} by {frames}")
        doctor.expect(any(outer in frame for frame in frames[1:]), f"no {outer}: {frames}")
        doctor.expect(f"{what} by" in text, text)
    record(doctor, "freed", "--force")
    told = json.loads(doctor.run("doctor", "--json", "--fault", "trace.rpd.fault").stdout)
    doctor.expect("stacks" not in told and told["cause"] == "use_after_free", f"without --stacks: {told}")


PARTS = {part.__name__: part for part in (masks, override, libraries, files, selftest, ran, rerun, stacks)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--part", choices=PARTS, required=True)
    parser.add_argument("--program")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-case-") as folder:
        doctor = Doctor(options, folder)
        PARTS[options.part](doctor)
    print("\n".join(doctor.problems) or "right")
    return 1 if doctor.problems else 0


if __name__ == "__main__":
    sys.exit(main())
