# SPDX-License-Identifier: MIT
"""Every source, script and build file says its licence on its first line, or the second after #!."""

NAME = "licence"

SUFFIXES = (".h", ".cpp", ".hip", ".c", ".S", ".s", ".py", ".sh", ".cmake", ".sql")
FILES = ("CMakeLists.txt", "dev", "Dockerfile")


def run(project):
    findings = []
    for path in project.files:
        if path.suffix in SUFFIXES or path.name in FILES:
            lines = project.text(path).split("\n")
            line = lines[1] if lines[0].startswith("#!") and len(lines) > 1 else lines[0]
            if "SPDX-License-Identifier: MIT" not in line:
                findings.append(f"{path}:1: opens without 'SPDX-License-Identifier: MIT'")
    return findings
