# SPDX-License-Identifier: MIT
"""What dag.json says a kernel twice as fast would save, against the same program with the kernel really made twice as
fast: whatif_test.py ROCHOUND GPU PROGRAM CANDIDATES. A few programs, all of them with ROCHOUND_FULL in the environment.

The program's own clock decides, from its first launch to its last wait. A prediction is right if it is within 10% of
the time that the program took with the swapped kernel. A machine that is busy stops programs now and then: each program
is run in five pairs, always, and the median of their errors is judged.
"""

import json
import os
import pathlib
import re
import shutil
import statistics
import subprocess
import sys
import tempfile

ROCHOUND, GPU, PROGRAM, CANDIDATES = sys.argv[1:5]
IN_CI = (("chain", "A"), ("other_branch", "A"), ("hidden", "C"), ("fork_join", "B"), ("host_between", "A"))
ALL = IN_CI + (("host_bound", "A"), ("diamond", "C"), ("many_launches", "A"), ("waits_each_time", "B"), ("event", "A"),
               ("polling", "A"), ("default_stream", "A"), ("graph", "B"), ("threads", "A"), ("pipeline", "A"), ("copies", "A"),
               ("double_buffer", "A"), ("uneven", "A"), ("three_streams", "A"), ("computing", "Work"))
PAIRS = 5
LIMIT = 0.10


def run(*arguments):
    result = subprocess.run([ROCHOUND, *arguments], capture_output=True, text=True, timeout=300, check=False)
    assert result.returncode == 0, f"{arguments}: {result.stdout}{result.stderr}"
    return result.stdout


def took(text):
    return int(re.search(r"took_ns (\d+)", text).group(1))


def run_pair(name, kernel, folder):
    """What the program took, what it would take with the kernel twice as fast, and what it then took."""
    cache = folder / "cache"
    cache.mkdir(mode=0o700)
    shutil.copy(CANDIDATES, cache / "halves.hsaco")
    (cache / "halves.hsaco").chmod(0o600)
    before = took(run("run", "-q", "--softgpu", GPU, "-o", str(folder / "before.rpd"), "--", PROGRAM, name))
    run("profile", "--trace", str(folder / "before.rpd"), "-o", str(folder))
    dag = json.loads((folder / "dag.json").read_text(encoding="ascii"))
    saved = next(one for one in dag["kernels"] if one["name"].split("(")[0] == kernel)["what_if"]["saved_ns"]
    after = took(run("run", "-q", "--softgpu", GPU, "--kernel-cache", str(cache), "--swap", f"^{kernel}$",
                     "-o", str(folder / "after.rpd"), "--", PROGRAM, name))
    return before, before - saved, after


def is_doubted():
    """A wait that is in no trace: a note says so, and there is none where every wait is known."""
    for name, doubted in (("condition", True), ("chain", False)):
        with tempfile.TemporaryDirectory() as folder:
            run("run", "-q", "--softgpu", GPU, "-o", f"{folder}/trace.rpd", "--", PROGRAM, name)
            page = run("profile", "--trace", f"{folder}/trace.rpd", "-o", folder)
            warnings = json.loads(pathlib.Path(folder, "dag.json").read_text(encoding="ascii"))["warnings"]
        if doubted != any(one.startswith("A runs") and "more could be saved" in one for one in warnings) or doubted != ("more could be saved" in page):
            print(f"{name}: {warnings}\n{page}")
            return False
    return True


def is_right(name, kernel):
    errors = []
    for _ in range(PAIRS):
        with tempfile.TemporaryDirectory() as folder:
            before, predicted, after = run_pair(name, kernel, pathlib.Path(folder))
        errors.append((predicted - after) / after)
        print(f"{name:16} {kernel:5} took {before / 1e6:6.1f} ms, predicted {predicted / 1e6:6.1f}, with the kernel twice as fast "
              f"{after / 1e6:6.1f}: {100 * errors[-1]:+5.1f}%", flush=True)
    median = statistics.median(errors)
    print(f"{name:16} {kernel:5} median {100 * median:+5.1f}%", flush=True)
    return abs(median) <= LIMIT


def main():
    programs = ALL if os.environ.get("ROCHOUND_FULL") else IN_CI
    if not is_doubted():
        sys.exit("a wait that the trace does not have is not told from one that it has")
    failed = [name for name, kernel in programs if not is_right(name, kernel)]
    if failed:
        sys.exit(f"predicted more than {100 * LIMIT:.0f}% wrong: {', '.join(failed)}")


if __name__ == "__main__":
    main()
