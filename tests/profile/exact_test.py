# SPDX-License-Identifier: MIT
"""Operations and bytes of kernels that are known by construction: exact_test.py ROCHOUND GPU PROGRAM.

Only the kernels' own work is known: compilers choose how addresses are computed, so integers are not compared here
(arithmetic_test.cpp has every instruction).
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

ROCHOUND, GPU, PROGRAM = sys.argv[1:4]
ITEMS, PARTIAL, STRIDE, SIDE = 4096, 1000, 32, 64
M, N, K = 32, 48, 64
FLOATS = ("f64", "f32", "xf32", "f16", "bf16", "fp8", "fp6", "fp4", "f8f6f4")


def gemm(element, result=4):
    return (M * K + K * N) * element, M * N * result


def multiplied(kind, without):
    """Of a gemm with matrix instructions: `without` are the GPUs that have none for the type, and what they use instead."""
    unit = without.get(GPU, f"matrix.{kind}")
    return {f"{unit}.multiply_add": 2 * M * N * K}


RDNA = ("rx6800xt", "rx7900xtx", "rx9070xt")


# Kernel: floating operations by unit and type, bytes that are read and written at least.
EXPECTED = {
    "axpy_f64": ({"vector.f64.multiply_add": 2 * ITEMS}, 2 * 8 * ITEMS, 8 * ITEMS),
    "axpy_f32": ({"vector.f32.multiply_add": 2 * ITEMS}, 2 * 4 * ITEMS, 4 * ITEMS),
    "axpy_f16": ({"vector.f16.multiply_add": 2 * ITEMS}, 2 * 2 * ITEMS, 2 * ITEMS),
    "gemm_naive": ({"vector.f32.multiply_add": 2 * M * N * K}, *gemm(4)),
    "gemm_matrix": ({("vector" if GPU == "rx6800xt" else "matrix") + ".f16.multiply_add": 2 * M * N * K}, *gemm(2)),
    "gemm_vector_f64": ({"vector.f64.multiply_add": 2 * M * N * K}, *gemm(8, 8)),
    "gemm_vector_f16": ({"vector.f16.multiply_add": 2 * M * N * K}, *gemm(2, 2)),
    "gemm_vector_bf16": ({"vector.f32.multiply_add": 2 * M * N * K}, *gemm(2)),
    "gemm_vector_i8": ({"vector.i8.multiply_add": 2 * M * N * K}, *gemm(1)),
    "gemm_matrix_f64": (multiplied("f64", {gpu: "vector.f64" for gpu in RDNA}), *gemm(8, 8)),
    "gemm_matrix_f32": (multiplied("f32", {gpu: "vector.f32" for gpu in RDNA}), *gemm(4)),
    "gemm_matrix_bf16": (multiplied("bf16", {"rx6800xt": "vector.f32"}), *gemm(2)),
    "gemm_matrix_i8": (multiplied("i8", {"rx6800xt": "vector.i8"}), *gemm(1)),
    "reduction": ({"vector.f32.add": ITEMS - ITEMS // 256}, 4 * ITEMS, 4 * ITEMS // 256),
    "partial": ({"vector.f32.add": PARTIAL}, 4 * PARTIAL, 4 * PARTIAL),
    "transpose": ({}, 4 * SIDE * SIDE, 4 * SIDE * SIDE),
    "stencil": ({"vector.f32.add": 2 * (ITEMS - 2)}, 4 * ITEMS, 4 * ITEMS),
    "gather": ({}, None, 4 * ITEMS),
    "powers": ({"vector.f32.transcendental": ITEMS}, 4 * ITEMS, 4 * ITEMS),
    "convert": ({"vector.f32.convert": ITEMS}, 4 * ITEMS, 4 * ITEMS),
}


def lines(size, count):
    return (size + count - 1) // count


class ExactTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            file = os.path.join(folder, "counters.jsonl")
            result = subprocess.run([ROCHOUND, "softgpu", "--gpu", GPU, "--counters", file, "--", PROGRAM],
                                    capture_output=True, text=True, timeout=300, check=False)
            assert result.returncode == 0, result.stdout + result.stderr
            with open(file, encoding="ascii") as text:
                records = [json.loads(line) for line in text]
        cls.records = {record["kernel"].removesuffix(".kd"): record for record in records}

    def test_every_kernel_ran(self):
        self.assertEqual(set(EXPECTED) - set(self.records), set())

    def test_floating_operations(self):
        for kernel, (expected, _, _) in EXPECTED.items():
            operations = self.records[kernel]["operations"]
            self.assertEqual(operations["undescribed"], {})
            found = {}
            for unit in ("vector", "matrix", "scalar"):
                for kind, by_kind in operations[unit].items():
                    self.assertEqual(by_kind["arithmetic"], sum(by_kind.get(name, 0) for name in (
                        "add", "multiply", "multiply_add", "transcendental")))
                    if kind in FLOATS or kind == "i8":
                        found.update({f"{unit}.{kind}.{name}": count for name, count in by_kind.items()
                                      if name != "arithmetic"})
            self.assertEqual(found, expected, kernel)

    def test_distinct_lines(self):
        for kernel, (_, read, written) in EXPECTED.items():
            footprint = self.records[kernel]["footprint"]
            for size in (32, 64, 128):
                counted = footprint["global"][f"lines_{size}"]
                wanted = lines(4 * ITEMS, size) + ITEMS if read is None else lines(read, size)
                self.assertEqual(counted["read"], wanted, (kernel, size))
                self.assertEqual(counted["written"], lines(written, size), (kernel, size))
                both = footprint["all"][f"lines_{size}"]
                self.assertGreater(both["read"], counted["read"], "arguments are read, too")
                self.assertEqual(both["written"], counted["written"])
                in_place = kernel.startswith("axpy")
                self.assertEqual(counted["touched"], wanted if in_place else wanted + lines(written, size))

    def test_lanes(self):
        partial = self.records["partial"]
        adds = sum(count for name, count in partial["lanes"]["by_mnemonic"].items() if "v_add_f32" in name)
        self.assertEqual(adds, PARTIAL)
        for record in self.records.values():
            self.assertEqual(sum(record["lanes"]["by_mnemonic"].values()), record["lanes"]["active"])

    def test_requested_bytes(self):
        naive = self.records["gemm_naive"]["memory"]["global"]
        self.assertEqual(naive["read_bytes"], 2 * 4 * M * N * K)
        self.assertEqual(naive["written_bytes"], 4 * M * N)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
