# SPDX-License-Identifier: MIT
"""clang-tidy on what has changed since the main branch, or since the commit before on the main branch itself.

Bounded in time, since a first commit changes everything: files that were left out are a failure, not a remark. `--all`
looks at every file, as long as it takes.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

import format as format_check
import project as project_module

NAME = "tidy"
SECONDS = 600


def run(project, everything=False, seconds=SECONDS, note=print):
    tidy = shutil.which(f"clang-tidy-{format_check.VERSION}") or shutil.which("clang-tidy")
    if tidy is None:
        return ["clang-tidy not found; the root of ROCm 7 has it"]
    database = project.build / "compile_commands.json" if project.build else None
    if database is None or not database.is_file():
        return [f"no compile commands in {project.build}: run ./dev build first"]
    with open(database, encoding="utf-8") as file:
        entries = [single for entry in json.load(file) for single in singles(entry)]
    units = {pathlib.Path(entry["directory"], entry["file"]).resolve() for entry in entries}
    commands = project.build / "tidy"
    commands.mkdir(exist_ok=True)
    (commands / database.name).write_text(json.dumps(entries), encoding="utf-8")
    if everything:
        chosen = sorted(units & {project.root / path for path in project.files})
        seconds = float("inf")
    else:
        chosen = units_of(project, changed(project), units)

    end = time.monotonic() + seconds
    findings, left_out = set(), 0

    def one(unit):
        if time.monotonic() > end:
            return None
        return subprocess.run([tidy, "-p", str(commands), "--quiet", str(unit)],
                              cwd=project.root, capture_output=True, text=True, check=False)

    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for unit, result in zip(chosen, pool.map(one, chosen)):
            if result is None:
                left_out += 1
                continue
            lines = re.findall(r"^\S+:\d+:\d+: (?:warning|error): .*$", result.stdout, re.MULTILINE)
            findings |= {line.replace(f"{project.root}/", "") for line in lines}
            if result.returncode != 0 and not lines:
                findings.add(f"{unit}: clang-tidy failed: {result.stderr.strip()[-300:]}")
    note(f"{len(chosen) - left_out} of {len(chosen)} changed files tidied")
    if left_out:
        findings.add(f"clang-tidy: {left_out} of {len(chosen)} changed files not begun within {seconds:g} s; "
                     "./dev check --all tidy does them all")
    return sorted(findings)


def singles(entry):
    """A compile command for each source of a unity build's file, so that each is seen with its own includes only."""
    path = pathlib.Path(entry["directory"], entry["file"])
    if path.parent.name != "Unity":
        return [entry]
    sources = re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)
    return [dict(entry, file=source, command=entry["command"].replace(f" -c {path}", f" -c {source}")) for source in sources]


def changed(project):
    """Paths that differ from the commit this work started from; everything where there is no such commit."""
    for start in ("origin/main", "HEAD~1"):
        base = project.git("merge-base", "HEAD", start)
        if base is None:
            continue
        names = (project.git("diff", "--name-only", base.strip()) or "").split("\n")
        names += (project.git("ls-files", "--others", "--exclude-standard") or "").split("\n")
        if any(names):
            return {pathlib.PurePosixPath(name) for name in names if name}
    return set(project.files)


def units_of(project, paths, units):
    """The translation units to look at: changed sources, and for a changed header the source beside it."""
    chosen = set()
    for path in paths:
        if path.suffix not in project_module.CPP:
            continue
        beside = [project.root / path.parent / f"{path.stem}{ending}" for ending in (".cpp", "_test.cpp")]
        for candidate in [project.root / path, *beside[:2 if path.suffix == ".h" else 0]]:
            if candidate in units:
                chosen.add(candidate)
                break
    return sorted(chosen)
