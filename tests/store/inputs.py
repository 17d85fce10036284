# SPDX-License-Identifier: MIT
"""Small traces in the formats of other tools, with the right shape: what the readers are tested and fuzzed with.

Every number is chosen by hand, so that a test can say what has to come out. Run as a program it writes them all into a
folder: inputs.py FOLDER
"""

import gzip
import json
import pathlib
import sqlite3
import sys

UUID = "0190b3e2_7f00_7abc_8def_0123456789ab"
SECOND_UUID = "0190b3e2_7f00_7abc_8def_ba9876543210"


def fresh(path):
    pathlib.Path(path).unlink(missing_ok=True)
    return sqlite3.connect(path)


def rpd_v2(path):
    """Two calls that launch, one that copies, a marker, an overhead record; sizes left empty as RPD 2 leaves them."""
    db = fresh(path)
    db.executescript("""
        CREATE TABLE rocpd_metadata (id integer PRIMARY KEY, tag varchar(4096), value varchar(4096));
        CREATE TABLE rocpd_string (id integer PRIMARY KEY, string varchar(4096));
        CREATE TABLE rocpd_kernelcodeobject (id integer PRIMARY KEY, vgpr integer, sgpr integer, fbar integer);
        CREATE TABLE rocpd_barrierop (op_ptr_id integer PRIMARY KEY, signalCount integer, aquireFence varchar(8),
            releaseFence varchar(8));
        CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer, start integer, end integer,
            apiName_id integer, args_id integer);
        CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer, sequenceId integer,
            completionSignal varchar(18), start integer, end integer, description_id integer, opType_id integer);
        CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY, api_id integer, op_id integer);
        CREATE TABLE rocpd_kernelapi (api_ptr_id integer PRIMARY KEY, stream varchar(18), gridX integer, gridY integer,
            gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer, groupSegmentSize integer,
            privateSegmentSize integer, kernelArgAddress varchar(18), aquireFence varchar(8), releaseFence varchar(8),
            codeObject_id integer, kernelName_id integer);
        CREATE TABLE rocpd_copyapi (api_ptr_id integer PRIMARY KEY, stream varchar(18), size integer, width integer,
            height integer, kind integer, dst varchar(18), src varchar(18), dstDevice integer, srcDevice integer,
            sync bool, pinned bool);
        CREATE TABLE rocpd_monitor (id integer PRIMARY KEY, deviceType varchar(16), deviceId integer,
            monitorType varchar(16), start integer, end integer, value varchar(255));
        CREATE VIEW api AS SELECT * FROM rocpd_api;
        INSERT INTO rocpd_metadata (tag, value) VALUES ('schema_version', '2'), ('session_count', '1');
        INSERT INTO rocpd_string VALUES (1, ''), (2, 'hipLaunchKernel'), (3, 'hipMemcpy'), (4, 'UserMarker'),
            (5, 'OpTable::writeRows'), (6, 'scale(float*)'), (7, 'KernelExecution'), (8, 'CopyHostToDevice'),
            (9, 'step 1'), (10, 'count=3'), (11, 'dst=0x10 | size=0x40');
        INSERT INTO rocpd_api VALUES (1, 50, 51, 1000, 1100, 3, 11), (2, 50, 51, 1200, 1250, 2, 1),
            (3, 50, 51, 1300, 1350, 2, 1), (2147483648, 50, 51, 900, 1400, 4, 9), (2147483649, 50, 52, 1500, 1600, 5, 10);
        INSERT INTO rocpd_op VALUES (1, 2, 0, 0, '', 1010, 1090, 1, 8), (2, 2, 1, 0, '', 1300, 1400, 6, 7),
            (3, 2, 1, 0, '', 1410, 1500, 6, 7);
        INSERT INTO rocpd_api_ops VALUES (1, 1, 1), (2, 2, 2), (3, 3, 3);
        INSERT INTO rocpd_kernelapi VALUES (2, '0x0', 64, 2, 1, 32, 1, 1, 128, 16, '', '', '', '', 6),
            (3, '0x7', 128, 1, 1, 64, 1, 1, 0, 0, '', '', '', '', 6);
        INSERT INTO rocpd_copyapi VALUES (1, '0x0', 64, '', '', 1, '0x10', '0x20', 0, -1, 0, 0);
        INSERT INTO rocpd_monitor VALUES (1, 'gpu', 2, 'sclk', 1000, 1500, '1500');
    """)
    db.commit()
    db.close()


def rpd_v3(path, sessions=1):
    """What RPD 3 writes, without our tables: a marker whose domain is its own name and whose args point nowhere."""
    db = fresh(path)
    db.executescript("""
        CREATE TABLE rocpd_metadata (id integer PRIMARY KEY, tag varchar(4096), value varchar(4096));
        CREATE TABLE rocpd_string (id integer PRIMARY KEY, string varchar(4096));
        CREATE TABLE rocpd_ustring (id integer PRIMARY KEY, string varchar(4096));
        CREATE TABLE rocpd_api (id integer PRIMARY KEY, pid integer, tid integer, start integer, end integer,
            apiName_id bigint, category_id bigint, domain_id bigint, args_id bigint);
        CREATE TABLE rocpd_op (id integer PRIMARY KEY, gpuId integer, queueId integer, sequenceId integer,
            start integer, end integer, description_id bigint, opType_id bigint);
        CREATE TABLE rocpd_api_ops (id integer PRIMARY KEY, api_id bigint, op_id bigint);
        CREATE TABLE rocpd_kernelapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), gridX integer, gridY integer,
            gridZ integer, workgroupX integer, workgroupY integer, workgroupZ integer, groupSegmentSize integer,
            privateSegmentSize integer, kernelName_id bigint);
        CREATE TABLE rocpd_copyapi (api_ptr_id bigint PRIMARY KEY, stream varchar(18), size integer, width integer,
            height integer, kind integer, dst varchar(18), src varchar(18), dstDevice integer, srcDevice integer,
            sync bool, pinned bool);
        CREATE TABLE rocpd_monitor (id integer PRIMARY KEY, deviceType varchar(16), deviceId integer,
            monitorType varchar(16), start integer, end integer, value varchar(255));
        CREATE TABLE rocpd_counter (id integer PRIMARY KEY, value real, op_id bigint, name_id bigint);
        CREATE TABLE rocpd_stackframe (id integer PRIMARY KEY, api_ptr_id bigint, depth integer, name_id bigint);
        INSERT INTO rocpd_metadata (tag, value) VALUES ('gpu_stride', '1000'), ('pid_stride', '10000000'),
            ('schema_version', '3');
    """)
    for session in range(sessions):
        b = session << 32
        db.executemany("INSERT INTO rocpd_string VALUES (?, ?)", [
            (b + i + 1, text) for i, text in enumerate([
                "", "hip", "hipGraphLaunch", "UserMarker", "a_kernel", "b_kernel", "KernelExecution", "hipMemcpyAsync",
                "MEMORY_COPY_DEVICE_TO_HOST", "SQ_WAVES", "main"])])
        db.executemany("INSERT INTO rocpd_ustring VALUES (?, ?)", [(b + 1, ""), (b + 2, '{"graphExec":"0x1"}')])
        db.executemany("INSERT INTO rocpd_api VALUES (?,?,?,?,?,?,?,?,?)", [
            (b + 1, 70 + session, 71, 100, 200, b + 3, b + 1, b + 2, b + 2),
            (b + 2, 70 + session, 71, 210, 240, b + 8, b + 1, b + 2, b + 1),
            (b + (1 << 31), 70 + session, 71, 50, 300, b + 4, b + 1, b + 4, b + 999),
            (b + (1 << 31) + 1, 70 + session, 72, 60, 70, b + 4, 12345678901, 12345678902, b + 1)])
        db.executemany("INSERT INTO rocpd_op VALUES (?,?,?,?,?,?,?,?)", [
            (b + 1, session, 5, 1, 150, 250, b + 5, b + 7), (b + 2, session, 5, 2, 260, 280, b + 6, b + 7),
            (b + 3, session, 0, 0, 285, 290, b + 1, b + 9), (b + 4, session, 5, 3, 300, 310, b + 5, b + 7)])
        db.executemany("INSERT INTO rocpd_api_ops VALUES (?,?,?)",
                       [(b + 1, b + 1, b + 1), (b + 2, b + 1, b + 2), (b + 3, b + 2, b + 3)])
        db.execute("INSERT INTO rocpd_kernelapi VALUES (?,'0x3',256,1,1,64,1,1,0,0,?)", (b + 1, b + 5))
        db.execute("INSERT INTO rocpd_copyapi VALUES (?,'0x3',4096,0,0,2,'0x1','0x2',-1,?,1,0)", (b + 2, session))
        db.execute("INSERT INTO rocpd_counter VALUES (?, 12.5, ?, ?)", (b + 1, b + 1, b + 10))
        db.execute("INSERT INTO rocpd_stackframe VALUES (?, ?, 0, ?)", (b + 1, b + 1, b + 11))
    db.commit()
    db.close()


ROCPD_TABLES = """
    CREATE TABLE "rocpd_metadata_U" (id INTEGER PRIMARY KEY, tag TEXT NOT NULL, value TEXT NOT NULL);
    CREATE TABLE "rocpd_string_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, string TEXT NOT NULL UNIQUE);
    CREATE TABLE "rocpd_info_node_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, hash BIGINT,
        machine_id TEXT, system_name TEXT, hostname TEXT, release TEXT, version TEXT, hardware_name TEXT,
        domain_name TEXT);
    CREATE TABLE "rocpd_info_process_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER NOT NULL,
        ppid INTEGER, pid INTEGER NOT NULL, init BIGINT, fini BIGINT, start BIGINT, end BIGINT, command TEXT,
        environment JSONB DEFAULT "{}" NOT NULL, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_thread_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, ppid INTEGER,
        pid INTEGER, tid INTEGER, name TEXT, start BIGINT, end BIGINT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_agent_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        type TEXT, absolute_index INTEGER, logical_index INTEGER, type_index INTEGER, uuid INTEGER, name TEXT,
        model_name TEXT, vendor_name TEXT, product_name TEXT, user_name TEXT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_queue_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        name TEXT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_stream_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        name TEXT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_pmc_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        agent_id INTEGER, target_arch TEXT, name TEXT NOT NULL, symbol TEXT);
    CREATE TABLE "rocpd_info_code_object_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER,
        pid INTEGER, agent_id INTEGER, uri TEXT, load_base BIGINT, load_size BIGINT, load_delta BIGINT,
        storage_type TEXT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_info_kernel_symbol_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER,
        pid INTEGER, code_object_id INTEGER, kernel_name TEXT, display_name TEXT, kernel_object INTEGER,
        kernarg_segment_size INTEGER, kernarg_segment_alignment INTEGER, group_segment_size INTEGER,
        private_segment_size INTEGER, sgpr_count INTEGER, arch_vgpr_count INTEGER, accum_vgpr_count INTEGER,
        extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_track_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        tid INTEGER, name_id INTEGER, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_event_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, category_id INTEGER,
        stack_id INTEGER, parent_stack_id INTEGER, correlation_id INTEGER, call_stack JSONB DEFAULT "{}" NOT NULL,
        line_info JSONB DEFAULT "{}" NOT NULL, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_arg_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, event_id INTEGER,
        position INTEGER, type TEXT, name TEXT, value TEXT, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_pmc_event_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, event_id INTEGER,
        pmc_id INTEGER, value REAL DEFAULT 0.0, extdata JSONB DEFAULT "{}");
    CREATE TABLE "rocpd_region_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_sample_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, track_id INTEGER,
        timestamp BIGINT, event_id INTEGER, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_kernel_dispatch_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER,
        pid INTEGER, tid INTEGER, agent_id INTEGER, kernel_id INTEGER, dispatch_id INTEGER, queue_id INTEGER,
        stream_id INTEGER, start BIGINT, end BIGINT, private_segment_size INTEGER, group_segment_size INTEGER,
        workgroup_size_x INTEGER, workgroup_size_y INTEGER, workgroup_size_z INTEGER, grid_size_x INTEGER,
        grid_size_y INTEGER, grid_size_z INTEGER, region_name_id INTEGER, event_id INTEGER,
        extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_memory_copy_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER, pid INTEGER,
        tid INTEGER, start BIGINT, end BIGINT, name_id INTEGER, dst_agent_id INTEGER, dst_address INTEGER,
        src_agent_id INTEGER, src_address INTEGER, size INTEGER, queue_id INTEGER, stream_id INTEGER,
        region_name_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE TABLE "rocpd_memory_allocate_U" (id INTEGER PRIMARY KEY, guid TEXT DEFAULT "G" NOT NULL, nid INTEGER,
        pid INTEGER, tid INTEGER, agent_id INTEGER, type TEXT, level TEXT, start BIGINT, end BIGINT, address INTEGER,
        size INTEGER, queue_id INTEGER, stream_id INTEGER, event_id INTEGER, extdata JSONB DEFAULT "{}" NOT NULL);
    CREATE VIEW IF NOT EXISTS rocpd_region AS SELECT * FROM "rocpd_region_U";
"""


def rocpd_part(db, uuid, pid, node, start):
    """One process: a launch with two arguments, a copy, a range, a mark, memory, a counter."""
    script = ROCPD_TABLES.replace("_U\"", f"_{uuid}\"").replace('"G"', f'"{uuid.replace("_", "-")}"')
    db.executescript(script)

    def put(table, **columns):
        names = ", ".join(f'"{name}"' for name in columns)
        marks = ", ".join("?" for _ in columns)
        db.execute(f'INSERT INTO "rocpd_{table}_{uuid}" ({names}) VALUES ({marks})', list(columns.values()))

    put("metadata", tag="schema_version", value="3")
    strings = ["", "HIP_RUNTIME_API_EXT", "hipLaunchKernel", "hipMemcpyAsync", "MARKER_CORE_RANGE_API",
               "roctxThreadRangeA", "KERNEL_DISPATCH", "MEMORY_COPY", "MEMORY_COPY_HOST_TO_DEVICE", "MEMORY_ALLOCATION"]
    for i, text in enumerate(strings):
        put("string", id=i + 1, string=text)
    put("info_node", id=node, hash=node, machine_id=f"m{node}", hostname=f"host{node}")
    put("info_process", id=pid, nid=node, ppid=1, pid=pid, start=start - 50, end=start + 900, command="./app --fast")
    put("info_thread", id=7, nid=node, pid=pid, tid=pid + 1)
    put("info_agent", id=0, nid=node, pid=pid, type="CPU", absolute_index=0, name="EPYC", product_name="EPYC 9654")
    put("info_agent", id=4, nid=node, pid=pid, type="GPU", absolute_index=4, uuid=99, name="gfx942",
        product_name="MI300X")
    put("info_agent", id=5, nid=node, pid=pid, type="GPU", absolute_index=5, uuid=98, name="gfx942",
        product_name="MI300X")
    put("info_queue", id=3, nid=node, pid=pid, name="Queue 0")
    put("info_stream", id=2, nid=node, pid=pid, name="Stream 0")
    put("info_pmc", id=11, nid=node, pid=pid, agent_id=5, target_arch="GPU", name="SQ_WAVES", symbol="SQ_WAVES")
    put("info_kernel_symbol", id=21, nid=node, pid=pid, code_object_id=1, kernel_name="_Z5scalePf.kd",
        display_name="scale(float*)", kernel_object=4096, kernarg_segment_size=64)
    put("track", id=1, nid=node, pid=pid, tid=7, name_id=5)
    # hipLaunchKernel, with what it launched; then a dispatch that no call is known of
    put("event", id=1, category_id=2, stack_id=101, parent_stack_id=101, correlation_id=0)
    put("arg", event_id=1, position=1, type="dim3", name="numBlocks", value="{8,1,1}")
    put("arg", event_id=1, position=0, type="void*", name="function", value="0x10")
    put("region", id=101, nid=node, pid=pid, tid=7, start=start, end=start + 20, name_id=3, event_id=1)
    put("event", id=2, category_id=7, stack_id=101, parent_stack_id=101)
    put("kernel_dispatch", id=1, nid=node, pid=pid, tid=7, agent_id=5, kernel_id=21, dispatch_id=1, queue_id=3,
        stream_id=2, start=start + 30, end=start + 90, private_segment_size=8, group_segment_size=512,
        workgroup_size_x=64, workgroup_size_y=1, workgroup_size_z=1, grid_size_x=512, grid_size_y=1, grid_size_z=1,
        event_id=2)
    put("event", id=3, category_id=7, stack_id=0, parent_stack_id=0)
    put("kernel_dispatch", id=2, nid=node, pid=pid, tid=7, agent_id=4, kernel_id=21, dispatch_id=2, queue_id=3,
        stream_id=0, start=start + 100, end=start + 110, workgroup_size_x=64, workgroup_size_y=1, workgroup_size_z=1,
        grid_size_x=64, grid_size_y=1, grid_size_z=1, event_id=3)
    put("pmc_event", id=1, event_id=2, pmc_id=11, value=8.0)
    # hipMemcpyAsync
    put("event", id=4, category_id=2, stack_id=102, parent_stack_id=102)
    put("region", id=102, nid=node, pid=pid, tid=7, start=start + 120, end=start + 130, name_id=4, event_id=4)
    put("event", id=5, category_id=8, stack_id=102, parent_stack_id=102)
    put("memory_copy", id=1, nid=node, pid=pid, tid=7, start=start + 140, end=start + 160, name_id=9, dst_agent_id=5,
        dst_address=8192, src_agent_id=0, src_address=4096, size=1 << 20, stream_id=2, event_id=5)
    # a range around all of it, and a mark
    put("event", id=6, category_id=5, stack_id=103, extdata=json.dumps({"message": "epoch 'one' {}"}))
    put("region", id=103, nid=node, pid=pid, tid=7, start=start - 10, end=start + 200, name_id=6, event_id=6)
    put("event", id=7, category_id=5, stack_id=104, extdata=json.dumps({"message": "here"}))
    put("sample", id=104, track_id=1, timestamp=start + 210, event_id=7)
    # memory: given back, taken again at the same place, and scratch
    for i, (kind, level, begin) in enumerate([("ALLOC", "REAL", 1), ("FREE", "REAL", 50), ("ALLOC", "REAL", 60),
                                              ("ALLOC", "SCRATCH", 70)]):
        put("memory_allocate", id=i + 1, nid=node, pid=pid, tid=7, agent_id=5, type=kind, level=level,
            start=start + begin, end=start + begin + 1, address=0x7000, size=4096)


def rocpd(path, parts=1):
    db = fresh(path)
    rocpd_part(db, UUID, 500, 77, 10_000)
    if parts > 1:
        rocpd_part(db, SECOND_UUID, 600, 77, 20_000)
    db.commit()
    db.close()


def to_rocpd_3_0_4(db):
    """The columns and tables that schemas 3.0.2 to 3.0.4 added, with something in each."""
    u = UUID
    for table in ("kernel_dispatch", "memory_copy"):
        db.execute(f'ALTER TABLE "rocpd_{table}_{u}" ADD COLUMN graph_exec_id INTEGER NOT NULL DEFAULT 0')
        db.execute(f'ALTER TABLE "rocpd_{table}_{u}" ADD COLUMN graph_node_id INTEGER NOT NULL DEFAULT 0')
    db.execute(f'UPDATE "rocpd_kernel_dispatch_{u}" SET graph_exec_id = 3, graph_node_id = 1')
    for column in ("sample_id", "xcc", "shader_engine", "instance"):
        db.execute(f'ALTER TABLE "rocpd_pmc_event_{u}" ADD COLUMN {column} INTEGER')
    # Streaming counters: values at times, of a dispatch's event.
    for i in range(3):
        db.execute(f'INSERT INTO "rocpd_sample_{u}" (id, track_id, timestamp) VALUES (?, 1, ?)', (900 + i, 10_000 + i))
        db.execute(f'INSERT INTO "rocpd_pmc_event_{u}" (id, event_id, pmc_id, value, sample_id) VALUES (?, 2, 11, 1.0, ?)',
                   (900 + i, 900 + i))
    db.execute(f'ALTER TABLE "rocpd_event_{u}" ADD COLUMN parent_id INTEGER')
    db.execute(f'CREATE TABLE "rocpd_gpu_pc_sample_{u}" (id INTEGER PRIMARY KEY, timestamp BIGINT)')
    db.execute(f'INSERT INTO "rocpd_gpu_pc_sample_{u}" (timestamp) VALUES (1), (2)')


KINETO_BASE = 1_700_000_000_000_000_000


def kineto_events():
    def x(category, name, pid, tid, ts, dur, **args):
        return {"ph": "X", "cat": category, "name": name, "pid": pid, "tid": tid, "ts": ts, "dur": dur, "args": args}

    return [
        {"ph": "M", "name": "process_name", "pid": 900, "tid": 0, "ts": 0, "args": {"name": "python"}},
        {"ph": "M", "name": "thread_name", "pid": 900, "tid": 901, "ts": 0, "args": {"name": "thread 901 (python)"}},
        x("user_annotation", "ProfilerStep#1", 900, 901, 100.5, 900.0, **{"External id": 1}),
        x("cpu_op", "aten::mm", 900, 901, 110, 200, **{
            "External id": 17, "Sequence number": 4, "Input Dims": [[2, 3], [3, 4], []]}),
        x("cpu_op", "aten::empty", 900, 901, 320, 5, **{"External id": 18}),
        x("python_function", "model.py(3): forward", 900, 901, 105, 400, **{"Python id": 1}),
        x("cuda_runtime", "hipLaunchKernel", 900, 901, 120.001, 10.25, **{
            "External id": 17, "cid": 211, "correlation": 33, "kernel": "_Z2mmPf", "grid": [4, 2, 1],
            "block": [64, 1, 1], "shared memory": 1024}),
        x("kernel", "_Z2mmPf", 0, 7, 140.125, 50.5, **{
            "External id": 17, "device": 0, "stream": 7, "correlation": 33, "kind": "Dispatch Kernel",
            "grid": [4, 2, 1], "block": [64, 1, 1]}),
        {"ph": "s", "id": 33, "pid": 900, "tid": 901, "ts": 120.001, "cat": "ac2g", "name": "ac2g"},
        {"ph": "f", "id": 33, "pid": 0, "tid": 7, "ts": 140.125, "cat": "ac2g", "name": "ac2g", "bp": "e"},
        x("cuda_runtime", "hipMemcpyAsync", 900, 901, 400, 4, **{
            "cid": 1, "correlation": 34, "src": "0x10", "dst": "0x20", "bytes": 4096, "kind": "1"}),
        x("gpu_memcpy", "Memcpy HtoD (Host -> Device)", 0, 7, 410, 8, **{
            "device": 0, "stream": 7, "correlation": 34, "bytes": 4096}),
        x("gpu_memset", "Memset (Device)", 1, 8, 430, 1, **{"device": 1, "stream": 8, "correlation": 0, "bytes": 64}),
        x("gpu_user_annotation", "ProfilerStep#1", 0, 7, 139, 300),
        x("overhead", "Activity Buffer Request", -1, 0, 99, 1),
        {"ph": "B", "cat": "mine", "name": "begun", "pid": 900, "tid": 902, "ts": 500},
        {"ph": "E", "pid": 900, "tid": 902, "ts": 510},
        {"ph": "i", "s": "t", "cat": "cpu_instant_event", "name": "[memory]", "pid": 900, "tid": 901, "ts": 330,
         "args": {"Total Allocated": 1024, "Device Id": 0, "Bytes": 512}},
        {"ph": "C", "cat": "hw", "name": "power", "pid": 900, "tid": 0, "ts": 600, "args": {"watts": 250}},
        x("Trace", "PyTorch Profiler (0)", "Spans", "PyTorch Profiler", 90, 1000, **{"Op count": 3}),
        {"ph": "i", "s": "g", "name": "Record Window End", "pid": "", "tid": "", "ts": 1100},
    ]


def kineto(path, events=None, packed=False, tail="", base=KINETO_BASE):
    head = {"schemaVersion": 1,
            "deviceProperties": [{"id": 0, "name": "AMD Instinct MI300X"}, {"id": 1, "name": "AMD Instinct MI300X"}],
            "distributedInfo": {"backend": "nccl", "rank": 0, "world_size": 1}}
    if base is not None:
        head["baseTimeNanoseconds"] = base
    text = json.dumps(head)[:-1] + ', "traceEvents": [\n'
    text += ",\n".join(json.dumps(event, indent=1) for event in (kineto_events() if events is None else events))
    text += tail + '\n], "traceName": "x.json"}'
    data = text.encode()
    pathlib.Path(path).write_bytes(gzip.compress(data, mtime=0) if packed else data)


def write_all(folder):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    rpd_v2(folder / "v2.rpd")
    rpd_v3(folder / "v3.rpd")
    rocpd(folder / "rocpd.db")
    kineto(folder / "kineto.json")
    kineto(folder / "kineto.json.gz", packed=True)


if __name__ == "__main__":
    write_all(sys.argv[1])
