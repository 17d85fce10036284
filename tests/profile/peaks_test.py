# SPDX-License-Identifier: MIT
"""`rochound profile --measure-peaks` on a software GPU: peaks_test.py ROCHOUND GPU SCHEMAS.

Its kernels do exactly the operations and read exactly the bytes that peaks.json says, by the software GPU's counters.
How fast they are there is the host's speed, and is not looked at.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

from schema import problems_of_file

ROCHOUND, GPU, SCHEMAS = sys.argv[1:4]
CDNA = ("f64", "f32", "f16", "bf16", "i8")
MATRICES = {"mi250x": CDNA, "mi300x": (*CDNA, "xf32", "fp8"), "mi355x": (*CDNA, "fp8", "f6f4"), "rx6800xt": (),
            "rx7900xtx": ("f16", "bf16", "i8", "i4"), "rx9070xt": ("f16", "bf16", "i8", "i4", "fp8")}
LEVELS = {"lds", "l1", "l2", "memory"} | ({"mall"} if GPU != "mi250x" else set())
VECTORS = {"f64": "MultiplyAddIdd", "f32": "MultiplyAddIfDv2_f", "f16": "MultiplyAddIDF16_Dv2_DF16_"}
# What the hardware calls the type of instructions whose modifiers choose it.
COUNTED_AS = {("mi355x", "fp8"): "f8f6f4", ("mi355x", "f6f4"): "f8f6f4"}
FLOATS = ("f64", "f32", "xf32", "f16", "bf16", "fp8", "fp6", "fp4", "f8f6f4")


class PeaksTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        counters = os.path.join(cls.folder.name, "counters.jsonl")
        cls.result = subprocess.run([ROCHOUND, "softgpu", "--gpu", GPU, "--counters", counters, "--", ROCHOUND, "profile", "--measure-peaks",
                                     "-o", cls.folder.name], capture_output=True, text=True, timeout=600, check=False)
        assert cls.result.returncode == 0, cls.result.stdout + cls.result.stderr
        cls.peaks = json.loads(pathlib.Path(cls.folder.name, "peaks.json").read_text(encoding="ascii"))
        cls.measured = {one["name"]: one for one in cls.peaks["measurements"]}
        with open(counters, encoding="ascii") as lines:
            cls.records = [json.loads(line) for line in lines]

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def of_kernel(self, part):
        return [record for record in self.records if part in record["kernel"]]

    def test_the_file(self):
        self.assertEqual(problems_of_file(self.folder.name, SCHEMAS, "peaks"), [])
        wanted = LEVELS | {f"vector.{kind}" for kind in VECTORS} | {f"matrix.{kind}" for kind in MATRICES[GPU]}
        self.assertEqual(set(self.measured), wanted)
        for one in self.measured.values():
            self.assertEqual(one["kind"], "bytes" if one["name"] in LEVELS else "operations")
            self.assertAlmostEqual(one["count"] / one["seconds"] / one["per_second"], 1)

    def test_it_says_whose_speed_it_is(self):
        self.assertTrue(self.peaks["software_gpu"])
        self.assertIn("the speed of its host", self.peaks["warnings"][0])
        self.assertIn("the speed of its host", self.result.stdout)
        self.assertIn("from the table", self.result.stdout)

    def check_operations(self, record, unit, kind, count):
        operations = record["operations"]
        self.assertEqual(operations["undescribed"], {})
        found = {(a, b): by_kind["arithmetic"] for a in ("vector", "matrix", "scalar") for b, by_kind in operations[a].items()
                 if by_kind["arithmetic"] and (b in FLOATS or a == "matrix")}
        self.assertEqual(found, {(unit, COUNTED_AS.get((GPU, kind), kind)): count}, record["kernel"])

    def test_operations(self):
        for kind, part in VECTORS.items():
            (record,) = self.of_kernel(part)
            self.check_operations(record, "vector", kind, self.measured[f"vector.{kind}"]["count"])
        for kind in MATRICES[GPU]:
            name = "Matrix" + kind.upper()
            (record,) = self.of_kernel(f"{len(name)}{name}E")
            self.check_operations(record, "matrix", kind, self.measured[f"matrix.{kind}"]["count"])

    def test_packed_instructions(self):
        """Peaks of f32 on CDNA and of f16 are those of packed instructions."""
        for kind, word in (("f32", "v_pk_fma_f32"), ("f16", "v_pk_fma_f16")):
            if kind == "f32" and GPU.startswith("rx"):
                continue
            (record,) = self.of_kernel(VECTORS[kind])
            packed = sum(count for name, count in record["lanes"]["by_mnemonic"].items() if name.startswith(word))
            self.assertEqual(4 * packed, self.measured[f"vector.{kind}"]["count"])

    def test_bytes(self):
        reads = self.of_kernel("ReadMemory")
        self.assertEqual(len(reads), len(LEVELS) - 1)
        counts = {self.measured[level]["count"] for level in LEVELS - {"lds"}}
        self.assertEqual({record["memory"]["global"]["read_bytes"] for record in reads}, counts)
        (lds,) = self.of_kernel("ReadLds")
        self.assertEqual(lds["memory"]["lds"]["read_bytes"], self.measured["lds"]["count"])
        self.assertEqual(lds["lds"]["bank_conflicts"], 0)
        # Nothing but that: no stores, and no arithmetic but addresses.
        for record in reads + [lds]:
            self.assertEqual(record["memory"]["global"]["written_bytes"], 0)
            self.assertEqual(record["memory"]["scratch"]["read_bytes"] + record["memory"]["scratch"]["written_bytes"], 0)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
