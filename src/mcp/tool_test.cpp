// SPDX-License-Identifier: MIT
#include "mcp/tool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "base/files.h"

namespace rochound::mcp {
namespace {

namespace fs = std::filesystem;
using Words = std::vector<std::string>;

const Words kQuestions = {"findings", "top", "diff"};

class ToolTest : public testing::Test {
 protected:
  ToolTest()
      : own_(base::TempDir::Create(fs::temp_directory_path(), "own-").value()),
        path_(fs::canonical(own_.path())),
        folders_(Folders::Open({own_.path()}).value()),
        tools_(MakeTools(kQuestions, true)) {
    for (const char* const name : {"a.rpd", "-b.rpd", "--json", "add.bundle"})
      EXPECT_TRUE(base::WriteFile(path_ / name, "x").ok());
  }

  base::Result<Invocation> Call(const std::string& name, const Json& arguments) {
    const auto tool = std::find_if(tools_.begin(), tools_.end(),
                                   [&](const Tool& one) { return name == one.name; });
    EXPECT_NE(tool, tools_.end()) << name;
    return MakeInvocation(*tool, arguments, folders_, "/scratch");
  }
  Words Line(const std::string& name, const Json& arguments) {
    const auto made = Call(name, arguments);
    return made.ok() ? made.value().arguments : Words{made.error().message};
  }
  std::string Problem(const std::string& name, const Json& arguments) {
    const auto made = Call(name, arguments);
    return made.ok() ? "none" : made.error().message;
  }
  std::string In(const std::string& name) { return (path_ / name).string(); }

  base::TempDir own_;
  fs::path path_;
  Folders folders_;
  std::vector<Tool> tools_;
};

TEST_F(ToolTest, WithoutPermissionOnlyReadersAreThere) {
  const auto names = [](const std::vector<Tool>& tools) {
    std::set<std::string> all;
    for (const Tool& tool : tools) all.insert(tool.name);
    return all;
  };
  EXPECT_EQ(names(MakeTools(kQuestions, false)),
            (std::set<std::string>{"explain", "query", "show", "doctor"}));
  EXPECT_EQ(names(MakeTools({}, false)), (std::set<std::string>{"show", "doctor"}));
  EXPECT_EQ(names(tools_).size(), 10);
}

TEST_F(ToolTest, ArgumentsBecomeOptions) {
  EXPECT_EQ(Line("explain", {{"traces", {"a.rpd"}}}),
            (Words{"explain", "--json", "--limit=1000", "findings", In("a.rpd")}));
  EXPECT_EQ(
      Line("explain",
           {{"question", "diff"}, {"traces", {"a.rpd"}}, {"against", {"-b.rpd"}}, {"limit", 3}}),
      (Words{"explain", "--json", "--limit=1000", "diff", In("a.rpd"), "--against", In("-b.rpd")}));
  EXPECT_EQ(Line("run", {{"program", {"./app", "-x", "--", ""}}, {"hsa", true}, {"stacks", false}}),
            (Words{"run", "--findings", "--hsa", "--output=" + In("trace.rpd"), "--", "./app", "-x",
                   "--", ""}));
  EXPECT_EQ(Line("replay", {{"action", "compare"},
                            {"bundle", "add.bundle"},
                            {"builds", {"a.rpd", "-b.rpd"}},
                            {"iterations", 7}}),
            (Words{"replay", "--json", "compare", In("add.bundle"), In("a.rpd"), In("-b.rpd"),
                   "--iterations=7"}));
  EXPECT_EQ(
      Line("judge", {{"bundles", {"add.bundle"}}, {"candidate", "a.rpd"}, {"margin", 2.5}}),
      (Words{"judge", "--json", In("add.bundle"), "--candidate=" + In("a.rpd"), "--margin=2.5"}));
  EXPECT_EQ(Line("probe", {{"action", "run"}, {"program", {"./app"}}, {"analyzer", "races"}}),
            (Words{"probe", "--analyzer=races", "--json", "--output=/scratch/answer.jsonl", "--",
                   "./app"}));
  EXPECT_EQ(Line("doctor", {{"program", "a.rpd"}}), (Words{"doctor", "--json", "--", In("a.rpd")}));
}

TEST_F(ToolTest, ValuesNeverBecomeOptions) {
  EXPECT_EQ(Line("query", {{"traces", {"-b.rpd", "--json"}}, {"sql", "--csv"}}),
            (Words{"query", "--json", "--limit=1000", In("-b.rpd"), In("--json"), "\n--csv"}));
  EXPECT_EQ(Line("show", {{"path", "--json"}, {"kernel", "--all"}}),
            (Words{"show", "--json", In("--json"), "--kernel=--all"}));
  EXPECT_EQ(
      Line("capture", {{"kernel", "--"}, {"program", {"--softgpu"}}}),
      (Words{"capture", "--kernel=--", "--output=" + In("kernel.bundle"), "--", "--softgpu"}));
  EXPECT_EQ(Line("run", {{"program", {"a"}}, {"output", "--force"}}),
            (Words{"run", "--findings", "--output=" + In("--force"), "--", "a"}));
}

TEST_F(ToolTest, WhatIsWrongIsTold) {
  const auto has = [&](const std::string& name, const Json& arguments, const std::string& part) {
    const std::string problem = Problem(name, arguments);
    EXPECT_NE(problem.find(part), std::string::npos) << name << arguments << ": " << problem;
  };
  has("explain", Json::object(), "needs traces");
  has("explain", {{"traces", Json::array()}}, "at least one");
  has("explain", {{"traces", "a.rpd"}}, "not an array");
  has("explain", {{"traces", {7}}}, "not a text");
  has("explain", {{"traces", {""}}}, "empty");
  has("explain", {{"traces", {"/etc/passwd"}}}, "outside");
  has("explain", {{"traces", {std::string("a\0b", 3)}}}, "zero byte");
  has("explain", {{"traces", {"a.rpd"}}, {"question", "--help"}}, "is none of findings");
  has("explain", {{"traces", {"a.rpd"}}, {"no_write", false}}, "has no parameter");
  has("show", {{"path", "a.rpd"}, {"workgroup", 0}}, "at least 1");
  has("show", {{"path", "a.rpd"}, {"workgroup", 1.5}}, "not an integer");
  has("show", {{"path", "a.rpd"}, {"workgroup", uint64_t{1} << 63}}, "not an integer");
  has("show", {{"path", "a.rpd"}, {"all", 1}}, "neither true nor false");
  has("judge", {{"bundles", {"add.bundle"}}, {"candidate", "a.rpd"}, {"margin", -1}}, "number");
  has("run", {{"program", {""}}}, "empty");
  has("run", {{"program", {"a"}}, {"output", "/tmp/x.rpd"}}, "outside");
  has("capture", {{"program", {"a"}}}, "needs kernel");
  has("profile", Json::object(), "needs one of");
  has("profile", {{"program", {"a"}}, {"trace", "a.rpd"}}, "needs one of");
  has("probe", {{"action", "run"}}, "needs program");
  has("probe", {{"action", "read"}}, "needs folder");
  has("probe", {{"action", "build"}, {"program", {"a"}}, {"folder", "."}}, "read");
}

TEST_F(ToolTest, SchemasAreWhatIsTaken) {
  for (const Tool& tool : tools_) {
    const Json json = ToolJson(tool);
    EXPECT_EQ(json["name"], tool.name);
    EXPECT_EQ(json["inputSchema"]["additionalProperties"], false);
    EXPECT_EQ(json["annotations"]["readOnlyHint"], !tool.runs);
    const std::string about = tool.about;
    EXPECT_TRUE(about.ends_with('.')) << about;
    EXPECT_LT(json.dump().size(), 4096) << tool.name;
    for (const Parameter& parameter : tool.parameters)
      EXPECT_TRUE(json["inputSchema"]["properties"].contains(parameter.name)) << parameter.name;
    EXPECT_TRUE(json["inputSchema"]["properties"].contains("cursor"));
  }
}

}  // namespace
}  // namespace rochound::mcp
