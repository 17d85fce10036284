#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Records a program for long, under --last and random commands from outside, and watches what grows.

usage: soak.py --rochound PATH --gpu GPU [--seconds N] [--bare] [--last 30s] [--seed S] -- PROGRAM...

PROGRAM gets the seconds as its last argument, and goes on for so long. Watched are its own memory, its descriptors and
threads, and the files of its log. Right is: it ends with 0, and in the last third of the time none of them is above
what the middle third had, but for a margin. The first third is for warming up. --bare runs the same without the
recorder: what grows there is the program's own.
"""

import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "programs"))
import process  # noqa: E402

PATIENCE = 120
# What the last third may have more than the middle one: (per cent, and a number).
MARGINS = {"memory_kib": (5, 4096), "descriptors": (0, 8), "threads": (0, 4), "log_kib": (25, 16384), "log_files": (0, 4),
           "other_files": (0, 2)}
COMMANDS = ("start", "stop", "start", "status", "flush", "list", "dump", "many")


class Watched:
    """What the program's process has, once a second."""

    def __init__(self, pid, log, control):
        self.pid, self.log, self.control = pid, log, control
        self.samples = []

    def sample(self, seconds):
        try:
            status = dict(line.split(":", 1) for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines())
            files = [path.stat() for path in self.log.rglob("*") if path.is_file()]
            self.samples.append({
                "seconds": seconds, "memory_kib": int(status["RssAnon"].split()[0]), "threads": int(status["Threads"]),
                "descriptors": len(os.listdir(f"/proc/{self.pid}/fd")), "log_kib": sum(one.st_blocks for one in files) // 2,
                "log_files": len(files), "other_files": len(list(self.control.iterdir()))})
        except (OSError, KeyError):
            pass  # it ends, or a file went while we looked

    def third(self, number, name):
        ordered = [one[name] for one in self.samples]
        size = len(ordered) // 3
        return ordered[number * size:(number + 1) * size]

    def report(self):
        """Lines, and what is wrong."""
        lines, problems = [f"{'':14}{'first third':>24}{'middle third':>24}{'last third':>24}   (least, median, most)"], []
        for name, (percent, number) in MARGINS.items():
            thirds = [self.third(part, name) for part in range(3)]
            if not all(thirds):
                return lines, ["too few samples: the run was too short"]
            lines.append(f"{name:14}" + "".join(
                f"{f'{min(one)}, {statistics.median(one):.0f}, {max(one)}':>24}" for one in thirds))
            allowed = max(thirds[1]) * (100 + percent) / 100 + number
            if max(thirds[2]) > allowed:
                problems.append(f"{name} grew: {max(thirds[2])} in the last third, {max(thirds[1])} in the middle one")
        return lines, problems


def find_program(child, name):
    """The process of the program among the descendants of the launcher."""
    deadline = time.monotonic() + PATIENCE
    while time.monotonic() < deadline and child.poll() is None:
        waiting = [child.pid]
        while waiting:
            pid = waiting.pop()
            try:
                if pathlib.Path(f"/proc/{pid}/exe").resolve().name == name:
                    return pid
                for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
                    waiting += map(int, (task / "children").read_text().split())
            except OSError:
                continue
        time.sleep(0.05)
    return None


def command(options, folder, counts, number):
    """One command from outside, of which we only want that it changes nothing."""
    word = random.choice(COMMANDS)
    counts[word] = counts.get(word, 0) + 1
    words = [[word, "--all"]]
    if word == "list":
        words = [[word]]
    if word == "dump":
        words = [[word, "--all", "-o", str(folder / f"dump{number}.rpd")]]
    if word == "many":
        words = [[random.choice(("start", "stop", "status")), "--all"] for _ in range(20)]
    for each in words:
        done = subprocess.run([options.rochound, "ctl", *each], capture_output=True, text=True, timeout=PATIENCE, check=False)
        if done.returncode != 0:
            counts[f"{word} failed"] = counts.get(f"{word} failed", 0) + 1
    for dump in folder.glob("dump*"):
        dump.unlink()


def soak(options, folder):
    log, control = folder / "log", folder / "control"
    for each in (log, control):
        each.mkdir(mode=0o700)
    os.environ["ROCHOUND_CONTROL_DIR"] = str(control)
    launcher = [options.rochound, "softgpu", "--gpu", options.gpu, "--"]
    if not options.bare:
        launcher += [options.rochound, "run", "--last", options.last, "--log-dir", str(log), "-o", str(folder / "trace.rpd"), "--"]
    out, err = (folder / "stdout").open("w+"), (folder / "stderr").open("w+")
    child = process.start([*launcher, *options.command, str(options.seconds)], folder, stdin=subprocess.DEVNULL, stdout=out,
                          stderr=err)
    counts, problems = {}, []
    try:
        pid = find_program(child, pathlib.Path(options.command[0]).name)
        if pid is None:
            return ["the program did not start", (folder / "stderr").read_text()[-2000:]]
        watched = Watched(pid, log, control)
        begin = time.monotonic()
        next_command, number = 3.0, 0
        while child.poll() is None:
            passed = time.monotonic() - begin
            if passed > options.seconds + 2 * PATIENCE:
                problems.append(f"no end {2 * PATIENCE} s after its time")
                break
            watched.sample(passed)
            if not options.bare and next_command < passed < options.seconds - 3:
                command(options, folder, counts, number)
                number += 1
                next_command = passed + random.uniform(0, 4)
            time.sleep(min(1.0, options.seconds / 60))
    finally:
        process.stop(child)
    code = child.wait()
    lines, grown = watched.report()
    text = (folder / "stdout").read_text()
    print("\n".join(line for line in text.splitlines() if line.startswith(("elapsed", "PASS", "FAIL"))))
    print(f"{'bare' if options.bare else 'recorded'} for {options.seconds} s, {len(watched.samples)} samples, seed {options.seed}; "
          f"commands: {counts}")
    print("\n".join(lines))
    if options.samples:
        pathlib.Path(options.samples).write_text("".join(json.dumps(one) + "\n" for one in watched.samples))
    problems += grown
    if code != 0:
        problems += [f"exit code {code}", text[-1000:], (folder / "stderr").read_text()[-2000:]]
    if not options.bare and not (folder / "trace.rpd").exists():
        problems.append("there is no trace")
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu", default="rx6800xt")
    parser.add_argument("--seconds", type=int, default=3600)
    parser.add_argument("--last", default="30s")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--samples", help="a file for all samples, a line of JSON each")
    parser.add_argument("--seed", type=int, default=random.randrange(10**6))
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    random.seed(options.seed)
    with tempfile.TemporaryDirectory(prefix="rochound-test-") as folder:
        problems = soak(options, pathlib.Path(folder))
    print("\n".join(problems))
    print("FAIL soak" if problems else "PASS soak")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
