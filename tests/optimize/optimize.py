#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound optimize` from a program to the kernel that it runs with.

usage: optimize.py --rochound PATH --hipcc PATH --app PATH apply|tune|resume|choose|launches|occupancy|reference

  apply   a folder of candidates: the best right one is applied, the program prints the same; rollback; a program that fails
          with the kernel does not get it
  tune    the best point of a space is found, judged on all launches and applied
  resume  killed at random moments (4; 100 with ROCHOUND_FULL) and started again: the same result, nothing judged twice
  choose  without --kernel: not the kernel with most time, but the one on the critical path (critical.hip)
  launches  the shapes that take most time are captured, every second launch is held out: a candidate that is right for
          the others alone is rejected; a launch that cannot be captured is told (shapes.hip)
  occupancy  --tune does not measure what leaves most of the GPU empty
  reference  a verdict holds for the content of --reference, not for its name
"""

import argparse
import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import sys
import tempfile

import judge

GPU = judge.GPU
FLAGS = " ".join(judge.FLAGS)
KILLS = 100 if os.environ.get("ROCHOUND_FULL") else 4
# Reasons that only a search can give: each of these tests must have seen them in its journal.
GIVES = {"launches": {"held-out"}, "occupancy": {"low-occupancy"}}
given = set()


class Failed(Exception):
    pass


def check(condition, what):
    if not condition:
        raise Failed(what)


def read_log(options, work):
    done = judge.run([options.rochound, "optimize", "log", "-o", work, "--json"])
    check(done.returncode == 0, done.stderr)
    log = json.loads(done.stdout)
    given.update(entry["reason"] for entry in log["candidates"])
    return log


class Optimizer:
    def __init__(self, options, folder, kernel, generator):
        self.options = options
        self.output = folder / "work"
        self.folder = folder
        self.command = [options.rochound, "optimize", "--kernel", f"^{kernel}$", *generator, "-o", self.output, "--softgpu", GPU, "--flags", FLAGS,
                        "--runs", "1"]
        self.command += ["--as", judge.HOLDS[kernel]]

    def run(self, *more):
        done = judge.run([*self.command, *more, "--", self.options.app], cwd=self.folder)
        return done.returncode, done.stdout + done.stderr

    def log(self):
        return read_log(self.options, self.output)

    def cache(self):
        return sorted(path.name for path in (self.output / "cache").glob("*"))


def fill(options, folder, variants):
    candidates = folder / "tried"
    candidates.mkdir()
    for variant in variants:
        judge.compile_to(options.hipcc, variant, candidates / f"{variant}.hsaco")
    return candidates


def apply(options, folder):
    candidates = fill(options, folder, ["faster", "faster_2", "wrong_last", "slower"])
    optimizer = Optimizer(options, folder, "blur", ["--candidates", candidates])
    # No time for any of them; the next run judges all.
    code, said = optimizer.run("--budget", "1ms")
    check(code == 3 and "the budget is used up" in said and optimizer.log()["candidates"] == [], f"exit code {code}:\n{said}")
    code, said = optimizer.run()
    check(code == 0 and "applied: candidate" in said, f"exit code {code}:\n{said}")
    check("that is a model" in said, said)
    reasons = {entry["name"]: (entry["reason"], entry["state"]) for entry in optimizer.log()["candidates"] if entry["stage"] == "all"}
    # kernels.hip's variants that blur does not have are its original.
    check(reasons == {"faster.hsaco": ("faster", "applied"), "faster_2.hsaco": ("faster", "accepted"),
                      "wrong_last.hsaco": ("no-difference", "judged"), "slower.hsaco": ("no-difference", "judged")}, reasons)
    check(optimizer.cache() == ["kernel.hsaco"], optimizer.cache())
    bare = judge.run([options.rochound, "softgpu", "--gpu", GPU, "--", options.app])
    swapped = judge.run([options.rochound, "run", "--quiet", "--kernel-cache", optimizer.output / "cache", "-o", folder / "t.rpd", "--softgpu", GPU, "--",
                         options.app])
    check(bare.stdout == swapped.stdout and swapped.returncode == 0, swapped.stderr)

    back = judge.run([options.rochound, "optimize", "rollback", "-o", optimizer.output])
    check(back.returncode == 0 and optimizer.cache() == [], back.stdout)
    check("rolled back" in [entry["state"] for entry in optimizer.log()["candidates"]], "no state")

    # Launches that were captured of one kernel are not another's.
    other = judge.run([*(word if word != "^blur$" else "^scale$" for word in optimizer.command), "--", options.app], cwd=folder)
    check(other.returncode == 125 and "is of another kernel, blur" in other.stderr, f"exit code {other.returncode}:\n{other.stderr}")

    # A command that does not like the program's output with the kernel.
    code, said = optimizer.run("--check", "false #")
    check(code == 4 and "not applied" in said and optimizer.cache() == [], f"exit code {code}:\n{said}")
    # Nothing is better.
    shutil.rmtree(optimizer.output)
    (candidates / "faster.hsaco").unlink()
    (candidates / "faster_2.hsaco").unlink()
    code, said = optimizer.run()
    check(code == 3 and optimizer.cache() == [], f"exit code {code}:\n{said}")


def tune(options, folder):
    shutil.copy(judge.HERE / "tiles.hip", folder)
    space = folder / "space.json"
    parameters = {"TILES": [0, 1], "UNROLL": [1, 16], "SKIP": [0, 1]}
    if judge.FULL:
        parameters |= {"PAD": [0, 1], "UNROLL": [1, 4, 16]}
    space.write_text(json.dumps({"source": "tiles.hip", "parameters": parameters}))
    optimizer = Optimizer(options, folder, "gemm", ["--tune", space, "--most", "12"])
    code, said = optimizer.run()
    check(code == 0, f"exit code {code}:\n{said}")
    entries = optimizer.log()["candidates"]
    applied = [entry for entry in entries if entry["state"] == "applied"]
    check(len(applied) == 1 and applied[0]["stage"] == "all", entries)
    right = {entry["flags"]: entry["cost"] for entry in entries if entry["stage"] == "first" and entry["cost"] > 0}
    check(len(right) <= 12, f"{len(right)} measured")
    for flags, cost in sorted(right.items(), key=lambda item: item[1]):
        print(f"  {cost:.0f} modelled cycles with {flags}")
    check(right[applied[0]["flags"]] == min(right.values()), "another one was better")
    check("-DSKIP=0" in applied[0]["flags"] and applied[0]["speedup"] >= 3, applied)
    wrong = [entry for entry in entries if "-DSKIP=1" in entry["flags"]]
    check(all(entry["reason"] in ("different", "other-inputs") for entry in wrong), wrong)
    print(f"{len(entries)} judged, {applied[0]['speedup']:.1f} times with {applied[0]['flags']}")


def resume(options, folder):
    candidates = fill(options, folder, ["faster", "wrong_last", "faster_2", "original"])
    whole = Optimizer(options, folder, "scale", ["--candidates", candidates])
    code, said = whole.run()
    check(code == 0, said)

    def result(optimizer):
        return [(entry["name"], entry["reason"], entry["state"], entry["cost"], entry["sha256"]) for entry in optimizer.log()["candidates"]]
    expected = result(whole)
    content = (whole.output / "cache" / "kernel.hsaco").read_bytes()
    shutil.rmtree(whole.output)
    chance = random.Random(7)
    killed = 0
    # What a capture leaves that is killed while it packs: the next one has to take its place.
    (whole.output / "bundles" / "2.bundle.partial").mkdir(parents=True)
    seen = {}  # what was in the journal, by candidate

    def look():
        """What was judged stays as it was, and is not judged again."""
        if not (whole.output / "journal.sqlite").exists():
            return
        try:
            entries = whole.log()["candidates"]
        except Failed:
            return  # killed before its tables were made
        now = {entry["id"]: {key: value for key, value in entry.items() if key != "state"} for entry in entries}
        lost = {number for number, entry in seen.items() if now.get(number) != entry}
        check(not lost, f"after {killed} kills candidates {lost} are not what they were: {seen} and {now}")
        seen.update(now)
    while killed < KILLS:
        process = subprocess.Popen([str(word) for word in [*whole.command, "--", options.app]], cwd=folder, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True)
        try:
            process.wait(chance.uniform(0.1, 6))
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGKILL)
            process.wait()
            killed += 1
            look()
            continue
        # It came to its end: begin anew, but for what a whole run takes.
        check(result(whole) == expected, f"after {killed} kills: {result(whole)}")
        look()
        seen.clear()
        shutil.rmtree(whole.output)
    code, said = whole.run()
    check(code == 0, said)
    check(result(whole) == expected, f"{result(whole)} instead of {expected}")
    look()
    check((whole.output / "cache" / "kernel.hsaco").read_bytes() == content, "another kernel")
    left = sorted(path.name for path in (whole.output / "tmp").iterdir())
    check(not left, f"left behind: {left}")
    # A second time there is nothing to do.
    code, said = whole.run()
    check(code == 0 and "applied already" in said, said)
    print(f"killed {killed} times")


def choose(options, folder):
    nothing = folder / "nothing"
    nothing.mkdir()
    work = folder / "work"
    done = judge.run([options.rochound, "optimize", "--candidates", nothing, "-o", work, "--softgpu", GPU, "--", options.app])
    said = done.stdout + done.stderr
    check(done.returncode == 3, f"exit code {done.returncode}:\n{said}")
    top = judge.run([options.rochound, "explain", "top", work / "profile.rpd", "--json"])
    times = {row["kernel"]: row["total_ns"] for row in json.loads(top.stdout)["tables"]["kernels"]["rows"]}
    print({kernel: f"{time / 1e6:.0f} ms" for kernel, time in times.items()})
    check(times["aside"] > times["chain"], f"aside does not take most time: {times}")
    check("the kernel with most of the critical path is chain" in said, said)
    check((work / "bundles" / "1.bundle").is_dir(), "nothing was captured")
    manifest = judge.run([options.rochound, "show", work / "bundles" / "1.bundle", "--json"])
    check('"chain"' in manifest.stdout, manifest.stdout)


TRIPLE = """
#ifndef HOARD
#define HOARD 0
#endif
extern "C" __attribute__((global)) void triple(const float* in, float* out, int count) {
  const int i = __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x();
#if HOARD  // LDS for nothing
  __attribute__((shared)) volatile float hoard[HOARD];
  if (count < 0) hoard[i] = 1;
#endif
  if (i < count) out[i] = FORMULA;
}
"""


def launches(options, folder):
    """shapes.hip launches 256 elements first; 4096 take most time."""
    candidates = folder / "tried"
    candidates.mkdir()
    (candidates / "good.hip").write_text(TRIPLE.replace("FORMULA", "in[i] * 3"))
    shapes = ["256x2", "4096x4", "64x1"]
    log = lambda work: read_log(options, work)

    def run(work, program, *more):
        done = judge.run([options.rochound, "optimize", "--kernel", "triple", "--candidates", candidates, "-o", work, "--softgpu", GPU, "--flags",
                          FLAGS, "--as", "float", "--runs", "1", *more, "--", *program], cwd=folder)
        return done.returncode, done.stdout + done.stderr

    # One that is right for what the search sees alone, and cheaper than the good one: with 256 elements it writes others.
    seen = candidates / "seen.hip"
    seen.write_text(TRIPLE.replace("FORMULA", "count == 256 ? in[i] * 2 : in[i] * 3"))
    good = candidates / "good.hip"
    good.rename(folder / "good.hip")
    work = folder / "work"
    code, said = run(work, [options.app, *shapes])
    chosen = [(one["grid"][0], one["nth"], one["held_out"]) for one in json.loads((work / "launches.json").read_text())["launches"]]
    print(chosen)
    check(chosen == [(4096, 1, False), (256, 1, True), (64, 1, False), (4096, 3, True), (256, 2, False)], chosen)
    # Its second launch with 256 elements is one that the search sees: wrong there already, and for that reason.
    entries = log(work)["candidates"]
    check(code == 3 and [entry["reason"] for entry in entries] == ["different"], f"exit code {code}: {entries}\n{said}")

    # Once each: 256 elements are held out altogether.
    shutil.rmtree(work)
    once = [options.app, "256x1", "4096x1", "64x1"]
    code, said = run(work, once)
    check(code == 3 and "is rejected: in a launch that the search did not see, its results are different" in said, f"exit code {code}:\n{said}")
    entries = log(work)["candidates"]
    check([(entry["stage"], entry["reason"], entry["state"]) for entry in entries] == [("all", "faster", "rejected"), ("held-out", "held-out", "judged")], entries)
    check("2.bundle" in entries[1]["message"] and not (work / "cache" / "kernel.hsaco").exists(), entries)
    # Its twin, which is right everywhere, is applied; what was rejected is not judged again.
    (folder / "good.hip").rename(good)
    code, said = run(work, once)
    check(code == 0 and "applied: candidate" in said and "good.hip" in said, f"exit code {code}:\n{said}")
    entries = log(work)["candidates"]
    check([(entry["name"], entry["stage"]) for entry in entries] == [("seen.hip", "all"), ("seen.hip", "held-out"), ("good.hip", "all"), ("good.hip", "held-out")],
          entries)

    # From its third run on the program has one shape: what is not captured is told, the rest is judged.
    script = folder / "fewer.sh"
    script.write_text(f'#!/bin/sh\necho run >> {folder}/runs\n'
                      f'if [ $(wc -l < {folder}/runs) -ge 3 ]; then exec {options.app} 4096x4; fi\nexec {options.app} {" ".join(shapes)}\n')
    script.chmod(0o755)
    seen.unlink()
    work = folder / "fewer"
    code, said = run(work, [script])
    check(code == 0, f"exit code {code}:\n{said}")
    lost = [event for event in log(work)["events"] if "not captured, so candidates are not judged by it: grid" in event]
    check(len(lost) == 3 and "not captured, so candidates are not judged by it: grid 256x1x1" in said, f"{lost}\n{said}")
    check(len([event for event in log(work)["events"] if " captured" in event and event not in lost]) == 2, log(work)["events"])


def occupancy(options, folder):
    """Two waves of `triple` that take most of a GPU's LDS leave it empty: not measured, once something better is known."""
    (folder / "triple.hip").write_text(TRIPLE.replace("FORMULA", "in[i] * 3"))
    space = folder / "space.json"
    space.write_text(json.dumps({"source": "triple.hip", "parameters": {"HOARD": [0, 14000], "OTHER": [0, 1, 2, 3]}}))
    work = folder / "work"
    done = judge.run([options.rochound, "optimize", "--kernel", "triple", "--tune", space, "-o", work, "--softgpu", GPU, "--flags", FLAGS, "--as", "float",
                      "--runs", "1", "--", options.app, "512x2"], cwd=folder)
    check(done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
    entries = read_log(options, work)["candidates"]
    points = [entry for entry in entries if entry["stage"] == "first"]
    check(len(points) == 8, points)
    pruned = [entry for entry in points if entry["reason"] == "low-occupancy"]
    check(pruned and all("-DHOARD=14000" in entry["flags"] and entry["cost"] == 0 for entry in pruned), points)
    check(all("not measured: 1 of 16 waves per SIMD, limited by LDS; the best so far has 16 of 16" in entry["message"] for entry in pruned), pruned)
    # The clean ones are all measured.
    check(len([entry for entry in points if "-DHOARD=0" in entry["flags"] and entry["cost"] > 0]) == 4, points)
    print(f"{len(points)} points, {len(pruned)} left out by their occupancy")

    # Where it begins.
    def begins(seed):
        work = folder / f"seed{seed}"
        shutil.copytree(folder / "work" / "bundles", work / "bundles")
        done = judge.run([options.rochound, "optimize", "--kernel", "triple", "--tune", space, "--most", "1", "--seed", seed, "-o", work, "--softgpu", GPU,
                          "--flags", FLAGS, "--as", "float", "--runs", "1", "--", options.app, "512x2"], cwd=folder)
        check(done.returncode in (0, 3), f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        entries = json.loads(judge.run([options.rochound, "optimize", "log", "-o", work, "--json"]).stdout)["candidates"]
        point, = [entry["flags"] for entry in entries if entry["stage"] == "first"]
        return point
    check(begins(1) != begins(2), "another --seed begins with the same point")


def reference(options, folder):
    """A reference whose content changes in its place is another one: verdicts are not taken from the journal."""
    candidates = folder / "tried"
    candidates.mkdir()
    (candidates / "good.hip").write_text(TRIPLE.replace("FORMULA", "in[i] * 3"))
    precise = folder / "precise.hip"
    precise.write_text(TRIPLE.replace("FORMULA", "(float)((double)in[i] * 3)"))
    work = folder / "work"

    def judged():
        done = judge.run([options.rochound, "optimize", "--kernel", "triple", "--candidates", candidates, "-o", work, "--softgpu", GPU, "--flags", FLAGS,
                          "--as", "float", "--runs", "1", "--verify", "tol=float:1e-3", "--reference", precise, "--", options.app, "256x1"], cwd=folder)
        check(done.returncode == 0, f"exit code {done.returncode}:\n{done.stdout}{done.stderr}")
        return len(read_log(options, work)["candidates"])
    check(judged() == 1, "not judged")
    check(judged() == 1, "judged again, although nothing has changed")
    precise.write_text(TRIPLE.replace("FORMULA", "(float)(3 * (double)in[i])"))
    check(judged() == 2, "the reference is another one, and the verdict was taken from the journal")


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "hipcc", "app"):
        parser.add_argument("--" + name, required=True, type=pathlib.Path)
    parser.add_argument("what", choices=("apply", "tune", "resume", "choose", "launches", "occupancy", "reference"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-optimize-") as name:
        try:
            globals()[options.what](options, pathlib.Path(name))
            missing = GIVES.get(options.what, set()) - given
            check(not missing, f"no candidate was judged as {missing}")
        except Failed as problem:
            print(f"FAIL: {problem}")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
