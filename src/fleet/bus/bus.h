// SPDX-License-Identifier: MIT
//
// The bus: NATS with JetStream, behind Result. One connection, which libnats makes again whenever
// it breaks; calls are made on any thread, handlers run on libnats' own. Nothing here is kept on
// disk: what must not be lost is in the caller's hands until a publish was acknowledged. Errors
// carry the server's own words.
#pragma once

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rochound::fleet {

struct BusOptions {
  std::vector<std::string> servers;  // nats://host:port or tls://host:port
  std::string name;                  // shown by the server
  std::string credentials;           // a .creds file; empty: none
  std::string authority;             // of TLS, a PEM file; empty: no TLS
  std::string certificate, key;      // our own, PEM files
};

struct StreamOptions {
  std::string name;
  std::string subject;
  std::chrono::seconds keep{7200};
  int replicas = 1;
  bool in_memory = false;
};

struct StreamFacts {
  int64_t created_ns = 0;  // a stream that was made anew counts from one again
  uint64_t first = 0, last = 0;
  uint64_t messages = 0;
};

struct StoredMessage {
  uint64_t sequence = 0;
  int64_t time_ns = 0;
  std::string subject;
  std::string text;
};

class Bus {
 public:
  // Does not wait for a server.
  static base::Result<std::unique_ptr<Bus>> Connect(const BusOptions& options);
  ~Bus();
  Bus(const Bus&) = delete;
  Bus& operator=(const Bus&) = delete;

  bool connected() const;

  // Makes the stream if it is not there.
  base::Result<StreamFacts> MakeStream(const StreamOptions& options);
  base::Result<StreamFacts> DescribeStream(const std::string& name);

  struct Acknowledgement {
    uint64_t sequence = 0;
    bool duplicate = false;  // the stream had a message with this id
  };
  base::Result<Acknowledgement> Publish(const std::string& subject, const std::string& id,
                                        std::string_view text, std::chrono::milliseconds patience);
  // Not acknowledged, not resent.
  base::Result<void> Send(const std::string& subject, std::string_view text);

  // The first message from this sequence number on; nothing: there is none yet.
  base::Result<std::optional<StoredMessage>> Next(const std::string& stream,
                                                  const std::string& subject, uint64_t from);

  // The last message of each subject that the pattern stands for.
  base::Result<std::vector<StoredMessage>> LastOfEach(const std::string& stream,
                                                      const std::string& pattern,
                                                      std::chrono::milliseconds patience);

  // Answers requests until the bus goes; nothing returned: no answer.
  using Handler = std::function<std::optional<std::string>(std::string_view request)>;
  base::Result<void> Serve(const std::string& subject, Handler handler);
  // Asks everybody and collects answers until one is the last that was waited for, or time is up.
  using IsLast = std::function<bool(std::string_view answer)>;
  base::Result<std::vector<std::string>> Gather(const std::string& subject,
                                                std::string_view request,
                                                std::chrono::milliseconds patience,
                                                const IsLast& is_last);

 private:
  struct State;
  explicit Bus(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// Servers that were given as @FILE are read from there: a URL may have a password in it, which
// others would see in the list of processes.
base::Result<void> ReadServers(BusOptions* options);

// Names as the bus takes them: what a subject may not have becomes a _.
std::string SubjectToken(std::string_view text);

}  // namespace rochound::fleet
