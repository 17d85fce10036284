# SPDX-License-Identifier: MIT
"""`rochound profile` with a real program: command_test.py ROCHOUND GPU PROGRAM SCHEMAS SOURCE."""

import collections
import contextlib
import itertools
import json
import math
import os
import pathlib
import sqlite3
import subprocess
import sys
import tempfile
import unittest
import xml.etree.ElementTree

from schema import problems, problems_of_file

ROCHOUND, GPU, PROGRAM, SCHEMAS, SOURCE = sys.argv[1:6]
ITEMS = 4096
M, N, K = 32, 48, 64


class CommandTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.output = os.path.join(cls.folder.name, "out")
        cls.result = cls.run_command("--gpu", GPU, "--kernel", "^(axpy|gemm_naive|gemm_matrix$|transpose)", "-o", cls.output,
                                     "--thread-trace", "--cache-model", "device", "--svg", os.path.join(cls.folder.name, "roofline.svg"), "--", PROGRAM)
        assert cls.result.returncode == 0, cls.result.stdout + cls.result.stderr
        cls.profile, cls.roofline, cls.dag, cls.analysis, cls.thread_trace = (
            json.loads(pathlib.Path(cls.output, name + ".json").read_text(encoding="ascii"))
            for name in ("profile", "roofline", "dag", "analysis", "thread_trace"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    @staticmethod
    def run_command(*arguments):
        return subprocess.run([ROCHOUND, "profile", *arguments], capture_output=True, text=True, timeout=300, check=False)

    def kernel(self, name):
        return next(kernel for kernel in self.roofline["kernels"] if kernel["kernel"] == name)

    def test_files_are_as_their_schemas_say(self):
        for file, name in ((self.profile, "profile"), (self.roofline, "roofline"), (self.dag, "dag"),
                           (self.analysis, "analysis"), (self.thread_trace, "thread_trace")):
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

    def test_modelled_caches_move_what_must_be_moved(self):
        # All of it fits: each line comes once, and goes once.
        for launch in self.profile["launches"]:
            modelled = {name: value for name, value in launch["modelled"].items() if name.startswith("caches.")}
            self.assertEqual(modelled["caches.memory.read_bytes"], 128 * launch["exact"]["footprint.all.lines_128.read"])
            self.assertEqual(modelled["caches.memory.written_bytes"] + modelled["caches.left_in_mall_bytes"],
                             32 * launch["exact"]["footprint.all.lines_32.written"])
            self.assertFalse(any(name.startswith("caches.") for name in launch["exact"]))
            # Loads ask L1 for what they ask for.
            asked = sum(launch["exact"][f"memory.{space}.lines_read"] for space in ("global", "scratch"))
            self.assertEqual(modelled["caches.l1.hits"] + modelled["caches.l1.misses"], asked)
        naive = next(one for one in self.profile["launches"] if one["kernel"] == "gemm_naive")["modelled"]
        self.assertGreater(naive["caches.l1.hits"], naive["caches.l1.misses"])
        kernel = self.kernel("gemm_naive")
        self.assertEqual(kernel["modelled_bytes"]["memory"], naive["caches.memory.read_bytes"] + naive["caches.left_in_mall_bytes"])
        self.assertGreater(kernel["modelled_bytes"]["to_l2"], kernel["modelled_bytes"]["memory"])
        self.assertIn("modelled caches:", self.result.stdout)

    def test_a_cache_that_is_too_small_moves_more(self):
        result = self.run_command("--gpu", GPU, "--kernel", "^gemm_naive$", "--cache-model", "l1=1024/128/4,l2=2048/128/4,mall=0", "-o", self.output + "6",
                                  "--", PROGRAM)
        self.assertEqual(result.returncode, 0, result.stderr)
        small = json.loads(pathlib.Path(self.output + "6", "profile.json").read_text(encoding="ascii"))["launches"][0]["modelled"]
        large = next(one for one in self.profile["launches"] if one["kernel"] == "gemm_naive")["modelled"]
        self.assertGreater(small["caches.memory.read_bytes"], 2 * large["caches.memory.read_bytes"])
        self.assertNotIn("caches.mall.hits", small)

    def rows(self, query):
        with contextlib.closing(sqlite3.connect(os.path.join(self.output, "profile.rpd"))) as trace:
            return list(trace.execute(query))

    def test_the_graph_is_the_trace(self):
        ops = {row[0]: row[1:] for row in self.rows('SELECT id, "end" - start, description, opType FROM op')}
        nodes = [node for node in self.dag["nodes"] if node["kind"] != "host"]
        self.assertEqual({node["op"] for node in nodes}, set(ops))
        self.assertEqual(len(nodes), len(ops))
        for node in nodes:
            length, name, kind = ops[node["op"]]
            self.assertEqual(node["end_ns"] - node["start_ns"], length)
            if kind == "KernelExecution":
                self.assertEqual((node["kind"], node["name"]), ("kernel", name))
        self.assertEqual(self.dag["nodes_left_out"], 0)
        self.assertEqual(max(node["end_ns"] for node in self.dag["nodes"]), self.dag["end_to_end_ns"])
        for kernel in self.dag["kernels"]:
            mine = [node for node in nodes if node["kind"] == "kernel" and node["name"] == kernel["name"]]
            launches = [launch for launch in self.profile["launches"] if launch["name"] == kernel["name"]]
            self.assertEqual(len(mine), len(launches))
            self.assertEqual(len(mine), kernel["launches"])
            self.assertEqual(sum(node["end_ns"] - node["start_ns"] for node in mine), kernel["total_ns"])
            self.assertEqual(min(node["slack_ns"] for node in mine), kernel["slack_ns"]["least"])
        names = {kernel["name"] for kernel in self.dag["kernels"]}
        self.assertEqual(names, {launch["name"] for launch in self.profile["launches"]})

    def end_with(self, name, share):
        """The graph once more, with nothing of ours: when all is over if this kernel takes a share of its time."""
        nodes = {node["id"]: node for node in self.dag["nodes"]}
        before = {}
        for edge in self.dag["edges"]:
            before.setdefault(edge["to"], []).append(edge["from"])
        moved = {}
        for node in sorted(nodes.values(), key=lambda one: (one["start_ns"], one["end_ns"], one["kind"] != "host", one["id"])):
            ends = [(min(nodes[one]["end_ns"], node["start_ns"]), moved[one]) for one in before.get(node["id"], [])]
            later = max(end + by for end, by in ends) - max(end for end, _ in ends) if ends else 0
            length = node["end_ns"] - node["start_ns"]
            faster = length - int(length * share) if node["kind"] == "kernel" and node["name"] == name else 0
            moved[node["id"]] = later - faster
        return max(nodes[one]["end_ns"] + by for one, by in moved.items())

    def test_what_if_by_another_simulation(self):
        whole = self.dag["end_to_end_ns"]
        for kernel in self.dag["kernels"]:
            few = kernel["launches"]  # halves are rounded
            self.assertAlmostEqual(whole - self.end_with(kernel["name"], 0.5), kernel["what_if"]["saved_ns"], delta=few)
            self.assertEqual(whole - self.end_with(kernel["name"], 0), kernel["overlap_potential_ns"])
            self.assertEqual(whole - kernel["what_if"]["saved_ns"], kernel["what_if"]["end_to_end_ns"])
            self.assertLessEqual(kernel["what_if"]["saved_ns"], kernel["path_ns"])
        saved = [kernel["what_if"]["saved_ns"] for kernel in self.dag["kernels"]]
        self.assertEqual(saved, sorted(saved, reverse=True))
        self.assertGreater(saved[0], 0)

    def test_the_critical_path_is_one(self):
        path = self.dag["critical_path"]["nodes"]
        binding = {edge["to"]: edge["from"] for edge in self.dag["edges"] if edge["binding"]}
        self.assertEqual([binding[node] for node in path[1:]], path[:-1])
        self.assertNotIn(path[0], binding)
        critical = {node["id"]: node for node in self.dag["nodes"] if node["critical"]}
        self.assertEqual(set(critical), set(path))
        self.assertEqual({node["slack_ns"] for node in critical.values()}, {0})
        self.assertEqual(sum(node["end_ns"] - node["start_ns"] for node in critical.values() if node["kind"] != "host"),
                         self.dag["critical_path"]["critical_path_ns"])

    def test_a_trace_gives_the_same_graph(self):
        result = self.run_command("--trace", os.path.join(self.output, "profile.rpd"), "-o", self.output + "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        again = json.loads(pathlib.Path(self.output + "4", "dag.json").read_text(encoding="ascii"))
        self.assertEqual(again["nodes"], self.dag["nodes"])
        self.assertGreater(len(again["kernels"]), len(self.dag["kernels"]), "--kernel was not given")
        self.assertEqual(self.run_command("--trace", "/nonexistent.rpd", "-o", self.output + "4").returncode, 1)

    def test_the_analysis_agrees_with_the_others(self):
        rooflines = {kernel["kernel"]: kernel for kernel in self.roofline["kernels"]}
        worths = {kernel["name"]: kernel for kernel in self.dag["kernels"]}
        self.assertEqual(set(rooflines), {kernel["kernel"] for kernel in self.analysis["kernels"]})
        for kernel in self.analysis["kernels"]:
            roofline, worth = rooflines[kernel["kernel"]], worths[kernel["name"]]
            self.assertEqual(kernel["roofline_position"], roofline["verdict"])
            self.assertEqual(kernel["operational_intensity"], roofline["operations_per_byte"]["most"])
            self.assertEqual(kernel["critical_path_score"], worth["critical_path_score"])
            self.assertAlmostEqual(kernel["time_ms"] * 1e6, worth["total_ns"], 0)
            # A few thousand items are nothing for a GPU.
            self.assertIn(kernel["bottleneck"]["primary"], ("launch-bound", "under-occupied"))

    def test_a_captured_launch(self):
        bundle = os.path.join(self.folder.name, "axpy.bundle")
        captured = subprocess.run([ROCHOUND, "capture", "--kernel", "^axpy_f32$", "--softgpu", GPU, "-o", bundle, "--", PROGRAM],
                                  capture_output=True, text=True, timeout=300, check=False)
        self.assertEqual(captured.returncode, 0, captured.stderr)
        output = self.output + "5"
        result = self.run_command("--replay", bundle, "--iterations", "4", "-o", output)
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertIn("equal: axpy_f32", result.stdout)
        self.assertIn("equal in every byte, from the captured input", result.stdout)
        self.assertNotIn("not do the same", result.stdout)
        replayed = json.loads(pathlib.Path(output, "profile.json").read_text(encoding="ascii"))["launches"]
        original = next(launch for launch in self.profile["launches"] if launch["kernel"] == "axpy_f32")
        self.assertEqual([launch["exact"] for launch in replayed], 4 * [original["exact"]])
        self.assertEqual([launch["gpu"] for launch in replayed], 4 * [GPU])
        analysis = json.loads(pathlib.Path(output, "analysis.json").read_text(encoding="ascii"))["kernels"]
        self.assertEqual([(one["kernel"], one["launches"], one["time_ms"]) for one in analysis], [("axpy_f32", 4, None)])
        self.assertFalse(pathlib.Path(output, "dag.json").exists())
        self.assertEqual(self.run_command("--replay", "/nonexistent", "-o", output).returncode, 125)

    def test_the_picture_shows_the_roofline(self):
        svg = xml.etree.ElementTree.parse(os.path.join(self.folder.name, "roofline.svg")).getroot()
        space = "{http://www.w3.org/2000/svg}"
        by_class = collections.defaultdict(list)
        for element in svg.iter():
            by_class[element.get("class")].append(element)
        peaks = self.roofline["peaks"]
        bandwidth = peaks["memory"]["bytes_per_second"]
        self.assertEqual([float(one.get("data-per-second")) for one in by_class["memory"]], [bandwidth])
        shown = {kernel["kernel"]: kernel for kernel in self.roofline["kernels"] if kernel["operations"]}
        self.assertEqual({one.get("data-kernel") for one in by_class["kernel"]}, set(shown))
        self.assertEqual({one.get("data-type") for one in by_class["roof"]}, {kind for one in shown.values() for kind in one["operations"]})
        # A decade is as wide everywhere, so each point lies on the line through two others.
        points = []
        for one in by_class["kernel"]:
            kernel = shown[one.get("data-kernel")]
            intensity = float(one.get("data-most"))
            self.assertAlmostEqual(intensity, kernel["operations_per_byte"]["most"])
            best = min([intensity * bandwidth] + [peaks["operations"][kind]["per_second"] for kind in kernel["operations"]])
            self.assertAlmostEqual(float(one.get("data-rate")) / best, 1)
            circle = one.find(space + "circle")
            points.append((math.log10(intensity), math.log10(best), float(circle.get("cx")), float(circle.get("cy"))))
        points.sort()
        (x1, y1, cx1, cy1), (x2, y2, cx2, cy2) = points[0], points[-1]
        for x, y, cx, cy in points:
            self.assertAlmostEqual(cx, cx1 + (x - x1) * (cx2 - cx1) / (x2 - x1), delta=0.2)
            self.assertAlmostEqual(cy, cy1 + (y - y1) * (cy2 - cy1) / (y2 - y1), delta=0.2)
        self.assertLess(cy2, cy1)
        # Names can be read: none covers another, and types with the same peak share one.
        boxes = []
        for text in svg.iter(space + "text"):
            width = 6 * len(text.text)
            left = float(text.get("x")) - {"start": 0, "middle": width / 2, "end": width}[text.get("text-anchor")]
            boxes.append((left, left + width, float(text.get("y")) - 10, float(text.get("y")), text.text))
        for one, other in itertools.combinations(boxes, 2):
            self.assertFalse(one[0] < other[1] and other[0] < one[1] and one[2] < other[3] and other[2] < one[3], (one, other))
        names = [text.text for text in svg.iter(space + "text")]
        for kind in {one.get("data-type") for one in by_class["roof"]}:
            self.assertEqual(sum(kind + "," in name or kind + " " in name for name in names), 1, kind)
        self.assertGreater(len(set(names) & set(shown)), len(shown) / 2)

    def test_instructions_add_up_to_the_counts(self):
        traces = self.thread_trace["traces"]
        self.assertEqual({trace["kernel"] for trace in traces}, {launch["kernel"] for launch in self.profile["launches"]})
        for trace in traces:
            launch = next(one for one in self.profile["launches"] if one["order"] == trace["dispatch"])
            rows = [dict(zip(trace["columns"], row)) for row in trace["instructions"]]
            self.assertEqual(sum(row["hits"] for row in rows), launch["exact"]["instructions.total"])
            self.assertEqual(sum(row["latency"] + row["idle"] for row in rows), launch["modelled"]["wave_cycles"])
            self.assertEqual((trace["waves"], trace["cycles"]), (launch["exact"]["waves"], launch["modelled"]["cycles"]))
            self.assertTrue(trace["modelled"])
            # Waves over time: their cycles are those of all waves, and all of a small launch fit at once.
            occupancy = trace["occupancy"]
            step = occupancy[1][0] - occupancy[0][0]
            self.assertEqual(occupancy[0], [0, trace["waves"]])
            self.assertGreaterEqual(sum(waves for _, waves in occupancy) * step + 0.01, launch["modelled"]["wave_cycles"])
            self.assertAlmostEqual(sum(waves for _, waves in occupancy[:-1]) * step, launch["modelled"]["wave_cycles"], delta=trace["waves"] * step)
            for name, unit in trace["units"].items():
                self.assertEqual(unit["instructions"], sum(row["hits"] for row in rows if row["unit"] == name))
                self.assertAlmostEqual(unit["utilisation"], unit["issue_cycles"] / trace["cycles"] / trace["simds"])
            # Nothing stalls here but what waits.
            self.assertEqual({row["unit"] for row in rows if row["stall"]}, {"wait"})
            if trace["kernel"] == "gemm_matrix" and "mi300x" in GPU:
                self.assertEqual(trace["units"]["MFMA"]["instructions"], launch["exact"]["instructions.by_class.matrix"])

    def test_instructions_have_their_lines(self):
        lines = pathlib.Path(SOURCE).read_text(encoding="utf8").splitlines()
        inlined = lines.index("  y[i] = a * x[i] + y[i];") + 1
        kernel = next(number for number, line in enumerate(lines, 1) if "void axpy_f32(" in line)
        trace = next(one for one in self.thread_trace["traces"] if one["kernel"] == "axpy_f32")
        where = {(self.thread_trace["files"][one["file"]], one["line"]): one for one in trace["lines"]}
        texts = {(self.thread_trace["files"][file], line): text for file, line, text in self.thread_trace["texts"]}
        self.assertEqual(texts[SOURCE, inlined], lines[inlined - 1])
        # Waves load twice and store once from one line, which was inlined into the other.
        rows = [dict(zip(trace["columns"], row)) for row in trace["instructions"]]
        memory = [row for row in rows if row["unit"] == "VMEM"]
        self.assertEqual(len(memory), 3)
        place = self.thread_trace["files"].index(SOURCE)
        self.assertEqual([row["source"] for row in memory], [[[place, inlined], [place, kernel]]] * 3)
        self.assertEqual({row["hits"] for row in memory}, {trace["waves"]})
        self.assertGreaterEqual(where[SOURCE, kernel]["latency"], where[SOURCE, inlined]["latency"])
        self.assertIn(f"exact.hip:{inlined}  y[i] = a * x[i] + y[i];", self.result.stdout)

    def test_the_folder_of_a_thread_trace_is_read_like_rocprofv3_s(self):
        result = self.run_command("--att", os.path.join(self.output, "thread_trace"), "-o", self.output + "4")
        self.assertEqual(result.returncode, 0, result.stderr)
        again = json.loads(pathlib.Path(self.output + "4", "thread_trace.json").read_text(encoding="ascii"))
        self.assertEqual(again, self.thread_trace)
        folder = next(pathlib.Path(self.output, "thread_trace").rglob("code.json"))
        code = json.loads(folder.read_text(encoding="utf8"))
        self.assertEqual(code["header"], "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle")
        self.assertEqual([row[2] for row in code["code"]], list(range(len(code["code"]))))

    def test_code_without_lines_is_told(self):
        result = self.run_command("--gpu", GPU, "--kernel", "^transpose$", "--thread-trace", "-o", self.output + "5", "--",
                                  "sh", "-c", PROGRAM + " transpose")
        self.assertIn("1 of 1 traced launches have no source lines, such as transpose", result.stdout)
        self.assertIn("s_endpgm", pathlib.Path(self.output + "5", "thread_trace.json").read_text(encoding="ascii"))
        result = self.run_command("--gpu", GPU, "--kernel", "^transpose$", "--thread-trace", "--code", PROGRAM, "-o", self.output + "5", "--",
                                  "sh", "-c", PROGRAM + " transpose")
        self.assertIn("exact.hip:", result.stdout)

    def test_the_page_says_why(self):
        self.assertIn("launch-bound (confidence 80%)", self.result.stdout)
        self.assertIn("would change it: more work in a launch", self.result.stdout)
        self.assertIn("axpy_f32", self.result.stdout)
        self.assertIn("operations of vector.f32 take at least", self.result.stdout)
        self.assertIn("not measured", self.result.stdout)

    def test_the_program_s_end_is_ours(self):
        result = self.run_command("-o", self.output + "2", "--", "sh", "-c", "exit 7")
        self.assertEqual(result.returncode, 7)
        self.assertIn("No kernel was launched", result.stdout)

    def test_wrong_usage(self):
        for arguments in ([], ["--kernel", "(", "--", "true"], ["--gpu", "none", "--", "true"],
                          ["--target", "gfx942", "--", "true"], ["--read", "x", "--", "true"],
                          ["--trace", "x", "--", "true"], ["--trace", "x", "--read", "y"],
                          ["--replay", "x", "--", "true"], ["--replay", "x", "--kernel", "y"], ["--iterations", "2", "--", "true"],
                          ["--trace", "x", "--svg", "y"], ["--att", "x", "--", "true"], ["--trace", "x", "--peaks", "y"], ["--att", "x", "--peaks", "y"],
                          ["--measure-peaks", "--", "true"], ["--measure-peaks", "--read", "x"], ["--measure-peaks", "--gpu", "mi300x"],
                          ["--code", "x", "--", "true"], ["--thread-trace", "--read", "x"], ["--thread-trace", "--code", "none", "--", "true"],
                          ["--cache-model", "device", "--read", "x"]):
            self.assertEqual(self.run_command(*arguments).returncode, 2, arguments)

    def test_rocprofv3_is_run_once_for_each_pass(self):
        """With a stand-in for it, which writes what it was asked for in the shape of rocprofv3's csv."""
        for generation in ("6.3", "6.2"):
            with self.subTest(generation):
                self.check_rocprofv3(generation)

    def check_rocprofv3(self, generation):
        tools = pathlib.Path(self.folder.name, "tools" + generation)
        tools.mkdir()
        tool = tools / "rocprofv3"
        tool.write_text(r"""#!/usr/bin/env python3
import pathlib, subprocess, sys
arguments = sys.argv[1:]
old = OLD
if arguments == ["--help"]:
    print("usage: rocprofv3 [-i INPUT | --input INPUT]" + ("" if old else " [--pmc [PMC ...]] [--kernel-include-regex REGULAR_EXPRESSION]"))
    sys.exit(0)
end = arguments.index("--")
folder = pathlib.Path(arguments[arguments.index("-d") + 1])
if old:  # it knows no other options, and calls the folder of a pass otherwise
    assert set(name for name in arguments[:end] if name.startswith("-")) == {"-i", "-d", "--output-format"}, arguments
    first, *pmc = pathlib.Path(arguments[arguments.index("-i") + 1]).read_text().split()
    assert first == "pmc:", first
    folder = folder / "pmc_1"
    folder.mkdir()
else:
    pmc = arguments[arguments.index("--pmc") + 1:arguments.index("--output-format")]
    assert arguments[arguments.index("--kernel-include-regex") + 1] == "^f$"
assert len([name for name in pmc if name.startswith("SQ_")]) <= 8 and len([name for name in pmc if name.startswith("TCC_")]) <= 4, pmc
(folder / "host").mkdir()
head = "Dispatch_Id,Grid_Size,Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
value = {"TCC_EA0_RDREQ_sum": 60000000, "TCC_EA0_WRREQ_sum": 0, "TCC_EA0_WRREQ_64B_sum": 0, "TCC_BUBBLE_sum": 0, "TCC_EA0_RDREQ_32B_sum": 0}
(folder / "host" / "7_counter_collection.csv").write_text(
    head + "".join(f"1,1048576,f,64,{name},{value.get(name, 1000)},1000000,2000000\n" for name in pmc))
sys.exit(subprocess.run(arguments[end + 1:]).returncode)
""".replace("OLD", str(generation == "6.2")), encoding="ascii")
        tool.chmod(0o755)
        environment = dict(os.environ, PATH=f"{tools}:{os.environ['PATH']}")

        def run(*arguments, **more):
            return subprocess.run([ROCHOUND, "profile", "--rocprofv3", *arguments], capture_output=True, text=True, timeout=300, check=False, **more)

        output = self.output + "7" + generation
        result = run("--target", "gfx942", "--kernel", "^f$", "-o", output, "--", "echo", "ran", env=environment)
        self.assertEqual(result.returncode, 0, result.stderr)
        passes = len(list(pathlib.Path(output, "rocprofv3").glob("pass_*")))
        self.assertGreater(passes, 2)
        self.assertEqual(result.stdout.count("ran\n"), passes)
        self.assertIn(f"rocprofv3, {passes} passes: 1 launches", result.stdout)
        self.assertNotIn("missing", result.stdout)
        analysis = json.loads(pathlib.Path(output, "analysis.json").read_text(encoding="ascii"))
        self.assertEqual(analysis["kernels"][0]["bottleneck"]["primary"], "memory bandwidth")
        # 60 million reads of 64 bytes; 1000 of each other counter, three types of four vector instructions and six of matrices.
        self.assertEqual(problems_of_file(output, SCHEMAS, "roofline"), [])
        roofline = json.loads(pathlib.Path(output, "roofline.json").read_text(encoding="ascii"))["kernels"][0]
        self.assertEqual(roofline["measured"]["memory_bytes"], 64 * 60000000)
        self.assertEqual(sum(roofline["operations"].values()), 3 * 64 * 5000 + 6 * 512 * 1000)
        self.assertEqual(roofline["verdict"], "memory")
        # What is there already is not mixed with a new run; a program that fails ends it.
        self.assertEqual(run("--target", "gfx942", "--kernel", "^f$", "-o", output, "--", "true", env=environment).returncode, 125)
        self.assertEqual(run("--target", "gfx942", "--kernel", "^f$", "-o", output + "b", "--", "sh", "-c", "exit 9", env=environment).returncode, 9)
        absent = run("--target", "gfx942", "-o", output + "c", "--", "true", env=dict(os.environ, ROCM_PATH="/nowhere"))
        self.assertEqual(absent.returncode, 125)
        self.assertIn("rocprofv3 is neither on the PATH", absent.stderr)
        self.assertEqual(run("--", "true", env=environment).returncode, 2)

    def write_counters(self, folder, passes, nanoseconds):
        """In the shape of rocprofv3's csv: a folder for each pass, a row for each counter of the launch."""
        for number, counters in enumerate(passes, 1):
            path = pathlib.Path(folder, f"pass_{number}", "host", "7_counter_collection.csv")
            path.parent.mkdir(parents=True)
            path.write_text(
                '"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size",'
                '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp","End_Timestamp"\n' +
                "".join(f'1,1,"Agent 4",1,7,7,1048576,9,"gemm(float*)",256,0,0,8,4,32,"{name}",{value:f},1000,{1000 + nanoseconds}\n'
                        for name, value in counters.items()), encoding="ascii")

    def test_operations_where_a_gpu_has_no_counters_of_them(self):
        """RDNA: the instructions of a thread trace times the launched waves are what the software GPU has counted."""
        if GPU != "rx6800xt":
            return  # the others count operations
        file = pathlib.Path(self.folder.name, "rdna", "7_counter_collection.csv")
        file.parent.mkdir()
        counters = ("GL2C_EA_RDREQ_32B_sum", "GL2C_EA_RDREQ_64B_sum", "GL2C_EA_RDREQ_96B_sum", "GL2C_EA_RDREQ_128B_sum", "GL2C_EA_WRREQ_64B_sum",
                    "GL2C_MC_WRREQ_sum")
        rows = [f'{number},{number},"Agent 4",1,7,7,{math.prod(kernel["grid"])},9,"{kernel["kernel"]}",{math.prod(kernel["workgroup"])},0,0,8,4,32,"{name}",1000,'
                f"{number}000,{number}500" for number, kernel in enumerate(self.roofline["kernels"], 1) for name in counters]
        file.write_text('"Correlation_Id","Dispatch_Id","Agent_Id","Queue_Id","Process_Id","Thread_Id","Grid_Size","Kernel_Id","Kernel_Name","Workgroup_Size",'
                        '"LDS_Block_Size","Scratch_Size","VGPR_Count","Accum_VGPR_Count","SGPR_Count","Counter_Name","Counter_Value","Start_Timestamp",'
                        '"End_Timestamp"\n' + "\n".join(rows) + "\n", encoding="ascii")
        output = self.output + "-rdna"

        def kernels(*more):
            result = self.run_command("--read", str(file.parent), "--target", "gfx1030", "-o", output, *more)
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual(problems_of_file(output, SCHEMAS, "roofline"), [])
            return {kernel["kernel"]: kernel for kernel in json.loads(pathlib.Path(output, "roofline.json").read_text(encoding="ascii"))["kernels"]}
        for kernel in kernels().values():
            self.assertEqual((kernel["verdict"], kernel["operations"]), ("unknown", {}), kernel["kernel"])
        found = kernels("--att", os.path.join(self.output, "thread_trace"))
        self.assertEqual(set(found), {kernel["kernel"] for kernel in self.roofline["kernels"]})
        for name, kernel in found.items():
            self.assertEqual(kernel["operations"], self.kernel(name)["operations"], name)
            self.assertNotEqual(kernel["verdict"], "unknown", name)
            self.assertIn("operations are no counts: the instructions of", " ".join(kernel["reasons"]))

    def test_the_roofline_of_counters(self):
        # By construction: 2 * 64 * 10e6 operations of vector.f32 and 512 * 100e6 of matrix.f16 take 8 us and 39 us on an MI300X,
        # (128 * 1e5 + 64 * 4e5 + 32 * 1e5) bytes that are read and 64 * 2e5 that are written take 10 us, of 100 us that it took.
        vector = {f"SQ_INSTS_VALU_{kind}_{size}": 0 for kind in ("ADD", "MUL", "TRANS", "FMA") for size in ("F64", "F32", "F16")}
        vector["SQ_INSTS_VALU_FMA_F32"] = 10_000_000
        matrix = {f"SQ_INSTS_VALU_MFMA_MOPS_{kind}": 0 for kind in ("F64", "F32", "F16", "BF16", "F8", "I8")}
        matrix["SQ_INSTS_VALU_MFMA_MOPS_F16"] = 100_000_000
        memory = {"TCC_EA0_RDREQ_sum": 600_000, "TCC_BUBBLE_sum": 100_000, "TCC_EA0_RDREQ_32B_sum": 100_000, "TCC_EA0_WRREQ_sum": 200_000,
                  "TCC_EA0_WRREQ_64B_sum": 200_000, "TCC_REQ_sum": 3_000_000}
        folder = os.path.join(self.folder.name, "counters")
        self.write_counters(folder, [vector, matrix, memory], 100_000)
        output = self.output + "8"
        picture = os.path.join(self.folder.name, "measured.svg")
        result = self.run_command("--read", folder, "--target", "gfx942", "-o", output, "--svg", picture)
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(problems_of_file(output, SCHEMAS, "roofline"), [])
        roofline = json.loads(pathlib.Path(output, "roofline.json").read_text(encoding="ascii"))
        kernel = roofline["kernels"][0]
        self.assertEqual(kernel["operations"], {"vector.f32": 1.28e9, "matrix.f16": 5.12e10})
        moved = 128 * 1e5 + 64 * 4e5 + 32 * 1e5 + 64 * 2e5
        self.assertEqual(kernel["measured"]["memory_bytes"], moved)
        self.assertEqual(kernel["measured"]["l2_bytes"], 128 * 3e6)
        self.assertAlmostEqual(kernel["measured"]["seconds"], 1e-4)
        self.assertAlmostEqual(kernel["compute_seconds_least"], 1.28e9 / 163.4e12 + 5.12e10 / 1307.4e12, delta=1e-8)
        self.assertAlmostEqual(kernel["memory_seconds_least"], moved / 5.3248e12, delta=1e-9)
        self.assertAlmostEqual(kernel["measured"]["of_memory_peak"], moved / 5.3248e12 / 1e-4, delta=1e-4)
        self.assertAlmostEqual(kernel["operations_per_byte"]["most"], (1.28e9 + 5.12e10) / moved)
        self.assertEqual(kernel["verdict"], "compute")
        self.assertIn("% of the peak of memory", result.stdout)
        analysis = json.loads(pathlib.Path(output, "analysis.json").read_text(encoding="ascii"))["kernels"][0]
        self.assertEqual(analysis["roofline_position"], "compute")
        self.assertAlmostEqual(analysis["operational_intensity"], kernel["operations_per_byte"]["most"])
        drawn = [one for one in xml.etree.ElementTree.parse(picture).iter() if one.get("class") == "kernel"]
        self.assertEqual(len(drawn), 1)
        self.assertAlmostEqual(float(drawn[0].get("data-rate")) * 1e-4 / (1.28e9 + 5.12e10), 1)
        # With another card of the target, and with a pass less.
        result = self.run_command("--read", folder, "--target", "gfx942", "--gpu", "mi325x", "-o", output)
        larger = json.loads(pathlib.Path(output, "roofline.json").read_text(encoding="ascii"))["kernels"][0]
        self.assertAlmostEqual(larger["memory_seconds_least"], moved / 6.0e12, delta=1e-8)
        result = self.run_command("--read", os.path.join(folder, "pass_1"), os.path.join(folder, "pass_3"), "--target", "gfx942", "-o", output)
        self.assertEqual(result.returncode, 0, result.stderr)
        less = json.loads(pathlib.Path(output, "roofline.json").read_text(encoding="ascii"))["kernels"][0]
        self.assertEqual((less["verdict"], less["operations_per_byte"]), ("unknown", None))
        self.assertIn("missing: SQ_INSTS_VALU_MFMA_MOPS_BF16", result.stdout)

    def test_measured_peaks_take_the_place_of_the_table_s(self):
        target = self.roofline["device"]["target"]
        peaks = {"format": "rochound peaks", "version": 1, "device": "made up", "target": target, "warnings": [],
                 "compute_units": int(self.roofline["device"]["compute_units"]), "software_gpu": False,
                 "measurements": [{"name": "memory", "kind": "bytes", "count": 1e9, "seconds": 1, "per_second": 1e9},
                                  {"name": "vector.f32", "kind": "operations", "count": 4e9, "seconds": 2, "per_second": 2e9}]}
        schema = json.loads(pathlib.Path(SCHEMAS, "peaks.schema.json").read_text(encoding="ascii"))
        self.assertEqual(problems(peaks, schema), [])
        file = pathlib.Path(self.folder.name, "peaks.json")

        def run(**changes):
            file.write_text(json.dumps(dict(peaks, **changes)), encoding="ascii")
            result = self.run_command("--gpu", GPU, "--kernel", "^axpy_f32$", "--peaks", str(file), "-o", self.output + "9", "--", PROGRAM)
            if result.returncode != 0:
                return result, None
            self.assertEqual(problems_of_file(self.output + "9", SCHEMAS, "roofline"), [])
            return result, json.loads(pathlib.Path(self.output + "9", "roofline.json").read_text(encoding="ascii"))

        result, slow = run()
        self.assertEqual(result.returncode, 0, result.stderr)
        before = self.kernel("axpy_f32")
        kernel = slow["kernels"][0]
        self.assertEqual(kernel["bytes"], before["bytes"])
        self.assertAlmostEqual(kernel["memory_seconds_least"], kernel["bytes"]["compulsory"] / 1e9)
        self.assertAlmostEqual(kernel["compute_seconds_least"], 2 * ITEMS / 2e9)
        table = self.roofline["peaks"]
        self.assertEqual(slow["peaks"]["memory"]["from_table"], table["memory"]["bytes_per_second"])
        self.assertTrue(slow["peaks"]["memory"]["measured"])
        self.assertEqual(slow["peaks"]["operations"]["vector.f64"], table["operations"]["vector.f64"], "it was not measured")
        self.assertIn("measured (", result.stdout)
        # Those of a software GPU are not used; those of another target are an error.
        result, same = run(software_gpu=True)
        self.assertEqual(same["peaks"], table)
        self.assertIn("speed of its host", result.stdout)
        result, _ = run(target="gfx803")
        self.assertEqual(result.returncode, 125)
        self.assertIn("measured on made up (gfx803)", result.stderr)

    def test_reading(self):
        file = pathlib.Path(self.folder.name, "7_counter_collection.csv")
        file.write_text("Dispatch_Id,Grid_Size,Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value\n"
                        "1,64,f,64,TCC_HIT_sum,30\n1,64,f,64,TCC_MISS_sum,10\n", encoding="ascii")
        result = self.run_command("--read", str(file), "--target", "gfx942", "-o", self.output + "3")
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertRegex(result.stdout, r"l2_hits +75 %")
        self.assertIn("missing: TCC_EA0_WRREQ_64B_sum", result.stdout)
        self.assertIn("missing: SQ_BUSY_CU_CYCLES", result.stdout)
        self.assertEqual(self.run_command("--read", str(file)).returncode, 2)
        # 5.3 GB in a millisecond are all that an MI300X can move, and half of what ten of them could.
        head = "Dispatch_Id,Grid_Size,Kernel_Name,Workgroup_Size,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
        rows = {"TCC_BUBBLE_sum": 0, "TCC_EA0_RDREQ_32B_sum": 0, "TCC_EA0_RDREQ_sum": 4e7, "TCC_EA0_WRREQ_sum": 4e7, "TCC_EA0_WRREQ_64B_sum": 4e7}
        for end, limit in ((2_000_000, "memory bandwidth"), (21_000_000, "unknown")):
            file.write_text(head + "".join(f"1,1048576,f,64,{name},{value:.0f},1000000,{end}\n" for name, value in rows.items()), encoding="ascii")
            result = self.run_command("--read", str(file), "--target", "gfx942", "-o", self.output + "3")
            self.assertIn("with the peaks of mi300x", result.stdout)
            analysis = json.loads(pathlib.Path(self.output + "3", "analysis.json").read_text(encoding="ascii"))
            schema = json.loads(pathlib.Path(SCHEMAS, "analysis.schema.json").read_text(encoding="ascii"))
            self.assertEqual(problems(analysis, schema), [])
            self.assertEqual([one["bottleneck"]["primary"] for one in analysis["kernels"]], [limit])
            self.assertEqual(analysis["kernels"][0]["time_ms"], (end - 1_000_000) / 1e6)
        self.assertEqual(self.run_command("--read", str(file), "--target", "gfx942", "--gpu", "none").returncode, 2)
        self.assertEqual(self.run_command("--read", str(file), "--target", "gfx1").returncode, 1)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
