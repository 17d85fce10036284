// SPDX-License-Identifier: MIT
#include "codeobj/disassembly.h"

#include <elf.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <filesystem>
#include <string>
#include <utility>

#include "base/files.h"

namespace rochound::codeobj {
namespace {

std::string Load(const std::string& name) {
  return base::ReadFile(std::filesystem::path(ROCHOUND_TEST_FILES) / name).value();
}

TEST(Disassembly, CoversTheKernel) {
  for (const char* file : {"gfx942.co", "gfx1030.co"}) {
    const std::string bytes = Load(file);
    const CodeObject object = CodeObject::Parse(bytes).value();
    for (const Kernel& kernel : object.kernels()) {
      const auto lines = Disassemble(bytes, object, kernel, false);
      ASSERT_TRUE(lines.ok()) << lines.error().message;
      uint64_t address = kernel.code_address;
      bool ends = false;
      for (const Instruction& line : lines.value()) {
        EXPECT_EQ(line.address, address);
        EXPECT_FALSE(line.text.empty());
        EXPECT_FALSE(line.text.starts_with(".long")) << line.text;
        EXPECT_TRUE(line.source.empty());
        ends |= line.text == "s_endpgm";
        address += line.size;
      }
      EXPECT_EQ(address, kernel.code_address + kernel.code_size);
      EXPECT_TRUE(ends);
    }
  }
}

TEST(Disassembly, KnowsSourceLinesAndBranches) {
  const std::string bytes = Load("gfx942.co");  // compiled with -g
  ASSERT_TRUE(HasSourceLines(bytes));
  EXPECT_FALSE(HasSourceLines(Load("gfx1030.co")));
  const CodeObject object = CodeObject::Parse(bytes).value();
  const Kernel& kernel = *object.FindKernel("plain");
  const auto lines = Disassemble(bytes, object, kernel, true);
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  bool inlined = false;
  bool branch = false;
  for (const Instruction& line : lines.value()) {
    if (line.target) {
      branch = true;
      EXPECT_TRUE(
          std::any_of(lines.value().begin(), lines.value().end(),
                      [&](const Instruction& other) { return other.address == *line.target; }))
          << line.text;
    }
    if (line.text.starts_with("global_store")) {
      ASSERT_FALSE(line.source.empty());
      EXPECT_TRUE(line.source.back().file.ends_with("testdata/kernels.hip"));
      EXPECT_EQ(line.source.back().line, ROCHOUND_TEST_STORE_LINE);
    }
    inlined |= line.source.size() > 1;
  }
  EXPECT_TRUE(branch);
  EXPECT_TRUE(inlined);  // blockDim.x is a function
}

TEST(Disassembly, PrintsWordsThatAreNoInstructions) {
  std::string bytes = Load("gfx942.co");
  const CodeObject object = CodeObject::Parse(bytes).value();
  const Kernel& kernel = *object.FindKernel("plain");
  for (const Segment& segment : object.segments())
    if (segment.executable)
      for (int i = 0; i < 4; ++i)
        bytes[kernel.code_address - segment.address + segment.offset + i] = '\xff';
  const auto lines = Disassemble(bytes, object, kernel, false);
  ASSERT_TRUE(lines.ok()) << lines.error().message;
  EXPECT_EQ(lines.value()[0].text, ".long 0xffffffff");
}

// LLVM would end the process.
TEST(Disassembly, IsRefusedForGpusThatLlvmCannotDisassemble) {
  const std::pair<uint32_t, std::string> processors[] = {
      {0x20, "gfx600"}, {0x21, "gfx601"}, {0x22, "gfx700"}, {0x26, "gfx704"}};
  for (const auto& [flags, name] : processors) {
    std::string bytes = Load("gfx942.co");
    std::memcpy(bytes.data() + offsetof(Elf64_Ehdr, e_flags), &flags, sizeof flags);
    for (size_t at = 0; (at = bytes.find("gfx942", at)) != std::string::npos; at += name.size())
      bytes.replace(at, name.size(), name);
    const auto object = CodeObject::Parse(bytes);
    ASSERT_TRUE(object.ok()) << object.error().message;
    const auto lines =
        Disassemble(bytes, object.value(), *object.value().FindKernel("plain"), false);
    ASSERT_FALSE(lines.ok());
    EXPECT_NE(lines.error().message.find("cannot be disassembled"), std::string::npos);
  }
}

TEST(Disassembly, ReadsTheSymbolizersFrames) {
  const auto frames = ParseFrames(
      "inner() at /a b/c.h:264:58\n (inlined by) void outer<int>(int*) at /x.hip:17:30\n\n");
  ASSERT_EQ(frames.size(), 2u);
  EXPECT_EQ(frames[0].function, "inner()");
  EXPECT_EQ(frames[0].file, "/a b/c.h");
  EXPECT_EQ(frames[0].line, 264u);
  EXPECT_EQ(frames[0].column, 58u);
  EXPECT_EQ(frames[1].function, "void outer<int>(int*)");
  EXPECT_TRUE(ParseFrames("?? at ??:0:0\n\n").empty());
  EXPECT_TRUE(ParseFrames("").empty());
  EXPECT_TRUE(ParseFrames("at :x:y").empty());
}

}  // namespace
}  // namespace rochound::codeobj
