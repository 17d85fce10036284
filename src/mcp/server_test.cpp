// SPDX-License-Identifier: MIT
//
// The server with a shell script in the place of rochound.
#include "mcp/server.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <map>
#include <set>
#include <thread>

#include "base/files.h"
#include "optimize/confinement_testing.h"

namespace rochound::mcp {
namespace {

namespace fs = std::filesystem;
using Clock = std::chrono::steady_clock;

// What it does is named by the kernel of `show`.
constexpr const char* kScript = R"(#!/bin/sh
for word in "$@"; do
  case $word in
    --kernel=rows) printf '{"rows":['; for i in $(seq 120); do printf '%s,' $i; done; echo '0]}'; exit 0 ;;
    --kernel=wait) sleep 100 & echo "started $!" >&2; wait ;;
    --kernel=fail) echo 'it is broken' >&2; exit 125 ;;
    --kernel=verdict) echo '{"verdict":"rejected"}'; exit 3 ;;
    --kernel=huge) yes 1 | head -c 6000000; exit 0 ;;
    --kernel=bytes) printf '{"a":1}'; printf '\377\376\n' >&2; exit 0 ;;
    --kernel=read) cat "$OUTSIDE/secret" || exit 125; exit 0 ;;
    --kernel=write) echo x > "$OUTSIDE/written" || exit 125; echo '{}'; exit 0 ;;
  esac
done
echo '{"arguments":"'"$*"'"}'
)";

class ServerTest : public testing::Test {
 protected:
  ServerTest() : own_(base::TempDir::Create(fs::temp_directory_path(), "mcp-").value()) {
    signal(SIGPIPE, SIG_IGN);
    fs::create_directories(own_.path() / "installed/bin");
    fs::create_directory(own_.path() / "outside");
    fs::create_directory(own_.path() / "folder");
    const fs::path command = own_.path() / "installed/bin/rochound";
    EXPECT_TRUE(base::WriteFile(command, kScript).ok());
    fs::permissions(command, fs::perms::owner_all);
    EXPECT_TRUE(base::WriteFile(own_.path() / "folder/file", "x").ok());
  }
  ~ServerTest() override { Close(); }

  void Start(size_t tools_per_page = 64) {
    int to[2], from[2];
    ASSERT_EQ(pipe2(to, O_CLOEXEC), 0);  // a call must not keep them open
    ASSERT_EQ(pipe2(from, O_CLOEXEC), 0);
    input_ = to[1];
    output_ = from[0];
    ServerSettings settings{
        "1.2",
        {own_.path() / "installed/bin/rochound",
         {"PATH=/usr/bin:/bin", "OUTSIDE=" + (own_.path() / "outside").string()},
         Folders::Open({own_.path() / "folder"}).value(),
         std::chrono::seconds(60)},
        {"findings"},
        false,
        tools_per_page};
    thread_ = std::thread([settings = std::move(settings), in = to[0], out = from[1]]() mutable {
      Server(std::move(settings), in, out).Run();
      close(in);
      close(out);
    });
  }
  void CloseInput() {
    if (input_ >= 0) close(input_);
    input_ = -1;
  }
  void Close() {
    CloseInput();
    if (thread_.joinable()) thread_.join();
    if (output_ >= 0) close(output_);
    output_ = -1;
  }

  void Send(const std::string& line) {
    const std::string all = line + "\n";
    ASSERT_EQ(write(input_, all.data(), all.size()), static_cast<ssize_t>(all.size()));
  }
  void SendRequest(const Json& id, const std::string& method, const Json& params = Json::object()) {
    Send(Json{{"jsonrpc", "2.0"}, {"id", id}, {"method", method}, {"params", params}}.dump());
  }
  // null: nothing came in time, or it was closed.
  Json Receive(int milliseconds = 20000) {
    for (;;) {
      if (const size_t end = text_.find('\n'); end != std::string::npos) {
        Json json = Json::parse(text_.substr(0, end));
        text_.erase(0, end + 1);
        return json;
      }
      pollfd ready = {output_, POLLIN, 0};
      if (poll(&ready, 1, milliseconds) != 1) return nullptr;
      char buffer[4096];
      const ssize_t got = read(output_, buffer, sizeof buffer);
      if (got <= 0) return nullptr;
      text_.append(buffer, static_cast<size_t>(got));
    }
  }
  Json Ask(const Json& id, const std::string& method, const Json& params = Json::object()) {
    SendRequest(id, method, params);
    return Receive();
  }
  void Initialize(const std::string& version = "2025-11-25") {
    const Json answer =
        Ask(0, "initialize", {{"protocolVersion", version}, {"capabilities", Json::object()}});
    ASSERT_TRUE(answer.contains("result")) << answer;
    Send(R"({"jsonrpc":"2.0","method":"notifications/initialized"})");
  }
  static Json Show(const std::string& kernel, Json more = Json::object()) {
    more["path"] = "file";
    more["kernel"] = kernel;
    return {{"name", "show"}, {"arguments", more}};
  }
  static bool Ends(pid_t process) {
    for (int i = 0; i < 200; ++i) {
      const auto stat = base::ReadFile("/proc/" + std::to_string(process) + "/stat");
      if (!stat.ok() || stat.value().find(") Z ") != std::string::npos) return true;
      std::this_thread::sleep_for(std::chrono::milliseconds(25));
    }
    return false;
  }

  base::TempDir own_;
  std::thread thread_;
  int input_ = -1, output_ = -1;
  std::string text_;
};

Json Modern(Json params = Json::object(), const std::string& version = "2026-07-28") {
  params["_meta"]["io.modelcontextprotocol/protocolVersion"] = version;
  params["_meta"]["io.modelcontextprotocol/clientCapabilities"] = Json::object();
  return params;
}

TEST_F(ServerTest, TheVersionIsTheClientsIfItIsKnown) {
  for (const auto& [asked, given] :
       std::map<std::string, std::string>{{"2025-11-25", "2025-11-25"},
                                          {"2024-11-05", "2024-11-05"},
                                          {"2025-03-26", "2025-11-25"},
                                          {"1.0", "2025-11-25"},
                                          {"2026-07-28", "2025-11-25"}}) {
    Start();
    const Json answer = Ask(1, "initialize", {{"protocolVersion", asked}});
    EXPECT_EQ(answer["result"]["protocolVersion"], given);
    EXPECT_EQ(answer["result"]["serverInfo"]["version"], "1.2");
    EXPECT_TRUE(answer["result"]["capabilities"].contains("tools"));
    Close();
  }
}

TEST_F(ServerTest, NothingIsDoneBeforeInitialize) {
  Start();
  EXPECT_EQ(Ask(1, "tools/list")["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask(2, "tools/call", Show("x"))["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask(3, "ping")["result"], Json::object());
  EXPECT_EQ(Ask(4, "initialize")["error"]["code"], kInvalidParams);
  Initialize();
  EXPECT_TRUE(Ask(5, "tools/list").contains("result"));
  EXPECT_EQ(Ask(6, "initialize", {{"protocolVersion", "2025-11-25"}})["error"]["code"],
            kInvalidRequest);
}

TEST_F(ServerTest, AModernClientNeedsNoInitialize) {
  Start();
  const Json found = Ask("d", "server/discover", Modern());
  EXPECT_EQ(found["result"]["supportedVersions"], Json({"2026-07-28"}));
  EXPECT_EQ(found["result"]["resultType"], "complete");
  const Json list = Ask(1, "tools/list", Modern());
  EXPECT_EQ(list["result"]["resultType"], "complete");
  EXPECT_TRUE(list["result"].contains("ttlMs"));
  EXPECT_EQ(list["result"]["_meta"]["io.modelcontextprotocol/serverInfo"]["name"], "rochound");
  const Json called = Ask(2, "tools/call", Modern(Show("x")));
  EXPECT_EQ(called["result"]["resultType"], "complete") << called;
  EXPECT_EQ(called["result"]["isError"], false) << called;
  EXPECT_EQ(Ask(3, "ping", Modern())["error"]["code"], kMethodNotFound);
  const Json other = Ask(4, "tools/list", Modern(Json::object(), "1900-01-01"));
  EXPECT_EQ(other["error"]["code"], kUnsupportedVersion);
  EXPECT_EQ(other["error"]["data"]["requested"], "1900-01-01");
  Json incomplete = Modern();
  incomplete["_meta"].erase("io.modelcontextprotocol/clientCapabilities");
  EXPECT_EQ(Ask(5, "tools/list", incomplete)["error"]["code"], kInvalidParams);
}

TEST_F(ServerTest, ASubscriptionIsAcknowledgedAndEndsWhenCancelled) {
  Start();
  const Json answer =
      Ask(7, "subscriptions/listen", Modern({{"notifications", {{"toolsListChanged", true}}}}));
  EXPECT_EQ(answer["method"], "notifications/subscriptions/acknowledged");
  EXPECT_EQ(answer["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7);
  EXPECT_EQ(answer["params"]["notifications"], Json::object());
  EXPECT_FALSE(Ask(7, "tools/list", Modern()).contains("id"));
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}})");
  EXPECT_TRUE(Ask(7, "tools/list", Modern()).contains("result"));
}

TEST_F(ServerTest, ToolsComeInPages) {
  Start(3);
  Initialize();
  std::vector<std::string> names;
  Json cursor;
  size_t pages = 0;
  do {
    const Json answer =
        Ask(1, "tools/list", cursor.is_null() ? Json::object() : Json{{"cursor", cursor}});
    for (const Json& tool : answer["result"]["tools"]) names.push_back(tool["name"]);
    cursor = answer["result"].value("nextCursor", Json());
    ++pages;
  } while (!cursor.is_null());
  EXPECT_EQ(names, (std::vector<std::string>{"explain", "query", "show", "doctor"}));
  EXPECT_EQ(pages, 2);
  for (const Json& wrong : {Json("x"), Json("0.0"), Json("1.3"), Json("0.99"), Json(7), Json("")})
    EXPECT_EQ(Ask(1, "tools/list", {{"cursor", wrong}})["error"]["code"], kInvalidParams) << wrong;
}

TEST_F(ServerTest, ACallAnswersWithTheCommandsJson) {
  Start();
  Initialize();
  Json result = Ask(1, "tools/call", Show("verdict"))["result"];
  EXPECT_EQ(result["isError"], false);
  EXPECT_EQ(result["structuredContent"]["exitCode"], 3);
  EXPECT_EQ(result["structuredContent"]["result"]["verdict"], "rejected");
  EXPECT_EQ(Json::parse(result["content"][0]["text"].get<std::string>()),
            result["structuredContent"]);
  result = Ask(2, "tools/call", Show("fail"))["result"];
  EXPECT_EQ(result["isError"], true);
  EXPECT_EQ(result["structuredContent"]["exitCode"], 125);
  EXPECT_EQ(result["structuredContent"]["messages"][0], "it is broken");
  result = Ask(3, "tools/call", Show("huge"))["result"];
  EXPECT_EQ(result["isError"], true);
  result = Ask(4, "tools/call", Show("bytes"))["result"];
  EXPECT_EQ(result["isError"], false) << result;
}

TEST_F(ServerTest, PagesOfAnAnswerComeWithoutAnotherRun) {
  Start();
  Initialize();
  Json result = Ask(1, "tools/call", Show("rows", {{"limit", 100}}))["result"]["structuredContent"];
  EXPECT_EQ(result["result"]["rows"].size(), 100) << result;
  EXPECT_EQ(result["total"], 121);
  const Json cursor = result["nextCursor"];
  fs::remove(own_.path() / "installed/bin/rochound");  // nothing can be run any more
  result = Ask(2, "tools/call", Show("rows", {{"cursor", cursor}}))["result"]["structuredContent"];
  EXPECT_EQ(result["result"]["rows"].size(), 21);
  EXPECT_FALSE(result.contains("nextCursor"));
  for (const Json& wrong : {Json("9.9"), Json("x"), Json(7), Json("")})
    EXPECT_EQ(Ask(3, "tools/call", Show("rows", {{"cursor", wrong}}))["result"]["isError"], true);
  EXPECT_EQ(Ask(4, "tools/call", Show("other", {{"cursor", cursor}}))["result"]["isError"], true);
  for (const Json& wrong : {Json(0), Json(-1), Json(501), Json("5"), Json(1.5)})
    EXPECT_EQ(Ask(5, "tools/call", Show("rows", {{"limit", wrong}}))["result"]["isError"], true);
}

TEST_F(ServerTest, WhatIsNotAllowedIsNotCalled) {
  Start();
  Initialize();
  const Json answer =
      Ask(1, "tools/call", {{"name", "run"}, {"arguments", {{"program", {"true"}}}}});
  EXPECT_EQ(answer["error"]["code"], kInvalidParams);
  EXPECT_NE(answer["error"]["message"].get<std::string>().find("--allow-run"), std::string::npos);
  EXPECT_EQ(Ask(2, "tools/call", {{"name", "nonsense"}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask(3, "tools/call", {{"name", 7}})["error"]["code"], kInvalidParams);
  EXPECT_EQ(Ask(4, "tools/call", {{"name", "show"}, {"arguments", {7}}})["error"]["code"],
            kInvalidParams);
  EXPECT_EQ(Ask(5, "nonsense")["error"]["code"], kMethodNotFound);
}

TEST_F(ServerTest, ACancelledCallEndsWithItsProcessesAndWithoutAnAnswer) {
  Start();
  Initialize();
  Json call = Show("wait");
  call["_meta"]["progressToken"] = "p";
  SendRequest("long", "tools/call", call);
  const Json progress = Receive();
  EXPECT_EQ(progress["method"], "notifications/progress");
  EXPECT_EQ(progress["params"]["progressToken"], "p");
  double last = progress["params"]["progress"];
  const Json more = Receive();
  EXPECT_GT(more["params"]["progress"].get<double>(), last);
  const std::string said = more["params"]["message"];
  ASSERT_TRUE(said.starts_with("started ")) << said;
  const pid_t started = atoi(said.c_str() + 8);
  EXPECT_EQ(kill(started, 0), 0);
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"nobody's"}})");
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":["long"]}})");
  Send(R"({"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":"long"}})");
  Json answer = Ask(2, "ping");
  while (answer.value("method", "") == "notifications/progress") answer = Receive();
  EXPECT_EQ(answer["id"], 2);
  EXPECT_TRUE(Ends(started));
  EXPECT_TRUE(Receive(2500).is_null());  // longer than what is stopped may take to end
}

TEST_F(ServerTest, AnIdInFlightIsNotTakenTwice) {
  Start();
  Initialize();
  SendRequest(1, "tools/call", Show("wait"));
  const Json answer = Ask(1, "tools/call", Show("x"));
  EXPECT_FALSE(answer.contains("id"));
  EXPECT_EQ(answer["error"]["code"], kInvalidRequest);
}

TEST_F(ServerTest, ManyCallsAreBounded) {
  Start();
  Initialize();
  constexpr int kCalls = 1000;
  std::thread sender([&] {
    for (int i = 1; i <= kCalls; ++i) SendRequest(i, "tools/call", Show("x"));
  });
  std::set<int> answered;
  int refused = 0;
  for (int i = 0; i < kCalls; ++i) {
    const Json answer = Receive(60000);
    if (answer.is_null()) break;
    answered.insert(answer["id"].get<int>());
    if (answer["result"]["isError"] == true) ++refused;
  }
  sender.join();
  EXPECT_EQ(answered.size(), kCalls);
  EXPECT_GT(refused, 0);
  EXPECT_LT(refused, kCalls);
}

TEST_F(ServerTest, TheEndOfTheInputEndsCallsAndTheServer) {
  Start();
  Initialize();
  SendRequest(1, "tools/call", Show("wait"));
  SendRequest(2, "ping");
  EXPECT_EQ(Receive()["id"], 2);
  std::this_thread::sleep_for(std::chrono::milliseconds(500));
  const auto start = Clock::now();
  Close();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ServerTest, AClientThatIsGoneIsNotWaitedFor) {
  Start();
  Initialize();
  for (int i = 0; i < 100; ++i)
    SendRequest(i, "tools/list");  // more than a pipe holds, and nobody reads
  const auto start = Clock::now();
  CloseInput();
  thread_.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ServerTest, AClosedOutputEndsTheServer) {
  Start();
  Initialize();
  close(output_);
  output_ = -1;
  const auto start = Clock::now();
  thread_.join();
  EXPECT_LT(Clock::now() - start, std::chrono::seconds(10));
}

TEST_F(ServerTest, HostileLinesAreAnsweredAndTheNextIsRead) {
  Start();
  Initialize();
  std::thread sender([&] {
    Send(std::string(3 * kMostLine, 'x'));
    Send(std::string(500000, '['));
    Send("\xff\xfe{}");
    Send("[]");
    Send("null");
    Send(R"({"jsonrpc":"2.0","id":5,"result":{}})");
    Send(R"({"jsonrpc":"2.0","method":"tools/call","params":{}})");
  });
  for (const int code :
       {kInvalidRequest, kParseError, kParseError, kInvalidRequest, kInvalidRequest}) {
    const Json answer = Receive();
    EXPECT_EQ(answer["error"]["code"], code) << answer;
    EXPECT_FALSE(answer.contains("id"));
  }
  sender.join();
  EXPECT_EQ(Ask(-1, "ping")["id"], -1);
}

TEST_F(ServerTest, ReadersCannotWrite) {
  if (optimize::LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  Start();
  Initialize();
  const Json answer = Ask(1, "tools/call", Show("write"));
  EXPECT_FALSE(fs::exists(own_.path() / "outside/written"));
  EXPECT_EQ(answer["result"]["isError"], true) << answer;
}

TEST_F(ServerTest, ReadersCannotReadElsewhere) {
  if (optimize::LandlockVersion() < 1) GTEST_SKIP() << "this kernel has no Landlock";
  ASSERT_TRUE(base::WriteFile(own_.path() / "outside/secret", R"({"secret":"told"})").ok());
  Start();
  Initialize();
  const Json answer = Ask(1, "tools/call", Show("read"));
  EXPECT_EQ(answer["result"]["isError"], true) << answer;
  EXPECT_EQ(answer.dump().find("told"), std::string::npos) << answer;
}

}  // namespace
}  // namespace rochound::mcp
