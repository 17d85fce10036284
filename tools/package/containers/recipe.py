#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Does what a container engine does with a recipe of this folder, where there is none: in a Debian in a folder.

usage: recipe.py RECIPE ROOT CONTEXT [--bind PATH:PLACE]... [-- COMMAND...]

ROOT stands for the image that the recipe is FROM and is changed. After all steps COMMAND is run, or the recipe's CMD, as
the recipe's user and with its variables. An instruction that this does not know is an error. Needs root.
"""

import argparse
import json
import os
import pathlib
import re
import subprocess
import sys
import tarfile

ENTER = pathlib.Path(__file__).resolve().parents[2] / "enter_root.sh"
PATH = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


def instructions(text):
    """(name, rest) of each; comments are gone and continued lines are one."""
    lines = [line for line in text.splitlines() if not line.lstrip().startswith("#")]
    for line in re.sub(r"\\\n", " ", "\n".join(lines)).splitlines():
        if line.strip():
            name, _, rest = line.strip().partition(" ")
            yield name, rest.strip()


class Container:
    def __init__(self, root, context, binds):
        self.root, self.context, self.binds = root, context, binds
        # As a container engine is told of a proxy when it builds.
        self.variables = [f"{name}={os.environ[name]}" for name in ("http_proxy", "https_proxy") if name in os.environ]
        self.user, self.folder, self.command = "root", "/", []

    def run(self, *command):
        binds = [word for bind in self.binds for word in ("--bind", bind)]
        subprocess.run([ENTER, self.root, *binds, "--cd", self.folder, "--", "env", "-i", PATH, *self.variables, "runuser", "-u", self.user,
                        "--", *command], check=True)

    def add(self, rest):
        """Archives are unpacked, as ADD does."""
        *patterns, place = rest.split()
        target = self.root / place.lstrip("/")
        for pattern in patterns:
            found = sorted(self.context.glob(pattern))
            if not found:
                sys.exit(f"{self.context} has no {pattern}")
            for file in found:
                with tarfile.open(file) as archive:
                    archive.extractall(target, filter="tar")

    def step(self, name, rest):
        if name in ("ARG", "FROM"):
            return
        if name == "RUN":
            self.run("sh", "-c", rest)
        elif name == "ADD":
            self.add(rest)
        elif name == "ENV":
            self.variables.append(rest)
        elif name == "USER":
            self.user = rest
        elif name == "WORKDIR":
            (self.root / rest.lstrip("/")).mkdir(parents=True, exist_ok=True)
            self.folder = rest
        elif name == "CMD":
            self.command = json.loads(rest)
        else:
            sys.exit(f"recipe.py does not know {name}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("recipe", "root", "context"):
        parser.add_argument(name, type=pathlib.Path)
    parser.add_argument("--bind", action="append", default=[])
    words = sys.argv[1:]
    ours = words.index("--") if "--" in words else len(words)
    options = parser.parse_args(words[:ours])
    command = words[ours + 1:]
    container = Container(options.root.absolute(), options.context, options.bind)
    try:
        for name, rest in instructions(options.recipe.read_text()):
            print(f"{options.recipe.name}: {name} {rest}", file=sys.stderr)
            container.step(name, rest)
        container.run(*(command or container.command))
    except subprocess.CalledProcessError as failed:
        sys.exit(f"{options.recipe.name}: exit code {failed.returncode}")


if __name__ == "__main__":
    main()
