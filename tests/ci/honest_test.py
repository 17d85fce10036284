#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""honest.py itself: a run that tested less than the one before fails, and says what is gone.

usage: honest_test.py --build FOLDER CASE

The tests of this very build are listed as .ci/run lists them. Results are made up: all pass, unless a case says
otherwise. The case `without_fleet` has CMake configure the tree once more as in a root that was made without --fleet.
"""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile

import honest

SOURCE = pathlib.Path(__file__).parents[2]
HEAD = "<?xml version='1.0'?><testsuite>"


class Run:
    """What a run of .ci/run would have kept, in a folder, with labels.txt and skips.txt of its own."""

    def __init__(self, folder, build):
        self.folder = pathlib.Path(folder)
        self.kept = self.folder / "kept"
        self.kept.mkdir()
        self.labels = self.folder / "labels.txt"
        self.skips = self.folder / "skips.txt"
        self.skips.write_text((honest.HERE / "skips.txt").read_text())
        self.listing = list_tests(build)
        self.skipped = {}

    def names(self):
        return [test["name"] for test in self.listing["tests"]]

    def check(self):
        (self.kept / "rocm7.json").write_text(json.dumps(self.listing))
        self.write_results()
        return honest.check(self.kept, self.labels, self.skips)[0]

    def write_results(self):
        cases = [f"<testcase name='{name}' status='run'/>" if name not in self.skipped else
                 f"<testcase name='{name}' status='notrun'><skipped message=''/>"
                 f"<system-out>SKIP {self.skipped[name]}</system-out></testcase>" for name in self.names()]
        (self.kept / "rocm7.tests.xml").write_text(HEAD + "".join(cases) + "</testsuite>")

    def remember_labels(self):
        self.labels.write_text("# none\n")
        (self.kept / "rocm7.json").write_text(json.dumps(self.listing))
        honest.write_labels(self.kept, self.labels)


def list_tests(build):
    listed = subprocess.run(["ctest", "--test-dir", str(build), "--show-only=json-v1"], capture_output=True, text=True,
                            check=True)
    return json.loads(listed.stdout)


def expect(good, what):
    if not good:
        sys.exit(f"failed: {what}")


def labels(run, build):
    """labels.txt of the tree is that of this build: none of its labels has fewer tests."""
    del build
    rows = [line for line in (honest.HERE / "labels.txt").read_text().splitlines(True) if line.startswith(("#", "rocm7 "))]
    run.labels.write_text("".join(rows))
    expect(len(rows) > 100, f"labels.txt has {len(rows)} rows of rocm7")
    # The runtimes as AMD builds them are in CI's build folder, and in another only where it was asked for.
    amd = any(name.startswith("amd") for name in run.names())
    wrong = [line for line in run.check() if amd or " amd-" not in line]
    expect(not wrong, "\n".join(wrong))


def unexplained_skip(run, build):
    del build
    run.remember_labels()
    expect(run.check() == [], "a whole run is wrong")
    victim = run.names()[7]
    run.skipped[victim] = "no reason at all"
    wrong = run.check()
    expect(len(wrong) == 1 and victim in wrong[0] and "no reason at all" in wrong[0], wrong)
    run.skips.write_text(f"{victim} rocm7 It needs a machine that nobody has.\n")
    expect(run.check() == [], "a skip with a reason is wrong")


def test_out_of_a_label(run, build):
    del build
    run.remember_labels()
    victim = next(test for test in run.listing["tests"] if honest_labels(test) == ["recorder-killed"])
    for one in victim["properties"]:
        if one["name"] == "LABELS":
            one["value"] = ["recorder-life"]
    wrong = run.check()
    expect(len(wrong) == 1 and "recorder-killed" in wrong[0], wrong)


def honest_labels(test):
    return [label for one in test.get("properties", []) if one["name"] == "LABELS" for label in one["value"]]


def test_that_no_step_runs(run, build):
    del build
    run.remember_labels()
    expect(run.check() == [], "a whole run is wrong")
    run.listing["tests"].append({"name": "alone", "properties": []})
    run.write_results = lambda: None
    wrong = run.check()
    expect(wrong == ["rocm7: alone ran in no step, and does not have the label not-in-ci"], wrong)


def missing_build(run, build):
    del build
    run.remember_labels()
    run.labels.write_text(run.labels.read_text() + "rocm7-asan sanitized 400\n")
    wrong = run.check()
    expect(len(wrong) == 1 and "rocm7-asan: was not tested" in wrong[0], wrong)


def without_fleet(run, build):
    """libnats is not found, as in a root without --fleet: labels have fewer tests, and their stand-ins are skipped."""
    run.remember_labels()
    other = run.folder / "build"
    other.mkdir()
    # The unit tests that list their cases are those of this build.
    (other / "bin").symlink_to(build / "bin")
    cache = (build / "CMakeCache.txt").read_text().splitlines()
    same = [f"-D{line}" for line in cache if line.startswith(("CMAKE_UNITY_BUILD", "CMAKE_BUILD_TYPE", "ROCHOUND_AMD:"))]
    # A library that is set, to nothing, is not looked for.
    configured = subprocess.run(["cmake", "-S", str(SOURCE), "-B", str(other), "-G", "Ninja", *same, "-DROCHOUND_NATS="],
                                capture_output=True, text=True, check=False)
    expect(configured.returncode == 0, configured.stderr)
    before = set(run.names())
    run.listing = list_tests(other)
    run.skipped = {name: "there is no libnats" for name in run.names() if name.startswith("fleet.")}
    expect(before - set(run.names()), "without libnats the same tests are listed")
    wrong = "\n".join(run.check())
    for label in ("fleet-unit", "fleet-exact", "fleet-faults", "fleet-hang", "fleet-history"):
        expect(f"label {label} has" in wrong, f"nobody misses {label}:\n{wrong}")
    expect("fleet.exact was skipped, and skips.txt does not name it" in wrong, wrong)


CASES = {case.__name__: case for case in (labels, unexplained_skip, test_out_of_a_label, test_that_no_step_runs,
                                          missing_build, without_fleet)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--build", type=pathlib.Path)
    parser.add_argument("case", nargs="?", choices=CASES)
    options = parser.parse_args()
    if options.list:
        print("\n".join(CASES))
        return
    with tempfile.TemporaryDirectory(prefix="rochound-honest-") as folder:
        CASES[options.case](Run(folder, options.build), options.build)


if __name__ == "__main__":
    main()
