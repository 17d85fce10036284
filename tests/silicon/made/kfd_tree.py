#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""kfd_tree.py RESULTS FOLDER: the agents of rocprofv3's JSON as the files of KFD's topology that they were read from."""

import gzip
import json
import pathlib
import sys

PROPERTIES = [
    "cpu_cores_count", "simd_count", "mem_banks_count", "caches_count", "io_links_count", "cpu_core_id_base", "simd_id_base",
    "max_waves_per_simd", "lds_size_in_kb", "gds_size_in_kb", "num_gws", "wave_front_size", "array_count",
    "simd_arrays_per_engine", "cu_per_simd_array", "simd_per_cu", "max_slots_scratch_cu", "gfx_target_version", "vendor_id",
    "device_id", "location_id", "domain", "drm_render_minor", "hive_id", "num_sdma_engines", "num_sdma_xgmi_engines",
    "num_sdma_queues_per_engine", "num_cp_queues", "max_engine_clk_fcompute", "local_mem_size"]
# Bits of `capability`, lowest first, with their width.
CAPABILITIES = [
    ("HotPluggable", 1), ("HSAMMUPresent", 1), ("SharedWithGraphics", 1), ("QueueSizePowerOfTwo", 1), ("QueueSize32bit", 1),
    ("QueueIdleEvent", 1), ("VALimit", 1), ("WatchPointsSupported", 1), ("WatchPointsTotalBits", 4), ("DoorbellType", 2),
    ("AQLQueueDoubleMap", 1), ("DebugTrapSupported", 1), ("WaveLaunchTrapOverrideSupported", 1),
    ("WaveLaunchModeSupported", 1), ("PreciseMemoryOperationsSupported", 1), ("DEPRECATED_SRAM_EDCSupport", 1),
    ("Mem_EDCSupport", 1), ("RASEventNotify", 1), ("ASICRevision", 4), ("SRAM_EDCSupport", 1), ("SVMAPISupported", 1),
    ("CoherentHostAccess", 1), ("DebugSupportedFirmware", 1)]
BANK = ["heap_type", "size_in_bytes", "flags", "width", "mem_clk_max"]
CACHE = ["processor_id_low", "level", "size", "cache_line_size", "cache_lines_per_tag", "association", "latency", "type"]
LINK = ["type", "version_major", "version_minor", "node_from", "node_to", "weight", "min_latency", "max_latency",
        "min_bandwidth", "max_bandwidth", "recommended_transfer_size", "flags"]
GPU = 2


def write(path, names, values):
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{name} {values.get(name, 0)}\n" for name in names))


def capability(agent):
    bits, at = 0, 0
    for name, width in CAPABILITIES:
        bits |= agent["capability"].get(name, 0) << at
        at += width
    return bits


def write_node(agent, node):
    values, names = dict(agent), list(PROPERTIES)
    if agent["type"] == GPU:
        values |= {"fw_version": agent["fw_version"]["uCode"], "capability": capability(agent),
                   "sdma_fw_version": agent["sdma_fw_version"]["uCodeSDMA"]}
        names += ["fw_version", "capability", "sdma_fw_version", "num_xcc"]
    write(node / "properties", [*names, "max_engine_clk_ccompute"], values)
    (node / "gpu_id").write_text(f"{agent.get('gpu_id', 0)}\n")
    (node / "name").write_text(agent.get("model_name", "") + "\n")
    for number, bank in enumerate(agent.get("mem_banks", [])):
        write(node / f"mem_banks/{number}/properties", BANK, bank | {"flags": 0})
    for number, cache in enumerate(agent.get("caches", [])):
        kind = sum(cache["type"][name] << at for at, name in enumerate(["Data", "Instruction", "CPU", "HSACU"]))
        write(node / f"caches/{number}/properties", CACHE, cache | {"type": kind})
    for number, link in enumerate(agent.get("io_links", [])):
        write(node / f"io_links/{number}/properties", LINK, link | {"flags": link["flags"]["Override"]})


def main(results, folder):
    with gzip.open(results) as file:
        agents = json.load(file)["rocprofiler-sdk-tool"][0]["agents"]
    for agent in agents:
        write_node(agent, pathlib.Path(folder) / f"sys/class/kfd/kfd/topology/nodes/{agent['node_id']}")


main(*sys.argv[1:])
