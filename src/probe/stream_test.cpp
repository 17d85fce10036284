// SPDX-License-Identifier: MIT
#include "probe/stream.h"

#include <elf.h>
#include <gtest/gtest.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <fstream>
#include <string>
#include <vector>

#include "base/files.h"
#include "probe/layout.h"

namespace rochound::probe {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<uint64_t>;

constexpr uint64_t kLoaded = 0x7000'0000;      // the code object's first byte
constexpr uint64_t kSites = kLoaded + 0x1600;  // its .text, which nobody executes here
constexpr size_t kSitesInFile = 0x600, kSitesBytes = 320;
constexpr uint64_t kWaveAt = 0xffff'fff0;

Words Message(uint64_t kind, uint32_t position, Words rest) {
  rest.insert(rest.begin(), uint64_t{kRochoundProbeMagic} << 48 | kind << 40 |
                                (rest.size() + 1) << 32 | position);
  return rest;
}

Words Text(Words numbers, const std::string& text) {
  for (size_t i = 0; i < text.size(); i += 8) {
    uint64_t word = 0;
    for (size_t k = 0; k < 8 && i + k < text.size(); ++k)
      word |= uint64_t{static_cast<unsigned char>(text[i + k])} << 8 * k;
    numbers.push_back(word);
  }
  return numbers;
}

struct Accesses final : Receiver {
  void OnAccess(const AccessMessage& message) override {
    spaces.emplace_back(message.space);
    masks.push_back(message.mask);
    addresses.push_back(*message.addresses);
    groups.push_back(message.group_number);
    waves.push_back(message.wave);
    functions.push_back(*message.function);
    lines.push_back(message.site->at.empty() ? 0 : message.site->at[0].line);
  }
  std::vector<std::string> spaces, functions;
  std::vector<uint64_t> masks, groups, waves, lines;
  std::vector<Words> addresses;
};

class StreamTest : public testing::Test {
 protected:
  StreamTest() {
    std::string name = (fs::temp_directory_path() / "rochound-stream-XXXXXX").string();
    folder_ = mkdtemp(name.data());
    // Two places and a function, at the offsets that the messages name.
    const std::string function = R"({"is":"function","function":"called"})";
    const std::string flat =
        R"({"is":"access","action":"load","space":"flat","bytes":4,"at":[{"line":12}]})";
    flat_ = function.size() + 1;
    wrong_ = flat_ + flat.size() + 1;
    sites_ =
        function + '\0' + flat + '\0' +
        R"({"is":"access","action":7,"space":"global","bytes":"x","at":[{"line":"a","file":3},5]})" +
        '\0';
    Add(Message(kRochoundProbeProcess, 0, {kRochoundProbeVersion, 77, 0x1000, 0x2000}));
    Add(Message(kRochoundProbeModule, 0, Text({kLoaded, kLoaded, 0x4000, 0}, "77-1.hsaco")));
  }
  ~StreamTest() override { fs::remove_all(folder_); }

  void Add(const Words& message) { words_.insert(words_.end(), message.begin(), message.end()); }

  // Of workgroup (1, 2) of 4 x 3 ones, with 128 x 1 work-items each, in its second wave.
  void AddWave() {
    Words rest(kRochoundProbeWaveWords - 1);
    rest[0] = ~0ull;
    rest[1] = uint64_t{64} << 32;
    rest[2] = kSites;
    rest[5] = 1 | uint64_t{2} << 32;
    rest[6] = uint64_t{64} << 32;
    rest[7] = 0x10000 | uint64_t{0x20000} << 32;
    rest[8] = uint64_t{128} << 32 | uint64_t{1} << 48;
    rest[9] = 1 | uint64_t{512} << 32;
    rest[10] = 3 | uint64_t{1} << 32;
    Add(Message(kRochoundProbeWave, kWaveAt, rest));
  }

  void AddAccess(uint64_t site, uint64_t lanes, Words addresses, uint64_t wave = kWaveAt) {
    addresses.insert(addresses.begin(), {lanes, site | wave << 32});
    Add(Message(kRochoundProbeAccess, 5, addresses));
  }

  base::Result<StreamSummary> Read(size_t bytes_less = 0) {
    auto code = base::ReadFile(fs::path(ROCHOUND_SOURCE) / "tests/fuzz/corpus/codeobj/gfx1030");
    EXPECT_TRUE(code.ok() && sites_.size() <= kSitesBytes);
    std::string bytes = code.value();
    bytes.replace(kSitesInFile, sites_.size(), sites_);
    AddSegments(&bytes);
    std::ofstream(folder_ / "77-1.hsaco", std::ios::binary) << bytes;
    std::ofstream(folder_ / "77.probe", std::ios::binary)
        .write(reinterpret_cast<const char*>(words_.data()),
               static_cast<std::streamsize>(words_.size() * 8 - bytes_less));
    return ReadStreams(folder_, nullptr, &got_);
  }

  // Loads the sites again and again, each a page after the other.
  void AddSegments(std::string* bytes) const {
    Elf64_Ehdr header;
    memcpy(&header, bytes->data(), sizeof header);
    const std::string own = bytes->substr(header.e_phoff, header.e_phnum * sizeof(Elf64_Phdr));
    header.e_phoff = bytes->size();
    header.e_phnum = static_cast<Elf64_Half>(header.e_phnum + segments_);
    *bytes += own;
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_offset = kSitesInFile;
    segment.p_filesz = kSitesBytes;
    for (uint64_t i = 0; i < segments_; ++i) {
      segment.p_vaddr = kSites - kLoaded + kPage * (i + 1);
      bytes->append(reinterpret_cast<const char*>(&segment), sizeof segment);
    }
    memcpy(bytes->data(), &header, sizeof header);
  }

  static constexpr uint64_t kPage = 0x4000;
  uint64_t segments_ = 0;
  fs::path folder_;
  std::string sites_;
  uint64_t flat_ = 0, wrong_ = 0;
  Words words_;
  Accesses got_;
};

TEST_F(StreamTest, TellsWhatLanesDidWithEachKindOfMemory) {
  AddWave();
  // Lane 0 to global memory, 2 to LDS, 5 to scratch, 6 to LDS.
  AddAccess(flat_, 0x65,
            {0x7fff'0000'1000, 0x10000'0000'0008, 0x20000'0000'0010, 0x10000'0000'000c});
  Add(Message(kRochoundProbeEnd, 0, {1, 3, 4, 5}));
  const auto summary = Read();
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().accesses, 1u);
  EXPECT_EQ(summary.value().dropped, 3u);
  EXPECT_EQ(summary.value().unwritten, 4u);
  EXPECT_EQ(summary.value().unfinished, 5u);
  EXPECT_EQ(summary.value().without_end, 0u);
  EXPECT_EQ(got_.spaces, (std::vector<std::string>{"lds", "global", "scratch"}));
  EXPECT_EQ(got_.masks, (Words{0x44, 1, 0x20}));
  EXPECT_EQ(got_.addresses, (std::vector<Words>{{8, 12}, {0x7fff'0000'1000}, {16}}));
  EXPECT_EQ(got_.groups, Words(3, 9));  // 1 + 4 * 2
  EXPECT_EQ(got_.waves, Words(3, 1));
  EXPECT_EQ(got_.lines, Words(3, 12));
  EXPECT_EQ(got_.functions[0], "called");
}

TEST_F(StreamTest, CountsWhatItDoesNotUnderstand) {
  AddWave();
  AddAccess(flat_, 1, {0x1000}, 4711);  // no such wave
  AddAccess(flat_, 3, {0x1000});        // an address is missing
  AddAccess(flat_ + 1, 1, {0x1000});    // no place
  AddAccess(1 << 20, 1, {0x1000});      // outside
  AddAccess(0, 1, {0x1000});            // a function
  Add(Message(200, 0, {1, 2, 3}));      // of a newer version
  const auto summary = Read();
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().not_understood, 5u);
  EXPECT_EQ(summary.value().accesses, 0u);
  EXPECT_EQ(summary.value().without_end, 1u);
}

TEST_F(StreamTest, TakesPlacesOfAnyShape) {
  AddWave();
  AddAccess(wrong_, 1, {0x1000});
  const auto summary = Read();
  ASSERT_TRUE(summary.ok());
  EXPECT_EQ(summary.value().accesses, 1u);
}

TEST_F(StreamTest, APlaceBeginsAtItsFirstByteOnly) {
  sites_ = std::string(100, ' ') + R"({"is":"access","action":"load","space":"global","bytes":4})" +
           '\0';
  AddWave();
  for (uint64_t site = 0; site <= 100; ++site) AddAccess(site, 1, {0x1000});
  const auto summary = Read();
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  EXPECT_EQ(summary.value().accesses, 1u);
  EXPECT_EQ(summary.value().not_understood, 100u);
}

TEST_F(StreamTest, PlacesAreNotLongerThanTheirCodeObject) {
  const std::string name(200, 'n');
  sites_ =
      R"({"is":"access","action":"load","space":"global","bytes":4,"name":")" + name + "\"}" + '\0';
  segments_ = 1000;
  AddWave();
  for (uint64_t i = 1; i <= segments_; ++i) AddAccess(i * kPage, 1, {0x1000});
  const auto summary = Read();
  ASSERT_TRUE(summary.ok()) << summary.error().message;
  const uint64_t most = fs::file_size(folder_ / "77-1.hsaco") / sites_.size();
  EXPECT_LE(summary.value().accesses, most);
  EXPECT_GE(summary.value().accesses, most / 2);
  EXPECT_EQ(summary.value().accesses + summary.value().not_understood, segments_);
}

TEST_F(StreamTest, RefusesACodeObjectThatIsNamedTwice) {
  Add(Message(kRochoundProbeModule, 0,
              Text({kLoaded, kLoaded + 0x10000, 0x4000, 0}, "77-1.hsaco")));
  const auto summary = Read();
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.error().message.find("77-1.hsaco"), std::string::npos)
      << summary.error().message;
}

TEST_F(StreamTest, ReadsUpToWhereTheFileEnds) {
  AddWave();
  AddAccess(flat_, 1, {0x1000});
  AddAccess(flat_, 1, {0x1000});
  for (const size_t less : {1, 8, 31}) {
    const auto summary = Read(less);
    ASSERT_TRUE(summary.ok()) << less;
    EXPECT_EQ(summary.value().accesses, 1u) << less;
    EXPECT_TRUE(summary.value().cut_off) << less;
  }
}

TEST_F(StreamTest, AFifoIsRefusedAtOnce) {
  ASSERT_EQ(mkfifo((folder_ / "1.probe").c_str(), 0600), 0);
  alarm(20);  // nobody writes into it
  const auto summary = Read();
  alarm(0);
  ASSERT_FALSE(summary.ok());
  EXPECT_NE(summary.error().message.find("not a regular file"), std::string::npos)
      << summary.error().message;
}

TEST_F(StreamTest, RefusesWhatIsNoStream) {
  const Words good = words_;
  Add({1, 2, 3});
  EXPECT_FALSE(Read().ok());
  words_ = good;
  Add(Message(kRochoundProbeModule, 0, Text({0, 0, 0, 0}, "../outside")));
  EXPECT_FALSE(Read().ok());
  words_ = Message(kRochoundProbeProcess, 0, {kRochoundProbeVersion + 1, 77, 0, 0});
  EXPECT_FALSE(Read().ok());
}

}  // namespace
}  // namespace rochound::probe
