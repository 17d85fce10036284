#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""untested.py counts what commands took, and fails for an option that none did.

usage: untested_test.py --bin FOLDER
"""

import contextlib
import io
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

import untested

REFERENCE = {"commands": [{"name": "doctor", "options": [{"names": ["-h", "--help"]}, {"names": ["--made-up"]}],
                           "subcommands": [{"name": "doctor ab", "options": [{"names": ["-n", "--nested"]}]}]}]}
HELP = """OPTIONS:
  -h,     --help              Print this help message and exit
          --bus URL ...       Servers
  -o,     --output FOLDER REQUIRED
                              Where to; without --by a folder

Exit code 1: --not-an-option
"""
BIN = None


class OptionsThatRan(unittest.TestCase):
    def test_belong_to_the_command_before_them(self):
        self.assertEqual(untested.options_that_ran(["7 ran rochound doctor --all ab --limit --json"]),
                         {("rochound doctor", "--all"), ("rochound doctor ab", "--limit"), ("rochound doctor ab", "--json")})

    def test_do_not_count_when_they_were_refused(self):
        lines = ["7 ran rochound log --kind", "8 ran rochound log --pid", "7 refused", "7 ran rochound log --limit"]
        self.assertEqual(untested.options_that_ran(lines), {("rochound log", "--pid"), ("rochound log", "--limit")})


class Untested(unittest.TestCase):
    known = list(untested.options_of_reference(REFERENCE))

    def test_is_an_option_that_no_test_ran(self):
        self.assertEqual(untested.untested(self.known, {("rochound doctor ab", "--nested")}, []),
                         ["rochound doctor --made-up: no test runs it"])

    def test_is_no_option_that_ran_by_its_other_name(self):
        ran = {("rochound doctor", "--made-up"), ("rochound doctor ab", "-n")}
        self.assertEqual(untested.untested(self.known, ran, []), [])

    def test_is_an_option_that_another_command_ran(self):
        ran = {("rochound doctor", "--made-up"), ("rochound doctor", "--nested")}
        self.assertEqual(untested.untested(self.known, ran, []), ["rochound doctor ab --nested: no test runs it"])

    def test_is_no_option_that_a_command_shares(self):
        ran = {("rochound doctor", "--made-up"), ("rochound doctor", "--nested")}
        self.assertEqual(untested.untested(self.known, ran, [("rochound (doctor|doctor ab)", {"--nested"})]), [])
        self.assertEqual(len(untested.untested(self.known, ran, [("rochound (log|doctor ab)", {"--nested"})])), 1)

    def test_may_be_left_out_while_it_is(self):
        ran = {("rochound doctor ab", "--nested")}
        left_out = ["rochound doctor --made-up"]
        self.assertEqual(untested.untested(self.known, ran, [], left_out), [])
        self.assertEqual(len(untested.untested(self.known, ran | {("rochound doctor", "--made-up")}, [], left_out)), 1)
        self.assertEqual(len(untested.untested(self.known, ran, [], left_out + ["rochound gone --made-up"])), 1)

    def test_is_found_in_a_help_text(self):
        self.assertEqual(list(untested.options_of_help("rochoundd", HELP)),
                         [("rochoundd", ("-h", "--help")), ("rochoundd", ("--bus",)), ("rochoundd", ("-o", "--output"))])


class Programs(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(self.enterContext(tempfile.TemporaryDirectory()))
        self.ran = self.folder / "ran"

    def run_program(self, *command):
        environment = {**os.environ, "ROCHOUND_TEST_OPTIONS_RUN": str(self.ran)}
        return subprocess.run([BIN / command[0], *command[1:]], env=environment, capture_output=True, check=False).returncode

    def what_ran(self):
        return untested.options_that_ran(self.ran.read_text().splitlines() if self.ran.exists() else [])

    def test_record_what_they_took(self):
        self.assertEqual(self.run_program("rochound", "softgpu", "--list", "--json"), 0)
        self.assertEqual(self.what_ran(), {("rochound softgpu", "--list"), ("rochound softgpu", "--json")})
        # One that becomes another program.
        self.run_program("rochound", "softgpu", "--gpu=rx6800xt", "--", "true", "--json", "--strict")
        self.assertIn(("rochound softgpu", "--gpu"), self.what_ran())
        self.assertNotIn(("rochound softgpu", "--strict"), self.what_ran())

    def test_do_not_record_what_they_refused(self):
        self.assertEqual(self.run_program("rochound", "log", "--made-up"), 2)  # the parser
        self.assertEqual(self.run_program("rochound", "log", "dump", "--kind", "made-up", self.folder), 2)  # the command
        self.assertEqual(self.run_program("rochound", "log", "--help"), 0)
        self.assertEqual(self.what_ran(), set())

    def test_record_nothing_unless_told(self):
        self.assertEqual(subprocess.run([BIN / "rochound", "softgpu", "--list"], cwd=self.folder, capture_output=True, check=False,
                                        env={"PATH": os.environ["PATH"]}).returncode, 0)
        self.assertEqual(list(self.folder.iterdir()), [])

    @unittest.skipUnless("--fleet" in sys.argv, "the fleet is not built")
    def test_of_the_fleet_record_it_too(self):
        self.run_program("rochound-fleet", "jobs", "--lake", self.folder / "none", "--since", "2026-01-01")
        self.run_program("rochoundd", "--state", self.folder / "state", "--once")
        self.assertEqual(self.what_ran(), {("rochound-fleet jobs", "--lake"), ("rochound-fleet jobs", "--since"),
                                           ("rochoundd", "--state"), ("rochoundd", "--once")})

    def test_are_all_compared(self):
        self.assertEqual(self.run_program("rochound", "softgpu", "--list"), 0)
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            code = untested.main(["--bin", str(BIN), "--ran", str(self.ran)])
        self.assertEqual(code, 1)
        self.assertIn("rochound softgpu --json: no test runs it\n", output.getvalue())
        self.assertIn("rochound doctor ab --confirm: no test runs it\n", output.getvalue())
        self.assertNotIn("rochound softgpu --list:", output.getvalue())
        if "--fleet" in sys.argv:
            self.assertIn("rochound-fleet up --port: no test runs it\n", output.getvalue())
            self.assertIn("rochoundd --spool: no test runs it", output.getvalue())

    def test_without_a_record_are_a_failure(self):
        with contextlib.redirect_stdout(io.StringIO()):
            self.assertEqual(untested.main(["--bin", str(BIN), "--ran", str(self.ran)]), 1)


if __name__ == "__main__":
    BIN = pathlib.Path(sys.argv[sys.argv.index("--bin") + 1]).resolve()
    unittest.main(argv=sys.argv[:1])
