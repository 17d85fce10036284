#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""`rochound show --source` shows a kernel's instructions with the lines that they come from.

usage: source.py --rochound PATH --hipcc PATH
"""

import argparse
import pathlib
import subprocess
import sys
import tempfile

SOURCE = """extern "C" __attribute__((global)) void twice(float* values) {
  float* const mine = values + __builtin_amdgcn_workitem_id_x();
  *mine = *mine * 2;  // the line that is looked for
}
"""


def main():
    parser = argparse.ArgumentParser()
    for name in ("rochound", "hipcc"):
        parser.add_argument("--" + name, required=True)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="rochound-show-") as name:
        source, code = pathlib.Path(name, "twice.hip"), pathlib.Path(name, "twice.hsaco")
        source.write_text(SOURCE)
        subprocess.run([options.hipcc, "--genco", "--no-gpu-bundle-output", "--offload-arch=gfx1030", "-O2", "-gline-tables-only", "-nogpuinc", "-nogpulib",
                        source, "-o", code], check=True, timeout=120)

        def shown(*more):
            return subprocess.run([options.rochound, "show", code, "--kernel", "twice", *more], capture_output=True, text=True, timeout=60,
                                  check=True).stdout
        bare, with_code, with_source = shown(), shown("--disassembly"), shown("--source")
    problems = []
    if "s_endpgm" in bare or "s_endpgm" not in with_code or "s_endpgm" not in with_source:
        problems.append("the instructions are not where they were asked for")
    if "the line that is looked for" in with_code or "the line that is looked for" not in with_source:
        problems.append("the source is not where it was asked for")
    for text in (with_code, with_source) if problems else ():
        problems.append(text[-2500:])
    print("\n".join(problems) or "as it should be")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
