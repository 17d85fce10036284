// SPDX-License-Identifier: MIT
#include "softgpu/driver/memory.h"

#include <errno.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstring>

#include "softgpu/driver/test_support.h"

namespace rochound::softgpu {
namespace {

constexpr uint64_t kPage = kGpuPageSize;
constexpr uint64_t kVa = 0x10'0000'0000;

class MemoryTest : public testing::Test {
 protected:
  MemoryTest() {
    for (uint32_t i = 0; i < 2; ++i) {
      gpus_.push_back(std::make_unique<Gpu>());
      gpus_[i]->facts = TestFacts(i + 1);
      gpus_[i]->index = i;
      gpus_[i]->device = &devices_[i];
    }
  }

  // A child of fork has its own driver, which knows nothing yet.
  std::unique_ptr<MemoryManager> NewManager() {
    for (auto& gpu : gpus_) {
      gpu->mappings.clear();
      gpu->vram_used = 0;
    }
    return std::make_unique<MemoryManager>(gpus_);
  }

  kfd::AllocMemoryArgs Alloc(uint64_t va, uint64_t size, uint32_t flags, uint64_t user = 0) {
    kfd::AllocMemoryArgs args{};
    args.va_addr = va;
    args.size = size;
    args.flags = flags;
    args.mmap_offset = user;
    EXPECT_EQ(memory_.Alloc(*gpus_[0], args), 0);
    return args;
  }

  int Map(uint64_t handle, std::vector<uint32_t> ids = {50001}) {
    kfd::MapMemoryArgs args{};
    args.handle = handle;
    args.device_ids_ptr = reinterpret_cast<uint64_t>(ids.data());
    args.n_devices = static_cast<uint32_t>(ids.size());
    const int error = memory_.Map(args);
    if (error == 0) {
      EXPECT_EQ(args.n_success, ids.size());
    }
    return error;
  }

  int Unmap(uint64_t handle, std::vector<uint32_t> ids = {50001}) {
    kfd::MapMemoryArgs args{};
    args.handle = handle;
    args.device_ids_ptr = reinterpret_cast<uint64_t>(ids.data());
    args.n_devices = static_cast<uint32_t>(ids.size());
    return memory_.Unmap(args);
  }

  uint8_t* ProgramMap(uint64_t offset, uint64_t size) {
    void* address = nullptr;
    EXPECT_EQ(
        memory_.MapStorage(nullptr, size, PROT_READ | PROT_WRITE, MAP_SHARED, offset, &address), 0);
    return static_cast<uint8_t*>(address);
  }

  FakeDevice devices_[2];
  std::vector<std::unique_ptr<Gpu>> gpus_;
  MemoryManager memory_{gpus_};
};

TEST_F(MemoryTest, ProgramAndGpuSeeTheSameBytes) {
  const auto buffer = Alloc(kVa, 4 * kPage, kfd::kAllocVram | kfd::kAllocWritable);
  uint8_t* program = ProgramMap(buffer.mmap_offset, 4 * kPage);
  program[3 * kPage] = 42;
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kRead), nullptr) << "visible before it is mapped";
  ASSERT_EQ(Map(buffer.handle), 0);
  uint8_t* gpu = GpuSees(devices_[0], kVa + 3 * kPage, kPage, kRead | kWrite);
  ASSERT_NE(gpu, nullptr);
  EXPECT_EQ(gpu[0], 42);
  gpu[1] = 43;
  EXPECT_EQ(program[3 * kPage + 1], 43);
  EXPECT_EQ(Unmap(buffer.handle), 0);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kRead), nullptr) << "still visible after unmapping";
  munmap(program, 4 * kPage);
}

TEST_F(MemoryTest, TheMapIsStrict) {
  const auto buffer = Alloc(kVa, 2 * kPage, kfd::kAllocVram);  // read only
  ASSERT_EQ(Map(buffer.handle), 0);
  EXPECT_NE(GpuSees(devices_[0], kVa, 2 * kPage, kRead), nullptr);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kWrite), nullptr);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kExecute), nullptr);
  EXPECT_EQ(GpuSees(devices_[0], kVa + 2 * kPage, 1, kRead), nullptr) << "after the end";
  EXPECT_EQ(GpuSees(devices_[0], kVa - 1, 1, kRead), nullptr) << "before the start";
  EXPECT_EQ(GpuSees(devices_[1], kVa, 1, kRead), nullptr) << "on a GPU it is not mapped to";
  const auto code = Alloc(kVa + 4 * kPage, kPage, kfd::kAllocGtt | kfd::kAllocExecutable);
  ASSERT_EQ(Map(code.handle), 0);
  EXPECT_NE(GpuSees(devices_[0], kVa + 4 * kPage, 4, kExecute), nullptr);
}

TEST_F(MemoryTest, PeersMapTheSameBuffer) {
  const auto buffer = Alloc(kVa, kPage, kfd::kAllocVram | kfd::kAllocWritable);
  ASSERT_EQ(Map(buffer.handle, {50001, 50002}), 0);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kRead), GpuSees(devices_[1], kVa, 1, kRead));
  EXPECT_EQ(Unmap(buffer.handle, {50002}), 0);
  EXPECT_EQ(GpuSees(devices_[1], kVa, 1, kRead), nullptr);
  EXPECT_NE(GpuSees(devices_[0], kVa, 1, kRead), nullptr);
  EXPECT_EQ(Map(buffer.handle, {50001, 50003}), -EINVAL) << "there is no such GPU";
}

TEST_F(MemoryTest, UserMemoryIsTheProgramsOwn) {
  void* user = mmap(nullptr, 2 * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  const auto buffer = Alloc(kVa, 2 * kPage, kfd::kAllocUserptr | kfd::kAllocWritable,
                            reinterpret_cast<uint64_t>(user));
  ASSERT_EQ(Map(buffer.handle), 0);
  EXPECT_EQ(GpuSees(devices_[0], kVa + kPage, kPage, kWrite), static_cast<uint8_t*>(user) + kPage);
  EXPECT_EQ(Unmap(buffer.handle), 0);
  EXPECT_EQ(memory_.Free(buffer.handle), 0);
  munmap(user, 2 * kPage);

  kfd::AllocMemoryArgs gone{};
  gone.va_addr = kVa;
  gone.size = 2 * kPage;
  gone.flags = kfd::kAllocUserptr;
  gone.mmap_offset = reinterpret_cast<uint64_t>(user);
  EXPECT_EQ(memory_.Alloc(*gpus_[0], gone), -EFAULT) << "memory that the program does not have";
}

TEST_F(MemoryTest, MappedMemoryIsNotFreedAndAddressesDoNotOverlap) {
  const auto first = Alloc(kVa, 4 * kPage, kfd::kAllocVram);
  const auto second = Alloc(kVa + 3 * kPage, kPage, kfd::kAllocVram);
  ASSERT_EQ(Map(first.handle), 0);
  EXPECT_EQ(Map(first.handle), 0) << "mapping again is no error";
  EXPECT_EQ(Map(second.handle), -EINVAL);
  EXPECT_EQ(memory_.Free(first.handle), -EBUSY);
  EXPECT_EQ(Unmap(first.handle), 0);
  EXPECT_EQ(Map(second.handle), 0);
  EXPECT_EQ(memory_.Free(first.handle), 0);
  EXPECT_EQ(memory_.Free(first.handle), -EINVAL);
}

TEST_F(MemoryTest, VramIsCountedButNotSpent) {
  const uint64_t all = gpus_[0]->facts.vram_bytes;  // 256 GiB
  EXPECT_EQ(memory_.Available(*gpus_[0]), all);
  const auto buffer = Alloc(kVa, all - (2 << 20), kfd::kAllocVram | kfd::kAllocWritable);
  EXPECT_EQ(memory_.Available(*gpus_[0]), uint64_t{2} << 20);
  kfd::AllocMemoryArgs more{};
  more.va_addr = kVa * 64;
  more.size = 4 << 20;
  more.flags = kfd::kAllocVram;
  EXPECT_EQ(memory_.Alloc(*gpus_[0], more), -ENOMEM);
  EXPECT_EQ(memory_.Alloc(*gpus_[1], more), 0) << "another GPU's memory";
  ASSERT_EQ(Map(buffer.handle), 0);
  GpuSees(devices_[0], kVa + all - (8 << 20), 1, kWrite)[0] = 1;  // touches one page only
  EXPECT_EQ(Unmap(buffer.handle), 0);
  EXPECT_EQ(memory_.Free(buffer.handle), 0);
  EXPECT_EQ(memory_.Available(*gpus_[0]), all);
}

TEST_F(MemoryTest, VramOutOfTheHostsSightIsNotMapped) {
  gpus_[0]->facts.vram_host_visible = false;
  const auto buffer = Alloc(kVa, kPage, kfd::kAllocVram);
  void* address = nullptr;
  EXPECT_EQ(memory_.MapStorage(nullptr, kPage, PROT_READ, MAP_SHARED, buffer.mmap_offset, &address),
            -EPERM);
  EXPECT_EQ(memory_.MapStorage(nullptr, kPage, PROT_NONE, MAP_SHARED, buffer.mmap_offset, &address),
            0)
      << "the runtime reserves addresses this way";
  munmap(address, kPage);
}

TEST_F(MemoryTest, QueueMemoryIsMappedTwiceInARow) {
  const auto ring =
      Alloc(kVa, 4 * kPage, kfd::kAllocGtt | kfd::kAllocWritable | kfd::kAllocAqlQueueMem);
  ASSERT_EQ(Map(ring.handle), 0);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 2 * kPage, kWrite),
            GpuSees(devices_[0], kVa + 2 * kPage, 2 * kPage, kWrite));
}

TEST_F(MemoryTest, ProgramMapsOnlyWhatIsThere) {
  const auto buffer = Alloc(kVa, 4 * kPage, kfd::kAllocGtt);
  uint8_t* whole = ProgramMap(buffer.mmap_offset, 4 * kPage);
  uint8_t* part = ProgramMap(buffer.mmap_offset + 2 * kPage, kPage);
  whole[2 * kPage + 5] = 9;
  EXPECT_EQ(part[5], 9);
  void* address = nullptr;
  EXPECT_EQ(
      memory_.MapStorage(nullptr, 5 * kPage, PROT_READ, MAP_SHARED, buffer.mmap_offset, &address),
      -EINVAL);
  EXPECT_EQ(memory_.MapStorage(nullptr, kPage, PROT_READ, MAP_SHARED, 0, &address), -EINVAL);
  munmap(whole, 4 * kPage);
  munmap(part, kPage);
}

TEST_F(MemoryTest, DoorbellsAreOnePagePerGpu) {
  volatile uint64_t* doorbells = memory_.Doorbells(*gpus_[0]);
  const auto buffer =
      Alloc(kVa, kfd::kDoorbellPageBytes, kfd::kAllocDoorbell | kfd::kAllocWritable);
  ASSERT_EQ(Map(buffer.handle), 0);
  void* program = nullptr;
  ASSERT_EQ(memory_.MapDoorbells(*gpus_[0], nullptr, kfd::kDoorbellPageBytes,
                                 PROT_READ | PROT_WRITE, MAP_SHARED, &program),
            0);
  static_cast<uint64_t*>(program)[7] = 123;
  EXPECT_EQ(doorbells[7], 123u);
  EXPECT_EQ(reinterpret_cast<uint64_t*>(GpuSees(devices_[0], kVa, 8192, kWrite))[7], 123u);
  EXPECT_NE(memory_.Doorbells(*gpus_[1]), doorbells);
  munmap(program, kfd::kDoorbellPageBytes);
}

TEST_F(MemoryTest, BadRequestsAreRefused) {
  const auto refused = [&](uint64_t va, uint64_t size, uint32_t flags) {
    kfd::AllocMemoryArgs args{};
    args.va_addr = va;
    args.size = size;
    args.flags = flags;
    return memory_.Alloc(*gpus_[0], args);
  };
  EXPECT_EQ(refused(kVa, 0, kfd::kAllocVram), -EINVAL);
  EXPECT_EQ(refused(kVa + 1, kPage, kfd::kAllocVram), -EINVAL);
  EXPECT_EQ(refused(kVa, kPage + 1, kfd::kAllocVram), -EINVAL);
  EXPECT_EQ(refused(kGpuVmLimit + 1, kPage, kfd::kAllocVram), -EINVAL);
  EXPECT_EQ(refused(kVa, kPage, kfd::kAllocVram | kfd::kAllocGtt), -EINVAL);
  EXPECT_EQ(refused(kVa, kPage, 0), -EINVAL);
  EXPECT_EQ(Map(999), -EINVAL);
  const auto no_address = Alloc(0, kPage, kfd::kAllocVram);
  EXPECT_EQ(Map(no_address.handle), -EINVAL) << "only libdrm maps memory without an address";
}

TEST_F(MemoryTest, LibdrmMapsImportedMemoryWhereTold) {
  const auto buffer = Alloc(0, 4 * kPage, kfd::kAllocVram | kfd::kAllocWritable);
  uint32_t fd = 0;
  ASSERT_EQ(memory_.ExportDmabuf(buffer.handle, 0, &fd), 0);
  DrmBuffer* owner = nullptr;
  DrmBuffer* again = nullptr;
  DrmBuffer* peer = nullptr;
  ASSERT_EQ(memory_.DrmImport(*gpus_[0], drm::kHandleDmabuf, fd, &owner), 0);
  ASSERT_EQ(memory_.DrmImport(*gpus_[0], drm::kHandleDmabuf, fd, &again), 0);
  ASSERT_EQ(memory_.DrmImport(*gpus_[1], drm::kHandleDmabuf, fd, &peer), 0);
  close(static_cast<int>(fd));
  EXPECT_EQ(owner, again) << "one object per device and memory";

  ASSERT_EQ(memory_.DrmVaOperation(*owner, kPage, 2 * kPage, kVa, drm::kVaMap), 0);
  EXPECT_EQ(memory_.DrmVaOperation(*owner, 0, kPage, kVa + kPage, drm::kVaMap), -EINVAL);
  ASSERT_EQ(memory_.DrmVaOperation(*peer, kPage, 2 * kPage, kVa, drm::kVaMap), 0);
  uint8_t* first = GpuSees(devices_[0], kVa, 2 * kPage, kRead | kWrite | kExecute);
  ASSERT_NE(first, nullptr);
  EXPECT_EQ(GpuSees(devices_[1], kVa, 2 * kPage, kRead), first);

  uint32_t gem = 0;
  uint64_t offset = 0;
  ASSERT_EQ(memory_.DrmExport(*owner, drm::kHandleKms, &gem), 0);
  ASSERT_EQ(memory_.DrmMmapOffset(gem, &offset), 0);
  uint8_t* program = ProgramMap(offset, 4 * kPage);
  program[kPage] = 77;
  EXPECT_EQ(first[0], 77);
  munmap(program, 4 * kPage);

  EXPECT_EQ(memory_.DrmVaOperation(*peer, kPage, 2 * kPage, kVa, drm::kVaUnmap), 0);
  EXPECT_EQ(GpuSees(devices_[1], kVa, 1, kRead), nullptr);
  EXPECT_EQ(memory_.DrmFree(*again), 0);
  EXPECT_NE(GpuSees(devices_[0], kVa, 1, kRead), nullptr) << "one handle is left";
  EXPECT_EQ(memory_.DrmFree(*owner), 0);
  EXPECT_EQ(GpuSees(devices_[0], kVa, 1, kRead), nullptr) << "the last handle is gone";
  EXPECT_EQ(memory_.DrmFree(*peer), 0);
  EXPECT_EQ(memory_.Free(buffer.handle), 0);
  EXPECT_EQ(memory_.Available(*gpus_[0]), gpus_[0]->facts.vram_bytes);
}

// In a child process; its failures are its exit code.
template <typename Body>
int InChild(Body&& body) {
  const pid_t child = fork();
  if (child == 0) {
    body();
    _exit(testing::Test::HasFailure() ? 1 : 0);
  }
  int status = 0;
  waitpid(child, &status, 0);
  return status;
}

TEST_F(MemoryTest, DmabufTravelsToAnotherProcessWithItsMetadata) {
  const auto buffer = Alloc(kVa, 4 * kPage, kfd::kAllocVram | kfd::kAllocWritable);
  uint8_t* program = ProgramMap(buffer.mmap_offset, 4 * kPage);
  program[100] = 11;
  uint32_t fd = 0;
  ASSERT_EQ(memory_.ExportDmabuf(buffer.handle, 0, &fd), 0);
  DrmBuffer* mine = nullptr;
  ASSERT_EQ(memory_.DrmImport(*gpus_[0], drm::kHandleDmabuf, fd, &mine), 0);
  drm::BoMetadata metadata{};
  metadata.size_metadata = 8;
  metadata.umd_metadata[0] = 0xFEED;
  metadata.umd_metadata[1] = 0xBEEF;
  ASSERT_EQ(memory_.DrmSetMetadata(*mine, metadata), 0);

  EXPECT_EQ(InChild([&] {
              auto manager = NewManager();
              uint32_t words[2] = {};
              kfd::GetDmabufInfoArgs info{};
              info.dmabuf_fd = fd;
              info.metadata_ptr = reinterpret_cast<uint64_t>(words);
              info.metadata_size = sizeof(words);
              ASSERT_EQ(manager->DmabufInfo(info), 0);
              EXPECT_EQ(info.size, 4 * kPage);
              EXPECT_EQ(info.gpu_id, 50001u);
              EXPECT_EQ(words[0], 0xFEEDu);
              EXPECT_EQ(words[1], 0xBEEFu);
              info.metadata_size = 4;
              EXPECT_EQ(manager->DmabufInfo(info), -EINVAL);
              EXPECT_EQ(info.metadata_size, 8u) << "how much it would have taken";

              DrmBuffer* imported = nullptr;
              ASSERT_EQ(manager->DrmImport(*gpus_[1], drm::kHandleDmabuf, fd, &imported), 0);
              drm::BoInfo bo{};
              EXPECT_EQ(manager->DrmQueryInfo(*imported, &bo), 0);
              EXPECT_EQ(bo.alloc_size, 4 * kPage);
              EXPECT_EQ(bo.metadata.umd_metadata[1], 0xBEEFu);

              uint64_t handle = 0;
              ASSERT_EQ(manager->ImportDmabuf(*gpus_[0], static_cast<int>(fd), kVa, &handle), 0);
              kfd::MapMemoryArgs map{};
              uint32_t id = 50001;
              map.handle = handle;
              map.device_ids_ptr = reinterpret_cast<uint64_t>(&id);
              map.n_devices = 1;
              FakeDevice fresh;
              gpus_[0]->device = &fresh;
              ASSERT_EQ(manager->Map(map), 0);
              uint8_t* seen = GpuSees(fresh, kVa, 4 * kPage, kRead | kWrite);
              ASSERT_NE(seen, nullptr);
              EXPECT_EQ(seen[100], 11);
              seen[101] = 12;
            }),
            0);
  EXPECT_EQ(program[101], 12);
  // The exporter may free it while a descriptor keeps it alive.
  EXPECT_EQ(memory_.DrmFree(*mine), 0);
  EXPECT_EQ(memory_.Free(buffer.handle), 0);
  EXPECT_EQ(InChild([&] {
              uint64_t handle = 0;
              EXPECT_EQ(NewManager()->ImportDmabuf(*gpus_[0], static_cast<int>(fd), kVa, &handle),
                        0);
            }),
            0);
  close(static_cast<int>(fd));
  munmap(program, 4 * kPage);
}

TEST_F(MemoryTest, IpcHandleWorksInAnotherProcessUntilTheBufferIsFreed) {
  const auto buffer = Alloc(kVa, kPage, kfd::kAllocVram | kfd::kAllocWritable);
  uint8_t* program = ProgramMap(buffer.mmap_offset, kPage);
  program[0] = 5;
  kfd::IpcImportHandleArgs import{};
  ASSERT_EQ(memory_.ExportIpc(buffer.handle, import.share_handle), 0);
  import.va_addr = 2 * kVa;
  EXPECT_EQ(InChild([&] {
              auto manager = NewManager();
              ASSERT_EQ(manager->ImportIpc(*gpus_[0], import), 0);
              void* mapped = nullptr;
              ASSERT_EQ(manager->MapStorage(nullptr, kPage, PROT_READ | PROT_WRITE, MAP_SHARED,
                                            import.mmap_offset, &mapped),
                        0);
              EXPECT_EQ(static_cast<uint8_t*>(mapped)[0], 5);
              static_cast<uint8_t*>(mapped)[1] = 6;
            }),
            0);
  EXPECT_EQ(program[1], 6);
  munmap(program, kPage);
  ASSERT_EQ(memory_.Free(buffer.handle), 0);
  const auto successor = Alloc(kVa, kPage, kfd::kAllocVram);  // gets the descriptor's number
  EXPECT_EQ(InChild([&] { EXPECT_EQ(NewManager()->ImportIpc(*gpus_[0], import), -EINVAL); }), 0);
  EXPECT_EQ(memory_.Free(successor.handle), 0);
}

TEST_F(MemoryTest, OtherFilesAreNotImported) {
  FILE* file = tmpfile();
  ASSERT_NE(file, nullptr);
  ASSERT_EQ(ftruncate(fileno(file), 3 * kPage), 0);
  uint64_t handle = 0;
  EXPECT_EQ(memory_.ImportDmabuf(*gpus_[0], fileno(file), kVa, &handle), -EINVAL);
  EXPECT_EQ(memory_.ImportDmabuf(*gpus_[0], -1, kVa, &handle), -EBADF);
  fclose(file);
}

TEST_F(MemoryTest, ThousandsOfBuffersDoNotRunOutOfDescriptors) {
  constexpr int kMany = 3000;
  std::vector<uint64_t> handles;
  for (int i = 0; i < kMany; ++i)
    handles.push_back(Alloc(kVa + i * 2 * kPage, kPage, kfd::kAllocVram).handle);
  ASSERT_FALSE(HasFailure());
  for (uint64_t handle : handles) EXPECT_EQ(memory_.Free(handle), 0);
}

}  // namespace
}  // namespace rochound::softgpu
