# SPDX-License-Identifier: MIT
"""The drivers of the program and fault tests, tried on shell scripts: what is right passes, what is not, fails."""

import json
import os
import subprocess
import sys
import tempfile
import unittest

FOLDER = os.path.dirname(os.path.abspath(__file__))
COUNTS = "counts process=main kernels=1"
GOOD = f"echo {COUNTS}; echo PASS demo"


def drive(driver, *arguments, most=None):
    command = [sys.executable, os.path.join(FOLDER, driver), *arguments]
    environment = {key: value for key, value in os.environ.items() if not key.startswith("ROCHOUND_MAX_")}
    if most is not None:
        environment["ROCHOUND_MAX_REPEATS"] = str(most)
    return subprocess.run(command, capture_output=True, text=True, check=False, env=environment)


class RunProgram(unittest.TestCase):
    def judge(self, script, *options, most=None):
        return drive("run_program.py", "--name", "demo", "--repeat", "3", *options, "--", "sh", "-c", script, most=most)

    def test_pass(self):
        result = self.judge(GOOD)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("PASS demo: 3 repetitions", result.stdout)

    def test_environment_bounds_the_repetitions(self):
        self.assertIn("PASS demo: 2 repetitions", self.judge(GOOD, most=2).stdout)
        self.assertIn("PASS demo: 3 repetitions", self.judge(GOOD, most=9).stdout)

    def test_skip_keeps_its_reason(self):
        result = self.judge("echo 'SKIP demo: no such card'; exit 77")
        self.assertEqual(result.returncode, 77)
        self.assertIn("SKIP demo: no such card", result.stdout)

    def test_skip_without_reason(self):
        self.assertEqual(self.judge("exit 77").returncode, 1)

    def test_wrong_exit_code(self):
        self.assertEqual(self.judge(GOOD + "; exit 3").returncode, 1)

    def test_signal(self):
        result = self.judge(GOOD + "; kill -ABRT $$")
        self.assertEqual(result.returncode, 1)
        self.assertIn("signal SIGABRT", result.stdout)

    def test_pass_line_not_last(self):
        self.assertEqual(self.judge(GOOD + "; echo more").returncode, 1)

    def test_other_name(self):
        self.assertEqual(self.judge(f"echo {COUNTS}; echo PASS other").returncode, 1)

    def test_no_counts(self):
        self.assertEqual(self.judge("echo PASS demo").returncode, 1)

    def test_hang(self):
        result = self.judge(GOOD + "; sleep 60", "--timeout", "0.3")
        self.assertEqual(result.returncode, 1)
        self.assertIn("no end within", result.stdout)

    def test_counts_that_change(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo x >> {folder}/n; echo counts process=main kernels=$(wc -l < {folder}/n); echo PASS demo"
            result = self.judge(script)
        self.assertEqual(result.returncode, 1)
        self.assertIn("counts differ", result.stdout)

    def test_fails_once(self):
        with tempfile.TemporaryDirectory() as folder:
            script = f"echo x >> {folder}/n; [ $(wc -l < {folder}/n) = 3 ] && exit 1; {GOOD}"
            result = self.judge(script)
        self.assertEqual(result.returncode, 1)
        self.assertIn("repetition 3 of 3", result.stdout)


class RunFaults(unittest.TestCase):
    INNOCENT = "echo running; read line; echo rounds 5; echo PASS innocent"
    FAULT = "echo fault error=700; echo Memory fault >&2"

    def judge(self, fault, innocent=INNOCENT, promise=None, name="demo", timeout="60"):
        promise = promise or {"exit": 0, "stdout": "error=700$", "stderr": "^Memory"}
        with tempfile.TemporaryDirectory() as folder:
            expected = os.path.join(folder, "expected.json")
            with open(expected, "w", encoding="utf-8") as file:
                json.dump({"outcomes": {"it": promise}, "releases": {"7": {"demo": "it"}}}, file)
            return drive("run_faults.py", "--name", name, "--release", "7", "--expected", expected, "--innocent",
                         innocent, "--runs", "4", "--timeout", timeout, "--", "sh", "-c", fault)

    def test_as_promised(self):
        result = self.judge(self.FAULT)
        self.assertEqual(result.returncode, 0, result.stdout)
        self.assertIn("4 of 4 as promised", result.stdout)

    def test_signal_as_promised(self):
        result = self.judge("echo Memory fault >&2; kill -ABRT $$", promise={"signal": "SIGABRT", "stderr": "^Memory"})
        self.assertEqual(result.returncode, 0, result.stdout)

    def test_other_signal(self):
        self.assertEqual(self.judge("kill -SEGV $$", promise={"signal": "SIGABRT"}).returncode, 1)

    def test_other_error(self):
        self.assertEqual(self.judge("echo fault error=719; echo Memory >&2").returncode, 1)

    def test_nothing_on_stderr(self):
        self.assertEqual(self.judge("echo fault error=700").returncode, 1)

    def test_no_fault_at_all(self):
        self.assertEqual(self.judge(self.FAULT + "; exit 1").returncode, 1)

    def test_hang(self):
        self.assertEqual(self.judge("sleep 60", timeout="2").returncode, 1)

    def test_innocent_that_fails(self):
        result = self.judge(self.FAULT, innocent="echo running; read line; echo FAIL innocent; exit 1")
        self.assertEqual(result.returncode, 1)
        self.assertIn("the innocent process ended with 1", result.stdout)

    def test_innocent_that_hangs(self):
        self.assertEqual(self.judge(self.FAULT, innocent="echo running; sleep 60", timeout="2").returncode, 1)

    def test_nothing_promised(self):
        self.assertNotEqual(self.judge(self.FAULT, name="unknown").returncode, 0)


class Tables(unittest.TestCase):
    def test_expected_names_every_fault_and_outcome(self):
        with open(os.path.join(FOLDER, "faults", "expected.json"), encoding="utf-8") as file:
            table = json.load(file)
        with open(os.path.join(FOLDER, "unsupported.json"), encoding="utf-8") as file:
            unsupported = {(row["release"], row.get("program")) for row in json.load(file)}
        faults = {name[:-4] for name in os.listdir(os.path.join(FOLDER, "faults")) if name.endswith(".hip")}
        faults.discard("innocent")
        for release, rows in table["releases"].items():
            wanted = {name for name in faults if (release, f"faults/{name}") not in unsupported}
            self.assertEqual(set(rows), wanted, f"ROCm {release}")
            self.assertLessEqual(set(rows.values()), set(table["outcomes"]))

    def test_unsupported_programs_exist_and_say_why(self):
        with open(os.path.join(FOLDER, "unsupported.json"), encoding="utf-8") as file:
            for row in json.load(file):
                self.assertTrue(row["reason"])
                if "program" in row:
                    name, *test = row["program"].split(".")
                    self.assertTrue(os.path.exists(os.path.join(FOLDER, name + ".hip")), row)
                    self.assertIn(len(test), (0, 1, 2), row)  # the program, NAME.LEVEL or NAME.LEVEL.GPU


if __name__ == "__main__":
    unittest.main()
