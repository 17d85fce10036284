# SPDX-License-Identifier: MIT
"""What a lock guards is used with it held: clang's thread-safety analysis of every file that sees an annotation.

All of them, changed or not: an annotation in a header is a promise that another file may break. They are compiled as
the build compiles them, several at a time, so that it takes less than a minute of processor time.
"""

import concurrent.futures
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess

import format as format_check
import includes
import project as project_module

NAME = "locks"
ANNOTATIONS = "base/thread_annotations.h"
# Nothing but the analysis: other warnings are the business of the build and of clang-tidy.
FLAGS = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety"]


def run(project):
    clang = shutil.which(f"clang++-{format_check.VERSION}") or shutil.which("clang++")
    if clang is None:
        return ["clang++ not found; the root of ROCm 7 has it"]
    database = project.build / "compile_commands.json" if project.build else None
    if database is None or not database.is_file():
        return [f"no compile commands in {project.build}: run ./dev build first"]
    with open(database, encoding="utf-8") as file:
        entries = json.load(file)
    annotated = who_sees(project, ANNOTATIONS)
    chosen = [entry for entry in entries if any(source in annotated for source in sources(project, entry))]

    def one(entry):
        words = shlex.split(entry["command"])
        at = words.index("-o")
        return subprocess.run([clang, *words[1:at], *words[at + 2:], *FLAGS],
                              cwd=entry["directory"], capture_output=True, text=True, check=False)

    findings = set()
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for entry, result in zip(chosen, pool.map(one, chosen)):
            lines = re.findall(r"^\S+:\d+:\d+: (?:fatal )?error: .*$", result.stderr, re.MULTILINE)
            findings |= {line.replace(f"{project.root}/", "") for line in lines}
            if result.returncode != 0 and not lines:
                findings.add(f"{entry['file']}: clang++ failed: {result.stderr.strip()[-300:]}")
    return sorted(findings)


def sources(project, entry):
    """The files that one compile command compiles, relative to the project: several in a unity build."""
    path = pathlib.Path(entry["directory"], entry["file"])
    paths = [path]
    if path.parent.name == "Unity":
        paths = [pathlib.Path(name) for name in re.findall(r'^#include "(.+)"$', path.read_text(encoding="utf-8"), re.MULTILINE)]
    return [pathlib.PurePosixPath(os.path.relpath(path, project.root)) for path in paths]


def who_sees(project, header):
    """The project's files that include this header, themselves or by way of others."""
    included_by = {}
    for path in project.named(*project_module.CPP):
        for match in includes.INCLUDE.finditer(project_module.without_comments(project.text(path))):
            included_by.setdefault(pathlib.PurePosixPath("src", match[2]), []).append(path)
    seen, waiting = set(), [pathlib.PurePosixPath("src", header)]
    while waiting:
        for path in included_by.get(waiting.pop(), []):
            if path not in seen:
                seen.add(path)
                waiting.append(path)
    return seen
