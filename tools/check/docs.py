# SPDX-License-Identifier: MIT
"""The documents tell the truth about the tree: what they name exists, docs/architecture.md names every folder, and
tests/README.md has a line for each of tests/."""

import glob
import pathlib
import re

NAME = "docs"

ARCHITECTURE = pathlib.PurePosixPath("docs/architecture.md")
TESTS = pathlib.PurePosixPath("tests/README.md")
ROW = re.compile(r"^\| `([^`]+)` \|", re.MULTILINE)
CODE = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
# Words of a code span that can be a path of ours: plain characters and wildcards, with a slash.
PATH = re.compile(r"^(?:\./)?[\w.*+-]+(?:/[\w.*+-]*)+$")
# Names in capitals stand for something else each time, and the build folder comes and goes.
PLACEHOLDER = re.compile(r"(^|[/_-])[A-Z]{2,}($|[/_.-])")


def run(project):
    findings = []
    tops = {path.parts[0] for path in project.files}
    for document in project.named(".md"):
        text = project.text(document)
        for number, line in enumerate(text.split("\n"), 1):
            for span in CODE.findall(line):
                for word in span.split():
                    word = word.rstrip(",.:;")
                    if is_our_path(word, tops) and not exists(project, word):
                        findings.append(f"{document}:{number}: names {word}, which does not exist")
            for target in LINK.findall(line):
                if "://" not in target and not exists(project, str(document.parent / target)):
                    findings.append(f"{document}:{number}: links to {target}, which does not exist")
    return findings + architecture(project) + tests(project)


def is_our_path(word, tops):
    if not PATH.match(word) or PLACEHOLDER.search(word):
        return False
    first = word.removeprefix("./").split("/")[0]
    return first in tops or first in ("src", "docs", "tests", "tools", "include", "python")


def exists(project, word):
    return bool(glob.glob(str(project.root / word.removeprefix("./"))))


def architecture(project):
    """Every folder that holds files is named there, and the other way round."""
    if ARCHITECTURE not in project.files:
        return [f"{ARCHITECTURE} is missing"]
    named = {word.rstrip("/") for word in CODE.findall(project.text(ARCHITECTURE)) if word.endswith("/")}
    there = set()
    for path in project.files:
        folders = path.parts[:-1]
        if folders and not folders[0].startswith("."):
            there.add("/".join(folders[:2]) if folders[0] == "src" else folders[0])
    there.discard("src")
    return ([f"{ARCHITECTURE}: does not name the folder {folder}/" for folder in sorted(there - named)] +
            [f"{ARCHITECTURE}: names the folder {folder}/, which does not exist" for folder in sorted(named)
             if not (project.root / folder).is_dir()])


def tests(project):
    """Every folder of tests/ has a row there, and the other way round."""
    there = {path.parts[1] for path in project.files if path.parts[0] == "tests" and len(path.parts) > 2}
    rows = set(ROW.findall(project.text(TESTS))) if TESTS in project.files else set()
    return ([f"{TESTS}: has no line for the folder tests/{folder}" for folder in sorted(there - rows)] +
            [f"{TESTS}: has a line for tests/{folder}, which does not exist" for folder in sorted(rows - there)])
