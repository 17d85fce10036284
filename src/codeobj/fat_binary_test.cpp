// SPDX-License-Identifier: MIT
#include "codeobj/fat_binary.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "base/files.h"
#include "codeobj/code_object.h"

namespace rochound::codeobj {
namespace {

std::string Load(const std::string& name) {
  auto content = base::ReadFile(std::filesystem::path(ROCHOUND_TEST_FILES) / name);
  return content.ok() ? std::move(content).value() : std::string();
}

std::vector<std::string> Targets(const std::vector<EmbeddedObject>& objects) {
  std::vector<std::string> targets;
  for (const EmbeddedObject& object : objects) targets.push_back(object.target.Id());
  return targets;
}

// Every object can be read, is for what the bundle says, and has the kernels.
void ExpectReadable(const std::vector<EmbeddedObject>& objects) {
  for (const EmbeddedObject& object : objects) {
    const auto parsed = CodeObject::Parse(object.bytes);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed.value().target().processor, object.target.processor);
    EXPECT_FALSE(parsed.value().kernels().empty());
  }
}

TEST(FatBinary, ACodeObjectIsItself) {
  const std::string bytes = Load("gfx942.co");
  const auto objects = FindCodeObjects(bytes);
  ASSERT_TRUE(objects.ok()) << objects.error().message;
  ASSERT_EQ(Targets(objects.value()), std::vector<std::string>{"gfx942"});
  EXPECT_EQ(objects.value()[0].bytes.size(), bytes.size());
  ExpectReadable(objects.value());
}

TEST(FatBinary, FindsTheTargetsOfABundle) {
  const std::string bytes = Load("bundle.hsaco");
  const auto objects = FindCodeObjects(bytes);
  ASSERT_TRUE(objects.ok()) << objects.error().message;
  std::vector<std::string> targets = Targets(objects.value());
  std::sort(targets.begin(), targets.end());
  EXPECT_EQ(targets, (std::vector<std::string>{"gfx1030", "gfx942:xnack-"}));
  ExpectReadable(objects.value());
}

TEST(FatBinary, UnfoldsACompressedBundle) {
  const std::string bytes = Load("compressed.hsaco");
  if (bytes.empty()) GTEST_SKIP() << "this ROCm's compiler cannot compress";
  ASSERT_EQ(bytes.substr(0, 4), "CCOB");
  const std::string plain_bytes = Load("bundle.hsaco");
  const auto plain = FindCodeObjects(plain_bytes);
  const auto objects = FindCodeObjects(bytes);
  ASSERT_TRUE(objects.ok()) << objects.error().message;
  ASSERT_EQ(Targets(objects.value()), Targets(plain.value()));
  for (size_t i = 0; i < objects.value().size(); ++i)
    EXPECT_TRUE(objects.value()[i].bytes == plain.value()[i].bytes) << i;
}

TEST(FatBinary, FindsEveryTranslationUnitOfALibrary) {
  for (const char* name : {"library.so", "compressed.so"}) {
    const std::string bytes = Load(name);
    if (bytes.empty() && std::string(name) == "compressed.so") continue;
    const auto objects = FindCodeObjects(bytes);
    ASSERT_TRUE(objects.ok()) << name << ": " << objects.error().message;
    EXPECT_EQ(objects.value().size(), 4u) << name;
    ExpectReadable(objects.value());
    size_t with_second = 0;
    for (const EmbeddedObject& object : objects.value())
      if (CodeObject::Parse(object.bytes).value().FindKernel("second_file") != nullptr)
        ++with_second;
    EXPECT_EQ(with_second, 2u) << name;
  }
}

TEST(FatBinary, ChoosesWhatRunsOnAGpu) {
  const std::string bytes = Load("bundle.hsaco");
  const auto objects = FindCodeObjects(bytes);
  ASSERT_TRUE(objects.ok());
  const auto best = [&](const char* gpu) -> std::string {
    const EmbeddedObject* found = BestFor(objects.value(), ParseTarget(gpu).value());
    return found == nullptr ? "none" : found->target.Id();
  };
  EXPECT_EQ(best("gfx942:sramecc+:xnack-"), "gfx942:xnack-");
  EXPECT_EQ(best("gfx942:sramecc+:xnack+"), "none");
  EXPECT_EQ(best("gfx1030"), "gfx1030");
  EXPECT_EQ(best("gfx1100"), "none");
}

TEST(FatBinary, SaysWhatAFileWithoutGpuCodeIs) {
  EXPECT_NE(FindCodeObjects("#!/bin/sh\n").error().message.find("hipcc"), std::string::npos);
  const std::string self = base::ReadFile("/proc/self/exe").value();
  EXPECT_NE(FindCodeObjects(self).error().message.find(".hip_fatbin"), std::string::npos);
  EXPECT_FALSE(FindCodeObjects("").ok());
}

TEST(FatBinary, RefusesWhatUnfoldsTooFar) {
  const std::string bytes = Load("compressed.hsaco");
  if (bytes.empty()) GTEST_SKIP() << "this ROCm's compiler cannot compress";
  const auto objects = FindCodeObjects(bytes, 1000);
  ASSERT_FALSE(objects.ok());
  EXPECT_NE(objects.error().message.find("1000 are allowed"), std::string::npos);
}

// An ELF file of the host whose sections .hip_fatbin are all this content.
std::string Program(const std::string& content, size_t sections) {
  const std::string names("\0.hip_fatbin\0", 13);
  Elf64_Ehdr header{};
  memcpy(header.e_ident, ELFMAG, SELFMAG);
  header.e_ident[EI_CLASS] = ELFCLASS64;
  header.e_ident[EI_DATA] = ELFDATA2LSB;
  header.e_machine = EM_X86_64;
  header.e_shoff = sizeof header + names.size() + content.size();
  header.e_shentsize = sizeof(Elf64_Shdr);
  header.e_shnum = static_cast<Elf64_Half>(sections + 1);
  Elf64_Shdr section{};
  section.sh_type = SHT_STRTAB;
  section.sh_offset = sizeof header;
  section.sh_size = names.size();
  std::string bytes(reinterpret_cast<const char*>(&header), sizeof header);
  bytes += names + content;
  bytes.append(reinterpret_cast<const char*>(&section), sizeof section);
  section.sh_name = 1;
  section.sh_type = SHT_PROGBITS;
  section.sh_offset = sizeof header + names.size();
  section.sh_size = content.size();
  for (size_t i = 0; i < sections; ++i)
    bytes.append(reinterpret_cast<const char*>(&section), sizeof section);
  return bytes;
}

TEST(FatBinary, AllSectionsOfAFileShareWhatMayBeUnfolded) {
  const std::string bundle = Load("compressed.hsaco");
  if (bundle.empty()) GTEST_SKIP() << "this ROCm's compiler cannot compress";
  // Of version 2 or 3: "CCOB", two numbers of 16 bits, then both sizes.
  uint64_t unfolded = 0;
  if (bundle[4] == 2)
    memcpy(&unfolded, bundle.data() + 12, 4);
  else
    memcpy(&unfolded, bundle.data() + 16, 8);
  const std::string one = Program(bundle, 1);
  const auto objects = FindCodeObjects(one, unfolded);
  ASSERT_TRUE(objects.ok()) << objects.error().message;
  // Not longer than the file, so that only the unfolding is too much.
  const std::string two = Program(bundle, 2) + std::string(bundle.size(), '\0');
  EXPECT_TRUE(FindCodeObjects(two, 2 * unfolded).ok());
  const auto refused = FindCodeObjects(two, 2 * unfolded - 1);
  ASSERT_FALSE(refused.ok());
  EXPECT_NE(refused.error().message.find("are allowed"), std::string::npos)
      << refused.error().message;
}

TEST(FatBinary, SectionsThatAreLongerThanTheFileAreRefused) {
  const std::string bytes = Program(Load("bundle.hsaco"), 1000);
  const auto objects = FindCodeObjects(bytes);
  ASSERT_FALSE(objects.ok());
  EXPECT_NE(objects.error().message.find("larger than the file"), std::string::npos)
      << objects.error().message;
}

TEST(FatBinary, ABundleOfManyPartsIsRefused) {
  const std::string id = "hipv4-amdgcn-amd-amdhsa--gfx942";
  const uint64_t count = 100000;
  const auto word = [](uint64_t number) {
    return std::string(reinterpret_cast<const char*>(&number), sizeof number);
  };
  std::string bytes = "__CLANG_OFFLOAD_BUNDLE__" + word(count);
  const size_t end = bytes.size() + count * (24 + id.size());
  for (uint64_t i = 0; i < count; ++i) bytes += word(end) + word(4) + word(id.size()) + id;
  bytes += "\177ELF";
  const auto objects = FindCodeObjects(bytes);
  ASSERT_FALSE(objects.ok());
  EXPECT_NE(objects.error().message.find("100000 parts"), std::string::npos)
      << objects.error().message;
}

TEST(FatBinary, SurvivesEveryCut) {
  for (const char* name : {"bundle.hsaco", "compressed.hsaco"}) {
    const std::string bytes = Load(name);
    // The last part ends with the file, so that every cut hurts.
    for (size_t size = 0; size < bytes.size(); size += 61)
      EXPECT_FALSE(FindCodeObjects(std::string_view(bytes).substr(0, size)).ok()) << size;
  }
}

TEST(FatBinary, RefusesAPartOutsideOfTheBundle) {
  std::string bytes = Load("bundle.hsaco");
  const uint64_t huge = ~uint64_t{0} - 10;
  memcpy(bytes.data() + 32, &huge, sizeof huge);  // the first entry's offset
  const auto objects = FindCodeObjects(bytes);
  ASSERT_FALSE(objects.ok());
  EXPECT_NE(objects.error().message.find("cut short"), std::string::npos);
}

}  // namespace
}  // namespace rochound::codeobj
