# SPDX-License-Identifier: MIT
"""Makes the seeds of the fuzzers, tests/fuzz/corpus/NAME: the trace readers' from the inputs of tests/store.

  make_corpus.py ROCHOUND

They are kept in the tree, so this runs only when the inputs or the Parquet layout change. What fuzzing found is added
by hand, as finding-...; this leaves it alone.
"""

import json
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent / "store"))

import inputs  # noqa: E402

# The order of TraceTables() in src/store/open/trace_tables.cpp: a Parquet seed's first byte says which table it is.
TABLES = ["rocpd_metadata", "rocpd_string", "rocpd_ustring", "rocpd_api", "rocpd_copyapi", "rocpd_kernelapi", "rocpd_op",
          "rocpd_api_ops", "rocpd_monitor", "rocpd_counter", "rocpd_stackframe", "rochound_process", "rochound_agent",
          "rochound_queue", "rochound_kernel", "rochound_dispatch", "rochound_copy", "rochound_allocation",
          "rochound_lost"]


def write(fuzzer, name, data):
    folder = HERE / "corpus" / fuzzer
    folder.mkdir(parents=True, exist_ok=True)
    (folder / name).write_bytes(data)


def small(path):
    """The same database in the smallest pages."""
    db = sqlite3.connect(path)
    db.execute("PRAGMA page_size = 512")
    db.execute("VACUUM")
    db.close()
    return path.read_bytes()


def part(data):
    """With its length before it, as fuzz::TakePart takes it."""
    return len(data).to_bytes(2, "little") + data


def write_faults():
    """One record of each kind, with a code object that has the kernel."""
    code = (HERE / "corpus/codeobj/gfx1030").read_bytes()
    dispatch = {"packet": 3, "fetched": True, "kernel": "tiny", "kernel_object": "0x7000", "completion_signal": "0x20",
                "code_object": "fault-code-0.elf", "load_delta": "0x6000", "grid": [64, 1, 1], "workgroup": [64, 1, 1],
                "group_bytes": 0, "private_bytes": 0, "kernarg": "0x9000", "kernarg_bytes": "00100000000000000500000000000000"}
    ring = [{"packet": 3, "type": "dispatch", "completion_signal": "0x20"},
            {"packet": 4, "type": "barrier_and", "completion_signal": "0x0",
             "waits": [{"signal": "0x20", "value": 1, "wanted": 0, "mask": -1, "condition": "=="}]}]
    memory = {"base": "0x1000", "size": 4096, "kind": "device", "owner": 0, "thread": 1, "when_ns": 1, "stack": ["0x400010"]}
    record = {"version": 1, "agent": 0, "address": "0x2000", "reasons": ["page not present"], "status_text": "an error",
              "seconds": 31, "pid": 1, "when_ns": 5, "command": "program", "environment": {"HSA_XNACK": "1"},
              "agents": [{"name": "gfx1030", "product": "RX", "isa": "amdgcn-amd-amdhsa--gfx1030", "node": 1,
                          "gfx_target_version": 100300, "gpu": True}],
              "queues": [{"index": 1, "agent": 0, "failed": True, "read": 3, "write": 5, "packets": 64, "front_ns": 31000000000,
                          "under_way": [dispatch], "in_ring": ring}],
              "copy_signals": ["0x30"], "saved_memory": [{"address": "0x1000", "size": 32}],
              "memory": {"live": [memory], "freed": [{**memory, "base": "0x2000", "freed_by": 2, "freed_ns": 3, "freed_stack": ["0x400020"]}]}}
    for kind in "memory", "queue", "hang":
        write("fault", kind, part(json.dumps({**record, "kind": kind}).encode()) + part(code) + bytes(range(32)))
    # A pointer eight bytes before the arguments, and an argument of all bytes that there are; in as much room.
    outside = code.replace(b"\x84\xae.address_space\xa6global", b"\x83")
    outside = outside.replace(b".offset\0", b".offset\xcf" + b"\xff" * 7 + b"\xf8", 1).replace(b".size\4", b".size\xcf" + b"\xff" * 8, 1)
    last = b"amdhsa.version\x92\1\2"
    outside = outside.replace(last, last + bytes(len(code) - len(outside)))
    write("fault", "outside", part(json.dumps({**record, "kind": "memory"}).encode()) + part(outside) + bytes(range(32)))


def write_control():
    requests = [b"status\n", b"start\n", b"stop\n", b"flush\n", b"dump\n", b"hang\n", b"other\n", b"x" * 300]
    for i, request in enumerate(requests):
        write("control", f"request-{i}", part(request))
    write("control", "pieces", part(b"sta") + part(b"tus") + part(b"\n"))
    write("control", "many", b"".join(part(b"stop\n") + part(b"") for _ in range(10)) + part(b"status\n"))
    lines = (b"ok\nprotocol=1\npid=1\nstate=recording\nreason=\noutside=on\nprogram=0\nrange=\nin_range=yes\ndirectory=/tmp/x\n"
             b"bytes=4096\ndropped=0\nthreads=1\nin_flight.0=2000000000 0 1 Kernel\nend\n")
    write("answer", "status", lines)
    write("answer", "error", b"error this process belongs to another user\n")


def write_symbols():
    maps = b"1000-2000 r-xp 00000000 08:01 77 lib.so\n3000-4000 r--p 00001000 00:00 0 [vdso]\n"
    write("symbols", "elf", part(maps) + (HERE / "corpus/codeobj/gfx1030").read_bytes())
    # Version 4 of DWARF's line table: one file, three rows.
    body = (bytes([1, 1, 1, 251, 14, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1]) + b"src\0\0small.c\0" + bytes([1, 0, 0, 0]))
    rows = bytes([0, 9, 2, 0, 0x10, 0, 0, 0, 0, 0, 0, 3, 9, 1, 76, 2, 12, 0, 1, 1])
    size = len(body) + len(rows) + 6
    write("symbols", "lines", part(b"") + size.to_bytes(4, "little") + b"\4\0" + len(body).to_bytes(4, "little") + body + rows)


def write_texts():
    for i, text in enumerate((b"\0" + b"30s", b"\0" + b"64MiB", b"\1early-packets=16,late-completions,seed=7", b"\1strict",
                              b"\2no-sdma: HSA_ENABLE_SDMA=0 -HSA_XNACK # why\nA=b'c;d\n", b"\3\x1b[2J\xc2\x9b")):
        write("text", f"text-{i}", text)


def write_probes():
    """A stream with one wave and accesses, whose code object has its places where the code was."""
    code = bytearray((HERE / "corpus/codeobj/gfx1030").read_bytes())
    function = b'{"is":"function","function":"f"}\0'
    places = function + (b'{"is":"access","action":"load","space":"flat","bytes":4,"at":[{"file":"f","line":1}]}\0'
                         b'{"is":"unprobed","why":"so","function":"f"}\0')
    code[0x600:0x600 + len(places)] = places

    def message(kind, words, text=b""):
        words = words + [int.from_bytes(text[i:i + 8], "little") for i in range(0, len(text), 8)]
        return b"".join(word.to_bytes(8, "little") for word in [0x5250 << 48 | kind << 40 | (len(words) + 1) << 32, *words])

    base = 0x70000000
    wave = [1, 64 << 32, base + 0x1600, 0x5000, 1, 0, 0, 0x1000000020000, 64 << 32, 1 << 32, 1 << 32 | 1, 0, base + 0x5c0, 0, 0, 0]
    accesses = b"".join(message(2, [1, len(function), address]) for address in (0x1000, 0x2000000000008, 0x1000000000010))
    write("probe", "stream", part(bytes(code)) + message(17, [1, 1, 0, 0]) +
          message(16, [base, base, 0x4000, 0], b"1.hsaco") + message(1, wave) + accesses + message(18, [1, 0, 0, 0]))


def write_counters():
    """A file of each kind that rocprofv3 and the software GPU write about kernels; the first byte says which."""
    csv = ("Correlation_Id,Dispatch_Id,Agent_Id,Queue_Id,Process_Id,Thread_Id,Grid_Size,Kernel_Id,Kernel_Name,Workgroup_Size,LDS_Block_Size,Scratch_Size,"
           "VGPR_Count,Accum_VGPR_Count,SGPR_Count,Counter_Name,Counter_Value,Start_Timestamp,End_Timestamp\n"
           '1,1,"Agent 1",1,7,7,256,9,"f(int, ""a"")",64,0,0,8,4,32,"SQ_WAVES",4.0,1000,3500\n')
    size = {"x": 64, "y": 1, "z": 1}
    results = {"rocprofiler-sdk-tool": [{
        "metadata": {"pid": 7}, "agents": [{"id": {"handle": 3}, "name": "gfx942"}], "counters": [{"id": {"handle": 5}, "name": "SQ_WAVES"}],
        "code_objects": [{"code_object_id": 2, "uri": "memory://7#offset=0x10&size=64"}],
        "kernel_symbols": [{"kernel_id": 9, "kernel_name": "f.kd", "code_object_id": 2}],
        "callback_records": {"counter_collection": [{"dispatch_data": {"dispatch_info": {
            "agent_id": {"handle": 3}, "kernel_id": 9, "dispatch_id": 1, "workgroup_size": size, "grid_size": size},
            "start_timestamp": 10, "end_timestamp": 20}, "records": [{"counter_id": {"handle": 5}, "value": 4.0}]}]}}]}
    header = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"
    code = {"code": [["; f", 0, 0, "f()", 1, 64, 0, 0, 0, 0], ["s_nop 0", 0, 1, "/a.h:3 -> /b.hip:4", 1, 64, 2, 8, 4, 1]], "header": header,
            "rochound": {"modelled": True, "waves": 1, "cycles": 10, "simds": 4, "occupancy": {"step": 4, "cycles": 10, "wave_cycles": [4, 4, 2]}}}
    record = {"process": 7, "order": 1, "gpu": "mi300x", "gpu_id": 5, "target": "gfx942", "queue": 1, "kernel": "f.kd", "completed": True, "grid": [64, 1, 1],
              "workgroup": [64, 1, 1], "waves": 1, "model": {"cycles": 9, "simds_used": 4}, "code": [[-4, "s_nop 0", 1, 4, 0, 0], [0, "s_endpgm", 1, 4, 0, 0]]}
    wave = {"name": "SE0", "wave": {"begin": 1, "end": 9, "cu": 0, "simd": 0, "instructions": [[1, 6, 0, 4, 1]]}}
    peaks = {"format": "rochound peaks", "version": 1, "device": "a card", "target": "gfx942", "compute_units": 4, "software_gpu": False,
             "measurements": [{"name": "l2", "kind": "bytes", "count": 100, "seconds": 0.5}, {"name": "vector.f32", "kind": "operations", "count": 9, "seconds": 1}]}
    with tempfile.TemporaryDirectory() as temporary:
        database = pathlib.Path(temporary, "rocpd.db")
        inputs.rocpd(database)
        kinds = [csv.encode(), json.dumps(results).encode(), small(database), json.dumps(record).encode() + b"\n", json.dumps(code).encode(),
                 b'CodeObj,Vaddr,Instruction,Hitcount,Latency,Stall,Idle,Source\n1,64,"s_nop 0",2,8,4,1,/a.h:3\n',
                 b'{"0":[[1,0,0,0,1,1],[9,0,0,0,0,1]],"dispatches":{"1":"f"}}', json.dumps(peaks).encode(), json.dumps(wave).encode()]
    for number, content in enumerate(kinds):
        write("counters", f"kind-{number}", bytes([number]) + content)


def stored(data):
    """A zstd frame that holds 256 bytes or more as they are."""
    return b"\x28\xb5\x2f\xfd\x60" + (len(data) - 256).to_bytes(2, "little") + (len(data) << 3 | 1).to_bytes(3, "little") + data


def write_fleet():
    """Messages as docs/formats/fleet.md has them, and some of which each member is what it may be and all of them are too much."""
    row = {"rank": 0, "pid": 1, "start": 2, "gpu": 1, "kernel": "k", "code_object": "ab", "rocm": "7.2.4", "launches": 3, "untimed": 1,
           "work_items": 64, "lds": 0, "sum": 200, "min": 90, "max": 110, "scale": 5, "zeros": 0, "first": 207, "buckets": [1, 0, 1]}
    loss = {"rank": 0, "pid": 1, "what": "chunks", "count": 2}
    message = {"tenant": "default", "host": "h", "epoch": "e", "number": 1, "shard": 0, "nth": 1, "job": "j", "from_ns": 1763337600000000000,
               "interval_ns": 60000000000, "rows": [row], "losses": [loss]}
    coarse = {**row, "scale": -6, "first": 0, "buckets": [2], "max": 2**64 - 1, "sum": 2**64 - 1}
    most = {**row, "launches": 2**48, "untimed": 0, "buckets": [2**48], "work_items": 2**64 - 1, "kernel": "a\0b"}
    bodies = {"plain": message, "losses": {**message, "rows": []}, "ranks": {**message, "rows": [{**row, "rank": rank} for rank in range(5)]},
              "scales": {**message, "rows": [row, coarse]}, "most": {**message, "from_ns": 2**62, "rows": [most, most], "losses": [{**loss, "count": 2**64 - 1}] * 2},
              "beyond": {**message, "rows": [coarse, {**coarse, "first": 2047}]}}
    for name, body in bodies.items():
        write("fleet_message", name, json.dumps(body).encode())
    write("fleet_message", "packed", stored(json.dumps(message).encode()))

    operation = {"number": 7, "function": "ncclAllReduce", "count": 64, "datatype": 7, "operation": 0, "root": -1, "state": "in flight", "since_ns": 9000000000}
    lines = [{"kind": "collective", "peer": -1, "calls": 7, "recent": [operation]}, {"kind": "send", "peer": 1, "calls": 1, "recent": []}]
    call = {"function": "ncclAllReduce", "thread": 1, "since_ns": 9000000000,
            "rccl": {"id": "c0", "ranks": 2, "rank": 0, "kind": "collective", "peer": -1, "operation": operation}}
    process = {"rank": 0, "ranks": 2, "pid": 7, "state": "running", "dispatches": 9, "launches": 8, "in_flight": 1,
               "oldest": [{"kernel": "_Z3addPfi", "queue": 1, "since_ns": 9000000000}], "collectives": 7, "last_end_ns": 5, "recorder_silent_ns": 1}
    card = {**process, "exact": True, "open_calls": [], "communicators": [{"id": "c0", "ranks": 2, "rank": 0, "parent": "", "key": 0, "lines": lines}],
            "program": "python3", "processor_ns": 1, "waits_in": ""}
    other = {**card, "rank": 1, "pid": 8, "communicators": [], "open_calls": [call]}
    common = {"version": 1, "host": "h", "job": "j", "now_ns": 10, "looked_ns": 9, "clock_error_ns": -1}
    beat = {**common, "processes": [process]}
    window = {"rank": 0, "pid": 7, "folder": "/f", "chunks": 1, "bytes": 2, "complete_from_ns": 0, "files": ["info"]}
    answers = {"beat": [beat], "cards": [{**common, "cards": [card, other]}], "two-hosts": [{**common, "cards": [card]}, {**common, "host": "i", "cards": [other]}],
               "windows": [{**common, "windows": [window, {**window, "error": "no"}]}],
               "outcome": [{**common, "processes": [{"rank": 0, "pid": 7, "at_ns": 1, "stopped_ns": 0, "was_recording": True, "error": ""}], "refused": "too late"}],
               "event": [{"id": "1", "time_ns": 1, "job": "j", "kind": "hang", "conclusion": "c", "trace": "t", "no_trace": ""}],
               "many-ranks": [{**common, "cards": [{**card, "ranks": 2**60}, {**other, "ranks": 2**60}]}],
               "types": [{**common, "host": 1}, {**beat, "job": []}, {**beat, "processes": [1]}, {**beat, "processes": [{"state": 1}]}]}
    for name, messages in answers.items():
        write("fleet_beat", name, "\n".join(map(json.dumps, messages)).encode())

    ask = {"job": "none"}
    requests = {"cards": {**ask, "what": "cards"}, "window": {**ask, "what": "window", "from_ns": 0, "to_ns": 2**62, "folder": "/f"},
                "window-ends": {**ask, "what": "window", "from_ns": 2**63, "to_ns": 2**64 - 1, "folder": "/f"},
                "start": {**ask, "what": "start", "id": "i", "at_ns": 2**64 - 1, "until_ns": 0}, "stop": {**ask, "what": "stop", "id": "i", "at_ns": 1},
                "outcome": {**ask, "what": "outcome", "id": "i"}, "code": {"hash": "0123456789abcdef" * 2, "offset": 2},
                "code-beyond": {"hash": "0123456789abcdef" * 2, "offset": 2**64 - 1}}
    for name, request in requests.items():
        write("fleet_request", name, json.dumps(request).encode())


def write_model_answers():
    text = "Here it is:\n```cpp\n__global__ void k() {}\n```\n"
    write("model_answer", "text", text.encode())
    write("model_answer", "answer", json.dumps({"choices": [{"message": {"role": "assistant", "content": text}, "finish_reason": "stop"}]}).encode())
    write("model_answer", "tools", json.dumps({"choices": [{"message": {"content": None, "tool_calls": [{"id": 1}]}}]}).encode())


def main(rochound):
    write_fleet()
    write_model_answers()
    write_probes()
    write_counters()
    write_faults()
    write_control()
    write_symbols()
    write_texts()
    chance = random.Random(4)
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        inputs.write_all(folder)
        write("kineto", "trace.json", (folder / "kineto.json").read_bytes())
        write("kineto", "trace.json.gz", (folder / "kineto.json.gz").read_bytes())
        for i, event in enumerate(inputs.kineto_events()):
            write("kineto", f"event-{i:02}", json.dumps([event]).encode())
        # The first byte chooses how the rest is read: as the file, or as rows of one.
        write("rpd", "file-v2", b"\0" + small(folder / "v2.rpd"))
        write("rpd", "file-v3", b"\0" + small(folder / "v3.rpd"))
        subprocess.run([rochound, "convert", folder / "v3.rpd", "-o", folder / "ours.rpd"], check=True)
        write("rpd", "file-ours", b"\0" + small(folder / "ours.rpd"))
        write("rocpd", "file", b"\0" + small(folder / "rocpd.db"))
        for choice in 1, 2, 3:
            for i in range(3):
                write("rpd", f"rows-{choice}-{i}", bytes([choice]) + chance.randbytes(400))
        for choice in 1, 2:
            for i in range(3):
                write("rocpd", f"rows-{choice}-{i}", bytes([choice]) + chance.randbytes(600))
        subprocess.run([rochound, "convert", folder / "rocpd.db", "-o", folder / "out.parquet"], check=True)
        for number, table in enumerate(TABLES):
            file, = (folder / "out.parquet" / table).rglob("*.parquet")
            write("parquet", table, bytes([number]) + file.read_bytes())


if __name__ == "__main__":
    main(sys.argv[1])
