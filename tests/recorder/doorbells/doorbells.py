#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Switches a recorder while many threads of a program ring one doorbell; every kernel must run, and none wait.

usage: doorbells.py --case CASE --rochound PATH --agent PATH --gpu GPU [--toggles N] -- PROGRAM...

    switches   start and stop from outside, by the socket and by `rochound ctl`, with status and flush between
    ranges     the same, recording only in the program's ranges
    capture    the same, while a launch is captured
    disable    the same, while the recorder's allocations begin to fail, after which it is off for good

The software GPU takes no packet that no doorbell was rung for (`no-rescue`). 300 toggles; 25,000 with ROCHOUND_FULL in
the environment.
"""

import argparse
import os
import pathlib
import random
import socket
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[2] / "programs"))
import process  # noqa: E402

PATIENCE = 60
KERNEL = "Step"


def ask(path, word):
    """The answer of a process's control socket; empty: none."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as client:
        client.settimeout(PATIENCE)
        client.connect(str(path))
        client.sendall(word.encode() + b"\n")
        answer = b""
        while piece := client.recv(65536):
            answer += piece
    return answer.decode(errors="replace")


def wait_for_socket(folder, child):
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and child.poll() is None:
        if found := list(folder.glob("*.sock")):
            return found[0]
        time.sleep(0.02)
    return None


def wait_for_bundle(folder, child):
    """Until the recorder has written what it captured; the command packs it when the program has ended."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and child.poll() is None and not list(folder.rglob("manifest.json")):
        time.sleep(0.02)


def command_of(options, folder, case):
    """(the command, more environment)"""
    command = [options.rochound, "softgpu", "--gpu", options.gpu, "--fault", "no-rescue", "--"]
    if case == "capture":
        return command + [options.rochound, "capture", "-q", "--kernel", KERNEL, "--nth", str(random.randint(1, 200)), "-o",
                          str(folder / "bundle"), "--", *options.command], {}
    environment = {"HSA_TOOLS_LIB": options.agent, "ROCHOUND_LOG_DIR": str(folder / "log"), "ROCHOUND_KEEP": "64MiB"}
    if case == "ranges":
        environment["ROCHOUND_RANGE"] = "work"
    if case == "disable":
        environment["ROCHOUND_TEST_FAIL_ALLOCATION"] = str(random.randint(5000, 8000))  # after set-up
    return command + options.command, environment


def toggle(options, place, pid, count):
    """Numbers of answers by state."""
    states = {}
    for number in range(count):
        word = random.choice(("start", "stop", "start", "stop", "status"))
        if number % 100 == 50:
            word = "flush"
        if number % 50 == 20:
            subprocess.run([options.rochound, "ctl", word, pid], capture_output=True, timeout=PATIENCE, check=False)
            continue
        try:
            answer = ask(place, word)
        except (ConnectionError, FileNotFoundError):
            answer = "state=gone"  # without memory there is no control either
        state = next((line[6:] for line in answer.splitlines() if line.startswith("state=")), "none")
        states[state] = states.get(state, 0) + 1
    return states


def one_case(options, folder):
    control = folder / "control"
    control.mkdir(mode=0o700)
    command, more = command_of(options, folder, options.case)
    errors = (folder / "stderr").open("w+")
    os.environ.update(ROCHOUND_CONTROL_DIR=str(control))
    child = process.start(command, folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors,
                          env={**os.environ, "GPU_MAX_HW_QUEUES": "1", **more})
    problems, states, out, toggles = [], {}, "", 0
    begin = time.monotonic()
    try:
        place = wait_for_socket(control, child)
        if place is None:
            problems.append("there is no recorder to control")
        else:
            states = toggle(options, place, place.stem, options.toggles)
            toggles = options.toggles
            while options.case == "disable" and not {"disabled", "gone"} & set(states) and toggles < 20 * options.toggles:
                states = toggle(options, place, place.stem, options.toggles)
                toggles += options.toggles
            if options.case == "capture":
                ask(place, "start")  # so that one which has not come yet comes
                wait_for_bundle(folder, child)
            time.sleep(1)
        print(f"{toggles} toggles in {time.monotonic() - begin:.1f} s, answers: {states}")
        child.stdin.close()
        child.stdin = None
        try:
            out, _ = child.communicate(timeout=2 * PATIENCE)
        except subprocess.TimeoutExpired:
            problems.append(f"no end within {2 * PATIENCE} s of the last toggle")
    except OSError as error:
        problems.append(f"the recorder does not answer: {error}")
    finally:
        process.stop(child)
    print(out.strip())
    if not problems and (child.returncode != 0 or "PASS ringing" not in out):
        problems.append(f"exit code {child.returncode}")
    if options.case == "disable":
        if not {"disabled", "gone"} & set(states):
            problems.append("the recorder was never disabled: this shows nothing")
    elif not {"recording", "armed"} <= set(states):
        problems.append("the recorder was not switched: this shows nothing")
    if options.case == "capture" and not (folder / "bundle" / "manifest.json").exists():
        problems.append("nothing was captured")
    errors.seek(0)
    return problems + ([errors.read()[-2000:]] if problems else [])


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--case", choices=("switches", "ranges", "capture", "disable"), required=True)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--agent", required=True)
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("--toggles", type=int, default=25_000 if os.environ.get("ROCHOUND_FULL") else 300)
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        problems = one_case(options, pathlib.Path(folder))
    print("\n".join(problems))
    print(f"{'FAIL' if problems else 'PASS'} {options.case}, seed {options.seed}")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
