#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What is read of PyTorch, RPD and rocprofv3 files: kernels and their sums, operators, GPU numbers, processes, compute
units, collectives, and that nothing is called missing or impossible that is neither. The truth is TraceLens' report of the
same file (kernel_summary, ops_summary), or a plain count of the file's own records."""

import gzip
import json
import shutil
import sqlite3

from silicon_case import main

# Kernels, their sum in us, copies and fills.
KINETO = {
    "ddp-4-ranks": (12381, 341981.881, 3906),
    "ddp-4-ranks-nccl-only": (84, 164892.54, 0),
    "mi210-gpu-only": (562, 5343.422, 0),
    "mi250-minitoy-train": (14, 110.881, 2),
    "mi300x-bert-small": (60, 388.344, 1),
    "mi300x-compile-triton": (12, 12549.021, 0),
    "mi300x-normalization": (168, 991.996, 5),
    "mi300x-qwen-prefill": (1516, 43062.042, 1),
    "mi300x-resnet-ddp": (2995, 97255.826, 658),
    "mi300x-timesformer": (447, 118758.892, 2),
    "mi300x-vit": (155, 1716.301, 0),
    "sglang-decode-graph": (555, 9765.437, 3),
    "sglang-prefill": (527, 492773.592, 7),
    "vllm-decode-graph": (425, 10674.517, 9),
    "vllm-prefill-piecewise": (413, 156008.506, 10),
}

# HIP's numbers of the GPUs that did the work, and their compute units; every file has GPU 0 alone but these.
RANKS = {"ddp-4-ranks": [0, 1, 2, 3], "ddp-4-ranks-nccl-only": [0, 1, 2, 3]}
UNITS = {"mi210-gpu-only": 104, "mi250-minitoy-train": 104} | {
    name: 304 for name in KINETO if name.startswith(("mi300x", "sglang", "vllm"))}

# Operators: us of the kernels that they launched themselves, by TraceLens. Operators of one name are one.
OPERATORS = {
    "mi300x-bert-small": {"aten::addmm": 174.131, "aten::_flash_attention_forward": 113.656, "aten::native_layer_norm": 39.519},
    "mi300x-compile-triton": {"aten::mm": 8029.555, "aten::_flash_attention_forward": 3683.509},
    "mi300x-timesformer": {"aten::_softmax": 41856.651, "aten::bmm": 41328.78, "aten::addmm": 12814.77},
    "mi300x-vit": {"aten::addmm": 942.326, "aten::_flash_attention_forward": 374.687, "aten::native_layer_norm": 139.695},
    "mi300x-qwen-prefill": {"aten::mm": 8663.615, "aten::mul": 4541.289, "aten::_flash_attention_forward": 3908.798},
}

PROCESSES = {"mi300x-bert-small": [6240], "mi300x-timesformer": [13201], "mi300x-vit": [950], "mi300x-qwen-prefill": [23232],
             "mi300x-resnet-ddp": [542], "sglang-prefill": [251], "vllm-decode-graph": [851]}


def rows(case, trace, sql):
    return case.json("query", trace, sql)["tables"]["rows"]["rows"]


def kineto(case, name):
    return case.file(f"kineto/{name}.json.gz")


def check_health(case, trace):
    """Nothing starts before it was submitted, and every other check is clean, too."""
    checks = {row["check"]: row["found"] for row in case.json("explain", "health", trace)["tables"]["checks"]["rows"]}
    impossible = {check: found for check, found in checks.items()
                  if found and ("before they" in check or "did not end" in check)}
    case.equal("impossible", {}, impossible)


# Copy calls: how many, and ms of the host in them.
COPY_CALLS = {
    "mi300x-timesformer": {"hipMemcpyWithStream": (2, "96.1 ms")},
    "vllm-decode-graph": {"hipMemcpyAsync": (9, "47.8 us")},
}
RPD_COPY_CALLS = {"hipMemcpyWithStream": (22, "345.6 ms"), "hipMemcpyAsync": (514, "3.4 ms")}


def check_copies_missing(case, trace, expected):
    """Both questions tell of the calls whose copies are not there."""
    notes = [{"what": "copies of calls", "count": count, "note": f"calls of {call}, {ms} in all: no copy of theirs was recorded"}
             for call, (count, ms) in expected.items()]
    lost = case.json("explain", "health", trace)["tables"]["lost"]["rows"]
    found = [{name: row[name] for name in ("what", "count", "note")} for row in lost if row["what"] == "copies of calls"]
    case.equal("health", sorted(notes, key=str), sorted(found, key=str))
    page = case.run("explain", "copies", trace)
    for one in notes:
        case.expect(f"explain copies does not say '{one['note']}':\n{page}", one["note"] in page)


def without_copies(name):
    """The same run, recorded without the GPU's copies, as PyTorch's profiler without its category gpu_memcpy."""
    def check(case):
        complete = kineto(case, name)
        check_copies_missing(case, complete, {})
        trace = json.load(gzip.open(complete))
        trace["traceEvents"] = [one for one in trace["traceEvents"] if one.get("cat") != "gpu_memcpy"]
        path = case.scratch / "without.json"
        path.write_text(json.dumps(trace))
        check_copies_missing(case, path, COPY_CALLS[name])

    return check


def rpd_without_copies(case):
    path = unpacked(case, "mytrace")
    check_copies_missing(case, path, {})
    with sqlite3.connect(path) as file:
        # RPD 2 describes copies by their type alone.
        file.execute("delete from rocpd_op where opType_id in (select id from rocpd_string where string like '%cop%'"
                     " or string like '%memcpy%')")
        file.execute("delete from rocpd_api_ops where op_id not in (select id from rocpd_op)")
    file.close()
    check_copies_missing(case, path, RPD_COPY_CALLS)


def check_gpus(case, trace, expected):
    gpus = case.json("explain", "busy", trace)["tables"]["gpus"]["rows"]
    case.equal("GPUs that did something", expected, [row["gpu"] for row in gpus if row["operations"]])


def reads(name):
    def check(case):
        trace = kineto(case, name)
        kernels, us, copies = KINETO[name]
        answer = rows(case, trace, "select count(*) as kernels, sum(o.\"end\" - o.start) / 1e3 as us from rochound_dispatch d "
                                   "join rocpd_op o on o.id = d.op_id")[0]
        case.equal("kernels", kernels, answer["kernels"])
        case.near("us in kernels", us, answer["us"], within=1)
        case.equal("copies", copies, rows(case, trace, "select count(*) as n from rochound_copy")[0]["n"])
        check_gpus(case, trace, RANKS.get(name, [0]))
        check_health(case, trace)
        if name in PROCESSES:
            found = case.json("explain", "health", trace)["tables"]["processes"]["rows"]
            case.equal("processes", PROCESSES[name], [row["pid"] for row in found])
        if name in UNITS:
            units = rows(case, trace, "select distinct split_part(value, ',', 2) as units from rochound_fact "
                                      "where name = 'compute_units'")
            case.equal("compute units", [str(UNITS[name])], [str(row["units"]) for row in units])

    return check


def operators(name):
    def check(case):
        found = case.json("explain", "autograd", kineto(case, name), "--limit", "0")["tables"]["operators"]["rows"]
        us = {}
        for row in found:
            us[row["operator"]] = us.get(row["operator"], 0) + row["gpu_exclusive_ns"] / 1e3
        for operator, expected in OPERATORS[name].items():
            case.near(operator, expected, us.get(operator, 0), within=1)

    return check


def collectives(name):
    """Rank 3 comes last to all 21."""
    def check(case):
        answer = case.json("explain", "stragglers", kineto(case, name))
        ranks = {row["rank"]: row for row in answer["tables"]["ranks"]["rows"]}
        case.equal("ranks", [0, 1, 2, 3], sorted(ranks))
        case.equal("collectives of each rank", {21}, {row["collectives"] for row in ranks.values()})
        case.equal("that met nobody", {0}, {row["met_nobody"] for row in ranks.values()})
        case.equal("times last", [0, 0, 0, 21], [ranks[rank]["times_last"] for rank in sorted(ranks)])
        case.equal("late", [3], [rank for rank, row in ranks.items() if row["verdict"] == "late"])
        kinds = {}
        for row in answer["tables"]["collectives"]["rows"]:
            kinds[row["name"]] = kinds.get(row["name"], 0) + row["meetings"]
            case.expect(f"bytes of {row}", row["rank_bytes"])
        case.equal("collectives", {"allreduce": 15, "broadcast": 6}, kinds)

    return check


def imbalance(case):
    """Computing takes 47.6, 43.7, 43.6 and 42.1 ms: waiting in RCCL is no work that could be divided."""
    found = [one for one in case.findings(kineto(case, "ddp-4-ranks")) if one["rule"] == "gpu-imbalance"]
    case.equal("imbalance", [], [one["finding"] for one in found if one["confidence"] != "note"])


# --- RPD

RPD = {"mytrace": (10124, 416.625), "matmul_result": (85, 183.918), "matmul_result_large": (85, 2110.632)}


def unpacked(case, name):
    path = case.scratch / f"{name}.rpd"
    with gzip.open(case.file(f"rpd/{name}.rpd.gz")) as packed, open(path, "wb") as plain:
        shutil.copyfileobj(packed, plain)
    return path


def rpd(name, packed):
    def check(case):
        trace = case.file(f"rpd/{name}.rpd.gz") if packed else unpacked(case, name)
        operations, ms = RPD[name]
        answer = rows(case, trace, "select count(*) as n, sum(\"end\" - start) / 1e6 as ms from rocpd_op")[0]
        case.equal("operations", operations, answer["n"])
        case.near("ms", ms, answer["ms"], within=0.01)
        check_gpus(case, trace, [0])
        check_health(case, trace)

    return check


def rpd_chrome(case):
    """The same run as RPD's own export: GPU, calls and markers are told by their names alone."""
    trace = case.file("rpd/matmul_result.json.gz")
    case.expect("it is read", rows(case, trace, "select count(*) as n from rocpd_api")[0]["n"] > 0)


def rpd_ranges(case):
    """run_to_completion is a range of the program around everything, no call that the path waits in."""
    trace = unpacked(case, "mytrace")
    answer = rows(case, trace, "select d.string as domain, u.string as text from rocpd_api a "
                               "join rocpd_string d on d.id = a.domain_id join rocpd_ustring u on u.id = a.args_id "
                               "where u.string like 'run_to_completion%'")
    case.equal("range", [{"domain": "roctx", "text": "run_to_completion"}], answer)
    path = case.json("explain", "critical-path", trace)["tables"]["attribution"]["rows"]
    share = {row["what"]: row["share_percent"] for row in path}
    on_gpu = sum(percent for what, percent in share.items() if what.startswith(("kernel", "cop")))
    case.expect(f"the GPU, busy 91%, is on the path: {share}", on_gpu > 50)


# --- rocprofv3

def rocprofv3_json(case):
    trace = case.file("rocprofv3/mi350x-training_results.json.gz")
    answer = rows(case, trace, "select count(*) as n, sum(o.\"end\" - o.start) as ns from rochound_dispatch d "
                               "join rocpd_op o on o.id = d.op_id")[0]
    case.equal("dispatches", 43915, answer["n"])
    case.equal("ns", 4441741378, answer["ns"])
    check_gpus(case, trace, [0])
    check_health(case, trace)
    gpu = rows(case, trace, "select name, product from rochound_agent where \"gpuId\" = 0")
    case.equal("GPU 0", [{"name": "gfx950", "product": "AMD Instinct MI350X"}], gpu)
    units = rows(case, trace, "select value from rochound_fact where name = 'compute_units' order by 1")
    case.equal("compute units", {"256"}, {row["value"].split(",")[1] for row in units})
    case.equal("names with .kd", 0, rows(case, trace, "select count(*) as n from kernel where kernelName like '%.kd%'")[0]["n"])
    registers = rows(case, trace, "select count(*) as n from rochound_fact where name = 'registers'")[0]["n"]
    case.expect(f"registers of {registers} kernels", registers > 0)


CASES = {f"reads_{name}": reads(name) for name in KINETO}
CASES |= {f"operators_{name}": operators(name) for name in OPERATORS}
CASES |= {f"collectives_{name}": collectives(name) for name in RANKS}
CASES |= {f"rpd_{name}": rpd(name, packed=False) for name in RPD}
CASES |= {f"rpd_gz_{name}": rpd(name, packed=True) for name in RPD}
CASES |= {f"without_copies_{name}": without_copies(name) for name in COPY_CALLS}
CASES |= {"rpd_without_copies": rpd_without_copies}
CASES |= {"imbalance_ddp-4-ranks": imbalance, "rpd_ranges": rpd_ranges, "rpd_chrome": rpd_chrome, "rocprofv3_json": rocprofv3_json}

if __name__ == "__main__":
    main(CASES)
