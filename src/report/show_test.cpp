// SPDX-License-Identifier: MIT
//
// What `rochound show` says about files of the real compiler and about a launch of theirs.
#include <gtest/gtest.h>

#include <cstring>
#include <string>

#include "base/files.h"
#include "capture/bundle.h"
#include "capture/test_bundle.h"
#include "codeobj/code_object.h"
#include "report/show_bundle.h"
#include "report/show_objects.h"
#include "report/show_text.h"

namespace rochound::report {
namespace {

using capture::BundleTest;
using capture::TestLaunch;

std::string Load(const std::string& name) {
  return base::ReadFile(std::filesystem::path(ROCHOUND_TEST_FILES) / name).value();
}

bool Has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(ShowText, MakesNamesHarmless) {
  EXPECT_EQ(Plain("a\033[31mb\nc "), R"(a\x1b[31mb\x0ac)");
  EXPECT_EQ(Plain("   "), "");
  EXPECT_EQ(HumanBytes(0), "0 bytes");
  EXPECT_EQ(HumanBytes(65536), "64 KiB");
  EXPECT_EQ(HumanBytes(1536 * 1024), "1.5 MiB");
  EXPECT_EQ(HumanBytes(~uint64_t{0}), "16.0 EiB");
}

TEST(ShowText, AlignsColumns) {
  Columns columns({">n", "name", "last"});
  columns.Add({"10", "a", "x"});
  columns.Add({"9", "long", ""});
  EXPECT_EQ(columns.Text(" "), "  n  name  last\n 10  a     x\n  9  long\n");
}

TEST(ShowText, DecodesValues) {
  const auto bytes = [](auto value) {
    return std::string(reinterpret_cast<const char*>(&value), sizeof value);
  };
  EXPECT_EQ(ValueText("float", bytes(1.5f)), "1.5");
  EXPECT_EQ(ValueText("float const", bytes(1.5f)), "1.5");
  EXPECT_EQ(ValueText("int", bytes(-3)), "-3");
  EXPECT_EQ(ValueText("bool", bytes('\1')), "true");
  EXPECT_EQ(ValueText("unsigned long", bytes(~uint64_t{0})), "18446744073709551615");
  EXPECT_EQ(ValueText("", bytes(1.5f)), "1069547520 (0x3fc00000, as float 1.5)");
  EXPECT_EQ(ValueText("", bytes(7)), "7 (0x7)");
  EXPECT_EQ(ValueText("float", std::string("\1\2", 2)), "513 (0x0201)");  // not a float's size
  EXPECT_EQ(ValueText("Pair", std::string("\1\2\3\4\5", 5)), "01020304 05");
  EXPECT_EQ(ValueText("", ""), "");
}

TEST(ShowObjects, ListsKernels) {
  const std::string bytes = Load("gfx942.co");
  const auto text = ObjectsText("file", bytes, {});
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_TRUE(Has(text.value(), "file: gfx942, code object version"));
  EXPECT_TRUE(Has(text.value(), "6 kernels"));
  EXPECT_TRUE(Has(text.value(), "shapes::Reduce<double>(double const*, double*)"));
  EXPECT_TRUE(Has(text.value(), "8 of 8"));
  EXPECT_FALSE(Has(text.value(), "zeros"));
  ShowOptions all;
  all.all = true;
  EXPECT_TRUE(Has(ObjectsText("file", bytes, all).value(), "zeros"));
}

TEST(ShowObjects, ShowsAKernelInFull) {
  const std::string bytes = Load("gfx942.co");
  ShowOptions options;
  options.kernel = "Reduce<double>";
  options.workgroup = 256;
  options.dynamic_lds = 30000;
  options.disassembly = options.source = true;
  const auto text = ObjectsText("file", bytes, options);
  ASSERT_TRUE(text.ok()) << text.error().message;
  EXPECT_TRUE(Has(text.value(), "symbol       _ZN6shapes6ReduceIdEEvPKT_PS1_"));
  EXPECT_FALSE(Has(text.value(), "ReduceIf"));
  EXPECT_TRUE(Has(text.value(), "29.3 KiB of it dynamic"));
  EXPECT_TRUE(Has(text.value(), "limited by LDS"));
  EXPECT_TRUE(Has(text.value(), "double const*"));
  EXPECT_TRUE(Has(text.value(), "s_endpgm"));
  EXPECT_TRUE(Has(text.value(), "testdata/kernels.hip:"));
  EXPECT_TRUE(Has(text.value(), ";   part[threadIdx.x] = in["));  // the source itself

  const auto json = ObjectsJson("file", bytes, options);
  ASSERT_TRUE(json.ok());
  const auto& kernel = json.value()["code_objects"][0]["kernels"][0];
  EXPECT_EQ(kernel["occupancy"]["waves_per_simd"], 2);
  EXPECT_EQ(kernel["occupancy"]["limited_by"][0], "LDS");
  EXPECT_EQ(kernel["arguments"][0]["type"], "double const*");
  EXPECT_FALSE(kernel["disassembly"].empty());
}

TEST(ShowObjects, SaysWhatIsThereInstead) {
  const std::string bytes = Load("library.so");
  ShowOptions options;
  options.target = "gfx90a";
  const auto target = ObjectsText("file", bytes, options);
  ASSERT_FALSE(target.ok());
  EXPECT_TRUE(Has(target.error().message, "gfx1030")) << target.error().message;
  options.target = "gfx1030";
  EXPECT_TRUE(Has(ObjectsText("file", bytes, options).value(), "second_file"));
  options.kernel = "third";
  EXPECT_TRUE(
      Has(ObjectsText("file", bytes, options).error().message, "no kernel is called 'third'"));
  options.target = "MI300X";
  EXPECT_FALSE(ObjectsText("file", bytes, options).ok());
}

// A launch of plain(const float* in, float* out, int count, Pair pair, char last).
TestLaunch PlainLaunch() {
  constexpr uint64_t kDelta = 0x7fff00000000;
  TestLaunch launch = capture::SmallLaunch();
  const std::string file = Load("gfx942.co");
  const auto object = codeobj::CodeObject::Parse(file).value();
  const codeobj::Kernel& kernel = *object.FindKernel("plain");
  launch.code_object.resize(file.size());
  memcpy(launch.code_object.data(), file.data(), file.size());
  capture::Manifest& manifest = launch.manifest;
  manifest.kernel.clear();
  manifest.code_object.load_delta = kDelta;
  manifest.launch.kernel_object = kDelta + kernel.descriptor_address;
  manifest.launch.kernarg_bytes = 304;
  manifest.launch.group_bytes = 20000;
  manifest.launch.duration_ns = 12345;
  manifest.notes = {"other queues were\033 not quiet"};
  launch.kernarg = capture::Bytes(304);
  const auto set = [&](size_t offset, auto value) {
    memcpy(launch.kernarg.data() + offset, &value, sizeof value);
  };
  set(0, manifest.regions[2].base + 64);
  set(8, manifest.regions[1].base);
  set(16, 1000);
  set(24, 5);
  set(32, manifest.regions[0].base + 8);  // pair.second, as if it were a pointer
  set(48, 4);
  return launch;
}

TEST_F(BundleTest, IsShown) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), PlainLaunch()));
  const auto bundle = capture::Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  ShowOptions options;
  options.disassembly = true;
  const auto made = BundleText(bundle.value(), options);
  ASSERT_TRUE(made.ok()) << made.error().message;
  const std::string& text = made.value();
  EXPECT_TRUE(text.starts_with("Note: other queues were  not quiet\n")) << text;
  for (const char* part :
       {"\nplain\n", "12.3 us", "AMD Instinct MI300X", "4 workgroups of 4 waves",
        "300 of 304 have nothing to do", "= pool region 2 (0x7f0000200000, 16 KiB) + 0x40\n",
        "= pool region 1 (0x7f0000100000, 4 KiB), not taken\n", "1000 (0x3e8)",
        "at +8 = pool region 0 (0x7f0000000000, 12.1 KiB) + 0x8\n", "--all shows them",
        "2 regions of 28.1 KiB taken", "1 region of 4 KiB left",
        "LDS          19.5 KiB per workgroup", "limited by LDS", "s_endpgm"})
    EXPECT_TRUE(Has(text, part)) << part << "\n" << text;
  EXPECT_FALSE(Has(text, "hidden_"));
  options.all = true;
  EXPECT_TRUE(Has(BundleText(bundle.value(), options).value(), "hidden_block_count_x"));
}

TEST_F(BundleTest, IsShownToPrograms) {
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), PlainLaunch()));
  const auto bundle = capture::Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  const auto made = BundleJson(bundle.value(), {});
  ASSERT_TRUE(made.ok());
  const auto& json = made.value();
  EXPECT_EQ(json["symbol"], "plain");
  EXPECT_EQ(json["arguments"][0]["region"], 2);
  EXPECT_EQ(json["arguments"][0]["region_offset"], 64);
  EXPECT_EQ(json["arguments"][3]["pointers"][0]["region"], 0);
  EXPECT_EQ(json["arguments"][3]["pointers"][0]["offset"], 8);
  EXPECT_EQ(json["memory"]["taken_regions"], 2);
  // Page 0 became zero, and the last one changed; page 1 of the other region.
  EXPECT_EQ(json["memory"]["regions"][0]["changed_bytes"], 4096 + 100);
  EXPECT_EQ(json["memory"]["regions"][2]["changed_bytes"], 4096);
  EXPECT_EQ(json["kernel"]["occupancy"]["limited_by"][0], "LDS");
  EXPECT_EQ(json["kernel"]["occupancy"]["workgroups"], 3);
  EXPECT_FALSE(json.contains("disassembly"));
}

TEST_F(BundleTest, IsShownWithoutAReadableCodeObject) {
  TestLaunch launch = PlainLaunch();
  launch.code_object.resize(100);
  ASSERT_NO_FATAL_FAILURE(WriteBundle(Path("bundle"), launch));
  const auto bundle = capture::Bundle::Open(Path("bundle"));
  ASSERT_TRUE(bundle.ok()) << bundle.error().message;
  const auto text = BundleText(bundle.value(), {});
  ASSERT_TRUE(text.ok());
  EXPECT_TRUE(Has(text.value(), "unknown kernel"));
  EXPECT_TRUE(Has(text.value(), "the code object cannot be read"));
  ShowOptions options;
  options.disassembly = true;
  EXPECT_FALSE(BundleText(bundle.value(), options).ok());
}

}  // namespace
}  // namespace rochound::report
