// SPDX-License-Identifier: MIT
#include "capture/bundle.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <thread>

#include "capture/test_bundle.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;

void ExpectSame(const Bundle& bundle, const TestLaunch& launch) {
  for (uint32_t region = 0; region < launch.before.size(); ++region) {
    const size_t size = launch.before[region].size();
    if (size == 0) continue;
    Bytes got(size, std::byte{0xee});
    ASSERT_TRUE(bundle.ReadBefore(region, 0, got).ok());
    EXPECT_EQ(got, launch.before[region]);
    ASSERT_TRUE(bundle.ReadAfter(region, 0, got).ok());
    EXPECT_EQ(got, launch.after[region]);
  }
}

TEST_F(BundleTest, ComesBackAsItWas) {
  const TestLaunch launch = SmallLaunch();
  for (const size_t piece : {kPageBytes, 2 * kPageBytes, kChunkBytes}) {
    const fs::path path = Path("bundle" + std::to_string(piece));
    ASSERT_NO_FATAL_FAILURE(WriteBundle(path, launch, piece));
    const auto bundle = Bundle::Open(path);
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    EXPECT_EQ(ToJson(bundle.value().manifest()), ToJson(launch.manifest));
    EXPECT_TRUE(std::ranges::equal(bundle.value().kernarg(), launch.kernarg));
    EXPECT_TRUE(std::ranges::equal(bundle.value().code_object(), launch.code_object));
    ExpectSame(bundle.value(), launch);
    EXPECT_TRUE(bundle.value().Verify().ok());
    // Pieces do not show: page 0, pages 2 and 3 of region 0, page 2 of region 2; changes: page 0
    // (zeros) and the last of region 0, page 1 of region 2.
    ASSERT_EQ(bundle.value().before(0).size(), 2u);
    EXPECT_EQ(bundle.value().before(0)[1].bytes, kPageBytes + 100);
    ASSERT_EQ(bundle.value().before(1).size(), 0u);
    ASSERT_EQ(bundle.value().before(2).size(), 1u);
    ASSERT_EQ(bundle.value().after(0).size(), 2u);
    EXPECT_EQ(bundle.value().after(0)[0].encoding, Encoding::kZeros);
    EXPECT_EQ(bundle.value().after(0)[1].bytes, 100u);
    ASSERT_EQ(bundle.value().after(2).size(), 1u);
    EXPECT_EQ(bundle.value().stored_bytes(), 4 * kPageBytes + 200);
  }
}

TEST_F(BundleTest, ReadsAnyPart) {
  const TestLaunch launch = SmallLaunch();
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch));
  const auto bundle = Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  std::mt19937 random(5);
  for (int i = 0; i < 2000; ++i) {
    const uint32_t region = random() % 2 * 2;
    const size_t size = launch.before[region].size();
    const size_t offset = random() % (size + 1);
    Bytes got(random() % (size - offset + 1));
    const bool after = random() % 2 != 0;
    const auto read = after ? bundle.value().ReadAfter(region, offset, got)
                            : bundle.value().ReadBefore(region, offset, got);
    ASSERT_TRUE(read.ok()) << read.error().message;
    const Bytes& all = (after ? launch.after : launch.before)[region];
    ASSERT_TRUE(std::equal(got.begin(), got.end(), all.begin() + offset))
        << region << "+" << offset;
  }
  Bytes page(kPageBytes);
  EXPECT_FALSE(bundle.value().ReadBefore(1, 0, page).ok());  // not taken
  EXPECT_FALSE(bundle.value().ReadBefore(3, 0, page).ok());
  EXPECT_FALSE(bundle.value().ReadBefore(0, 3 * kPageBytes, page).ok());
  EXPECT_FALSE(bundle.value().ReadBefore(0, ~0ull - 100, page).ok());
}

TEST_F(BundleTest, RandomMemoryComesBackOnManyThreads) {
  std::mt19937 random(6);
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions = {TestRegion(0x10000000, 3 * kChunkBytes + 5 * kPageBytes + 12, true)};
  Bytes memory = RandomBytes(launch.manifest.regions[0].size, 7);
  const auto clear_some = [&](Bytes& bytes) {
    for (int i = 0; i < 40; ++i) {
      const size_t from = random() % bytes.size();
      const size_t count = std::min<size_t>(random() % (300 << 10), bytes.size() - from);
      std::fill_n(bytes.begin() + static_cast<ptrdiff_t>(from), count, std::byte{0});
    }
  };
  clear_some(memory);
  launch.before = {memory};
  clear_some(memory);
  for (int i = 0; i < 100; ++i) memory[random() % memory.size()] = std::byte{77};
  launch.after = {memory};
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch, 17 * kPageBytes));
  const auto bundle = Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  std::vector<std::thread> threads;
  for (int i = 0; i < 3; ++i) threads.emplace_back([&] { ExpectSame(bundle.value(), launch); });
  for (std::thread& thread : threads) thread.join();
}

TEST_F(BundleTest, IsForTheUserAlone) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), SmallLaunch()));
  struct stat status{};
  ASSERT_EQ(stat(Path("bundle").c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0700u);
  int files = 0;
  for (const auto& entry : fs::directory_iterator(Path("bundle"))) {
    ASSERT_EQ(stat(entry.path().c_str(), &status), 0);
    EXPECT_EQ(status.st_mode & 0777, 0600u) << entry.path();
    ++files;
  }
  EXPECT_EQ(files, 8);
}

TEST_F(BundleTest, IsThereOnlyWhenComplete) {
  const TestLaunch launch = SmallLaunch();
  std::string error;
  {
    const auto writer = BundleWriter::Create(Path("bundle").string(), &error);
    ASSERT_NE(writer, nullptr) << error;
    ASSERT_NO_FATAL_FAILURE(AddPhase(*writer, Phase::kBefore, launch.before, kChunkBytes));
    EXPECT_TRUE(fs::exists(Path("bundle.partial")));
    EXPECT_FALSE(Bundle::Open(Path("bundle.partial")).ok());
    EXPECT_EQ(BundleWriter::Create(Path("bundle").string(), &error), nullptr);
    EXPECT_NE(error.find("another capture is writing it"), std::string::npos);
  }
  EXPECT_TRUE(fs::is_empty(Path("")));
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch));
  EXPECT_EQ(BundleWriter::Create(Path("bundle").string(), &error), nullptr);
  EXPECT_NE(error.find("is there already"), std::string::npos);
}

TEST_F(BundleTest, SurvivesAChildThatInheritsTheWriter) {
  std::string error;
  auto writer = BundleWriter::Create(Path("bundle").string(), &error);
  ASSERT_NE(writer, nullptr) << error;
  const pid_t child = fork();
  if (child == 0) {
    writer.reset();
    _exit(0);
  }
  waitpid(child, nullptr, 0);
  const TestLaunch launch = SmallLaunch();
  EXPECT_TRUE(writer->Finish(launch.manifest, launch.kernarg, launch.code_object))
      << writer->error();
  EXPECT_TRUE(Bundle::Open(Path("bundle")).ok());
}

TEST_F(BundleTest, WriterRefusesWhatTheReaderWould) {
  const TestLaunch launch = SmallLaunch();
  const Bytes page = RandomBytes(kPageBytes, 8);
  const auto refused = [&](const std::function<bool(BundleWriter&)>& add) {
    std::string error;
    const auto writer = BundleWriter::Create(Path("refused").string(), &error);
    const bool good =
        add(*writer) && writer->Finish(launch.manifest, launch.kernarg, launch.code_object);
    EXPECT_FALSE(good);
    return writer->error();
  };
  const auto contains = [](const std::string& text, const char* part) {
    EXPECT_NE(text.find(part), std::string::npos) << text;
  };
  contains(refused([&](BundleWriter& w) { return w.AddRegionBytes(Phase::kBefore, 0, 10, page); }),
           "begin at a page");
  contains(refused([&](BundleWriter& w) {
             return w.AddRegionBytes(Phase::kBefore, 2, 0, page) &&
                    w.AddRegionBytes(Phase::kBefore, 0, 0, page);
           }),
           "ascending order");
  contains(refused([&](BundleWriter& w) {
             return w.AddRegionBytes(Phase::kAfter, 0, 0, page) &&
                    w.AddRegionBytes(Phase::kBefore, 0, 0, page);
           }),
           "before the launch was added after");
  contains(refused([&](BundleWriter& w) { return w.AddRegionBytes(Phase::kBefore, 1, 0, page); }),
           "does not take");
  contains(refused([&](BundleWriter& w) { return w.AddRegionBytes(Phase::kBefore, 9, 0, page); }),
           "does not take");
  contains(refused([&](BundleWriter& w) {
             return w.AddRegionBytes(Phase::kBefore, 0, 3 * kPageBytes, page);
           }),
           "does not fit region 0");
  contains(refused([&](BundleWriter& w) {
             return w.AddRegionBytes(Phase::kBefore, 0, 0, std::span(page).first(100));
           }),
           "does not fit region 0");
  EXPECT_TRUE(fs::is_empty(Path("")));
}

// Memory that changes while it is taken, by a process that shares it: some state of it is kept, and
// the bundle agrees with itself.
TEST_F(BundleTest, MemoryMayChangeMeanwhile) {
  constexpr size_t kBytes = kChunkBytes + 3 * kPageBytes;
  auto* const memory = static_cast<std::byte*>(
      mmap(nullptr, kBytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(memory, MAP_FAILED);
  const pid_t child = fork();
  if (child == 0) {
    for (unsigned value = 1;; ++value) {
      for (size_t at = 0; at < kBytes; at += 512) memory[at] = static_cast<std::byte>(value % 3);
    }
  }
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions = {TestRegion(0x10000000, kBytes, true)};
  for (int i = 0; i < 10; ++i) {
    const std::string path = Path("bundle" + std::to_string(i)).string();
    std::string error;
    const auto writer = BundleWriter::Create(path, &error);
    ASSERT_NE(writer, nullptr) << error;
    EXPECT_TRUE(writer->AddRegionBytes(Phase::kBefore, 0, 0, {memory, kBytes}));
    EXPECT_TRUE(writer->AddRegionBytes(Phase::kAfter, 0, 0, {memory, kBytes}));
    EXPECT_TRUE(writer->Finish(launch.manifest, launch.kernarg, launch.code_object));
    const auto bundle = Bundle::Open(path);
    ASSERT_TRUE(bundle.ok()) << bundle.error().message;
    const auto read = bundle.value().Verify();
    EXPECT_TRUE(read.ok()) << read.error().message;
  }
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  munmap(memory, kBytes);
}

TEST_F(BundleTest, AKilledWriterLeavesNoBundle) {
  const Bytes bytes = RandomBytes(1 << 20, 50);
  for (int i = 0; i < 20; ++i) {
    const std::string path = Path("bundle" + std::to_string(i)).string();
    const pid_t child = fork();
    if (child == 0) {
      std::string error;
      const auto writer = BundleWriter::Create(path, &error);
      for (uint64_t at = 0;; at += bytes.size()) {
        if (!writer->AddRegionBytes(Phase::kBefore, 0, at % (64 << 20), bytes)) _exit(1);
        if (at % (64 << 20) == (63 << 20)) _exit(2);  // nobody kills us
      }
    }
    usleep(500 * static_cast<useconds_t>(i));
    kill(child, SIGKILL);
    waitpid(child, nullptr, 0);
    EXPECT_FALSE(fs::exists(path));
    EXPECT_FALSE(Bundle::Open(path + ".partial").ok());
    fs::remove_all(path + ".partial");
  }
}

// A limit on files' sizes stands for a full disk: the write fails, the program lives on.
TEST_F(BundleTest, AFailedWriteIsToldAndLeavesNothing) {
  const pid_t child = fork();
  if (child == 0) {
    rlimit limit{100 << 10, 100 << 10};
    setrlimit(RLIMIT_FSIZE, &limit);
    std::string error;
    const auto writer = BundleWriter::Create(Path("bundle").string(), &error);
    const Bytes bytes = RandomBytes(1 << 20, 9);
    const bool added = writer->AddRegionBytes(Phase::kBefore, 0, 0, bytes);
    const bool told = writer->error().find("File too large") != std::string::npos;
    const TestLaunch launch = SmallLaunch();
    const bool finished = writer->Finish(launch.manifest, launch.kernarg, launch.code_object);
    _exit(!added && told && !finished ? 0 : 1);
  }
  int status = 0;
  waitpid(child, &status, 0);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  fs::remove_all(Path("bundle.partial"));  // the child ended without its destructors
  EXPECT_FALSE(fs::exists(Path("bundle")));
}

}  // namespace
}  // namespace rochound::capture
