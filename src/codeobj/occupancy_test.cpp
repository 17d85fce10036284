// SPDX-License-Identifier: MIT
#include "codeobj/occupancy.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <sstream>
#include <string>

#include "base/files.h"

namespace rochound::codeobj {
namespace {

Kernel SmallKernel() {
  Kernel kernel;
  kernel.has_metadata = true;
  kernel.vgpr_count = 32;
  kernel.sgpr_count = 32;
  kernel.max_flat_workgroup_size = 256;
  return kernel;
}

Occupancy Of(const char* target, const Kernel& kernel, uint64_t size, uint64_t lds) {
  const auto result = TheoreticalOccupancy(ParseTarget(target).value(), kernel, size, lds);
  EXPECT_TRUE(result.ok()) << result.error().message;
  return result.ok() ? result.value() : Occupancy{};
}

// The compiler's remarks: kernel -> waves per SIMD.
std::map<std::string, uint32_t> Remarks(const std::string& text) {
  std::map<std::string, uint32_t> remarks;
  std::istringstream lines(text);
  std::string line;
  std::string name;
  const std::string name_key = "Function Name: ";
  const std::string waves_key = "Occupancy [waves/SIMD]: ";
  while (std::getline(lines, line)) {
    if (const size_t at = line.find(name_key); at != std::string::npos)
      name = line.substr(at + name_key.size(), line.find(" [-R") - at - name_key.size());
    if (const size_t at = line.find(waves_key); at != std::string::npos)
      remarks[name] = static_cast<uint32_t>(std::stoul(line.substr(at + waves_key.size())));
  }
  return remarks;
}

class CompilerOccupancy : public testing::TestWithParam<const char*> {};

TEST_P(CompilerOccupancy, IsOurs) {
  const std::filesystem::path folder = ROCHOUND_TEST_FILES;
  const std::string name = std::string("occupancy.") + GetParam();
  const auto bytes = base::ReadFile(folder / (name + ".co"));
  if (!bytes.ok()) GTEST_SKIP() << "this ROCm's compiler is too old to compare with";
  const auto remarks = Remarks(base::ReadFile(folder / (name + ".remarks")).value());
  const auto object = CodeObject::Parse(bytes.value());
  ASSERT_TRUE(object.ok()) << object.error().message;
  ASSERT_EQ(object.value().kernels().size(), 20u);
  std::map<uint32_t, int> seen;
  for (const Kernel& kernel : object.value().kernels()) {
    ASSERT_TRUE(remarks.contains(kernel.name)) << kernel.name;
    const auto occupancy =
        TheoreticalOccupancy(object.value().target(), kernel, 0, kernel.group_segment_fixed_size);
    ASSERT_TRUE(occupancy.ok()) << occupancy.error().message;
    EXPECT_EQ(occupancy.value().waves_per_simd, remarks.at(kernel.name))
        << kernel.name << ": " << kernel.vgpr_count << " VGPRs, " << kernel.sgpr_count
        << " SGPRs, LDS " << kernel.group_segment_fixed_size << ", workgroup "
        << kernel.max_flat_workgroup_size;
    ++seen[occupancy.value().waves_per_simd];
  }
  EXPECT_GE(seen.size(), 4u);  // otherwise this test sees too little
}

INSTANTIATE_TEST_SUITE_P(Target, CompilerOccupancy,
                         testing::Values("gfx90a", "gfx942", "gfx950", "gfx1030", "gfx1100",
                                         "gfx1201"),
                         [](const auto& info) { return std::string(info.param); });

TEST(Occupancy, SaysWhatLimits) {
  const Occupancy all = Of("gfx942", SmallKernel(), 256, 0);
  EXPECT_EQ(all.waves_per_simd, 8u);
  EXPECT_EQ(all.slots_per_simd, 8u);
  EXPECT_EQ(all.simds, 4u);
  EXPECT_EQ(all.workgroups, 8u);
  EXPECT_TRUE(all.limited_by.empty());
  EXPECT_DOUBLE_EQ(all.fraction(), 1.0);

  Kernel registers = SmallKernel();
  registers.vgpr_count = 129;  // is 136 as allocated, and 512 / 136 = 3
  const Occupancy by_vgprs = Of("gfx942", registers, 256, 0);
  EXPECT_EQ(by_vgprs.waves_per_simd, 3u);
  EXPECT_EQ(by_vgprs.vgprs, 136u);
  EXPECT_EQ(by_vgprs.workgroups, 3u);
  EXPECT_EQ(by_vgprs.limited_by, std::vector<std::string>{"VGPRs"});
  registers.agpr_count = 64;
  EXPECT_EQ(Of("gfx942", registers, 256, 0).limited_by[0], "VGPRs and AGPRs");

  const Occupancy by_lds = Of("gfx942", SmallKernel(), 256, 20000);
  EXPECT_EQ(by_lds.waves_per_simd, 3u);
  EXPECT_EQ(by_lds.workgroups, 3u);
  EXPECT_EQ(by_lds.limited_by, std::vector<std::string>{"LDS"});
  EXPECT_EQ(Of("gfx950", SmallKernel(), 256, 20000).workgroups, 8u);

  const Occupancy by_size = Of("gfx942", SmallKernel(), 65, 0);  // two waves, 16 barriers
  EXPECT_EQ(by_size.workgroups, 16u);
  EXPECT_EQ(by_size.waves_per_simd, 8u);
  const Occupancy odd = Of("gfx942", SmallKernel(), 832, 0);  // 13 waves; two do fit in 32 slots
  EXPECT_EQ(odd.workgroups, 2u);
  EXPECT_EQ(odd.waves_per_simd, 7u);
  EXPECT_EQ(odd.limited_by, std::vector<std::string>{"workgroup size"});
}

// Kernels in assembly: what the descriptor has is allocated, whatever the metadata says.
TEST(Occupancy, TheDescriptorCounts) {
  Kernel kernel = SmallKernel();
  kernel.vgpr_count = 252;
  kernel.agpr_count = 204;
  kernel.descriptor.rsrc1 = 56;  // (56 + 1) * 8 registers
  const Occupancy more = Of("amdgcn-amd-amdhsa--gfx942", kernel, 256, 0);
  EXPECT_EQ(more.vgprs, 456u);
  EXPECT_EQ(more.waves_per_simd, 1u);
  EXPECT_TRUE(more.more_than_metadata);
  kernel.descriptor.rsrc1 = 31;
  const Occupancy same = Of("amdgcn-amd-amdhsa--gfx942", kernel, 256, 0);
  EXPECT_EQ(same.vgprs, 256u);
  EXPECT_FALSE(same.more_than_metadata);
}

TEST(Occupancy, CountsWavesOf32) {
  Kernel kernel = SmallKernel();
  kernel.descriptor.properties = 1 << 10;
  kernel.descriptor.rsrc1 = 1 << 29;
  kernel.vgpr_count = 100;
  const Occupancy rdna2 = Of("gfx1030", kernel, 256, 0);  // 112 of 1024
  EXPECT_EQ(rdna2.waves_per_simd, 9u);
  EXPECT_TRUE(rdna2.wgp);
  EXPECT_EQ(rdna2.lds_per_cu, 128u << 10);
  EXPECT_EQ(Of("gfx1100", kernel, 256, 0).waves_per_simd, 12u);  // 120 of 1536
  EXPECT_EQ(Of("gfx1102", kernel, 256, 0).waves_per_simd, 9u);
}

TEST(Occupancy, RefusesAnUnknownGpu) {
  EXPECT_FALSE(TheoreticalOccupancy(ParseTarget("gfx1250").value(), SmallKernel(), 64, 0).ok());
}

}  // namespace
}  // namespace rochound::codeobj
