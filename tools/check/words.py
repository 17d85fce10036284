# SPDX-License-Identifier: MIT
"""No file names this machine: its package archive, where its checkouts are, or its root user's home.

What to look for is read from the machine at run time, so that no list of it is in the project.
"""

import glob
import os
import re

NAME = "words"

# A checkout straight below one of these says nothing about the machine.
COMMON_FOLDERS = {"/", "/tmp", "/home", "/root", "/opt", "/src", "/srv", "/usr", "/usr/src", "/var", "/mnt"}


def run(project, apt_settings=None):
    if apt_settings is None:
        apt_settings = machine_apt_settings()
    names = registry_hosts(apt_settings)
    parent = str(project.root.parent)
    if parent not in COMMON_FOLDERS:
        names.add(parent + "/")
    pattern = re.compile("|".join([*map(re.escape, names), r"(?<![\w$}.])/root/\w"]))
    findings = []
    for path in project.files:
        text = project.text(path)
        if not any(name in text for name in [*names, "/root/"]):
            continue
        for match in pattern.finditer(text):
            line = text.count("\n", 0, match.start()) + 1
            findings.append(f"{path}:{line}: names this machine or its registry: {match[0]}")
    return findings


def registry_hosts(settings):
    return {host for host in re.findall(r"https?://([\w.-]+)", settings) if "." in host}


def machine_apt_settings():
    """This system's, and those of the machine around it when this is a root (`./dev check` passes them)."""
    text = os.environ.get("ROCHOUND_HOST_APT", "")
    for name in ["/etc/apt/sources.list", *glob.glob("/etc/apt/sources.list.d/*")]:
        if os.path.isfile(name):
            with open(name, encoding="utf-8", errors="replace") as file:
                text += file.read()
    return text
