#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""mandoc has no warning about a man page, and shows its text.

usage: manual.py FOLDER
"""

import pathlib
import shutil
import subprocess
import sys


def mandoc(*arguments):
    return subprocess.run(["mandoc", *map(str, arguments)], capture_output=True, text=True, check=False)


def main(folder):
    if shutil.which("mandoc") is None:
        print("skipped: there is no mandoc")
        return 77
    pages = sorted(pathlib.Path(folder).glob("*.1"))
    lint = mandoc("-Tlint", "-Wwarning", *pages)
    problems = lint.stdout.splitlines() if lint.returncode != 0 or lint.stdout else []
    # Escapes that are wrong lose text and no word about it.
    shown = {page.stem: mandoc("-Tutf8", page).stdout.replace("_\b", "") for page in pages}
    plain = {name: "".join(text[i] for i in range(len(text)) if text[i] != "\b" and text[i + 1:i + 2] != "\b")
             for name, text in shown.items()}
    for name, words in (("rochound", ["rochound-run(1)", "ROCHOUND_LOG"]), ("rochound-run", ["--start-off", "-o, --output FILE"]),
                        ("rochound-doctor", ["--fault", "DOCTOR AB", "--repeat"])):
        problems += [f"{name}.1 does not show '{word}':\n{plain.get(name, '')[:2000]}" for word in words
                     if word not in plain.get(name, "")]
    print("\n".join(problems) or f"{len(pages)} man pages without a warning")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
