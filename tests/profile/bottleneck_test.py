# SPDX-License-Identifier: MIT
"""What limits kernels that were made to be limited by it: bottleneck_test.py ROCHOUND GPU PROGRAM."""

import collections
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

ROCHOUND, GPU, PROGRAM = sys.argv[1:4]
# By the start of a kernel's name: the class, and what its evidence has to name, any of these.
CLASSES = {
    "bandwidth": ("memory bandwidth", {"traffic_seconds", "lines_seconds"}),
    "latency": ("memory latency", {"loads_per_wave"}),
    "lds": ("LDS", {"lds.cycles"}),
    "compute": ("compute throughput", {"compute_seconds"}),
    "occupied": ("under-occupied", {"workgroups", "lanes.active", "model.waves_per_simd"}),
    "divergence": ("divergence", {"exec_splits"}),
    "launch": ("launch-bound", {"launch_seconds"}),
    "tail": ("tail", {"longest_wave_seconds", "workgroups"}),
}


def analyse(size):
    with tempfile.TemporaryDirectory() as folder:
        result = subprocess.run([ROCHOUND, "profile", "--gpu", GPU, "--kernel", f"^({'|'.join(CLASSES)})_", "-o", folder, "--",
                                 PROGRAM, size], capture_output=True, text=True, timeout=600, check=False)
        assert result.returncode == 0, result.stdout + result.stderr
        return json.loads(pathlib.Path(folder, "analysis.json").read_text(encoding="ascii"))["kernels"]


class BottleneckTest(unittest.TestCase):
    def check(self, size):
        wrong = []
        counts = collections.Counter()
        for kernel in analyse(size):
            wanted, evidence = CLASSES[kernel["kernel"].split("_")[0]]
            verdict = kernel["bottleneck"]
            counts[wanted] += 1
            if verdict["primary"] != wanted:
                wrong.append(f"{kernel['kernel']}: {verdict['primary']}, not {wanted}: {verdict['reasoning']}"
                             f" {[(one['name'], one['value']) for one in verdict['evidence']]}")
            elif not evidence & {one["name"] for one in verdict["evidence"]}:
                wrong.append(f"{kernel['kernel']}: no evidence of {evidence}")
            elif not 0.5 <= verdict["confidence"] <= 1 or len(verdict["would_change"]) != 2:
                wrong.append(f"{kernel['kernel']}: {verdict['confidence']} {verdict['would_change']}")
        self.assertEqual(wrong, [], "\n" + "\n".join(wrong))
        self.assertEqual(counts, {name: 4 for name, _ in CLASSES.values()})

    def test_each_kernel_is_limited_by_what_it_was_made_for(self):
        self.check("full")

    def test_none_flips_when_its_size_is_halved(self):
        self.check("half")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
