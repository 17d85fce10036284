// SPDX-License-Identifier: MIT
//
// Candidates in the place of a program's kernels, with a small runtime.
#include "agent/swap.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <string>
#include <string_view>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/fake_code.h"
#include "base/files.h"
#include "codeobj/cache_list.h"

namespace rochound::agent {
namespace {

constexpr uint64_t kImage = 0x100000;
constexpr uint64_t kImageBytes = 0x10000;
constexpr uint64_t kCandidate = 0x900000;

std::vector<uint64_t> bound;  // addresses of variables, in the order in which they were bound
uint64_t last_executable = 100;

// Every kernel is called as the one in swap.hip.
hsa_status_t InfoOfScale(hsa_executable_symbol_t symbol, hsa_executable_symbol_info_t what,
                         void* value) {
  constexpr std::string_view kName = "scale.kd";
  if (what == HSA_EXECUTABLE_SYMBOL_INFO_TYPE)
    *static_cast<hsa_symbol_kind_t*>(value) = HSA_SYMBOL_KIND_KERNEL;
  else if (what == HSA_EXECUTABLE_SYMBOL_INFO_NAME)
    std::memcpy(value, kName.data(), kName.size());
  else if (what == HSA_EXECUTABLE_SYMBOL_INFO_AGENT)
    *static_cast<hsa_agent_t*>(value) = {2};
  else if (what == HSA_EXECUTABLE_SYMBOL_INFO_KERNEL_OBJECT)
    *static_cast<uint64_t*>(value) = symbol.handle * 64;
  else
    *static_cast<uint32_t*>(value) = static_cast<uint32_t>(kName.size());
  return HSA_STATUS_SUCCESS;
}

void InstallExecutables(CoreApiTable* core) {
  FakeCode::Install(core);
  core->hsa_executable_symbol_get_info_fn = InfoOfScale;
  core->hsa_code_object_reader_create_from_memory_fn =
      [](const void*, size_t, hsa_code_object_reader_t*) { return HSA_STATUS_SUCCESS; };
  core->hsa_code_object_reader_destroy_fn = [](hsa_code_object_reader_t) {
    return HSA_STATUS_SUCCESS;
  };
  core->hsa_executable_create_alt_fn = [](hsa_profile_t, hsa_default_float_rounding_mode_t,
                                          const char*, hsa_executable_t* executable) {
    executable->handle = ++last_executable;
    return HSA_STATUS_SUCCESS;
  };
  core->hsa_executable_agent_global_variable_define_fn = [](hsa_executable_t, hsa_agent_t,
                                                            const char*, void* address) {
    bound.push_back(reinterpret_cast<uint64_t>(address));
    return HSA_STATUS_SUCCESS;
  };
  core->hsa_executable_freeze_fn = [](hsa_executable_t, const char*) { return HSA_STATUS_SUCCESS; };
  core->hsa_executable_get_symbol_by_name_fn = [](hsa_executable_t, const char*, const hsa_agent_t*,
                                                  hsa_executable_symbol_t* symbol) {
    symbol->handle = kCandidate / 64;
    return HSA_STATUS_SUCCESS;
  };
}

std::string CodeOf(const std::string& build) {
  const auto bytes =
      base::ReadFile(std::filesystem::path(ROCHOUND_TEST_FILES) / ("swap." + build + ".co"));
  EXPECT_TRUE(bytes.ok()) << build;
  return bytes.ok() ? bytes.value() : std::string();
}

// A module that is loaded anew has its variable elsewhere, though its image is at the same place.
TEST_F(AgentTest, ACandidateIsLoadedForEachPlaceOfTheVariablesItUses) {
  const auto file = folder_->path() / "candidate.co";
  std::ofstream(file) << CodeOf("outside_variable");
  std::filesystem::permissions(file, std::filesystem::perms::owner_read);
  const auto list = folder_->path() / "list";
  std::ofstream(list) << codeobj::CacheLine({1, "scale", "scale", file.string(), file.string()});
  setenv("ROCHOUND_SWAP_LIST", list.c_str(), 1);
  InstallExecutables(runtime_.table()->core_);
  Load();
  const auto load = [&](const std::string& build) {
    FakeCode::Load(runtime_.core(), 1, kImage, kImageBytes, CodeOf(build));
    runtime_.KernelObject(kImage / 64);
    runtime_.core().hsa_executable_destroy_fn({1});
  };
  load("variable");
  ASSERT_EQ(bound.size(), 1u);
  load("variable_elsewhere");
  ASSERT_EQ(bound.size(), 2u);
  EXPECT_NE(bound[0], bound[1]);
  load("variable");
  EXPECT_EQ(bound.size(), 2u) << "the first is still there";
}

}  // namespace
}  // namespace rochound::agent
