#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""How often findings are right that are called sure or likely, over all planted programs and their clean twins: the first
finding of a planted program is its cause, and a clean one has none above a note. The cases of the other checks leave
what they judged beside the programs; those that this rochound has not run are run here. tests/silicon/calibration.py
does the same for data of real GPUs."""

import json
import os

import truth
import truth_mistaken
from truth_case import judged_file, main, problems_of

LEAST_PERCENT = {"sure": 99, "likely": 80}


def calibration(case):
    judged, ran = [], 0
    made = os.path.getmtime(case.options.rochound)
    for name, check in (truth.JUDGED | truth_mistaken.JUDGED).items():
        file = judged_file(name, case.options)
        if not file.exists() or file.stat().st_mtime < made:
            problems_of(name, check, case.options)
            ran += 1
        judged += json.loads(file.read_text())
    for confidence, least in LEAST_PERCENT.items():
        told = [(right, text) for called, right, text in judged if called == confidence]
        wrong = [text for right, text in told if not right]
        print(f"{confidence}: {len(told) - len(wrong)} of {len(told)} right ({ran} cases run)")
        case.expect(f"nothing is called {confidence}", told)
        case.expect(f"{confidence}: {len(wrong)} of {len(told)} wrong: {wrong}", 100 * (len(told) - len(wrong)) >= least * len(told))


if __name__ == "__main__":
    main({"calibration": calibration})
