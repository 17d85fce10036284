// SPDX-License-Identifier: MIT
//
// Bundles that are damaged, or made to do harm: each is refused with a message that says what is
// wrong. Unless a test says otherwise the file of checksums is right, as a forger's would be.
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include <cstring>
#include <fstream>
#include <functional>

#include "base/clock.h"
#include "capture/bundle.h"
#include "capture/bundle_directory.h"
#include "capture/checksum.h"
#include "capture/pack.h"
#include "capture/test_bundle.h"

namespace rochound::capture {
namespace {

namespace fs = std::filesystem;

std::string Content(const fs::path& path) { return base::ReadFile(path).value(); }

void Replace(const fs::path& path, std::string_view content) {
  ASSERT_TRUE(base::WriteFile(path, content).ok());
}

uint64_t Sum(std::string_view text) {
  return Checksum(std::as_bytes(std::span(text.data(), text.size())));
}

// The file of checksums for what the directory holds now.
std::string Sealed(const fs::path& bundle) {
  FileLines lines;
  for (size_t i = 0; i < kFileNames.size(); ++i) {
    const std::string content = Content(bundle / kFileNames[i]);
    lines[i] = {content.size(), Sum(content)};
  }
  return ChecksumsText(lines);
}

std::string Refusal(const fs::path& path) {
  const auto bundle = Bundle::Open(path);
  if (!bundle.ok()) return bundle.error().message;
  const auto read = bundle.value().Verify();
  return read.ok() ? "" : read.error().message;
}

// A launch whose every file is small: regions of less than a page.
TestLaunch TinyLaunch() {
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions = {TestRegion(0x10000000, 600, true), TestRegion(0x20000000, 40, true)};
  launch.manifest.agents.resize(1);
  launch.manifest.agent = 0;
  for (Region& region : launch.manifest.regions) region.owner = 0;
  launch.code_object = RandomBytes(64, 30);
  launch.before = {Bytes(600, std::byte{'a'}), RandomBytes(40, 31)};
  launch.after = launch.before;
  launch.after[0][50] = std::byte{'b'};
  launch.after[1].assign(40, std::byte{0});
  return launch;
}

class HostileTest : public BundleTest {
 protected:
  void SetUp() override { ASSERT_NO_FATAL_FAILURE(WriteBundle(bundle_, SmallLaunch())); }

  void ExpectRefused(const std::string& message) {
    const std::string refusal = Refusal(bundle_);
    EXPECT_NE(refusal.find(message), std::string::npos)
        << "'" << refusal << "' where '" << message << "' was expected";
  }

  // A bundle with a file changed and sealed again.
  void Change(const char* name, const std::function<void(std::string&)>& change) {
    fs::remove_all(bundle_);
    ASSERT_NO_FATAL_FAILURE(WriteBundle(bundle_, SmallLaunch()));
    std::string content = Content(bundle_ / name);
    change(content);
    Replace(bundle_ / name, content);
    Replace(bundle_ / kChecksumsName, Sealed(bundle_));
  }

  // The same for one extent of an index; SmallLaunch has 3 before and 3 after.
  void ChangeExtent(const char* name, size_t number, const std::function<void(Extent&)>& change) {
    Change(name, [&](std::string& content) {
      Extent extent{};
      char* const at = content.data() + sizeof(IndexHeader) + number * sizeof extent;
      memcpy(&extent, at, sizeof extent);
      change(extent);
      memcpy(at, &extent, sizeof extent);
    });
  }

  const fs::path bundle_ = Path("bundle");
};

TEST_F(HostileTest, IsNoneAsItStands) { EXPECT_EQ(Refusal(bundle_), ""); }

TEST_F(HostileTest, SymbolicLinksAreNotFollowed) {
  std::vector<const char*> names(kFileNames.begin(), kFileNames.end());
  names.push_back(kChecksumsName);
  for (const char* name : names) {
    fs::rename(bundle_ / name, Path("elsewhere"));
    fs::create_symlink(Path("elsewhere"), bundle_ / name);
    ExpectRefused(std::string(name) + "' is a symbolic link");
    fs::remove(bundle_ / name);
    fs::rename(Path("elsewhere"), bundle_ / name);
  }
  EXPECT_EQ(Refusal(bundle_), "");
}

TEST_F(HostileTest, OnlyFilesAreRead) {
  for (const char* name : {kManifestName, kBeforeDataName, kChecksumsName}) {
    fs::rename(bundle_ / name, Path("elsewhere"));
    ASSERT_EQ(mkfifo((bundle_ / name).c_str(), 0600), 0);
    ExpectRefused("is not a file");
    fs::remove(bundle_ / name);
    fs::create_directory(bundle_ / name);
    ExpectRefused("is not a file");
    fs::remove(bundle_ / name);
    ExpectRefused(name);
    fs::rename(Path("elsewhere"), bundle_ / name);
  }
  EXPECT_NE(Refusal(Path("nothing")).find("cannot open the bundle"), std::string::npos);
  EXPECT_NE(Refusal(bundle_ / kManifestName).find("a bundle is a directory"), std::string::npos);
}

TEST_F(HostileTest, NamesAreNotTakenFromFiles) {
  for (const char* name : {"../outside", "/etc/passwd", "kernarg.bin\n", "manifest.json"}) {
    std::string text = Sealed(bundle_);
    text.replace(text.find(kKernargName), strlen(kKernargName), name);
    text.resize(text.rfind('\n', text.size() - 2) + 1);
    char last[64];
    snprintf(last, sizeof last, "%016llx %zu %s\n", static_cast<unsigned long long>(Sum(text)),
             text.size(), kChecksumsName);
    Replace(bundle_ / kChecksumsName, text + last);
    ExpectRefused("does not agree with itself");
  }
}

TEST_F(HostileTest, ChecksumsSayOneThingInOneWay) {
  const std::string good = Content(bundle_ / kChecksumsName);
  EXPECT_EQ(good, Sealed(bundle_));
  Replace(bundle_ / kChecksumsName, good + "\n");
  ExpectRefused("does not agree with itself");
  Replace(bundle_ / kChecksumsName, good.substr(0, good.size() / 2));
  ExpectRefused("does not agree with itself");
  Replace(bundle_ / kChecksumsName, good + std::string(5000, ' '));
  ExpectRefused("far too long");
  Replace(bundle_ / kChecksumsName, "hello\n");
  ExpectRefused("does not begin with");
  std::string newer = good;
  newer[newer.find('\n') - 1] = '2';
  Replace(bundle_ / kChecksumsName, newer);
  ExpectRefused("format version 2, and this rochound reads version 1");
}

// Sizes that only a file with holes can have: nothing may be allocated for them.
TEST_F(HostileTest, HugeFilesAreGivenUpAtOnce) {
  const auto grow = [&](const char* name, uint64_t bytes) {
    Change(name, [](std::string&) {});
    FileLines lines;
    for (size_t i = 0; i < kFileNames.size(); ++i) {
      const std::string content = Content(bundle_ / kFileNames[i]);
      lines[i] = {content.size(), Sum(content)};
      if (strcmp(kFileNames[i], name) == 0) lines[i].bytes = bytes;
    }
    ASSERT_EQ(truncate((bundle_ / name).c_str(), static_cast<off_t>(bytes)), 0);
    Replace(bundle_ / kChecksumsName, ChecksumsText(lines));
  };
  const uint64_t start = base::ClockNs(CLOCK_PROCESS_CPUTIME_ID);
  grow(kManifestName, 1ull << 40);
  ExpectRefused("is larger than");
  grow(kCodeObjectName, 1ull << 40);
  ExpectRefused("is larger than");
  grow(kKernargName, 1ull << 40);
  ExpectRefused("is larger than");
  grow(kBeforeIndexName, (1ull << 30) * sizeof(Extent) + sizeof(IndexHeader));
  {
    std::fstream index(bundle_ / kBeforeIndexName, std::ios::in | std::ios::out);
    index.seekp(offsetof(IndexHeader, count));
    const uint64_t count = 1ull << 30;
    index.write(reinterpret_cast<const char*>(&count), sizeof count);
  }
  ExpectRefused("extent 3 is");
  grow(kAfterDataName, 1ull << 40);
  ExpectRefused("leaves data without an extent");
  EXPECT_LT(base::ClockNs(CLOCK_PROCESS_CPUTIME_ID) - start, 10'000'000'000u);
}

TEST_F(HostileTest, SizesInTheFileOfChecksumsAreComparedFirst) {
  FileLines lines;
  for (FileLine& line : lines) line.bytes = ~0ull;
  Replace(bundle_ / kChecksumsName, ChecksumsText(lines));
  ExpectRefused("bytes where 18446744073709551615 were written");
}

TEST_F(HostileTest, IndexHeadersAreChecked) {
  const auto header = [&](size_t at, char value, const std::string& message) {
    Change(kBeforeIndexName, [&](std::string& content) { content[at] = value; });
    ExpectRefused(message);
  };
  header(0, 'x', "is not an index");
  header(8, 2, "header that does not fit");
  header(13, 0, "header that does not fit");
  header(16, 1, "header that does not fit");  // an index of the other phase
  header(20, 1, "header that does not fit");
  header(24, 2, "header that does not fit");   // one extent less than there is
  header(31, 16, "header that does not fit");  // 2^60 of them
  Change(kAfterIndexName, [](std::string& content) { content.pop_back(); });
  ExpectRefused("is cut off");
  Change(kAfterIndexName, [](std::string& content) { content.resize(31); });
  ExpectRefused("is cut off");
  Change(kAfterIndexName, [](std::string& content) { content.clear(); });
  ExpectRefused("is cut off");
}

TEST_F(HostileTest, ExtentsAreChecked) {
  const auto extent = [&](size_t number, const std::string& message,
                          const std::function<void(Extent&)>& change) {
    ChangeExtent(kBeforeIndexName, number, change);
    ExpectRefused("extent " + std::to_string(number) + " " + message);
  };
  extent(0, "belongs to a region that is not there", [](Extent& e) { e.region = 3; });
  extent(0, "belongs to a region that was not taken", [](Extent& e) { e.region = 1; });
  extent(0, "is empty", [](Extent& e) { e.bytes = e.stored = 0; });
  extent(0, "lies outside its region", [](Extent& e) { e.bytes = e.stored = 4 * kPageBytes; });
  extent(0, "lies outside its region", [](Extent& e) { e.offset = 0 - kPageBytes; });
  extent(0, "lies outside its region", [](Extent& e) { e.bytes = 0 - kPageBytes; });
  extent(0, "does not begin at a page", [](Extent& e) { e.offset = 8; });
  extent(0, "does not end at a page", [](Extent& e) { e.bytes = 100; });
  extent(0, "is stored raw with another size", [](Extent& e) { e.stored = 100; });
  extent(0, "is compressed to a size", [](Extent& e) { e.encoding = Encoding::kZstd; });
  extent(0, "is of zeros, which", [](Extent& e) { e.encoding = Encoding::kZeros; });
  extent(0, "has an encoding", [](Extent& e) { e.encoding = static_cast<Encoding>(3); });
  extent(1, "overlaps the one before", [](Extent& e) {
    e.offset = 0;
    e.bytes = e.stored = kPageBytes;
  });
  extent(2, "is out of order", [](Extent& e) { e.region = 0, e.offset = 0; });
  extent(1, "does not follow", [](Extent& e) { e.place = 0; });  // another's data
  extent(1, "does not follow", [](Extent& e) { e.place += 1; });
  extent(1, "does not follow", [](Extent& e) { e.place = ~0ull; });
  ChangeExtent(kAfterIndexName, 0, [](Extent& e) { e.stored = 1; });
  ExpectRefused("is of zeros and has stored bytes");
  ChangeExtent(kBeforeIndexName, 0, [](Extent& e) { e.checksum ^= 1; });
  ExpectRefused("its checksum differs");
  Change(kBeforeDataName, [](std::string& content) { content.pop_back(); });
  ExpectRefused("names more data than there is");
  Change(kBeforeDataName, [](std::string& content) { content.push_back('x'); });
  ExpectRefused("leaves data without an extent");
}

TEST_F(HostileTest, ExtentsStayBelowFourMegabytes) {
  TestLaunch launch = SmallLaunch();
  launch.manifest.regions[2].size = 2 * kChunkBytes;
  launch.before[2] = launch.after[2] = RandomBytes(2 * kChunkBytes, 40);
  fs::remove_all(bundle_);
  ASSERT_NO_FATAL_FAILURE(WriteBundle(bundle_, launch));
  std::string content = Content(bundle_ / kBeforeIndexName);
  Extent extent{};
  char* const at = content.data() + sizeof(IndexHeader) + 2 * sizeof extent;
  memcpy(&extent, at, sizeof extent);
  ASSERT_EQ(extent.bytes, kChunkBytes);
  extent.bytes = extent.stored = kChunkBytes + kPageBytes;
  memcpy(at, &extent, sizeof extent);
  Replace(bundle_ / kBeforeIndexName, content);
  Replace(bundle_ / kChecksumsName, Sealed(bundle_));
  ExpectRefused("extent 2 crosses a multiple of 4194304 bytes");
}

// Compressed bytes that make more, or less, than the index says.
TEST_F(HostileTest, CompressedMemoryMakesWhatWasDeclared) {
  for (const size_t real : {size_t{64 << 20}, size_t{kPageBytes - 1}, size_t{0}}) {
    const Bytes bomb(real);
    Bytes small(ZSTD_compressBound(real));
    small.resize(ZSTD_compress(small.data(), small.size(), bomb.data(), bomb.size(), 3));
    std::string data;
    // The last extent of before: one page.
    ChangeExtent(kBeforeIndexName, 2, [&](Extent& extent) {
      data = Content(bundle_ / kBeforeDataName).substr(0, extent.place);
      data.append(reinterpret_cast<const char*>(small.data()), small.size());
      if (small.size() >= extent.bytes) {  // the bomb in the clothes of a page
        small.resize(extent.bytes - 1);
        data.resize(extent.place + small.size());
      }
      extent.encoding = Encoding::kZstd;
      extent.stored = small.size();
      extent.checksum = Checksum(small);
    });
    Replace(bundle_ / kBeforeDataName, data);
    Replace(bundle_ / kChecksumsName, Sealed(bundle_));
    ExpectRefused("cannot be decompressed to its 4096 bytes");
    const auto bundle = Bundle::Open(bundle_);
    ASSERT_TRUE(bundle.ok());
    Bytes part(10);
    EXPECT_FALSE(bundle.value().ReadBefore(2, 2 * kPageBytes, part).ok());
    EXPECT_FALSE(bundle.value().ReadAfter(2, 2 * kPageBytes, part).ok());
  }
}

TEST_F(HostileTest, ManifestsAreChecked) {
  Change(kManifestName, [](std::string& content) { content = std::string(2'000'000, '['); });
  ExpectRefused("is not JSON");
  Change(kManifestName, [](std::string& content) {
    content = std::string(1'000'000, '[') + std::string(1'000'000, ']');
  });
  ExpectRefused("is not an object");
  Change(kManifestName, [](std::string& content) {
    content.replace(content.find("0x7f0000100000"), 14, "0x7f0000000000");
  });
  ExpectRefused("overlaps region 0");
  Change(kKernargName, [](std::string& content) { content.pop_back(); });
  ExpectRefused("has 23 bytes, and the manifest says 24");
}

TEST_F(HostileTest, CutOffFilesAreNoticed) {
  for (const char* name : kFileNames) {
    const std::string content = Content(bundle_ / name);
    for (const size_t left : {size_t{0}, content.size() / 2, content.size() - 1}) {
      Replace(bundle_ / name, content.substr(0, left));
      ExpectRefused("were written");
    }
    Replace(bundle_ / name, content);
  }
}

// Damage without a forger: each bit of each file, alone.
void ExpectEveryBitNoticed(const fs::path& bundle) {
  std::vector<const char*> names(kFileNames.begin(), kFileNames.end());
  names.push_back(kChecksumsName);
  ASSERT_EQ(Refusal(bundle), "");
  size_t flips = 0;
  for (const char* name : names) {
    std::fstream file(bundle / name, std::ios::in | std::ios::out | std::ios::binary);
    const std::string content = Content(bundle / name);
    ASSERT_FALSE(content.empty()) << name;
    for (size_t at = 0; at < content.size(); ++at) {
      for (int bit = 0; bit < 8; ++bit, ++flips) {
        file.seekp(static_cast<std::streamoff>(at));
        file.put(static_cast<char>(content[at] ^ 1 << bit)).flush();
        ASSERT_NE(Refusal(bundle), "") << "bit " << bit << " of byte " << at << " of " << name;
      }
      file.seekp(static_cast<std::streamoff>(at));
      file.put(content[at]).flush();
    }
  }
  ASSERT_EQ(Refusal(bundle), "");
  EXPECT_GT(flips, 15000u);
}

TEST_F(BundleTest, EveryFlippedBitIsNoticed) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), TinyLaunch()));
  ExpectEveryBitNoticed(Path("bundle"));
}

TEST_F(BundleTest, EveryFlippedBitIsNoticedInAPackedBundle) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), TinyLaunch()));
  const auto packed = Pack(Path("bundle"), Path("bundle"));
  ASSERT_TRUE(packed.ok()) << packed.error().message;
  ASSERT_LT(packed.value().stored_bytes, 200u);
  ExpectEveryBitNoticed(Path("bundle"));
}

}  // namespace
}  // namespace rochound::capture
