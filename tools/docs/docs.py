#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Makes the documentation; `./dev docs` runs it where ROCm and the built rochound are.

usage: docs.py --build FOLDER [PART...]

  reference   docs/reference/*.md, from what the command says about itself
  pictures    docs/pictures and docs/guides/pictures: reports and diagnoses of examples/, on a software GPU
  site        build/site, a site of all pages; its links are checked
"""

import argparse
import pathlib
import subprocess
import sys

import pictures
import site_pages

SOURCE = pathlib.Path(__file__).resolve().parents[2]


def reference(build):
    subprocess.run([sys.executable, "-B", SOURCE / "tools/reference/reference.py", "--rochound", build / "bin/rochound", "--docs",
                    SOURCE / "docs/reference"], check=True)
    if (build / "bin/rochound-fleet").exists():
        subprocess.run([sys.executable, "-B", SOURCE / "tools/reference/fleet_page.py", "--bin", build / "bin", "--docs",
                        SOURCE / "docs/reference"], check=True)
    return 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("parts", nargs="*", metavar="PART")
    options = parser.parse_args()
    build = options.build.resolve()
    makers = {"reference": lambda: reference(build), "pictures": lambda: pictures.make(SOURCE, build),
              "site": lambda: site_pages.make(SOURCE, SOURCE / "build/site")}
    unknown = set(options.parts) - set(makers)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; there are {', '.join(makers)}")
    for part in options.parts or makers:
        code = makers[part]()
        if code:
            return code
    return 0


if __name__ == "__main__":
    sys.exit(main())
