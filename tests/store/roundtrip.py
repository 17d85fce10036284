# SPDX-License-Identifier: MIT
"""rochound convert: other tools' traces come in as they should, and viewers' formats are what viewers read.

Inputs are made by inputs.py; everything that comes out is looked at with other programs than rochound: sqlite3, json,
csv, and the decoder of pftrace.py.

  roundtrip.py --rochound PATH [unittest arguments]
"""

import argparse
import contextlib
import csv
import gzip
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

import inputs
import pftrace

ROCHOUND = None
VIEWS = ["api", "op", "busy", "top", "kernel", "copy", "copyop", "stackframe", "napi", "nop"]

API = ["Domain", "Function", "Process_Id", "Thread_Id", "Correlation_Id", "Start_Timestamp", "End_Timestamp"]
FLAT_TABLES = {  # as rocprofv3 has them
    "kernel_trace": ["Kind", "Agent_Id", "Queue_Id", "Stream_Id", "Thread_Id", "Dispatch_Id", "Kernel_Id", "Kernel_Name",
                     "Correlation_Id", "Start_Timestamp", "End_Timestamp", "LDS_Block_Size", "Scratch_Size", "VGPR_Count",
                     "Accum_VGPR_Count", "SGPR_Count", "Workgroup_Size_X", "Workgroup_Size_Y", "Workgroup_Size_Z",
                     "Grid_Size_X", "Grid_Size_Y", "Grid_Size_Z"],
    "memory_copy_trace": ["Kind", "Direction", "Stream_Id", "Source_Agent_Id", "Destination_Agent_Id", "Correlation_Id",
                          "Start_Timestamp", "End_Timestamp"],
    "hip_api_trace": API,
    "hsa_api_trace": API,
    "marker_api_trace": API,
    "memory_allocation_trace": ["Kind", "Operation", "Agent_Id", "Allocation_Size", "Address", "Correlation_Id",
                                "Start_Timestamp", "End_Timestamp"],
}


class Case(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory(prefix="rochound-roundtrip-")
        self.addCleanup(self.folder.cleanup)
        self.path = pathlib.Path(self.folder.name)

    def rochound(self, *arguments, code=0):
        done = subprocess.run([ROCHOUND, *map(str, arguments)], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True, timeout=120)
        self.assertEqual(done.returncode, code, f"{arguments}: {done.stderr}{done.stdout}")
        return done.stderr if code else done.stdout

    def convert(self, *sources, to="out.rpd", options=()):
        self.rochound("convert", *sources, "-o", self.path / to, *options)
        return self.path / to

    def rows(self, rpd, sql):
        with contextlib.closing(sqlite3.connect(f"file:{rpd}?mode=ro", uri=True)) as db:
            return db.execute(sql).fetchall()

    @contextlib.contextmanager
    def changing(self, name):
        with contextlib.closing(sqlite3.connect(self.path / name)) as db:
            yield db
            db.commit()

    def lost(self, rpd):
        return self.rows(rpd, "SELECT what, count FROM rochound_lost ORDER BY what")


class Readers(Case):
    def test_rpd_2(self):
        inputs.rpd_v2(self.path / "in.rpd")
        out = self.convert(self.path / "in.rpd")
        self.assertEqual(self.rows(out, "SELECT * FROM api"), [
            (1, 50, 51, 1000, 1100, "hip", "copy", "hipMemcpy", "dst=0x10 | size=0x40"),
            (2, 50, 51, 1200, 1250, "hip", "launch", "hipLaunchKernel", ""),
            (3, 50, 51, 1300, 1350, "hip", "launch", "hipLaunchKernel", ""),
            (1 << 31, 50, 51, 900, 1400, "roctx", "", "UserMarker", "step 1"),
            ((1 << 31) + 1, 50, 52, 1500, 1600, "rochound", "overhead", "OpTable::writeRows", "count=3")])
        self.assertEqual(self.rows(out, "SELECT * FROM op"), [
            (1, 0, 0, 0, 1010, 1090, "", "CopyHostToDevice"), (2, 0, 1, 0, 1300, 1400, "scale(float*)", "KernelExecution"),
            (3, 0, 1, 0, 1410, 1500, "scale(float*)", "KernelExecution")])
        self.assertEqual(self.rows(out, "SELECT * FROM kernel"), [
            (2, 0, 1, 0, 1300, 1400, 100, "0x0", 64, 2, 1, 32, 1, 1, 128, 16, "scale(float*)"),
            (3, 0, 1, 0, 1410, 1500, 90, "0x7", 128, 1, 1, 64, 1, 1, 0, 0, "scale(float*)")])
        self.assertEqual(self.rows(out, "SELECT * FROM copyop"), [
            (1, 0, 0, 0, 1010, 1090, 80, "0x0", 64, 0, 0, 1, "0x10", "0x20", 0, -1, 0, 0, "hipMemcpy")])
        self.assertEqual(self.rows(out, "SELECT op_id, api_id, submit, timed FROM rochound_dispatch"),
                         [(2, 2, 1250, 1), (3, 3, 1350, 1)])
        self.assertEqual(self.rows(out, "SELECT op_id, api_id, size, submit FROM rochound_copy"), [(1, 1, 64, 1010)])
        self.assertEqual(self.rows(out, "SELECT * FROM rocpd_monitor"), [(1, "gpu", 2, "sclk", 1000, 1500, "1500")])
        self.assertEqual(self.rows(out, "SELECT session, pid, calls, dispatches, copies FROM rochound_process"),
                         [(0, 50, 5, 2, 1)])
        self.assertEqual(self.rows(out, "SELECT value FROM rocpd_metadata WHERE tag = 'schema_version'"), [("3",)])
        self.assertEqual(self.rows(out, "SELECT node, pid FROM napi LIMIT 1"), [(0, 50)])
        self.assertEqual(self.lost(out), [])

    def test_rpd_2_ranges_by_other_names(self):
        """A program may give its ranges names of its own where calls have theirs."""
        inputs.rpd_v2(self.path / "in.rpd")
        with self.changing("in.rpd") as db:
            db.executescript("INSERT INTO rocpd_string VALUES (9001, 'run_to_completion'), (9002, 'batch 7'), (9003, '');"
                             "INSERT INTO rocpd_api VALUES (4, 50, 51, 800, 2000, 9001, 9003), (5, 50, 51, 810, 820, 9001, 9002)")
        out = self.convert(self.path / "in.rpd")
        self.assertEqual(self.rows(out, "SELECT domain, apiName, args FROM api WHERE args LIKE 'run%' ORDER BY start"),
                         [("roctx", "UserMarker", "run_to_completion"), ("roctx", "UserMarker", "run_to_completion batch 7")])

    def test_kineto_numbers_gpus_as_hip_does(self):
        """Nodes of the driver, CPUs first; what Python did without a process; compute units."""
        kernel = {"ph": "X", "cat": "kernel", "name": "k", "ts": 10, "dur": 5}
        events = [{"ph": "X", "cat": "python_function", "name": "f", "pid": 0, "tid": 0, "ts": 1, "dur": 2},
                  {"ph": "X", "cat": "cuda_runtime", "name": "hipGraphLaunch", "pid": 77, "tid": 77, "ts": 8, "dur": 4,
                   "args": {"correlation": 1}},
                  {**kernel, "pid": 3, "tid": 0, "args": {"device": 3, "stream": 0, "correlation": 1, "kind": "Dispatch Kernel"}},
                  {**kernel, "pid": 5, "tid": 0, "args": {"device": 5, "stream": 0, "correlation": 2, "kind": "Dispatch Kernel"}}]
        devices = [{"id": 0, "name": "big", "numSms": 304, "computeMajor": 9},
                   {"id": 1, "name": "small", "numSms": 36, "computeMajor": 10}]
        (self.path / "in.json").write_text(json.dumps({"deviceProperties": devices, "traceEvents": events}))
        out = self.convert(self.path / "in.json")
        self.assertEqual(self.rows(out, "SELECT gpuId FROM op ORDER BY id"), [(0,), (1,)])
        self.assertEqual(self.rows(out, "SELECT node, product, gpuId FROM rochound_agent"), [(3, "big", 0), (5, "small", 1)])
        self.assertEqual(self.rows(out, "SELECT pid FROM rochound_process"), [(77,)])
        self.assertEqual(self.rows(out, "SELECT pid, args FROM api WHERE args = 'f'"), [(77, "f")])
        self.assertEqual(self.rows(out, "SELECT value FROM rochound_fact WHERE name = 'compute_units'"), [("0,304",), ("1,72",)])
        # It starts before its call returns.
        self.assertEqual(self.rows(out, "SELECT submit FROM rochound_dispatch WHERE submit IS NOT NULL"), [(10000,)])

    def test_rpd_2_tells_what_it_lacks(self):
        inputs.rpd_v2(self.path / "in.rpd")
        with self.changing("in.rpd") as db:
            db.executescript("UPDATE rocpd_copyapi SET size = ''; INSERT INTO rocpd_barrierop VALUES (9, 1, '', '');"
                             "INSERT INTO rocpd_api_ops VALUES (9, 77, 88); UPDATE rocpd_op SET start = 'x' WHERE id = 3;"
                             "INSERT INTO rocpd_api VALUES (4, 50, 51, 1, 2, 4711, 1)")
        out = self.convert(self.path / "in.rpd")
        self.assertEqual(self.lost(out), [("calls", 1), ("names", 1), ("operations", 1), ("rows of RPD's version 2", 1),
                                          ("sizes of copies", 1), ("values", 1)])
        self.assertIn("sizes of copies", self.rochound("explain", "health", out))

    def test_rpd_3_of_several_processes(self):
        inputs.rpd_v3(self.path / "in.rpd", sessions=3)
        out = self.convert(self.path / "in.rpd")
        for session in range(3):
            b = session << 32
            self.assertEqual(self.rows(out, f"SELECT * FROM api WHERE id >> 32 = {session}"), [
                (b + 1, 70 + session, 71, 100, 200, "hip", "launch", "hipGraphLaunch", '{"graphExec":"0x1"}'),
                (b + 2, 70 + session, 71, 210, 240, "hip", "copy", "hipMemcpyAsync", ""),
                (b + (1 << 31), 70 + session, 71, 50, 300, "roctx", "", "UserMarker", ""),
                (b + (1 << 31) + 1, 70 + session, 72, 60, 70, "roctx", "", "UserMarker", "")])
            self.assertEqual(self.rows(out, f"SELECT * FROM op WHERE id >> 32 = {session}"), [
                (b + 1, session, 5, 1, 150, 250, "a_kernel", "KernelExecution"),
                (b + 2, session, 5, 2, 260, 280, "b_kernel", "KernelExecution"),
                (b + 3, session, 0, 0, 285, 290, "", "CopyDeviceToHost"),
                (b + 4, session, 5, 3, 300, 310, "a_kernel", "KernelExecution")])
            self.assertEqual(self.rows(out, "SELECT op_id, api_id, n.string, gridX, submit FROM rochound_dispatch d "
                                            "JOIN rochound_kernel k ON k.id = d.kernel_id "
                                            "JOIN rocpd_string n ON n.id = k.name_id "
                                            f"WHERE op_id >> 32 = {session}"), [
                (b + 1, b + 1, "a_kernel", 256, 150), (b + 2, b + 1, "b_kernel", 256, 200),
                (b + 4, None, "a_kernel", 0, None)])
        self.assertEqual(self.rows(out, "SELECT session, pid FROM rochound_process"), [(0, 70), (1, 71), (2, 72)])
        self.assertEqual(self.rows(out, "SELECT value, op_id FROM rocpd_counter WHERE id < 10"), [(12.5, 1)])
        self.assertEqual(self.rows(out, "SELECT * FROM stackframe WHERE id = 1"), [(1, "hipGraphLaunch", 0, "main")])
        self.assertEqual(self.lost(out), [])

    def test_rocpd(self):
        inputs.rocpd(self.path / "in.db", parts=2)
        out = self.convert(self.path / "in.db")
        for session, (pid, t) in enumerate([(500, 10_000), (600, 20_000)]):
            with self.subTest(session=session):
                here = f"id >> 32 = {session}"
                self.assertEqual(self.rows(out, f"SELECT pid, tid, start, end, domain, category, apiName, args FROM api "
                                                f"WHERE {here} ORDER BY start"), [
                    (pid, pid + 1, t - 10, t + 200, "roctx", "", "UserMarker", "epoch 'one' {}"),
                    (pid, pid + 1, t, t + 20, "hip", "launch", "hipLaunchKernel", "function=0x10|numBlocks={8,1,1}"),
                    (pid, pid + 1, t + 120, t + 130, "hip", "copy", "hipMemcpyAsync", ""),
                    (pid, pid + 1, t + 210, t + 210, "roctx", "", "UserMarker", "here")])
                self.assertEqual(self.rows(out, f"SELECT gpuId, queueId, sequenceId, start, end, description, opType "
                                                f"FROM op WHERE {here} ORDER BY start"), [
                    (1, 3, 1, t + 30, t + 90, "scale(float*)", "KernelExecution"),
                    (0, 3, 2, t + 100, t + 110, "scale(float*)", "KernelExecution"),
                    (1, 0, 0, t + 140, t + 160, "", "CopyHostToDevice")])
                self.assertEqual(self.rows(out, "SELECT a.start, d.gridX, d.workgroupX, d.groupSegmentSize, "
                                                "d.privateSegmentSize, d.queueId, d.agent, d.submit, d.timed "
                                                "FROM rochound_dispatch d LEFT JOIN rocpd_api a ON a.id = d.api_id "
                                                f"WHERE op_id >> 32 = {session} ORDER BY op_id"), [
                    (t, 512, 64, 512, 8, 3, 5, t + 20, 1), (None, 64, 64, 0, 0, 3, 4, None, 1)])
                self.assertEqual(self.rows(out, "SELECT size, sourceAgent, destinationAgent, source, destination, submit "
                                                f"FROM rochound_copy WHERE op_id >> 32 = {session}"),
                                 [(1 << 20, 0, 5, 4096, 8192, t + 130)])
                self.assertEqual(self.rows(out, "SELECT pid, agent, address, size, start, end FROM rochound_allocation "
                                                f"WHERE {here} ORDER BY start"), [
                    (pid, 5, 0x7000, 4096, t + 2, t + 50), (pid, 5, 0x7000, 4096, t + 61, None)])
                self.assertEqual(self.rows(out, f"SELECT * FROM rochound_process WHERE session = {session}"), [
                    (session, pid, 1, "./app", "./app --fast", "host77", t - 50, t + 900, 4, 2, 1, "")])
                self.assertEqual(self.rows(out, f"SELECT agent, type, name, product, uuid, gpuId FROM rochound_agent "
                                                f"WHERE session = {session}"), [
                    (0, "cpu", "EPYC", "EPYC 9654", "", None), (4, "gpu", "gfx942", "MI300X", "99", 0),
                    (5, "gpu", "gfx942", "MI300X", "98", 1)])
                self.assertEqual(self.rows(out, "SELECT c.value, n.string, o.start FROM rocpd_counter c "
                                                "JOIN rocpd_string n ON n.id = c.name_id JOIN rocpd_op o ON o.id = op_id "
                                                f"WHERE o.id >> 32 = {session}"), [(8.0, "SQ_WAVES", t + 30)])
        self.assertEqual(self.rows(out, "SELECT stream, size, kind, dst, src, dstDevice, srcDevice, sync FROM copyop"),
                         2 * [("2", 1 << 20, 1, "0x2000", "0x1000", 1, -1, 0)])
        self.assertEqual(self.rows(out, "SELECT k.kernelObject, k.kernargBytes, n.string, m.string FROM rochound_kernel k "
                                        "JOIN rocpd_string n ON n.id = name_id "
                                        "JOIN rocpd_string m ON m.id = mangledName_id"),
                         2 * [(4096, 64, "scale(float*)", "_Z5scalePf.kd")])
        self.assertEqual(self.lost(out), [("memory events", 2)])

    def test_rocpd_of_later_schemas(self):
        """3.0.2 knows graphs, 3.0.3 streaming counters, 3.0.4 program counters: what we read stays the same."""
        inputs.rocpd(self.path / "old.db")
        inputs.rocpd(self.path / "new.db")
        with self.changing("new.db") as db:
            inputs.to_rocpd_3_0_4(db)
        old = self.convert(self.path / "old.db", to="old.rpd")
        new = self.convert(self.path / "new.db", to="new.rpd")
        for table in ("rocpd_api", "rocpd_op", "rocpd_counter", "rochound_dispatch", "rochound_copy"):
            self.assertEqual(self.rows(old, f"SELECT * FROM {table}"), self.rows(new, f"SELECT * FROM {table}"))
        self.assertEqual(sorted(set(self.lost(new)) - set(self.lost(old))),
                         [("counter values", 3), ("program counter samples", 2)])

    def test_rocpd_tells_what_it_lacks(self):
        inputs.rocpd(self.path / "in.db")
        with self.changing("in.db") as db:
            u = inputs.UUID
            db.execute(f'UPDATE "rocpd_kernel_dispatch_{u}" SET kernel_id = 4711 WHERE id = 2')
            db.execute(f'UPDATE "rocpd_region_{u}" SET pid = 1 WHERE id = 103')
            db.execute(f'UPDATE "rocpd_pmc_event_{u}" SET event_id = 1')
            db.execute(f"UPDATE \"rocpd_event_{u}\" SET call_stack = '[1]' WHERE id = 1")
        out = self.convert(self.path / "in.db")
        self.assertEqual(self.lost(out), [("call stacks", 1), ("calls", 1), ("counter values", 1), ("kernel names", 1),
                                          ("memory events", 1)])
        self.assertEqual(self.rows(out, "SELECT count(*) FROM op"), [(3,)])

    def test_rocpd_without_its_copies_tells_of_the_calls(self):
        """rocprofv3 --hip-trace alone: calls that copy, and no copy. Within the host's memory nothing is missing."""
        for kind, lost in [("hipMemcpyHostToDevice", [("copies of calls", 1), ("memory events", 1)]),
                           ("hipMemcpyHostToHost", [("memory events", 1)])]:
            with self.subTest(kind=kind):
                inputs.rocpd(self.path / "in.db")
                with self.changing("in.db") as db:
                    db.execute(f'DELETE FROM "rocpd_memory_copy_{inputs.UUID}"')
                    db.execute(f'INSERT INTO "rocpd_arg_{inputs.UUID}" (event_id, position, type, name, value) '
                               f"VALUES (4, 0, 'hipMemcpyKind', 'kind', '{kind}')")
                out = self.convert(self.path / "in.db")
                self.assertEqual(self.lost(out), lost)
        self.assertEqual(self.rows(out, "SELECT count(*) FROM api WHERE apiName = 'hipMemcpyAsync'"), [(1,)])

    def kineto_checks(self, out):
        self.assertEqual(self.rows(out, "SELECT pid, tid, start, end, domain, category, apiName, args FROM api "
                                        "ORDER BY id"), [
            (900, 901, 100500, 1000500, "torch", "user_annotation", "UserMarker", "ProfilerStep#1"),
            (900, 901, 110000, 310000, "torch", "cpu_op", "UserMarker",
             "aten::mm, seq = 4, op_id = 17, sizes = [[2, 3], [3, 4], []], input_op_ids = []"),
            (900, 901, 320000, 325000, "torch", "cpu_op", "UserMarker", "aten::empty, op_id = 18"),
            (900, 901, 105000, 505000, "torch", "python_function", "UserMarker", "model.py(3): forward"),
            (900, 901, 120001, 130251, "hip", "launch", "hipLaunchKernel",
             "External id=17|cid=211|correlation=33|kernel=_Z2mmPf|grid=[4, 2, 1]|block=[64, 1, 1]|shared memory=1024"),
            (900, 901, 400000, 404000, "hip", "copy", "hipMemcpyAsync",
             "cid=1|correlation=34|src=0x10|dst=0x20|bytes=4096|kind=1"),
            (900, 0, 99000, 100000, "rochound", "overhead", "Activity Buffer Request", ""),
            (900, 902, 500000, 510000, "torch", "mine", "UserMarker", "begun")])
        self.assertEqual(self.rows(out, "SELECT * FROM op ORDER BY id"), [
            (1, 0, 7, 0, 140125, 190625, "mm(float*)", "KernelExecution"),
            (2, 0, 7, 0, 410000, 418000, "Memcpy HtoD (Host -> Device)", "CopyHostToDevice"),
            (3, 1, 8, 0, 430000, 431000, "Memset (Device)", "FillBuffer")])
        self.assertEqual(self.rows(out, "SELECT api_id, op_id FROM rocpd_api_ops ORDER BY 2"), [(5, 1), (6, 2)])
        self.assertEqual(self.rows(out, "SELECT * FROM kernel"), [
            (1, 0, 7, 0, 140125, 190625, 50500, "7", 256, 2, 1, 64, 1, 1, 1024, 0, "mm(float*)")])
        self.assertEqual(self.rows(out, "SELECT op_id, api_id, size, sourceAgent, destinationAgent, submit "
                                        "FROM rochound_copy ORDER BY 1"),
                         [(2, 6, 4096, -1, 0, 404000), (3, None, 64, 1, 1, None)])
        self.assertEqual(self.rows(out, "SELECT deviceType, deviceId, monitorType, start, end, value FROM rocpd_monitor "
                                        "ORDER BY id"), [
            ("GPU", 0, "annotation", 139000, 439000, "ProfilerStep#1"),
            ("GPU", 0, "memory", 330000, 330000, "Total Allocated=1024|Device Id=0|Bytes=512"),
            ("counter", 900, "watts", 600000, 600000, "250"),
            ("trace", 0, "span", 90000, 1090000, "PyTorch Profiler (0)"),
            ("trace", 0, "mark", 1100000, 1100000, "Record Window End")])
        self.assertEqual(self.rows(out, "SELECT session, pid, executable, calls, dispatches, copies "
                                        "FROM rochound_process"), [(0, 900, "python", 8, 1, 2)])
        self.assertEqual(self.rows(out, "SELECT agent, product, gpuId FROM rochound_agent"),
                         [(0, "AMD Instinct MI300X", 0), (1, "AMD Instinct MI300X", 1)])

    def test_kineto(self):
        for packed in False, True:
            inputs.kineto(self.path / "in.json", packed=packed)  # by content, not by name
            out = self.convert(self.path / "in.json")
            self.kineto_checks(out)
            self.assertEqual(self.lost(out), [])
            self.assertEqual(self.rows(out, "SELECT value FROM rocpd_metadata WHERE tag = 'rochound_realtime_offset_ns'"),
                             [(str(inputs.KINETO_BASE),)])

    def test_kineto_answers_autograd(self):
        inputs.kineto(self.path / "in.json")
        answer = self.rochound("query", self.path / "in.json",
                               "SELECT count(*) FROM api WHERE apiName = 'UserMarker' AND args LIKE '%, sizes = %'")
        self.assertIn("1", answer)

    def test_kineto_with_damage(self):
        events = json.dumps(inputs.kineto_events()[6:8])[1:-1]
        text = ('[' + events +
                ', {"ph": "X", "cat": "kernel", "name": "a "quoted" name", "pid": 0, "tid": 7, "ts": 1, "dur": 2}'
                ',\n {"ph": "X", "cat": "kernel", "name": "broken\n", "pid": 0, "tid": 7, "ts": 1, "dur": 2}'
                ',\n {"ph": "E", "pid": 1, "tid": 1, "ts": 5}, {"ph": "B", "name": "open", "pid": 1, "tid": 1, "ts": 6}'
                ',\n {"ph": "X", "cat": "cpu_op", "name": "no time", "pid": 1, "tid": 1}'
                ',\n {"ph": "X", "cat": "cpu_op", "name": "bad length", "pid": 1, "tid": 1, "ts": 7, "dur": -1}'
                ',\n {"ph": "b", "cat": "async", "name": "x", "pid": 1, "tid": 1, "ts": 7, "id": 3}'
                ',\n 17, {"ph": "X", "cat": "kernel", "name": "after\\u0000it", "pid": 0, "tid": 7, "ts": 900, "dur": 2}'
                ',\n {"ph": "X", "cat": "kern')
        (self.path / "in.json").write_text(text)
        out = self.convert(self.path / "in.json")
        self.assertEqual(self.rows(out, "SELECT description FROM op ORDER BY start"), [("mm(float*)",), ("after?it",)])
        self.assertEqual(dict(self.rows(out, "SELECT note, sum(count) FROM rochound_lost GROUP BY note")), {
            "no valid JSON, or no event": 4, "the file ends in the middle of its events": 1,
            "without a time, or with one that cannot be": 1, "begun and never ended": 1, "ended and never begun": 1,
            "a negative duration was taken as none": 1, "of a kind that is not read: phase 'b'": 1})

    def test_kineto_cut_off_gzip(self):
        events = [{"ph": "X", "cat": "cpu_op", "name": f"op {i} {i * i % 7919}", "pid": 1, "tid": 1, "ts": i, "dur": 1}
                  for i in range(20000)]
        inputs.kineto(self.path / "in.json.gz", events, packed=True)
        data = (self.path / "in.json.gz").read_bytes()
        (self.path / "in.json.gz").write_bytes(data[:len(data) // 2])
        out = self.convert(self.path / "in.json.gz")
        (calls,), = self.rows(out, "SELECT count(*) FROM api")
        self.assertTrue(1000 < calls < 19999, calls)
        self.assertIn(("end of the file", 1), self.lost(out))

    def test_kineto_times_of_many_digits(self):
        # Nanoseconds since 1970 do not fit a double's 53 bits.
        inputs.kineto(self.path / "in.json", [], base=None, tail='{"ph": "X", "cat": "kernel", "name": "k", "pid": 0, '
                      '"tid": 7, "ts": 1700000000123456.789, "dur": 0.001}')
        out = self.convert(self.path / "in.json")
        self.assertEqual(self.rows(out, "SELECT start, end FROM op"), [(1700000000123456789, 1700000000123456790)])
        self.assertEqual(self.rows(out, "SELECT value FROM rocpd_metadata WHERE tag = 'rochound_realtime_offset_ns'"),
                         [("0",)])

    def test_not_a_trace(self):
        for name, content in [("empty", b""), ("text", b"hello"), ("json", b'{"a": [1, 2]}'), ("array", b"17"),
                              ("gz", gzip.compress(b"hello")), ("half", b"SQLite format 3\0" + 84 * b"\0")]:
            (self.path / name).write_bytes(content)
            error = self.rochound("convert", self.path / name, "-o", self.path / "out.rpd", code=125)
            self.assertIn(name, error)
        self.assertFalse((self.path / "out.rpd").exists())
        self.assertIn("there is no trace 'trace.rpd'", self.rochound("explain", "trace.rpd", code=2))
        self.assertIn("there is no question 'tops'", self.rochound("explain", "tops", code=2))

    def test_a_trace_that_is_cut_off(self):
        inputs.rpd_v3(self.path / "whole.rpd")
        whole = (self.path / "whole.rpd").read_bytes()
        (self.path / "cut.rpd").write_bytes(whole[:len(whole) // 2])
        self.assertIn("copy it again, or record again", self.rochound("explain", self.path / "cut.rpd", code=125))

    def test_a_pipe_is_not_replaced(self):
        inputs.rpd_v3(self.path / "in.rpd")
        for name in "out.rpd", "out.csv", "out.json", "out.pftrace", "out.html":
            os.mkfifo(self.path / name)
            command = "report" if name == "out.html" else "convert"
            self.assertIn("is a device or a pipe",
                          self.rochound(command, self.path / "in.rpd", "-o", self.path / name, code=2))
            self.assertTrue((self.path / name).is_fifo())

    def test_a_trace_that_is_named_twice(self):
        inputs.rpd_v3(self.path / "in.rpd")
        (self.path / "link.rpd").symlink_to("in.rpd")
        for command in ["explain", "top"], ["merge", "-o", self.path / "out.rpd"]:
            error = self.rochound(*command, self.path / "in.rpd", self.path / "link.rpd", code=125)
            self.assertIn("is there twice", error)
        self.assertFalse((self.path / "out.rpd").exists())


class Writers(Case):
    def every_input(self):
        inputs.rpd_v2(self.path / "v2.rpd")
        inputs.rpd_v3(self.path / "v3.rpd", sessions=2)
        inputs.rocpd(self.path / "rocpd.db", parts=2)
        inputs.kineto(self.path / "kineto.json")
        return [self.path / name for name in ("v2.rpd", "v3.rpd", "rocpd.db", "kineto.json")]

    def tables(self, rpd):
        names = [name for name, in self.rows(rpd, "SELECT name FROM sqlite_master WHERE type = 'table' AND "
                                                  "name NOT LIKE 'sqlite_%' ORDER BY name")]
        return {name: sorted(self.rows(rpd, f"SELECT * FROM {name}"), key=repr) for name in names}

    def test_every_view_answers(self):
        for source in self.every_input():
            out = self.convert(source)
            for view in VIEWS:
                self.rows(out, f"SELECT * FROM {view}")
            self.assertEqual(self.rows(out, "PRAGMA integrity_check"), [("ok",)])
            self.assertEqual(self.rows(out, "PRAGMA foreign_key_check")[:1], [])

    def test_rpd_parquet_rpd(self):
        for source in self.every_input():
            first = self.convert(source, to=source.name + ".first.rpd")
            parquet = self.convert(first, to=source.name + ".parquet")
            second = self.convert(parquet, to=source.name + ".second.rpd")
            before, after = self.tables(first), self.tables(second)
            self.assertEqual(list(before), list(after))
            for table in before:
                self.assertEqual(before[table], after[table], f"{source.name}: {table}")
            self.assertGreater(len(before["rocpd_api"]), 3)

    def test_csv(self):
        source = self.every_input()[2]
        rpd = self.convert(source)
        folder = self.convert(source, to="tables.csv")
        tables = self.tables(rpd)
        self.assertEqual(sorted(p.stem for p in folder.iterdir()), sorted([*tables, *FLAT_TABLES]))
        for name, rows in tables.items():
            with open(folder / f"{name}.csv", newline="") as file:
                lines = list(csv.reader(file))
            columns = [column for _, column, *_ in self.rows(rpd, f"PRAGMA table_info({name})")]
            self.assertEqual(lines[0], columns)
            written = sorted(["" if value is None else str(value) for value in row] for row in rows)
            self.assertEqual(sorted(lines[1:]), written, name)
        error = self.rochound("convert", source, "-o", folder, code=125)
        self.assertIn("there already", error)

    def test_flat_csv(self):
        """Files with names: rocprofv3's columns first, in its order, and a line for each thing in the trace."""
        for source in self.every_input():
            with self.subTest(source.name):
                rpd = self.convert(source, to=source.name + ".flat.rpd")
                folder = self.convert(source, to=source.name + ".csv")
                for name, columns in FLAT_TABLES.items():
                    with open(folder / f"{name}.csv", newline="") as file:
                        self.assertEqual(next(csv.reader(file))[:len(columns)], columns, name)
                with open(folder / "kernel_trace.csv", newline="") as file:
                    written = sorted((row["Kernel_Name"], int(row["Start_Timestamp"]), int(row["End_Timestamp"]),
                                      int(row["Grid_Size_X"]), int(row["Workgroup_Size_Y"])) for row in csv.DictReader(file))
                self.assertEqual(written, sorted(self.rows(rpd, """
                    SELECT n.string, o.start, o.end, d.gridX, d.workgroupY FROM rochound_dispatch d
                    JOIN rocpd_op o ON o.id = d.op_id JOIN rochound_kernel k ON k.id = d.kernel_id
                    JOIN rocpd_string n ON n.id = k.name_id""")))
                with open(folder / "hip_api_trace.csv", newline="") as file:
                    written = sorted((row["Function"], int(row["Correlation_Id"])) for row in csv.DictReader(file))
                self.assertEqual(written, sorted(self.rows(
                    rpd, "SELECT apiName, id FROM api WHERE domain IN ('hip', 'cuda')")))

    def test_perfetto(self):
        for source in self.every_input():
            with self.subTest(source.name):
                rpd = self.convert(source)
                data = self.convert(source, to=source.name + ".pftrace").read_bytes()
                packed = self.convert(source, to=source.name + ".pftrace.gz").read_bytes()
                self.assertEqual(gzip.decompress(packed), data)
                trace = pftrace.Trace(data)
                self.check_perfetto(rpd, trace)

    def check_perfetto(self, rpd, trace):
        calls = self.rows(rpd, "SELECT id, pid, tid, start, end, CASE WHEN apiName LIKE 'User%' AND args <> '' THEN args "
                               "ELSE apiName END FROM api")
        seen = sorted((s.details["id"], s.track.pid, s.track.tid, s.start, s.end, s.name) for s in trace.slices
                      if s.track.tid is not None)
        self.assertEqual(seen, sorted(c for c in calls if c[3] < c[4]))
        marks = [(s.details["id"], s.track.pid, s.track.tid, s.start, s.start, s.name) for s in trace.instants]
        self.assertEqual(sorted(marks), sorted(c for c in calls if c[3] == c[4]))
        ops = self.rows(rpd, "SELECT id, gpuId, queueId, start, end, CASE WHEN description = '' THEN opType "
                             "ELSE description END FROM op")
        seen = []
        for s in trace.slices:
            if s.track.tid is None:
                gpu = trace.tracks[s.track.parent].name.split(":")[0].split()[1]
                seen.append((s.details["id"], int(gpu), int(s.track.name.split()[1]), s.start, s.end, s.name))
                self.assertEqual(s.depth, 0)
        self.assertEqual(sorted(seen), sorted(ops))
        links = self.rows(rpd, "SELECT api_id, op_id FROM rocpd_api_ops")
        flows = [(a.details["id"], b.details["id"]) for a, b in trace.flows()]
        self.assertEqual(sorted(flows), sorted(links))
        for a, b in trace.flows():
            self.assertIsNotNone(a.track.tid)
            self.assertIsNone(b.track.tid)
        grids = self.rows(rpd, "SELECT op_id, gridX || ' x ' || gridY || ' x ' || gridZ FROM rochound_dispatch")
        self.assertEqual(sorted((s.details["id"], s.details["grid"]) for s in trace.slices if "grid" in s.details),
                         sorted(grids))
        for uuid, points in trace.counters.items():
            self.assertEqual(points[-1][1], 0, trace.tracks[uuid].name)
            self.assertTrue(all(value >= 0 for _, value in points))
            self.assertEqual([t for t, _ in points], sorted(t for t, _ in points))
        busy = sum(points[i + 1][0] - points[i][0] for uuid, points in trace.counters.items()
                   for i in range(len(points) - 1) if points[i][1] > 0 and trace.tracks[uuid].name == "operations running")
        self.assertGreater(busy, 0)
        self.assertLessEqual(busy, sum(op[4] - op[3] for op in ops))

    def test_perfetto_keeps_overlaps_apart(self):
        inputs.rpd_v3(self.path / "in.rpd")
        with self.changing("in.rpd") as db:
            db.execute("UPDATE rocpd_op SET start = 200, end = 270 WHERE id = 2")  # runs into the first
            db.execute("UPDATE rocpd_api SET start = 150, end = 230 WHERE id = 2")  # begins in a call, ends after it
        trace = pftrace.Trace(self.convert(self.path / "in.rpd", to="out.pftrace").read_bytes())
        queue = [s for s in trace.slices if s.track.name.startswith("queue 5")]
        self.assertEqual(sorted((s.start, s.end, s.depth) for s in queue), [(150, 250, 0), (200, 270, 0), (300, 310, 0)])
        self.assertEqual(len({id(s.track) for s in queue}), 2)
        calls = {s.details["id"]: s for s in trace.slices if s.name.startswith("hip")}
        self.assertEqual((calls[2].start, calls[2].end), (150, 230))
        self.assertIsNot(calls[1].track, calls[2].track)

    def test_chrome(self):
        for source in self.every_input():
            with self.subTest(source.name):
                rpd = self.convert(source)
                text = self.convert(source, to="out.json").read_text()
                self.assertEqual(gzip.decompress(self.convert(source, to="out.json.gz").read_bytes()).decode(), text)
                events = json.loads(text)["traceEvents"]
                (calls,), = self.rows(rpd, "SELECT count(*) FROM rocpd_api WHERE start < end")
                (ops,), = self.rows(rpd, "SELECT count(*) FROM rocpd_op")
                self.assertEqual(len([e for e in events if e["ph"] == "X"]), calls + ops)
                begins = {e["id"]: e for e in events if e["ph"] == "s"}
                ends = {e["id"]: e for e in events if e["ph"] == "f"}
                links = {op for _, op in self.rows(rpd, "SELECT api_id, op_id FROM rocpd_api_ops")}
                self.assertEqual(set(begins), links)
                self.assertEqual(set(ends), links)
                for flow in links:
                    self.assertLessEqual(begins[flow]["ts"], ends[flow]["ts"])

    def test_chrome_comes_back(self):
        source = self.every_input()[3]
        out = self.convert(source)
        back = self.convert(self.convert(source, to="out.json"), to="back.rpd")
        same = "SELECT start, end, description, opType FROM op ORDER BY id"
        self.assertEqual(self.rows(back, same), self.rows(out, same))
        same = "SELECT pid, tid, start, end, domain, category, apiName FROM api WHERE category <> 'overhead' ORDER BY start"
        self.assertEqual(self.rows(back, same), self.rows(out, same))
        self.assertEqual(self.rows(back, "SELECT count(*) FROM rocpd_api_ops"), [(2,)])
        self.assertEqual(self.lost(back), [])

    def test_names_are_data(self):
        name = '<script>alert("1")</script> \\ \t é \u2028 ' + "x" * 3000
        inputs.rpd_v3(self.path / "in.rpd")
        with self.changing("in.rpd") as db:
            db.execute("UPDATE rocpd_string SET string = ? WHERE string = 'a_kernel'", (name,))
        trace = pftrace.Trace(self.convert(self.path / "in.rpd", to="out.pftrace").read_bytes())
        self.assertEqual(len([s for s in trace.slices if s.name == name]), 2)
        events = json.loads(self.convert(self.path / "in.rpd", to="out.json").read_text())["traceEvents"]
        self.assertEqual(len([e for e in events if e["name"] == name]), 2)

    def test_texts_that_are_no_utf8(self):
        bad = b"a\xffb\xc3"
        inputs.rpd_v3(self.path / "in.rpd")
        inputs.rocpd(self.path / "in.db")
        with self.changing("in.rpd") as db:
            db.execute("UPDATE rocpd_string SET string = CAST(? AS TEXT) WHERE string = 'a_kernel'", (bad,))
            db.execute("UPDATE rocpd_ustring SET string = CAST(? AS TEXT) WHERE id = 2", (bad,))
        with self.changing("in.db") as db:
            db.execute(f'UPDATE "rocpd_info_kernel_symbol_{inputs.UUID}" SET display_name = CAST(? AS TEXT)', (bad,))
        for source, rows in ("in.rpd", 2), ("in.db", 1):
            with self.subTest(source):
                out = self.convert(self.path / source)
                self.assertIn(("a\ufffdb\ufffd",), self.rows(out, "SELECT kernelName FROM kernel"))
                self.assertIn(("texts", rows), self.lost(out))
                parquet = self.convert(self.path / source, to=source + ".parquet")
                back = self.convert(parquet, to="back.rpd")
                self.assertIn(("a\ufffdb\ufffd",), self.rows(back, "SELECT kernelName FROM kernel"))
                self.rochound("query", self.path / source, "SELECT upper(kernelName), left(kernelName, 2) FROM kernel")
        # A file of ours that somebody changed.
        with self.changing("out.rpd") as db:
            db.execute("UPDATE rocpd_string SET string = CAST(? AS TEXT) WHERE string LIKE 'a%b%'", (bad,))
        self.rochound("query", self.path / "out.rpd", "SELECT upper(kernelName) FROM kernel")

    def test_several_inputs_become_one(self):
        sources = self.every_input()
        out = self.convert(*sources)
        counts = [self.rows(self.convert(s, to="one.rpd"), "SELECT count(*) FROM api")[0][0] for s in sources]
        self.assertEqual(self.rows(out, "SELECT count(*) FROM api"), [(sum(counts),)])
        self.assertEqual(self.rows(out, "SELECT count(DISTINCT id) FROM rocpd_api"), [(sum(counts),)])
        self.assertEqual(self.rows(out, "SELECT node, count(*) FROM napi GROUP BY node ORDER BY node"),
                         list(enumerate(counts)))
        self.assertEqual(self.rows(out, "PRAGMA foreign_key_check")[:1], [])

    def test_sixty_four_ranks(self):
        inputs.rpd_v3(self.path / "foreign.rpd", sessions=2)
        rank = self.convert(self.path / "foreign.rpd", to="rank.rpd")
        ranks = []
        for number in range(64):
            ranks.append(self.path / f"rank{number}.rpd")
            shutil.copy(rank, ranks[-1])
        self.rochound("merge", *ranks, "-o", self.path / "all.rpd")
        count = self.rows(rank, "SELECT count(*) FROM api")[0][0]
        out = self.path / "all.rpd"
        self.assertEqual(self.rows(out, "SELECT node, count(*) FROM napi GROUP BY node ORDER BY node"),
                         [(node, count) for node in range(64)])
        self.assertEqual(self.rows(out, "SELECT count(DISTINCT id) FROM rocpd_api"), [(64 * count,)])
        self.assertEqual(self.rows(out, "PRAGMA foreign_key_check")[:1], [])
        self.assertEqual(self.rows(out, "PRAGMA integrity_check"), [("ok",)])

    def test_nothing_is_left_of_a_failure(self):
        inputs.rpd_v3(self.path / "in.rpd")
        before = sorted(os.listdir(self.path))
        for name in "missing/out.rpd", "missing/out.pftrace", "missing/out.json", "missing/out.csv":
            self.rochound("convert", self.path / "in.rpd", "-o", self.path / name, code=2)
        for command in "merge", "report":
            error = self.rochound(command, self.path / "in.rpd", "-o", self.path / "missing/out.rpd", code=2)
            self.assertIn("there is no folder", error)
        self.rochound("convert", self.path / "in.rpd", "-o", self.path / "out.xyz", code=2)
        self.rochound("convert", self.path / "in.rpd", "-o", self.path / "out", "--format", "pdf", code=2)
        self.assertEqual(sorted(os.listdir(self.path)), before)
        out = self.convert(self.path / "in.rpd", to="out", options=["--format", "perfetto"])
        pftrace.Trace(out.read_bytes())


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rochound", required=True)
    known, rest = parser.parse_known_args()
    ROCHOUND = known.rochound
    unittest.main(argv=[sys.argv[0], *rest])
