// SPDX-License-Identifier: MIT
//
// Reading the memory that a GPU sees, while the program frees and unmaps it.
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <vector>

#include "agent/agent_testing.h"
#include "agent/allocations.h"
#include "agent/capture_memory.h"
#include "agent/fake_memory.h"
#include "agent/fake_runtime.h"
#include "agent/fault_memory.h"
#include "agent/memory_reader.h"
#include "base/files.h"
#include "capture/bundle_writer.h"
#include "capture/layout.h"
#include "capture/manifest.h"

namespace rochound::agent {
namespace {

constexpr hsa_agent_t kReader{2};
constexpr size_t kRange = 65536;

class AgentMemoryTest : public AgentTest {
 protected:
  void LoadWithMemory() {
    FakeMemory::Install(runtime_.table()->core_, runtime_.table()->amd_ext_);
    Load();
  }

  // What is saved for a kernel that has this address among its arguments; empty: nothing.
  static std::string SavedAt(uint64_t address) {
    std::vector<std::byte> arguments(sizeof address);
    std::memcpy(arguments.data(), &address, sizeof address);
    FaultMemory memory(kReader, 300'000'000);
    memory.AddArguments(arguments);
    memory.Follow();
    const auto piece = memory.pieces().find(address);
    return piece != memory.pieces().end() ? piece->second : std::string();
  }

  uint64_t Allocate(hsa_amd_memory_pool_t pool, char content) {
    void* memory = nullptr;
    runtime_.amd().hsa_amd_memory_pool_allocate_fn(pool, kRange, 0, &memory);
    std::memset(memory, content, kRange);
    return reinterpret_cast<uint64_t>(memory);
  }

  static std::byte* Map(size_t bytes) {
    return static_cast<std::byte*>(
        mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  }
};

TEST_F(AgentMemoryTest, TheHostReadsItsMemoryAndTheGpuItsOwn) {
  LoadWithMemory();
  EXPECT_TRUE(SavedAt(Allocate(FakeMemory::kHostPool, 'h')) == std::string(kRange, 'h'));
  EXPECT_EQ(FakeMemory::copies, 0);
  EXPECT_TRUE(SavedAt(Allocate(FakeMemory::kGpuPool, 'g')) == std::string(kRange, 'g'));
  EXPECT_EQ(FakeMemory::copies, 1);
  EXPECT_EQ(FakeMemory::bad_copies, 0);
}

// A program unmaps managed memory and tells nobody; a kernel in flight may still point there.
TEST_F(AgentMemoryTest, ManagedMemoryThatWasUnmappedIsNotReadByTheGpu) {
  LoadWithMemory();
  std::byte* const managed = Map(kRange);
  std::memset(managed, 'm', kRange);
  MemoryAppears(managed, kRange, MemoryKind::kManaged);
  EXPECT_TRUE(SavedAt(reinterpret_cast<uint64_t>(managed)) == std::string(kRange, 'm'));
  munmap(managed, kRange);
  SavedAt(reinterpret_cast<uint64_t>(managed));
  EXPECT_EQ(FakeMemory::copies, 0);
}

TEST_F(AgentMemoryTest, MemoryOfAnEarlierLifeOfTheRuntimeIsNotReadByTheGpu) {
  LoadWithMemory();
  const uint64_t early = Allocate(FakeMemory::kGpuPool, 'g');
  OnUnload();
  EXPECT_TRUE(HeldAllocations().all().empty());
  FakeMemory::ForgetAll();
  FakeRuntime second;
  FakeMemory::Install(second.table()->core_, second.table()->amd_ext_);
  ASSERT_TRUE(OnLoad(second.table(), 0, 0, nullptr));
  EXPECT_EQ(SavedAt(early), "");
  EXPECT_EQ(FakeMemory::copies, 0);
  OnUnload();
}

// A list that could not be emptied when the runtime went.
TEST_F(AgentMemoryTest, MemoryThatTheRuntimeDoesNotKnowIsNotReadByTheGpu) {
  LoadWithMemory();
  const uint64_t forgotten = Allocate(FakeMemory::kGpuPool, 'g');
  FakeMemory::ForgetAll();
  EXPECT_EQ(SavedAt(forgotten), "");
  EXPECT_EQ(FakeMemory::copies, 0);
}

// Two ranges that overlap were locked: what is stored is what is at each address.
TEST_F(AgentMemoryTest, LockedRangesThatOverlapAreStoredAsTheyAre) {
  constexpr size_t kPage = 4096;
  LoadWithMemory();
  std::byte* const host = Map(3 * kPage);
  for (size_t page = 0; page < 3; ++page)
    std::memset(host + page * kPage, 'a' + static_cast<int>(page), kPage);
  const auto base = reinterpret_cast<uint64_t>(host);
  void* seen = nullptr;
  runtime_.amd().hsa_amd_memory_lock_fn(host, 2 * kPage, nullptr, 0, &seen);
  runtime_.amd().hsa_amd_memory_lock_fn(host + kPage, 2 * kPage, nullptr, 0, &seen);
  // The arguments are in the second, and are split out of it.
  const uint64_t kernarg = base + 2 * kPage + FakeMemory::kLockedAt;
  const std::string path = (folder_->path() / "bundle").string();
  std::string problem;
  const auto writer = capture::BundleWriter::Create(path, &problem);
  ASSERT_NE(writer, nullptr) << problem;
  MemoryReader reader(kReader);
  {
    const HeldAllocations held;
    CaptureMemory memory(held, {}, kernarg, 64, folder_->path().string(), &reader);
    EXPECT_TRUE(memory.TakeBefore(/*all=*/true, writer.get())) << memory.problem();
    ASSERT_EQ(memory.regions().size(), 2u);
    for (const capture::Region& region : memory.regions())
      EXPECT_EQ(region.host_base, region.base - FakeMemory::kLockedAt);
  }
  const auto stored = base::ReadFile(path + ".partial/" + capture::kBeforeDataName);
  ASSERT_TRUE(stored.ok());
  EXPECT_TRUE(stored.value() ==
              std::string(kPage, 'a') + std::string(kPage, 'b') + std::string(kPage, 'c'));
  munmap(host, 3 * kPage);
}

}  // namespace
}  // namespace rochound::agent
