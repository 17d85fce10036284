# SPDX-License-Identifier: MIT
"""Set-ups that are broken on purpose, each in one way.

finding: the id that must be found; severity; what and remedy: words that must be there. Nothing else may be worse
than a note. program, python: what is looked at. way_in: how the recorder gets into programs there.
"""

from machines import gpu
from tiny_elf import library

USR = "usr/lib/x86_64-linux-gnu"
HSA_VARIABLES = ["HSA_ENABLE_SDMA", "HSA_XNACK", "HSA_USE_SVM", "HSA_OVERRIDE_GFX_VERSION", "ROCR_VISIBLE_DEVICES"]
HIP_VARIABLES = ["HIP_VISIBLE_DEVICES", "CUDA_VISIBLE_DEVICES", "GPU_ENABLE_WGP_MODE", "ROC_GLOBAL_CU_MASK",
                 "HIP_LAUNCH_BLOCKING"]


def rocm(folder, hip="7.2.53211", hsa="1.18.0", comgr="3.0.0", registers=(), more=()):
    """The runtime libraries of one release. registers: what AMD's own builds need besides; more: what ROCr reads besides."""
    major, generation = hip.split(".")[0], comgr.split(".")[0]
    files = {}

    def add(name, version, content):
        files[f"{folder}/{name}.{version}"] = content
        files[f"{folder}/{name}.{version.split('.')[0]}"] = ("link", f"{name}.{version}")

    add("libamdhip64.so", hip, library(f"libamdhip64.so.{major}", ["libhsa-runtime64.so.1", f"libamd_comgr.so.{generation}"],
                                       texts=HIP_VARIABLES))
    add("libhsa-runtime64.so", hsa, library("libhsa-runtime64.so.1", ["libdrm_amdgpu.so.1", *registers], texts=[*HSA_VARIABLES, *more]))
    add("libamd_comgr.so", comgr, library(f"libamd_comgr.so.{generation}"))
    return files


DRM = {f"{USR}/libdrm_amdgpu.so.1": library("libdrm_amdgpu.so.1")}
LIBC = {f"{USR}/{name}": library(name) for name in ("libc.so.6", "libm.so.6", "libstdc++.so.6", "libgcc_s.so.1")}
SYSTEM = {**rocm(USR), **DRM, **LIBC}
# As AMD builds them, today and before ROCr knew how to load tools beside a profiler.
REGISTER = {f"{USR}/librocprofiler-register.so.0": library("librocprofiler-register.so.0")}
V1_TOOLS = "HSA_TOOLS_ROCPROFILER_V1_TOOLS"
REGISTERING = {**SYSTEM, **rocm(USR, registers=["librocprofiler-register.so.0"], more=[V1_TOOLS]), **REGISTER}
REGISTERING_ALONE = {**SYSTEM, **rocm(USR, registers=["librocprofiler-register.so.0"]), **REGISTER}
CARD = [gpu("rx6800xt")]
TORCH = "opt/venv/lib/python3.12/site-packages/torch"


def closed(path, mode, gid, others=()):
    lines = [f"{path} {mode} 0 {gid} closed"] + [f"{one} 660 0 993 open" for one in others]
    return "\n".join(lines) + "\n"


def version_py(**values):
    named = {"cuda": None, "hip": None, **values}
    return "__version__ = '2.9.0'\n" + "".join(
        f"{key}: Optional[str] = {repr(value)}\n" for key, value in named.items())


def pci(address="0000:03:00.0"):
    return {f"sys/bus/pci/devices/{address}/vendor": "0x1002\n", f"sys/bus/pci/devices/{address}/class": "0x030000\n"}


RENDER = ["/dev/dri/renderD128"]

BROKEN = {
    "healthy": dict(gpus=CARD, files=SYSTEM, finding=None, way_in="HSA_TOOLS_LIB ("),
    "healthy-registering": dict(gpus=CARD, files=REGISTERING, finding=None, way_in="HSA_TOOLS_LIB with HSA_TOOLS_ROCPROFILER_V1_TOOLS=1"),
    "profiler-gone": dict(gpus=CARD, files=REGISTERING, environment={"ROCPROFILER_REGISTER_LIBRARY": "/opt/gone/librocprofiler-sdk.so"},
                          finding="profiler-missing", severity="error", what="does not exist", remedy="unset ROCPROFILER_REGISTER_LIBRARY"),
    "profiler-left-behind": dict(gpus=CARD, files={**REGISTERING, "opt/sdk/librocprofiler-sdk.so": library("librocprofiler-sdk.so.1")},
                                 environment={"ROCPROFILER_REGISTER_LIBRARY": "/opt/sdk/librocprofiler-sdk.so"}, finding="profiler-set",
                                 severity="note", what="records beside it", remedy="unset ROCPROFILER_REGISTER_LIBRARY"),
    "tools-off": dict(gpus=CARD, files=REGISTERING, environment={V1_TOOLS: "0"}, finding="tools-off", severity="note",
                      what="rochound run sets it to 1", remedy="unset " + V1_TOOLS),
    "no-way-in-beside-profilers": dict(gpus=CARD, files=REGISTERING_ALONE, finding="no-way-in-beside-profilers", severity="warning",
                                       what="libhsa-runtime64", remedy="update ROCm"),
    "no-group": dict(gpus=CARD, files={**SYSTEM, "devices": closed("/dev/kfd", 660, 993, RENDER),
                                       "user": "uid 1000\ngroups 1000\n"},
                     finding="no-permission", severity="error", what="may not open /dev/kfd",
                     remedy="usermod -aG render $USER"),
    "no-render-group": dict(gpus=CARD, files={**SYSTEM, "devices": closed("/dev/dri/renderD128", 660, 993, ["/dev/kfd"]),
                                              "user": "uid 1000\ngroups 1000\n"},
                            finding="no-permission", severity="error", what="renderD128", remedy="usermod -aG render"),
    "mode-without-group": dict(gpus=CARD, files={**SYSTEM, "devices": closed("/dev/kfd", 600, 993, RENDER)},
                               finding="no-permission", severity="error", what="/dev/kfd", remedy="chmod g+rw /dev/kfd"),
    "docker-other-gid": dict(gpus=CARD, files={**SYSTEM, ".dockerenv": "", "devices": closed("/dev/kfd", 660, 109, RENDER)},
                             finding="no-permission", severity="error", what="/dev/kfd", remedy="--group-add 109"),
    "podman-user-namespace": dict(gpus=CARD, files={**SYSTEM, "run/.containerenv": "",
                                                    "devices": closed("/dev/kfd", 660, 65534, RENDER)},
                                  finding="no-permission", severity="error", what="/dev/kfd", remedy="keep-groups"),
    "docker-without-kfd": dict(gpus=CARD, files={**SYSTEM, ".dockerenv": "", "devices": "/dev/dri/renderD128 660 0 993 open\n"},
                               finding="kfd-missing", severity="error", what="/dev/kfd is not here", remedy="--device=/dev/kfd"),
    "docker-without-dri": dict(gpus=CARD, files={**SYSTEM, ".dockerenv": "", "devices": "/dev/kfd 660 0 993 open\n"},
                               finding="render-missing", severity="error", what="renderD128", remedy="--device=/dev/dri"),
    "driver-not-loaded": dict(files={**SYSTEM, **pci()}, runtimes=False, finding="driver-not-loaded", severity="error",
                              what="not loaded", remedy="modprobe amdgpu"),
    "nomodeset": dict(files={**SYSTEM, **pci(), "proc/cmdline": "root=/dev/sda1 nomodeset quiet\n"}, runtimes=False,
                      finding="nomodeset", severity="error", what="nomodeset", remedy="update-grub"),
    "blacklisted": dict(files={**SYSTEM, **pci(), "etc/modprobe.d/passthrough.conf": "blacklist amdgpu\n"}, runtimes=False,
                        finding="blacklisted", severity="error", what="passthrough.conf", remedy="passthrough.conf"),
    "no-kfd-node": dict(files={**SYSTEM, **pci(), "sys/module/amdgpu/initstate": "live\n"}, runtimes=False,
                        finding="no-kfd", severity="error", what="no KFD node", remedy="PCIe atomics"),
    "no-hsa": dict(gpus=CARD, files=DRM, finding="no-libhsa-runtime64", severity="error", what="not installed",
                   remedy="libhsa-runtime64-1", also=["no-libamdhip64"]),
    "two-hip-versions": dict(gpus=CARD, files={**SYSTEM, **rocm("opt/rocm-7.0.0/lib", hip="7.0.51831", hsa="1.18.0")},
                             finding="two-copies", severity="warning", what="copies of libamdhip64.so.7", remedy="keep one"),
    "two-generations": dict(gpus=CARD, files={**SYSTEM, f"{USR}/libamdhip64.so.6.4.43484": library("libamdhip64.so.6"),
                                              f"{USR}/libamdhip64.so.6": ("link", "libamdhip64.so.6.4.43484")},
                            finding="two-generations", severity="note", what="2 generations", remedy="one process"),
    "mixed-release": dict(gpus=CARD, files={**SYSTEM, "opt/rocm-5.7.0/lib/libhsa-runtime64.so.1": library("libhsa-runtime64.so.1", texts=HSA_VARIABLES)},
                          environment={"LD_LIBRARY_PATH": "/opt/rocm-5.7.0/lib"}, finding="mixed-rocm", severity="warning",
                          what="/opt/rocm-5.7.0/lib/libhsa-runtime64.so.1 of another installation",
                          remedy="out of LD_LIBRARY_PATH", also=["two-copies"]),
    "outside-loader-path": dict(gpus=CARD, files={**rocm("opt/rocm/lib"), **DRM}, finding="not-in-loader-path",
                                severity="warning", what="the loader does not look there", remedy="ldconfig"),
    "comgr-missing": dict(gpus=CARD, files={**{k: v for k, v in SYSTEM.items() if "comgr" not in k}},
                          finding="library-not-found", severity="error", what="needs libamd_comgr.so.3", remedy="install"),
    "dead-variable": dict(gpus=CARD, files=SYSTEM, environment={"HSA_ENABLE_SMDA": "0"}, finding="dead-variable",
                          severity="warning", what="does nothing", remedy="HSA_ENABLE_SDMA"),
    "variable-of-another-release": dict(gpus=CARD, files=SYSTEM, environment={"HSA_MEMORY_MAGIC_OFF": "1"},
                                        finding="dead-variable", severity="warning", what="does nothing",
                                        remedy="unset HSA_MEMORY_MAGIC_OFF"),
    "mask-out-of-range": dict(gpus=CARD, files=SYSTEM, environment={"HIP_VISIBLE_DEVICES": "1"}, finding="mask-out-of-range",
                              severity="error", what="names GPU 1, but there are only 1", remedy="from 0 to 0", also=["mask-hides-all"]),
    "mask-in-mask": dict(gpus=[gpu("mi300x"), gpu("mi300x")], files=SYSTEM,
                         environment={"ROCR_VISIBLE_DEVICES": "1", "HIP_VISIBLE_DEVICES": "1"},
                         finding="mask-out-of-range", severity="error", what="left by ROCR_VISIBLE_DEVICES",
                         remedy="from 0 to 0", also=["mask-hides-all"]),
    "masks-contradict": dict(gpus=[gpu("mi300x"), gpu("mi300x")], files=SYSTEM,
                             environment={"HIP_VISIBLE_DEVICES": "0", "CUDA_VISIBLE_DEVICES": "1"},
                             finding="masks-contradict", severity="warning", what="differ", remedy="one of them only"),
    "mask-unknown-identity": dict(gpus=CARD, files=SYSTEM, environment={"ROCR_VISIBLE_DEVICES": "GPU-deadbeef"},
                                  finding="mask-unknown-gpu", severity="error", what="names GPU-deadbeef", remedy="Uuid",
                                  also=["mask-hides-all"]),
    "mask-unknown-identity-hip": dict(gpus=CARD, files=SYSTEM, environment={"HIP_VISIBLE_DEVICES": "GPU-deadbeef"},
                                      finding="mask-unknown-gpu", severity="error", what="names GPU-deadbeef", remedy="Uuid",
                                      also=["mask-hides-all"]),
    "mask-hexadecimal": dict(gpus=CARD, files=SYSTEM, environment={"ROCR_VISIBLE_DEVICES": "0x0", "HIP_VISIBLE_DEVICES": "0x0"},
                             finding=None),
    "mask-hides-all": dict(gpus=CARD, files=SYSTEM, environment={"HIP_VISIBLE_DEVICES": ""}, finding="mask-hides-all",
                           severity="warning", what="hides every GPU", remedy="unset HIP_VISIBLE_DEVICES"),
    "rocblas-lacks-target": dict(gpus=CARD, files={**SYSTEM, **{f"{USR}/rocblas/5/library/TensileLibrary_{target}.co": ""
                                                                 for target in ("gfx1100", "gfx90a-xnack-")},
                                                   "usr/share/miopen/db/gfx1030_36.db.txt": ""},
                                 finding="kernels-missing", severity="warning",
                                 what="has no kernels for gfx1030, only for gfx1100, gfx90a", remedy="a build of rocBLAS for gfx1030"),
    "rocblas-has-target": dict(gpus=CARD, files={**SYSTEM, f"{USR}/rocblas/5/library/TensileLibrary_gfx1030.hsaco": "",
                                                 "opt/rocm-6.2.0/lib/rocblas/library/TensileLibrary_gfx1100.hsaco": ""}, finding=None),
    "hipblaslt-lacks-target": dict(gpus=CARD, files={**SYSTEM, "opt/rocm/lib/hipblaslt/library/gfx942/Kernels.co": "",
                                                     "usr/share/miopen/db/gfx90878.db.txt": ""},
                                   finding="kernels-missing", severity="note", what="only for gfx908", remedy="MIOpen"),
    "override-malformed": dict(gpus=CARD, files=SYSTEM, environment={"HSA_OVERRIDE_GFX_VERSION": "gfx1030"},
                               finding="override-malformed", severity="error", what="not understood", remedy="10.3.0"),
    "noretry-and-xnack": dict(gpus=CARD, files={**SYSTEM, "proc/cmdline": "ro amdgpu.noretry=1\n"}, environment={"HSA_XNACK": "1"},
                              finding="noretry-xnack", severity="warning", what="noretry=1", remedy="one of the two"),
    "preload-missing": dict(gpus=CARD, files=SYSTEM, environment={"LD_PRELOAD": "/opt/lib/librmcp_hip_wrapper.so"},
                            finding="preload-missing", severity="warning", what="does not exist", remedy="unset LD_PRELOAD"),
    "iommu-translates": dict(gpus=[gpu("mi300x"), gpu("mi300x")], files={**SYSTEM, "sys/class/iommu/ivhd0/devices": ""},
                             finding="iommu", severity="note", what="IOMMU", remedy="iommu=pt"),
    "runtime-crashes": dict(gpus=CARD, files={**SYSTEM, "probe.jsonl": "", "probe-without-wgp.jsonl": "",
                                              "probe.end": "was killed by signal 11 (Segmentation fault)\n"},
                            finding="gpus-not-seen", severity="error", what="signal 11", remedy="AMD_LOG_LEVEL"),
    "two-hips-in-program": dict(gpus=CARD, files={**SYSTEM, f"{USR}/libamdhip64.so.6": library("libamdhip64.so.6"),
                                                  f"{USR}/libextension.so": library("libextension.so", ["libamdhip64.so.6"]),
                                                  "opt/app/train": library("", ["libamdhip64.so.7", "libextension.so"])},
                                program="/opt/app/train", finding="two-hips", severity="error", what="2 different HIP runtimes",
                                remedy="same ROCm"),
    "program-lacks-library": dict(gpus=CARD, files={**SYSTEM, "opt/app/train": library("", ["libMIOpen.so.1"])},
                                  program="/opt/app/train", finding="library-not-found", severity="error",
                                  what="needs libMIOpen.so.1", remedy="LD_LIBRARY_PATH"),
    "torch-cpu": dict(gpus=CARD, files={**SYSTEM, f"{TORCH}/version.py": version_py()}, python=f"/{TORCH}",
                      finding="torch-no-hip", severity="error", what="this torch has no HIP", remedy="rocm"),
    "torch-cuda": dict(gpus=CARD, files={**SYSTEM, f"{TORCH}/version.py": version_py(cuda="12.8")}, python=f"/{TORCH}",
                       finding="torch-cuda", severity="error", what="built for CUDA 12.8", remedy="rocm"),
    "torch-own-hip": dict(gpus=CARD, files={**SYSTEM, f"{TORCH}/version.py": version_py(hip="6.4.43482"),
                                            f"{TORCH}/lib/libamdhip64.so": library("libamdhip64.so.7")}, python=f"/{TORCH}",
                          finding="torch-own-hip", severity="note", what="brings its own HIP", remedy="LD_LIBRARY_PATH"),
    "rocm-wheel": dict(gpus=CARD, files={**SYSTEM, f"{TORCH}/version.py": version_py(hip="7.2.53211"),
                                         f"{TORCH}/../_rocm_sdk_core/lib/libamdhip64.so.7": library("libamdhip64.so.7")},
                       python=f"/{TORCH}", finding="torch-own-hip", severity="note", what="_rocm_sdk_core", remedy="LD_LIBRARY_PATH"),
    # The next three get the program that the test compiles for gfx942 and gfx1030.
    "wrong-isa": dict(gpus=[gpu("rx7900xtx")], files=SYSTEM, compiled="/opt/app/kernels.so", finding="wrong-isa",
                      severity="error", what="gfx1030", remedy="--offload-arch=gfx1100"),
    "wrong-isa-with-a-way-out": dict(gpus=[gpu("rx6800xt", target="gfx1031", device_id=0x73df, cu_count=40, vram_bytes=12 << 30)],
                                     files=SYSTEM, compiled="/opt/app/kernels.so", finding="wrong-isa", severity="error",
                                     what="gfx1031", remedy="HSA_OVERRIDE_GFX_VERSION=10.3.0", also=["fact-differs"]),
    "right-isa": dict(gpus=CARD, files=SYSTEM, compiled="/opt/app/kernels.so", finding=None),
}
