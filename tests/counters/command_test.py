# SPDX-License-Identifier: MIT
"""`rochound softgpu --counters FILE` with a real program: command_test.py ROCHOUND GPU PROGRAM."""

import json
import os
import signal
import subprocess
import sys
import tempfile
import unittest

ROCHOUND, GPU, PROGRAM = sys.argv[1:4]
CLASSES = 25


class CommandTest(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.file = os.path.join(self.folder.name, "counters.jsonl")

    def tearDown(self):
        self.folder.cleanup()

    def run_program(self, mode, file=None):
        command = [ROCHOUND, "softgpu", "--gpu", GPU, "--counters", file or self.file, "--", PROGRAM, mode]
        return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)

    def records(self):
        with open(self.file, encoding="ascii") as lines:
            text = lines.read()
        self.assertTrue(text.endswith("\n"), text[-200:])
        return [json.loads(line) for line in text.splitlines()]

    def adds(self):
        return [record for record in self.records() if "AddCounted" in record["kernel"]]

    def check_record(self, record):
        by_class = record["instructions"]["by_class"]
        total = record["instructions"]["total"]
        self.assertEqual(len(by_class), CLASSES)
        self.assertEqual(sum(by_class.values()), total)
        self.assertEqual(sum(record["instructions"]["by_mnemonic"].values()), total)
        self.assertLessEqual(record["lanes"]["active"], record["lanes"]["possible"])
        self.assertEqual(record["unmeasured"], {})
        self.assertGreater(record["model"]["cycles"], 0)

    def test_file_and_c_interface_agree(self):
        result = self.run_program("once")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        printed = json.loads(result.stdout)
        records = self.records()
        for record in records:
            self.check_record(record)
        # The second launch was after the program's stop; the file has it all the same.
        adds = self.adds()
        self.assertEqual(len(adds), 2)
        self.assertEqual(adds[0], printed)
        for varying in ("order", "process"):
            adds[0].pop(varying), adds[1].pop(varying)
        self.assertEqual(adds[0], adds[1])
        self.assertEqual(sorted(record["order"] for record in records), list(range(len(records))))

    def test_forked_processes_share_the_file(self):
        result = self.run_program("fork")
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        adds = self.adds()
        self.assertEqual(len(adds), 4)
        self.assertEqual(len({record["process"] for record in adds}), 2)

    def test_a_killed_program_leaves_whole_lines(self):
        result = self.run_program("kill")
        self.assertEqual(result.returncode, -signal.SIGKILL)
        self.assertEqual(len(self.adds()), 2)

    def test_a_fault_is_not_completed(self):
        self.run_program("fault")
        faults = [record for record in self.records() if "Fault" in record["kernel"]]
        self.assertEqual([record["completed"] for record in faults], [False])
        self.assertEqual(faults[0]["memory"]["global"]["written_bytes"], 0)

    def test_a_full_disk_does_not_harm_the_program(self):
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full")
        environment = dict(os.environ, ROCHOUND_SOFTGPU_COUNTERS="/dev/full")
        result = subprocess.run([ROCHOUND, "softgpu", "--gpu", GPU, "--", PROGRAM, "once"], env=environment,
                                capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("cannot write /dev/full", result.stderr)
        self.assertEqual(result.stderr.count("cannot write"), 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
