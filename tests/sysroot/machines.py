# SPDX-License-Identifier: MIT
"""Machines as the doctor meets them, and what it says about their GPUs.

Figures of what src/softgpu/devices does not have are those of docs/hardware.md. expect: fact -> (verdict, words that
its reason must hold); exit: the exit code; words: what must be in the text, in this order; findings: ids.
"""

import json

GIB = 1 << 30


def gpu(model, **changes):
    return {"model": model, **changes}


def cache(l2_kib, l3_mib=0):
    levels = [{"kind": "data", "level": 1, "kilobytes": 16, "entries": 1},
              {"kind": "data", "level": 2, "kilobytes": l2_kib, "entries": 1}]
    return levels + ([{"kind": "data", "level": 3, "kilobytes": l3_mib * 1024, "entries": 1}] if l3_mib else [])


RX6700XT = dict(marketing_name="AMD Radeon RX 6700 XT", kfd_name="navy_flounder", target="gfx1031", device_id=0x73df,
                revision_id=0xc1, cu_count=40, vram_bytes=12 * GIB - (16 << 20), vram_width_bits=192,
                engine_clock_mhz=2855, caches=cache(3072, 96))
RX5500XT = dict(marketing_name="AMD Radeon RX 5500 XT", kfd_name="navi14", target="gfx1012", device_id=0x7340,
                revision_id=0xc5, cu_count=22, vram_bytes=8 * GIB - (16 << 20), vram_width_bits=128,
                engine_clock_mhz=1900, caches=cache(2048))
MI210 = dict(marketing_name="AMD Instinct MI210", kfd_name="aldebaran", device_id=0x740f, revision_id=2, cu_count=104)
MI100 = dict(marketing_name="AMD Instinct MI100", kfd_name="arcturus", target="gfx908", device_id=0x738c, revision_id=1,
             cu_count=120, vram_bytes=32 * GIB - (16 << 20), engine_clock_mhz=1502, caches=cache(8192))
RADEON_VII = dict(marketing_name="AMD Radeon VII", kfd_name="vega20", target="gfx906", device_id=0x66af,
                  revision_id=0xc1, cu_count=60, vram_bytes=16 * GIB - (16 << 20), engine_clock_mhz=1801,
                  caches=cache(4096), features=":sramecc-:xnack-")
MI300A = dict(marketing_name="AMD Instinct MI300A", kfd_name="gfx942", device_id=0x74a0, cu_count=228, num_xcc=6,
              vram_bytes=128 * GIB - (64 << 20), caches=[dict(kind="data", level=2, kilobytes=4096, entries=6),
                                                         dict(kind="data", level=3, kilobytes=262144, entries=1)])
R780M = dict(marketing_name="AMD Radeon 780M Graphics", kfd_name="gfx1103", target="gfx1103", device_id=0x15bf,
             revision_id=0xc1, cu_count=12, vram_bytes=4 * GIB, vram_width_bits=128, engine_clock_mhz=2700,
             caches=cache(2048))
CPX = [gpu("mi300x-cpx", bus=0x0c, function=part, shares_drm=part > 0, kfd_minor=128 + part,
           drm_vram_bytes=205822885888, current_compute_partition="CPX", current_memory_partition="NPS4")
       for part in range(8)]

ALL_AGREE = ("agree", "")

MACHINES = {
    "rx6800xt": dict(
        gpus=[gpu("rx6800xt", sclk=2575, engine_clock_mhz=2575)],
        expect={"compute units": ("explained", "36 x 2 = 72"), "work-group processors": ALL_AGREE, "ISA": ALL_AGREE,
                "memory": ALL_AGREE, "highest clock": ("explained", "power table"), "wavefront": ALL_AGREE,
                "LDS per workgroup": ALL_AGREE, "L2 cache": ALL_AGREE, "L3 (Infinity) cache": ALL_AGREE,
                "PCI address": ALL_AGREE, "compute firmware": ALL_AGREE, "large BAR": ALL_AGREE},
        words=["GPU 0: AMD Radeon RX 6800 XT", "All 72 compute units are there", "work-group processors",
               "nothing needs to be patched", "with GPU_ENABLE_WGP_MODE=0, HIP says 72"]),
    "rx7900xtx": dict(gpus=[gpu("rx7900xtx")], expect={"compute units": ("explained", "48 x 2 = 96"), "memory": ALL_AGREE}),
    "rx9070xt": dict(gpus=[gpu("rx9070xt")], expect={"compute units": ("explained", "32 x 2 = 64"), "ISA": ALL_AGREE}),
    "mi300x-server": dict(
        gpus=[gpu("mi300x", current_compute_partition="SPX", current_memory_partition="NPS1") for _ in range(8)],
        expect={"compute units": ALL_AGREE, "memory": ALL_AGREE, "L2 cache": ("explained", "8 dies")}),
    "mi300x-cpx": dict(
        gpus=CPX, expect={"compute units": ("explained", "38 of its 304"), "memory": ("explained", "NPS4"),
                          "PCI address": ALL_AGREE},
        words=["partition mode CPX", "8 GPUs", "Nothing is broken"]),
    "mi250x": dict(gpus=[gpu("mi250x"), gpu("mi250x")],
                   expect={"compute units": ("explained", "220 compute units in 2 dies"), "memory": ALL_AGREE}),
    "mi210": dict(gpus=[gpu("mi250x", **MI210)], expect={"compute units": ALL_AGREE, "memory": ALL_AGREE}),
    "mi100": dict(gpus=[gpu("mi250x", **MI100)], expect={"compute units": ALL_AGREE, "memory": ALL_AGREE,
                                                         "highest clock": ALL_AGREE}),
    "mi300a": dict(gpus=[gpu("mi300x", **MI300A)], expect={"compute units": ALL_AGREE, "memory": ALL_AGREE}),
    "radeon-vii": dict(gpus=[gpu("mi250x", **RADEON_VII)], expect={"compute units": ALL_AGREE, "ISA": ALL_AGREE}),
    "laptop-780m": dict(gpus=[gpu("rx7900xtx", **R780M)], expect={"compute units": ("explained", "6 x 2 = 12"),
                                                                  "memory": ALL_AGREE}),
    "rx6700xt-as-gfx1030": dict(
        gpus=[gpu("rx6800xt", **RX6700XT, shown_target="gfx1030")], environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
        expect={"compute units": ("explained", "20 x 2 = 40"), "ISA": ("explained", "same instructions")}),
    # AUTOMATIC1111's issue 9283: the same variable, on a card whose instructions differ.
    "rx5500xt-as-gfx1030": dict(
        gpus=[gpu("rx6800xt", **RX5500XT, shown_target="gfx1030")], environment={"HSA_OVERRIDE_GFX_VERSION": "10.3.0"},
        expect={"ISA": ("wrong", "aperture violations")}, exit=3, findings=["override-gfx"]),
    "wgp-mode-off": dict(gpus=[gpu("rx6800xt", hip_cu=72)], environment={"GPU_ENABLE_WGP_MODE": "0"},
                         expect={"compute units": ("explained", "GPU_ENABLE_WGP_MODE=0")}),
    "cu-mask": dict(gpus=[gpu("rx6800xt", hip_cu=8)], environment={"ROC_GLOBAL_CU_MASK": "0xffff"},
                    expect={"compute units": ("explained", "16 of the 72")}),
    "disabled-cus": dict(gpus=[gpu("rx6800xt", cu_count=64)],
                         files={"sys/module/amdgpu/parameters/disable_cu": "0.0.0,0.0.1,1.0.0,1.0.1\n"},
                         expect={"compute units": ("explained", "disable_cu")}),
    "flashed-rx6800": dict(gpus=[gpu("rx6800xt", cu_count=60)], exit=1, findings=["cu-count"],
                           expect={"compute units": ("wrong", "60 compute units")}),
    "patched-properties": dict(gpus=[gpu("rx6800xt", hip_cu=80)], exit=3, findings=["cu-count"],
                               expect={"compute units": ("wrong", "HIP says 80")}),
    "visible-devices": dict(
        gpus=[gpu("mi300x"), gpu("rx6800xt", hidden_from_hip=True)], environment={"HIP_VISIBLE_DEVICES": "0"},
        expect={"GPUs": ("explained", "HIP_VISIBLE_DEVICES=0"), "compute units": ALL_AGREE}),
    "hidden-without-mask": dict(
        gpus=[gpu("mi300x"), gpu("mi300x", hidden_from_hsa=True)], exit=3, findings=["gpus-not-seen"],
        expect={"GPUs": ("wrong", "not every runtime")}),
    "no-large-bar": dict(gpus=[gpu("rx7900xtx", vram_host_visible=0)], findings=["no-large-bar"],
                         expect={"large BAR": ALL_AGREE}),
    "lost-memory": dict(gpus=[gpu("mi300x", vram_bytes=150 * GIB)], exit=1, findings=["memory-size"],
                        expect={"memory": ("wrong", "150.0 GiB")}),
    "amd-smi": dict(
        gpus=[gpu("mi300x")], files={"amd-smi.json": json.dumps([{"gpu": 0, "asic": {
            "market_name": "AMD Instinct MI300X", "target_graphics_version": "gfx942", "num_compute_units": 304},
            "bus": {"bdf": "0000:03:00.0"}}])},
        expect={"compute units": ALL_AGREE, "ISA": ALL_AGREE, "amd-smi": ALL_AGREE}, words=["amd-smi", "304", "amd-smi: 1 GPU"]),
    "unknown-card": dict(gpus=[gpu("rx7900xtx", device_id=0x7fff, marketing_name="AMD Radeon Future")],
                         expect={"compute units": ("explained", "48 x 2 = 96"), "memory": ALL_AGREE}),
}
