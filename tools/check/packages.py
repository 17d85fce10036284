# SPDX-License-Identifier: MIT
"""A root holds what tools/packages.txt names and nothing else that somebody installed by hand.

A package that only this root has makes a build pass here and fail on a new machine. apt knows which packages were
asked for; tools/install_packages.sh kept those that the Debian system had before, and which groups of
rows were asked for.
"""

import os
import pathlib
import subprocess

NAME = "packages"
RECORD = pathlib.Path("/etc/rochound")


def lines(*command, **environment):
    result = subprocess.run([str(part) for part in command], capture_output=True, text=True, check=True,
                            env={**os.environ, **environment})
    return {line for line in result.stdout.split("\n") if line}


def run(project, record=RECORD, manual=None, installed=None):
    """record, manual and installed stand for the root's own in tests."""
    place = os.environ.get("ROCHOUND_INSIDE", "")
    base = record / "base-packages"
    if not place.startswith("rocm") or not base.exists():
        print("check packages: this is no root that ./dev root made, so there is nothing to compare")
        return []
    script = project.root / "tools/install_packages.sh"
    known = " ".join(lines(script, "--groups")).split()
    groups = [f"--{group}" for group in known if (record / group).exists()]
    listed = lines(script, "--packages", place.removeprefix("rocm"), *groups,
                   ROCHOUND_PACKAGES=str(project.root / "tools/packages.txt"))
    if manual is None:
        manual = lines("apt-mark", "showmanual")
    if installed is None:
        installed = {line.removeprefix("ii ") for line in lines("dpkg-query", "-W", "-f", "${db:Status-Abbrev}${Package}\n")
                     if line.startswith("ii ")}
    findings = [f"{name}: installed by hand in {place}; add it to tools/packages.txt, or run ./dev root --fresh"
                for name in sorted(manual - set(base.read_text().split()) - listed)]
    findings += [f"{name}: in tools/packages.txt, but not installed in {place}; run ./dev root"
                 for name in sorted(listed - installed)]
    return findings
