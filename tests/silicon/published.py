#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Who has a network can get every file of the data: fetch.sh has its line."""

import pathlib
import subprocess

from silicon_case import Missing, main


def fetched(case):
    if not case.data.is_dir():
        raise Missing("the folder of silicon data is not there")
    script = pathlib.Path(__file__).parent / "fetch.sh"
    listed = subprocess.run(["bash", script, "--list"], capture_output=True, text=True, check=True).stdout.split()
    held = {str(path.relative_to(case.data)) for path in case.data.rglob("*") if path.is_file()}
    held = {name for name in held if not name.endswith((".py", ".md"))}
    case.equal("files that fetch.sh does not get", [], sorted(held - set(listed)))
    case.equal("files that fetch.sh lists twice", len(listed), len(set(listed)))


if __name__ == "__main__":
    main({"fetch_gets_every_file": fetched})
