#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Puts faults into the product, one at a time, and looks which test notices: `./dev mutate`.

usage: mutate.py [ROOM...] --folder FOLDER [--only TEXT] [--coverage]
       mutate.py --places

A room is a part of the sources, and a file in rooms/: its NAME; the unit tests (TESTS, targets) that are to notice, in
the order in which they are asked; its files (CODE) for --coverage; and its FAULTS. A fault is (what is wrong, file,
text that is there once with the part to change between « and », what is there instead). SURVIVORS says of a fault that
no test notices why that is so.

The sources are copied into --folder and changed there, so that a run that is cut off leaves the checkout as it was. A
fault that does not compile is a mistake in the list. Tests that do not end count as having noticed. What was found is
kept in results.json, and docs/tests.md is made of that. --coverage measures the lines that the rooms' unit tests run.

--places only checks the lists, these and those of tests/random: that every fault has its place and was tried, and that
docs/tests.md is what results.json gives.

Exit code 0: every fault is noticed, or its survival has a reason. 1: not so. 2: a list is wrong, or a test fails
without a fault.
"""

import argparse
import datetime
import fnmatch
import glob
import importlib.util
import json
import os
import re
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
RESULTS = os.path.join(HERE, "results.json")
PAGE = os.path.join(ROOT, "docs/tests.md")
LEAST_FAULTS = 15


class Mistake(Exception):
    """The lists, or the tests without a fault, are not as they should be."""


def load(path):
    spec = importlib.util.spec_from_file_location(os.path.basename(path)[:-3], path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def rooms():
    return {room.NAME: room for room in map(load, sorted(glob.glob(os.path.join(HERE, "rooms/*.py"))))}


def read(path):
    with open(path, encoding="utf-8") as file:
        return file.read()


def write(path, text):
    with open(path + ".new", "w", encoding="utf-8") as file:
        file.write(text)
    os.replace(path + ".new", path)


def results():
    return json.loads(read(RESULTS)) if os.path.exists(RESULTS) else {}


# --- places

def changed(text, marked, wrong):
    """The text with the fault in it; None: its place is not there once."""
    before, rest = marked.split("«")
    right, after = rest.split("»")
    old = before + right + after
    return text.replace(old, before + wrong + after) if text.count(old) == 1 else None


def wrong_places(room):
    found = []
    for what, path, marked, wrong in room.FAULTS:
        file = os.path.join(ROOT, path)
        if marked.count("«") != 1 or marked.count("»") != 1:
            found.append(f"{room.NAME}: {what}: « and » are to be there once")
        elif not os.path.exists(file) or changed(read(file), marked, wrong) is None:
            found.append(f"{room.NAME}: {what}: its text is not once in {path}")
    names = [fault[0] for fault in room.FAULTS]
    found += [f"{room.NAME}: {name}: is there twice" for name in sorted({n for n in names if names.count(n) > 1})]
    found += [f"{room.NAME}: {name}: a survivor that is no fault" for name in room.SURVIVORS if name not in names]
    if len(names) < LEAST_FAULTS:
        found.append(f"{room.NAME}: has {len(names)} faults, fewer than {LEAST_FAULTS}")
    return found


def wrong_places_of_random():
    sys.path.insert(0, os.path.join(ROOT, "tests/random"))
    from mutations import MUTATIONS
    found = []
    for _, what, path, marked, _ in MUTATIONS:
        file = os.path.join(ROOT, "src/softgpu/isa", path)
        if not os.path.exists(file) or changed(read(file), marked, "") is None:
            found.append(f"tests/random: {what}: its text is not once in src/softgpu/isa/{path}")
    return found


def unexplained(room, faults):
    """Of the faults that were tried, those that nobody noticed and that have no reason, and reasons without need."""
    return ([f"{room.NAME}: {what}: not noticed, and SURVIVORS has no reason" for what, by in faults.items()
             if by is None and what not in room.SURVIVORS] +
            [f"{room.NAME}: {what}: {faults[what]} notices it; it is no survivor" for what in room.SURVIVORS
             if faults.get(what) is not None])


def check_places():
    known = results()
    found = wrong_places_of_random()
    for room in rooms().values():
        found += wrong_places(room)
        tried = known.get(room.NAME, {}).get("faults", {})
        found += unexplained(room, tried)
        found += [f"{room.NAME}: {fault[0]}: was not tried: ./dev mutate" for fault in room.FAULTS if fault[0] not in tried]
    if page_text(known) != read(PAGE):
        found.append("docs/tests.md: not what tests/mutation/results.json gives; ./dev mutate writes it")
    for line in found:
        print(line)
    return 2 if found else 0


# --- the page

def page_text(known):
    lines = ["| room | noticed | lines run by unit tests | not noticed |", "|---|---|---|---|"]
    noticed = tried = 0
    for name, room in sorted(rooms().items()):
        result = known.get(name, {})
        faults = {what: by for what, by in result.get("faults", {}).items() if what in {f[0] for f in room.FAULTS}}
        by = sum(by is not None for by in faults.values())
        noticed, tried = noticed + by, tried + len(faults)
        survivors = "; ".join(f"{what}: {room.SURVIVORS.get(what, 'no reason is known')}"
                              for what, by in faults.items() if by is None)
        untried = len(room.FAULTS) - len(faults)
        said = f"{by} of {len(faults)}" + (f"; {untried} not tried yet" if untried else "")
        lines.append(f"| {name} | {said} | {coverage_text(result.get('coverage'))} | {survivors} |")
    percent = f" ({100 * noticed / tried:.1f}%)" if tried else ""
    lines.append(f"| all | {noticed} of {tried}{percent} | | |")
    before, rest = read(PAGE).split("<!-- faults: begin -->\n")
    after = rest.split("<!-- faults: end -->")[1]
    return f"{before}<!-- faults: begin -->\n" + "\n".join(lines) + f"\n<!-- faults: end -->{after}"


def coverage_text(coverage):
    if not coverage:
        return "not measured"
    return f"{100 * coverage['run'] / coverage['lines']:.0f}% of {coverage['lines']}"


def keep(name, part):
    known = results()
    known.setdefault(name, {}).update(part)
    known[name]["date"] = datetime.datetime.now(datetime.timezone.utc).date().isoformat()
    write(RESULTS, json.dumps(known, indent=1, ensure_ascii=False, sort_keys=True) + "\n")
    write(PAGE, page_text(known))


# --- building and running

class Copy:
    """A copy of the checkout, and a build of it."""

    def __init__(self, folder, options):
        self.source = os.path.join(folder, "source")
        self.build_folder = os.path.join(folder, "build")
        self.options = options
        listed = subprocess.run(["git", "-c", "safe.directory=*", "-C", ROOT, "ls-files", "-z", "--cached", "--others",
                                 "--exclude-standard"], stdout=subprocess.PIPE, text=True, check=True).stdout
        wanted = {name for name in listed.split("\0") if name and os.path.isfile(os.path.join(ROOT, name))}
        for name in wanted:
            self.bring(name)
        for place, _, names in os.walk(self.source):
            for name in names:
                path = os.path.join(place, name)
                if os.path.relpath(path, self.source) not in wanted:
                    os.remove(path)

    def bring(self, name):
        """As the checkout has it; what is equal keeps its time."""
        at, to = os.path.join(ROOT, name), os.path.join(self.source, name)
        with open(at, "rb") as file:
            content = file.read()
        if os.path.exists(to):
            with open(to, "rb") as file:
                if file.read() == content:
                    return
        os.makedirs(os.path.dirname(to), exist_ok=True)
        shutil.copyfile(at, to)
        shutil.copymode(at, to)

    def build(self, targets):
        environment = {**os.environ, "ROCHOUND_CMAKE_OPTIONS": " ".join(self.options)}
        done = subprocess.run([os.path.join(self.source, "tools/build.sh"), self.build_folder, "quick", *targets],
                              env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        return done.returncode == 0, done.stdout

    def test(self, target, limit=None, environment=None, stop=True):
        """Runs a target's tests: (the first one that failed or None, seconds, output)."""
        begin = time.monotonic()
        command = ["ctest", "--test-dir", self.build_folder, "-R", rf"^{re.escape(target)}(\.|$)", "--no-tests=error",
                   "--output-on-failure", "--parallel", str(os.cpu_count())]
        process = subprocess.Popen(command + (["--stop-on-failure"] if stop else []), stdout=subprocess.PIPE,
                                   stderr=subprocess.STDOUT, text=True, errors="replace",
                                   env={**os.environ, **(environment or {})}, start_new_session=True)
        try:
            output, _ = process.communicate(timeout=limit)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, 9)
            process.communicate()
            return f"{target}, by its time limit of {limit:.0f} s", limit, ""
        failed = re.search(r"Test +#\d+: (\S+) \.*(?:\*\*\*|Subprocess)", output)
        seconds = time.monotonic() - begin
        if process.returncode == 0:
            return None, seconds, output
        return failed[1] if failed else f"{target}, which did not start", seconds, output


def try_room(copy, room, only):
    """{what: the test that noticed, or None}"""
    built, output = copy.build(room.TESTS)
    if not built:
        raise Mistake(f"{room.NAME}: does not build without a fault:\n{output}")
    limits = {}
    for target in room.TESTS:
        failed, seconds, output = copy.test(target)
        if failed:
            raise Mistake(f"{room.NAME}: {failed} fails without a fault:\n{output}")
        limits[target] = max(60, 10 * seconds)
    found = {}
    for number, (what, path, marked, wrong) in enumerate(room.FAULTS, 1):
        if only not in ("", str(number)) and only not in what:
            continue
        begin = time.monotonic()
        copied = os.path.join(copy.source, path)
        write(copied, changed(read(copied), marked, wrong))
        try:
            built, output = copy.build(room.TESTS)
            if not built:
                raise Mistake(f"{room.NAME}: {what}: does not compile:\n{output[-4000:]}")
            by = next((by for target in room.TESTS if (by := copy.test(target, limits[target])[0])), None)
        finally:
            copy.bring(path)
        found[what] = by
        print(f"{room.NAME} {number}: {what}: {by or 'NOT NOTICED'} ({time.monotonic() - begin:.0f} s)", flush=True)
    return found


def mutate(options, wanted):
    copy = Copy(options.folder, ["-DCMAKE_UNITY_BUILD=OFF"])
    left = []
    for room in wanted:
        found = try_room(copy, room, options.only)
        faults = {**results().get(room.NAME, {}).get("faults", {}), **found}
        names = [fault[0] for fault in room.FAULTS]
        keep(room.NAME, {"faults": {name: faults[name] for name in names if name in faults}})
        left += unexplained(room, found)
        print(f"{room.NAME}: {sum(by is not None for by in found.values())} of {len(found)} noticed", flush=True)
    for line in left:
        print(line)
    return 1 if left else 0


# --- coverage

def tool(name):
    """A program of the clang that compiled, which alone reads its profiles."""
    version = re.search(r"version (\d+)", subprocess.run([clang(), "--version"], stdout=subprocess.PIPE, text=True,
                                                         check=True).stdout)[1]
    return f"/usr/lib/llvm-{version}/bin/{name}"


def clang():
    names = glob.glob("/usr/bin/clang++-*")
    return max(names, key=lambda name: int(name.rpartition("-")[2])) if names else "clang++"


def coverage(options, wanted):
    copy = Copy(options.folder + "-coverage", ["-DROCHOUND_COVERAGE=ON", f"-DCMAKE_CXX_COMPILER={clang()}",
                                               f"-DCMAKE_C_COMPILER={clang().replace('++', '')}"])
    folder = copy.build_folder
    for room in wanted:
        built, output = copy.build(room.TESTS)
        if not built:
            raise Mistake(f"{room.NAME}: does not build:\n{output[-4000:]}")
        profiles = os.path.join(folder, "profiles", re.sub(r"\W+", "-", room.NAME))
        shutil.rmtree(profiles, ignore_errors=True)
        for target in room.TESTS:
            # Each case is a process; their counts are added up in a few files.
            failed, _, output = copy.test(target, None, {"LLVM_PROFILE_FILE": f"{profiles}/%4m.profraw"}, stop=False)
            if failed:
                raise Mistake(f"{room.NAME}: {failed} fails:\n{output[-4000:]}")
        merged = os.path.join(profiles, "merged")
        subprocess.run([tool("llvm-profdata"), "merge", "-o", merged, *glob.glob(f"{profiles}/*.profraw")], check=True)
        objects = [part for target in room.TESTS for part in ("-object", os.path.join(folder, "bin", target))][1:]
        exported = subprocess.run([tool("llvm-cov"), "export", "-summary-only", f"-instr-profile={merged}", *objects],
                                  stdout=subprocess.PIPE, text=True, check=True).stdout
        sums = {"lines": 0, "run": 0}
        for file in json.loads(exported)["data"][0]["files"]:
            name = file["filename"]  # as tools/build.sh maps it: relative to the checkout
            if any(fnmatch.fnmatch(name, one) for one in room.CODE) and not name.endswith("_test.cpp"):
                sums["lines"] += file["summary"]["lines"]["count"]
                sums["run"] += file["summary"]["lines"]["covered"]
        keep(room.NAME, {"coverage": sums})
        print(f"{room.NAME}: {coverage_text(sums)} lines are run by unit tests", flush=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("rooms", nargs="*", metavar="ROOM")
    parser.add_argument("--folder")
    parser.add_argument("--only", default="", help="only the fault with this number, or those with this text")
    parser.add_argument("--coverage", action="store_true")
    parser.add_argument("--places", action="store_true")
    options = parser.parse_args()
    if options.places:
        return check_places()
    known = rooms()
    unknown = [name for name in options.rooms if name not in known]
    if unknown or not options.folder:
        parser.error(f"there is no room '{unknown[0]}'; there are: {', '.join(known)}" if unknown else "--folder is missing")
    wanted = [known[name] for name in options.rooms] or list(known.values())
    try:
        wrong = [line for room in wanted for line in wrong_places(room)]
        if wrong:
            raise Mistake("\n".join(wrong))
        return coverage(options, wanted) if options.coverage else mutate(options, wanted)
    except Mistake as mistake:
        print(mistake, file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main())
