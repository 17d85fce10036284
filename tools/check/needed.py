# SPDX-License-Identifier: MIT
"""What is loaded into somebody's program needs libc and nothing else.

The recorder and the preloaded part of the software GPU in every build. In a portable build (build/portable, where
`./dev package` has made one) all that tools/package/inside.py lists, of no newer glibc than the packages promise.
"""

import pathlib
import sys

NAME = "needed"

ALWAYS = ("lib/librochound_agent.so", "lib/librochound_softgpu.so")
OLDEST_GLIBC = (2, 31)


def run(project):
    sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "package"))
    import inside  # pylint: disable=import-outside-toplevel
    findings = []
    for name in ALWAYS:
        path = project.build / name if project.build else None
        if path is None or not path.is_file():
            findings.append(f"{name} is not built: run ./dev build first")
        else:
            findings += [f"{name} needs {library}" for library in inside.needed(path) if library not in inside.LIBC]
    portable = project.root / "build/portable"
    if all((portable / name).is_file() for name in inside.INSIDE):
        found = inside.check_files(portable)
        for name in inside.INSIDE:
            found += inside.too_new(portable / name, name, OLDEST_GLIBC)
        findings += [f"build/portable: {finding}" for finding in found]
    return findings
