// SPDX-License-Identifier: MIT
#include "softgpu/tree/gpu_model.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/files.h"

namespace rochound::softgpu {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;

constexpr char kDevices[] = ROCHOUND_TEST_DEVICES;

json Mi300x() { return json::parse(base::ReadFile(fs::path(kDevices) / "mi300x.json").value()); }

std::string ErrorOf(const json& object) {
  auto model = ParseGpuModel(object.dump(), "x.json");
  return model.ok() ? "no error" : model.error().message;
}

TEST(GpuModel, KnowsItsDevices) {
  struct Known {
    std::string name;
    std::string target;
    uint64_t cu_count;
    uint64_t version;
  };
  const Known known[] = {{"mi250x", "gfx90a", 110, 90010},     {"mi300x", "gfx942", 304, 90402},
                         {"mi300x-cpx", "gfx942", 38, 90402},  {"mi325x", "gfx942", 304, 90402},
                         {"mi355x", "gfx950", 256, 90500},     {"rx6800xt", "gfx1030", 72, 100300},
                         {"rx7900xtx", "gfx1100", 96, 110000}, {"rx9070xt", "gfx1201", 64, 120001}};
  const auto models = LoadGpuModels(kDevices).value();
  ASSERT_EQ(models.size(), std::size(known));
  for (size_t i = 0; i < models.size(); ++i) {
    EXPECT_EQ(models[i].name, known[i].name);
    EXPECT_EQ(models[i].target, known[i].target);
    EXPECT_EQ(models[i].cu_count, known[i].cu_count);
    EXPECT_EQ(models[i].GfxTargetVersion(), known[i].version);
  }
}

TEST(GpuModel, FilesAreNamedAfterTheirModel) {
  for (const auto& entry : fs::directory_iterator(kDevices)) {
    if (entry.path().extension() != ".json") continue;
    EXPECT_EQ(LoadGpuModel(entry.path()).value().name, entry.path().stem());
  }
}

TEST(GpuModel, TargetVersionReadsHexadecimalDigits) {
  GpuModel model;
  model.target = "gfx90a";
  EXPECT_EQ(model.GfxTargetVersion(), 90010u);
  model.target = "gfx1100";
  EXPECT_EQ(model.GfxTargetVersion(), 110000u);
}

TEST(GpuModel, EveryFieldIsRequired) {
  const json complete = Mi300x();
  for (const auto& [key, value] : complete.items()) {
    json lacking = complete;
    lacking.erase(key);
    EXPECT_EQ(ErrorOf(lacking), "x.json: field '" + key + "' is missing");
  }
}

TEST(GpuModel, UnknownFieldsAreRefused) {
  json object = Mi300x();
  object["cu_cuont"] = 3;
  EXPECT_EQ(ErrorOf(object), "x.json: field 'cu_cuont' is not a known field");
  object = Mi300x();
  object["caches"][1]["colour"] = "red";
  EXPECT_EQ(ErrorOf(object), "x.json: cache 1: field 'colour' is not a known field");
}

TEST(GpuModel, ImpossibleValuesAreRefused) {
  struct Case {
    const char* key;
    json value;
    const char* problem;
  };
  const Case cases[] = {
      {"cu_count", 0, "is 0, must be 1 to 1024"},
      {"cu_count", 328, "is 328, but engines x arrays x CUs make 320"},
      {"cu_count", -1, "must be a whole number, not negative"},
      {"cu_count", 3.5, "must be a whole number, not negative"},
      {"cu_count", "many", "must be a whole number, not negative"},
      {"num_xcc", 7, "must divide cu_count and shader_engines"},
      {"wave_size", 48, "must be 32 or 64"},
      {"lds_bytes", 65537, "must be whole kilobytes"},
      {"target", "mi300", "must look like gfx942 or gfx1030"},
      {"target", "gfx9x0", "must look like gfx942 or gfx1030"},
      {"name", "", "must be one line of text, not empty"},
      {"marketing_name", "two\nlines", "must be one line of text, not empty"},
      {"caches", json::array(), "must not be empty"},
      {"caches", 1, "must be a list"},
  };
  for (const Case& c : cases) {
    json object = Mi300x();
    object[c.key] = c.value;
    EXPECT_EQ(ErrorOf(object), std::string("x.json: field '") + c.key + "' " + c.problem);
  }
}

TEST(GpuModel, WhatIsNotJsonIsRefused) {
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "not valid JSON",
                      ParseGpuModel("{", "x.json").error().message);
  EXPECT_EQ(ErrorOf(json::array()), "x.json: must hold one JSON object");
}

TEST(GpuModel, PicksByNameOrPath) {
  const auto known = LoadGpuModels(kDevices).value();
  EXPECT_EQ(PickGpuModel("rx6800xt", known).value().target, "gfx1030");
  EXPECT_EQ(PickGpuModel((fs::path(kDevices) / "mi300x.json").string(), {}).value().name, "mi300x");
  EXPECT_EQ(PickGpuModel("h100", known).error().message,
            "no GPU is called 'h100'; there are mi250x, mi300x, mi300x-cpx, mi325x, mi355x, "
            "rx6800xt, rx7900xtx, rx9070xt, "
            "or give the path of a .json file");
  EXPECT_PRED_FORMAT2(testing::IsSubstring, "No such file",
                      PickGpuModel("no.json", known).error().message);
}

TEST(GpuModel, AMissingDirectoryIsAnError) {
  EXPECT_FALSE(LoadGpuModels("/no/such/directory").ok());
}

}  // namespace
}  // namespace rochound::softgpu
