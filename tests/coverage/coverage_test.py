#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Tests of what coverage.py stands on: finding code objects in files, and judging what is found in them."""

import argparse
import json
import struct
import subprocess
import sys
import tempfile
import unittest
import zlib

import code_objects

TOOL = None


def bundle(*entries):
    """An offload bundle of (name, bytes)."""
    offset = len(code_objects.BUNDLE) + 8 + sum(24 + len(name) for name, _ in entries)
    header, body = code_objects.BUNDLE + struct.pack("<Q", len(entries)), b""
    for name, data in entries:
        header += struct.pack("<QQQ", offset + len(body), len(data), len(name)) + name.encode()
        body += data
    return header + body


class CodeObjectsTest(unittest.TestCase):
    def test_bundles_in_a_row_with_padding(self):
        data = bundle(("host-x86_64--", b""), ("hipv4-amdgcn-amd-amdhsa--gfx90a:sramecc+", b"one"))
        data += bytes(100) + bundle(("hip-amdgcn-amd-amdhsa--gfx1030", b"two"))
        self.assertEqual(list(code_objects.code_objects(data)), [("gfx90a", b"one"), ("gfx1030", b"two")])

    def test_compressed_bundle(self):
        plain = bundle(("hipv4-amdgcn-amd-amdhsa--gfx942", b"code" * 100))
        for version, sizes, header in ((2, "<IIQ", 24), (3, "<QQQ", 32)):
            packed = zlib.compress(plain)
            data = b"CCOB" + struct.pack("<HH", version, 0) + struct.pack(sizes, header + len(packed), len(plain), 0) + packed
            self.assertEqual(list(code_objects.code_objects(data + bytes(8) + data)), [("gfx942", b"code" * 100)] * 2)

    def test_nothing_in_other_files(self):
        self.assertEqual(list(code_objects.code_objects(b"some text")), [])


class ToolTest(unittest.TestCase):
    def forms(self, target, *lines):
        out = subprocess.run([TOOL, "forms", target], input="\n".join(lines), stdout=subprocess.PIPE, text=True, check=True)
        return json.loads(out.stdout)

    def test_an_instruction_that_runs(self):
        row, = self.forms("gfx942", "64 7e000280")  # v_mov_b32 v0, 0
        self.assertEqual(row["mnemonics"], ["v_mov_b32"])
        self.assertNotIn("refused", row)

    def test_instructions_that_are_refused(self):
        rows = self.forms("gfx1030", "64 f8001800bf80bf80", "64 00000000")  # an export, and padding
        for row in rows:
            self.assertIn("refused", row)

    def test_two_in_one(self):
        row, = self.forms("gfx1100", "32 c9000100f9000301")
        self.assertEqual(len(row["mnemonics"]), 2)

    def test_a_file_that_is_no_code_object(self):
        with tempfile.NamedTemporaryFile() as file:
            file.write(b"text")
            file.flush()
            outcome = subprocess.run([TOOL, "objects", file.name], stderr=subprocess.PIPE, text=True, check=False)
        self.assertEqual(outcome.returncode, 1)
        self.assertIn("no AMD GPU code object", outcome.stderr)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--tool", required=True)
    options, rest = parser.parse_known_args()
    TOOL = options.tool
    unittest.main(argv=sys.argv[:1] + rest)
