// SPDX-License-Identifier: MIT
//
// A server of the Model Context Protocol on two descriptors: reads requests, one per line, and
// writes answers. `rochound mcp` runs one on its main thread, with stdin and stdout; a few worker
// threads make calls of tools (call.h).
//
// Two generations of the protocol are spoken, whichever a client begins with: since 2026-07-28
// every request carries its version; before, a client says `initialize` first. Both are served in
// the same process.
//
// A client may send anything: lines are limited in size and depth, calls in number, answers are
// written one at a time, and a client that does not read is not read from either. When the input
// ends, or nobody reads the output any more, running calls are stopped and Run returns.
#pragma once

#include <atomic>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "base/mutex.h"
#include "mcp/call.h"
#include "mcp/message.h"
#include "mcp/tool.h"

namespace rochound::mcp {

struct ServerSettings {
  std::string version;  // of rochound
  CallSettings calls;
  std::vector<std::string> questions;  // that `explain` answers
  bool allow_run = false;
  size_t tools_per_page = 64;
  int stop = -1;  // a descriptor; the server ends in order when it can be read
};

class Server {
 public:
  // The descriptors stay the caller's.
  Server(ServerSettings settings, int input, int output);
  Server(const Server&) = delete;
  Server& operator=(const Server&) = delete;
  ~Server();

  // Until the input ends.
  void Run();

  // One line of the input.
  void Receive(const std::string& line);

 private:
  struct Call {
    Json id;
    const Tool* tool = nullptr;
    Json arguments;
    Json progress_token;  // null: no progress is wanted
    bool modern = false;
    std::atomic<bool> stop = false;
  };

  bool OutputIsReady();
  void Send(const std::string& line);
  void Answer(const Json& id, Json result, bool modern);
  void Fail(const Json& id, int code, const std::string& message, const Json& data = nullptr);

  void Request(const Message& message);
  void Initialize(const Message& message);
  void ListTools(const Message& message, bool modern);
  void StartCall(const Message& message, bool modern);
  void Listen(const Message& message);
  void Cancel(const Message& message);

  void Work();
  void Make(Call& call);
  bool IsInFlight(const Json& id) const;
  void StopCalls();

  const ServerSettings settings_;
  const std::vector<Tool> tools_;
  const std::string instructions_;
  const int input_, output_;
  bool initialized_ = false;
  KeptAnswers kept_;

  base::Mutex output_mutex_;
  std::atomic<bool> output_closed_ = false;

  mutable base::Mutex mutex_;
  base::Condition changed_;
  std::map<std::string, std::shared_ptr<Call>> in_flight_
      ROCHOUND_GUARDED_BY(mutex_);  // by id; nullptr: a subscription
  std::deque<std::shared_ptr<Call>> waiting_ ROCHOUND_GUARDED_BY(mutex_);
  std::atomic<bool> ending_ = false;
  std::vector<std::thread> workers_;
};

}  // namespace rochound::mcp
