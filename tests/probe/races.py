#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What `rochound probe -a races` says of kernels with planted races, and of the same without them.

usage: races.py --rochound PATH --gpu GPU SOURCE PROGRAM
"""

import sys

import analyzer

ITEMS, GROUPS = 256, 2
# Kernel, memory, places with what they do there, dwords.
TRUTH = [
    ("ExchangeILb0E", "lds", ("exchange_written", "store"), ("exchange_read", "load"), GROUPS * ITEMS),
    # The barrier in the middle is there: reads of a round meet the writes of the next, twice in three rounds.
    ("AgainILb0E", "lds", ("again_written", "store"), ("again_read", "load"), GROUPS * 2 * ITEMS),
    ("BytesILb0E", "lds", ("bytes_written", "store"), ("bytes_written", "store"), GROUPS * 64 // 4),
    ("SumILb0E", "global", ("sum_wrong", "load"), ("sum_wrong", "store"), GROUPS),
    ("SumILb0E", "global", ("sum_wrong", "store"), ("sum_wrong", "store"), GROUPS),
]


def main():
    test = analyzer.Test("races")
    found = sorted((race["kernel"], race["space"], *sorted([(race[side]["line"], race[side]["action"]) for side in ("first", "second")]),
                    race["dwords"]) for race in test.json())
    kernel = lambda part: next((race[0] for race in found if part in race[0]), part)
    # Exchange reads data that other waves of it write: the planted race is in LDS alone.
    wanted = sorted((kernel(name), space, *sorted([(test.lines[one], action) for one, action in (first, second)]), dwords)
                    for name, space, first, second, dwords in TRUTH)
    test.equal(found, wanted)
    test.require("Race: no barrier is between the store at" in test.table().splitlines()[0])
    clean = test.table("-k", "<true>|OneWave")
    test.require(clean.startswith("No races: "), clean)
    return test.result()


if __name__ == "__main__":
    sys.exit(main())
