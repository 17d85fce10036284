#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Every reason that the judge can give is given in what runs without ROCHOUND_FULL.

usage: reasons_test.py src/optimize/reason.h
"""

import pathlib
import re
import sys

sys.path.insert(0, str(pathlib.Path(__file__).parent))
import judge  # noqa: E402
import optimize  # noqa: E402


def main():
    header = pathlib.Path(sys.argv[1]).read_text()
    enumerators = re.findall(r"^  (k\w+),", header.split("enum class Reason")[1].split("};")[0], re.MULTILINE)
    names = dict(re.findall(r"\{Reason::(k\w+),\s*\"([a-z-]+)\"", header))
    if not enumerators or set(enumerators) != set(names):
        print(f"FAIL: reasons without a name, or names without a reason: {set(enumerators) ^ set(names)}")
        return 1
    by_judge = {one.reason for one in judge.short()}
    by_search = set().union(*optimize.GIVES.values())
    missing = sorted(set(names.values()) - by_judge - by_search)
    unknown = sorted((by_judge | by_search) - set(names.values()))
    print(f"{len(names)} reasons: {len(by_judge)} by candidates of judge.py, "
          f"{len(by_search - by_judge)} more by searches of optimize.py")
    for reason in missing:
        print(f"FAIL: nothing that always runs is judged as '{reason}': judge.py needs a candidate for it")
    for reason in unknown:
        print(f"FAIL: the judge does not know '{reason}'")
    return 1 if missing or unknown else 0


if __name__ == "__main__":
    sys.exit(main())
