#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Reports of `rochound selftest --report` (docs/hardware-reports.md).

usage: hardware_report.py --rochound PATH make --gpu GPU --folder FOLDER    makes one on a software GPU, and reads it
       hardware_report.py --rochound PATH read REPORT                       the doctor still says what it said there
       hardware_report.py --rochound PATH accept REPORT                     ... or what it says now is right: keep that
"""

import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile

SECRETS = {"HOME": "/home/alexandra", "USER": "alexandra", "LOGNAME": "alexandra", "MY_TOKEN": "swordfish-4711",
           "HIP_LAUNCH_BLOCKING": "1", "ROCM_PATH": "/home/alexandra/rocm"}
TOPOLOGY = "/sys/class/kfd/kfd/topology/nodes/1/properties"


def run(command, **more):
    return subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300, check=False, **more)


def facts(report):
    """What the doctor says about GPUs, and from whom: by GPU and fact. Libraries are not in a copy, and what is said of them is not here."""
    found = {("machine", fact["name"]): fact for fact in report["machine"] if not {"loaded", "rochound run"} & set(fact["said"])}
    for number, gpu in enumerate(report["gpus"]):
        found.update({(f"GPU {number}", fact["name"]): fact for fact in gpu["facts"]})
    return {key: (fact["verdict"], fact["said"]) for key, fact in found.items()}


def compare(before, now):
    """Facts that are not what they were; "Checked just now" and the like are words, and may change."""
    return [f"{' '.join(key)}: was {before.get(key)}, is {now.get(key)}" for key in {**before, **now}
            if before.get(key) != now.get(key)]


def replay(rochound, path):
    done = run([rochound, "doctor", "--json", "--root", path])
    if done.returncode not in (0, 1, 3):
        raise SystemExit(f"exit code {done.returncode}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout)


def read(rochound, path):
    report = json.loads(path.read_text())
    problems = compare(facts(report["doctor"]), facts(replay(rochound, path)))
    steps = [step["outcome"] for program in report["selftest"] for step in program["steps"]]
    if not steps or set(steps) - {"same", "different", "not possible here"}:
        problems.append(f"these are no outcomes: {steps}")
    return problems


def accept(rochound, path):
    report = json.loads(path.read_text())
    now = replay(rochound, path)
    report["doctor"].update(machine=now["machine"], gpus=now["gpus"])
    path.write_text(json.dumps(report, indent=1) + "\n")
    return []


def identity_of(rochound, gpu):
    """The unique id of a software GPU, as it is in GPU-<id>."""
    properties = run([rochound, "softgpu", "--gpu", gpu, "--", "cat", TOPOLOGY]).stdout
    return f"{int(dict(line.split() for line in properties.splitlines())['unique_id']):016x}"


def make(rochound, gpu, folder):
    """A report that names nobody, that is refused where nobody can be asked, and that reads as the machine it is of."""
    with tempfile.TemporaryDirectory() as name:
        path = pathlib.Path(name) / "report.json"
        command = [rochound, "selftest", "--softgpu", gpu, "--report", path, "vector_add", "atomics"]
        if folder:
            command += ["--folder", folder]
        asked = run(command, stdin=subprocess.DEVNULL)
        problems = []
        if asked.returncode != 2 or path.exists():
            problems.append(f"kept, or not refused, without a terminal: {asked.returncode} {asked.stderr}")
        identity = identity_of(rochound, gpu)
        environment = {**os.environ, **SECRETS, "ROCR_VISIBLE_DEVICES": f"GPU-{identity}"}
        done = run([*command, "--yes"], env=environment)
        if done.returncode != 0 or not path.exists():
            return problems + [f"no report: {done.returncode} {done.stdout[-2000:]}{done.stderr[-2000:]}"]
        text = path.read_text()
        if text not in done.stdout:
            problems.append("what is kept is not what was shown")
        host = socket.gethostname()
        for secret in ("alexandra", "swordfish", "MY_TOKEN", identity, str(int(identity, 16))):
            if secret in text:
                problems.append(f"the report has '{secret}' in it: {text[max(0, text.find(secret) - 200):][:400]}")
        report = json.loads(text)
        if any(host in step["why"] for program in report["selftest"] for step in program["steps"]):
            problems.append("the host is named")
        if "HIP_LAUNCH_BLOCKING=1" not in report["machine"]["environment"]:
            problems.append("a variable that matters is missing")
        live = json.loads(run([rochound, "softgpu", "--gpu", gpu, "--", rochound, "doctor", "--json"], env=environment).stdout)
        copied = replay(rochound, path)
        problems += compare(facts(live), facts(copied))
        if "mask-unknown-gpu" in str(copied["findings"]):
            problems.append("the mask by identity finds no GPU in the copy")
        problems += read(rochound, path)
        problems += baseline(rochound, gpu, folder, report, path)
        problems += hostile(rochound, report, path)
    return problems


def baseline(rochound, gpu, folder, report, path):
    """With a report as the baseline, the same is no difference and anything else is."""
    command = [rochound, "selftest", "--softgpu", gpu, "--baseline", path, "vector_add"] + (["--folder", folder] if folder else [])
    same = run(command)
    report["selftest"][-1]["steps"][0]["outcome"] = "different"
    assert report["selftest"][-1]["program"] == "vector_add"
    path.write_text(json.dumps(report))
    changed = run(command)
    problems = []
    if same.returncode != 0 or "0 differences" not in same.stdout:
        problems.append(f"the same GPU differs from itself: {same.stdout}{same.stderr}")
    if changed.returncode != 1 or "was: different" not in changed.stdout:
        problems.append(f"a changed outcome is not told: {changed.stdout}{changed.stderr}")
    return problems


def hostile(rochound, report, path):
    """A report cannot write outside of its folder."""
    report["machine"]["../../outside"] = "text"
    path.write_text(json.dumps(report))
    done = run([rochound, "doctor", "--root", path])
    return [] if done.returncode == 2 and "outside" in done.stderr else [f"a path that leads out is taken: {done.stderr}"]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parts = parser.add_subparsers(dest="action", required=True)
    making = parts.add_parser("make")
    making.add_argument("--gpu", required=True)
    making.add_argument("--folder")
    for action in ("read", "accept"):
        parts.add_parser(action).add_argument("report", type=pathlib.Path)
    options = parser.parse_args()
    rochound = str(pathlib.Path(options.rochound).resolve())
    if options.action == "make":
        problems = make(rochound, options.gpu, options.folder)
    else:
        problems = {"read": read, "accept": accept}[options.action](rochound, options.report)
    print("\n".join(problems) or "as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
