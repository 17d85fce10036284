# SPDX-License-Identifier: MIT
"""Every C++ and HIP file is as clang-format leaves it. One version decides, since they differ."""

import re
import shutil
import subprocess

import project as project_module

NAME = "format"
VERSION = "22"


def run(project, fix=False):
    formatter = find()
    if formatter is None:
        return [f"clang-format {VERSION} not found; the root of ROCm 7 has it"]
    files = [str(path) for path in project.named(*project_module.CPP)]
    if not files:
        return []
    mode = ["-i"] if fix else ["--dry-run"]
    output = subprocess.run([formatter, *mode, *files], cwd=project.root, capture_output=True, text=True, check=False)
    # One line per file is enough: the cure is the same for all of them.
    wrong = {}
    for match in re.finditer(r"^([^:\n]+):(\d+):\d+: (warning|error): .*clang-format", output.stderr, re.MULTILINE):
        wrong.setdefault(match[1], match[2])
    findings = [f"{name}:{line}: not formatted; ./dev check --fix does it" for name, line in wrong.items()]
    if output.returncode != 0 and not findings:
        findings.append(f"{formatter} failed: {output.stderr.strip()}")
    return findings


def find():
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name)
        if path and f"version {VERSION}." in subprocess.run(
                [path, "--version"], capture_output=True, text=True, check=False).stdout:
            return path
    return None
