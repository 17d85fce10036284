// SPDX-License-Identifier: MIT
//
// The golden files in testdata/ hold a whole tree as text. After a wanted change:
// ROCHOUND_UPDATE_GOLDEN=1 bin/cli_test, then read the difference.
#include "softgpu/tree/device_tree.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <stdlib.h>

#include <algorithm>
#include <set>
#include <sstream>

#include "base/files.h"

namespace rochound::softgpu {
namespace {

namespace fs = std::filesystem;

constexpr char kDevices[] = ROCHOUND_TEST_DEVICES;
constexpr char kGolden[] = ROCHOUND_TEST_DATA;
constexpr HostFacts kHost = {16, 4, 68719476736, 3500};

GpuModel Model(const std::string& name) {
  return LoadGpuModel(fs::path(kDevices) / (name + ".json")).value();
}

std::string AsText(const DeviceTree& tree) {
  std::string text;
  for (const auto& [path, content] : tree.files) text += fmt::format("== {}\n{}", path, content);
  for (const auto& [path, target] : tree.links) text += fmt::format("-> {} {}\n", path, target);
  for (const std::string& path : tree.directories) text += fmt::format("/= {}\n", path);
  return text;
}

// The value of a key in a file of "key value" lines; -1 without such a line.
int64_t Value(const DeviceTree& tree, const std::string& path, const std::string& key) {
  const auto file = tree.files.find(path);
  if (file == tree.files.end()) return -1;
  std::istringstream lines(file->second);
  for (std::string name, value; lines >> name && std::getline(lines, value);) {
    if (name == key) return static_cast<int64_t>(std::stoull(value));
  }
  return -1;
}

std::string Node(size_t node, const std::string& rest) {
  return fmt::format("sys/devices/virtual/kfd/kfd/topology/nodes/{}/{}", node, rest);
}

class Golden : public testing::TestWithParam<const char*> {};

TEST_P(Golden, TreeIsAsKept) {
  const fs::path file = fs::path(kGolden) / (std::string(GetParam()) + ".tree");
  const std::string text = AsText(MakeDeviceTree({Model(GetParam())}, kHost));
  if (getenv("ROCHOUND_UPDATE_GOLDEN")) {
    ASSERT_TRUE(base::WriteFile(file, text).ok());
  }
  EXPECT_EQ(text, base::ReadFile(file).value());
}

INSTANTIATE_TEST_SUITE_P(SoftgpuTree, Golden,
                         testing::Values("mi250x", "mi300x", "mi300x-cpx", "mi325x", "mi355x",
                                         "rx6800xt", "rx7900xtx", "rx9070xt"),
                         [](const auto& info) {
                           std::string name(info.param);
                           std::replace(name.begin(), name.end(), '-', '_');
                           return name;
                         });

TEST(SoftgpuTree, CountsMatchTheFilesAndEveryLinkHasItsWayBack) {
  const std::vector<GpuModel> gpus = {Model("mi300x"), Model("rx6800xt"), Model("mi300x"),
                                      Model("rx6800xt")};
  const DeviceTree tree = MakeDeviceTree(gpus, kHost);
  std::set<std::pair<int64_t, int64_t>> ways;
  for (size_t node = 0; node <= gpus.size(); ++node) {
    for (const char* kind : {"caches", "io_links", "p2p_links", "mem_banks"}) {
      const int64_t count = Value(tree, Node(node, "properties"), std::string(kind) + "_count");
      ASSERT_GE(count, 0) << node << kind;
      for (int64_t i = 0; i < count; ++i) {
        EXPECT_TRUE(tree.files.count(Node(node, fmt::format("{}/{}/properties", kind, i))))
            << node << kind << i;
      }
      EXPECT_FALSE(tree.files.count(Node(node, fmt::format("{}/{}/properties", kind, count))))
          << node << kind;
    }
    for (const char* kind : {"io_links", "p2p_links"}) {
      for (int64_t i = 0;; ++i) {
        const std::string file = Node(node, fmt::format("{}/{}/properties", kind, i));
        if (!tree.files.count(file)) break;
        EXPECT_EQ(Value(tree, file, "node_from"), static_cast<int64_t>(node));
        EXPECT_TRUE(ways.insert({node, Value(tree, file, "node_to")}).second) << file;
      }
    }
  }
  EXPECT_EQ(ways.size(), 5u * 4u) << "every node reaches every other exactly once";
}

TEST(SoftgpuTree, LinksAreOfTheRightKind) {
  const DeviceTree tree =
      MakeDeviceTree({Model("mi300x"), Model("mi300x"), Model("rx6800xt")}, kHost);
  // CPU and GPU: PCIe.
  EXPECT_EQ(Value(tree, Node(0, "io_links/2/properties"), "type"), 2);
  EXPECT_EQ(Value(tree, Node(0, "io_links/2/properties"), "max_bandwidth"), 32000);
  EXPECT_EQ(Value(tree, Node(3, "io_links/0/properties"), "weight"), 20);
  // Two that have XGMI: one hive.
  EXPECT_EQ(Value(tree, Node(1, "io_links/1/properties"), "node_to"), 2);
  EXPECT_EQ(Value(tree, Node(1, "io_links/1/properties"), "type"), 11);
  EXPECT_EQ(Value(tree, Node(1, "io_links/1/properties"), "weight"), 15);
  EXPECT_NE(Value(tree, Node(1, "properties"), "hive_id"), 0);
  EXPECT_EQ(Value(tree, Node(1, "properties"), "hive_id"),
            Value(tree, Node(2, "properties"), "hive_id"));
  // One with and one without: through the CPU.
  EXPECT_EQ(Value(tree, Node(1, "p2p_links/0/properties"), "node_to"), 3);
  EXPECT_EQ(Value(tree, Node(1, "p2p_links/0/properties"), "type"), 2);
  EXPECT_EQ(Value(tree, Node(1, "p2p_links/0/properties"), "weight"), 40);
  EXPECT_EQ(Value(tree, Node(3, "properties"), "hive_id"), 0);
}

TEST(SoftgpuTree, SixteenGpusHaveIdsOfTheirOwn) {
  const DeviceTree tree = MakeDeviceTree(std::vector<GpuModel>(kMaxGpus, Model("mi300x")), kHost);
  for (const char* key : {"unique_id", "location_id", "drm_render_minor", "simd_id_base"}) {
    std::set<int64_t> seen;
    for (size_t node = 1; node <= kMaxGpus; ++node)
      seen.insert(Value(tree, Node(node, "properties"), key));
    EXPECT_EQ(seen.size(), kMaxGpus) << key;
  }
  std::set<std::string> gpu_ids;
  for (size_t node = 0; node <= kMaxGpus; ++node)
    gpu_ids.insert(tree.files.at(Node(node, "gpu_id")));
  EXPECT_EQ(gpu_ids.size(), kMaxGpus + 1);
  EXPECT_LE(Value(tree, Node(kMaxGpus, "properties"), "location_id"), 0xffff);
}

TEST(SoftgpuTree, TheConfAgreesWithTheTopology) {
  const DeviceTree tree = MakeDeviceTree({Model("mi300x"), Model("rx6800xt")}, kHost);
  for (size_t node : {1, 2}) {
    const std::string conf = fmt::format("devices/{}.conf", node);
    EXPECT_EQ(Value(tree, conf, "node"), static_cast<int64_t>(node));
    EXPECT_EQ(fmt::format("{}\n", Value(tree, conf, "gpu_id")),
              tree.files.at(Node(node, "gpu_id")));
    EXPECT_EQ(Value(tree, conf, "render_minor"),
              Value(tree, Node(node, "properties"), "drm_render_minor"));
    EXPECT_EQ(Value(tree, conf, "vram_bytes"),
              Value(tree, Node(node, "mem_banks/0/properties"), "size_in_bytes"));
    EXPECT_EQ(Value(tree, conf, "cu_count") * Value(tree, conf, "simd_per_cu"),
              Value(tree, Node(node, "properties"), "simd_count"));
    EXPECT_EQ(Value(tree, conf, "gfx_target_version"),
              Value(tree, Node(node, "properties"), "gfx_target_version"));
  }
}

TEST(SoftgpuTree, TheReadmeNamesEveryKeyOfTheConf) {
  const std::string readme = base::ReadFile(fs::path(kDevices) / "README.md").value();
  std::istringstream lines(MakeDeviceTree({Model("mi300x")}, kHost).files.at("devices/1.conf"));
  for (std::string key, rest; lines >> key && std::getline(lines, rest);) {
    EXPECT_NE(readme.find("`" + key + "`"), std::string::npos) << key;
  }
}

TEST(SoftgpuTree, PropertiesFitInThePageThatIsRead) {
  const DeviceTree tree = MakeDeviceTree(std::vector<GpuModel>(kMaxGpus, Model("mi300x")), kHost);
  for (const auto& [path, content] : tree.files) EXPECT_LT(content.size(), 4096u) << path;
}

TEST(SoftgpuTree, HashFollowsTheContent) {
  const DeviceTree tree = MakeDeviceTree({Model("mi300x")}, kHost);
  EXPECT_EQ(tree.Hash(), MakeDeviceTree({Model("mi300x")}, kHost).Hash());
  EXPECT_EQ(tree.Hash().size(), 16u);
  EXPECT_NE(tree.Hash(), MakeDeviceTree({Model("rx6800xt")}, kHost).Hash());
  HostFacts other = kHost;
  other.memory_bytes += 4096;
  EXPECT_NE(tree.Hash(), MakeDeviceTree({Model("mi300x")}, other).Hash());

  DeviceTree one, two;
  one.files = {{"ab", "c"}};
  two.files = {{"a", "bc"}};
  EXPECT_NE(one.Hash(), two.Hash());
}

TEST(SoftgpuTree, HostFactsAreSaneAndStable) {
  const HostFacts host = ReadHostFacts();
  EXPECT_GE(host.cpu_cores, 1u);
  EXPECT_GT(host.memory_bytes, 64u << 20);
  EXPECT_EQ(MakeDeviceTree({}, host).Hash(), MakeDeviceTree({}, ReadHostFacts()).Hash());
}

}  // namespace
}  // namespace rochound::softgpu
