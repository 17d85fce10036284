#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The last step of .ci/run: says which tests were skipped, and fails where a run tested less than it claims.

usage: honest.py [--without BUILD]... FOLDER
       honest.py --write FOLDER

FOLDER holds what .ci/run keeps of its steps: BUILD.json, what `ctest --show-only=json-v1` lists in build/BUILD,
and BUILD.STEP.xml, the results of ctest (JUnit) of each step that ran tests there. It fails when
  - a test was skipped that skips.txt does not name with its reason,
  - a label has fewer tests than labels.txt says,
  - a listed test of a build that is tested whole ran in no step and does not have the label not-in-ci,
  - a build of labels.txt is not there, unless --without names it.
--write brings the rows of FOLDER's builds in labels.txt up to date (`./dev labels`); a smaller number shows in the diff of the
change.
"""

import argparse
import collections
import fnmatch
import json
import pathlib
import sys
import xml.etree.ElementTree

HERE = pathlib.Path(__file__).parent
# Tests with this label run by `./dev test LABEL --full` only.
LEFT_OUT = "not-in-ci"
# Every test of these builds runs; of the others, those of one label.
WHOLE_BUILDS = {"rocm7"}


def rows(path, columns):
    """The rows of a table: lines that are no comment, split into so many columns; the last takes the rest."""
    found = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if line.strip() and not line.startswith("#"):
            row = line.split(None, columns - 1)
            if len(row) < columns:
                sys.exit(f"{path.name}: '{line}' has {len(row)} columns instead of {columns}")
            found.append(row)
    return found


def listed_tests(path):
    """Labels of each test that ctest lists, by the test's name."""
    tests = {}
    for test in json.loads(path.read_text(encoding="utf-8"))["tests"]:
        labels = [one["value"] for one in test.get("properties", []) if one["name"] == "LABELS"]
        tests[test["name"]] = set(labels[0]) if labels else set()
    return tests


def results(path):
    """What a step ran: (test, reason why it was skipped, or None)."""
    for case in xml.etree.ElementTree.parse(path).getroot().iter("testcase"):
        skipped = case.find("skipped")
        if skipped is None and case.get("status") not in ("notrun", "disabled"):
            yield case.get("name"), None
            continue
        output = case.findtext("system-out") or ""
        said = [line.strip() for line in output.splitlines() if "SKIP" in line.upper()]
        yield case.get("name"), said[0] if said else "it says no reason"


def label_counts(tests):
    return collections.Counter(label for labels in tests.values() for label in labels)


def check(folder, labels_file=HERE / "labels.txt", skips_file=HERE / "skips.txt", without=()):
    """(what is wrong, what a person should know), as lines."""
    wrong, remarks = [], []
    builds = {path.stem: listed_tests(path) for path in sorted(folder.glob("*.json"))}
    ran = collections.defaultdict(dict)
    for path in sorted(folder.glob("*.xml")):
        ran[path.name.split(".")[0]].update(results(path))

    allowed = rows(skips_file, 3)
    used = set()
    for build, tests in ran.items():
        for test, reason in sorted(tests.items()):
            if reason is None:
                continue
            names = [row for row in allowed if fnmatch.fnmatch(test, row[0]) and fnmatch.fnmatch(build, row[1])]
            used.update(row[0] for row in names)
            if names:
                remarks.append(f"skipped: {build}: {test}: {names[0][2]}")
            else:
                wrong.append(f"{build}: {test} was skipped, and skips.txt does not name it: {reason}")
    remarks += [f"skips.txt names {row[0]}, which was not skipped" for row in allowed if row[0] not in used]

    remarks += [f"{build} was not tested" for build in without]
    for build, label, number in rows(labels_file, 3):
        if build in without:
            continue
        if build not in builds:
            wrong.append(f"{build}: was not tested; labels.txt has tests of label {label} in it")
            continue
        now = label_counts(builds[build])[label]
        if now < int(number):
            wrong.append(f"{build}: label {label} has {now} tests; it had {number}")
        elif now > int(number):
            remarks.append(f"{build}: label {label} has {now} tests, labels.txt says {number}: --write brings it up to date")
    for build in sorted(WHOLE_BUILDS & set(builds)):
        for test, labels in sorted(builds[build].items()):
            if test not in ran[build] and LEFT_OUT not in labels:
                wrong.append(f"{build}: {test} ran in no step, and does not have the label {LEFT_OUT}")
    return wrong, remarks


def write_labels(folder, labels_file=HERE / "labels.txt"):
    listed = {path.stem: label_counts(listed_tests(path)) for path in folder.glob("*.json")}
    lines = labels_file.read_text(encoding="utf-8").splitlines()
    head = [line for line in lines if line.startswith("#")]
    table = [line for line in lines if line not in head and line.split()[0] not in listed]
    table += [f"{build:<12} {label:<28} {number}" for build, counts in listed.items() for label, number in counts.items()]
    labels_file.write_text("\n".join(head + sorted(table)) + "\n", encoding="utf-8")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].removeprefix("usage: "))
    parser.add_argument("--write", action="store_true")
    parser.add_argument("--without", action="append", default=[])
    parser.add_argument("folder", type=pathlib.Path)
    options = parser.parse_args()
    if options.write:
        write_labels(options.folder)
        return 0
    wrong, remarks = check(options.folder, without=options.without)
    for line in remarks:
        print(line)
    for line in wrong:
        print(f"wrong: {line}")
    print(f"{len(wrong)} wrong" if wrong else "every test ran, or is named with its reason")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
