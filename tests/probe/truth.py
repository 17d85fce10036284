#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe` says of programs whose truth is known (truth.hip).

usage: truth.py --rochound PATH --gpu GPU PROGRAM
"""

import argparse
import subprocess
import sys

UNWRITTEN = "loads device memory that nobody has written."
WRITTEN = "Every read of device memory finds what was written there."
FREED = "stores in an allocation of {} bytes that was freed."
# By analyzer and mode: what is said.
TRUTH = {
    "uninit": {
        "beside_filled": UNWRITTEN,
        "behind_filled": UNWRITTEN,
        "activations": UNWRITTEN,
        "half_filled": UNWRITTEN,
        "filled_by_old_owner": UNWRITTEN,
        "between_rows": UNWRITTEN,
        "copy_of_unwritten": UNWRITTEN,
        "copy_of_freed": UNWRITTEN,
        "filled": WRITTEN,
        "filled_odd": WRITTEN,
        "filled_words": WRITTEN,
        "rows": WRITTEN,
        "copy_of_written": WRITTEN,
        "copy_of_result": WRITTEN,
    },
    "bounds": {
        "freed_before": FREED.format(65536),
        "freed_behind": FREED.format(65536),
        "freed_and_met_another": FREED.format(8 << 20),
        "structure": "they may have met another allocation than theirs.",
        "lds_arrays": "one array that runs into the next is not noticed.",
        "inside": "Every access is inside its allocation.\n",
    },
}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--gpu", required=True)
    parser.add_argument("program")
    options = parser.parse_args()
    wrong = 0
    for analyzer, modes in TRUTH.items():
        for mode, truth in modes.items():
            done = subprocess.run([options.rochound, "probe", "--softgpu", options.gpu, "-a", analyzer, "--", options.program, mode],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=100, check=False)
            others = [other for other in (UNWRITTEN, WRITTEN) if other != truth and other in done.stdout]
            if truth not in done.stdout or others:
                wrong += 1
                print(f"{mode}: not '{truth.strip()}' but\n{done.stdout[-800:]}{done.stderr[-800:]}")
    print(f"{wrong} wrong of {sum(map(len, TRUTH.values()))}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
