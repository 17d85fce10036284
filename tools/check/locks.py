# SPDX-License-Identifier: MIT
"""What a lock guards is used with it held: clang's thread-safety analysis of the product's files that have locks.

All of them, changed or not: an annotation in a header is a promise that another file may break. A file has locks where
it names one or an annotation, or what a header that it includes guards. They are compiled as the build compiles them,
several at a time. Tests are left out: they look at things when the threads have ended.
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
LOCK = re.compile(r"\bROCHOUND_(?:GUARDED_BY|REQUIRES|ACQUIRE|RELEASE|NO_THREAD_SAFETY_ANALYSIS)\b|"
                  r"\bbase::(?:Lock|UniqueLock|SharedLock|Mutex|SharedMutex)\b")
# What a header guards: variables, their locks, and functions that are called with one held.
GUARDED = re.compile(r"\b(\w+)(?:\[\w*\])? ROCHOUND_(?:POINTEE_)?GUARDED_BY\((\w+)\)|"
                     r"\b(\w+)\([^;{}()]*\)(?: const)?\s+ROCHOUND_(?:REQUIRES|EXCLUDES)(?:_SHARED)?\b")
TEST = re.compile(r"(?:_test|_bench)\.cpp$|/fake_\w+\.(?:cpp|h)$|^tests/")
# Nothing but the analysis: other warnings are the business of the build and of clang-tidy.
FLAGS = ["-fsyntax-only", "-Wno-everything", "-Wthread-safety", "-Werror=thread-safety", "-ferror-limit=0"]


def run(project):
    clang = shutil.which(f"clang++-{format_check.VERSION}") or shutil.which("clang++")
    if clang is None:
        return ["clang++ not found; the root of ROCm 7 has it"]
    database = project.build / "compile_commands.json" if project.build else None
    if database is None or not database.is_file():
        return [f"no compile commands in {project.build}: run ./dev build first"]
    with open(database, encoding="utf-8") as file:
        entries = json.load(file)
    left, chosen = with_locks(project), []
    for entry in entries:
        if found := left.intersection(sources(project, entry)):
            left -= found  # a source may be part of several targets
            chosen.append(entry)

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


def with_locks(project):
    """The sources that name a lock or an annotation themselves, or what a header that they include guards."""
    texts = {path: project_module.without_comments(project.text(path)) for path in project.named(*project_module.CPP)
             if not TEST.search(str(path))}
    guarded = {path: {name for names in GUARDED.findall(text) for name in names if name} for path, text in texts.items()}
    found = set()
    for path, text in texts.items():
        seen = {pathlib.PurePosixPath("src", match[2]) for match in includes.INCLUDE.finditer(text)}
        names = set().union(*(guarded.get(header, set()) for header in seen))
        if LOCK.search(text) or any(re.search(rf"\b{name}\b", text) for name in names):
            found.add(path)
    return {path for path in found if path.suffix == ".cpp"}
