// SPDX-License-Identifier: MIT
#include "doctor/hardware.h"

namespace rochound::doctor {
namespace {

// clang-format off
constexpr KnownGpu kGpus[] = {
    // product, target, device, revision, CUs, XCCs, dies, GiB, L2 KiB, L3 MiB, boost MHz
    {"Instinct MI355X", "gfx950", 0x75a3, kAnyRevision, 256, 8, 1, 288, 32768, 256, 2400},
    {"Instinct MI350X", "gfx950", 0x75a0, kAnyRevision, 256, 8, 1, 288, 32768, 256, 2200},
    {"Instinct MI350X VF", "gfx950", 0x75b0, kAnyRevision, 256, 8, 1, 288, 32768, 256, 2200},
    {"Instinct MI325X", "gfx942", 0x74a5, kAnyRevision, 304, 8, 1, 256, 32768, 256, 2100},
    {"Instinct MI300X", "gfx942", 0x74a1, kAnyRevision, 304, 8, 1, 192, 32768, 256, 2100},
    {"Instinct MI300X VF", "gfx942", 0x74b5, kAnyRevision, 304, 8, 1, 192, 32768, 256, 2100},
    {"Instinct MI308X", "gfx942", 0x74a2, kAnyRevision, 80, 4, 1, 192, 16384, 256, 1420},
    {"Instinct MI300A", "gfx942", 0x74a0, kAnyRevision, 228, 6, 1, 128, 24576, 256, 2100},
    {"Instinct MI250X", "gfx90a", 0x7408, kAnyRevision, 110, 1, 2, 64, 8192, 0, 1700},
    {"Instinct MI250X / MI250", "gfx90a", 0x740c, kAnyRevision, 0, 1, 2, 64, 8192, 0, 1700},
    {"Instinct MI210", "gfx90a", 0x740f, kAnyRevision, 104, 1, 1, 64, 8192, 0, 1700},
    {"Instinct MI100", "gfx908", 0x738c, kAnyRevision, 120, 1, 1, 32, 8192, 0, 1502},
    {"Instinct MI50 / MI60", "gfx906", 0x66a1, 0x02, 0, 1, 1, 0, 4096, 0, 0},
    {"Radeon Pro VII", "gfx906", 0x66a1, 0x06, 60, 1, 1, 16, 4096, 0, 1700},
    {"Radeon VII", "gfx906", 0x66af, kAnyRevision, 60, 1, 1, 16, 4096, 0, 1750},
    {"Radeon AI PRO R9700", "gfx1201", 0x7551, 0xc0, 64, 1, 1, 32, 8192, 64, 2920},
    {"Radeon RX 9070 XT", "gfx1201", 0x7550, 0xc0, 64, 1, 1, 16, 8192, 64, 2970},
    {"Radeon RX 9070 GRE", "gfx1201", 0x7550, 0xc2, 48, 1, 1, 0, 6144, 48, 2790},
    {"Radeon RX 9070", "gfx1201", 0x7550, 0xc3, 56, 1, 1, 16, 8192, 64, 2520},
    {"Radeon RX 9060 XT", "gfx1200", 0x7590, 0xc0, 32, 1, 1, 0, 4096, 32, 3130},
    {"Radeon PRO W7900", "gfx1100", 0x7448, kAnyRevision, 96, 1, 1, 48, 6144, 96, 0},
    {"Radeon PRO W7900 Dual Slot", "gfx1100", 0x744a, kAnyRevision, 96, 1, 1, 48, 6144, 96, 0},
    {"Radeon PRO W7800 48GB", "gfx1100", 0x7449, kAnyRevision, 70, 1, 1, 48, 6144, 96, 0},
    {"Radeon PRO W7800", "gfx1100", 0x745e, kAnyRevision, 70, 1, 1, 32, 6144, 64, 0},
    {"Radeon PRO W7700", "gfx1101", 0x7470, kAnyRevision, 48, 1, 1, 16, 4096, 64, 0},
    {"Radeon RX 7900 XTX", "gfx1100", 0x744c, 0xc8, 96, 1, 1, 24, 6144, 96, 2500},
    {"Radeon RX 7900 XT", "gfx1100", 0x744c, 0xcc, 84, 1, 1, 20, 6144, 80, 2400},
    {"Radeon RX 7900 GRE", "gfx1100", 0x744c, 0xce, 80, 1, 1, 16, 6144, 64, 2245},
    {"Radeon RX 7800 XT", "gfx1101", 0x747e, 0xc8, 60, 1, 1, 16, 4096, 64, 2430},
    {"Radeon RX 7700 XT", "gfx1101", 0x747e, 0xff, 54, 1, 1, 12, 4096, 48, 2544},
    {"Radeon RX 7600", "gfx1102", 0x7480, 0xcf, 32, 1, 1, 8, 2048, 32, 2655},
    {"Radeon RX 7600 XT", "gfx1102", 0x7480, 0xc0, 32, 1, 1, 16, 2048, 32, 2755},
    {"Radeon PRO W6800", "gfx1030", 0x73a3, kAnyRevision, 60, 1, 1, 32, 4096, 128, 0},
    {"Radeon PRO V620", "gfx1030", 0x73a1, kAnyRevision, 72, 1, 1, 32, 4096, 128, 0},
    {"Radeon RX 6950 XT", "gfx1030", 0x73a5, 0xc0, 80, 1, 1, 16, 4096, 128, 2310},
    {"Radeon RX 6900 XT", "gfx1030", 0x73bf, 0xc0, 80, 1, 1, 16, 4096, 128, 2250},
    {"Radeon RX 6900 XT", "gfx1030", 0x73af, 0xc0, 80, 1, 1, 16, 4096, 128, 2250},
    {"Radeon RX 6800 XT", "gfx1030", 0x73bf, 0xc1, 72, 1, 1, 16, 4096, 128, 2250},
    {"Radeon RX 6800", "gfx1030", 0x73bf, 0xc3, 60, 1, 1, 16, 4096, 128, 2105},
    {"Radeon RX 6750 XT", "gfx1031", 0x73df, 0xc0, 40, 1, 1, 12, 3072, 96, 2600},
    {"Radeon RX 6700 XT", "gfx1031", 0x73df, 0xc1, 40, 1, 1, 12, 3072, 96, 2581},
    {"Radeon RX 6700 XT", "gfx1031", 0x73df, 0xc5, 40, 1, 1, 12, 3072, 96, 2581},
    {"Radeon RX 6700", "gfx1031", 0x73df, 0xff, 36, 1, 1, 10, 3072, 80, 2450},
    {"Radeon PRO W6600", "gfx1032", 0x73e3, kAnyRevision, 28, 1, 1, 8, 2048, 32, 0},
    {"Radeon RX 6650 XT", "gfx1032", 0x73ef, 0xc1, 32, 1, 1, 8, 2048, 32, 2635},
    {"Radeon RX 6600 XT", "gfx1032", 0x73ff, 0xc1, 32, 1, 1, 8, 2048, 32, 2589},
    {"Radeon RX 6600", "gfx1032", 0x73ff, 0xc7, 28, 1, 1, 8, 2048, 32, 2491},
    {"Radeon RX 5700 XT", "gfx1010", 0x731f, 0xc1, 40, 1, 1, 8, 0, 0, 1905},
    {"Radeon RX 5700", "gfx1010", 0x731f, 0xc4, 36, 1, 1, 8, 0, 0, 1725},
    {"Radeon RX 5500 XT", "gfx1012", 0x7340, 0xc5, 22, 1, 1, 0, 0, 0, 1845},
    {"Radeon 780M", "gfx1103", 0x15bf, kAnyRevision, 12, 1, 1, 0, 0, 0, 2800},
    {"Radeon 890M / 880M", "gfx1150", 0x150e, kAnyRevision, 0, 1, 1, 0, 0, 0, 2900},
    {"Radeon 8060S / 8050S", "gfx1151", 0x1586, kAnyRevision, 0, 1, 1, 0, 0, 0, 2900},
};

constexpr KnownTarget kTargets[] = {
    // target, architecture, wavefront, LDS KiB, WGPs, nearest
    {"gfx950", "CDNA 4", 64, 160, false, ""},
    {"gfx942", "CDNA 3", 64, 64, false, ""},
    {"gfx90a", "CDNA 2", 64, 64, false, ""},
    {"gfx908", "CDNA", 64, 64, false, ""},
    {"gfx906", "GCN 5.1", 64, 64, false, ""},
    {"gfx900", "GCN 5", 64, 64, false, ""},
    {"gfx1201", "RDNA 4", 32, 64, true, ""},
    {"gfx1200", "RDNA 4", 32, 64, true, ""},
    {"gfx1151", "RDNA 3.5", 32, 64, true, ""},
    {"gfx1150", "RDNA 3.5", 32, 64, true, ""},
    {"gfx1103", "RDNA 3", 32, 64, true, "gfx1100"},
    {"gfx1102", "RDNA 3", 32, 64, true, "gfx1100"},
    {"gfx1101", "RDNA 3", 32, 64, true, "gfx1100"},
    {"gfx1100", "RDNA 3", 32, 64, true, ""},
    {"gfx1036", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1035", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1034", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1033", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1032", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1031", "RDNA 2", 32, 64, true, "gfx1030"},
    {"gfx1030", "RDNA 2", 32, 64, true, ""},
    {"gfx1012", "RDNA", 32, 64, true, ""},
    {"gfx1011", "RDNA", 32, 64, true, ""},
    {"gfx1010", "RDNA", 32, 64, true, ""},
};
// clang-format on

}  // namespace

std::span<const KnownGpu> KnownGpus() { return kGpus; }
std::span<const KnownTarget> KnownTargets() { return kTargets; }

const KnownGpu* FindKnownGpu(uint64_t device_id, uint64_t revision) {
  for (const KnownGpu& gpu : kGpus) {
    if (gpu.device_id == device_id &&
        (gpu.revision == kAnyRevision || static_cast<uint64_t>(gpu.revision) == revision))
      return &gpu;
  }
  return nullptr;
}

bool SameInstructions(std::string_view one, std::string_view other) {
  const auto family = [](std::string_view target) -> std::string_view {
    const KnownTarget* known = FindKnownTarget(target);
    return known != nullptr && *known->nearest != '\0' ? known->nearest : target;
  };
  return family(one) == family(other);
}

const KnownTarget* FindKnownTarget(std::string_view target) {
  for (const KnownTarget& known : kTargets)
    if (target == known.target) return &known;
  return nullptr;
}

}  // namespace rochound::doctor
