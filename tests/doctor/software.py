# SPDX-License-Identifier: MIT
"""rochound doctor names what is wrong with a set-up, and the remedy: on set-ups broken on purpose, on this root's own
libraries, and with Debian's real python3-torch."""

import argparse
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "sysroot"))

from broken import BROKEN
from sysroot import Sysroot

SKIP = 77


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **more)


def severe(report):
    return [finding for finding in report["findings"] if finding["severity"] in ("warning", "error")]


def check_broken(rochound, name, compiled):
    case = BROKEN[name]
    with tempfile.TemporaryDirectory() as folder:
        Sysroot(folder).machine(case)
        command = [rochound, "doctor", "--json", "--root", folder]
        if "python" in case:
            command += ["--python", case["python"]]
        if "compiled" in case:
            place = pathlib.Path(folder + case["compiled"])
            place.parent.mkdir(parents=True)
            shutil.copy(compiled, place)
        if "compiled" in case or "program" in case:
            command += ["--", case.get("compiled", case.get("program"))]
        done = run(command)
    if not done.stdout:
        return [done.stderr]
    report = json.loads(done.stdout)
    problems = []
    found = [finding for finding in report["findings"] if finding["id"] == case["finding"]]
    allowed = {case["finding"], *case.get("also", [])}
    problems += [f"unexpected: {finding}" for finding in severe(report) if finding["id"] not in allowed]
    way_in = " ".join(fact["said"]["rochound run"] for fact in report["machine"] if fact["name"] == "way in")
    if not way_in.startswith(case.get("way_in", "")):
        problems.append(f"the way in is '{way_in}'")
    if case["finding"] is None:
        return problems + ([f"exit code {done.returncode}"] if done.returncode != 0 else [])
    if not found:
        return problems + [f"{case['finding']} was not found in {report['findings']}"]
    if not any(one["severity"] == case["severity"] and case["what"] in one["what"] + " ".join(one["evidence"])
               and case["remedy"] in one["remedy"] for one in found):
        problems.append(f"expected {case['severity']} with '{case['what']}' and remedy '{case['remedy']}', got {found}")
    worst = 3 if any(one["severity"] == "error" for one in severe(report)) else 1 if severe(report) else 0
    if done.returncode != worst:
        problems.append(f"exit code {done.returncode}, expected {worst}")
    return problems


def check_here(rochound):
    """This root's real libraries: what the loader takes is what we say, and variables are judged by them."""
    problems = []
    environment = {**os.environ, "HSA_ENABLE_SMDA": "0", "HSA_XNACK": "0", "HSA_CU_MASK": "0:0-71"}
    done = run([rochound, "softgpu", "--gpu", "rx6800xt", "--", rochound, "doctor", "--json"], env=environment)
    report = json.loads(done.stdout)
    here = {fact["name"]: fact["said"].get("loaded") for fact in report["machine"]}
    cache = run(["ldconfig", "-p"]).stdout
    for name in ("libamdhip64", "libhsa-runtime64", "libamd_comgr"):
        lines = [line.split(" => ")[1].strip() for line in cache.splitlines() if line.strip().startswith(name + ".so.")]
        if here[name] not in [os.path.realpath(line) for line in lines]:
            problems.append(f"{name}: {here[name]} is not what ldconfig -p says: {lines}")
    read = {finding["what"].split("=")[0] for finding in report["findings"] if finding["id"] == "variable-read"}
    dead = [finding for finding in report["findings"] if finding["id"] == "dead-variable"]
    if not {"HSA_XNACK", "HSA_CU_MASK"} <= read:
        problems.append(f"variables that the runtime reads were not recognised: {read}")
    if len(dead) != 1 or "HSA_ENABLE_SDMA" not in dead[0]["remedy"]:
        problems.append(f"the dead variable is not named with its remedy: {dead}")
    return problems


def check_torch(rochound, python):
    """Debian's python3-torch, a CPU build: unpacked, neither installed nor imported."""
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o755)
        got = run(["apt-get", "download", "python3-torch"], cwd=folder)
        packages = list(pathlib.Path(folder).glob("python3-torch_*.deb"))
        if not packages:
            print("SKIP python3-torch cannot be downloaded here:", (got.stderr or got.stdout).strip().splitlines()[-1:])
            sys.exit(SKIP)
        run(["dpkg-deb", "-x", str(packages[0]), folder + "/files"], check=True)
        place = next(pathlib.Path(folder).glob("files/usr/lib/python3*/dist-packages"))
        environment = {**os.environ, "PYTHONPATH": str(place)}
        done = run([rochound, "softgpu", "--gpu", "rx6800xt", "--", rochound, "doctor", "--json", "--python", python],
                   env=environment)
        report = json.loads(done.stdout)
    found = [finding for finding in report["findings"] if finding["id"] == "torch-no-hip"]
    if len(found) != 1 or "this torch has no HIP" not in found[0]["what"] or done.returncode != 3:
        return [f"exit code {done.returncode}, findings {report['findings']}"]
    return []


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--case")
    parser.add_argument("--compiled")
    parser.add_argument("--here", action="store_true")
    parser.add_argument("--torch", action="store_true")
    arguments = parser.parse_args()
    if arguments.here:
        problems = check_here(arguments.rochound)
    elif arguments.torch:
        problems = check_torch(arguments.rochound, sys.executable)
    else:
        problems = check_broken(arguments.rochound, arguments.case, arguments.compiled)
    for problem in problems:
        print("FAIL", problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
