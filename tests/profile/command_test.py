# SPDX-License-Identifier: MIT
"""`rochound profile` with a real program: command_test.py ROCHOUND GPU PROGRAM SCHEMAS."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROCHOUND, GPU, PROGRAM, SCHEMAS = sys.argv[1:5]
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None), "integer": int,
         "number": (int, float)}
ITEMS = 4096
M, N, K = 32, 48, 64


def problems(value, schema, where="$"):
    """What of the schema's words that ours use a value does not keep."""
    if "enum" in schema:
        return [] if value in schema["enum"] else [f"{where}: {value!r}"]
    types = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    if not any(isinstance(value, TYPES[name]) and (name == "boolean" or not isinstance(value, bool)) for name in types):
        return [f"{where}: {value!r} is no {types}"]
    found = []
    if "minimum" in schema and value < schema["minimum"]:
        found.append(f"{where}: {value}")
    if isinstance(value, dict):
        known = schema.get("properties", {})
        found += [f"{where}: no {name}" for name in schema.get("required", []) if name not in value]
        for name, part in value.items():
            other = schema.get("additionalProperties", True)
            if name in known:
                found += problems(part, known[name], f"{where}.{name}")
            elif other is False:
                found.append(f"{where}: {name} is not described")
            elif other is not True:
                found += problems(part, other, f"{where}.{name}")
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            found.append(f"{where}: {len(value)} items")
        for number, part in enumerate(value):
            found += problems(part, schema["items"], f"{where}[{number}]")
    return found


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.output = os.path.join(cls.folder.name, "out")
        cls.result = cls.run_command("--gpu", GPU, "--kernel", "^(axpy|gemm|transpose)", "-o", cls.output, "--", PROGRAM)
        assert cls.result.returncode == 0, cls.result.stdout + cls.result.stderr
        cls.profile, cls.roofline = (json.loads(pathlib.Path(cls.output, name).read_text(encoding="ascii"))
                                     for name in ("profile.json", "roofline.json"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def run_command(*arguments):
        return subprocess.run([ROCHOUND, "profile", *arguments], capture_output=True, text=True, timeout=300, check=False)

    def kernel(self, name):
        return next(kernel for kernel in self.roofline["kernels"] if kernel["kernel"] == name)

    def test_files_are_as_their_schemas_say(self):
        for file, name in ((self.profile, "profile"), (self.roofline, "roofline")):
            schema = json.loads(pathlib.Path(SCHEMAS, name + ".schema.json").read_text(encoding="ascii"))
            self.assertEqual(problems(file, schema), [])
            self.assertNotEqual(problems(dict(file, version=2, more=1), schema), [])

    def test_only_the_kernels_that_were_asked_for(self):
        names = {launch["kernel"] for launch in self.profile["launches"]}
        self.assertEqual(names, {"axpy_f64", "axpy_f32", "axpy_f16", "gemm_naive", "gemm_matrix", "transpose"})
        self.assertEqual(names, {kernel["kernel"] for kernel in self.roofline["kernels"]})

    def test_figures(self):
        axpy = self.kernel("axpy_f32")
        self.assertEqual(axpy["operations"], {"vector.f32": 2 * ITEMS})
        # x and y are read and y is written; the arguments come on top, within a few lines.
        self.assertGreater(axpy["bytes"]["compulsory"], 3 * 4 * ITEMS)
        self.assertLess(axpy["bytes"]["compulsory"], 3 * 4 * ITEMS + 512)
        self.assertEqual(axpy["verdict"], "memory")
        self.assertEqual(self.kernel("transpose")["operations"], {})
        gemm = self.kernel("gemm_naive")
        self.assertEqual(gemm["operations"], {"vector.f32": 2 * M * N * K})
        self.assertLess(gemm["bytes"]["compulsory"], gemm["bytes"]["requested"])
        # On both GPUs 27 kB take several times as long as 200,000 operations.
        self.assertEqual(gemm["verdict"], "memory")

    def test_the_files_agree(self):
        for kernel in self.roofline["kernels"]:
            launches = [launch for launch in self.profile["launches"] if launch["kernel"] == kernel["kernel"]]
            self.assertEqual(len(launches), kernel["launches"])
            for kind, count in kernel["operations"].items():
                self.assertEqual(sum(launch["exact"][f"operations.{kind}.arithmetic"] for launch in launches), count)
                seconds = kernel["compute_seconds_least"]
                self.assertAlmostEqual(seconds * self.roofline["peaks"]["operations"][kind]["per_second"], count, 3)
            self.assertAlmostEqual(kernel["memory_seconds_least"] * self.roofline["peaks"]["memory"]["bytes_per_second"],
                                   kernel["bytes"]["compulsory"], 3)

    def test_the_page_says_why(self):
        self.assertIn("axpy_f32", self.result.stdout)
        self.assertIn("operations of vector.f32 take at least", self.result.stdout)
        self.assertIn("not measured", self.result.stdout)

    def test_the_program_s_end_is_ours(self):
        result = self.run_command("-o", self.output + "2", "--", "sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertIn("No kernel was launched", result.stdout)

    def test_wrong_usage(self):
        for arguments in ([], ["--kernel", "(", "--", "true"], ["--gpu", "none", "--", "true"],
                          ["--target", "gfx942", "--", "true"], ["--read", "x", "--", "true"]):
            self.assertEqual(self.run_command(*arguments).returncode, 2, arguments)

    def test_reading(self):
        file = pathlib.Path(self.folder.name, "7_counter_collection.csv")
        file.write_text("Dispatch_Id,Grid_Size,Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value\n"
                        "1,64,f,64,TCC_HIT_sum,30\n1,64,f,64,TCC_MISS_sum,10\n", encoding="ascii")
        result = self.run_command("--read", str(file), "--target", "gfx942", "-o", self.output + "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"l2_hits +75 %")
        self.assertIn("missing: TCC_EA0_WRREQ_64B_sum", result.stdout)
        self.assertEqual(self.run_command("--read", str(file)).returncode, 2)
        self.assertEqual(self.run_command("--read", str(file), "--target", "gfx1").returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
