// SPDX-License-Identifier: MIT
//
// A small launch for tests of bundles: three regions, of which one is not taken and one ends inside
// a page, and the bytes of their memory. For tests only; failures are GoogleTest's.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include "base/files.h"
#include "capture/bundle_writer.h"

namespace rochound::capture {

using Bytes = std::vector<std::byte>;

inline Bytes RandomBytes(size_t count, unsigned seed) {
  std::mt19937_64 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random());
  return bytes;
}

struct TestLaunch {
  Manifest manifest;
  Bytes kernarg = RandomBytes(24, 1);
  Bytes code_object = RandomBytes(1000, 2);
  std::vector<Bytes> before;  // per region; empty: not taken
  std::vector<Bytes> after;
};

inline Region TestRegion(uint64_t base, uint64_t size, bool taken) {
  Region region;
  region.base = base;
  region.size = size;
  region.kind = "pool";
  region.owner = 1;
  region.taken = taken;
  region.reached_by = "kernarg+0";
  return region;
}

inline TestLaunch SmallLaunch() {
  TestLaunch launch;
  Manifest& manifest = launch.manifest;
  manifest.made_by = "rochound 0.1";
  manifest.created = "2026-11-15T12:00:00Z";
  manifest.command = "./saxpy --size 1000";
  manifest.host = "localhost";
  manifest.pid = 42;
  manifest.runtime = "1.18";
  manifest.kernel = "_Z5saxpyPf";
  manifest.memory = "reachable";
  manifest.agent = 1;
  manifest.agents.resize(2);
  manifest.agents[0] = {.name = "cpu", .isa = "", .product = "CPU", .device = "cpu", .uuid = ""};
  manifest.agents[1] = {.name = "gfx942",
                        .isa = "amdgcn-amd-amdhsa--gfx942:sramecc+:xnack-",
                        .product = "AMD Instinct MI300X",
                        .device = "gpu",
                        .uuid = "GPU-1",
                        .node = 1,
                        .compute_units = 304,
                        .wavefront = 64};
  for (size_t i = 0; i < manifest.launch.packet.size(); ++i)
    manifest.launch.packet[i] = static_cast<uint8_t>(i * 5);
  manifest.launch.setup = 1;
  manifest.launch.grid = {1024, 1, 1};
  manifest.launch.workgroup = {256, 1, 1};
  manifest.launch.group_bytes = 128;
  manifest.launch.kernel_object = 0x7fff00001000;
  manifest.launch.kernarg = 0x7ffe00000000;
  manifest.launch.kernarg_bytes = 24;
  manifest.launch.dispatch = 7;
  manifest.launch.match = 2;
  manifest.code_object = {{0x7fff00000000, 0x3000}, 0xffff800000000000, "memory://42#offset=0"};
  manifest.regions = {TestRegion(0x7f0000000000, 3 * kPageBytes + 100, true),
                      TestRegion(0x7f0000100000, kPageBytes, false),
                      TestRegion(0x7f0000200000, 4 * kPageBytes, true)};
  manifest.notes = {"only a test"};

  launch.before = {RandomBytes(3 * kPageBytes + 100, 3), {}, Bytes(4 * kPageBytes)};
  std::fill_n(launch.before[0].begin() + kPageBytes, kPageBytes, std::byte{0});
  launch.before[2][2 * kPageBytes] = std::byte{9};
  launch.after = launch.before;
  launch.after[0].back() ^= std::byte{1};                          // the part of a page
  std::fill_n(launch.after[0].begin(), kPageBytes, std::byte{0});  // becomes zero
  launch.after[2][kPageBytes + 5] = std::byte{7};                  // was zero
  return launch;
}

inline void AddPhase(BundleWriter& writer, Phase phase, const std::vector<Bytes>& memory,
                     size_t piece) {
  for (uint32_t region = 0; region < memory.size(); ++region) {
    const std::span<const std::byte> bytes = memory[region];
    for (size_t at = 0; at < bytes.size(); at += piece) {
      ASSERT_TRUE(writer.AddRegionBytes(phase, region, at,
                                        bytes.subspan(at, std::min(piece, bytes.size() - at))))
          << writer.error();
    }
  }
}

inline void WriteBundle(const std::filesystem::path& path, const TestLaunch& launch,
                        size_t piece = kChunkBytes) {
  std::string error;
  const auto writer = BundleWriter::Create(path.string(), &error);
  ASSERT_NE(writer, nullptr) << error;
  AddPhase(*writer, Phase::kBefore, launch.before, piece);
  AddPhase(*writer, Phase::kAfter, launch.after, piece);
  ASSERT_TRUE(writer->Finish(launch.manifest, launch.kernarg, launch.code_object))
      << writer->error();
}

// A directory that goes away with the test.
class BundleTest : public testing::Test {
 protected:
  BundleTest()
      : directory_(base::TempDir::Create(std::filesystem::temp_directory_path(), "rochound-test-")
                       .value()) {}
  std::filesystem::path Path(const std::string& name) const { return directory_.path() / name; }

 private:
  base::TempDir directory_;
};

}  // namespace rochound::capture
