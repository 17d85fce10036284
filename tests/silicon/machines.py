#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What the doctor says of real machines, from files of their driver alone: KFD trees of Instinct servers and
/sys/class/drm of 19 cards. "agree" needs two that have answered; which of them that are is in `said`."""

import pathlib
import re
import tarfile

from silicon_case import main

# GPUs, product, compute units of each, how compute units are judged, and caches as the driver lists them.
TREES = {
    # The copy of this machine lacks one of 64 nodes.
    "kfd-mi300x-cpx-64gpu": dict(gpus=63, name="MI300X", units=38, judged="explained", why="partition mode CPX"),
    "kfd-mi308x-cpx-32gpu": dict(gpus=32, name="MI308X", units=20, judged="explained", why="partition mode CPX",
                                 memory="48.0 GiB", l2="4 MiB", l3="64 MiB"),
    "kfd-mi210-8gpu": dict(gpus=8, name="MI210", units=104, judged="agree"),
    "kfd-mi350x-8gpu": dict(gpus=8, name="MI350X", units=256, judged="agree", memory="288.0 GiB", l2="4 MiB", l3="256 MiB"),
    # An old driver: it names no target.
    "kfd-vega10-mi25-1gpu": dict(gpus=2, name="", units=64, judged="one source", memory="16.0 GiB"),
}


def unpacked(case, name):
    with tarfile.open(case.file(f"machine/{name}.tar.xz")) as tar:
        tar.extractall(case.scratch, filter="data")
    return case.scratch


def facts_of(gpu):
    return {fact["name"]: (fact["verdict"], fact["said"], fact.get("why", "")) for fact in gpu["facts"]}


def nobody_agrees_alone(case, gpu):
    for name, (verdict, said, _) in facts_of(gpu).items():
        case.expect(f"{gpu['name']}, {name}: {verdict}, and {len(said)} have answered: {said}", verdict != "agree" or len(said) >= 2)
        case.expect(f"{gpu['name']}, {name}: {verdict}, and nobody has answered", verdict == "unknown" or said)


def tree(name):
    def check(case):
        truth = TREES[name]
        gpus = case.json("doctor", "--root", unpacked(case, name), "--files-only", code=None)["gpus"]
        case.equal("GPUs", truth["gpus"], len(gpus))
        for gpu in gpus:
            facts = facts_of(gpu)
            case.expect(f"it is called {gpu['name']}", truth["name"] in gpu["name"])
            case.expect(f"it is called {gpu['name']}", not truth["name"] or "unknown" not in gpu["name"])
            verdict, said, why = facts["compute units"]
            case.equal("compute units", str(truth["units"]), said["KFD"])
            case.equal("verdict on compute units", truth["judged"], verdict)
            case.expect(f"'{truth.get('why')}' is not in '{why}'", truth.get("why", "") in why)
            for fact, key in (("memory", "memory"), ("L2 cache", "l2"), ("L3 (Infinity) cache", "l3")):
                if key in truth:
                    case.equal(fact, truth[key], facts[fact][1].get("KFD"))
            for fact, (verdict, said, why) in facts.items():
                case.expect(f"{fact} is wrong: {said}, {why}", verdict != "wrong")
            nobody_agrees_alone(case, gpu)

    return check


def cards(case):
    """/sys/class/drm without KFD: each is a card of DRM that no program can use, and nothing is said of clocks."""
    root = unpacked(case, "drm-sysfs-19-cards") / "amd"
    names = sorted(path.name for path in root.iterdir())
    case.equal("cards", 19, len(names))
    for name in names:
        machine = case.scratch / "machines" / name
        (machine / "sys/class").mkdir(parents=True)
        (root / name).rename(machine / "sys/class/drm")
        report = case.json("doctor", "--root", machine, "--files-only", code=None)
        case.equal(f"GPUs of {name}", [], report["gpus"])
        said = " ".join(finding["what"] for finding in report["findings"])
        case.expect(f"{name}: {said}", not re.search(r"\bMHz\b", said))


# A device of the software GPU, the machine with one of its kind, and what is another product's.
OURS = {
    "mi355x": ("kfd-mi350x-8gpu", {"device_id", "max_engine_clk_fcompute"}),
    "mi250x": ("kfd-mi210-8gpu", {"device_id", "simd_count"}),
    "mi300x-cpx": ("kfd-mi300x-cpx-64gpu", set()),
}
# Of a machine, not of its GPUs.
OF_MACHINE = {"cpu_core_id_base", "simd_id_base", "location_id", "domain", "drm_render_minor", "hive_id", "unique_id", "caches_count",
              "io_links_count", "p2p_links_count", "max_engine_clk_ccompute"}
# src/softgpu/devices/README.md says why.
ON_PURPOSE = {"capability", "debug_prop", "fw_version", "sdma_fw_version"}
NODES = "sys/class/kfd/kfd/topology/nodes"


def properties(file):
    return dict(line.split(" ", 1) for line in file.read_text().splitlines())


def first_gpu(root):
    for node in sorted((root / NODES).iterdir(), key=lambda path: int(path.name)):
        if properties(node / "properties")["simd_count"] != "0":
            return node
    raise AssertionError(f"no GPU in {root}")


def listed(node):
    kept = ("level", "size", "cache_line_size", "type")
    return [tuple(properties(cache / "properties")[name] for name in kept) for cache in (node / "caches").glob("*")]


def device(name):
    """The software GPU's tree, field by field."""
    def check(case):
        machine, of_product = OURS[name]
        there = first_gpu(unpacked(case, machine))
        case.run("softgpu", "--gpu", name, "--", "cp", "-rL", "/proc/self/environ", case.scratch / "environ")
        variables = dict(line.split("=", 1) for line in (case.scratch / "environ").read_text().split("\0") if "=" in line)
        ours = first_gpu(pathlib.Path(variables["ROCHOUND_SOFTGPU_ROOT"]))
        wanted, got = properties(there / "properties"), properties(ours / "properties")
        for field in sorted(set(wanted) - OF_MACHINE - ON_PURPOSE - of_product):
            case.equal(field, wanted[field], got.get(field))
        for field in sorted((ON_PURPOSE | of_product) & set(wanted)):
            case.expect(f"{field} is called different, and is the same", wanted[field] != got.get(field))
        if name != "mi250x":
            case.equal("ASIC revision", int(wanted["capability"]) >> 22 & 15, int(got["capability"]) >> 22 & 15)
        if any((there / "caches").glob("*")):
            case.equal("caches", set(listed(there)), set(listed(ours)))
            shared = [sorted(one[:2] for one in listed(node) if int(one[0]) > 1) for node in (there, ours)]
            case.equal("L2 and L3 as often as there", *shared)
        bank = there / "mem_banks/0/properties"
        if bank.exists():
            for field in ("size_in_bytes", "width", "mem_clk_max"):
                case.equal(field, properties(bank)[field], properties(ours / "mem_banks/0/properties")[field])

    return check


CASES = {f"machine_{name.removeprefix('kfd-')}": tree(name) for name in TREES}
CASES["machine_drm_cards"] = cards
CASES |= {f"tree_{name}": device(name) for name in OURS}

if __name__ == "__main__":
    main(CASES)
