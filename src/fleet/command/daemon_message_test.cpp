// SPDX-License-Identifier: MIT
#include "fleet/command/daemon_message.h"

#include <gtest/gtest.h>

#include <string>

namespace rochound::fleet {
namespace {

using nlohmann::json;

TEST(DaemonMessageTest, MembersHaveTheirTypesOrItIsNone) {
  const json process = {{"rank", 3},     {"pid", 7},    {"state", "running"},
                        {"at_ns", 5},    {"error", ""}, {"was_recording", true},
                        {"folder", "f"}, {"bytes", 1},  {"complete_from_ns", 0}};
  const json good = {{"host", "h"},
                     {"job", "j"},
                     {"now_ns", 1},
                     {"clock_error_ns", -1},
                     {"processes", {process}},
                     {"windows", {process}}};
  ASSERT_TRUE(ParseDaemonMessage(good.dump()));
  EXPECT_EQ(RanksOfBeat(*ParseDaemonMessage(good.dump())), std::set<int64_t>{3});
  for (const auto& [name, value] : good.items()) {
    json message = good;
    message[name] = json{{"another", "type"}};
    EXPECT_FALSE(ParseDaemonMessage(message.dump())) << name;
  }
  for (const auto& [name, value] : process.items()) {
    json message = good;
    message["processes"][0][name] = json::array();
    EXPECT_FALSE(ParseDaemonMessage(message.dump())) << name;
  }
  json message = good;
  message["processes"].push_back(1);
  EXPECT_FALSE(ParseDaemonMessage(message.dump()));
  for (const char* text : {"", "[]", "1", "{", R"({"host": "\xff"})"})
    EXPECT_FALSE(ParseDaemonMessage(text)) << text;
  EXPECT_TRUE(ParseDaemonMessage("{}")) << "members may be missing";
}

}  // namespace
}  // namespace rochound::fleet
