// SPDX-License-Identifier: MIT
#include "capture/manifest.h"

#include <gtest/gtest.h>

#include <functional>
#include <nlohmann/json.hpp>

#include "capture/test_bundle.h"

namespace rochound::capture {
namespace {

using nlohmann::json;

std::string Refusal(const std::string& text) {
  const auto manifest = FromJson(text);
  return manifest.ok() ? "" : manifest.error().message;
}

std::string RefusalWith(const std::function<void(json&)>& change) {
  json object = json::parse(ToJson(SmallLaunch().manifest));
  change(object);
  return Refusal(object.dump());
}

TEST(Manifest, ComesBackAsItWas) {
  Manifest manifest = SmallLaunch().manifest;
  manifest.arguments = {{.name = "x",
                         .type_name = "float*",
                         .value_kind = "global_buffer",
                         .address_space = "global",
                         .offset = 8,
                         .size = 8,
                         .region = 2,
                         .region_offset = 4096}};
  manifest.regions[0].host_base = 0x123456789abcdef0;
  manifest.regions[0].owner = -1;
  const std::string text = ToJson(manifest);
  const auto again = FromJson(text);
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(ToJson(again.value()), text);
  EXPECT_EQ(again.value().launch.packet, manifest.launch.packet);
  EXPECT_EQ(again.value().code_object.load_delta, 0xffff800000000000);
  EXPECT_EQ(again.value().regions[0].host_base, 0x123456789abcdef0u);
  EXPECT_EQ(again.value().regions[0].owner, -1);
  EXPECT_EQ(again.value().arguments[0].region, 2);
}

TEST(Manifest, HoldsOnlyWhatCanBeShown) {
  Manifest manifest = SmallLaunch().manifest;
  manifest.command = "a\nb\x1b[31m \xc2\x9b \xff end";
  const auto again = FromJson(ToJson(manifest));
  ASSERT_TRUE(again.ok()) << again.error().message;
  EXPECT_EQ(again.value().command, "a b [31m    \xef\xbf\xbd end");
  EXPECT_NE(RefusalWith([](json& object) { object["kernel"] = "a\x1b[2J"; }).find("kernel has"),
            std::string::npos);
}

TEST(Manifest, SaysWhichFieldIsWrong) {
  EXPECT_EQ(Refusal("{"), "is not JSON");
  EXPECT_EQ(Refusal("[]"), "it is not an object");
  EXPECT_NE(RefusalWith([](json& o) { o["version"] = 2; }).find("version is 2"), std::string::npos);
  EXPECT_EQ(RefusalWith([](json& o) { o.erase("kernel"); }), "kernel is missing");
  EXPECT_NE(
      RefusalWith([](json& o) { o["regions"][2]["base"] = 5; }).find("regions[2].base is not"),
      std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["regions"][2] = 5; }).find("regions[2] is not an object"),
            std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["launch"]["packet"] = "00"; }).find("launch.packet is not"),
            std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["launch"]["grid"] = {1, 2}; }).find("launch.grid is not"),
            std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["launch"]["setup"] = 65536; }).find("launch.setup is not"),
            std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["launch"]["setup"] = -1; }).find("launch.setup is not"),
            std::string::npos);
  EXPECT_NE(RefusalWith([](json& o) { o["regions"][0]["size"] = 1e300; }).find("regions[0].size"),
            std::string::npos);
}

// Every field of every object is in the page that describes the format.
void ExpectDescribed(const json& value, const std::string& page) {
  for (const auto& [name, inner] : value.items()) {
    if (value.is_object()) {
      EXPECT_TRUE(page.find("`" + name + "`") != std::string::npos ||
                  page.find("`" + name + "[]`") != std::string::npos)
          << name;
    }
    if (inner.is_structured()) ExpectDescribed(inner, page);
  }
}

TEST(Manifest, IsDescribed) {
  Manifest manifest = SmallLaunch().manifest;
  manifest.arguments.resize(1);
  ExpectDescribed(json::parse(ToJson(manifest)), base::ReadFile(ROCHOUND_TEST_FORMAT_PAGE).value());
}

TEST(Manifest, RefusesWhatCannotBeTrue) {
  const auto expect = [](const std::string& message, const std::function<void(json&)>& change) {
    EXPECT_NE(RefusalWith(change).find(message), std::string::npos)
        << "'" << RefusalWith(change) << "' where '" << message << "' was expected";
  };
  expect("overlaps region 0", [](json& o) { o["regions"][1]["base"] = "0x7f0000003000"; });
  expect("not in the order", [](json& o) { o["regions"][1]["base"] = "0x1000"; });
  expect("is empty", [](json& o) { o["regions"][1]["size"] = 0; });
  expect("past the end of the address space",
         [](json& o) { o["regions"][2]["base"] = "0xfffffffffffff000"; });
  expect("owner that is not", [](json& o) { o["regions"][0]["owner"] = 2; });
  expect("owner that is not", [](json& o) { o["regions"][0]["owner"] = -2; });
  expect("not ro, rw or none", [](json& o) { o["regions"][0]["access"] = "x"; });
  expect("agent is not among", [](json& o) { o["agent"] = 2; });
  expect("empty dimension", [](json& o) { o["launch"]["grid"][0] = 0; });
  expect("not reachable or all", [](json& o) { o["memory"] = "some"; });
  const json argument = {{"name", ""},          {"type_name", ""},   {"value_kind", ""},
                         {"address_space", ""}, {"offset", 20},      {"size", 4},
                         {"region", 0},         {"region_offset", 0}};
  const auto with = [&](const char* field, const json& value) {
    return [&argument, field, value](json& o) {
      o["arguments"] = json::array({argument});
      o["arguments"][0][field] = value;
    };
  };
  EXPECT_EQ(RefusalWith(with("name", "x")), "");
  expect("outside the kernarg", with("size", 5));
  expect("region that is not there", with("region", 3));
  expect("past the end of its region", with("region_offset", 100000));
}

}  // namespace
}  // namespace rochound::capture
