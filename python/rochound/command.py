# SPDX-License-Identifier: MIT
"""The rochound command: the one of this wheel, or the one on the PATH. Also what `rochound` starts in a wheel."""

from __future__ import annotations

import os
import shutil
import sys

# Where a wheel has the programs and libraries of rochound.
HOME = os.path.join(os.path.dirname(os.path.abspath(__file__)), "home")


def find() -> str:
    own = os.path.join(HOME, "bin", "rochound")
    if os.path.exists(own):
        return own
    found = shutil.which("rochound")
    if found is None:
        raise FileNotFoundError("the rochound command is not on the PATH; docs/installing.md says how to get it")
    return found


def main() -> None:
    path = find()
    os.execv(path, [path, *sys.argv[1:]])
