# SPDX-License-Identifier: MIT
"""Copies of machines for `rochound doctor --root`, made from short descriptions (machines.py).

A GPU is a model of the software GPU (src/softgpu/devices) with some fields changed, or with all of them given. What
the runtimes would say follows from it as it does in the real ones, which the tests on the software GPU check.
"""

import json
import pathlib

DEVICES = pathlib.Path(__file__).resolve().parents[2] / "src/softgpu/devices"
TOPOLOGY = "sys/class/kfd/kfd/topology/nodes"


def target_version(target):
    """gfx90a -> 90010, as KFD writes it."""
    digits = target[3:]
    return int(digits[:-2]) * 10000 + int(digits[-2], 16) * 100 + int(digits[-1], 16)


class Sysroot:
    def __init__(self, folder):
        self.folder = pathlib.Path(folder)
        self.minor = 128
        self.hsa, self.hip = [], []

    def write(self, path, content):
        place = self.folder / path.lstrip("/")
        place.parent.mkdir(parents=True, exist_ok=True)
        if isinstance(content, bytes):
            place.write_bytes(content)
        else:
            place.write_text(content)

    def properties(self, path, values):
        self.write(path, "".join(f"{key} {value}\n" for key, value in values.items()))

    def gpu(self, index, gpu):
        model = json.loads((DEVICES / f"{gpu['model']}.json").read_text())
        model.update(gpu)
        node, bus, function = index + 1, model.get("bus", 3 + index), model.get("function", 0)
        shares_drm = model.get("shares_drm", False)
        minor = self.minor - 1 if shares_drm else self.minor
        folder = f"{TOPOLOGY}/{node}"
        self.write(f"{folder}/gpu_id", f"{4711 + node}\n")
        self.write(f"{folder}/name", model["kfd_name"] + "\n")
        self.properties(f"{folder}/properties", {
            "cpu_cores_count": 0, "simd_count": model["cu_count"] * model["simd_per_cu"],
            "simd_per_cu": model["simd_per_cu"], "lds_size_in_kb": model["lds_bytes"] // 1024,
            "wave_front_size": model["wave_size"], "gfx_target_version": target_version(model["target"]),
            "vendor_id": 0x1002, "device_id": model["device_id"], "location_id": bus << 8 | function, "domain": 0,
            "drm_render_minor": model.get("kfd_minor", minor), "max_engine_clk_fcompute": model["engine_clock_mhz"],
            "fw_version": model["cp_firmware"], "sdma_fw_version": model["sdma_firmware"],
            "num_xcc": model["num_xcc"], "capability": model.get("capability", 1 << 27)})
        self.properties(f"{folder}/mem_banks/0/properties", {
            "heap_type": 1 if model["vram_host_visible"] else 2, "size_in_bytes": model["vram_bytes"],
            "width": model["vram_width_bits"], "mem_clk_max": model["memory_clock_mhz"]})
        caches = [cache for cache in model["caches"] for _ in range(cache["entries"])]
        for number, cache in enumerate(caches):
            self.properties(f"{folder}/caches/{number}/properties", {
                "level": cache["level"], "size": cache["kilobytes"], "type": 9 if cache["kind"] == "data" else 10})
        if not shares_drm:
            device = f"sys/class/drm/renderD{minor}/device"
            self.write(f"{device}/vendor", "0x1002\n")
            self.write(f"{device}/device", f"0x{model['device_id']:04x}\n")
            self.write(f"{device}/revision", f"0x{model['revision_id']:02x}\n")
            self.write(f"{device}/uevent", f"DRIVER=amdgpu\nPCI_SLOT_NAME=0000:{bus:02x}:00.0\n")
            whole = model.get("drm_vram_bytes", model["vram_bytes"])
            self.write(f"{device}/mem_info_vram_total", f"{whole}\n")
            self.write(f"{device}/mem_info_vis_vram_total", f"{whole if model['vram_host_visible'] else 256 << 20}\n")
            self.write(f"{device}/pp_dpm_sclk", f"0: 500Mhz *\n1: {model.get('sclk', model['engine_clock_mhz'])}Mhz\n")
            for name in ("current_compute_partition", "current_memory_partition"):
                if name in model:
                    self.write(f"{device}/{name}", model[name] + "\n")
            self.minor += 1
        self.runtimes(node, bus, function, model)

    def runtimes(self, node, bus, function, model):
        shown = model.get("shown_target", model["target"])
        features = model.get("features", ":sramecc+:xnack-" if shown in ("gfx90a", "gfx942", "gfx950") else "")
        levels = {level: sum(c["kilobytes"] * c["entries"] for c in model["caches"]
                             if c["level"] == level and c["kind"] == "data") * 1024 for level in (2, 3)}
        common = {"clock_mhz": model["engine_clock_mhz"], "memory_clock_mhz": model["memory_clock_mhz"],
                  "memory_width": model["vram_width_bits"], "memory_bytes": model["vram_bytes"],
                  "wavefront": model["wave_size"], "lds_bytes": model["lds_bytes"]}
        if not model.get("hidden_from_hsa"):
            self.hsa.append({"name": shown, "product": model["marketing_name"], "node": node,
                             "device_id": model["device_id"], "bdf": bus << 8 | function, "domain": 0,
                             "compute_units": model.get("hsa_cu", model["cu_count"]), "firmware": model["cp_firmware"],
                             "sdma_firmware": model["sdma_firmware"], "cache_bytes": [16384, levels[2], levels[3], 0],
                             "isas": [f"amdgcn-amd-amdhsa--{shown}{features}"], **common})
        if not model.get("hidden_from_hip") and not model.get("hidden_from_hsa"):
            pairs = model["wave_size"] == 32
            self.hip.append({"name": model["marketing_name"], "arch": shown + features,
                             "multiprocessors": model.get("hip_cu", model["cu_count"] // (2 if pairs else 1)),
                             "l2_bytes": levels[2] // model["num_xcc"], "pci_domain": 0, "pci_bus": bus, "pci_device": 0,
                             "large_bar": bool(model["vram_host_visible"]), "managed_memory": True, **common})

    def machine(self, machine):
        self.folder.mkdir(parents=True, exist_ok=True)
        self.properties(f"{TOPOLOGY}/0/properties", {"cpu_cores_count": 16, "simd_count": 0})
        for index, gpu in enumerate(machine.get("gpus", [])):
            self.gpu(index, gpu)
        if "gpus" in machine:
            self.write("sys/module/amdgpu/initstate", "live\n")
            self.write("proc/modules", "amdgpu 16777216 0 - Live 0x0000000000000000\n")
            minors = range(128, 128 + max(self.minor - 128, len(machine["gpus"])))
            devices = ["/dev/kfd"] + [f"/dev/dri/renderD{minor}" for minor in minors]
            self.write("devices", "".join(f"{path} 660 0 993 open\n" for path in devices))
        self.write("usr/share/libdrm/amdgpu.ids", "1.0.0\n73BF,\tC1,\tAMD Radeon RX 6800 XT\n")
        self.write("proc/sys/kernel/osrelease", "6.12.38-amd64\n")
        self.write("proc/cmdline", "BOOT_IMAGE=/boot/vmlinuz root=/dev/sda1 ro quiet\n")
        self.write("etc/group", "root:x:0:\nvideo:x:44:user\nrender:x:993:user\nuser:x:1000:\n")
        self.write("user", "uid 1000\ngroups 1000 44 993\n")
        self.write("environment", "".join(f"{k}={v}\n" for k, v in machine.get("environment", {}).items()))
        if machine.get("runtimes", True):
            hsa = {"runtime": "hsa", "library": "/usr/lib/x86_64-linux-gnu/libhsa-runtime64.so.1.18.0",
                   "version": "1.18", "svm": True, "xnack": False, "gpus": self.hsa, **machine.get("hsa", {})}
            hip = {"runtime": "hip", "library": "/usr/lib/x86_64-linux-gnu/libamdhip64.so.7.2",
                   "version": "7.2.53211", "gpus": self.hip, **machine.get("hip", {})}
            self.write("probe.jsonl", json.dumps(hsa) + "\n" + json.dumps(hip) + "\n")
            bare = [{**gpu, "multiprocessors": gpu["multiprocessors"] * (2 if gpu["wavefront"] == 32 else 1)}
                    for gpu in self.hip]
            self.write("probe-without-wgp.jsonl", json.dumps({**hip, "gpus": bare}) + "\n")
        for path, content in machine.get("files", {}).items():
            if isinstance(content, tuple):
                (self.folder / path).symlink_to(content[1])
            else:
                self.write(path, content)
