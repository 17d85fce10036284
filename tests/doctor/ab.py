# SPDX-License-Identifier: MIT
"""rochound doctor ab: the table is right for programs that work with one setting only, with none, with all; that crash,
hang and flicker; and for a real HIP program on the software GPU."""

import argparse
import json
import pathlib
import subprocess
import sys
import tempfile
import time

MATRIX = """# four settings
no-sdma: HSA_ENABLE_SDMA=0
both:    HSA_USE_SVM=0 HSA_XNACK=0
torch:   PYTORCH_HIP_ALLOC_CONF=expandable_segments:True
HSA_NOBODY_READS_ME=1
"""
FAULT = "Memory access fault by GPU node-1 (Agent handle: 0x1) on address 0x7f0000000000. Reason: Page not present."


def run(command, **more):
    return subprocess.run(command, capture_output=True, text=True, timeout=200, **more)


class Checker:
    def __init__(self, rochound):
        self.rochound = rochound
        self.problems = []

    def expect(self, fine, what):
        if not fine:
            self.problems.append(what)

    def table(self, script, *options, prefix=(), environment=None):
        """The table for a Python program, by the name of the setting."""
        done = run([*prefix, self.rochound, "doctor", "ab", "--json", *options, "--", sys.executable, "-c", script],
                   env=environment)
        if not done.stdout:
            self.problems.append(done.stderr)
            return {}, {}, done.returncode
        table = json.loads(done.stdout)
        return {row["name"]: row for row in table["rows"]}, table, done.returncode


def check_matrix(checker, folder):
    matrix = folder / "matrix.txt"
    matrix.write_text(MATRIX)
    rows, table, code = checker.table(
        "import os, sys\n"
        "if os.environ.get('HSA_ENABLE_SDMA') != '0':\n"
        f"    print({FAULT!r}, file=sys.stderr); print('later', file=sys.stderr); os.abort()\n"
        "print('result 42')", "--matrix", str(matrix), "--keep", str(folder / "kept"))
    checker.expect(list(rows) == ["as-it-is", "no-sdma", "both", "torch", "HSA_NOBODY_READS_ME=1"], f"rows {list(rows)}")
    checker.expect([name for name, row in rows.items() if row["works"]] == ["no-sdma"], f"works: {rows}")
    checker.expect(rows["as-it-is"]["outcome"].startswith("signal 6"), rows["as-it-is"]["outcome"])
    checker.expect(rows["both"]["message"] == FAULT, f"message {rows['both']['message']}")
    checker.expect(rows["torch"]["variables"] == {"PYTORCH_HIP_ALLOC_CONF": "expandable_segments:True"}, rows["torch"])
    checker.expect(rows["HSA_NOBODY_READS_ME=1"]["unread"] == ["HSA_NOBODY_READS_ME"], f"{rows['HSA_NOBODY_READS_ME=1']}")
    checker.expect(rows["no-sdma"]["unread"] == [], f"{rows['no-sdma']}")
    checker.expect(table["conclusion"] == "some-help" and "apply no-sdma" in table["text"] and code == 1, f"{code} {table['text']}")
    checker.expect((folder / "kept/no-sdma.1.out").read_text() == "result 42\n", "what the run wrote was not kept")
    checker.expect(FAULT in (folder / "kept/as-it-is.1.err").read_text(), "what the failed run wrote was not kept")


def check_ends(checker, folder):
    matrix = folder / "one.txt"
    matrix.write_text("a: A_SETTING=1\nunset: -HOME\n")
    rows, table, code = checker.table("import sys; sys.exit(7)", "--matrix", str(matrix))
    checker.expect(rows["a"]["outcome"] == "exit code 7" and table["conclusion"] == "none-helps" and code == 3, f"{code} {table}")
    rows, table, code = checker.table("print('fine')", "--matrix", str(matrix))
    checker.expect(table["conclusion"] == "works" and code == 0, f"{code} {table}")
    rows, table, code = checker.table("import os; raise SystemExit('HOME' in os.environ)", "--matrix", str(matrix))
    checker.expect(rows["unset"]["works"] and not rows["a"]["works"] and code == 1, f"{code} {rows}")
    # A hang is killed with everything it started, and costs no more than its limit.
    start = time.monotonic()
    rows, table, code = checker.table(
        "import os, subprocess, time\n"
        "if 'A_SETTING' not in os.environ: subprocess.run(['sleep', '100'])", "--matrix", str(matrix), "--limit", "2")
    took = time.monotonic() - start
    checker.expect(rows["as-it-is"]["attempts"][0]["timed_out"] and rows["a"]["works"], f"{rows}")
    checker.expect(took < 30, f"two hangs of 2 s took {took:.0f} s")
    # What works every other time does not count as working.
    state = folder / "state"
    rows, table, code = checker.table(
        f"import pathlib; p = pathlib.Path({str(state)!r}); n = int(p.read_text()) if p.exists() else 0\n"
        "p.write_text(str(n + 1)); raise SystemExit(n % 2)", "--matrix", str(matrix), "--repeat", "4")
    checker.expect(rows["as-it-is"]["outcome"] == "2 of 4 ok, else exit code 1" and not rows["as-it-is"]["works"], f"{rows}")


def check_chance(checker, folder):
    """A program that fails by chance gets no advice; one that hides a fault of the GPU has not worked."""
    matrix = folder / "three.txt"
    matrix.write_text("a: A_SETTING=1\nb: B_SETTING=1\nc: C_SETTING=1\n")
    for seed in range(12):
        state = folder / f"state-{seed}"
        # The same sequence in each run of the test: 30% of the runs fail.
        rows, table, code = checker.table(
            f"import pathlib, random; p = pathlib.Path({str(state)!r}); n = int(p.read_text()) if p.exists() else 0\n"
            f"p.write_text(str(n + 1)); raise SystemExit(random.Random({seed} * 1000 + n).random() < 0.3)", "--matrix", str(matrix))
        checker.expect(table.get("conclusion") in ("works", "by-chance", "none-helps") and "apply" not in table.get("text", ""),
                       f"seed {seed}: {code} {table.get('text')}")
        checker.expect("it fails with" not in table.get("text", ""), f"seed {seed}: a setting is accused: {table.get('text')}")
    rows, table, code = checker.table(f"import sys; print({FAULT!r}, file=sys.stderr)", "--matrix", str(matrix))
    checker.expect(table["conclusion"] == "none-helps" and code == 3, f"{code} {table['text']}")
    checker.expect(rows["a"]["outcome"] == "exit code 0, but a GPU failed", f"{rows['a']}")
    # A setting that really helps is found, with enough runs to say so.
    rows, table, code = checker.table("import os; raise SystemExit('B_SETTING' not in os.environ)", "--matrix", str(matrix))
    checker.expect(table["conclusion"] == "some-help" and "apply b" in table["text"] and code == 1, f"{code} {table['text']}")
    checker.expect(len(rows["b"]["attempts"]) >= 4 and len(rows["a"]["attempts"]) == 1, f"{rows}")
    # With fewer it may be chance.
    for confirm in (0, 2):
        rows, table, code = checker.table("import os; raise SystemExit('B_SETTING' not in os.environ)", "--matrix", str(matrix),
                                          "--confirm", str(confirm))
        checker.expect(len(rows["b"]["attempts"]) == len(rows["as-it-is"]["attempts"]) == 1 + confirm, f"--confirm {confirm}: {rows}")
        checker.expect(table["conclusion"] == "by-chance" and code == 3, f"--confirm {confirm}: {code} {table['text']}")


def check_usage(checker, folder):
    rochound = checker.rochound
    for command, code, words in (
            (["ab"], 2, "no program given"), (["ab", "./x"], 2, "put -- before"),
            (["ab", "--", str(folder / "absent")], 127, "cannot run"),
            (["ab", "--matrix", str(folder / "absent.txt"), "--", "true"], 2, "cannot open")):
        done = run([rochound, "doctor", *command])
        checker.expect(done.returncode == code and words in done.stderr, f"{command}: {done.returncode} {done.stderr}")
    bad = folder / "bad.txt"
    for text, words in (("x: NOVALUE\n", "line 1"), ("\na: A=1\na: B=1\n", "line 3"), ("# nothing\n", "no setting")):
        bad.write_text(text)
        done = run([rochound, "doctor", "ab", "--matrix", str(bad), "--", "true"])
        checker.expect(done.returncode == 2 and words in done.stderr, f"{text!r}: {done.returncode} {done.stderr}")
    text = run([rochound, "doctor", "ab", "--", "false"]).stdout
    checker.expect("SETTING" in text and "exit code 1" in text and "no setting that was tried helps" in text, text)
    listed = run([rochound, "doctor", "ab", "--list"]).stdout
    for name in ("HSA_USE_SVM=0", "HSA_XNACK=0", "HSA_ENABLE_SDMA=0", "GPU_ENABLE_WGP_MODE=0", "PYTORCH_HIP_ALLOC_CONF"):
        checker.expect(name in listed, f"{name} is not in the built-in set:\n{listed}")


def check_softgpu(checker, probe):
    """The real HIP runtime: a program that insists on 72 compute units works with one setting only."""
    script = (f"import json, subprocess; out = subprocess.run([{probe!r}, 'hip'], capture_output=True, text=True).stdout\n"
              "units = json.loads(out)['gpus'][0]['multiprocessors']\n"
              "raise SystemExit(0 if units == 72 else f'{units} compute units instead of 72')")
    rows, table, code = checker.table(script, prefix=[checker.rochound, "softgpu", "--gpu", "rx6800xt", "--"])
    works = [name for name, row in rows.items() if row["works"]]
    checker.expect(works == ["cu-mode"] and code == 1, f"{code}: {works} {table}")
    checker.expect(rows["as-it-is"]["message"] == "36 compute units instead of 72", f"{rows['as-it-is']}")
    checker.expect(not any(row["unread"] for row in rows.values()), f"unread: {[(n, r['unread']) for n, r in rows.items()]}")
    # With no way out, boot parameters are suggested, never set.
    rows, table, code = checker.table("raise SystemExit(1)", prefix=[checker.rochound, "softgpu", "--gpu", "rx6800xt", "--"])
    checker.expect(code == 3 and any(one["parameter"] == "amdgpu.noretry=0" and "not sure" in one["sure"]
                                     for one in table["boot_parameters"]), f"{code} {table.get('boot_parameters')}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    parser.add_argument("--probe")
    parser.add_argument("--part", required=True)
    arguments = parser.parse_args()
    checker = Checker(arguments.rochound)
    with tempfile.TemporaryDirectory() as folder:
        if arguments.part == "softgpu":
            check_softgpu(checker, arguments.probe)
        else:
            {"matrix": check_matrix, "ends": check_ends, "chance": check_chance, "usage": check_usage}[arguments.part](checker, pathlib.Path(folder))
    for problem in checker.problems:
        print("FAIL", problem)
    return 1 if checker.problems else 0


if __name__ == "__main__":
    sys.exit(main())
